"""One function, ready to be selected.

Layer: isel.lower.  Input: a function as it was read.  Output: the same function, or one without
what has no instruction.
"""

from __future__ import annotations

from isel.llvm import ir
from isel.llvm.type_layout import TypeLayout
from isel.llvm.vocabulary import DIVISIONS, Opcode
from isel.lower import intrinsics
from isel.lower.addresses import (
    address_spaces,
    index_offsets,
    stepped_addresses,
    straight_lines,
)
from isel.lower.arithmetic import (
    constrained,
    divisibility,
    equal_divisions,
    extremes,
    narrow_division,
    remainders,
)
from isel.lower.branches import equal_phis, switches
from isel.lower.memory import atomics, copies, known_contents, memory_elements, neighbours, varargs
from isel.lower.rewriter import Replacement, Rewriter
from isel.lower.vectors import elementwise, masked, predicated, vector_moves

_ATOMIC = {Opcode.ATOMICRMW, Opcode.CMPXCHG}
_ACCESSES = {Opcode.LOAD, Opcode.STORE}
_ELEMENTS = {Opcode.EXTRACTELEMENT, Opcode.INSERTELEMENT}
_CONVERSIONS = {Opcode.SITOFP, Opcode.UITOFP, Opcode.FPTOSI, Opcode.FPTOUI}
_CANDIDATES = {
    *(*_ATOMIC, *_ACCESSES, *_CONVERSIONS),
    *(Opcode.CALL, Opcode.FREM, Opcode.VA_ARG),
}
"""The opcodes of what may have no instruction."""

_COMPARED_FLOATS = {Opcode.FCMP, Opcode.SELECT}
_REMAINDER, _SWITCH = Opcode.FREM, Opcode.SWITCH
_ADDRESS, _PRODUCT = Opcode.GETELEMENTPTR, Opcode.MUL


def _opcodes(function: ir.Function) -> list[Opcode]:
    """Of what a function consists: most have nothing that a rewriting is about."""
    return [i.opcode for block in function.blocks for i in block.instructions]


def _candidates(function: ir.Function) -> list[ir.Instruction]:
    """The instructions that PTX may have none for."""
    return [i for i in function.instructions() if i.opcode in _CANDIDATES]


def lower(
    function: ir.Function,
    layout: TypeLayout,
    pure: frozenset[str],
    *,
    bfloats: bool,
    ordered: frozenset[str] = frozenset(),
    rolled: frozenset[int] = frozenset(),
) -> ir.Function:
    """Rewrite what PTX has no instruction for; `bfloats`: it has those that add bfloats.

    Of the types `ordered` ("half", "bfloat") it has minima and maxima.  Accesses may move across
    calls of `pure` functions.  `rolled` is the metadata of loops that are not to be unrolled.  What
    stands for an instruction may need the same again, on smaller parts.
    """
    function = before = varargs.with_list(equal_phis.with_equal_phis(function))
    opcodes = _opcodes(function)
    present = set(opcodes)
    if ordered and present >= _COMPARED_FLOATS:
        function = extremes.with_extremes(function, ordered)
    if not _ELEMENTS.isdisjoint(present):
        function = memory_elements.with_elements(function, layout, pure)

    is_atomic = not present.isdisjoint(_ATOMIC)
    stack = address_spaces.pointers_to_stack(function, layout) if is_atomic else frozenset[str]()

    def choose(i: ir.Instruction) -> Replacement | None:
        return _replacement(i, function, layout, stack, bfloats=bfloats)

    while any(map(choose, _candidates(function))):
        function = Rewriter(function).run(choose)
        present = set(_opcodes(function))
    promised = function
    function = _as_a_whole(function, layout, pure, present)
    if function is not before:
        opcodes = _opcodes(function)
    if opcodes.count(_PRODUCT) > 1:
        function = straight_lines.with_shared_products(function, layout)
    if _ADDRESS in present:
        function = stepped_addresses.with_stepped_addresses(function, layout, promised, rolled)
    return function


def _replacement(
    i: ir.Instruction,
    function: ir.Function,
    layout: TypeLayout,
    stack: frozenset[str],
    *,
    bfloats: bool,
) -> Replacement | None:
    """The replacement of an instruction that PTX does not have; None where PTX has it."""
    opcode = i.opcode
    if opcode not in _CANDIDATES:
        return None
    if opcode in _ATOMIC or (isinstance(i, (ir.Load, ir.Store)) and i.ordering is not None):
        return atomics.lowered(i, layout, stack, bfloats=bfloats)
    if opcode in _ACCESSES:
        return None
    if opcode is _REMAINDER:
        return remainders.lowered(i)
    if opcode in _CONVERSIONS:
        return elementwise.lowered(i)
    return _of_intrinsic(i, layout) or varargs.lowered(i, function, layout)


def _as_a_whole(
    function: ir.Function, layout: TypeLayout, pure: frozenset[str], present: set[Opcode]
) -> ir.Function:
    """What goes by more than one instruction; `present` are the opcodes that the function has."""
    if _SWITCH in present:
        function = switches.with_searches(function)
    if _ADDRESS in present:
        function = index_offsets.with_offsets(function, layout)
    if not _ACCESSES.isdisjoint(present):
        function = known_contents.with_known_contents(function, layout, pure)
        function = neighbours.with_vectors(function, layout, pure)
    if not present.isdisjoint(DIVISIONS):
        if Opcode.ICMP in present:
            function = divisibility.with_products(function)
        function = equal_divisions.with_equal_divisions(function)
        function = narrow_division.with_narrow_divisions(function)
    return function


def _of_intrinsic(i: ir.Instruction, layout: TypeLayout) -> Replacement | None:
    """The replacement of a call of one of LLVM's intrinsics; None for all else."""
    name = i.callee_name if isinstance(i, ir.Call) else None
    if name is None or not name.startswith("llvm."):
        return None
    if name.startswith("llvm.nvvm."):
        return intrinsics.lowered(i)
    return (
        copies.lowered(i, layout)
        or constrained.lowered(i)
        or predicated.lowered(i)
        or masked.lowered(i, layout)
        or vector_moves.lowered(i)
        or elementwise.lowered(i)
    )

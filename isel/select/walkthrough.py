"""Calls of the walkthrough's intrinsics: tcgen05 as tile compilers spell it.

Layer: isel.select.  Input: a call such as `@llvm.nvvm.tcgen05.mma.cta_group__1`, with its atom as
metadata.  Output: pseudo records (`intrinsics.rows.walkthrough`), which a pass expands; the
multiply becomes the machine's own record, whose instruction descriptor the atom gives.

    call void @llvm.nvvm.tcgen05.mma.cta_group__1(i32 %d, i64 %a, i64 %b, i32 193, i32 1, i1 true),
        !nvgen.atom !0
    !0 = !{!"sm100_umma_m64n128k16_f32_bf16_bf16", !"MN", !"K"}     ; the majors of A and of B
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from intrinsics import catalog
from intrinsics.catalog import Spelling
from intrinsics.element import ElementType, Major
from intrinsics.findings import Finding, Severity
from intrinsics.mir import Imm, Mem, form_of
from intrinsics.mma_atom import PATTERN, AtomError, MmaAtom, parse_atom
from intrinsics.rows.walkthrough import MULTIPLY, ROWS_OF_LD, VALUES_OF_LD
from intrinsics.targets import Ptx, Target
from intrinsics.words import KIND_CODES, ControlWord
from isel.llvm import ir
from isel.llvm.metadata import TupleNode, read_node
from isel.llvm.values import MetadataString
from isel.select.diagnostics import Unselectable
from isel.select.intrinsics import (
    PREFIX,
    arguments,
    check_available,
    forbidden,
    group,
    lengths,
    select_row,
)
from isel.select.state import FunctionState

ATOM = "nvgen.atom"
"""The kind of metadata that gives a multiply its atom, and the majors of A and of B."""

_LIKE_IT = re.compile(r"tcgen05\.(.*cta_group__|(ld|st)\.m\d+n|cp\.smem|mma_smem_desc)")
"""Names of the same spelling that nvgen may not know."""


def is_walkthrough(name: str) -> bool:
    """Whether the intrinsic `name` is of the walkthrough's spelling, known or not."""
    short = name.removeprefix(PREFIX)
    if short in catalog.walkthrough_spellings():
        return True
    return _LIKE_IT.match(short) is not None and short not in catalog.spellings()


def select_walkthrough(
    state: FunctionState,
    call: ir.Call,
    name: str,
    module: ir.Module,
    target: Target,
    ptx: Ptx | None,
) -> tuple[Finding, ...]:
    """Select a call of the walkthrough's intrinsic `name`; gives what there is to note about it.

    Raises: Unselectable.
    """
    spelling = catalog.walkthrough_spellings().get(name.removeprefix(PREFIX))
    if spelling is None:
        raise forbidden(name) or _unsupported(name)
    check_available(spelling.row, target, ptx)
    _check_result(call, name, spelling)
    if spelling.row.pseudo:
        select_row(state, call, name, spelling)
        return ()
    return _multiply(state, call, name, spelling, module)


def _unsupported(name: str) -> Unselectable:
    known = ", ".join(sorted(catalog.walkthrough_spellings()))
    return Unselectable(
        "walkthrough-unsupported",
        f"@{name} is not selectable: of the walkthrough's spelling nvgen knows the dense multiply "
        "of one CTA and what belongs to it",
        op=name,
        got=f"@{name}",
        expected=f"{PREFIX} and {known}",
        hint="LLVM's own spelling has the CTA pair, sparse, block-scaled and .ws multiplies and "
        "the copies: @llvm.nvvm.tcgen05.mma.shared and its like",
    )


def _check_result(call: ir.Call, name: str, spelling: Spelling) -> None:
    """LLVM checks the results of its own intrinsics only."""
    text = spelling.pattern.result.partition(":")[0] or "void"
    wanted = f"<{VALUES_OF_LD} x float>" if text.startswith("v*") else text
    if str(call.type) != wanted:
        raise Unselectable(
            "signature", f"@{name} gives {wanted}", op=name, got=str(call.type), expected=wanted
        )


# ---- a whole function ------------------------------------------------------------------------


class Spellings:
    """Which calls of a function are of which spelling: one function keeps to one of them."""

    def __init__(self) -> None:
        self.own: list[tuple[str, ir.Call]] = []
        self.llvms: list[tuple[str, ir.Call]] = []

    def see(self, name: str, call: ir.Call) -> bool:
        """Remember a call; gives whether it is of the walkthrough's spelling."""
        if is_walkthrough(name):
            self.own.append((name, call))
            return True
        if name.startswith(PREFIX + "tcgen05."):
            self.llvms.append((name, call))
        return False

    def problems(self) -> Iterator[tuple[Unselectable, ir.Call]]:
        """What is wrong with the function as a whole."""
        if self.own and self.llvms:
            yield _mixed(self.llvms[0][0]), self.llvms[0][1]
        multiplies = [(n, c) for n, c in self.own if n == PREFIX + MULTIPLY.name]
        waits = any(n.startswith(PREFIX + "tcgen05.wait.") for n, _ in self.own)
        if multiplies and not waits:
            yield _no_wait(multiplies[-1][0]), multiplies[-1][1]


def _mixed(name: str) -> Unselectable:
    return Unselectable(
        "walkthrough-mixed",
        "a function keeps to one spelling of the tcgen05 intrinsics",
        op=name,
        got=f"@{name} beside the walkthrough's",
        expected="the walkthrough's intrinsics only, or LLVM's only",
        hint="the walkthrough's are the whole CTA's, LLVM's those of threads and warps",
    )


def _no_wait(name: str) -> Unselectable:
    return Unselectable(
        "walkthrough-wait",
        "nothing waits for the multiply: its result can never be read",
        op=name,
        expected=f"@{PREFIX}tcgen05.wait.cta_group__1 behind it",
        section="PTX ISA, tcgen05.commit",
    )


# ---- the multiply ----------------------------------------------------------------------------


def _multiply(
    state: FunctionState, call: ir.Call, name: str, spelling: Spelling, module: ir.Module
) -> tuple[Finding, ...]:
    groups = group(call, name, arguments(spelling.pattern.args), lengths(spelling))
    (d,), (a,), (b,), (ctrl,), (collector,), (enable,) = groups
    control = state.number(ctrl, f"@{name}: ctrl") & 0xFFFF_FFFF
    collect = state.number(collector, f"@{name}: collector") & 0xFFFF_FFFF
    atom, majors, notes = _atom(call, name, module)
    _check_kind(atom, control, name)
    _check_collector(collect, name)
    handle = state.scalar_reg(d)
    state.emit(
        form_of(spelling.row, **spelling.facts),
        Mem(handle),
        state.scalar(a),
        state.scalar(b),
        Imm(atom.descriptor(*majors).encode()),
        Imm(control),
        Imm(collect),
        state.scalar(enable),
    )
    return notes


def _atom(
    call: ir.Call, name: str, module: ir.Module
) -> tuple[MmaAtom, tuple[Major, Major], tuple[Finding, ...]]:
    words = _strings(call, module)
    if not words:
        raise _no_atom(name, "no !nvgen.atom", "the multiply does not say its shape and types")
    try:
        atom = parse_atom(words[0])
    except AtomError as error:
        raise _no_atom(name, words[0], str(error), error.expected) from None
    if atom.m != ROWS_OF_LD or atom.d is not ElementType.F32:
        text = f"the walkthrough's load reads accumulators of {ROWS_OF_LD} rows in f32 only"
        raise _no_atom(name, words[0], text, f"m{ROWS_OF_LD} and f32")
    if atom.n != VALUES_OF_LD:
        text = f"the walkthrough's load reads accumulators of {VALUES_OF_LD} columns only"
        raise _no_atom(name, words[0], text, f"n{VALUES_OF_LD}")
    given = words[1:]
    if len(given) not in (0, 2) or not all(m in (Major.K.value, Major.MN.value) for m in given):
        raise _no_atom(name, " ".join(given), "the majors of A and of B", '!"K" or !"MN", twice')
    if given:
        return atom, (Major(given[0]), Major(given[1])), ()
    note = Finding(
        "walkthrough/majors",
        Severity.NOTE,
        "the atom does not say how A and B lie in shared memory: both are taken as K-major",
        op=name,
        got=f'!{{!"{words[0]}"}}',
        expected=f'!{{!"{words[0]}", !"K", !"K"}}',
        section="PTX ISA, Instruction descriptor",
    )
    return atom, (Major.K, Major.K), (note,)


def _strings(call: ir.Call, module: ir.Module) -> list[str]:
    """The strings of the atom's node; [] where there is none, or something else in it."""
    attached = call.attachment(ATOM)
    node = read_node(module, attached) if isinstance(attached, int) else None
    if not isinstance(node, TupleNode):
        return []
    words = [e.text for e in node.elements if isinstance(e, MetadataString)]
    return words if len(words) == len(node.elements) else []


def _no_atom(name: str, got: str, text: str, expected: str = "") -> Unselectable:
    return Unselectable(
        "walkthrough-atom",
        f"@{name}: {text}",
        op=name,
        got=got,
        expected=expected or f'!nvgen.atom !{{!"{PATTERN}", !"MN", !"K"}}',
        hint="an atom names the tile's M, N and K and the types of D, A and B; behind it stand the "
        "majors of A and of B",
        section="PTX ISA, Instruction descriptor",
    )


def _check_kind(atom: MmaAtom, control: int, name: str) -> None:
    kind = KIND_CODES[ControlWord.decode(control).mma_kind]
    if kind is atom.kind:
        return
    raise Unselectable(
        "walkthrough-atom",
        f"@{name}: the control word says {kind.value}, the atom {atom.kind.value}",
        op=name,
        got=f"{kind.value} in {control:#x}, {atom.name}",
        expected=f"{ControlWord(mma_kind=_code(atom)).encode()} ({atom.kind.value})",
        subject="ctrl",
        section="PTX ISA, tcgen05.mma",
    )


def _code(atom: MmaAtom) -> int:
    return next(code for code, kind in KIND_CODES.items() if kind is atom.kind)


def _check_collector(word: int, name: str) -> None:
    """The words that mean the same in the walkthrough's layout and in the records' own."""
    if word in (0, 1, 3):
        return
    why = "a collector word of the walkthrough is 0, 1 or 3"
    if word in (5, 7):
        why = (
            f"collector word {word} is ambiguous: bit 2 is both ashift and the high bit of the "
            "collector's operation"
        )
    raise Unselectable(
        "walkthrough-collector",
        f"@{name}: {why}",
        op=name,
        got=f"{word:#x}",
        expected="0 (none), 1 (collector::a::fill) or 3 (collector::a::use)",
        hint="lastuse, discard and ashift have LLVM's own spelling: @llvm.nvvm.tcgen05.mma.tensor",
        subject="collector",
        section="PTX ISA, tcgen05.mma",
    )

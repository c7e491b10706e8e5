"""Rules about tensor memory addresses: each is that of an allocation, and stays in its function.

Layer: isel.verifier.function.  The lifetime of an address that escapes its function, or that no
allocation gave, is not known: a review, since there are correct kernels that do it. PTX ISA, Tensor
Memory Allocation and Management.
"""

from __future__ import annotations

from intrinsics.findings import Severity
from intrinsics.mir import Imm, MachineFunction, MachineInstr, Mem, Reg, Sym, registers_of
from intrinsics.modifiers import Space
from isel.verifier.function.events import TENSOR_USES, tensor_operands
from isel.verifier.function.flow.values import Parameter
from isel.verifier.function.report import Report
from isel.verifier.rule import VerifierRule

_SECTION = "Tensor Memory Allocation and Management"
_ALLOC = "tcgen05.alloc"
_ALL_COLUMNS = 512

ESCAPES = VerifierRule(
    "tcgen05/handle-escapes",
    "an address of tensor memory leaves its function",
    _SECTION,
    Severity.REVIEW,
    expected="an address that is used where it was allocated",
    hint="who frees the columns, and when, cannot be seen from here",
    misses=False,
)
NOWHERE = VerifierRule(
    "tcgen05/handle-origin",
    "an address of tensor memory comes from no allocation",
    _SECTION,
    Severity.REVIEW,
    expected="what tcgen05.alloc wrote, and columns counted from there",
    hint="load it from where tcgen05.alloc has written it",
    misses=False,
)
RULES = (ESCAPES, NOWHERE)

_PROPAGATE = ("mov", "add.int", "sub.int", "or", "cvt.int")
"""Rows that propagate a tensor memory address from an operand to their result."""

_MEMORY = {
    Space.GLOBAL: "stored to global memory",
    None: "stored to memory that others may read",
}


def check(report: Report) -> None:
    """Report the records that break a rule of this module."""
    if not any(mi.row.id == _ALLOC for f in report.module.functions for mi in f.instructions()):
        return
    _escapes(report)
    _from_nowhere(report)


# ---- out of the function ---------------------------------------------------------------------


def _escapes(report: Report) -> None:
    """Addresses that are stored to global memory, returned, or passed to a function."""
    handles = _handles(report)
    if not handles:
        return
    for index, mi in enumerate(report.analysis.graph.records):
        how = _leaves(mi, report.analysis.function)
        if how and not handles.isdisjoint(_given(mi)):
            report.add(ESCAPES, index, got=f"it is {how}")


def _given(mi: MachineInstr) -> set[Reg]:
    """The registers of a record that do not name an address."""
    return {r for op in mi.ops if not isinstance(op, Mem) for r in registers_of(op)}


def _leaves(mi: MachineInstr, function: MachineFunction) -> str:
    """How an operand of a record escapes the function; "" where it does not."""
    row = mi.form.row.id
    if row.partition(".")[0] in ("atom", "red"):
        space = mi.form.attributes.get("space")
        return "given to an atomic operation" if space in _MEMORY else ""
    if row != "st":
        return ""
    space, at = mi.form.attributes.get("space"), mi.get("a")
    if space in (Space.PARAM, Space.PARAM_FUNC, Space.PARAM_ENTRY):
        name = at.base.name if isinstance(at, Mem) and isinstance(at.base, Sym) else ""
        returned = name in {result.name for result in function.results}
        return "returned to the caller" if returned else "passed to a function"
    return _MEMORY.get(space, "") if isinstance(space, Space) or space is None else ""


def _handles(report: Report) -> set[Reg]:
    """The registers that hold an allocation's address, or an address derived from one."""
    made = [
        (result, mi) for mi in report.analysis.graph.records
        if (result := _one_result(mi)) is not None
    ]  # fmt: skip
    symbols = {r: place for r, mi in made if (place := _symbol(mi)) is not None}
    slots = {
        _place(mi.get("dst"), symbols)
        for mi in report.analysis.graph.records if mi.form.row.id == _ALLOC
    } - {None}  # fmt: skip
    found = {r for r, mi in made
             if mi.form.row.id == "ld" and _place(mi.get("a"), symbols) in slots}  # fmt: skip
    derived = [(r, mi.uses()) for r, mi in made if mi.form.row.id in _PROPAGATE]
    changed = bool(found)
    while changed:
        changed = False
        for result, read in derived:
            if result not in found and not found.isdisjoint(read):
                found.add(result)
                changed = True
    return found


def _one_result(mi: MachineInstr) -> Reg | None:
    defs = mi.defs()
    return defs[0] if len(defs) == 1 else None


def _symbol(mi: MachineInstr) -> tuple[str, int] | None:
    """The symbol and offset that a record moves into its register."""
    source = mi.ops[1] if mi.row.id == "mov" and len(mi.ops) == 2 else None
    return (source.name, source.offset) if isinstance(source, Sym) else None


def _place(op: object, symbols: dict[Reg, tuple[str, int]]) -> tuple[str, int] | None:
    """The variable and byte offset of an address operand."""
    if not isinstance(op, Mem):
        return None
    if isinstance(op.base, Sym):
        return op.base.name, op.base.offset + op.offset
    known = symbols.get(op.base)
    return (known[0], known[1] + op.offset) if known is not None else None


# ---- from nowhere ----------------------------------------------------------------------------


def _from_nowhere(report: Report) -> None:
    """Addresses that are a kernel's parameter, or a constant."""
    if not report.analysis.function.is_kernel:
        return  # its callers pass addresses of their allocations
    constants: list[tuple[int, str]] = []
    for event in report.analysis.events(*TENSOR_USES):
        for name, value in tensor_operands(event):
            if isinstance(value.base, Parameter):
                report.add(NOWHERE, event.index, got=f"{name} is the parameter {value.base.name}")
            elif isinstance(value.number, int):
                constants.append((event.index, f"{name} is the constant {value.number:#x}"))
    if constants and not _may_have_all(report):
        for index, got in constants:
            report.add(NOWHERE, index, got=got)


def _may_have_all(report: Report) -> bool:
    """Whether an allocation may have all columns, which begin at 0."""
    counts = [
        mi["ncols"]
        for f in report.module.functions
        for mi in f.instructions()
        if mi.row.id == _ALLOC
    ]
    return any(not isinstance(n, Imm) or n.value >= _ALL_COLUMNS for n in counts)

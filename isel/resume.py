"""Resumes MIR of an earlier stage: runs the missing passes on records that were read.

Layer: isel.  Input: a module from MIR text, as `--print-after` prints it or a person writes it.
Output: the same module, final.  A text that does not say its stage is taken for the latest one that
its records leave possible: with PHI records it has not left SSA form yet.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.findings import Finding, InputError, Place, Severity
from intrinsics.mir import (
    Block,
    Label,
    MachineFunction,
    MachineInstr,
    Mem,
    Module,
    Reg,
    Text,
    predecessors,
)
from isel.pipeline import PASSES, SELECT, Observer, run_passes
from isel.verifier.locations import place_of

_LEAVES_SSA = "destruct-ssa"
_PHI = "phi"


def resume(module: Module, file: str = "", observe: Observer | None = None) -> bool:
    """Run the passes that `module`, read from `file`, lacks; whether there were any.

    An observer sees the module as it is and after every pass.

    Raises: InputError for a stage that is none, and for PHI records that say nothing;
    SelectionError for what a pass cannot expand.
    """
    if module.stage and module.stage not in PASSES:
        raise InputError([_no_stage(module.stage, file)])
    module.stage = module.stage or _stage_of(module)
    if not module.stage:
        return False
    if PASSES.index(module.stage) < PASSES.index(_LEAVES_SSA):
        wrong = [finding for function in module.functions for finding in _judge(module, function)]
        if wrong:
            raise InputError(wrong)
    run_passes(module, observe)
    return True


def _stage_of(module: Module) -> str:
    """The latest stage that has such records; "" where no pass has anything to do."""
    rows = {mi.row for function in module.functions for mi in function.instructions()}
    if any(row.id == _PHI for row in rows):
        return SELECT
    return _LEAVES_SSA if any(row.pseudo for row in rows) else ""


def _no_stage(stage: str, file: str) -> Finding:
    return Finding(
        "mir/stage",
        Severity.ERROR,
        f"no pass '{stage}'",
        Place(file),
        got=stage,
        expected=", ".join(PASSES),
    )


def _judge(module: Module, function: MachineFunction) -> Iterator[Finding]:
    """What keeps a function from leaving SSA form."""
    before = predecessors(function)
    by_phis: set[Reg] = set()  # in the records so far, of which others write what they like
    by_any: set[Reg] = set()
    for block, into in zip(function.blocks, before, strict=True):
        names = {function.blocks[i].name for i in into}
        for at, mi in enumerate(block.instrs):
            place = place_of(module.locations[mi.loc], function.name)
            if mi.row.id == _PHI:
                for text, expected in _wrong_phi(function, block, at, names):
                    yield _finding("mir/phi", text, place, expected)
            written = {r for i in mi.form.defs for r in _registers(mi, i)}
            if written & (by_any if mi.row.id == _PHI else by_phis):
                text = "a register is written twice, once by a PHI record"
                yield _finding("mir/ssa", text, place, "one result for each register")
            by_any |= written
            by_phis |= written if mi.row.id == _PHI else set()


def _registers(mi: MachineInstr, slot: int) -> set[Reg]:
    op = mi.ops[slot]
    return {r for r in (op if isinstance(op, tuple) else (op,)) if type(r) is int}


def _wrong_phi(
    function: MachineFunction, block: Block, at: int, before: set[str]
) -> Iterator[tuple[str, str]]:
    """What is wrong with a PHI record, and what would be right."""
    mi = block.instrs[at]
    result, values, labels = mi.ops
    if any(one.row.id != _PHI for one in block.instrs[:at]):
        yield "a PHI record stands behind others", "PHI records where the block begins"
    if mi.guard is not None:
        yield "a PHI record has a guard", "no guard"
    if type(result) is not int:
        yield "a PHI record gives its value to no register", "a register"
        return
    if not isinstance(values, tuple) or not isinstance(labels, tuple):
        yield "a PHI record has a list of values and one of blocks", "{values}, {blocks}"
        return
    names = [label.name for label in labels if isinstance(label, Label)]
    if len(names) != len(labels) or sorted(names) != sorted(before) or not names:
        expected = ", ".join(sorted(before)) or "a block that control comes from"
        yield "a PHI record names each block that control comes from, once", expected
    if len(values) != len(labels):
        yield "a PHI record has a value for each block", f"{len(labels)} values"
    classes = function.regs.classes
    for value in values:
        if isinstance(value, (Label, Text, Mem)):
            yield "what comes to a PHI record is no value", "registers and numbers"
        elif type(value) is int and classes[value].bits != classes[result].bits:
            yield "registers of a PHI record have different widths", classes[result].value


def _finding(rule: str, text: str, place: Place, expected: str) -> Finding:
    return Finding(rule, Severity.ERROR, text, place, op="PHI", expected=expected)

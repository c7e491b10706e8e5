"""Whether the tensor maps of a launch suit the machine, and what the kernel does with them.

Layer: nvgen.  Input: a kernel and the arguments of a launch.  Output: findings.  ptxas sees neither
a tensor map's type nor its layout: with a wrong one the driver makes no map, or the instruction is
illegal when it is executed.  PTX ISA, cp.reduce.async.bulk.tensor; CUDA driver API.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from intrinsics.findings import Finding, InputError, Severity
from intrinsics.mir import MachineFunction, MachineInstr, Mem, Module, Op, Reg, Sym
from intrinsics.modifiers import AtomicOp
from intrinsics.targets import Target
from intrinsics.tma.fields import REDUCTIONS
from intrinsics.tma.rules import findings
from isel.verifier.locations import place_of
from nvgen.launching.parameters import Output
from nvgen.launching.tensor_map import TensorMap

_REDUCTION = "cp.reduce.async.bulk.tensor"
_HANDED_ON = ("mov", "cvta", "cvta.to")
"""Rows whose result is the address that they are given."""


def check_maps(
    module: Module, function: MachineFunction, target: Target, arguments: Sequence[object]
) -> None:
    """Check that the tensor maps among a kernel's arguments are valid, and fit how it uses them.

    Raises: InputError with all that is wrong.
    """
    plain = [a.array if isinstance(a, Output) else a for a in arguments]
    maps = {
        param.name: given
        for param, given in zip(function.params, plain, strict=False)  # counted later
        if isinstance(given, TensorMap)
    }
    wrong = [
        finding
        for given in maps.values()
        for finding in findings(replace(given.request, capability=target.number))
    ]
    wrong += _reductions(module, function, maps)
    if wrong:
        raise InputError(wrong)


def _reductions(
    module: Module, function: MachineFunction, maps: Mapping[str, TensorMap]
) -> Iterator[Finding]:
    """Reductions of a type that no GPU combines so."""
    records = [mi for block in function.blocks for mi in block.instrs]
    reductions = [mi for mi in records if mi.row.id == _REDUCTION]
    if not reductions or not maps:
        return
    writers: dict[Reg, list[MachineInstr]] = {}
    for mi in records:
        for reg in mi.defs():
            writers.setdefault(reg, []).append(mi)
    for mi in reductions:
        name, op = _parameter(mi["tmap"], writers), mi.form.attributes["op"]
        given = maps.get(name)
        assert isinstance(op, AtomicOp)
        if given is None or given.element in REDUCTIONS[op]:
            continue
        yield Finding(
            "tensor-map/reduction",
            Severity.ERROR,
            "no GPU combines elements of this type so: the instruction is illegal",
            place_of(module.locations[mi.loc], function.name),
            op=mi.opcode,
            got=f".{op.value} of {given.element.name}, tensor map {name}",
            expected=", ".join(sorted(element.name for element in REDUCTIONS[op])),
            hint="another element type of the same width in the tensor map's options",
            section=f"PTX ISA, {_REDUCTION}",
        )


def _parameter(op: Op | None, writers: Mapping[Reg, Sequence[MachineInstr]]) -> str:
    """The parameter whose address an operand is, through registers that are written once; or ""."""
    for _ in range(len(writers) + 1):
        match op:
            case Mem(base, 0):
                op = base
            case Sym(name, 0):
                return name
            case int():
                written = writers.get(op, ())
                if len(written) != 1 or written[0].row.id not in _HANDED_ON:
                    return ""
                op = written[0]["a"]
            case _:
                return ""
    return ""

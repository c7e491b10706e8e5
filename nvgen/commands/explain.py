"""`nvgen explain`: what the bits of a descriptor or control word say.

Layer: nvgen.commands.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass

from intrinsics.findings import Severity, input_error
from intrinsics.idesc import SCALED_KINDS, InstructionDescriptor, reserved_bits
from intrinsics.known_bits import exactly
from intrinsics.modifiers import MmaKind
from intrinsics.smem_desc import SharedMemoryDescriptor, problems
from intrinsics.targets import TARGETS
from intrinsics.tensor_address import TensorAddress, ZeroColumnMask
from intrinsics.words import CollectorWord, ControlWord
from nvgen.render import Printer

Fields = list[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class _Subject:
    """One kind of value: its name, its width, and what its fields say."""

    title: str
    bits: int
    fields: Callable[[int, str], Fields]


def _idesc(word: int, name: str) -> Fields:
    kind = _kind(name)
    fields = InstructionDescriptor.decode(word, kind).explain()
    return fields + _wrong(reserved_bits(word, kind)) + _nowhere(word, kind)


def _nowhere(word: int, kind: MmaKind) -> Fields:
    """What is wrong with an instruction descriptor for every MMA of its kind."""
    from isel.verifier.descriptors.instruction import RESERVED, Use, judge

    sparse, target = bool(word >> 2 & 1), TARGETS["sm_103a"]
    forms = (
        ((1, False), (2, False)) if kind in SCALED_KINDS else ((1, False), (2, False), (1, True))
    )
    found = [
        {
            breach.rule: breach
            for breach in judge(exactly(word), Use(kind, group, target, ws=ws, sparse=sparse))
            if breach.rule is not RESERVED and breach.rule.severity is Severity.ERROR
        }
        for group, ws in forms
    ]
    shared = [breach for rule, breach in found[0].items() if all(rule in f for f in found)]
    return [("", "wrong", f"{b.rule.text}: {b.got.partition(' in ')[0]}") for b in shared]


def _smem_desc(word: int) -> Fields:
    """What `SharedMemoryDescriptor` does not keep, its constant bits, are read from the word."""
    constants = {"46-48": f"{word >> 46 & 7:#05b}", "53-60": f"{word >> 53 & 0xFF:#x}"}
    fields = SharedMemoryDescriptor.decode(word).explain()
    shown = [(bits, name, constants.get(bits, text)) for bits, name, text in fields]
    return shown + [("", "wrong", f"{p.text}, not {p.got}") for p in problems(word)]


def _zero_mask(word: int) -> Fields:
    return ZeroColumnMask.decode(word).explain() + _wrong(word & (7 << 36 | 3 << 62))


def _wrong(reserved: int) -> Fields:
    return [("", "wrong", f"reserved bits are set: {reserved:#x}")] if reserved else []


def _kind(kind: str) -> MmaKind:
    found = {k.value.removeprefix("kind::"): k for k in MmaKind}.get(kind.removeprefix("kind::"))
    if found is None:
        raise input_error(
            "explain/kind",
            f"no MMA kind '{kind}'",
            got=kind,
            expected=", ".join(k.value.removeprefix("kind::") for k in MmaKind),
        )
    return found


_SUBJECTS = {
    "idesc": _Subject("instruction descriptor", 32, _idesc),
    "smem-desc": _Subject(
        "shared memory descriptor of tcgen05", 64,
        lambda word, _: _smem_desc(word),
    ),
    "ctrl": _Subject(
        "control word of tcgen05.mma", 32, lambda word, _: ControlWord.decode(word).explain()
    ),
    "collector": _Subject(
        "collector word of tcgen05.mma", 32, lambda word, _: CollectorWord.decode(word).explain()
    ),
    "zero-mask": _Subject(
        "zero-column mask", 64, lambda word, _: _zero_mask(word)
    ),
    "taddr": _Subject(
        "tensor memory address", 32, lambda word, _: TensorAddress.decode(word).explain()
    ),
}  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Explain one value."""
    subject = _SUBJECTS[arguments.what]
    word = _number(arguments.value, subject)
    try:
        fields = subject.fields(word, arguments.kind)
    except ValueError as error:
        raise input_error(
            f"explain/{arguments.what}", str(error), got=f"{word:#x}", expected=f"a {subject.title}"
        ) from None
    if arguments.format == "json":
        rows = [{"bits": bits, "field": name, "meaning": text} for bits, name, text in fields]
        print(json.dumps({"what": arguments.what, "value": word, "fields": rows}, indent=2))
        return 0
    printer = Printer(sys.stdout)
    printer.line([(f"{subject.title} {word:#0{subject.bits // 4 + 2}x}", "bold")])
    width = max(len(name) for _, name, _ in fields)
    for bits, name, text in fields:
        printer.line([(f"  {bits:>7}", "blue"), (f"  {name:<{width}}  ", ""), (text, "green")])
    return 0


def _number(text: str, subject: _Subject) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        value = -1
    if 0 <= value < 1 << subject.bits:
        return value
    raise input_error(
        "explain/value",
        f"no {subject.bits}-bit number",
        got=text,
        expected=f"0 to {(1 << subject.bits) - 1:#x}, as 193, 0xC1 or 0b11000001",
    )

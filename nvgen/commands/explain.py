"""`nvgen explain`: what the bits of a descriptor or control word say.

Layer: nvgen.commands.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass

from intrinsics.findings import input_error
from intrinsics.idesc import InstructionDescriptor
from intrinsics.modifiers import MmaKind
from intrinsics.smem_desc import SharedMemoryDescriptor
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


def _idesc(word: int, kind: str) -> Fields:
    found = {k.value.removeprefix("kind::"): k for k in MmaKind}.get(kind.removeprefix("kind::"))
    if found is None:
        raise input_error(
            "explain/kind",
            f"no MMA kind '{kind}'",
            got=kind,
            expected=", ".join(k.value.removeprefix("kind::") for k in MmaKind),
        )
    return InstructionDescriptor.decode(word, found).explain()


_SUBJECTS = {
    "idesc": _Subject("instruction descriptor", 32, _idesc),
    "smem-desc": _Subject(
        "shared memory descriptor of tcgen05", 64,
        lambda word, _: SharedMemoryDescriptor.decode(word).explain(),
    ),
    "ctrl": _Subject(
        "control word of tcgen05.mma", 32, lambda word, _: ControlWord.decode(word).explain()
    ),
    "collector": _Subject(
        "collector word of tcgen05.mma", 32, lambda word, _: CollectorWord.decode(word).explain()
    ),
    "zero-mask": _Subject(
        "zero-column mask", 64, lambda word, _: ZeroColumnMask.decode(word).explain()
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

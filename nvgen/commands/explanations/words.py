"""The words that `nvgen explain` reads: descriptors, control words, addresses.

Layer: nvgen.commands.
"""

from __future__ import annotations

from intrinsics.descriptors.idesc import (
    InstructionDescriptor,
    format_of,
    n_values,
    reserved_bits,
    series,
)
from intrinsics.descriptors.packed_fields import CollectorWord, ControlWord
from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor, problems
from intrinsics.descriptors.tensor_address import TensorAddress, ZeroColumnMask
from intrinsics.descriptors.wgmma_desc import WgmmaDescriptor
from intrinsics.descriptors.wgmma_desc import problems as wgmma_problems
from intrinsics.findings import Severity, input_error
from intrinsics.known_bits import exactly
from intrinsics.modifiers import SCALED_KINDS, MmaKind
from intrinsics.targets import TARGETS
from nvgen.commands.explanations.question import Fields, Question

_WS_M = (32, 64, 128)
"""M of tcgen05.mma.ws; PTX ISA, Table 39."""


def idesc(question: Question) -> Fields:
    """An instruction descriptor, in the layout of its kind."""
    word, kind = question.value, question.kind(MmaKind.F16)
    table = f"{kind.value}, PTX ISA, {format_of(kind).value}"
    fields = [("", "layout of", table), *InstructionDescriptor.decode(word, kind).explain()]
    return fields + _wrong(reserved_bits(word, kind)) + _nowhere(word, kind)


def _nowhere(word: int, kind: MmaKind) -> Fields:
    """What is wrong with an instruction descriptor for every MMA of its kind."""
    from isel.verifier.descriptors.instruction import RESERVED, MmaQualifiers, judge

    sparse, target = bool(word >> 2 & 1), TARGETS["sm_103a"]
    forms = (
        ((1, False), (2, False)) if kind in SCALED_KINDS else ((1, False), (2, False), (1, True))
    )
    found = [
        {
            breach.rule: breach
            for breach in judge(
                exactly(word), MmaQualifiers(kind, group, target, ws=ws, sparse=sparse)
            )
            if breach.rule is not RESERVED and breach.rule.severity is Severity.ERROR
        }
        for group, ws in forms
    ]
    shared = [breach for rule, breach in found[0].items() if all(rule in f for f in found)]
    return [("", "wrong", f"{b.rule.text}: {b.got.partition(' in ')[0]}") for b in shared]


def smem_desc(question: Question) -> Fields:
    """Decode a shared memory descriptor, its constant bits included."""
    word = question.value
    constants = {"46-48": f"{word >> 46 & 7:#05b}", "53-60": f"{word >> 53 & 0xFF:#x}"}
    fields = SharedMemoryDescriptor.decode(word).explain()
    shown = [(bits, name, constants.get(bits, text)) for bits, name, text in fields]
    return shown + [("", "wrong", f"{p.text}, not {p.got}") for p in problems(word)]


def wgmma_desc(question: Question) -> Fields:
    """The descriptor of wgmma; its unused bits are read from the word."""
    word = question.value
    unused = {"46-48": f"{word >> 46 & 7:#x}", "52-61": f"{word >> 52 & 0x3FF:#x}"}
    fields = WgmmaDescriptor.decode(word).explain()
    shown = [(bits, name, unused.get(bits, text)) for bits, name, text in fields]
    return shown + [("", "wrong", f"{p.text}, not {p.got}") for p in wgmma_problems(word)]


def ctrl(question: Question) -> Fields:
    """A control word."""
    return ControlWord.decode(question.value).explain()


def collector(question: Question) -> Fields:
    """A collector word."""
    return CollectorWord.decode(question.value).explain()


def taddr(question: Question) -> Fields:
    """A tensor memory address."""
    return TensorAddress.decode(question.value).explain()


def zero_mask(question: Question) -> Fields:
    """A zero-column mask; with M and N also the columns of B that it makes zero."""
    word = question.value
    descriptor = ZeroColumnMask.decode(word)
    fields = descriptor.explain() + _wrong(word & (7 << 36 | 3 << 62))
    m, n = question.number("m", _WS_M), question.number("n", _ws_n())
    if (m is None) != (n is None):
        missing = "--n" if n is None else "--m"
        raise input_error(
            "explain/option", "the columns of a mask depend on M and N",
            got=f"no {missing}", expected=f"{missing} {series(_ws_n()) if n is None else '32'}",
        )  # fmt: skip
    if m is None or n is None:
        return fields
    mask = descriptor.mask(m, n)
    return [
        *fields,
        ("", "mask", f"{mask:#0{n // 4 + 2}x}"),
        ("", "zero columns", _runs(mask, n) or "none"),
        *_columns_read(descriptor, n),
    ]


def _columns_read(descriptor: ZeroColumnMask, n: int) -> Fields:
    """Which columns of B take part where the descriptor shifts them."""
    if not descriptor.shift:
        return []
    return [("", "columns of B", f"{descriptor.shift} to {descriptor.shift + n - 1}, by the shift")]


def _ws_n() -> list[int]:
    return n_values(MmaKind.F16, 1, ws=True)


def _runs(mask: int, n: int) -> str:
    """The set bits as `0-2, 7-9`."""
    runs: list[list[int]] = []
    for i in range(n):
        if mask >> i & 1 and runs and runs[-1][1] == i - 1:
            runs[-1][1] = i
        elif mask >> i & 1:
            runs.append([i, i])
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)


def _wrong(reserved: int) -> Fields:
    return [("", "wrong", f"reserved bits are set: {reserved:#x}")] if reserved else []

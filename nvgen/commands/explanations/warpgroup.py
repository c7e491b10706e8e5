"""Register layouts of wgmma, for `nvgen explain`.

Layer: nvgen.commands.  Formulas are those of `intrinsics.layouts.fragments_wgmma`.
"""

from __future__ import annotations

import re

from intrinsics.findings import InputError, input_error
from intrinsics.modifiers.wgmma import INTEGER_WIDTHS, WIDTHS
from nvgen.commands.explanations.question import Fields, Question

_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "b1": 1}
"""Of an element of A."""

_SUMS = {"f32": 32, "f16": 16, "s32": 32}
_NAME = re.compile(r"d\.n(\d+)(?:\.(\w+))?|a\.(\w+)|metadata\.(\w+?)(?:\.([01]))?")
_ROW = "t // 32 * 16 + t % 32 // 4"


def fragment(question: Question) -> Fields:
    """D, A or the metadata of a sparse A: which element each register of a thread holds."""
    match = _NAME.fullmatch(question.text)
    if match is None:
        raise _unknown(question.text)
    n, sums, a, sparse, selector = match.groups()
    if n is not None:
        return _accumulators(question.text, int(n), sums or "f32")
    if a is not None:
        return _a(question.text, a)
    return _metadata(question.text, sparse, int(selector or 0))


def _accumulators(text: str, n: int, sums: str) -> Fields:
    bits = _SUMS.get(sums)
    widths = INTEGER_WIDTHS if sums == "s32" else WIDTHS
    if bits is None or n not in widths:
        raise _unknown(text)
    place = "r" if bits == 32 else "(2 * r + e)"
    return [
        *_registers(n * bits // 64, 32 // bits),
        ("", "row", f"{_ROW} + {'r // 2' if bits == 32 else 'r'} % 2 * 8"),
        ("", "column", f"{place} // 4 * 8 + t % 4 * 2 + {place if bits == 32 else 'e'} % 2"),
    ]


def _a(text: str, name: str) -> Fields:
    bits = _BITS.get(name)
    if bits is None:
        raise _unknown(text)
    count = 32 // bits
    word = "r // 2 * 4 + t % 4"
    return [
        *_registers(4, count),
        ("", "row", f"{_ROW} + r % 2 * 8"),
        ("", "column", word if count == 1 else f"({word}) * {count} + e"),
        ("", "of a sparse A", "columns count what is stored"),
    ]


def _metadata(text: str, name: str, selector: int) -> Fields:
    bits = _BITS.get(name)
    if bits in (None, 1) or (bits == 8 and selector):
        raise _unknown(text)
    own = "all four" if bits == 8 else f"{2 * selector} and {2 * selector + 1}"
    fields = [
        ("", "registers", "one in each thread t = 0 to 127"),
        ("", "threads of four", own),
        ("", "index", "i = 0 to 7, of four bits each, the first lowest"),
    ]
    if bits == 8:
        row, chunk = f"{_ROW} + t % 2 * 8", "t % 4 // 2 * 8 + i"
    else:
        row, chunk = f"{_ROW} + i // 4 * 8", "t % 2 * 4 + i % 4"
    size = 2 if bits == 32 else 4
    return [
        *fields,
        ("", "row", row),
        ("", "chunk", chunk),
        ("", "of a chunk", f"{size} elements, of which {size // 2} are stored"),
    ]


def _registers(count: int, elements: int) -> Fields:
    fields = [("", "registers", f"r = 0 to {count - 1} in each thread t = 0 to 127")]
    if elements > 1:
        fields.append(("", "elements", f"e = 0 to {elements - 1}, the first lowest"))
    return fields


def _unknown(text: str) -> InputError:
    return input_error(
        "explain/wgmma-fragment", "no matrix of wgmma in registers", got=text,
        expected="d.nN[.f32, .f16 or .s32], a.TYPE or metadata.TYPE[.SELECTOR], as d.n64.f16",
        hint=f"TYPE is {', '.join(_BITS)}; N is a multiple of 8 up to 256",
    )  # fmt: skip

"""The data layout of a module, and whether it is that of NVPTX.

Layer: isel.llvm (standard library only).  Input: the string of `target datalayout`.  Output: widths
of pointers and alignments of integers wider than 64 bits, in bits; or the first difference by which
data would be laid out differently in PTX and on the host.  Missing parts have LLVM's defaults. LLVM
Language Reference, Data Layout; LLVM, User Guide for NVPTX Back-end, Data Layout.
"""

from __future__ import annotations

import functools
import re

from intrinsics.lazy_dataclass import dataclass

NVPTX = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
"""The layout of a module that has none, as in LLVM 22."""

TENSOR_SPACE = 6
_SHORT = (3, 4, 5, 7, 101)
"""Address spaces whose pointers have 32 or 64 bits: those of one CTA, of constants, of parameters.
"""

_KNOWN = (0, 1, TENSOR_SPACE, *_SHORT)
"""Address spaces that PTX has."""

_LIKE_PTX = {1: 8, 8: 8, 16: 16, 32: 32, 64: 64}
_DEFAULTS = {1: 8, 8: 8, 16: 16, 32: 32, 64: 32}
_POINTER = re.compile(r"p[a-z]*(\d*)((?::\d+)+)")
_SIZED = re.compile(r"([ifva])(\d*)((?::\d+)+)")
_ELSEWHERE = {
    "m": "symbols are not mangled",
    "A": "alloca gives generic pointers",
    "G": "globals have generic pointers unless they say otherwise",
    "P": "functions are in address space 0",
}


class ForeignLayoutError(Exception):
    """A part of a layout that is not NVPTX's, with the expected one."""

    def __init__(self, message: str, got: str, expected: str) -> None:
        super().__init__(message)
        self.message = message
        self.got = got
        self.expected = expected


@dataclass(frozen=True, slots=True)
class DataLayout:
    """Bits of pointers by address space, and alignments of integers by their bits, in bits."""

    pointers: dict[int, int]
    integers: dict[int, int]


@functools.cache
def read_layout(text: str) -> DataLayout:
    """The data layout that `text` states; "" is the machine's own.

    Raises: ForeignLayoutError.
    """
    pointers = {0: 64, TENSOR_SPACE: 32}
    integers = dict(_DEFAULTS)
    for spec in filter(None, (text or NVPTX).split("-")):
        pointer, sized = _POINTER.fullmatch(spec), _SIZED.fullmatch(spec)
        if pointer is not None:
            numbers = [int(n) for n in pointer[2][1:].split(":")]
            pointers[int(pointer[1] or 0)] = _pointer(spec, int(pointer[1] or 0), numbers)
        elif sized is not None:
            bits, align = int(sized[2] or 0), int(sized[3][1:].split(":")[0])
            _check_sized(spec, sized[1], bits, align)
            if sized[1] == "i":
                integers[bits] = align
        else:
            _check_word(spec)
    if integers[64] != 64:
        raise ForeignLayoutError(
            "integers of 64 bits are aligned to 32 where a layout says nothing of them", text,
            "i64:64",
        )  # fmt: skip
    return DataLayout(pointers, integers)


def _pointer(spec: str, space: int, numbers: list[int]) -> int:
    allowed = (32,) if space == TENSOR_SPACE else (32, 64) if space in _SHORT else (64,)
    size, *others = numbers
    if size not in allowed and (space in _KNOWN or size not in (32, 64)):
        raise ForeignLayoutError(
            f"pointers of address space {space} have "
            f"{' or '.join(str(bits) for bits in allowed)} bits",
            spec,
            f"p{space or ''}:{allowed[-1]}:{allowed[-1]}",
        )
    if others and (others[0] != size or others[2:] not in ([], [size])):
        raise ForeignLayoutError(
            "pointers are aligned to their size, and indices are as wide", spec,
            f"p{space or ''}:{size}:{size}",
        )  # fmt: skip
    return size


def _check_sized(spec: str, kind: str, bits: int, align: int) -> None:
    natural = 1 << (max(bits, 8) - 1).bit_length()
    if kind == "a" and align > 8:
        raise ForeignLayoutError("structs are aligned as their members are", spec, "a:0:64")
    if kind == "i" and align != _LIKE_PTX.get(bits, align):
        raise ForeignLayoutError(
            f"integers of {bits} bits are aligned to {_LIKE_PTX[bits]} bits", spec,
            f"i{bits}:{_LIKE_PTX[bits]}",
        )  # fmt: skip
    if (kind == "v" or (kind == "f" and bits in (16, 32, 64))) and align != natural:
        what = "vectors" if kind == "v" else "numbers"
        raise ForeignLayoutError(
            f"{what} of {bits} bits are aligned to {natural} bits", spec, f"{kind}{bits}:{natural}"
        )


def _check_word(spec: str) -> None:
    if spec == "E":
        raise ForeignLayoutError("the machine is little-endian", spec, "e")
    reason = _ELSEWHERE.get(spec[0])
    if reason is not None and spec[1:] != "0":
        raise ForeignLayoutError(reason, spec, f"no {spec}")

"""A matrix in shared memory: its bytes among others, and its descriptor.

Addresses are those of `tests/intrinsics/published`; PTX ISA, Shared memory descriptor, Strides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tests.intrinsics.published.cute import Ints
from tests.intrinsics.published.descriptors import LAYOUTS, SHARED, pack
from tests.intrinsics.published.packing import PER_PIECE
from tests.intrinsics.published.packing import WIDTH as WIDTHS
from tests.intrinsics.published.shared_memory import PIECES, k_major, mn_major
from tests.oracle.executed.draws import Codes, Random

REPEAT = {"NONE": 16, "B32": 256, "B64": 512, "B128": 1024, "B128_ATOM32": 1024}
"""Where the pattern of a swizzling mode may begin without a base offset: PTX ISA, Table 41."""

_TIGHT = 0.4
"""The chance that a stride is as small as it can be."""


@dataclass(frozen=True)
class Layout:
    """How a matrix lies: `start` is the pattern's, `step` what the descriptor's start is beyond.

    Where it is `absolute`, `lbo` is the address at which rows go on when their 128 bytes are full.
    """

    mode: str
    mn: bool
    lbo: int
    sbo: int
    start: int
    step: int
    base: int
    absolute: bool = False

    def word(self) -> int:
        """The descriptor."""
        return pack(
            SHARED, start=(self.start + self.step) >> 4, lbo=self.lbo >> 4, sbo=self.sbo >> 4,
            version=1, lbo_mode=int(self.absolute), base=self.base, layout=LAYOUTS[self.mode],
        )  # fmt: skip

    def describe(self) -> str:
        """The fields, for a message."""
        major = "MN" if self.mn else "K"
        return (
            f"{self.mode} {major}-major lbo {self.lbo} sbo {self.sbo} at {self.start}+{self.step}"
            f" base {self.base}"
        )


@dataclass(frozen=True)
class Placed:
    """Where the 16-byte pieces of a matrix are (any shape), and what each CTA's hold."""

    layout: Layout
    addresses: Ints
    pieces: npt.NDArray[np.uint8]

    @property
    def end(self) -> int:
        """The first byte behind it."""
        return int(self.addresses.max()) + 16


def pieces_of(codes: Codes, type_: str, kind: str, dirt: Random) -> npt.NDArray[np.uint8]:
    """The pieces of rows of codes: (rows, n) gives (rows, n / per piece, 16); padding is dirt."""
    per = PER_PIECE[type_.upper(), kind]
    width = WIDTHS[type_.upper()]
    groups = codes.reshape(codes.shape[0], -1, per)
    bits = groups[..., None] >> np.arange(width, dtype=np.uint32) & 1
    packed = np.packbits(
        bits.astype(np.uint8).reshape(*groups.shape[:2], -1), -1, bitorder="little"
    )
    out = dirt.integers(0, 256, (*groups.shape[:2], 16)).astype(np.uint8)
    out[..., : packed.shape[-1]] = packed
    return out


def modes(type_: str, *, mn: bool, row_bytes: int) -> list[str]:
    """The swizzling modes in which rows of so many bytes of K are described by the sources."""
    if mn:
        return ["B128_ATOM32"] if type_ == "tf32" else ["NONE", "B32", "B64", "B128"]
    return ["NONE"] + [m for m in ("B32", "B64", "B128") if 16 * PIECES[m] >= row_bytes]


def place(
    rng: Random, parts: list[Codes], type_: str, kind: str, free: int, *, mn: bool, mode: str
) -> Placed:
    """Put matrices (rows, K) somewhere behind byte `free`, each CTA's in the same place."""
    turned = [np.ascontiguousarray(codes.T) if mn else codes for codes in parts]
    pieces = np.stack([pieces_of(codes, type_, kind, rng) for codes in turned])
    shape, count = parts[0].shape, pieces.shape[2]
    for _ in range(50):
        layout = _layout(rng, shape, count, free, mn=mn, mode=mode)
        addresses = _addresses(layout, shape, count)
        if len(np.unique(addresses)) == addresses.size:
            return Placed(layout, addresses, pieces)
    raise AssertionError("no strides without overlap")


def _addresses(layout: Layout, shape: tuple[int, int], pieces: int) -> Ints:
    """Byte addresses of the pieces: (K, pieces) if they run along M or N, else (rows, pieces)."""
    rows, k = shape
    wide = PIECES[layout.mode]
    if layout.mn:
        room = -(-pieces // wide) * wide
        inside = mn_major(layout.mode, 16 * room, k, 1, layout.lbo, layout.sbo)
        return layout.start + inside[::16].T[:, :pieces]
    if layout.absolute:
        return _absolute(layout, rows, pieces)
    columns = pieces if layout.mode == "NONE" else wide
    eights = -(-rows // 8) * 8
    inside = k_major(layout.mode, eights, 16 * columns, 1, layout.lbo, layout.sbo)[:rows, ::16]
    first = layout.step // 16 if layout.mode != "NONE" else 0
    return layout.start + layout.step * (layout.mode == "NONE") + inside[:, first : first + pieces]


def _absolute(layout: Layout, rows: int, pieces: int) -> Ints:
    """The first pieces where the start is, the others at the beginning of the other buffer."""
    eights = -(-rows // 8) * 8
    buffer = k_major("B128", eights, 128, 1, 16, layout.sbo)[:rows, ::16]
    first = layout.step // 16
    both = np.concatenate([layout.start + buffer, layout.lbo + buffer], axis=1)
    return both[:, first : first + pieces]


def _stride(rng: Random, least: int, unit: int) -> int:
    if rng.random() < _TIGHT:
        return least
    return least + unit * int(rng.integers(1, 5))


def _layout(
    rng: Random, shape: tuple[int, int], pieces: int, free: int, *, mn: bool, mode: str
) -> Layout:
    rows, k = shape
    wide, repeat = PIECES[mode], REPEAT[mode]
    deep = 4 if mode == "B128_ATOM32" else 8
    step, base = 0, 0
    if mn:
        outer, inner = -(-pieces // wide), -(-k // deep)
        atom = 16 * wide * deep
    else:
        outer, inner = -(-rows // 8), pieces
        atom = 128 * wide
    unit = max(repeat, 16) if mode != "NONE" else 16
    near = _stride(rng, atom, unit)
    if mn and rng.random() < 0.5:  # atoms of K next to each other
        far = _stride(rng, near * inner, unit)
        along_k, along_mn = near, far
    elif mn or mode != "NONE" or rng.random() < 0.5:
        far = _stride(rng, near * outer, unit)
        along_mn, along_k = near, far
    else:
        far = _stride(rng, near * inner, unit)
        along_k, along_mn = near, far
    if not mn and mode != "NONE":
        along_k = int(rng.choice([0, 16, 1024]))
        most = wide - pieces
        step = 16 * pieces * int(rng.integers(0, most // pieces + 1))
        if pieces == 3 and mode == "B128":  # steps of K = 96
            step = 16 * int(rng.integers(0, 8))
    start = -(-free // repeat) * repeat + repeat * int(rng.integers(0, 3))
    wraps = step > max(16 * (wide - pieces), 0)
    if mode in ("B32", "B64", "B128") and not wraps and rng.random() < 0.2:
        start += 128 * int(rng.integers(1, repeat // 128))
        base = start >> 7 & 7
    if wraps:
        other = start + near * outer + repeat * int(rng.integers(0, 3))
        return Layout(mode, mn, other, near, start, step, 0, absolute=True)
    swaps = mn and mode != "NONE"
    lbo, sbo = (along_mn, along_k) if swaps else (along_k, along_mn)
    return Layout(mode, mn, lbo, sbo, start, step, base)

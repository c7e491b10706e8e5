"""Which bytes and columns a record accesses, from the numbers of its operands.

Layer: isel.verifier.ordering.  PTX ISA, tcgen05: Shared memory descriptor, Canonical Layouts;
wgmma: Matrix Descriptor Format; cp.async.bulk.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor
from intrinsics.descriptors.wgmma_desc import WgmmaDescriptor
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import MmaKind, ScalarType, Vec
from intrinsics.multiplies.wgmma import WgmmaShape
from isel.verifier.function.events import Event, Kind
from isel.verifier.function.matrices import shape_of
from isel.verifier.function.threads import Threads
from isel.verifier.function.touches import scales_of, spans
from isel.verifier.function.values import LANES, Loaded, Value, Where, constant
from isel.verifier.ordering.log import Memory, Region
from isel.verifier.ordering.numbers import Number, lanes_of
from isel.verifier.ordering.windows import in_window, rank_of

_TENSOR = Loaded("tensor memory", 0)
_CORE = 8
"""Rows of a core matrix or swizzle atom."""
_ROW = 32
"""Bytes of K in a row of a warpgroup's matrix."""


def generic(mi: MachineInstr, address: Number, mask: int, *, writes: bool) -> list[Region]:
    """The bytes that the lanes of a mask access in shared memory."""
    return list(pieces(address, mask, _bytes_of(mi), writes))


@functools.lru_cache(4096)  # warps come to the same bytes again and again, and so do runs
def pieces(address: Number, mask: int, size: int, writes: bool) -> tuple[Region, ...]:
    """`size` bytes of shared memory at the address of each lane of a mask; neighbours are one."""
    found = sorted({a for i, a in enumerate(lanes_of(address)) if mask >> i & 1 and a is not None})
    joined: list[list[int]] = []
    for first in found:
        if joined and first <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], first + size)
        else:
            joined.append([first, first + size])
    return tuple(
        [
            Region(Memory.SHARED, rank_of(first), first, last, writes=writes)
            for first, last in joined
        ]
    )


def _bytes_of(mi: MachineInstr) -> int:
    if mi.row.id in ("ldmatrix", "stmatrix"):
        return 16
    type_, vector = mi.form.attributes.get("type"), mi.form.attributes.get("vec")
    times = vector.count if isinstance(vector, Vec) else 1
    return (type_.bits // 8 if isinstance(type_, ScalarType) else 4) * times


def shared(first: int, size: int, *, writes: bool, exact: bool = True, name: str = "") -> Region:
    """A piece of shared memory."""
    return Region(Memory.SHARED, rank_of(first), first, first + size, -1, writes, exact, name)


def columns(
    mi: MachineInstr, index: int, kind: Kind, numbers: dict[str, int], ranks: tuple[int, ...]
) -> list[Region]:
    """What a record touches of the tensor memory of some CTAs, its operands being known."""
    place = numbers.get("d", numbers.get("taddr"))
    values = tuple(
        (name, constant(number) if name == "idesc" else Value(_TENSOR, number))
        for name, number in numbers.items()
    )
    event = Event(
        kind, index, mi, Threads(1),
        None if place is None else Where(_TENSOR, place), values=values,
    )  # fmt: skip
    scales = scales_of(event)
    return [
        Region(
            Memory.TENSOR, rank, s.first, s.first + s.width, s.lanes, s.writes,
            name="scales" if s in scales else "",
        )
        for rank in ranks
        for s in spans(event)
        if s.first is not None
    ]  # fmt: skip


# ---- matrices --------------------------------------------------------------------------------


def matrices(
    mi: MachineInstr, index: int, numbers: dict[str, int], rank: int, ctas: int
) -> Iterator[Region]:
    """The tiles of shared memory that an MMA reads, in each of its CTAs."""
    event = Event(
        Kind.MULTIPLY, index, mi, Threads(1), None,
        values=tuple((n, constant(v)) for n, v in numbers.items()),
    )  # fmt: skip
    shape = shape_of(event)
    word = numbers.get("idesc", 0)
    size = 4 if shape is not None and shape.kind is MmaKind.TF32 else 2
    if shape is not None and shape.kind not in (MmaKind.TF32, MmaKind.F16):
        size = 1
    for name, rows, bit in (
        ("a", shape.m if shape else 64, 15),
        ("b", shape.n if shape else 8, 16),
    ):
        descriptor = numbers.get(name)
        if descriptor is None:
            continue
        mn_major = bool(word >> bit & 1)
        for peer in range(ctas):
            base = (rank & ~1) + peer if ctas == 2 else rank
            yield _tile(_decoded(descriptor), rows // ctas, size, mn_major, base, name)


def warpgroup_matrices(mi: MachineInstr, numbers: dict[str, int], rank: int) -> Iterator[Region]:
    """The tiles that a wgmma.mma_async reads."""
    shape = mi.form.attributes["shape"]
    assert isinstance(shape, WgmmaShape)
    rows = {"a": 64, "b": shape.n}
    size = max(_ROW // shape.k, 1)
    for name in ("a", "b"):
        if name in numbers:
            trans = _is_one(mi, f"trans_{name}")
            descriptor = WgmmaDescriptor.decode(numbers[name])
            yield _tile(descriptor, rows[name], size, trans, rank, name)


def _is_one(mi: MachineInstr, name: str) -> bool:
    return getattr(mi.get(name), "value", 0) == 1


def copied(descriptor: int, rank: int) -> Region:
    """What tcgen05.cp reads, as far as it is certain."""
    return shared(in_window(start_of(descriptor), rank), 16, writes=False, name="matrix")


def start_of(descriptor: int) -> int:
    """The address in a descriptor."""
    return _decoded(descriptor).address


def _decoded(word: int) -> SharedMemoryDescriptor:
    """A descriptor; where its swizzling mode is none, which another rule says, without one."""
    try:
        return SharedMemoryDescriptor.decode(word)
    except ValueError:
        return SharedMemoryDescriptor.decode(word & ~(7 << 61))


def _tile(
    descriptor: SharedMemoryDescriptor | WgmmaDescriptor, rows: int, size: int, mn_major: bool,
    rank: int, name: str,
) -> Region:  # fmt: skip
    """The hull of a tile of `rows` rows, or the smaller where its strides may mean two things."""
    first, leading, stride = descriptor.address, descriptor.lbo, descriptor.sbo
    span = descriptor.swizzle.span
    groups = -(-rows // _CORE)
    across = max(rows * size // span, 1)
    if mn_major:
        reach = min((across - 1) * leading, (across - 1) * stride) if across > 1 else 0
        last = first + reach + _CORE * span
    elif span == 16:
        last = first + (groups - 1) * stride + leading + 16 * _CORE
    else:
        last = first - first % span + (groups - 1) * stride + span * _CORE
    return Region(
        Memory.SHARED, rank, in_window(first, rank), in_window(0, rank) + last, name=name.upper(),
        exact=not mn_major or across == 1,
    )  # fmt: skip


def union_lanes(number: Number, mask: int) -> set[int]:
    """The numbers that the lanes of a mask have, as far as they are known."""
    return {
        n
        for i, n in zip(range(LANES), lanes_of(number), strict=True)
        if mask >> i & 1 and n is not None
    }

"""The bytes and columns that a record accesses, from the values of its operands.

Layer: isel.verifier.ordering.  Matrices in shared memory are in `matrices`.  PTX ISA, tcgen05:
Tensor Memory Addressing; cp.async.bulk.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from intrinsics.mir import Form, MachineInstr
from intrinsics.modifiers import ScalarType, Space, Vec
from intrinsics.modifiers.matrix import MatrixNum, MatrixShape
from isel.verifier.function.events import Event, Kind
from isel.verifier.function.flow.threads import Threads
from isel.verifier.function.flow.values import LANES, Loaded, MemoryLocation, Value, constant
from isel.verifier.function.tensor_memory.tensor_spans import scales_of, spans
from isel.verifier.ordering.integers.numbers import Number, lanes_of
from isel.verifier.ordering.integers.windows import may_be_shared, rank_of
from isel.verifier.ordering.memory_regions import Memory, Region
from isel.verifier.ordering.run.lanes import Lanes, lanes_at

_TENSOR = Loaded("tensor memory", 0)


class Touched(NamedTuple):
    """A memory access by the lanes of a mask at an address.

    It is `in_shared` memory if some lane may be; `regions` are its bytes there.  `misplaced` is the
    first address that is not aligned to the access, with the size of that; the access `strays` if
    it may be in shared memory, and is at an unknown address in some lane.  `lanes` are those that
    access it, each some bytes.
    """

    regions: tuple[Region, ...]
    misplaced: tuple[int, int] | None
    in_shared: bool
    strays: bool
    lanes: Lanes


@functools.lru_cache(4096)  # warps and runs repeat the same addresses
def touched(form: Form, address: Number, mask: int, writes: bool) -> Touched:
    """The regions that an access by the lanes of a mask touches."""
    rows, size, here = mask & rows_of(form), bytes_of(form), may_be_shared(address)
    wrong = misaligned(address, rows, size) if here else None
    lanes = lanes_of(address) if form.attributes.get("space") is not Space.GLOBAL else ()
    found = shared_regions(address, rows, size, writes) if here else ()
    return Touched(
        found,
        None if wrong is None else (wrong, size),
        here,
        any(a is None and mask >> i & 1 for i, a in enumerate(lanes)),
        lanes_at(address, rows, size, found, writes=writes),
    )


def generic(form: Form, address: Number, mask: int, *, writes: bool) -> tuple[Region, ...]:
    """The bytes that the lanes of a mask access in shared memory."""
    return shared_regions(address, mask & rows_of(form), bytes_of(form), writes)


@functools.lru_cache(4096)  # warps and runs repeat the same addresses
def shared_regions(address: Number, mask: int, size: int, writes: bool) -> tuple[Region, ...]:
    """`size` bytes of shared memory at the address of each lane of a mask.

    Adjacent ones are merged.
    """
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


@functools.lru_cache(4096)  # warps and runs repeat the same addresses
def misaligned(address: Number, mask: int, size: int) -> int | None:
    """The first address in the lanes of a mask that is no multiple of `size`."""
    for i, a in enumerate(lanes_of(address)):
        if a is not None and mask >> i & 1 and a % size:
            return a
    return None


def rows_of(form: Form) -> int:
    """The lanes whose addresses count: of ldmatrix and stmatrix one for each row."""
    number, shape = form.attributes.get("num"), form.attributes.get("shape")
    if not isinstance(number, MatrixNum) or form.row.id not in ("ldmatrix", "stmatrix"):
        return (1 << LANES) - 1
    rows = 16 if shape is MatrixShape.M16N16 else 8
    return (1 << rows * int(number.value[1:])) - 1


def bytes_of(form: Form) -> int:
    """The bytes at each address of an access."""
    if form.row.id in ("ldmatrix", "stmatrix"):
        return 16
    type_, vector = form.attributes.get("type"), form.attributes.get("vec")
    times = vector.count if isinstance(vector, Vec) else 1
    return (type_.bits // 8 if isinstance(type_, ScalarType) else 4) * times


def shared(first: int, size: int, *, writes: bool, exact: bool = True, name: str = "") -> Region:
    """A region of shared memory: `size` bytes from the address `first` on."""
    return Region(Memory.SHARED, rank_of(first), first, first + size, -1, writes, exact, name)


def columns(
    mi: MachineInstr, index: int, kind: Kind, numbers: dict[str, int], ranks: tuple[int, ...]
) -> list[Region]:
    """The regions of tensor memory that a record accesses in the CTAs `ranks`, from its
    operands.
    """
    place = numbers.get("d", numbers.get("taddr"))
    values = tuple(
        (name, constant(number) if name == "idesc" else Value(_TENSOR, number))
        for name, number in numbers.items()
    )
    event = Event(
        kind, index, mi, Threads(1),
        None if place is None else MemoryLocation(_TENSOR, place), values=values,
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


def union_lanes(number: Number, mask: int) -> set[int]:
    """The known values in the lanes of a mask."""
    return {
        n
        for i, n in zip(range(LANES), lanes_of(number), strict=True)
        if mask >> i & 1 and n is not None
    }

"""Rings of tiles between a role that fills them and roles that use them.

Layer: nvgen.builder.  Each buffer of a ring has two mbarriers: `full`, on which the copies that
fill it are counted, and `empty`, at which each user arrives when it is through.  PTX ISA, mbarrier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from nvgen.builder.numbers import Int, IntLike
from nvgen.builder.pointers import Barrier, Barriers
from nvgen.builder.protocols import Counted, Protocols
from nvgen.builder.refusals import described, refuse, whole
from nvgen.builder.roles import WARPGROUP, Ring, Scope
from nvgen.builder.tiles import SharedTile, Tiles


@dataclass(frozen=True, slots=True)
class Slot:
    """One buffer of a ring at work: its number, its tiles, and the mbarrier of its copies."""

    stage: Int
    tiles: tuple[SharedTile, ...]
    full: Barrier

    @property
    def tile(self) -> SharedTile:
        """The only tile.

        Raises: InputError where there are several.
        """
        if len(self.tiles) != 1:
            raise refuse("a buffer of several tiles", got=str(len(self.tiles)), expected="tiles[i]")
        return self.tiles[0]


class TileRing:
    """As many buffers as `tiles` are, each with its tiles, for one producer and `consumers`."""

    def __init__(
        self, builder: Protocols, name: str, tiles: Sequence[Tiles[SharedTile]], consumers: int
    ) -> None:
        for tile in tiles:
            if not isinstance(tile, Tiles):
                raise refuse(
                    "a ring has several buffers",
                    got=described(tile),
                    expected="b.shared_tiles(name, dtype, shape, count)",
                )
        counts = {tile.count for tile in tiles}
        if len(counts) != 1:
            raise refuse(
                "the buffers of a ring have tiles of each kind",
                got=", ".join(f"{t.count} of {t.first.name}" for t in tiles) or "no tiles",
                expected="as many of each: b.shared_tiles(name, dtype, shape, count)",
            )
        (self.stages,) = counts
        self.builder, self.tiles = builder, tuple(tiles)
        self.consumers = whole(consumers, "number of consumers")
        self.full: Barriers = builder.mbarriers(f"{name}_full", self.stages)
        self.empty: Barriers = builder.mbarriers(f"{name}_empty", self.stages)

    @property
    def mbarriers(self) -> tuple[Counted, ...]:
        """What `make_mbarriers` takes: `b.make_mbarriers(*ring.mbarriers)`."""
        return (self.full, 1), (self.empty, self.consumers)

    def producer(self) -> Producer:
        """The end that fills, at the first buffer."""
        return Producer(self)

    def consumer(self) -> Consumer:
        """An end that uses, at the first buffer."""
        return Consumer(self)

    def slot(self, stage: IntLike) -> Slot:
        """A buffer by its number, which the kernel may compute."""
        number = stage if isinstance(stage, Int) else self.builder.const(stage)
        return Slot(number, tuple(tile[number] for tile in self.tiles), self.full[number])


class Producer:
    """Fills one buffer after the other; one thread does."""

    def __init__(self, ring: TileRing) -> None:
        self.ring = ring
        self._place: Ring = ring.builder.ring(ring.stages)

    @contextmanager
    def fill(self) -> Iterator[Slot]:
        """The next buffer, when all consumers are through with it; copies that fill it follow.

        The bytes of all its tiles are expected on `slot.full`.
        """
        b, ring, place = self.ring.builder, self.ring, self._place
        b.wait(ring.empty[place.stage], place.parity ^ 1)
        slot = ring.slot(place.stage)
        b.arrive_expecting(slot.full, *ring.tiles)
        yield slot
        place.advance()


class Consumer:
    """Uses one buffer after the other; all threads of a consumer do."""

    def __init__(self, ring: TileRing) -> None:
        self.ring = ring
        self._place: Ring = ring.builder.ring(ring.stages)

    def take(self) -> Slot:
        """The next buffer, when it is full."""
        b, ring, place = self.ring.builder, self.ring, self._place
        b.wait(ring.full[place.stage], place.parity)
        slot = ring.slot(place.stage)
        place.advance()
        return slot

    def release(self, slot: Slot | IntLike) -> None:
        """Give a buffer back: one thread of the consumer arrives.

        What read it is complete: multiplies behind a wait for them, and what other warps of the
        consumer have read behind a barrier.
        """
        b = self.ring.builder
        empty = self.ring.empty[slot.stage if isinstance(slot, Slot) else slot]
        match b.scope:
            case Scope.THREAD:
                b.mbarrier_arrive(empty)
            case Scope.WARP:
                with b.elect():
                    b.mbarrier_arrive(empty)
            case Scope.WARPGROUP:
                with b.if_(b.tid_x % WARPGROUP == 0):
                    b.mbarrier_arrive(empty)
            case Scope.CTA:
                with b.if_thread(0):
                    b.mbarrier_arrive(empty)

    @contextmanager
    def use(self) -> Iterator[Slot]:
        """The next buffer, when it is full; behind the block it is given back."""
        slot = self.take()
        yield slot
        self.release(slot)

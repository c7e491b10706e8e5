"""Rings: buffers that a producer fills and consumers use, in turn.

Layer: nvgen.shared_memory.  Each buffer has two mbarriers: `full`, on which the copies that fill it
complete, and `empty`, at which consumers arrive when they have read it.  PTX ISA, mbarrier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace

from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import WARPGROUP_WARPS
from intrinsics.modifiers import CtaGroup, Space
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import refuse, whole
from nvgen.instructions.roles import WARPGROUP, ExecutionScope, Ring, check_scope
from nvgen.shared_memory.protocols import Counted, Protocols
from nvgen.shared_memory.tiles import RingTile, SharedScales, SharedTile, Tiles
from nvgen.values.number_types import u16, u32
from nvgen.values.numbers import Int, IntLike, WordLike
from nvgen.values.pointers import Barrier, Barriers, Pointer, index_below

_PAIR = 0b11


@guarded
@dataclass(frozen=True, slots=True)
class Slot:
    """One buffer of a ring: its index (`stage`), its tiles, and the mbarrier of its copies
    (`full`).

    `notes` are the numbers of all buffers of the ring.
    """

    stage: Int
    tiles: tuple[RingTile, ...]
    full: Barrier
    notes: Pointer | None = None
    known: Int | None = None
    """The number that came with the tiles, where it has been read."""

    def __repr__(self) -> str:
        return f"<buffer of a ring, {self.full}: {', '.join(map(repr, self.tiles))}>"

    @property
    def tile(self) -> RingTile:
        """The only tile.

        Raises: InputError where there are several.
        """
        if len(self.tiles) != 1:
            raise refuse("a buffer of several tiles", got=str(len(self.tiles)), expected="tiles[i]")
        return self.tiles[0]

    @property
    def note(self) -> Int:
        """The number that the producer gave with the buffer.

        Raises: InputError where the ring has no notes.
        """
        if self.known is not None:
            return self.known
        if self.notes is None:
            raise refuse("a ring without notes", expected="b.tile_ring(…, notes=True)")
        found = self.notes[self.stage]
        assert isinstance(found, Int)
        return found


@guarded
class TileRing:
    """A ring of buffers, each with one of each of `tiles`, for one producer and `consumers`
    consumers.

    A consumer releases a buffer by one arrival, or with `warps=4` by one of each warp of a
    warpgroup, which then need not synchronise first; a warp whose lanes have read it (ldmatrix)
    executes `bar_warp_sync` before.  With `notes` each buffer carries a 32-bit number.  With
    `writers` that many warps fill a buffer (`producer.write()`), in place of TMA copies.  `full`
    and `empty` are the buffers' mbarriers: `full[slot.stage]`.

    With `cta_group` 2 it is the ring of a CTA pair: each CTA fills its own tiles, which count on
    the even CTA's `slot.full` (`load_tile(…, slot.full, cta_group=…)`); the even CTA multiplies for
    both, and its commits release the buffers of both.
    """

    def __init__(
        self,
        builder: Protocols,
        name: str,
        tiles: Sequence[Tiles[SharedTile] | Tiles[SharedScales]],
        consumers: int,
        warps: int = 1,
        *,
        notes: bool = False,
        writers: int = 0,
        cta_group: CtaGroup = CtaGroup.ONE,
    ) -> None:
        if len({id(tile) for tile in tiles}) < len(tiles):
            expected = "b.shared_tiles(…) for each: a copy into one would destroy the other"
            raise refuse("the same tiles twice in a ring", got=name, expected=expected)
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
        self.warps = whole(warps, "number of warps")
        if warps not in (1, WARPGROUP_WARPS):
            raise refuse(
                "so many warps of a consumer", got=str(warps), expected=f"1 or {WARPGROUP_WARPS}"
            )
        self.writers = whole(writers, "number of writers", 0)
        self.pair = cta_group is CtaGroup.TWO
        if self.pair and (notes or writers or consumers > 1 or builder.cluster % 2):
            raise refuse(
                "no ring of a CTA pair", got=f"a cluster of {builder.cluster}",
                expected="clusters of pairs; one consumer, filled by copies, without notes",
            )  # fmt: skip
        self.notes = builder.shared_array(f"{name}_notes", u32, self.stages) if notes else None
        self.full: Barriers = builder.mbarriers(f"{name}_full", self.stages)
        self.empty: Barriers = builder.mbarriers(f"{name}_empty", self.stages)

    def __repr__(self) -> str:
        tiles = ", ".join(repr(tile.first) for tile in self.tiles)
        return f"<ring of {self.stages} buffers for {self.consumers} consumers, each {tiles}>"

    @property
    def mbarriers(self) -> tuple[Counted, ...]:
        """What `make_mbarriers` takes: `b.make_mbarriers(*ring.mbarriers)`."""
        return (self.full, self.writers or 1), (self.empty, self.consumers * self.warps)

    def producer(self) -> Producer:
        """The producer's end, at the first buffer."""
        return Producer(self)

    def consumer(self) -> Consumer:
        """A consumer's end, at the first buffer."""
        return Consumer(self)

    def slot(self, stage: IntLike) -> Slot:
        """A buffer by its index, which the kernel may compute.

        Raises: InputError for an index that is known and too large.
        """
        known = index_below(stage, self.stages, "the ring")
        number = known if isinstance(known, Int) else self.builder.const(known)
        tiles = tuple(tile[number] for tile in self.tiles)
        return Slot(number, tiles, self.full[number], self.notes)  # type: ignore[arg-type]  # either


@guarded
class _End:
    """One end of a ring, at the first buffer."""

    def __init__(self, ring: TileRing) -> None:
        self.ring, self.builder = ring, ring.builder
        self._place: Ring = ring.builder.ring(ring.stages)

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} of {self.ring}>"


@guarded
class Producer(_End):
    """Fills one buffer after the other, by one thread."""

    @contextmanager
    def fill(self, note: IntLike | None = None) -> Iterator[Slot]:
        """The next buffer, once all consumers have released it; in the block (`with`) are the
        copies that fill it.

        The bytes of all its tiles are expected on `slot.full`.  `note` is the buffer's number.

        Raises: InputError for a note in a ring without, and without one in a ring of notes.
        """
        slot = self._next(note)
        yield self._expecting(slot)
        self._place.advance()

    @contextmanager
    def write(self) -> Iterator[Slot]:
        """The next buffer, once it is free, of a ring with `writers`; in the block (`with`) each
        warp stores its part.  Then consumers and their multiplies see it.

        A warpgroup that stores a matrix (`fragment.as_tile(slot.tile)`) is four writers.

        Raises: InputError where it is not executed by a warp, or by a warpgroup of four of the
        writers, and where copies fill the ring.
        """
        b, ring, place = self.builder, self.ring, self._place
        by_warps = b.scope is ExecutionScope.WARP
        by_warpgroup = b.scope is ExecutionScope.WARPGROUP and ring.writers % WARPGROUP_WARPS == 0
        if not ring.writers or not (by_warps or by_warpgroup):
            raise refuse(
                "nothing to write", got=f"{b.scope.value}, {ring.writers} writers",
                expected="a warp, or a warpgroup and b.tile_ring(…, writers=4)",
            )  # fmt: skip
        self._wait()
        yield ring.slot(place.stage)
        b.fence_proxy_async(Space.SHARED_CTA)
        b.bar_warp_sync()
        with b.elect():
            b.mbarrier_arrive(ring.full[place.stage])
        place.advance()

    def send(self, note: IntLike) -> None:
        """Send a number with the next buffer, without tiles: the end of the work, say.

        Raises: InputError where the ring has no notes.
        """
        self.ring.builder.mbarrier_arrive(self._next(note).full)
        self._place.advance()

    def drain(self) -> None:
        """Wait until all buffers have been released, so that no commit is in flight when the CTA
        exits.
        """
        with self.builder.range(self.ring.stages):
            self._wait()
            self._place.advance()

    def _wait(self) -> None:
        """Wait until the next buffer is free."""
        place = self._place
        self.builder.wait(self.ring.empty[place.stage], place.parity ^ 1)

    def _expecting(self, slot: Slot) -> Slot:
        """The buffer whose copies are expected: of a pair on the mbarrier of the even CTA."""
        b, tiles = self.builder, self.ring.tiles
        if not self.ring.pair:
            b.arrive_expecting(slot.full, *tiles)
            return slot
        with b.if_(b.cluster_ctarank % 2 == 0):
            b.arrive_expecting(slot.full, *tiles, ctas=2)
        return replace(slot, full=b.of_even_cta(slot.full))

    def _next(self, note: IntLike | None) -> Slot:
        """The next buffer, when it is free, with its note."""
        ring, place = self.ring, self._place
        if (note is None) != (ring.notes is None):
            got = "a note" if ring.notes is None else "none"
            raise refuse("notes come with all buffers of a ring or with none", got=got)
        self._wait()
        slot = ring.slot(place.stage)
        if ring.notes is not None and note is not None:
            ring.notes[place.stage] = note
        return slot


@guarded
class Consumer(_End):
    """Uses one buffer after the other, by all threads of a consumer."""

    def take(self) -> Slot:
        """The next buffer, once it is full."""
        b, ring, place = self.ring.builder, self.ring, self._place
        b.wait(ring.full[place.stage], place.parity)
        slot = ring.slot(place.stage)
        place.advance()
        return slot

    def skip(self, count: IntLike) -> None:
        """Pass over the next buffers, which another consumer uses: of two warpgroups that multiply
        tiles in turn (`b.turns`) each skips the other's steps.

        The next `take` must come when the other has taken them: a wait tells a round from the one
        before, but not from the one before that.
        """
        self._place.advance(count)

    def release(self, slot: Slot | IntLike) -> None:
        """Release a buffer: one thread of the consumer, or of each of its warps, arrives.

        Reads of the buffer must be complete: wait for wgmma, and synchronise the threads for which
        this one arrives.  For multiplies into tensor memory use `commit`.

        Raises: InputError for a ring of a CTA pair.
        """
        if self.ring.pair:
            hint = "consumer.use(commit=True)"
            raise refuse("a pair's buffers are released by commits", got="a release", hint=hint)
        empty = self._empty(slot)
        with self._one_thread():
            self.builder.mbarrier_arrive(empty)

    def _empty(self, slot: Slot | IntLike) -> Barrier:
        return self.ring.empty[slot.stage if isinstance(slot, Slot) else slot]

    def _one_thread(self) -> AbstractContextManager[object]:
        """A block for one thread of those that execute it, or of each warp of a consumer's."""
        b = self.builder
        match b.scope:
            case ExecutionScope.THREAD:
                return nullcontext()
            case ExecutionScope.WARPGROUP if self.ring.warps == 1:
                return b.if_(b.thread % WARPGROUP == 0)
            case ExecutionScope.CTA:
                return b.if_thread(0)
            case _:
                return b.elect()

    def commit(
        self,
        slot: Slot | IntLike,
        *,
        cta_group: CtaGroup | None = None,
        cta_mask: WordLike | None = None,
    ) -> None:
        """Release a buffer once the thread's multiplies into tensor memory are complete.

        The thread that issued the multiplies executes it; in warp scope one is elected.  The
        options are those of `tcgen05_commit`, by default for the CTA, or the pair, of the ring.
        The producer waits for the last releases by `producer.drain()`.

        Raises: InputError for a warpgroup or the whole CTA.
        """
        empty, expected = self._empty(slot), "the thread that multiplies: b.elect() of one warp"
        scopes = ExecutionScope.THREAD, ExecutionScope.WARP
        check_scope(self.builder, "a commit is of one thread", *scopes, expected=expected)
        if cta_group is None:
            cta_group = CtaGroup.TWO if self.ring.pair else CtaGroup.ONE
            cta_mask = self._both() if self.ring.pair and cta_mask is None else cta_mask
        with self._one_thread():
            self.builder.tcgen05_commit(empty, cta_group=cta_group, cta_mask=cta_mask)

    def _both(self) -> IntLike:
        """The CTAs of this pair, as a mask of CTAs of the cluster."""
        b = self.builder
        return _PAIR if b.cluster == 2 else (b.const(_PAIR) << b.cluster_ctarank // 2 * 2).to(u16)

    @contextmanager
    def use(self, *, commit: bool = False) -> Iterator[Slot]:
        """The next buffer, once it is full; it is released after the block (`with`).

        With `commit` it is released when the multiplies into tensor memory that read it are
        complete.
        """
        slot = self.take()
        yield slot
        (self.commit if commit else self.release)(slot)

    @contextmanager
    def until(self, end: IntLike) -> Iterator[Slot]:
        """A loop over buffers, until one with a note of `end` or more comes (`producer.send`).

        The loop's body releases its buffer.

        Raises: InputError where the ring has no notes.
        """
        b, slot = self.ring.builder, self.take()
        stage, note = b.variable(slot.stage), b.variable(slot.note)
        with b.while_(lambda: note.value < end):
            yield replace(self.ring.slot(stage.value), known=note.value)
            slot = self.take()
            stage.set(slot.stage)
            note.set(slot.note)

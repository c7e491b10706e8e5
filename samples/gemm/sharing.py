"""How CTAs share the tiles of D of sample 10, and who adds up what they multiply.

    Alone    each CTA has whole tiles, one after the other
    PingPong the same, by two warpgroups in turn: one multiplies a tile, the other one stores its
             tile meanwhile
    Split    the CTAs of a cluster share a tile: each multiplies a part of K, sends the others their
             columns of its sums by st.async, and adds up its own columns of what comes
    Overlay  the same, without room of its own for what comes (gemm/overlay.py)
    Tail     the tiles behind the last whole wave are cut along K for as many CTAs as there are;
             whoever has the last part of a tile adds to its sums what the others leave in memory,
             which L2 holds

Each adds up in the same order always: results do not differ from launch to launch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product

from gemm.plan import ROWS, WARPGROUP
from nvgen import AtomicOp, ElementType, ScalarType, Scope, Sem, f32, u32

TURN = 2  # the named barriers of two warpgroups in turn


@dataclass(frozen=True, slots=True)
class Work:
    """What a CTA multiplies next: a tile by its corner as wgmma sees it, and its steps of K.

    It stores from the row `top` and the column `left` on; before them a neighbour does.
    """

    row: object
    column: object
    top: object
    left: object
    first: object  # step
    end: object  # the step behind its last
    number: object  # of the tile
    is_last: object


class Alone:
    """Each CTA has whole tiles."""

    def __init__(self, gemm) -> None:
        """What the kernel's parts are: its builder, its configuration."""
        self.gemm, self.b, self.config = gemm, gemm.b, gemm.config

    def declare(self) -> None:
        """Parameters behind the sizes."""

    def allocate(self) -> None:
        """Shared memory and mbarriers."""

    def prepare(self) -> None:
        """Make the mbarriers."""

    def begin(self) -> None:
        """Before a consumer's first tile."""

    def begin_bringing(self) -> None:
        """Before the producer's first tile."""

    def before(self) -> None:
        """Before each tile of the producer's."""

    def steps(self) -> tuple:
        """The first step of K of each tile, and the one behind its last; beyond K are zeros."""
        b, together = self.b, self.gemm.together
        deep = self.gemm.k * together * self.config.split
        count = (self.gemm.args["k"] + (deep - 1)) // deep * together
        part = self.gemm.part if self.config.split > 1 else b.const(0)
        return part * count, (part + 1) * count

    @contextmanager
    def tiles(self, count) -> Iterator[tuple]:
        """Numbers of tiles, their first step, the one behind their last, whether no one follows."""
        b, (begin, end) = self.b, self.steps()
        first, step = b.ctaid_x // self.config.ctas, b.nctaid_x // self.config.ctas
        with b.range(count, start=first, step=step) as number:
            yield number, begin, end, number + step >= count

    @contextmanager
    def turn(self, work: Work) -> Iterator[None]:
        """Within it a warpgroup starts its multiplies of a tile."""
        yield

    @contextmanager
    def whole(self, sums: Sequence[Sequence], work: Work) -> Iterator[tuple]:
        """By a CTA that stores of this tile: its sums, and their first column."""
        yield sums, 0


class PingPong(Alone):
    """Two warpgroups have every other tile each, and the tensor cores in turn.

    Behind the steps of a tile in the ring come those of the next one, which is the other's.  Who
    has started its last multiplies says so at the other's named barrier.  Nobody begins sooner: a
    wait for a buffer's phase sees the latest only, and would take an older one for it.
    """

    @contextmanager
    def every_other(self, count) -> Iterator[tuple]:
        """The tiles of a warpgroup: from the first or the second one of the CTA on."""
        b, (begin, end) = self.b, self.steps()
        first, step = b.ctaid_x // self.config.ctas, b.nctaid_x // self.config.ctas
        with b.range(count, start=first + b.warpgroup * step, step=step * 2) as number:
            yield number, begin, end, number + step >= count

    @contextmanager
    def turn(self, work: Work) -> Iterator[None]:
        """Behind the other's, and past its buffers, but for the first tile; before the other's, but
        for the last one.
        """
        b, first = self.b, self.b.ctaid_x // self.config.ctas
        with b.if_(work.number != first):
            b.barrier_cta_sync_aligned(TURN + b.warpgroup, 2 * WARPGROUP)
            self.gemm.ring.advance(self.gemm.steps_before(work))
        yield
        with b.if_(work.is_last ^ 1):
            b.barrier_cta_arrive_aligned(TURN + 1 - b.warpgroup, 2 * WARPGROUP)


class Split(Alone):
    """The CTAs of a cluster share each tile."""

    def allocate(self) -> None:
        """Room for what the others send."""
        b, config = self.b, self.config
        shape = config.split * config.m * config.slice // 4, 4
        self.partials = b.shared_tile("partials", ElementType.F32, shape, swizzle=0).pointer
        self.sent, self.added = b.mbarrier("sent"), b.mbarrier("added")

    def prepare(self) -> None:
        """One arrival says what comes; every warp of those that add up says that it has."""
        self.b.mbarrier_init(self.sent, 1)
        self.b.mbarrier_init(self.added, self.config.slices * self.config.consumers * 4)

    def begin(self) -> None:
        """Tiles are counted, for the parities."""
        self.rounds = self.b.ring(1)

    @contextmanager
    def whole(self, sums: Sequence[Sequence], work: Work) -> Iterator[tuple]:
        """By as many CTAs as there are slices."""
        b, part = self.b, self.gemm.part
        self.send(sums)
        with b.if_(part < self.config.slices):
            mine = self.add(len(sums), work.is_last)
            yield mine, part * self.config.slice
        self.rounds.advance()

    def partial(self, part, number):
        """Where a thread's four sums of that number lie, that CTA `part` of the split has sent."""
        config, threads = self.config, self.config.consumers * WARPGROUP
        fours = config.m * config.slice // 4 // threads  # that a thread has of a slice
        return self.partials + ((part * fours + number) * threads + self.b.tid_x) * 16

    @property
    def pitch(self) -> int:
        """Bytes from a thread's four sums to its next."""
        return self.config.consumers * WARPGROUP * 16

    def send(self, sums: Sequence[Sequence]) -> None:
        """Send each CTA that adds up its slice of columns, four sums of a thread at a time."""
        b, config, gemm = self.b, self.config, self.gemm
        nbytes = config.split * config.m * config.slice * 4
        with b.if_thread(0):
            b.mbarrier_arrive_expect_tx(
                self.sent, b.select(gemm.part < config.slices, b.const(nbytes), 0)
            )
        b.wait(self.added, self.rounds.parity ^ 1, scope=Scope.CLUSTER)
        blocks = config.slice // 8
        for to in range(config.slices):
            cta = gemm.rank + to * config.cluster
            begin = b.mapa_shared_cluster(self.partial(gemm.part, 0), cta)
            sent = b.of_cta(self.sent, cta)
            for number, (part, block) in enumerate(product(range(len(sums)), range(blocks))):
                four = sums[part][(to * blocks + block) * 4 :][:4]
                place = begin + number * self.pitch
                b.st_async_shared_cluster(ScalarType.B32, place, [x.word for x in four], sent)

    def add(self, parts: int, is_last) -> list:
        """Add up what all CTAs of the split have sent, in their order, and tell them so.

        Not behind the last tile, when they may have exited.
        """
        b, config = self.b, self.config
        b.wait(self.sent, self.rounds.parity, scope=Scope.CLUSTER)
        found = []
        for part in range(parts):
            found.append([])
            for block in range(config.slice // 8):
                number = part * config.slice // 8 + block
                fours = [
                    b.load(self.partial(cta, number), f32, 4, align=16)
                    for cta in range(config.split)
                ]
                for element in range(4):
                    total = fours[0][element]
                    for four in fours[1:]:
                        total = total + four[element]
                    found[-1].append(total)
        b.bar_warp_sync()
        lane = b.tid_x % 32
        with b.if_((lane < config.split) & (is_last ^ 1)):
            cta = lane * config.cluster + self.gemm.rank
            b.mbarrier_arrive_space_cluster(b.of_cta(self.added, cta))
        return found


class Tail(Alone):
    """Tiles behind the last whole wave are cut along K, and their parts are work like tiles.

    CTAs stay in step, as they would not if each began at another place of K: what several of them
    ask L2 for at once it reads once.  Whoever has the last part of a tile waits for the others,
    which were begun before it, and wait for such only: it needs no CTA beside it.

    `partials` has room for the sums of all parts but the last ones, `flags` a word of each of their
    warps (`gemm.plan.workspace`): zeros before the first launch, and again behind each.
    """

    def declare(self) -> None:
        """What CTAs leave for each other."""
        self.b.pointer("partials", f32)
        self.b.pointer("flags", u32)

    @contextmanager
    def tiles(self, count) -> Iterator[tuple]:
        """Whole tiles, then parts: first the first one of each tile."""
        b, (_, steps) = self.b, self.steps()
        clusters, me = b.nctaid_x // self.config.cluster, b.ctaid_x // self.config.cluster
        together = self.gemm.together
        pieces = steps // together
        self.rest, parts = (count % clusters).max(1), pieces.min(self.config.tail)
        wholes = count - count % clusters
        with b.range(wholes + count % clusters * parts, start=me, step=clusters) as unit:
            self.past = unit - wholes
            is_part = unit >= wholes
            number = b.select(is_part, wholes + self.past % self.rest, unit)
            part = self.past // self.rest
            first = b.select(is_part, part * pieces // parts * together, 0)
            end = b.select(is_part, (part + 1) * pieces // parts * together, steps)
            yield number, first, end, b.const(0, 1)

    @contextmanager
    def whole(self, sums: Sequence[Sequence], work: Work) -> Iterator[tuple]:
        """By the CTA with the tile's last step."""
        b, (_, steps) = self.b, self.steps()
        with b.if_(work.end < steps):
            self.give(sums)
        with b.else_():
            held = [b.variable(b.vector(list(values))) for values in sums]
            mine = b.select(work.first > 0, self.past, 0)
            with b.range(mine, start=mine % self.rest, step=self.rest) as part:
                self.take(held, part)
            yield [list(values.value) for values in held], 0

    def places(self, part) -> tuple:
        """Where this thread's share of a part's sums lies, and its warp's flag."""
        config, args = self.config, self.gemm.args
        number, threads = part * config.cluster + self.gemm.rank, config.consumers * WARPGROUP
        sums = args["partials"].at(number * (config.m * config.n) + self.b.tid_x * 4)
        return sums, args["flags"].at(number * (threads // 32) + self.b.warp)

    def fours(self, parts: int) -> Iterator[tuple[int, int, int]]:
        """A thread's sums by fours: the 64 rows, the first register, and the offset in memory."""
        threads = self.config.consumers * WARPGROUP
        every = product(range(parts), range(0, self.config.n * ROWS // WARPGROUP, 4))
        for number, (part, first) in enumerate(every):
            yield part, first, number * threads * 16

    def give(self, sums: Sequence[Sequence]) -> None:
        """Leave the sums of a part."""
        b = self.b
        mine, flag = self.places(self.past)
        for part, first, offset in self.fours(len(sums)):
            b.store(b.vector(list(sums[part][first : first + 4])), mine + offset, align=16)
        b.bar_warp_sync()
        with b.elect():
            b.atom(AtomicOp.EXCH, ScalarType.B32, flag, 1, sem=Sem.RELEASE)

    def take(self, held: list, part) -> None:
        """Add the sums of a part, when they are there, and take its flag down."""
        b = self.b
        theirs, flag = self.places(part)
        b.wait_until(lambda: b.atom_load(flag) != 0)
        b.bar_warp_sync()
        with b.elect():
            b.atom_store(flag, b.const(0), sem=Sem.RELAXED)
        found: list[list] = [[] for _ in held]
        for rows, first, offset in self.fours(len(held)):
            four = b.load(theirs + offset, f32, 4, align=16)
            found[rows] += [held[rows].value[first + i] + four[i] for i in range(4)]
        for values, now in zip(held, found, strict=True):
            values.set(b.vector(now))

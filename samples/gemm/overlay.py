"""CTAs of sample 10 that share a tile, and send their sums into each other's ring of buffers.

Room of its own for what is sent takes buffers from high tiles, so that few of these had a `split`.
Behind a tile's last multiplies the ring is free.  PTX ISA, st.async; mbarrier.

    room     each warpgroup of a CTA that adds up tells all who send that it reads no buffer
    sent     the others' columns of sums have come: f32, a thread's by fours
    added    each warp has read them: who brings the next tile into this ring may begin

What a CTA adds up of its own sums stays in its registers; the others' follow in the order of CTAs
from its own on, always the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from gemm.sharing import Split
from nvgen import ScalarType, Scope, Space, f32


class Overlay(Split):
    """The CTAs of a cluster share each tile, and have no room but the ring for that."""

    def allocate(self) -> None:
        """The ring of the rows' operand is large enough (`Config.overlays`)."""
        b = self.b
        self.partials = self.gemm.x_ring[0].pointer
        self.room, self.sent, self.added = (b.mbarrier(x) for x in ("room", "sent", "added"))

    def prepare(self) -> None:
        """Producers that multicast into a CTA's ring are those of all that share an operand."""
        b, config = self.b, self.config
        b.mbarrier_init(self.room, config.slices * config.consumers)
        b.mbarrier_init(self.sent, 1)
        b.mbarrier_init(self.added, config.consumers * 4 * config.cluster)

    @property
    def adds_up(self):
        """Whether this CTA does."""
        return self.gemm.part < self.config.slices

    def begin_bringing(self) -> None:
        """The producer counts tiles too."""
        self.brought = self.b.ring(1)

    def before(self) -> None:
        """The ring has what is added up of the tile before, or none."""
        with self.b.if_(self.adds_up):
            self.b.wait(self.added, self.brought.parity ^ 1, scope=self.gemm.scope)
        self.brought.advance()

    def send(self, sums: Sequence[Sequence]) -> None:
        """Send each of the others that add up its slice, when all of them have room."""
        b, config, gemm = self.b, self.config, self.gemm
        self.make_room()
        b.wait(self.room, self.rounds.parity, scope=Scope.CLUSTER)
        blocks = config.slice // 8
        for to in range(config.slices):
            with b.if_(gemm.part != to):
                cta = gemm.rank + to * config.cluster
                place = (gemm.part + (config.split - 1 - to)) % config.split  # behind CTA `to`
                begin = b.mapa_shared_cluster(self.partial(place, 0), cta)
                sent = b.of_cta(self.sent, cta)
                for number, (part, block) in enumerate(product(range(len(sums)), range(blocks))):
                    four = sums[part][(to * blocks + block) * 4 :][:4]
                    words = [x.word for x in four]
                    b.st_async_shared_cluster(
                        ScalarType.B32, begin + number * self.pitch, words, sent
                    )
        self.own = [self.slice_of(values) for values in sums]

    def make_room(self) -> None:
        """A warpgroup's multiplies have read the buffers; thread 0 says how much will come."""
        b, config, gemm = self.b, self.config, self.gemm
        with b.if_(self.adds_up):
            with b.if_thread(0):
                b.mbarrier_arrive_expect_tx(
                    self.sent, (config.split - 1) * config.m * config.slice * 4
                )
            thread = b.tid_x % 128
            with b.if_(thread < config.split):
                room = b.of_cta(self.room, thread * config.cluster + gemm.rank)
                b.mbarrier_arrive_space_cluster(room)

    def slice_of(self, values: Sequence) -> list:
        """Of a thread's sums of 64 rows those that this CTA adds up."""
        count = len(values) // self.config.slices
        found = list(values[:count])
        for number in range(1, self.config.slices):
            mine, here = self.gemm.part == number, values[number * count :]
            found = [self.b.select(mine, here[i], found[i]) for i in range(count)]
        return found

    def add(self, parts: int, is_last) -> list:
        """Add up what the others have sent, and give the ring back to who brings the next tile."""
        b, config, gemm = self.b, self.config, self.gemm
        b.wait(self.sent, self.rounds.parity, scope=Scope.CLUSTER)
        blocks = config.slice // 8
        for number, (part, block) in enumerate(product(range(parts), range(blocks))):
            for other in range(config.split - 1):
                four = b.load(self.partial(other, number), f32, 4, align=16)
                for element in range(4):
                    self.own[part][block * 4 + element] += four[element]
        b.fence_proxy_async(Space.SHARED_CTA)
        b.bar_warp_sync()
        lane = b.tid_x % 32
        with b.if_(lane < config.cluster):
            if config.cluster == 1:
                b.mbarrier_arrive(self.added)
            else:
                bringing = b.of_cta(self.added, gemm.part * config.cluster + lane)
                b.mbarrier_arrive_space_cluster(bringing)
        return self.own

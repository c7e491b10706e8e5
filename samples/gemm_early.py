"""What sample 10 does of B before the launch before its own has ended.

Where launches overlap (programmatic dependent launch), a CTA may begin while others of the launch
before still run, but must not read what these write.  Of a layer's product these are the
activations; weights nobody writes, and where that is promised (`Kind.weights`) a whole ring of them
is on its way by then.  Else L2 is asked for the first of them: what it holds is what was written
last, so that a prefetch reads nothing too early.  Copies wait behind prefetches: a ring of these
took longer than none.  PTX ISA, griddepcontrol; cp.async.bulk.prefetch.tensor.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gemm_sharing import Work

ASKED = 32 * 1024  # bytes of B that a CTA has L2 read


class Early:
    """What a producer does before its first tile, and no more in the steps that it has begun."""

    def __init__(self, gemm) -> None:
        """None is on its way yet."""
        self.gemm, self.b = gemm, gemm.b
        self.is_first = self.b.variable(self.b.const(1, 1))
        self.begun = self.b.variable(self.b.const(0))  # steps whose weights are on their way

    def begin(self, work: Work) -> None:
        """Before the first tile begin some steps, and wait for the launch before."""
        b = self.b
        with b.if_(self.is_first.value):
            if self.gemm.kind.weights:
                self.copy(work)
            else:
                self.ask(work)
            self.gemm.follow()
        self.is_first.set(b.const(0, 1))

    def copy(self, work: Work) -> None:
        """Fill the ring with B."""
        b, gemm = self.b, self.gemm
        count = (work.end - work.first).min(gemm.config.stages)
        with b.range(count) as stage:
            gemm.expect(stage)
            gemm.bring("b", stage, work, work.first + stage)
        self.begun.set(count)

    def ask(self, work: Work) -> None:
        """Have L2 read what this CTA brings of B in a few steps."""
        b, gemm = self.b, self.gemm
        tile, row = gemm.part_of("b", 0, work)
        count = (work.end - work.first).min(max(ASKED // tile.nbytes, 1))
        with b.range(work.first + count, start=work.first) as step:
            b.prefetch_tile(tile, gemm.args["b"], gemm.at("b", row, step))

    @contextmanager
    def others(self) -> Iterator[None]:
        """What is done in the steps that were not begun."""
        if not self.gemm.kind.weights:
            yield
            return
        b, begun = self.b, self.begun.value
        with b.if_(begun == 0):
            yield
        self.begun.set(b.select(begun == 0, b.const(0), begun - 1))

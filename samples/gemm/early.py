"""What sample 10 does of B before the launch before its own has ended.

Where launches overlap (programmatic dependent launch), a CTA may begin while others of the launch
before still run, but must not read what these write.  L2 is asked for the first of B: what it
holds is what was written last, so that a prefetch reads nothing too early.  Copies wait behind
prefetches: a ring of these took longer than none.  PTX ISA, griddepcontrol;
cp.async.bulk.prefetch.tensor.
"""

from __future__ import annotations

from gemm.sharing import Work

ASKED = 32 * 1024  # bytes of B that a CTA has L2 read


class Early:
    """What a producer does before its first tile."""

    def __init__(self, gemm) -> None:
        """No tile has come yet."""
        self.gemm, self.b = gemm, gemm.b
        self.is_first = self.b.variable(self.b.const(1, 1))

    def begin(self, work: Work) -> None:
        """Before the first tile ask L2 for some of B, and wait for the launch before."""
        b = self.b
        with b.if_(self.is_first.value):
            self.ask(work)
            b.griddepcontrol_wait()
        self.is_first.set(b.const(0, 1))

    def ask(self, work: Work) -> None:
        """Have L2 read what this CTA brings of B in a few steps."""
        b, gemm = self.b, self.gemm
        tile, row = gemm.part_of("b", 0, work)
        count = (work.end - work.first).min(max(ASKED // tile.nbytes, 1))
        with b.range(work.first + count, start=work.first) as step:
            b.prefetch_tile(tile, gemm.args["b"], gemm.at("b", row, step))

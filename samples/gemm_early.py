"""Weights that sample 10 brings before the launch before its own has ended.

Where launches overlap (programmatic dependent launch), a CTA may begin while others of the launch
before still run, but must not read what these write.  Of a layer's product these are the
activations; weights nobody writes, and a whole ring of them can be on its way by then.  PTX ISA,
griddepcontrol.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gemm_sharing import Work


class Early:
    """What a producer does in its first tile, and no more in the steps that it has begun."""

    def __init__(self, gemm) -> None:
        """None is on its way yet."""
        self.gemm, self.b = gemm, gemm.b
        self.is_first = self.b.variable(self.b.const(1, 1))
        self.begun = self.b.variable(self.b.const(0))  # steps whose weights are on their way

    def begin(self, work: Work) -> None:
        """Before the first tile fill the ring, and wait for the launch before."""
        b, gemm = self.b, self.gemm
        with b.if_(self.is_first.value):
            count = (work.end - work.first).min(gemm.config.stages)
            with b.range(count) as stage:
                gemm.expect(stage)
                gemm.bring("b", stage, work, work.first + stage)
            gemm.follow()
            self.begun.set(count)
        self.is_first.set(b.const(0, 1))

    @contextmanager
    def others(self) -> Iterator[None]:
        """What is done in the steps that were not begun."""
        b, begun = self.b, self.begun.value
        with b.if_(begun == 0):
            yield
        self.begun.set(b.select(begun == 0, b.const(0), begun - 1))

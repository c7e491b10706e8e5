"""What a thread's multiplies keep in collector buffers: a use is for the matrix of the last fill.

Layer: isel.verifier.ordering.events.  Descriptors are numbers in a run, in every turn of a loop.
PTX ISA, tcgen05.mma and tcgen05.mma.ws: collector_usage.
"""

from __future__ import annotations

from collections.abc import Mapping

from intrinsics.row import Residency
from isel.verifier.function.tensor_memory.collectors import ELSEWHERE, usages
from isel.verifier.ordering.events.execution import Execution


def collect(e: Execution, numbers: Mapping[str, int]) -> None:
    """Note what a multiply does with collector buffers, and log a use for one elsewhere."""
    held = e.machine.collectors
    for usage in usages(e.mi):
        buffer = e.thread, usage.buffer
        matrix = numbers.get("a" if usage.buffer == "a" else "b")
        if usage.op == "fill" and matrix is not None:
            held[buffer] = matrix, e.index
        elif not usage.reads:
            held.pop(buffer, None)
        elif buffer in held and matrix is not None:
            filled, by = held[buffer]
            if matrix != filled:
                here, there = (_place(e, usage.buffer, one) for one in (matrix, filled))
                got = f"{usage} for {here}; {{line}} has filled the buffer with {there}"
                e.run.log.breach(ELSEWHERE, e.index, got, by)


def _place(e: Execution, buffer: str, matrix: int) -> str:
    """The location of a matrix as text: an address in tensor memory, or a descriptor's address."""
    if buffer == "a" and e.mi.form.attributes.get("a") is Residency.TENSOR:
        return f"tensor memory {matrix:#x}"
    return e.run.name_of((matrix & 0x3FFF) << 4)

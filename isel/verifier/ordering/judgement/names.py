"""Bytes of shared memory and columns of tensor memory in words, by the kernel's own names.

Layer: isel.verifier.ordering.  Dynamic shared memory is one variable; where its parts are known,
the builder's tiles, say, they are named.
"""

from __future__ import annotations

from isel.verifier.function.report import Report
from isel.verifier.ordering.integers.windows import offset_of
from isel.verifier.ordering.memory_regions import Memory, Region
from isel.verifier.ordering.run.machine import shared_variables


def region_in_words(report: Report, region: Region) -> str:
    """A region that is accessed, such as `bytes 0 to 127 of tile`."""
    if region.memory is Memory.TENSOR:
        last = region.last - 1
        return f"column {last}" if region.first == last else f"columns {region.first} to {last}"
    first = offset_of(region.first)
    name, start = _variable(report, first)
    first -= start
    last = first + region.last - region.first - 1
    what = f"matrix {region.name} at " if region.name in ("A", "B") else ""
    of = f" of {name}" if name else ""
    return f"{what}bytes {first} to {last}{of}"


def byte_in_words(report: Report, offset: int) -> str:
    """A byte of shared memory, such as `byte 16 of tile`."""
    name, start = _variable(report, offset)
    return f"byte {offset - start} of {name}" if name else f"byte {offset}"


def _variable(report: Report, offset: int) -> tuple[str, int]:
    """The name of what lies at an offset, and where it begins; "" and 0 where nothing does."""
    variables = shared_variables(report.module, report.analysis.function)
    for variable in variables:
        if variable.first <= offset < variable.last:
            inside = offset - variable.first
            parts = () if variable.sized else report.parts
            begun = ((at, name) for name, at in parts if at <= inside)
            at, name = max(begun, default=(0, variable.name))
            return name, variable.first + at
    return "", 0

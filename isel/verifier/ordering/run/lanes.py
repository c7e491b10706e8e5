"""What the threads of a warp have accessed since they last met.

Layer: isel.verifier.ordering.  PTX ISA, bar.warp.sync.
"""

from __future__ import annotations

from typing import NamedTuple

from isel.verifier.ordering.integers.numbers import Number


class Lanes(NamedTuple):
    """Weak accesses of one record: `width` bytes at the address of each lane of a mask."""

    address: Number
    mask: int
    width: int
    writes: bool


class Unordered(NamedTuple):
    """Accesses after which the warp has not met: their record, and the first byte and that behind
    the last.
    """

    record: int
    touch: Lanes
    first: int
    last: int

"""Shared memory addresses in a cluster: each CTA has a window of its own.

Layer: isel.verifier.ordering.  PTX ISA, mapa, getctarank.
"""

from __future__ import annotations

from isel.verifier.ordering.integers.numbers import Number, lanes_of

_BITS = 24
_OFFSET = (1 << _BITS) - 1
_LIMIT = 1 << 32
"""The end of shared memory in the generic address space of a run."""

POINTER = 1 << 40
"""The value of a 64-bit argument, or of global memory, in a run: far from shared memory."""

MOST_CTAS = 16
"""The most CTAs that a cluster may have."""


def in_window(offset: int, rank: int) -> int:
    """The address, in the window of the CTA `rank`, of an offset or of an address in any window."""
    return offset & _OFFSET | rank << _BITS


def offset_of(address: int) -> int:
    """The offset of an address in the window of its CTA."""
    return address & _OFFSET


def rank_of(address: int) -> int:
    """The rank of the CTA that an address belongs to."""
    return address >> _BITS


def are_in_one(first: int, last: int, ctas: int, end: int) -> bool:
    """Whether addresses from `first` to before `last` are in the window of one CTA of a cluster,
    before the offset `end`.
    """
    return rank_of(first) == rank_of(last - 1) < ctas and offset_of(last - 1) < end


def in_ctas(address: int, mask: int | None) -> list[int]:
    """An address in each CTA of a multicast's mask; None says that there is none."""
    if mask is None:
        return [address]
    return [in_window(address, rank) for rank in range(MOST_CTAS) if mask >> rank & 1]


def signals_of(mbarrier: int, mask: int | None, *, pair: bool) -> list[int]:
    """The mbarriers that a TMA copy signals: at the offset of `mbarrier` in each CTA of its mask.

    With .cta_group::2 (`pair`) it is the CTA of each pair whose rank has the parity of the
    mbarrier's own CTA.  PTX ISA, cp.async.bulk.tensor.
    """
    found = in_ctas(mbarrier, mask)
    if mask is None or not pair:
        return found
    odd = rank_of(mbarrier) & 1
    return [in_window(at, rank_of(at) & ~1 | odd) for at in found]


def is_in_shared(address: int) -> bool:
    """Whether an address is one of shared memory."""
    return address < _LIMIT


def may_be_shared(address: Number) -> bool:
    """Whether some lane has an address of shared memory."""
    if isinstance(address, int):
        return is_in_shared(address)
    return any(a is not None and is_in_shared(a) for a in lanes_of(address))

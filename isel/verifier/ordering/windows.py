"""Shared memory addresses in a cluster: each CTA has a window of its own.

Layer: isel.verifier.ordering.  PTX ISA, mapa, getctarank.
"""

from __future__ import annotations

from isel.verifier.ordering.numbers import Number, lanes_of

_BITS = 24
_OFFSET = (1 << _BITS) - 1
_LIMIT = 1 << 32
"""Where shared memory ends in the generic address space of a run."""

POINTER = 1 << 40
"""What 64 bits of an argument or of global memory are in a run: far from shared memory."""

MOST_CTAS = 16
"""CTAs of a cluster."""


def in_window(offset: int, rank: int) -> int:
    """The place at an offset, or at an address in another window, as the CTA `rank` has it."""
    return offset & _OFFSET | rank << _BITS


def offset_of(address: int) -> int:
    """The address in the window of its CTA."""
    return address & _OFFSET


def rank_of(address: int) -> int:
    """The rank of the CTA that an address belongs to."""
    return address >> _BITS


def in_ctas(address: int, mask: int | None) -> list[int]:
    """An address in each CTA of a multicast's mask; None says that there is none."""
    if mask is None:
        return [address]
    return [in_window(address, rank) for rank in range(MOST_CTAS) if mask >> rank & 1]


def signals_of(mbarrier: int, mask: int | None, *, pair: bool) -> list[int]:
    """Where a copy by TMA arrives: in each CTA of its mask at the place of `mbarrier`.

    With .cta_group::2 (`pair`) that is in the CTA of each pair whose rank has the parity of the
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

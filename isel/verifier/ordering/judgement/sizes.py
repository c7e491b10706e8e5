"""The extents of tensor copies, whose sizes are those of boxes of tensor maps.

Layer: isel.verifier.ordering.  Input: the log of a run, in which the expect-tx bytes of a phase are
the size of all its copies together.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import itemgetter

from intrinsics.limits import MOST_TX
from isel.verifier.ordering.integers.windows import offset_of
from isel.verifier.ordering.memory_regions import Region
from isel.verifier.ordering.run.log import Log
from isel.verifier.ordering.run.machine import SharedVariable


def sized(region: Region, ends: dict[int, int]) -> Region:
    """A region; that of a copy of unknown size is extended as far as is known."""
    if region.name != "copy" or region.exact or region.last != region.first:
        return region
    return replace(region, last=ends.get(region.first, region.first + 16), exact=True)


def ends_of_copies(log: Log) -> dict[int, int]:
    """Ends of copies of unknown size, by their beginnings.

    All copies of a phase together have the bytes that it expects, less those of known size.  That
    each ends where the next begins is taken as known if that sum is right; copies that a warp
    issues to the other buffers of a ring have the same sizes in the same order, however the copies
    of several warps alternate.  Otherwise only the first bytes of each are known.
    """
    following = _following(log)
    sizes: dict[tuple[int, int], set[tuple[int, ...]]] = {}
    unknown: list[tuple[int, list[int]]] = []
    ends: dict[int, int] = {}
    for phase, issued in log.copies.items():
        copies = [first for _, first in sorted(issued, key=itemgetter(0))]
        whole = _whole(log, phase)
        if not 0 < whole <= MOST_TX:
            continue
        found = tuple(min(following.get(c, c + whole), c + whole) - c for c in copies)
        if sum(found) == whole:
            sizes.setdefault((whole, len(copies)), set()).add(found)
            _end(ends, copies, found)
        else:
            unknown.append((whole, copies))
    for whole, copies in unknown:
        known = sizes.get((whole, len(copies)), set())
        if len(known) == 1:
            _end(ends, copies, *known)
    return ends


def are_confirmed(logs: Iterable[Log], variables: Sequence[SharedVariable]) -> bool:
    """Whether the bytes that phases expect are those of the memory which their copies fill.

    The copies of each phase, or of another one that expects as many bytes of as many, reach up to
    where others begin, or their variable ends.
    """
    filled: set[tuple[int, int]] = set()
    others: set[tuple[int, int]] = set()
    for log in logs:
        following = _following(log)
        for phase, copies in log.copies.items():
            room = sum(
                min(following.get(at, at + MOST_TX) - at, _room(at, variables)) for _, at in copies
            )
            key = _whole(log, phase), len(copies)
            (filled if room == key[0] else others).add(key)
    return others <= filled


def _room(address: int, variables: Sequence[SharedVariable]) -> int:
    """The bytes from an address to the end of its variable; the most where that is not known."""
    at = offset_of(address)
    return next((v.last - at for v in variables if v.sized and v.first <= at < v.last), MOST_TX)


def _following(log: Log) -> dict[int, int]:
    """Where the next of all copies of unknown size begins, by where one does."""
    return dict(
        itertools.pairwise(sorted({at for found in log.copies.values() for _, at in found}))
    )


def _whole(log: Log, phase: tuple[int, int]) -> int:
    """The bytes of all copies of unknown size in a phase."""
    return log.expected.get(phase, 0) - log.copied_bytes.get(phase, 0)


def _end(ends: dict[int, int], copies: list[int], sizes: tuple[int, ...]) -> None:
    """Note where copies of these sizes end, at the least."""
    for first, size in zip(copies, sizes, strict=True):
        ends[first] = min(ends.get(first, first + size), first + size)


def copies_of_no_bytes(log: Log) -> set[int]:
    """Where copies of unknown size begin, in phases that expect no bytes."""
    idle = (phase for phase in log.copies if not log.expected.get(phase))
    return {first for phase in idle for _, first in log.copies[phase]}


def reach_of_copies(log: Log) -> dict[int, int] | None:
    """The most bytes that a copy of unknown size may have, by where it begins.

    It is all that its phase expects, less the copies of known size; None where that is not known
    for some copy.
    """
    reach: dict[int, int] = {}
    for phase, copies in log.copies.items():
        whole = _whole(log, phase)
        if not 0 < whole <= MOST_TX:
            return None
        for _, first in copies:
            reach[first] = max(reach.get(first, 0), whole)
    return reach

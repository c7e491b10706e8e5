"""The smallest set of operations whose delay makes a run fail (delta debugging).

Layer: nvgen.sim.  Input: a predicate that tells whether a run fails under a schedule, and how many
operations it issues.  The failing schedule is replaced by `delay:…`, under which all operations
take effect at issue but for some; these are halved, and then dropped one by one while the run still
fails (Zeller, Hildebrandt: Simplifying and Isolating Failure-Inducing Input).
"""

from __future__ import annotations

from collections.abc import Callable

from nvgen.sim.async_ops.schedule import Mode, Schedule

Fails = Callable[[Schedule], bool]
"""Whether a run fails under a schedule."""

MOST_ALONE = 64
"""The most operations that are tried alone."""


def fewest_delayed(fails: Fails, operations: int) -> tuple[int, ...]:
    """The numbers of operations whose delay makes the run fail; a minimal set.

    Where the run does not fail with all of them delayed, since the uses are then late too, each of
    the first `MOST_ALONE` is delayed alone.  Empty when the run fails with none delayed, and when
    nothing is found.
    """
    found = list(range(1, operations + 1))
    if fails(delaying([])):
        return ()
    if not fails(delaying(found)):
        alone = found[:MOST_ALONE]
        return next(((number,) for number in alone if fails(delaying([number]))), ())
    parts = 2
    while len(found) > 1:
        size = -(-len(found) // parts)
        pieces = [found[i : i + size] for i in range(0, len(found), size)]
        smaller = next((piece for piece in pieces if fails(delaying(piece))), None)
        if smaller is not None:
            found, parts = smaller, 2
            continue
        rests = [[n for n in found if n not in piece] for piece in pieces] if parts > 2 else []
        rest = next((rest for rest in rests if fails(delaying(rest))), None)
        if rest is not None:
            found, parts = rest, max(parts - 1, 2)
        elif parts >= len(found):
            break
        else:
            parts = min(2 * parts, len(found))
    return tuple(found)


def delaying(numbers: list[int]) -> Schedule:
    """The schedule under which these operations are late, and all others early."""
    return Schedule(Mode.EARLY, delayed=frozenset(numbers))

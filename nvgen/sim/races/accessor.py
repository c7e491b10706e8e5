"""The accessor of memory: the threads or the operation that execute now, with their clocks.

Layer: nvgen.sim.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from intrinsics.findings import Place
from nvgen.sim.actors.operation import AsyncOp
from nvgen.sim.actors.vector_clock import GROUP, NOTHING, Clock, whole
from nvgen.sim.races.epochs import TICK, Accessor, Epochs, Site, epoch
from nvgen.sim.races.happens_before import Clocks
from nvgen.sim.races.warp_clocks import WarpClocks, lane_indices


def accessor_of(
    clocks: Clocks, elements: int, lanes: NDArray[np.intp] | None, *, same: bool
) -> Accessor | None:
    """The accessor of `elements` parts: one for each of `lanes`, or of the actor's threads.

    `same` says that all parts are the same bytes.
    """
    actor = clocks.actor
    if actor is None:
        return None
    if isinstance(actor, AsyncOp):
        mark = np.array([[epoch(actor.column, actor.tick, operation=True)]], np.int64)
        parts = ((whole(actor.before or NOTHING), None),)
        return Accessor(mark, -1, parts, actor.thread[0], relies=actor.relies)
    mine = clocks.of(actor.warp)
    mine.exchanged = 0
    group = mine.base + GROUP
    mask = actor.mask
    if lanes is None and elements != mask.bit_count():
        full = mask == actor.warp.launched
        column = group if full else mine.base + (mask & -mask).bit_length() - 1
        mark = np.array([[epoch(column, clocks.now)]], np.int64)
        known = mine.joined(mask)
        return Accessor(mark, group, ((known, None),), mine.cta, actor.warp.number)
    if same and elements > 1 and mask == actor.warp.launched:
        columns: Epochs = np.array([[group]], np.int64)
    elif lanes is None:
        columns = _columns(mine.base, mask)
    else:
        columns = (mine.base + lanes.astype(np.int64))[:, None]
    known_by = _parts(mine, mask, lanes)
    return Accessor(columns | (clocks.now << TICK), group, known_by, mine.cta, actor.warp.number)


@functools.lru_cache(maxsize=1 << 12)
def _columns(base: int, mask: int) -> Epochs:
    """The columns of the lanes of a mask, as a column."""
    found: Epochs = (base + lane_indices(mask).astype(np.int64))[:, None]
    found.setflags(write=False)
    return found


def _parts(
    mine: WarpClocks, mask: int, lanes: NDArray[np.intp] | None
) -> tuple[tuple[Clock, NDArray[np.intp] | None], ...]:
    if mine.alike:
        return ((mine.lanes[0], None),)
    chosen = mine.some(mask) if lanes is None else [mine.lanes[int(n)] for n in lanes]
    where: dict[int, list[int]] = {}
    for i, clock in enumerate(chosen):
        where.setdefault(id(clock), []).append(i)
    if len(where) == 1:
        return ((chosen[0], None),)
    return tuple((chosen[rows[0]], np.array(rows, np.intp)) for rows in where.values())


def site_of(clocks: Clocks, agent: str) -> int:
    """The number of the site of the current access."""
    actor, at = clocks.actor, clocks.at
    if isinstance(actor, AsyncOp):
        number = clocks.sites.numbers.get((-actor.number, agent))
        if number is None:
            what = str(actor) if _is_one(agent, actor.name) else f"{agent}, {actor}"
            site = Site(what, actor.place, actor.kind, actor.thread[0])
            number = clocks.sites.add((-actor.number, agent), site)
        return number
    number = clocks.sites.numbers.get((id(at), agent))
    if number is None:
        place = at.place if at is not None else Place()
        number = clocks.sites.add((id(at), agent), Site(agent, place))
    return number


def _is_one(agent: str, name: str) -> bool:
    """Whether an access and its operation have the same name."""
    return agent.startswith(name) or name.startswith(agent)

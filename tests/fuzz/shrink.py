"""An input made small: what is left shows the same problem.

Lines go first, then tokens, then bytes, in runs that get shorter (delta debugging); a random
function is made smaller by its plan.  Options go where they are not needed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from tests.fuzz.functions import smaller
from tests.fuzz.inputs import Input, Kind
from tests.fuzz.structure import LANGUAGES

T = TypeVar("T")
Shows = Callable[[Input], bool]
"""Whether an input shows the problem."""

SECONDS = 40.0
"""By the clock, for one input."""


def shrunk(item: Input, shows: Shows, seconds: float = SECONDS) -> Input:
    """The smallest input found in the time that shows the problem."""
    end = time.monotonic() + seconds

    def still(other: Input) -> bool:
        return time.monotonic() < end and shows(other)

    item = _plainer(item, still)
    if item.kind is Kind.FUNCTION:
        return _by_plan(item, still)
    for pieces in _ways(item.kind):
        item = _by_parts(item, pieces(item.data), still)
    return item


def _by_parts(item: Input, parts: list[bytes], shows: Shows) -> Input:
    kept = minimal(parts, lambda some: shows(replace(item, data=b"".join(some))))
    return replace(item, data=b"".join(kept))


def _plainer(item: Input, shows: Shows) -> Input:
    for name, _ in item.options:
        less = replace(item, options=tuple(pair for pair in item.options if pair[0] != name))
        if name != "argument" and shows(less):
            item = less
    return item


def _by_plan(item: Input, shows: Shows) -> Input:
    found: Input | None = item
    while found is not None:
        item = found
        found = next((other for other in smaller(item) if shows(other)), None)
    return item


def minimal(parts: Sequence[T], shows: Callable[[list[T]], bool]) -> list[T]:
    """Parts of which none can be left out alone; `shows` holds for them as for all."""
    kept, size = list(parts), max(len(parts) // 2, 1)
    while kept:
        at, before = len(kept), len(kept)
        while at > 0:  # what comes later often needs what comes before
            less = kept[: max(at - size, 0)] + kept[at:]
            if shows(less):
                kept = less
            at -= size
        if size == 1 and len(kept) == before:
            break
        size = max(size // 2, 1)
    return kept


def _ways(kind: Kind) -> Iterator[Callable[[bytes], list[bytes]]]:
    """How an input falls into parts, the large ones first."""
    yield lambda data: data.splitlines(keepends=True)
    language = LANGUAGES.get(kind)
    if language is None:
        yield lambda data: [bytes([byte]) for byte in data]
        return
    yield lambda data: [
        token.encode("utf-8", "surrogateescape")
        for token, _ in language.tokens(data.decode("utf-8", "surrogateescape"))
    ]

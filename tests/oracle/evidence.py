"""What ptxas says of a list of statements: from the record, or from ptxas itself.

The files under ``tests/oracle/verdicts`` hold ptxas's verdicts (`tests.oracle.verdict_file`) on the
lists of `tests.oracle.recorded_lists`.  ``make evidence`` writes them, and a test asks ptxas anew
about half a percent of them in each run.  A statement, target or PTX version that has no record is
put to ptxas where it comes up.

With ``pytest --live`` ptxas is asked about everything, and where it does not say what is recorded,
the record is out of date.  The choice and the seed of what chance picks are in the environment, so
that they reach every process of a run.
"""

from __future__ import annotations

import datetime
import functools
import itertools
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.oracle import ptxas
from tests.oracle.verdict_file import Pair, VerdictFile, key_of, load

FOLDER = Path(__file__).with_name("verdicts")
LIVE_VARIABLE = "NVGEN_LIVE"
SEED_VARIABLE = "NVGEN_EVIDENCE_SEED"
DAILY_VARIABLE = "NVGEN_DAILY"

DAYS = 6
"""In so many days nvgen is asked about each statement where ptxas's verdict does not change."""

DAILY = 3
"""Of statements on which ptxas says the same everywhere, about so many nvgen is asked each day."""

WHOLE = "sm_110a"
"""The target on which nvgen is asked every day about each statement that ptxas takes there."""

TELLING = 0.75
"""How often that is about the pair where a mistake shows; else about any."""

REFUSED, LEGAL, UNKNOWN = 0, 1, -1
"""Verdicts; one is unknown when there is no record of it and no ptxas to ask."""

Verdicts = NDArray[np.int8]


class OutdatedEvidenceError(AssertionError):
    """ptxas does not say what is recorded."""


class Options(NamedTuple):
    """How a run of the tests uses the record."""

    live: bool
    """Whether ptxas is asked about everything."""

    seed: int
    """Where chance begins: another number each day, unless one is given."""

    daily: bool
    """Whether nvgen is asked only for what it is asked for every day."""


def options() -> Options:
    """The options of this run."""
    seed = os.environ.get(SEED_VARIABLE, "")
    today = datetime.datetime.now(datetime.UTC).date().toordinal()
    live, daily = (os.environ.get(name, "") == "1" for name in (LIVE_VARIABLE, DAILY_VARIABLE))
    return Options(live, int(seed) if seed else today, daily)


def path_of(name: str) -> Path:
    """Where the verdicts on a list are."""
    return FOLDER / f"{name}.verdicts"


@functools.lru_cache(maxsize=8)
def recorded(name: str) -> VerdictFile | None:
    """The verdicts on a list, or None when there are none."""
    return load(path_of(name))


class Answers:
    """ptxas's verdicts on statements that are recorded in some lists, or in none."""

    def __init__(self, statements: Sequence[str], *names: str) -> None:
        self.statements = tuple(statements)
        self.names = names
        self._live: dict[Pair, Verdicts] = {}
        self._keys = [key_of(statement) for statement in self.statements]
        files = [file for name in names if (file := recorded(name))]
        self._tables = [self._table(file) for file in files]
        self._daily = self._first_of_alike(files)

    def _table(self, file: VerdictFile) -> dict[Pair, Verdicts]:
        """The verdicts of a file by pair: a column of them for the statements."""
        groups = {bits: place for place, bits in enumerate(dict.fromkeys(file.verdicts.values()))}
        rows = np.full((len(groups) + 1, len(file.pairs)), UNKNOWN, np.int8)
        for bits, place in groups.items():
            rows[place] = [bits >> n & 1 for n in range(len(file.pairs))]
        verdicts = file.verdicts
        chosen = [groups[verdicts[key]] if key in verdicts else -1 for key in self._keys]
        columns = rows[np.array(chosen, np.int64)].T
        return {pair: columns[n] for n, pair in enumerate(file.pairs)}

    def _first_of_alike(self, files: Sequence[VerdictFile]) -> NDArray[np.bool_]:
        """The first `DAILY` of those statements on which ptxas says the same for every pair."""
        said = [tuple(file.verdicts.get(key) for file in files) for key in self._keys]
        before: dict[tuple[int | None, ...], itertools.count[int]] = {}
        return np.array([next(before.setdefault(s, itertools.count())) < DAILY for s in said], bool)

    def recorded(self, pair: Pair) -> Verdicts:
        """What the files say: UNKNOWN where they say nothing."""
        found = np.full(len(self.statements), UNKNOWN, np.int8)
        for table in self._tables:
            if pair in table:
                found = np.where(found == UNKNOWN, table[pair], found)
        return found

    def verdicts(self, pair: Pair) -> Verdicts:
        """LEGAL or REFUSED for each statement: ptxas is asked where the files say nothing.

        Raises: OutdatedEvidenceError when everything is asked and ptxas says something else.
        """
        if pair not in self._live:
            self._live[pair] = self._asked(pair)
        return self._live[pair]

    def _asked(self, pair: Pair) -> Verdicts:
        found = self.recorded(pair)
        live = options().live
        open_ = np.flatnonzero((found == UNKNOWN) | live)
        if not open_.size:
            return found
        try:
            said = ptxas.judge([self.statements[place] for place in open_], *pair)
        except ptxas.PtxasMissingError:
            if live:
                raise
            return found
        anew = found.copy()
        anew[open_] = [REFUSED if messages else LEGAL for messages in said]
        check_same([(self.statements, found, anew)], pair)
        return anew

    def cells(self, pairs: Sequence[Pair]) -> NDArray[np.bool_]:
        """Which verdicts nvgen is asked for: a row for each statement, a column for each pair.

        All of them when everything is live.  Else those at which the verdict of ptxas changes, from
        one pair to the next, on both sides of the change; one more of each statement on one day of
        `DAYS`, which is the same day for all pairs; and all of a statement that has no record.
        That a target itself comes with a version is no change of the statement's, but on `WHOLE`.
        Where all pairs are of one target, the one more is mostly of the newest, where a rule that
        is missing shows; of the oldest where ptxas takes the statement.  Of statements that ptxas
        takes for alike, a few are asked about there every day.
        """
        shape = (len(self.statements), len(pairs))
        if options().live or len(pairs) < 2:
            return np.ones(shape, np.bool_)
        columns = np.stack([self.recorded(pair) for pair in pairs], axis=1)
        chosen = np.zeros(shape, np.bool_)
        changed = columns[:, 1:] != columns[:, :-1]
        new = [n for n in range(1, shape[1]) if _brings_target(pairs[n - 1], pairs[n])]
        changed[:, [n - 1 for n in new]] = False
        chosen[:, 1:] |= changed
        chosen[:, :-1] |= changed
        begin = zlib.crc32(" ".join((*self.names, *map(str, pairs))).encode())
        chance = np.random.default_rng([options().seed, begin])
        one_more = chance.integers(shape[1], size=shape[0])
        of_one_target = len({target for target, _ in pairs}) == 1
        oldest = new[0] if new and of_one_target else 0
        telling = np.where(columns[:, oldest] == LEGAL, oldest, shape[1] - 1)
        if of_one_target:
            one_more = np.where(chance.random(shape[0]) < TELLING, telling, one_more)
        chosen[self._daily, telling[self._daily]] = True
        today = self._has_turn()
        chosen[today, one_more[today]] = True
        chosen[(columns == UNKNOWN).any(axis=1)] = True
        return chosen

    def _has_turn(self) -> NDArray[np.bool_]:
        """The statements about which one more is asked today."""
        places = np.arange(len(self.statements)) + zlib.crc32(" ".join(self.names).encode())
        return ((places + options().seed) % DAYS == 0) & (not options().daily)


def _brings_target(older: Pair, newer: Pair) -> bool:
    """Whether a target came with the version of the second of two neighbouring pairs."""
    here = older.target == newer.target != WHOLE
    return here and newer.ptx == ptxas.FIRST_PTX.get(newer.target)


def check_same(compared: Sequence[tuple[Sequence[str], Verdicts, Verdicts]], pair: Pair) -> None:
    """Raise OutdatedEvidenceError where two columns of known verdicts differ: recorded and live."""
    lines = [
        f"{pair}: recorded as {'legal' if was[place] else 'refused'}: {statements[place]}"
        for statements, was, now in compared
        for place in np.flatnonzero((was != now) & (was != UNKNOWN) & (now != UNKNOWN))
    ]
    if lines:
        raise OutdatedEvidenceError(
            f"ptxas {ptxas.build_of(ptxas.find_ptxas())} says otherwise of {len(lines)} statements "
            f"(seed {options().seed}); if it is right, `make evidence` writes the record anew\n"
            + "\n".join(lines[:20])
        )


def complaints(statement: str, pair: Pair) -> tuple[str, ...]:
    """What ptxas complains of in a statement that is recorded as refused."""
    try:
        return tuple(ptxas.judge([statement], *pair)[0]) or ("nothing: the record is out of date",)
    except ptxas.PtxasMissingError:
        return ("recorded as refused",)

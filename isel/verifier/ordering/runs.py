"""The runs of a kernel: with which arguments, in which cluster, and with which budget.

Layer: isel.verifier.ordering.  Input: a kernel whose block is known.  Output: the log of each run,
and its races.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TypeAlias

from intrinsics.limits import MOST_CLUSTER, PORTABLE_CLUSTER
from intrinsics.mir import Imm, Op
from isel.verifier.function.barriers.clusters import cluster_size, pair_records
from isel.verifier.function.participants import registers
from isel.verifier.function.report import Report
from isel.verifier.ordering.execute import Run
from isel.verifier.ordering.judgement.contents import Contents
from isel.verifier.ordering.judgement.races import Finder, Footprints, Race
from isel.verifier.ordering.judgement.sizes import copies_of_no_bytes
from isel.verifier.ordering.memory_regions import Region
from isel.verifier.ordering.program import Program, has_loaded_index
from isel.verifier.ordering.run.log import Log
from isel.verifier.ordering.run.machine import Launch

_ROUNDS, _FEWER = 6, 3
"""The budget of a run, as executions of each record that a warp reaches, on the average.

The smaller one is for runs whose integer arguments are a size, in which loops are long.
"""
_SIZE, _LARGER = 512, 2048
"""A size, and the one of another run where loops of the first come to their end within the budget.

With the larger one, K in steps of 256 goes round a ring of up to seven buffers.
"""
_PLACE = 3
"""The number of the cluster in runs with other sizes, in the middle of a grid: loops up to its rows
have several turns, also where the last cluster has the first rows.
"""
_QUOTIENTS = ((_LARGER, 1), (_LARGER // 2, 2))
"""The value of arguments in runs with other quotients, and of those that others are divided by; the
second one where the budget ends the first.
"""
_SMALLER = 128
"""A size of a further run: where a run of the usual one is too long, loops behind others begin."""
_OTHER_SIZE = 1_024 + 5
"""A size with the last bits of the first run's: what is left over of unrolled loops is executed."""
_LEAST, _MOST = 8_000, 30_000
_LONGER = 2
"""The factor of the budget of a run that is made once more, where arguments do not matter."""
_SMALL = 3_000
"""Records, times warps, up to which a kernel has more runs."""
_RUNS = ((5, False), (4, True), (_SIZE, False), (0, False))
"""The value of integer arguments in each run, a trip count or a size, and whether it is `late`."""
_NUMBERS = {number: place for place, (number, _) in enumerate(_RUNS)}
"""The order of the runs, by the value of their arguments."""
_MORE_RUNS = 4
"""Runs of small kernels with other values, constants that branches compare arguments with."""


_Accessed: TypeAlias = dict[int, Sequence[Region]]
"""What each warp accesses by a record."""


class Runs:
    """The runs of a kernel, as `logs`, and their races."""

    def __init__(self, report: Report, program: Program) -> None:
        self._report = report
        self._program = program
        self._finders: list[Finder] = []
        self._footprints = Footprints()
        walkers = report.analysis.walkers
        sizes = [*map(len, program.steps)]
        self._steps = sum(sizes[n] for walker in walkers for n in walker.flow.reached())
        self.logs = self._logs()

    def finders(self) -> list[Finder]:
        """The races of each distinct log."""
        found: list[Finder] = []
        for log in self.logs:
            finder = self._finder(log)
            if finder not in found:
                found.append(finder)
        return found

    def only_for_other_sizes(self, races: list[Race]) -> set[tuple[int, int]]:
        """The records of races that are none where arguments have the sizes that they are tested
        for, although both records are executed.

        A kernel may be made for these sizes alone, and do nothing of use for others.
        """
        if not races or not self._program.sizes:
            return set()
        log = self._run(_RUNS[0][0], (), late=False, values=self._program.sizes)
        if log.stuck:
            return set()
        pairs = {race.records for race in races}
        still = {race.records for race in self._finder(log).races()}
        return {pair for pair in pairs - still if log.threads.keys() >= set(pair)}

    def by_arguments(self, races: list[Race]) -> set[tuple[int, int]]:
        """The records of races that arguments decide, as they say which bytes are accessed.

        Another run executes both records by the same warps, at other addresses, without a race; or
        with a race, where no run that has as much work as there are threads executes them.
        """
        pairs = {race.records for race in races}
        records = set(itertools.chain.from_iterable(pairs))
        finders = self.finders() if pairs else []
        sizes = [f.log for f in finders if f.log.number >= _SIZE]
        for size in self._other_sizes():
            if all(any(log.executes(pair) for log in sizes) for pair in pairs):
                break
            log = self._run(size, (), late=False)
            if log.truncated and log in sizes:
                break  # what it has not executed lies behind a loop that a size does not end
            finders.append(self._finder(log))
            sizes.append(log)
        threads = math.prod(self._report.analysis.block)
        enough = [log for log in sizes if log.number >= threads and not log.truncated]
        for_less = {p for p in pairs if enough and not any(log.executes(p) for log in sizes)}
        runs = [
            (pairs & {race.records for race in finder.races()}, _places(finder.log, records))
            for finder in finders
        ]
        found: set[tuple[int, int]] = set()
        for (raced, here), (others, there) in itertools.permutations(runs, 2):
            found |= {p for p in raced & others & for_less if _is_moved(p, here, there)}
            for pair in raced - others:
                alike = [here[index].keys() == there[index].keys() for index in pair]
                if all(alike) and any(here[index] != there[index] for index in pair):
                    found.add(pair)
        return found

    def _other_sizes(self) -> Iterator[int]:
        """Sizes beyond the runs', for what these do not execute; at first some more than threads.

        Loops of those are short, and what is left over of unrolled ones is that of other runs.
        """
        threads = math.prod(self._report.analysis.block)
        for number, _ in _RUNS[:2]:
            yield threads + number
        yield _OTHER_SIZE

    def with_least_work(self) -> Log:
        """A run whose arguments are all 1, in the cluster that the kernel and the user give."""
        return self._run(1, (), late=False)

    def by_contents(self, races: list[Race]) -> set[tuple[int, int]]:
        """The records of races that the contents of memory decide, which every run makes up."""
        if not races or not self._assume:
            return set()
        return {
            race.records
            for race in races
            if self._contents.decide(race.records, (race.first.kind, race.second.kind))
        }

    def lanes_by_contents(self, pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
        """The pairs of records of which the contents of memory decide whether lanes meet there."""
        if not pairs or not self._assume:
            return set()
        return {pair for pair in pairs if self._contents.place(pair)}

    def only_for_sizes_of_zero(self, races: list[Race]) -> set[tuple[int, int]]:
        """The records of races that are found only where memory holds nothing but 0, although a
        run with work to do executes both.

        A size or trip count in memory may never be 0; of an argument the kernel's text says what
        happens.
        """
        idle = {race.records for race in races}
        for finder in self.finders():
            if finder.log.number or not finder.log.assumed:
                idle -= {race.records for race in finder.races()}
        idle = {pair for pair in idle if any(log.executes(pair) for log in self.logs)}
        if idle:
            log = self._run(0, (), late=False, contents=_RUNS[0][0])
            idle -= {race.records for race in self._finder(log).races()}
        return idle

    def only_for_no_bytes(self, races: list[Race]) -> set[tuple[int, int]]:
        """The records of races with a copy whose phase expects no bytes, where arguments say how
        many: another run executes both records without a race.

        The size of its box, which is not 0, is the launch's; a launch with this sum has no work.
        """
        none = {race.records for race in races}
        for finder in self.finders() if none else ():
            idle = copies_of_no_bytes(finder.log)
            none -= {race.records for race in finder.races() if race.one.first not in idle}
        raced = [(f.log, {race.records for race in f.races()}) for f in self.finders() if none]
        return {p for p in none if any(log.executes(p) and p not in at for log, at in raced)}

    @cached_property
    def _contents(self) -> Contents:
        return Contents(self._program, self.logs)

    @property
    def _assume(self) -> bool:
        """Whether contents of memory or arguments that were made up had a part in a run."""
        return any(log.assumed or log.reads_arguments for log in self.logs)

    def _finder(self, log: Log) -> Finder:
        """The races of a log, sought once for all runs with an equal log."""
        found = next((f for f in self._finders if f.log is log or f.log == log), None)
        if found is None:
            found = Finder(log, self._report.analysis.graph.records, self._footprints)
            self._finders.append(found)
        return found

    # ---- clusters ------------------------------------------------------------------------------

    def _logs(self) -> list[Log]:
        """The logs of all runs, in a cluster whose size may not be known.

        If a run names mbarriers of other CTAs, or the kernel another CTA by its rank, the highest
        rank gives the size.
        """
        is_known = cluster_size(self._report.analysis.function, self._report.cluster) is not None
        named = 0 if is_known else self._highest_rank()
        logs: list[Log] = []
        for log in self._in_cluster((), seeks=not is_known):
            logs.append(log)
            highest = max(log.highest_rank, named)
            if highest and not is_known:
                return self._guessed(highest.bit_length(), logs)
        return logs

    def _highest_rank(self) -> int:
        """The highest rank that the kernel names by a constant."""
        records = self._report.analysis.graph.records
        ranks = [mi.get("b") for mi in records if mi.form.row.id == "mapa"]
        return max((rank.value for rank in ranks if isinstance(rank, Imm)), default=0)

    def _guessed(self, steps: int, logs: list[Log]) -> list[Log]:
        """The logs of all runs in a cluster of 2 to the power of `steps` CTAs, if that is possible.

        Its shape along x and y is not known: the first one without errors is taken, or else the one
        with the fewest.
        """
        if 1 << steps <= PORTABLE_CLUSTER:
            shapes = [(1 << steps - n, 1 << n, 1) for n in range(steps + 1)]
            sizes = any(log.reads_arguments for log in logs)
            logs = self._least_wrong([self._in_cluster(shape, sizes=sizes) for shape in shapes])
            logs.sort(key=lambda log: _NUMBERS.get(log.number, len(_NUMBERS)))
        for log in logs:
            log.cannot_follow("a cluster whose size nobody gave")
            log.certain = 0
        return logs

    def _least_wrong(self, shapes: list[Iterator[Log]]) -> list[Log]:
        """The runs of the first shape without errors, or else of the one with the fewest.

        After an error, the remaining runs of a shape wait until all shapes have been tried: those
        of the shape with the fewest errors come first, and others stop when they have more.  A
        shape with the first run of another is left out: no warp asks for what differs.
        """
        begun: list[tuple[int, int, list[Log]]] = []
        for place, runs in enumerate(shapes):
            first = next(runs)
            if any(first == logs[0] for _, _, logs in begun):
                continue
            logs, wrong = self._until_wrong(itertools.chain((first,), runs), 1)
            if not wrong:
                return logs
            begun.append((wrong, place, logs))
        best: list[Log] = []
        least: tuple[float, int] = math.inf, 0
        for wrong, place, logs in sorted(begun, key=lambda shape: shape[:2]):
            most = least[0] - wrong + (place < least[1])
            others, more = self._until_wrong(shapes[place], most)
            if (wrong + more, place) < least:
                best, least = [*logs, *others], (wrong + more, place)
        return best

    def _until_wrong(self, runs: Iterator[Log], most: float) -> tuple[list[Log], int]:
        """Runs until they have `most` errors, and how many they have."""
        logs: list[Log] = []
        wrong = 0
        while wrong < most and (log := next(runs, None)) is not None:
            logs.append(log)
            wrong += len(log.stuck) + len(self._finder(log).races())
        return logs, wrong

    # ---- runs ----------------------------------------------------------------------------------

    def _in_cluster(
        self, cluster: tuple[int, ...], *, sizes: bool = False, seeks: bool = False
    ) -> Iterator[Log]:
        """The logs of the runs with equal arguments, and of further ones where these do not reach
        some records: with other quotients of arguments, where most are missing, and with a smaller
        size where none has had the larger one, as the budget ended that of a size or none reads
        arguments.
        """
        events = self._program.reachable_events()
        missing = set(events)
        is_larger = False
        for log in self._with_equal_arguments(cluster, sizes=sizes, seeks=seeks):
            missing -= log.threads.keys()
            is_larger |= log.number == _LARGER
            yield log
        has_quotients = self._program.divisors and 2 * len(missing) > len(events)
        for number, divisor in _QUOTIENTS if has_quotients else ():
            values = dict.fromkeys(self._program.divisors, divisor)
            log = self._run(number, cluster, late=False, values=values, place=_PLACE)
            missing -= log.threads.keys()
            yield log
            if not log.truncated:
                break
        if missing and not is_larger:
            yield self._run(_SMALLER, cluster, late=False, place=_PLACE)

    def _with_equal_arguments(
        self, cluster: tuple[int, ...], *, sizes: bool, seeks: bool
    ) -> Iterator[Log]:
        """The logs of all runs in a cluster of this shape.

        () is the one that the kernel and the user give, or one to seek the size in.  With `sizes`
        the run whose arguments are a size comes first: a wrong shape shows in it.  Where arguments
        do not matter, since none is loaded or another run has the same log until both are cut, the
        first is made once more with a larger budget.  Where memory holds indices, that of a size is
        made once more with small ones.
        """
        sized: Log | None = None
        if sizes:
            log = self._run(_SIZE, cluster, late=False)
            if log.reads_arguments:
                sized = log
                yield log
        first: Log | None = None
        alike = False
        for number, late in self._arguments():
            if number == _SIZE and sized is not None:
                continue
            if first is None or first.reads_arguments or (late and not self._has_one_order(first)):
                # else it would be the first run again
                log = self._run(number, cluster, late=late, seeks=seeks)
                yield log
                alike |= log == first
                first = first or log
                sized = log if number == _SIZE else sized
        if sized is not None and sized.reads_arguments and not sized.truncated:
            yield self._run(_LARGER, cluster, late=False, place=_PLACE)
            if sized.assumed and has_loaded_index(self._program.graph):
                yield self._run(_SIZE, cluster, late=False, contents=_RUNS[0][0])
        if first is not None and first.truncated and (alike or not first.reads_arguments):
            yield self._run(first.number, cluster, late=False, longer=_LONGER)

    def _has_one_order(self, log: Log) -> bool:
        """Whether accesses are ordered as in a run whatever warp goes first."""
        return self._program.by_barriers and not (log.guessed or log.unknown)

    def _arguments(self) -> Iterable[tuple[int, bool]]:
        """The arguments of each run; small kernels have further runs that take other branches."""
        if sum(map(len, self._program.steps)) * len(self._report.analysis.walkers) > _SMALL:
            return _RUNS
        usual = {number for number, _ in _RUNS}
        more = [number for number in self._program.numbers if number not in usual]
        return [*_RUNS, *((number, False) for number in more[:_MORE_RUNS])]

    def _run(
        self, number: int, cluster: tuple[int, ...], *, late: bool, longer: int = 1,
        values: Mapping[Op, int] = MappingProxyType({}), contents: int | None = None,
        place: int = 0, seeks: bool = False,
    ) -> Log:  # fmt: skip
        """The log of a run that may take so many times what others may."""
        report, function = self._report, self._report.analysis.function
        x, y, z = (*report.analysis.block, 1, 1)[:3]
        size = cluster or tuple(function.launch.cluster) or report.cluster or (1,)
        cluster = (*size, 1, 1)[:3]
        if self._is_too_large(math.prod(cluster)):
            cluster = (2, 1, 1)
        elif cluster == (1, 1, 1) and cluster_size(function, report.cluster) is None:
            cluster = (2, 1, 1) if self._is_for_pairs else cluster
        cx, cy, cz = cluster
        launch = Launch((x, y, z), (cx, cy, cz), number, self._held, values, contents, place)
        rounds = _FEWER if number in (_SIZE, _LARGER) else _ROUNDS
        budget = longer * min(max(self._steps * launch.ctas * rounds, _LEAST), _MOST)
        run = Run(report.module, function, self._program, launch, budget, late=late, seeks=seeks)
        log = run.run()
        if launch.ctas < math.prod(size):
            log.unknown.append("a cluster of more CTAs")
            log.certain = 0
        return log

    @cached_property
    def _held(self) -> int:
        """The registers of a thread at first; 0 where that is not known."""
        return 0 if self._report.bounded else registers.at_first(self._report)

    @cached_property
    def _is_for_pairs(self) -> bool:
        return any(pair_records(self._report.analysis.function))

    def _is_too_large(self, ctas: int) -> bool:
        """Whether to execute a pair in place of the cluster: no GPU has it, or it exceeds the
        budget.
        """
        return ctas > MOST_CLUSTER or (ctas > PORTABLE_CLUSTER and ctas * self._steps > _MOST)


def _is_moved(
    pair: tuple[int, int], here: dict[int, _Accessed], there: dict[int, _Accessed]
) -> bool:
    """Whether as many threads of a warp access other places by one of two records."""
    return any(
        [r.last - r.first for r in regions] == [r.last - r.first for r in others]
        for index in pair
        for warp, regions in here[index].items()
        if (others := there[index].get(warp, regions)) != regions
    )


def _places(log: Log, records: Container[int]) -> dict[int, _Accessed]:
    """What each warp accesses first by each of these records: by record and warp."""
    found: dict[int, _Accessed] = defaultdict(dict)
    for access in log.accesses:
        if access.index in records:
            found[access.index].setdefault(access.warp, access.regions)
    return found

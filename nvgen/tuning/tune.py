"""`tune`: measure the configurations of a problem, the fastest first.

Layer: nvgen.tuning.  Compiling is given to any `concurrent.futures.Executor` (threads, processes,
or one of dask's or ray's); measuring stays in this process, one kernel at a time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from typing import Generic, TypeAlias

from intrinsics.findings import Finding, InputError, NvgenError, Severity, input_error
from intrinsics.lazy_dataclass import dataclass
from nvgen.built import Kernel
from nvgen.kernel_code.code import MachineCode
from nvgen.tuning.candidates import Candidate, Outcome, compile_kernel
from nvgen.tuning.config import ConfigT, Settings, settings
from nvgen.tuning.problem import Problem
from nvgen.tuning.results import Results, Trial

Progress: TypeAlias = Callable[[Trial, int, int], None]
"""Called with each trial, how many there are by then, and of how many."""


@dataclass(frozen=True, slots=True)
class _Entry(Generic[ConfigT]):
    """A configuration with what its measurement is kept under."""

    config: ConfigT
    settings: Settings
    key: str
    kernel: Kernel


def tune(
    problem: Problem[ConfigT],
    *,
    executor: Executor | None = None,
    results: Results | None = None,
    environment: str = "",
    progress: Progress | None = None,
) -> list[Trial]:
    """Measure every configuration that `results` does not know, and sort: the fastest first.

    A configuration that cannot be built, compiled or run is a trial with a `failure`, at the end.
    `environment` names what measurements depend on beside the program: the GPU, the assembler.

    Raises: InputError when there is nothing to try; whatever stops the GPU from being used at all.
    """
    if not hasattr(problem, "configs"):
        raise input_error(
            "tune/problem", "this is nothing to tune", got=type(problem).__name__,
            expected="a nvgen.tuning.Problem: configs(), build(config), measure(candidate)",
        )  # fmt: skip
    kept = results or Results()
    configs = list(problem.configs())
    if not configs:
        raise InputError([_nothing(problem.name)])
    found: list[Trial] = []

    def tell(trial: Trial) -> None:
        found.append(trial)
        if progress:
            progress(trial, len(found), len(configs))

    entries = list(_to_measure(problem, configs, kept, environment, tell))
    if executor is not None:
        _measure_all(problem, entries, executor, kept, tell)
    else:
        with ThreadPoolExecutor(1) as own:
            _measure_all(problem, entries, own, kept, tell)
    return sorted(found, key=_order)


def _order(trial: Trial) -> float:
    return float("inf") if trial.milliseconds is None else trial.milliseconds


def _to_measure(
    problem: Problem[ConfigT],
    configs: Sequence[ConfigT],
    kept: Results,
    environment: str,
    tell: Callable[[Trial], None],
) -> Iterator[_Entry[ConfigT]]:
    """The configurations that have no result yet; the results of the others are reported."""
    for config in configs:
        shown = settings(config)
        try:
            kernel = problem.build(config)
        except NvgenError as error:
            tell(Trial(problem.name, "", shown, failure=_words(error.findings)))
            continue
        key = _key(problem, kernel, environment)
        known = kept.get(key)
        if known is not None:
            tell(known)
        else:
            yield _Entry(config, shown, key, kernel)


def _key(problem: Problem[ConfigT], kernel: Kernel, environment: str) -> str:
    parts = (problem.name, problem.target, str(problem.opt), environment, kernel.llvm)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _measure_all(
    problem: Problem[ConfigT],
    entries: Sequence[_Entry[ConfigT]],
    executor: Executor,
    kept: Results,
    tell: Callable[[Trial], None],
) -> None:
    waiting: dict[Future[Outcome], _Entry[ConfigT]] = {
        executor.submit(compile_kernel, entry.kernel, problem.target, problem.opt): entry
        for entry in entries
    }
    try:
        for future in as_completed(waiting):
            entry = waiting[future]
            trial = _measured(problem, entry, future.result())
            kept.add(trial)
            tell(trial)
    finally:
        for future in waiting:
            future.cancel()


def _measured(problem: Problem[ConfigT], entry: _Entry[ConfigT], outcome: Outcome) -> Trial:
    if not isinstance(outcome, MachineCode):
        return Trial(problem.name, entry.key, entry.settings, failure=_words(outcome.findings))
    took, failure = None, ""
    try:
        took = problem.measure(Candidate(entry.config, entry.kernel, outcome))
    except InputError:
        raise  # no GPU, or no library: the next one would fail as well
    except NvgenError as error:
        failure = _words(error.findings)
    taken = outcome.resources
    spilled = taken.spill_stores + taken.spill_loads
    return Trial(problem.name, entry.key, entry.settings, took, taken.registers, spilled, failure)


def _words(findings: Sequence[Finding]) -> str:
    return "; ".join(f"{f.rule}: {f.message}" for f in findings)


def _nothing(name: str) -> Finding:
    return Finding("tune/nothing", Severity.ERROR, f"{name} has no configurations to try")

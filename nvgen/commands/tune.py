"""`nvgen tune`: measure the configurations of a kernel and show the fastest.

Layer: nvgen.commands.  The file gives the problem: see `nvgen.tuning.Problem`.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import asdict

from intrinsics.findings import NvgenError, Place, input_error
from nvgen.commands.given.python_file import python_module
from nvgen.driver.gpus import gpu
from nvgen.render import Printer
from nvgen.tuning import Problem, Results, Trial, tune
from nvgen.tuning.workers import Workers

OK, NONE_WORKS = 0, 1

_INTEGER = re.compile(r"-?[0-9]{1,4000}")


def run(arguments: argparse.Namespace) -> int:
    """Tune; 1 when no configuration works.

    Raises: InputError also for what the file that is tuned raises.
    """
    with _as_errors_of(arguments.file):
        return _tune(arguments)


def _tune(arguments: argparse.Namespace) -> int:
    if arguments.top < 0:
        got = str(arguments.top)
        raise input_error("tune/top", "no number of trials", got=got, expected="0 or more")
    problem = _problem(arguments.file, _settings(arguments.settings))
    results = Results(arguments.cache)
    with _executor(arguments.executor, arguments.jobs) as executor, _Progress() as progress:
        trials = tune(
            problem,
            executor=executor,
            results=results,
            environment=_environment(),
            progress=progress,
        )
    if arguments.json:
        print(json.dumps([asdict(trial) for trial in trials], indent=2))
    else:
        _show(problem, trials, arguments.top)
    return OK if trials[0].milliseconds is not None else NONE_WORKS


@contextmanager
def _as_errors_of(file: str) -> Iterator[None]:
    """What a line of the file raises is an error of the file; NvgenErrors say themselves."""
    try:
        yield
    except NvgenError:
        raise
    except Exception as error:
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == file or os.path.abspath(file) == frame.filename
        ]
        if not lines:
            raise
        hint = f"pip install {error.name}" if isinstance(error, ModuleNotFoundError) else ""
        raise input_error(
            "tune/raised",
            f"{file} raises {type(error).__name__}",
            place=Place(file, lines[-1] or 0),
            got=str(error),
            expected="a problem that can be built and measured here",
            hint=hint,
        ) from error


# ---- what is tuned -----------------------------------------------------------------------------


def _settings(texts: Sequence[str]) -> dict[str, int | str]:
    found: dict[str, int | str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise input_error("tune/setting", "this is no setting", got=text, expected="NAME=VALUE")
        found[name] = int(value) if _INTEGER.fullmatch(value) else value
    return found


def _problem(file: str, given: dict[str, int | str]) -> Problem[object]:
    maker = getattr(python_module(file, "tune/file"), "tuning", None)
    if not callable(maker):
        raise input_error(
            "tune/file",
            f"{file} does not say what is tuned",
            expected="a function tuning(…) that gives a nvgen.tuning.Problem",
        )
    signature = inspect.signature(maker)
    try:
        signature.bind(**given)
    except TypeError as error:
        raise input_error(
            "tune/setting",
            "tuning(…) does not take these settings",
            got=str(error),
            expected=f"tuning{signature}",
        ) from None
    for name, value in given.items():
        hint = getattr(signature.parameters.get(name), "annotation", None)
        if isinstance(value, str) and hint in (int, "int"):
            raise input_error(
                "tune/setting", f"{name} is a whole number", got=f"{name}={value}",
                expected=f"tuning{signature}",
            )  # fmt: skip
    made: Problem[object] = maker(**given)
    return made


def _environment() -> str:
    """What measurements depend on beside the program: the assembler and the GPU."""
    from nvgen.machine_code.assembler import find_ptxas

    number, why = gpu()
    ptxas = find_ptxas()
    stamp = f"{ptxas} {ptxas.stat().st_size}" if ptxas is not None and ptxas.exists() else ""
    return f"{'no GPU' if why else f'sm_{number}'} {stamp}"


# ---- who compiles ------------------------------------------------------------------------------


def _executor(named: str | None, jobs: int | None) -> Executor:
    if named:
        return _named_executor(named)
    count = jobs if jobs is not None else os.cpu_count() or 1
    if count < 1:
        raise input_error("tune/jobs", "nobody compiles", got=str(count), expected="1 or more")
    return Workers(count)


def _named_executor(named: str) -> Executor:
    home, _, name = named.partition(":")
    try:
        maker: Callable[[], object] = getattr(importlib.import_module(home), name)
        made = maker()
    except (ImportError, AttributeError, ValueError) as error:
        raise input_error(
            "tune/executor",
            "there is no such executor",
            got=f"{named}: {error}",
            expected="MODULE:NAME of a callable without arguments",
        ) from None
    if not isinstance(made, Executor):
        raise input_error(
            "tune/executor",
            f"{named} gives no executor",
            got=type(made).__name__,
            expected="a concurrent.futures.Executor",
        )
    return made


# ---- what is shown -----------------------------------------------------------------------------


class _Progress:
    """A line for the trials so far: a bar on a terminal, a line for each elsewhere."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import Progress

        console = Console(stderr=True)
        self._bar = Progress(console=console) if console.is_terminal else None
        self._task = self._bar.add_task("tuning", total=None) if self._bar else None

    def __enter__(self) -> _Progress:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def __call__(self, trial: Trial, done: int, total: int) -> None:
        text = trial.failure or f"{trial.milliseconds:.4f} ms"
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total, description=text[:40])
        else:
            print(f"[{done}/{total}] {_words(trial)}: {text}", file=sys.stderr)


def _words(trial: Trial) -> str:
    return " ".join(f"{name}={value}" for name, value in trial.config.items())


def _show(problem: Problem[object], trials: Sequence[Trial], top: int) -> None:
    printer = Printer(sys.stdout)
    printer.line([(problem.name, "bold")])
    for trial in trials[:top]:
        if trial.milliseconds is None:
            printer.line([(f"{'failed':>10}  ", "red"), (f"{_words(trial)}: {trial.failure}", "")])
            continue
        speed = problem.flops / trial.milliseconds / 1e9
        shown = f"{trial.milliseconds:>7.4f} ms" + (f" {speed:>7.1f} TFLOP/s" if speed else "")
        notes = f"  {trial.registers} registers" + (
            f", {trial.spilled} bytes spilled" if trial.spilled else ""
        )
        printer.line([(shown, "green"), (f"  {_words(trial)}", ""), (notes, "dim")])

"""Inputs in a process that may die of them.

A worker is a fork of this process, in which everything is imported already; it takes one input
after the other and tells each outcome through a pipe.  When it dies or hangs, the input that it was
at is known, and another worker goes on behind it.  Limits hold for each input: processor time,
the worker's memory, the size of a file.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import resource
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.fuzz.inputs import Input
from tests.fuzz.problems import Outcome, of_death, of_exception, of_line

Door = Callable[[Input], Outcome]
"""Takes an input, in a folder of its own; what it raises is a problem."""


@dataclass(frozen=True)
class Limits:
    """Seconds of processor time, seconds by the clock, bytes of memory and of a file."""

    seconds: float = 10.0
    clock: float = 60.0
    memory: int = 6 << 30
    file: int = 64 << 20


LIMITS = Limits()


def outcomes(
    inputs: Sequence[Input], door: Door, limits: Limits = LIMITS
) -> Iterator[tuple[Input, Outcome]]:
    """Each input with its outcome, in order."""
    at = 0
    while at < len(inputs):
        for outcome in _batch(inputs[at:], door, limits):
            yield inputs[at], outcome
            at += 1


def outcome_of(item: Input, door: Door, limits: Limits = LIMITS) -> Outcome:
    """The outcome of one input in a process of its own."""
    ((_, found),) = outcomes([item], door, limits)
    return found


def _batch(inputs: Sequence[Input], door: Door, limits: Limits) -> Iterator[Outcome]:
    """Outcomes until the worker is done or dead; the last one then tells how it died."""
    folder = tempfile.mkdtemp(prefix="fuzz-")
    worker = _Worker(inputs, door, limits, folder)
    try:
        yield from worker.outcomes(len(inputs))
    finally:
        worker.close()
        shutil.rmtree(folder, ignore_errors=True)


class _Worker:
    """The other end of a forked process that takes inputs."""

    def __init__(self, inputs: Sequence[Input], door: Door, limits: Limits, folder: str) -> None:
        self._limits = limits
        self._status: int | None = None
        self._said = os.open(os.path.join(folder, "said"), os.O_RDWR | os.O_CREAT)
        self._reading, writing = os.pipe()
        gc.freeze()  # what is there now stays shared with the worker
        self._child = os.fork()
        if self._child == 0:
            os.close(self._reading)
            _work(inputs, door, limits, folder, self._said, writing)
        gc.unfreeze()
        os.close(writing)

    def outcomes(self, count: int) -> Iterator[Outcome]:
        """What the worker tells, and its death if that comes before the last."""
        kept, told = b"", 0
        while told < count:
            end = time.monotonic() + self._limits.clock
            while b"\n" not in kept:
                left = max(end - time.monotonic(), 0)
                ready, _, _ = select.select([self._reading], [], [], left)
                part = os.read(self._reading, 1 << 16) if ready else b""
                if not part:
                    yield self._death(over=not ready)
                    return
                kept += part
            line, _, kept = kept.partition(b"\n")
            told += 1
            yield of_line(line)

    def _death(self, *, over: bool) -> Outcome:
        """How the worker died, which is killed first when the time by the clock is over."""
        if over:
            os.kill(self._child, signal.SIGPROF)  # it says where it was
            time.sleep(0.2)
        code = os.waitstatus_to_exitcode(self._end(kill=over))
        words = os.pread(self._said, 1 << 20, 0).decode("utf-8", "replace")
        hung = over or code == -signal.SIGPROF
        return replace(of_death(words, code, hung=hung), seconds=self._limits.seconds * hung)

    def _end(self, *, kill: bool) -> int:
        """Wait for the worker, and end what it left behind; its status."""
        if self._status is None:
            if kill:
                os.kill(self._child, signal.SIGKILL)
            _, self._status = os.waitpid(self._child, 0)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._child, signal.SIGKILL)
        return self._status

    def close(self) -> None:
        """End the worker, wherever it is."""
        self._end(kill=True)
        os.close(self._reading)
        os.close(self._said)


# ---- in the worker ---------------------------------------------------------------------------


def _work(
    inputs: Sequence[Input], door: Door, limits: Limits, folder: str, said: int, writing: int
) -> None:
    """Take the inputs; never returns."""
    try:
        os.setpgid(0, 0)
        _redirect(said)
        _limit(limits, said)
        for number, item in enumerate(inputs):
            own = Path(folder, str(number))
            own.mkdir()
            os.chdir(own)
            os.ftruncate(said, 0)
            os.lseek(said, 0, os.SEEK_SET)
            os.write(writing, _taken(item, door, limits).line())
            os.chdir(folder)
            shutil.rmtree(own, ignore_errors=True)
    finally:
        os._exit(0)


def _taken(item: Input, door: Door, limits: Limits) -> Outcome:
    signal.setitimer(signal.ITIMER_PROF, limits.seconds)
    began = time.process_time()
    try:
        found = door(item)
    except BaseException as error:
        found = of_exception(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return replace(found, seconds=time.process_time() - began)


def _redirect(said: int) -> None:
    """Nothing to read, and all that is said goes to a file."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(said, 1)
    os.dup2(said, 2)


def _limit(limits: Limits, said: int) -> None:
    """A signal that ends the process when the time is over, and tells where it was."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    faulthandler.enable(file=said, all_threads=False)
    faulthandler.register(signal.SIGPROF, file=said, all_threads=False, chain=True)
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file, limits.file))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

"""Launches in a process of their own, which is ended when a kernel does not end.

Layer: nvgen.driver.  One worker is kept for all launches and made anew after an error, so that what
a kernel does to its context, or to the time that it takes, leaves the user's process as it was.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import subprocess
from collections.abc import Sequence
from multiprocessing.connection import Connection

from intrinsics.findings import DriverError, Finding, Severity
from intrinsics.lazy_dataclass import dataclass
from nvgen import python_child
from nvgen.driver.errors import SIMULATE, timed_out
from nvgen.driver.host import Ran
from nvgen.driver.jobs import Job

COMMAND = tuple(python_child.command("nvgen.driver.worker"))

START = 120.0
"""Seconds that a worker may take to start, to load the code and to copy the arrays."""

_GRACE = 2.0  # a worker tells of a timeout itself, if it can
_ENDED = 30.0


@dataclass(slots=True)
class Worker:
    """The other end of a worker process."""

    process: subprocess.Popen[bytes]
    send: Connection
    receive: Connection

    @classmethod
    def start(cls, command: Sequence[str] = COMMAND) -> Worker:
        """Start a process that answers jobs."""
        its_in, our_out = os.pipe()
        our_in, its_out = os.pipe()
        process = subprocess.Popen(
            [*command, str(its_in), str(its_out)],
            pass_fds=(its_in, its_out),
            stdin=subprocess.DEVNULL,
            env=python_child.environment(),
        )
        os.close(its_in)
        os.close(its_out)
        return cls(process, Connection(our_out), Connection(our_in))

    def run(self, job: Job, contents: Sequence[bytes], seconds: float) -> tuple[Ran, list[bytes]]:
        """Run a job; the worker is of no use any more after an error.

        Raises: DriverError.
        """
        try:
            self.send.send((job, seconds, len(contents)))
            for data in contents:
                self.send.send_bytes(data)
            self._expect(START, job.kernel)
            ran = self._expect(seconds + _GRACE, job.kernel, seconds)
            found = [self.receive.recv_bytes() for _ in contents]
        except (EOFError, OSError):
            raise self._died() from None
        assert isinstance(ran, Ran)
        return ran, found

    def _expect(self, limit: float, kernel: str, seconds: float | None = None) -> object:
        """The next message.

        Raises: DriverError when it is one, or does not come.
        """
        if not self.receive.poll(limit):
            if seconds is None:
                raise _failed("the launch did not begin", f"nothing for {limit:g} s")
            raise timed_out(kernel, seconds, SIMULATE)
        message = self.receive.recv()
        if isinstance(message, list):
            raise DriverError(message)
        return message

    def _died(self) -> DriverError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_GRACE)
        return _failed("the process of the launch ended", f"status {self.process.returncode}")

    def end(self) -> None:
        """Kill the process."""
        self.send.close()
        self.receive.close()
        self.process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_ENDED)


def _failed(message: str, got: str) -> DriverError:
    return DriverError([Finding("cuda/worker", Severity.ERROR, message, got=got)])


class Launcher:
    """Runs jobs one after the other, each in a worker that works."""

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        self._command = command
        self._worker: Worker | None = None
        atexit.register(self.close)

    def run(self, job: Job, contents: Sequence[bytes], seconds: float) -> tuple[Ran, list[bytes]]:
        """Run a job.

        Raises: DriverError.
        """
        worker = self._worker or Worker.start(self._command)
        self._worker = None
        try:
            result = worker.run(job, contents, seconds)
        except BaseException:  # the user's Ctrl-C too
            worker.end()
            raise
        self._worker = worker
        return result

    def close(self) -> None:
        """End the worker."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()


@functools.cache
def launcher() -> Launcher:
    """The launcher of this process."""
    return Launcher()

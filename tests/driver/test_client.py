"""A worker that misbehaves costs its launch, and nothing else.

Workers here are small scripts that speak the protocol: `python SCRIPT IN OUT`.
"""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from intrinsics.findings import DriverError
from nvgen.driver import client
from nvgen.driver.client import Launcher
from nvgen.driver.jobs import Job, LaunchConfig

JOB = Job((), "k", LaunchConfig((1, 1, 1), (32, 1, 1)), ())

PROLOGUE = """
import os, sys, time
from multiprocessing.connection import Connection
from intrinsics.findings import Finding, Severity
from nvgen.driver.host import Ran
receive, send = Connection(int(sys.argv[1])), Connection(int(sys.argv[2]))
while True:
    try:
        job, seconds, count = receive.recv()
        contents = [bytearray(receive.recv_bytes()) for _ in range(count)]
    except EOFError:
        break
"""

ADD_ONE = """
    send.send("running")
    send.send(Ran(1.5, "cubin"))
    for data in contents:
        send.send_bytes(bytes(b + 1 for b in data))
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[object]:
    """Makes a launcher whose workers run the given lines for each job."""
    made: list[Launcher] = []

    def launcher(lines: str) -> Launcher:
        script = tmp_path / "worker.py"
        script.write_text(PROLOGUE + textwrap.indent(textwrap.dedent(lines), "    "))
        made.append(Launcher((sys.executable, str(script))))
        return made[-1]

    yield launcher
    for one in made:
        one.close()


def test_memories_go_there_and_come_back(start) -> None:
    launcher = start(ADD_ONE)
    for _ in range(3):
        ran, contents = launcher.run(JOB, [b"abc", b"", bytes(1 << 20)], 5.0)
        assert ran.milliseconds == 1.5
        assert contents == [b"bcd", b"", b"\x01" * (1 << 20)]


def test_one_process_serves_all_launches(start) -> None:
    launcher = start(
        """
        send.send("running")
        send.send(Ran(float(os.getpid()), "cubin"))
        """
    )
    assert len({launcher.run(JOB, [], 5.0)[0].milliseconds for _ in range(3)}) == 1


def test_a_kernel_that_never_ends_is_ended_and_the_next_launch_works(
    start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_GRACE", 0.1)
    launcher = start(
        """
        send.send("running")
        time.sleep(0 if seconds > 1 else 1000)
        send.send(Ran(float(os.getpid()), "cubin"))
        """
    )
    before = launcher.run(JOB, [], 5.0)[0].milliseconds
    began = time.monotonic()
    with pytest.raises(DriverError, match="kernel k did not end") as error:
        launcher.run(JOB, [], 0.2)
    assert time.monotonic() - began < 60  # not the 1000 s that it sleeps
    assert error.value.findings[0].rule == "cuda/timeout"
    assert launcher.run(JOB, [], 5.0)[0].milliseconds != before


def test_a_worker_that_does_not_begin_is_ended(start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "START", 0.2)
    with pytest.raises(DriverError, match="the launch did not begin"):
        start("time.sleep(1000)").run(JOB, [], 5.0)


def test_findings_are_raised_here(start) -> None:
    launcher = start(
        """
        send.send([Finding("cuda/illegal-address", Severity.ERROR, "the kernel failed")])
        os._exit(0)
        """
    )
    for _ in range(2):
        with pytest.raises(DriverError, match="the kernel failed") as error:
            launcher.run(JOB, [], 5.0)
        assert error.value.findings[0].rule == "cuda/illegal-address"


@pytest.mark.parametrize("end", ["os._exit(7)", "os.kill(os.getpid(), 9)"])
def test_a_process_that_dies_is_said(start, end: str) -> None:
    with pytest.raises(DriverError, match="the process of the launch ended") as error:
        start(end).run(JOB, [b"x"], 5.0)
    assert error.value.findings[0].got in ("status 7", "status -9")

"""`nvgen targets`, and how the command line answers on streams of every kind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nvgen import __version__
from tests.nvgen.conftest import Nvgen
from tests.nvgen.programs import ADD

SINCE = {
    "sm_75": "7.0",  # PTX 6.3, but 7.0 is the first that nvgen writes
    "sm_80": "7.0",
    "sm_90": "7.8",
    "sm_90a": "8.0",
    "sm_100": "8.6",
    "sm_100a": "8.6",
    "sm_100f": "8.8",
    "sm_103a": "8.8",
    "sm_107a": "9.4",
    "sm_110a": "9.0",
    "sm_120a": "8.7",
    "sm_121f": "8.8",
}
"""First PTX versions, as PTX ISA lists them under Target directive and ptxas 13.5 enforces them."""


def test_the_targets_for_machines(nvgen: Nvgen) -> None:
    found = nvgen("targets", "--format", "json")
    assert (found.status, found.err) == (0, "")
    rows = {row["target"]: row for row in found.json()}
    assert {name: rows[name]["since_ptx"] for name in SINCE} == SINCE
    assert all(set(row) == {"target", "since_ptx", "features"} for row in rows.values())
    assert {name for name, row in rows.items() if "has_tmem" in row["features"]} == {
        f"sm_{number}{suffix}" for number in (100, 101, 103, 107, 110) for suffix in "af"
    }
    assert [name for name, row in rows.items() if "has_wgmma" in row["features"]] == ["sm_90a"]


def test_the_targets_for_people_are_the_same(nvgen: Nvgen) -> None:
    head, *lines = nvgen("targets").out.splitlines()
    assert head.split() == ["target", "since", "PTX", "features"]
    rows = nvgen("targets", "--format", "json").json()
    assert [line.split() for line in lines] == [
        [row["target"], row["since_ptx"], *row["features"]] for row in rows
    ]


def test_the_version_and_the_commands_are_reported(nvgen: Nvgen) -> None:
    assert nvgen("--version") == (0, f"nvgen {__version__}\n", "")
    usage = nvgen("--help").out
    assert all(name in usage for name in ("compile", "check", "run", "targets", "explain"))
    for arguments in ((), ("assemble",), ("targets", "--colour")):
        assert nvgen(*arguments).status == 2


# ---- streams ---------------------------------------------------------------------------------

SHELL = f"'{sys.executable}' -m nvgen"
PIPE_CLOSED = 128 + 13  # what a shell says of a command that SIGPIPE ended


def shell(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a shell command; `$nvgen` is the command line."""
    root = str(Path(__file__).resolve().parents[3])
    set_ = {**os.environ, "PYTHONPATH": root, "COLUMNS": "100", **environment}
    (folder / "add.ll").write_text(ADD)
    command = command.replace("$nvgen", SHELL)
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=set_, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    assert "Exception ignored" not in done.stderr
    return done


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    "environment",
    [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
    ids=["encoding", "locale"],
)
def test_an_encoding_without_our_characters(tmp_path: Path, environment: dict[str, str]) -> None:
    """… becomes an escape; the message comes all the same."""
    help_ = shell("$nvgen compile --help", tmp_path, **environment)
    assert help_.returncode == 0
    assert r"sm_100a, \u2026" in help_.stdout
    wrong = shell("$nvgen compile add.ll", tmp_path, **environment)
    assert wrong.returncode == 2
    assert r"--target sm_\u2026" in wrong.stderr


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("$nvgen targets | head -1; exit ${PIPESTATUS[0]}", (0, PIPE_CLOSED)),
        ("$nvgen targets | true; exit ${PIPESTATUS[0]}", (0, PIPE_CLOSED)),
        ("$nvgen compile add.ll 2>&1 | true; exit ${PIPESTATUS[0]}", (2, PIPE_CLOSED)),
        ("$nvgen targets > /dev/full", (2,)),
        ("$nvgen targets >&-", (2,)),
        ("$nvgen compile add.ll --target sm_100a >&-", (2,)),
        ("$nvgen compile add.ll --target sm_100a -o add.ptx >&-", (0,)),
        ("$nvgen compile add.ll 2>&-", (2,)),
        ("$nvgen compile add.ll 2> /dev/full", (2,)),
        ("$nvgen compile - --target sm_100a <&-", (2,)),
        ("$nvgen compile - --target sm_100a < /dev/null", (2,)),
    ],
)
def test_streams_that_are_closed_full_or_gone(
    tmp_path: Path, command: str, status: tuple[int, ...]
) -> None:
    assert shell(command, tmp_path).returncode in status


@pytest.mark.turns(3)
def test_a_file_name_that_is_no_text(tmp_path: Path) -> None:
    """A byte that no encoding explains, and a line break: what is written is still PTX."""
    for name in (rb"caf\351.ll", rb"two\nlines.ll"):
        quoted = f"$'{name.decode()}'"
        done = shell(
            f"cp add.ll {quoted}; $nvgen compile {quoted} --target sm_100a -o out.ptx "
            "&& $nvgen check out.ptx --level record",
            tmp_path,
        )
        assert done.returncode == 0
        assert done.stdout == "out.ptx: clean\n"

"""`nvgen tune`: files, settings, executors, what is shown."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nvgen.cli import main

TUNED = """
from tests.nvgen.test_tuning import Filling

def tuning(count: int = 2, name: str = "filling"):
    made = Filling(name=name, sizes=[32 * (i + 1) for i in range(count)])
    made.flops = 6.4e6
    return made
"""


def threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1)


THREADS = ["--executor", "tests.nvgen.commands.test_cli_tune:threads"]


@pytest.fixture
def tuned(tmp_path: Path) -> str:
    path = tmp_path / "tuned.py"
    path.write_text(TUNED)
    return str(path)


def test_the_fastest_is_shown_first(tuned: str, capsys) -> None:
    assert main(["tune", tuned, "count=3", *THREADS]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == "filling"
    assert lines[1].split()[:4] == ["3.2000", "ms", "0.0", "TFLOP/s"]
    assert "threads=32 unroll=1" in lines[1]
    assert [line.split()[0] for line in lines[1:]] == ["3.2000", "6.4000", "9.6000"]
    assert "[3/3]" in err


def test_json(tuned: str, capsys) -> None:
    assert main(["tune", tuned, "name=other", "--json", *THREADS]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [trial["config"]["threads"] for trial in found] == [32, 64]
    assert {trial["problem"] for trial in found} == {"other"}


def test_the_cache_is_used(tuned: str, tmp_path: Path, capsys) -> None:
    cache = tmp_path / "cache.jsonl"
    for _ in range(2):
        assert main(["tune", tuned, "--cache", str(cache), *THREADS]) == 0
    capsys.readouterr()
    assert len(cache.read_text().splitlines()) == 2


@pytest.mark.turns(3)
def test_processes_compile(tuned: str) -> None:
    command = [sys.executable, "-m", "nvgen", "tune", tuned, "--jobs", "1", "--top", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (["{file}", "threads"], "tune/setting"),
        (["{file}", "size=3"], "tune/setting"),
        (["{file}", "count=two"], "tune/setting"),
        (["{file}", "count=0"], "tune/nothing"),
        (["{file}", "--top", "-1"], "tune/top"),
        (["/nowhere/x.py"], "tune/file"),
        (["{empty}"], "tune/file"),
        (["{broken}"], "tune/file"),
        (["{file}", "--jobs", "0"], "tune/jobs"),
        (["{file}", "--executor", "nowhere:nothing"], "tune/executor"),
        (["{file}", "--executor", "os:getpid"], "tune/executor"),
    ],
)
def test_bad_usage(arguments: list[str], rule: str, tuned: str, tmp_path: Path, capsys) -> None:
    empty, broken = tmp_path / "empty.py", tmp_path / "broken.py"
    empty.write_text("")
    broken.write_text("def tuning(:\n")
    names = {"file": tuned, "empty": str(empty), "broken": str(broken)}
    given = [argument.format(**names) for argument in arguments]
    assert (
        main(["tune", *given, *([] if "--executor" in given or "--jobs" in given else THREADS)])
        == 2
    )
    assert f"error[{rule}]" in capsys.readouterr().err


RAISES = {
    "while it is read": ("import nowhere_at_all\n", 1, "pip install nowhere_at_all"),
    "while it is made": ("def tuning():\n    raise KeyError('k')\n", 2, "KeyError"),
    "while it is measured": (
        "from tests.nvgen.test_tuning import Filling\n"
        "class Odd(Filling):\n    def measure(self, candidate):\n        return 1 / 0\n"
        "def tuning():\n    return Odd(name='odd', sizes=[32])\n",
        4,
        "ZeroDivisionError",
    ),
}


@pytest.mark.parametrize("when", RAISES)
def test_what_the_file_raises_is_no_bug_of_nvgen(when: str, tmp_path: Path, capsys) -> None:
    text, line, says = RAISES[when]
    path = tmp_path / "raises.py"
    path.write_text(text)
    assert main(["tune", str(path), *THREADS]) == 2
    err = capsys.readouterr().err
    assert "error[tune/raised]" in err
    assert f"{path}:{line}" in err
    assert says in err
    assert "internal error" not in err

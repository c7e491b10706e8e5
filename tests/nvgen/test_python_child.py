"""What lies in the working directory, or beside the input, is never imported."""

from __future__ import annotations

import functools
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nvgen import python_child
from tests.nvgen.programs import ADD

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("intrinsics", "asmprinter", "isel", "nvgen")
SCRIPT = """
import sys
from nvgen.cli import main
if __name__ == "__main__":
    sys.exit(main())
"""
"""What pip makes of the console script."""

TUNED = """
from tests.nvgen.test_tuning import Filling

def tuning():
    return Filling(name="filling", sizes=[32])
"""


_IMPORTED = re.compile(r"^ *(?:import|from) (\w+)", re.MULTILINE)


@functools.cache
def imported_names() -> frozenset[str]:
    """The top-level name of every module that a file of ours imports, and what Python tries."""
    found = {"sitecustomize", "usercustomize", "llvmlite", "encodings", "multiprocessing"}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            found.add(path.stem)
            found.update(_IMPORTED.findall(path.read_text()))
    return frozenset(found)


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A folder with an input, and a module of each name that says that it was run."""
    folder = tmp_path / "planted"
    folder.mkdir()
    names = imported_names()
    assert {"llvmlite", "numpy", "json", "re", "typing", "ctypes", "ml_dtypes", "rich"} <= names
    assert {"nvgen", "isel", "intrinsics", "asmprinter", "cuda", "api"} <= names
    for name in names - {"__init__", "__main__"}:
        line = f"import _io\n_io.open({str(tmp_path / 'ran')!r}, 'a').write('{name}\\n')\n"
        (folder / f"{name}.py").write_text(line)
    (folder / "in.ll").write_text(ADD)
    return folder


def ran(planted: Path) -> str:
    marks = planted.parent / "ran"
    return marks.read_text() if marks.exists() else ""


def call(planted: Path, command: list[str], pythonpath: str = str(ROOT)) -> str:
    """Run a command in the folder; what it prints."""
    done = subprocess.run(
        command,
        cwd=planted,
        env={**os.environ, "PYTHONPATH": pythonpath},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.turns(3)
def test_the_planted_modules_run_where_python_looks_for_them(planted: Path) -> None:
    """Else the tests below would show nothing."""
    call(planted, [sys.executable, "-c", "import llvmlite"])
    assert ran(planted) == "llvmlite\n"


COMMANDS = {
    "check": ["check", "in.ll", "--target", "sm_90a"],
    "compile": ["compile", "in.ll", "--target", "sm_90a"],
    "compile -O3": ["compile", "in.ll", "--target", "sm_90a", "-O3"],
    "run": [
        *("run", "in.ll", "--target", "sm_90a", "--grid", "1", "--block", "32"),
        *("--arg", "out:i32[32]:c.npy", "--arg", "i32:3"),
    ],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_commands_run_nothing_of_the_folder_they_are_called_in(
    command: list[str], planted: Path
) -> None:
    script = planted.parent / "nvgen"
    script.write_text(SCRIPT)
    call(planted, [sys.executable, str(script), *command])
    assert ran(planted) == ""


@pytest.mark.turns(3)
def test_commands_run_nothing_of_the_folder_of_their_input(planted: Path) -> None:
    script, elsewhere = planted.parent / "nvgen", planted.parent / "elsewhere"
    script.write_text(SCRIPT)
    elsewhere.mkdir()
    source = str(planted / "in.ll")
    for options in ([], ["-O2"]):
        command = [sys.executable, str(script), "compile", source, "--target", "sm_90a", *options]
        subprocess.run(
            command, cwd=elsewhere, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True,
            capture_output=True, timeout=300,
        )  # fmt: skip
    assert ran(planted) == ""


def test_the_module_nvgen_runs_nothing_of_the_folder_but_what_python_takes_for_nvgen(
    planted: Path,
) -> None:
    """`python -m nvgen` is nvgen.py of the working directory, by Python's own rules."""
    (planted / "nvgen.py").unlink()
    call(planted, [sys.executable, "-m", "nvgen", *COMMANDS["compile -O3"]])
    assert ran(planted) == ""


@pytest.mark.turns(3)
def test_tune_and_its_workers_run_nothing_of_the_folder(planted: Path) -> None:
    script, tuned = planted.parent / "nvgen", planted.parent / "tuned.py"
    script.write_text(SCRIPT)
    tuned.write_text(TUNED)
    told = call(planted, [sys.executable, str(script), "tune", str(tuned), "--jobs", "1"])
    assert "threads=32" in told
    assert ran(planted) == ""


CHILDREN = """
import os, subprocess, sys
import nvgen, nvgen.api, nvgen.cli, nvgen.builder.kernel, nvgen.driver.client
from nvgen import python_child
from nvgen.driver.client import Worker
from nvgen.tuning.workers import Workers
from isel.passes import bound_waits

def main():
    os.environ["PYTHONPATH"] = os.pathsep.join(["", ".", "./", {root!r}])
    sys.path[:0] = ["", os.getcwd(), "."]
    python_child.search_path()
    own = [entry for entry in sys.path if entry not in ("", ".", os.getcwd())]
    with Workers(1) as workers:
        waiting = workers.submit(abs, -3)
        sys.path[:] = own  # this process itself is not asked
        assert waiting.result() == 3
    sys.path[:0] = ["", os.getcwd(), "."]
    llvm = nvgen.llvm.process.LLVM.start()
    worker = Worker.start()
    sys.path[:] = own
    assert "add" in nvgen.compile({text!r}, target="sm_90a", opt=3).ptx
    worker.send.close()
    assert worker.process.wait(60) == 0

if __name__ == "__main__":
    main()
"""


@pytest.mark.turns(3)
def test_children_look_at_no_entry_of_pythonpath_that_is_empty_or_relative(planted: Path) -> None:
    script = planted.parent / "children.py"
    script.write_text(CHILDREN.format(root=str(ROOT), text=ADD))
    call(planted, [sys.executable, str(script)])
    assert ran(planted) == ""


# ---- the path that is handed on --------------------------------------------------------------


def test_the_path_has_everything_but_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lib").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", "lib", "/absolute"]))
    here = str(tmp_path)
    monkeypatch.setattr(sys, "path", ["", here, f"{here}/lib", "lib", "/absolute", "/usr/x"])
    assert python_child.search_path() == [str(ROOT), "/absolute", "/usr/x"]


def test_a_working_directory_that_pythonpath_names_in_full_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), str(ROOT)])
    assert python_child.search_path() == [str(tmp_path), str(ROOT)]


def test_a_working_directory_that_is_gone_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert str(ROOT) in python_child.search_path()


def test_a_package_that_only_the_working_directory_has_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    with pytest.raises(ImportError, match="only_here is not installed"):
        python_child.bare_command(tmp_path / "x.py", "only_here")


# ---- processes end with the one that started them ----------------------------------------------

SLEEPING = """
import os, sys, time
from nvgen.tuning.workers import Workers

def main():
    workers = Workers(2)
    waiting = [workers.submit(os.getpid) for _ in range(2)]
    pids = {future.result() for future in waiting}
    workers.submit(time.sleep, 600)
    workers.submit(time.sleep, 600)
    print(*pids, flush=True)
    time.sleep(600)

if __name__ == "__main__":
    main()
"""


@pytest.mark.turns(3)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_a_tune_that_is_killed(how: signal.Signals, tmp_path: Path) -> None:
    script = tmp_path / "sleeping.py"
    script.write_text(SLEEPING)
    process = subprocess.Popen(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        pids = [int(word) for word in process.stdout.readline().split()]
        assert pids
        process.send_signal(how)
        process.wait()
    assert gone(pids)


def gone(pids: list[int], seconds: float = 30.0) -> bool:
    """Whether the processes end in time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not any(map(runs, pids)):
            return True
        time.sleep(0.05)
    return False


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")

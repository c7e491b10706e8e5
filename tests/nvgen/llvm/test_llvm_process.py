"""The processes that LLVM runs in: kept, shared by threads, not by forks, and never left over."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from llvmlite import binding

import nvgen
from intrinsics.findings import InputError
from nvgen import python_child
from nvgen.llvm import child as llvm_child
from nvgen.llvm import process as llvm_process
from nvgen.llvm.process import Llvm, LlvmDiedError, LlvmRejectedError, LlvmTimeoutError
from tests.nvgen.llvm.deadly import DEADLY, ENDLESS
from tests.nvgen.programs import ADD
from tests.nvgen.test_python_child import gone, runs

DEATH = DEADLY["tbaa of null"][0]
FOREVER = ENDLESS["inlined at itself"]


@pytest.fixture
def llvm() -> Iterator[Llvm]:
    one = Llvm(2)
    yield one
    one.close()


def pids(llvm: Llvm) -> list[int]:
    return [child.process.pid for child in llvm._all]


def test_one_process_answers_one_after_the_other(llvm: Llvm) -> None:
    llvm.read(ADD)
    before = pids(llvm)
    for _ in range(20):
        assert "@add" in llvm.read(ADD)
        with pytest.raises(LlvmRejectedError, match="expected top-level entity"):
            llvm.read("nonsense")
    llvm.optimize(ADD, 2, "sm_90")
    assert pids(llvm) == before
    assert len(before) == 1


@pytest.mark.parametrize(
    "text",
    [
        ADD,
        '%"a b" = type { i32 }\n@"\\C3\\A9 d" = global %"a b" zeroinitializer, align 8\n',
        '@a = constant [2 x i8] c"\\FF\\00"\n!named = !{!0}\n!0 = !{!"\\E2\\82\\AC"}\n',
    ],
    ids=["a kernel", "quoted names", "bytes"],
)
def test_what_is_read_is_what_llvmlite_prints(llvm: Llvm, text: str) -> None:
    module = binding.parse_assembly(text, context=binding.create_context())
    assert llvm.read(text) == str(module)


def test_an_answer_depends_on_nothing_that_came_before(llvm: Llvm) -> None:
    """Neither names of types nor options of another request stay behind."""
    text = "%t = type { i32 }\n@g = global %t zeroinitializer\n" + ADD
    first = llvm.read(text), llvm.optimize(text, 3, "sm_90")
    for level in (1, 2, 3):
        llvm.optimize(ADD.replace("@add", f"@add{level}"), level, "sm_100a")
    assert (llvm.read(text), llvm.optimize(text, 3, "sm_90")) == first
    fresh = Llvm(1)
    try:
        assert (fresh.read(text), fresh.optimize(text, 3, "sm_90")) == first
    finally:
        fresh.close()


def test_a_death_costs_one_process_which_is_waited_for(llvm: Llvm) -> None:
    llvm.start()
    (before,) = pids(llvm)
    with pytest.raises(LlvmDiedError, match="null pointer"):
        llvm.read(DEATH)
    with pytest.raises(ProcessLookupError):
        os.kill(before, 0)  # not even a zombie
    assert "@add" in llvm.read(ADD)
    assert before not in pids(llvm)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_who_kills_the_process_between_questions_is_not_noticed(
    how: signal.Signals, llvm: Llvm
) -> None:
    for _ in range(3):
        llvm.read(ADD)
        (pid,) = pids(llvm)
        os.kill(pid, how)
        assert "@add" in llvm.read(ADD)


def test_a_process_that_is_killed_every_time_is_a_death(llvm: Llvm) -> None:
    """The system does so when there is no memory."""
    stop = threading.Event()

    def kill() -> None:
        while not stop.wait(0.01):
            for pid in pids(llvm):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        with pytest.raises(LlvmDiedError, match="SIGKILL"):
            llvm.read(FOREVER)
    finally:
        stop.set()
        killer.join()


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt, as it does where nobody ignores it (pytest-xdist does)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_leaves_no_half_answer_behind(llvm: Llvm) -> None:
    llvm.start()
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        llvm.read(FOREVER)
    assert "@add" in llvm.read(ADD)


def test_ctrl_c_between_questions_does_not_reach_the_process(llvm: Llvm) -> None:
    llvm.read(ADD)
    before = pids(llvm)
    os.kill(before[0], signal.SIGINT)
    llvm.read(ADD)
    assert pids(llvm) == before


def test_what_does_not_end_is_ended(llvm: Llvm) -> None:
    llvm.start()
    (before,) = pids(llvm)
    with pytest.raises(LlvmTimeoutError):
        llvm.read(FOREVER, seconds=0.3)
    assert not runs(before)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals of POSIX")
def test_a_handler_of_a_signal_asks_in_the_midst_of_a_question() -> None:
    """Though one process is all that there may be: the thread would wait for itself."""
    one = Llvm(1)
    answers: list[str] = []
    before = signal.signal(signal.SIGALRM, lambda *_: answers.append(one.read(ADD)))
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(LlvmTimeoutError):
            one.read(FOREVER, seconds=2)
        assert len(answers) == 1
        assert "@add" in one.read(ADD)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        one.close()


def test_all_processes_may_be_killed_between_questions(llvm: Llvm) -> None:
    llvm._idle += [llvm._start(), llvm._start(), llvm._start()]
    old = pids(llvm)
    for pid in old:
        os.kill(pid, signal.SIGKILL)
    assert gone(old)
    assert "@add" in llvm.read(ADD)
    assert not set(old) & set(pids(llvm))


def test_whoever_closes_all_files_closes_no_door(llvm: Llvm) -> None:
    """As programs do that go on in the background."""
    llvm.read(ADD)
    (child,) = llvm._all
    for file in (child.requests, child.answers, child.words):
        os.close(file.fileno())
    assert "@add" in llvm.read(ADD)


@pytest.mark.parametrize("who", ["nobody", "somebody else"])
def test_a_death_that_others_have_waited_for_is_not_told_as_llvms(who: str) -> None:
    """Its status is lost where SIGCHLD is ignored, and where another part of a program waits."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", WAITED_FOR, who],
        env=python_child.environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.stdout, done.stderr) == ("read\n", "")


WAITED_FOR = """
import os, signal, sys, time
from nvgen.llvm.process import Llvm
from tests.nvgen.programs import ADD
if sys.argv[1] == "nobody":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
one = Llvm(1)
one.read(ADD)
(child,) = one._all
os.kill(child.process.pid, signal.SIGKILL)
if sys.argv[1] == "somebody else":
    os.waitpid(-1, 0)
print("read" if "@add" in one.read(ADD) else "lost")
"""


def test_a_python_that_does_not_know_where_it_is_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a program that has Python inside."""
    monkeypatch.setattr(sys, "executable", "")
    one = Llvm(1)
    with pytest.raises(InputError, match="system/python"):
        one.read(ADD)


def test_threads_get_their_own_answers() -> None:
    """As many as there are processes, and more."""

    def compile(n: int) -> bool:
        text = ADD.replace("@add", f"@add{n}")
        return f".entry add{n}(" in nvgen.compile(text, target="sm_90a", opt=n % 3).ptx

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(compile, range(100)))
    assert len(pids(llvm_process.LLVM)) <= 4


def test_threads_that_die_disturb_no_others() -> None:
    def attempt(n: int) -> str:
        try:
            return nvgen.compile(DEATH if n % 4 == 0 else ADD, target="sm_90a").ptx
        except nvgen.InputError as error:
            return error.findings[0].rule

    with ThreadPoolExecutor(4) as threads:
        told = list(threads.map(attempt, range(12)))
    assert [text == "llvm/crash" for text in told] == [n % 4 == 0 for n in range(12)]


def compiled_there(n: int) -> tuple[int, list[int]]:
    """Compile in a forked process."""
    assert f"add{n}" in nvgen.compile(ADD.replace("@add", f"@add{n}"), target="sm_90a").ptx
    return os.getpid(), pids(llvm_process.LLVM)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_starts_its_own() -> None:
    nvgen.compile(ADD, target="sm_90a")
    ours = pids(llvm_process.LLVM)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        there = pool.map(compiled_there, range(8), chunksize=1)
    theirs = {pid for _, found in there for pid in found}
    assert theirs
    assert not theirs & set(ours)
    assert gone(list(theirs))
    nvgen.compile(ADD, target="sm_90a")
    assert pids(llvm_process.LLVM) == ours


PARENT = """
import os, sys, time
import nvgen
from nvgen.llvm.process import LLVM
from tests.nvgen.programs import ADD
from tests.nvgen.llvm.deadly import ENDLESS
nvgen.compile(ADD, target="sm_90a")
if sys.argv[1] == "fork" and os.fork() == 0:
    time.sleep(60)  # holds nothing that the child of the other one waits for
print(*[child.process.pid for child in LLVM._all], flush=True)
if sys.argv[1] == "busy":
    LLVM.read(ENDLESS["inlined at itself"])
time.sleep(60)
"""


@pytest.mark.turns(3)
@pytest.mark.parametrize("state", ["idle", "busy", "fork"])
def test_the_process_ends_when_the_one_that_asks_is_killed(state: str, tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    process = subprocess.Popen(
        [sys.executable, str(script), state],
        env=python_child.environment(),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        assert process.stdout is not None
        found = [int(word) for word in process.stdout.readline().split()]
        assert found
        time.sleep(0.2)
        process.kill()
        process.wait()
        assert gone(found)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def test_closing_leaves_no_process_and_no_file_open() -> None:
    gc.collect()
    before = sorted(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else []
    one = Llvm(1)
    for _ in range(3):
        one.read(ADD)
        with pytest.raises(LlvmDiedError):
            one.read(DEATH)
    one.start()
    found = pids(one)
    one.close()
    assert not any(map(runs, found))
    if before:
        assert sorted(os.listdir("/proc/self/fd")) == before


def test_the_process_needs_nothing_of_nvgen_and_no_site() -> None:
    script = Path(llvm_child.__file__)
    command = python_child.bare_command(script, "llvmlite")
    assert command[1:3] == ["-I", "-S"]
    request = llvm_child.pack([b"read", b"", b"", ADD.encode()])
    done = subprocess.run(command, input=request, capture_output=True, check=False, timeout=60)
    assert done.stderr == b""
    assert done.returncode == 0


def test_llvm_that_cannot_be_loaded_is_no_death_of_llvm(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "broken"
    (folder / "llvmlite").mkdir(parents=True)
    (folder / "llvmlite" / "__init__.py").write_text("raise ImportError('no such library')\n")
    real = python_child.bare_command
    monkeypatch.setattr(python_child, "bare_command", lambda *a: [*real(*a)[:-1], str(folder)])
    one = Llvm(1)
    with pytest.raises(InputError, match=r"(?s)system/llvm.*ImportError: no such library"):
        one.read(ADD)


def test_a_thousand_modules_leave_no_memory_behind(llvm: Llvm) -> None:
    """LLVM's contexts and modules are closed; a thousand of them would be 100 MB."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        pytest.skip("the memory of a process is read from /proc")
    text = "".join(ADD.replace("@add", f"@add{n}") for n in range(20))
    text = text.replace("declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n", "")
    sizes = []
    for _ in range(3):
        for _ in range(100):
            llvm.read(text)
        (pid,) = pids(llvm)
        sizes.append(int(Path(f"/proc/{pid}/statm").read_text().split()[1]))
    assert sizes[2] - sizes[1] < 500  # pages of 4 KiB


NAMED = (
    "%a = type { i32 }\n@x = external global %a\n",
    "%a = type { i64 }\n@x = external global %a\n",
    "define void @f(ptr %p) {\n  store i32 0, ptr %p, !two !0, !one !0\n  ret void\n}\n!0 = !{}\n",
    "define void @f(ptr %p) {\n  store i32 0, ptr %p, !one !0, !two !0\n  ret void\n}\n!0 = !{}\n",
)
"""What LLVM's context keeps, and prints of modules that come later."""


def test_what_was_read_before_does_not_show() -> None:
    """Each text as by a process that has read no other, whatever came before it."""
    texts = [*NAMED, ADD, "define void @f() {\n", ADD.replace("i32", "i64"), *NAMED[::-1], ADD]
    texts.append("@b = constant [3 x i8] [i8 1, i8 2, i8 3]\n")
    kept = llvm_child._Context()
    for text in texts * 2:
        alone = llvm_child.answer([b"read", b"one", b"", text.encode()])  # has one of its own
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(llvm_child, "_CONTEXT", kept)
            found = llvm_child._reprinted(text.encode())
        if alone[0] == b"refused":
            assert found is None
        else:
            assert found == alone[1].replace(b"'one'", b"'<string>'").replace(
                b'"one"', b'"<string>"'
            )
    kept.drop()


def test_a_context_ends_when_much_was_read_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm_child._Context, "MOST", 3 * len(ADD))
    kept = llvm_child._Context()
    left = []
    for _ in range(9):
        kept.take(ADD.encode())
        assert kept.context is not None
        left.append(kept._left // len(ADD))
    kept.drop()
    assert left == [2, 1, 0] * 3

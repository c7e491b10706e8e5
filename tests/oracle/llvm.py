"""Put LLVM IR to LLVM 22's own NVPTX back end (the one in llvmlite) and keep the PTX it prints.

LLVM's code generator ends the process when it cannot select an instruction, and prints a warning
and goes on when it does not know a processor.  So it runs in a child, this file as a script:

* ``compile_all`` asks the child about a list of modules and gets one ``Outcome`` for each;
* the child, one for each process of the tests, initialises LLVM once; for each list it forks a
  worker that compiles module after module, sending each result as it is ready;
* when the worker dies, the module after the last result is the one that killed it: its outcome is
  what LLVM wrote to the standard error, and a fresh fork goes on behind it.  A refusal costs one
  fork and no other module.

Only code generation runs, never LLVM's optimisation pipeline, which deletes some tensor-core calls.
A module that LLVM does not even accept, a processor or PTX version that it does not know, and a
call of an ``llvm.nvvm`` function that is no intrinsic are mistakes of the caller: exceptions.
``rejections`` is for modules that are meant to be mistakes: what the verifier says of each.  It
runs in the child too, because LLVM's printer dies of some immediates that its verifier complains
about.

``intrinsic_names`` is LLVM's own list of intrinsics, read from the string table in its library.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn, TypedDict

from llvmlite import binding

VERSION: int = binding.llvm_version_info[0]
"""LLVM's major version; the signatures and names that tests expect are those of 22."""

TRIPLE = "nvptx64-nvidia-cuda"

DATA_LAYOUT = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
"""What the NVPTX back end expects of a module; a test holds it against LLVM's own."""

HEADER = f'target datalayout = "{DATA_LAYOUT}"\ntarget triple = "{TRIPLE}"\n'
"""The first two lines of every module."""

_SECONDS = 600
"""How long the modules of a job may take."""

_IGNORED = "is not a recognized "
"""In what LLVM warns of when it goes on without a processor or a version."""

_KNOWN_NAME = b"llvm.nvvm.tcgen05.alloc.cg1"
_ENTRY = re.compile(rb"llvm\.[\w.]+")
_UNKNOWN_CALL = re.compile(r"\.extern \.func.*?\b(llvm[\w.$]*nvvm[\w.$]*)", re.DOTALL)


class LlvmFailedError(RuntimeError):
    """LLVM said something that is not a verdict on one module."""


class LlvmRejectedError(ValueError):
    """A module that is not valid LLVM IR, or that calls an intrinsic that LLVM does not have."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one module: the PTX, or why LLVM's back end cannot select it."""

    ptx: str = ""
    refusal: str = ""


def verify(text: str) -> str:
    """The module as LLVM prints it after parsing and verifying, attributes of intrinsics included.

    Raises: LlvmRejectedError.
    """
    try:
        module = binding.parse_assembly(text, context=binding.create_context())
        module.verify()
    except RuntimeError as error:
        raise LlvmRejectedError(str(error)) from None
    return str(module)


def compile_all(
    modules: Sequence[str], target: str, ptx: str, opt: int = 3, *, unknown_calls: bool = False
) -> list[Outcome]:
    """What LLVM's back end makes of each module, for a processor and a PTX version ("9.0").

    With `unknown_calls` a call of what is no intrinsic of LLVM's stays a call.

    Raises: LlvmRejectedError for a module that is invalid, LlvmFailedError when LLVM does not know
    the processor or the version.
    """
    job: Job = {"target": target, "ptx": ptx, "opt": opt, "modules": [*modules]}
    outcomes = []
    for result in _ask(job):
        if "rejected" in result:
            raise LlvmRejectedError(result["rejected"])
        unknown = _UNKNOWN_CALL.search(result.get("ptx", ""))
        if unknown and not unknown_calls:
            raise LlvmRejectedError(f"LLVM has no intrinsic {unknown[1]}")
        outcomes.append(Outcome(**result))
    return outcomes


def rejections(modules: Sequence[str]) -> list[str]:
    """Why LLVM's parser or verifier rejects each module; an empty text where it does not."""
    results = _ask({"target": "", "ptx": "", "opt": 0, "modules": [*modules]})
    return [result.get("rejected", "") or result.get("refusal", "") for result in results]


class Job(TypedDict):
    """What the child is asked for; without a target it only verifies."""

    target: str
    ptx: str
    opt: int
    modules: list[str]


class Reply(TypedDict):
    """What the child answers: a result for each module, and what is wrong with the job itself."""

    results: list[dict[str, str]]
    failure: str


def _ask(job: Job) -> list[dict[str, str]]:
    with _ASKING:
        child = _child(os.getpid())
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps(job) + "\n")
        child.stdin.flush()
        line = child.stdout.readline()
    if not line:
        raise LlvmFailedError(f"LLVM's process ended with {child.wait()}")
    reply: Reply = json.loads(line)
    if reply["failure"]:
        raise LlvmFailedError(f"LLVM: {reply['failure']}")
    if len(reply["results"]) != len(job["modules"]):
        raise LlvmFailedError(f"{len(reply['results'])} results for {len(job['modules'])} modules")
    return reply["results"]


_ASKING = threading.Lock()
"""One job at a time."""


@functools.cache
def _child(asker: int) -> subprocess.Popen[str]:
    """The child of the process that asks: to start one takes as long as to compile a hundred
    modules.  It ends when its input is closed."""
    child = subprocess.Popen(
        [sys.executable, "-P", __file__],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    atexit.register(_end, child, asker)
    return child


def _end(child: subprocess.Popen[str], asker: int) -> None:
    if os.getpid() == asker:
        child.communicate()


@functools.cache
def intrinsic_names() -> tuple[str, ...]:
    """The names of all of LLVM's intrinsics, of every back end, as its library lists them."""
    data = library().read_bytes()
    anchor = data.find(b"\0" + _KNOWN_NAME + b"\0") + 1
    if not anchor:
        raise LlvmFailedError(f"no table of intrinsics in {library()}")
    before = list(_entries_before(data, anchor))
    return tuple(name.decode() for name in (*reversed(before), *_entries_from(data, anchor)))


def _entries_before(data: bytes, start: int) -> Iterator[bytes]:
    while True:
        begin = data.rfind(b"\0", 0, start - 1) + 1
        name = data[begin : start - 1]
        if not _ENTRY.fullmatch(name):
            return
        yield name
        start = begin


def _entries_from(data: bytes, start: int) -> Iterator[bytes]:
    while _ENTRY.fullmatch(name := data[start : data.find(b"\0", start)]):
        yield name
        start += len(name) + 1


def library() -> Path:
    """The shared library that LLVM is in."""
    folder = Path(binding.__file__).parent
    libraries = [*folder.glob("libllvmlite.so"), *folder.glob("libllvmlite.dylib")]
    if len(libraries) != 1:
        raise LlvmFailedError(f"expected one library of llvmlite in {folder}, found {libraries}")
    return libraries[0]


# --- the child -----------------------------------------------------------------------------------


def _serve(jobs: Iterable[str], out: IO[str]) -> None:
    """Answer each job, a line of JSON, with a line of JSON."""
    # a refusal is an everyday thing here: no core files
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    for line in jobs:
        print(json.dumps(_reply(json.loads(line))), file=out, flush=True)


def _reply(job: Job) -> Reply:
    results: list[dict[str, str]] = []
    while len(results) < len(job["modules"]):
        found, complaint, failure = _fork(job, job["modules"][len(results) :])
        results += found
        if failure:
            return {"results": [], "failure": failure}
        if len(results) < len(job["modules"]):
            results.append({"refusal": complaint})
    return {"results": results, "failure": ""}


def _machine(job: Job) -> binding.TargetMachine:
    features = f"+ptx{job['ptx'].replace('.', '')}"
    target = binding.Target.from_triple(TRIPLE)
    return target.create_target_machine(cpu=job["target"], features=features, opt=job["opt"])


def _fork(job: Job, modules: Sequence[str]) -> tuple[list[dict[str, str]], str, str]:
    """The results up to the first module that kills the worker, the worker's last words, and what
    no module is to blame for: there is no such machine, the time is over, or LLVM warns."""
    reader, writer = os.pipe()
    with tempfile.TemporaryFile() as errors:
        worker = os.fork()
        if worker == 0:
            os.dup2(errors.fileno(), 2)
            _work(job, modules, writer)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            lines = pipe.readlines()
        _, status = os.waitpid(worker, 0)
        errors.seek(0)
        said = errors.read().decode(errors="replace")
    last_words = f"LLVM ended with status {status}"
    late = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
    if not lines or late or _IGNORED in said or (status == 0 and said.strip()):
        return [], "", said.strip() or last_words
    return [json.loads(line) for line in lines[1:]], _complaint(said) or last_words, ""


def _work(job: Job, modules: Sequence[str], writer: int) -> NoReturn:
    """Compile modules, and end the process."""
    signal.alarm(_SECONDS)
    try:
        machine = _machine(job) if job["target"] else None
        with os.fdopen(writer, "w") as pipe:
            print("ready", file=pipe, flush=True)
            for module in modules:
                print(json.dumps(_emit(machine, module)), file=pipe, flush=True)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(0)


def _complaint(said: str) -> str:
    """The line that matters: LLVM's error, without the name of the program or a stack trace."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    marked = [line for line in lines if "LLVM ERROR" in line or "Assertion" in line]
    return (marked or lines or [""])[0]


def _emit(machine: binding.TargetMachine | None, text: str) -> dict[str, str]:
    try:
        module = binding.parse_assembly(text, context=binding.create_context())
        module.verify()
        return {"ptx": machine.emit_assembly(module)} if machine else {}
    except RuntimeError as error:
        return {"rejected": str(error)}


if __name__ == "__main__":
    _serve(sys.stdin, sys.stdout)

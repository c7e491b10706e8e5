"""Put PTX statements to NVIDIA's own assembler and say which of them it refuses, and why.

The statements of one call become the body of one kernel, one statement per line, behind a fixed
preamble that declares a register of every type and a variable in every state space.  ptxas is
run with ``-arch=compute_*``: it then reads and checks the text without generating code, tens of
thousands of statements in well under a second, and reports each error with its line.

ptxas looks at a module in stages, and a later stage is only reached when no earlier one failed:

1. Reading.  Most errors are found here and reading goes on with the next line, but a lexical or
   grammatical error is *fatal*.  Such a statement is refused and taken out, and the rest is read
   on from the next line.  Whether a statement parses does not depend on the target or the PTX
   version, so the answer is remembered for the next call.  An error in the preamble (a PTX version
   too old for the target) refuses every statement.
2. Symbols, at the end of the kernel: unknown names, on top of the errors of the first stage.
3. Expansion of some instructions (tcgen05, cp.async.bulk) into built-in PTX.  It ends at the first
   error, often a misleading one about ``mov`` or ``add``, sometimes one without a line, sometimes
   with a crash; all of these mean that the statement is refused.  The statements that passed the
   first two stages are therefore run once more among themselves, and when that fails, divided into
   modules of a few, then of one, until the culprits stand alone.

Culprits, and statements that end the reading for a reason other than grammar, are remembered: next
time, on whatever target, each has a module to itself, and the others mostly pass in one run.  Where
ptxas crashes before it has said what it refuses, parts of the statements are judged, each like all.

One run takes many modules, each in a file of its own, and says of each what it says of it alone, as
long as none is fatal: what stands behind such a one is asked again.

Rules that ptxas enforces only in code generation, or for the whole function, are not seen by
``judge``: one ``.cta_group`` value in all tcgen05 instructions, enough registers, distinct
destination registers, no 32-bit register as a generic or global address.  ``assemble`` generates
code for one statement, to settle a doubt.

Every call works in a temporary directory of its own, so calls may run in parallel.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

TARGETS: tuple[str, ...] = (
    "sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_101a", "sm_103a", "sm_103f",
    "sm_107a", "sm_107f", "sm_110a", "sm_110f", "sm_120a", "sm_120f", "sm_121a",
)  # fmt: skip
PTX: tuple[str, ...] = ("8.6", "8.7", "8.8", "9.0", "9.1", "9.2", "9.3", "9.4", "9.5")

FIRST_PTX = {
    "sm_120a": "8.7", "sm_100f": "8.8", "sm_103a": "8.8", "sm_103f": "8.8", "sm_120f": "8.8",
    "sm_121a": "8.8", "sm_110a": "9.0", "sm_110f": "9.0", "sm_107a": "9.4", "sm_107f": "9.4",
}  # fmt: skip
"""The PTX versions with which targets came that are not as old as the oldest here."""

MINIMUM = (13, 5)
"""The oldest ptxas whose verdicts the oracle was written against."""

BATCH = 40_000
"""Statements in one run of ptxas."""

_PARTS = 64
"""Modules that a group is divided into in which something fails."""

_READ_ON = 1000
"""Statements in one run behind one that ends the reading."""

_FILES = 2000
"""Modules in one run of ptxas."""

_IN_MEMORY = "/dev/shm"
"""Where Linux has its file system in memory: a new file takes a twentieth of the time."""

PREAMBLE = """\
.version {ptx}
.target {target}
.address_size 64
.shared .align 128 .b8 smem[1024];
.shared .align 8 .b64 mbar[8];
.global .align 128 .b8 gmem[1024];
.global .align 4 .f32 gfloat;
.const .align 16 .b8 cmem[64];
.entry k(.param .u64 kparam, .param .align 64 .b8 ktmap[128])
{{
.local .align 16 .b8 lmem[64];
.reg .b8 %c<8>;
.reg .b16 %h<8>;
.reg .b32 %r<264>;
.reg .b64 %rd<16>;
.reg .b128 %q<4>;
.reg .u16 %uh<8>;
.reg .u32 %u<8>;
.reg .u64 %ud<8>;
.reg .s16 %sh<8>;
.reg .s32 %s<8>;
.reg .s64 %sd<8>;
.reg .f16 %hf<8>;
.reg .f16x2 %hx<8>;
.reg .f32 %f<8>;
.reg .f64 %fd<8>;
.reg .pred %p<8>;
L0:
"""
"""The text in front of the first statement, with ``{ptx}`` and ``{target}`` to be filled in."""

_WIDE_REGISTERS = (8, 3)
"""The first PTX version with registers of 128 bits; in older ones the preamble declares none."""

_FIRST_LINE = PREAMBLE.count("\n") + 1
_FILE = "m.ptx"
_MESSAGE = re.compile(rf"ptxas {re.escape(_FILE)}, line (\d+); (\w+)\s*: (.*)")
_MESSAGE_OF_FILE = re.compile(r"ptxas (\d+)\.ptx, line (\d+); (\w+)\s*: (.*)")
_ABORTED = "Ptx assembly aborted due to errors"
_GRAMMAR = "Parsing error"
_unparsable: dict[str, str] = {}
_suspects: set[str] = set()


class PtxasMissingError(RuntimeError):
    """There is no ptxas here, or none that is new enough."""


class PtxasFailedError(RuntimeError):
    """ptxas said something that is not a verdict on one statement."""


def _candidates() -> Iterator[str]:
    """Where a ptxas may be: the nvidia-cuda-nvcc wheel, $NVGEN_PTXAS, the PATH."""
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob("cu*/bin/ptxas"), reverse=True):
            yield str(path)
    named = os.environ.get("NVGEN_PTXAS")
    if named:
        yield named
    on_path = shutil.which("ptxas")
    if on_path:
        yield on_path


def version_of(path: str) -> tuple[int, int] | None:
    """The release of a ptxas binary as (major, minor); None when it does not run."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"release (\d+)\.(\d+)", done.stdout)
    return (int(found[1]), int(found[2])) if found else None


@functools.cache
def build_of(path: str) -> str:
    """The build of a ptxas binary, as it says itself: "V13.5.37"."""
    done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60)
    found = re.search(r"V\d+(\.\d+)+", done.stdout)
    if found is None:
        raise PtxasFailedError(f"{path} does not say what it is: {done.stdout!r}")
    return found[0]


@functools.cache
def find_ptxas() -> str:
    """The path of the first ptxas that is at least release 13.5."""
    seen = []
    for path in _candidates():
        version = version_of(path)
        if version is not None and version >= MINIMUM:
            return path
        seen.append(f"{path} ({'.'.join(map(str, version)) if version else 'does not run'})")
    wanted = ".".join(map(str, MINIMUM))
    raise PtxasMissingError(
        f"the oracle needs ptxas {wanted} or newer: pip install 'nvidia-cuda-nvcc>={wanted}', or "
        f"set NVGEN_PTXAS; found {', '.join(seen) or 'none'}"
    )


def required_ptxas() -> str:
    """The path of ptxas; a test that asks for it is skipped where there is none."""
    try:
        return find_ptxas()
    except PtxasMissingError as missing:
        pytest.skip(str(missing))


def module_text(statements: Sequence[str], target: str, ptx: str) -> str:
    """The module that ptxas is given for these statements: the preamble and one line for each."""
    preamble = PREAMBLE.format(target=target, ptx=ptx)
    if tuple(map(int, ptx.split("."))) < _WIDE_REGISTERS:
        preamble = preamble.replace(".reg .b128 %q<4>;", "")
    return preamble + "".join(s + "\n" for s in statements) + "}\n"


def line_of(index: int) -> int:
    """The line (from 1) of ``module_text`` on which statement ``index`` (from 0) stands."""
    return _FIRST_LINE + index


def arch_of(target: str) -> str:
    """The ``-arch`` under which a target is checked; sm_101* became sm_110* in PTX 9.0."""
    return target.replace("sm_101", "sm_110").replace("sm_", "compute_")


class _Outcome(NamedTuple):
    """What one run of ptxas said: errors by statement, the fatal one, errors of the preamble."""

    errors: dict[int, list[str]]
    fatal: tuple[int, str] | None
    module: list[str]
    clean: bool
    crashed: bool
    note: str


def judge(statements: Sequence[str], target: str, ptx: str) -> list[list[str]]:
    """The errors that ptxas reports for each statement; an empty list is a legal statement."""
    for statement in statements:
        _check_shape(statement)
    verdicts: list[list[str]] = []
    for start in range(0, len(statements), BATCH):
        verdicts += _judge_batch(statements[start : start + BATCH], target, ptx)
    return verdicts


def assemble(statement: str, target: str, ptx: str, timeout: float = 60.0) -> list[str]:
    """The complaints of ptxas when it generates code for one statement; [] when it succeeds.

    Warnings are in the list only when the run failed.  Some accepted nonsense makes ptxas crash or
    never end: these are complaints too.
    """
    _check_shape(statement)
    arch = arch_of(target).replace("compute_", "sm_")
    with _folder() as folder:
        Path(folder, _FILE).write_text(module_text([statement], target, ptx))
        try:
            done = subprocess.run(
                [find_ptxas(), "-O0", f"-arch={arch}", "-o", os.devnull, _FILE],
                cwd=folder, capture_output=True, text=True, errors="replace", timeout=timeout,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return [f"ptxas did not end within {timeout:g} seconds"]
    if done.returncode == 0:
        return []
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return lines or [f"ptxas ended with {done.returncode}"]


_NO_SUCH_PAIR = " does not support .target "
"""In what ptxas says, without a line of the module, of a target that a PTX version has not."""


@functools.lru_cache(maxsize=1 << 17)
def _check_shape(statement: str) -> None:
    """Only one complete statement a line keeps messages with the statement that caused them."""
    good = statement.isprintable() and statement.endswith(";") and statement.count(";") == 1
    if not good or re.search(r'^\s*[{}]|//|/\*|"', statement):
        raise ValueError(f"not one complete statement on one line: {statement!r}")


def _judge_batch(statements: Sequence[str], target: str, ptx: str) -> list[list[str]]:
    verdicts = [[_unparsable[s]] if s in _unparsable else [] for s in statements]
    asked = [index for index, bad in enumerate(verdicts) if not bad]
    alone = [index for index in asked if statements[index] in _suspects]
    alive = [index for index in asked if statements[index] not in _suspects]
    while True:
        outcome = _run([statements[i] for i in alive], target, ptx)
        if outcome.module:
            return [list(outcome.module) for _ in statements]
        if outcome.fatal is None or outcome.crashed:
            break
        dead = _fatal_places([statements[i] for i in alive], outcome.fatal, target, ptx)
        for place, message in dead.items():
            _remember(statements[alive[place]], message)
            verdicts[alive[place]] = [message]
        alive = [index for place, index in enumerate(alive) if place not in dead]
    if outcome.crashed and len(alive) > 1:
        for group in _divided(alive):
            parts = _judge_batch([statements[index] for index in group], target, ptx)
            for index, messages in zip(group, parts, strict=True):
                verdicts[index] = messages
    elif not outcome.clean:
        for place, messages in outcome.errors.items():
            verdicts[alive[place]] = messages
        passed = [index for index in alive if not verdicts[index]]
        for index, messages in _refused_late(statements, passed, target, ptx).items():
            verdicts[index] = messages
    for index in alone:
        verdicts[index] = _complaints(_run([statements[index]], target, ptx))
    return verdicts


def _remember(statement: str, fatal: str) -> None:
    """Keep what ended the reading: bad grammar is so everywhere, else it stands alone next time."""
    if fatal.startswith(_GRAMMAR):
        _unparsable[statement] = fatal
    else:
        _suspects.add(statement)


def _complaints(alone: _Outcome) -> list[str]:
    """What ptxas says of a statement that has a module to itself."""
    if alone.clean:
        return []
    said = alone.errors.get(0, []) + ([alone.fatal[1]] if alone.fatal else [])
    return said or [alone.note]


def _fatal_places(
    statements: Sequence[str], first: tuple[int, str], target: str, ptx: str
) -> dict[int, str]:
    """All the statements that end the reading: read on from behind each one."""
    dead = {first[0]: first[1]}
    start = first[0] + 1
    while start < len(statements):
        fatal = _run(statements[start : start + _READ_ON], target, ptx).fatal
        if fatal is None:
            start += _READ_ON
            continue
        start += fatal[0] + 1
        dead[start - 1] = fatal[1]
    return dead


def _refused_late(
    statements: Sequence[str], passed: Sequence[int], target: str, ptx: str
) -> dict[int, list[str]]:
    """Which of the statements that read well fail in the expansion.

    Each refusal in the end rests on a module with that statement alone: right for any mixture.
    """
    refused: dict[int, list[str]] = {}
    groups = [list(passed)] if passed else []
    while groups:
        modules = [[statements[index] for index in group] for group in groups]
        following: list[list[int]] = []
        for group, outcome in zip(groups, _run_each(modules, target, ptx), strict=True):
            if outcome.clean:
                continue
            if len(group) > 1:
                following += _divided(group)
                continue
            _suspects.add(statements[group[0]])
            refused[group[0]] = _complaints(outcome)
        groups = following
    return refused


def _divided(group: list[int]) -> list[list[int]]:
    """Up to `_PARTS` groups of nearly the same size."""
    size = -(-len(group) // _PARTS)
    return [group[start : start + size] for start in range(0, len(group), size)]


def _run_each(modules: Sequence[Sequence[str]], target: str, ptx: str) -> list[_Outcome]:
    """What ptxas says of each module: in few runs, alone where these leave doubt."""
    outcomes: list[_Outcome] = []
    names = [f"{n}.ptx" for n in range(len(modules))]
    most = _FILES
    with _folder() as folder:
        for name, statements in zip(names, modules, strict=True):
            Path(folder, name).write_text(module_text(statements, target, ptx))
        while len(outcomes) < len(modules):
            done = len(outcomes)
            settled = _run_files(folder, names[done : done + most], target)
            if settled:
                most = _FILES
            else:
                settled = [_run(modules[done], target, ptx)]
                most = -(-most // 2) if settled[0].clean else _FILES
            outcomes += settled
    return outcomes


def _run_files(folder: str, names: Sequence[str], target: str) -> list[_Outcome]:
    """What one run says of modules, up to the first of which it may not have said all."""
    done = subprocess.run(
        [find_ptxas(), f"-arch={arch_of(target)}", *names],
        cwd=folder, capture_output=True, text=True, errors="replace", timeout=300,
    )  # fmt: skip
    first = int(names[0].removesuffix(".ptx"))
    errors: list[dict[int, list[str]]] = [{} for _ in names]
    last = 0
    for line in (done.stdout + done.stderr).splitlines():
        found = _MESSAGE_OF_FILE.match(line)
        if found is None:
            if line.startswith("ptxas ") and "warning" not in line and _ABORTED not in line:
                return [_settled(said) for said in errors[:last]]
            continue
        last, index, severity = int(found[1]) - first, int(found[2]) - _FIRST_LINE, found[3]
        if severity == "fatal" or index < 0:
            return [_settled(said) for said in errors[:last]]
        if severity == "error":
            errors[last].setdefault(index, []).append(found[4])
    said_all = errors[:last] if done.returncode < 0 else errors
    return [_settled(said) for said in said_all]


def _settled(errors: dict[int, list[str]]) -> _Outcome:
    return _Outcome(errors, None, [], not errors, False, "")


def _folder() -> tempfile.TemporaryDirectory[str]:
    """A new folder for files that are read once: in memory, where there are folders in memory."""
    memory = _IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else None
    return tempfile.TemporaryDirectory(prefix="oracle-", dir=memory)


def _run(statements: Sequence[str], target: str, ptx: str) -> _Outcome:
    """One run of ptxas over the module of these statements."""
    with _folder() as folder:
        Path(folder, _FILE).write_text(module_text(statements, target, ptx))
        done = subprocess.run(
            [find_ptxas(), f"-arch={arch_of(target)}", _FILE],
            cwd=folder, capture_output=True, text=True, errors="replace", timeout=300,
        )  # fmt: skip
    errors: dict[int, list[str]] = {}
    module: list[str] = []
    fatal: tuple[int, str] | None = None
    strange: list[str] = []
    for line in (done.stdout + done.stderr).splitlines():
        found = _MESSAGE.match(line)
        if found is None:
            if line.startswith("ptxas ") and "warning" not in line and _ABORTED not in line:
                (module if _NO_SUCH_PAIR in line else strange).append(line)
            continue
        severity, message = found[2], found[3]
        if severity not in ("error", "fatal"):
            continue
        index = int(found[1]) - _FIRST_LINE
        if index < 0:
            module.append(message)
        elif index >= len(statements):
            raise PtxasFailedError(f"no statement stands on this line: {line}")
        elif severity == "fatal":
            fatal = (index, message)
        else:
            errors.setdefault(index, []).append(message)
    crashed = done.returncode < 0
    if done.returncode == 0 and (errors or fatal or module):
        raise PtxasFailedError("ptxas reported errors and ended with 0")
    note = f"ptxas crashed with signal {-done.returncode}" if crashed else " | ".join(strange)
    return _Outcome(errors, fatal, module, done.returncode == 0, crashed, note)

"""nvgen's public doors, and what must hold of whatever goes in.

A door gives the outcome of an input.  What it raises is a problem, but for nvgen's own errors,
which are refusals; their findings are judged like all others.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import nvgen
from asmprinter.mir.printer import print_mir
from asmprinter.mir.reader import read_mir
from asmprinter.ptx.printer import print_ptx
from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Finding, NvgenError, errors
from intrinsics.mir import Module
from intrinsics.targets import Ptx
from nvgen import cli
from nvgen.commands.given.arguments import parse_argument
from nvgen.compilation.options import Options
from nvgen.files import decode
from nvgen.loading import load
from nvgen.render import as_json, finding_lines
from nvgen.tuning import Results, Trial
from tests.fuzz import simulated
from tests.fuzz.inputs import Input, Kind, arguments
from tests.fuzz.problems import Outcome, Problem, ProblemError
from tests.oracle.ptxas import find_ptxas
from tests.property import judges
from tests.property.program import Program

LONGEST = 4096
"""Characters of a finding as it is shown."""

FILE = "fuzz"
STATUSES = {"run": {0, 1, 2, 3, 4}}
"""Documented exit statuses of commands; of all others 0, 1 and 2."""


def take(item: Input) -> Outcome:
    """Put an input in at its door."""
    try:
        return _DOORS[item.kind](item)
    except NvgenError as error:
        return refused(error.findings, item)


def refused(findings: Sequence[Finding], item: Input) -> Outcome:
    """The outcome of a refusal, which says why."""
    if not errors(findings):
        raise ProblemError(Problem.FINDING, "refused without an error", str(findings)[:500])
    return Outcome(rules=judged(findings, item))


def judged(findings: Sequence[Finding], item: Input) -> tuple[str, ...]:
    """The rules of findings that are as they should be."""
    source = item.text.split("\n")
    for finding in findings:
        for wrong in _wrong(finding, source):
            where = f"{finding.rule[:60]}: {wrong}"
            raise ProblemError(Problem.FINDING, where, f"{wrong}: {finding!r}"[:1500])
        as_json(finding)
    return tuple(sorted({finding.rule for finding in findings}))


def _wrong(finding: Finding, source: Sequence[str]) -> list[str]:
    """What is wrong with a finding, in words."""
    found, place = [], finding.place
    if not re.fullmatch(r"[\w.:*+-]+/[\w.-]+", finding.rule, re.ASCII):
        found.append("no rule")
    if not finding.message.strip():
        found.append("no message")
    shown = finding_lines(finding, source)
    if sum(len(text) for line in shown for text, _ in line) > LONGEST:
        found.append("too long")
    if "internal error" in finding.message.lower():
        found.append("an internal error")
    if (
        place.line < 0
        or place.column < 0
        or (place.file.startswith(FILE) and place.line > len(source))
    ):
        found.append("no such place")
    return found


# ---- programs --------------------------------------------------------------------------------


_KEPT = ("ptx/not-modelled", "select/module-asm")
"""Assembly that stands in PTX as it was written, whatever it means."""


def _llvm(item: Input) -> Outcome:
    target, opt = item.option("target", "sm_90a"), int(item.option("opt", "0"))
    text = decode(item.data, FILE)
    made = nvgen.compile(text, target=target, opt=opt, level=item.option("level", "record"))
    rules = judged(made.findings, item)
    if any(f.rule in _KEPT or "is not declared" in f.message for f in made.findings):
        mir_round_trips(made.module)  # of the PTX nvgen has said what it does not know in it
        return Outcome(accepted=True, rules=rules)
    round_trips(made.module, made.ptx_version)
    if item.option("ptxas"):
        assembles(made.ptx, target)
    note = simulated.run(made) if item.option("run") else ""
    return Outcome(accepted=True, rules=rules, note=note)


def _records(item: Input) -> Outcome:
    """MIR or PTX."""
    path = FILE + item.kind.value
    program = load(path, decode(item.data, path), Options(level=item.option("level", "all")))
    rules = judged(program.findings, item)
    if errors(program.findings):
        print_mir(program.module)  # printing ends well even so
        print_ptx(program.module, program.ptx_version)
        return Outcome(rules=rules)
    round_trips(program.module, program.ptx_version)
    note = simulated.run(program.compiled()) if item.option("run") else ""
    return Outcome(accepted=True, rules=rules, note=note)


def mir_round_trips(module: Module) -> None:
    """What is printed as MIR and read back prints the same."""
    mir = print_mir(module).text
    _same("MIR", mir, print_mir(read_mir(mir)).text)


def round_trips(module: Module, version: Ptx) -> None:
    """What is printed as MIR or PTX and read back prints the same."""
    mir_round_trips(module)
    ptx = print_ptx(module, version).text
    reading = read_ptx(ptx, target=module.target)
    if wrong := errors(reading.findings):
        raise ProblemError(Problem.ROUND_TRIP, f"own PTX: {wrong[0].rule}", str(wrong[0]))
    _same("PTX", _body(ptx), _body(print_ptx(reading.module, version).text))


def _body(ptx: str) -> str:
    """PTX without its comments, which name what it was made from, and its parameters."""
    return re.sub(r" *// .*$", "", ptx.split("\n", 3)[-1], flags=re.MULTILINE)


def _same(what: str, first: str, second: str) -> None:
    if first == second:
        return
    one, other = first.split("\n"), second.split("\n")
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), -1)
    shown = f"line {at + 1}: {one[at]!r} became {other[at]!r}"
    word = re.search(r"[\w.]*[A-Za-z_.]{3,}[\w.]*", one[at])
    raise ProblemError(Problem.ROUND_TRIP, f"{what}: {word[0] if word else ''}", shown)


def assembles(ptx: str, target: str) -> None:
    """ptxas makes code of the PTX; what other modules define may be missing."""
    Path("m.ptx").write_text(ptx)
    done = subprocess.run(
        [find_ptxas(), "-c", f"-arch={target}", "-O0", "-o", "m.cubin", "m.ptx"],
        capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    if done.returncode:
        said = done.stdout + done.stderr
        words = re.search(r"line \d+; \w+\s*: (.*)", said)
        raise ProblemError(Problem.PTXAS, re.sub(r"'.*?'", "N", words[1] if words else ""), said)


def _function(item: Input) -> Outcome:
    text = item.text
    numbers = {n: re.search(rf"^; {n}: (\d+)$", text, re.MULTILINE) for n in ("slots", "seed")}
    slots, seed = (int(m[1]) if m else 0 for m in numbers.values())
    body = "\n".join(line for line in text.splitlines() if not line.startswith(";"))
    try:
        judges.same_bytes(Program(body, slots, seed), [int(item.option("opt", "0"))])
    except AssertionError as error:
        first = str(error).split("\n")[0]
        raise ProblemError(Problem.VALUES, first.split(":")[0], first) from None
    return Outcome(accepted=True)


# ---- the rest --------------------------------------------------------------------------------


def _arguments(item: Input) -> Outcome:
    words = arguments(item)
    for name, data in FILES.items():
        Path(name).write_bytes(data)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = cli.main(words)
        except SystemExit as leave:
            status = leave.code if isinstance(leave.code, int) else 1
    said = err.getvalue()
    command = words[0] if words else ""
    if "internal error" in said or "Traceback" in said:
        name = re.search(r"(?:internal error: )?(\w+(?:Error|Exception)\w*)", said)  # type: ignore[assignment]
        raise ProblemError(Problem.EXCEPTION, f"{command}: {name[1] if name else ''}", said)
    if status not in STATUSES.get(command, {0, 1, 2}):
        raise ProblemError(Problem.STATUS, f"{command}: {status}", said)
    if status and not (said + out.getvalue()).strip():
        raise ProblemError(Problem.STATUS, f"{command}: {status} without a word", "")
    _check_files(words, status)
    return Outcome(accepted=status == 0, rules=(f"{command}/{status}",))


FILES: dict[str, bytes] = {}
"""What lies in the folder in which a command runs; `seeds` fills it before any worker starts."""


def _check_files(words: Sequence[str], status: int) -> None:
    """No temporary file is left; a failed command leaves no file and changes none.

    `nvgen compile` writes its output and ends with 1 where rules beyond its level find an error.
    """
    for path in Path().rglob("*"):
        if path.name.startswith(".nvgen-"):
            raise ProblemError(Problem.OUTPUT, f"{words[0]}: a temporary file", path.name)
        before = FILES.get(str(path))
        failed = status if words[:1] != ["compile"] else status > 1
        if failed and path.is_file() and path.read_bytes() != before:
            raise ProblemError(Problem.OUTPUT, f"{words[0]}: {status}, yet written", path.name)


def _array(item: Input) -> Outcome:
    Path("a.npy").write_bytes(item.data)
    given = parse_argument(item.option("argument", "in:a.npy"))
    np.asarray(given.value) if isinstance(given.value, np.ndarray) else given.as_npy()
    return Outcome(accepted=True)


def _cache(item: Input) -> Outcome:
    path = Path("cache.jsonl")
    path.write_bytes(item.data)
    results = Results(path)
    results.add(Trial("fuzz", "a key", {"n": 1}, 0.5))
    if (found := Results(path).get("a key")) is None or found.milliseconds != 0.5:
        raise ProblemError(Problem.ROUND_TRIP, "cache", repr(found))
    before = item.data
    if not path.read_bytes().startswith(before):
        raise ProblemError(Problem.OUTPUT, "cache", "lines before are changed")
    os.unlink(path)
    return Outcome(accepted=True)


_DOORS: dict[Kind, Callable[[Input], Outcome]] = {
    Kind.LLVM: _llvm,
    Kind.MIR: _records,
    Kind.PTX: _records,
    Kind.ARGUMENTS: _arguments,
    Kind.CACHE: _cache,
    Kind.ARRAY: _array,
    Kind.FUNCTION: _function,
}

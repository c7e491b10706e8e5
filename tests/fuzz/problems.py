"""What can come of an input: accepted, refused, or one of these problems.

Each problem is told from others of its kind by where it happened: the innermost frame of nvgen, the
words of LLVM's assertion, or the rule of a finding.
"""

from __future__ import annotations

import json
import re
import traceback
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("intrinsics", "asmprinter", "isel", "nvgen")


class Problem(Enum):
    """How an input can go wrong, which none may."""

    EXCEPTION = "exception"  # anything but an NvgenError
    LLVM = "llvm"  # LLVM ended the process
    SIGNAL = "signal"  # the process died in another way
    HANG = "hang"  # more seconds of processor time than any input needs
    MEMORY = "memory"  # more memory than any input needs
    FINDING = "finding"  # a finding without rule or message, too long, or at no place of the text
    OUTPUT = "output"  # a file partly written, or written although the command failed
    STATUS = "status"  # an exit status that is not documented
    ROUND_TRIP = "round-trip"  # text that is printed and read back prints otherwise
    PTXAS = "ptxas"  # PTX of accepted LLVM IR that ptxas refuses
    VALUES = "values"  # a function computes other bytes than on the host


@dataclass(frozen=True)
class Outcome:
    """What came of an input.

    `rules` are those of the findings.  `where` tells problems of one kind apart.  `note` is set for
    what was left undone on the way.  `seconds` are of processor time.
    """

    accepted: bool = False
    rules: tuple[str, ...] = ()
    problem: Problem | None = None
    where: str = ""
    message: str = ""
    note: str = ""
    seconds: float = 0.0

    @property
    def key(self) -> tuple[str, str]:
        """The same for all inputs that show the same problem."""
        return (self.problem.value if self.problem else "", self.where)

    def line(self) -> bytes:
        """The outcome as a line of JSON."""
        plain = asdict(self) | {"problem": self.problem.value if self.problem else ""}
        return json.dumps(plain).encode() + b"\n"


def of_line(line: bytes) -> Outcome:
    """The outcome in a line of JSON."""
    plain = json.loads(line)
    name, rules = plain.pop("problem"), plain.pop("rules")
    return Outcome(**plain, rules=tuple(rules), problem=Problem(name) if name else None)


class ProblemError(Exception):
    """Something that no input may bring about."""

    def __init__(self, problem: Problem, where: str, message: str) -> None:
        self.problem, self.where = problem, where
        super().__init__(message)


def of_exception(error: BaseException) -> Outcome:
    """The outcome where an exception came out of a door."""
    message = f"{type(error).__name__}: {error}"[:2000]
    if isinstance(error, ProblemError):
        return Outcome(problem=error.problem, where=error.where, message=str(error)[:2000])
    frames = [(f.filename, f.name) for f in traceback.extract_tb(error.__traceback__)]
    problem = Problem.MEMORY if isinstance(error, MemoryError) else Problem.EXCEPTION
    return Outcome(
        problem=problem, where=f"{type(error).__name__} in {innermost(frames)}", message=message
    )


def innermost(frames: list[tuple[str, str]]) -> str:
    """The last frame that stands in nvgen, as "isel/select/module.py:lower"; outermost first."""
    for file, name in reversed(frames):
        path = Path(file)
        if path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in PACKAGES:
            return f"{path.relative_to(ROOT)}:{name}"
    return f"{Path(frames[-1][0]).name}:{frames[-1][1]}" if frames else "nowhere"


_FRAME = re.compile(r'^  File "(.+?)", line \d+ in (.+)$', re.MULTILINE)


_HOST = ("tests", "property", "host.py")
"""What compiles a function for the host, the oracle of values, in the process itself."""


def of_death(said: str, signal: int | None, *, hung: bool) -> Outcome:
    """The outcome where the process ended, by what stands in its standard error."""
    frames = [(m[1], m[2]) for m in _FRAME.finditer(said)][::-1]
    where = innermost(frames)
    if not hung and any(Path(file).parts[-3:] == _HOST for file, _ in frames):
        return Outcome(note="LLVM's code generator for the host died: not judged")
    if hung:
        return Outcome(problem=Problem.HANG, where=where, message=said[-1500:])
    words = re.search(r"Assertion `?(.{1,120})|LLVM ERROR: (.{1,120})", said)
    if words:
        shown = re.sub(r"0x[0-9a-f]+|\d+", "N", (words[1] or words[2]).splitlines()[0])
        return Outcome(problem=Problem.LLVM, where=shown, message=words[0])
    return Outcome(problem=Problem.SIGNAL, where=f"{signal} in {where}", message=said[-1500:])

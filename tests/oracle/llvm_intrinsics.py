"""Calls of LLVM's NVPTX intrinsics, enumerated from LLVM and from its documentation alone.

``names`` are the intrinsics of the families that nvgen is about, as LLVM's own table lists them.
``signature`` is what one takes and returns, written down here from LLVM's "User Guide for NVPTX
Back-end" and confirmed by LLVM's verifier, which rejects a declaration of an intrinsic that differs
from its own.  Which arguments must be immediates, and which values they may have, LLVM says itself:
it prints ``immarg range(i32 0, 4)`` in the declaration of an intrinsic.

``cases`` are the calls to compile: every combination of legal immediates with all other operands
in registers, and for each intrinsic some calls with other operands: constants, an address plus an
offset, results that nobody uses.  ``Case.module`` is a module with one kernel that makes the call.

A kernel passes every operand so that its origin can be told from the text: a parameter of its own
for each scalar, a vector loaded from memory that a parameter points to; an i1 is the question
whether a parameter is zero.  Each result is stored where the last parameter points to.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.oracle import llvm
from tests.oracle.llvm_signatures import GLOBAL, PREFIX, Arg, names, signature

# --- immediates ----------------------------------------------------------------------------------

UNBOUNDED: dict[str, tuple[int, ...]] = {
    "i1": (0, 1),
    "i32": (0, 1, 7),
    "i64": (0, 1, 16, 512),
}
"""Values for immediates without a range of LLVM's: flags, bulk groups that may be under way, and
the split of .16x32bx2 in columns.
"""


@functools.cache
def immediates(name: str) -> Mapping[int, tuple[int, ...]]:
    """The legal values of the arguments that must be immediates, by place."""
    types = [arg.type for arg in signature(name).args]
    return {
        place: tuple(range(*bounds)) if bounds else UNBOUNDED[types[place]]
        for place, bounds in _immediate_arguments(name).items()
    }


def is_bounded(name: str, place: int) -> bool:
    """Whether LLVM knows a range for an immediate."""
    return _immediate_arguments(name)[place] is not None


@functools.cache
def _immediate_arguments(name: str) -> Mapping[int, tuple[int, int] | None]:
    """The range of each argument that LLVM's own declaration calls an immediate."""
    printed = llvm.verify(llvm.HEADER + signature(name).declaration(PREFIX + name))
    line = next(line for line in printed.splitlines() if line.startswith("declare"))
    inside = line[line.index(f"@{PREFIX}{name}(") + len(PREFIX + name) + 2 : line.rindex(")")]
    found: dict[int, tuple[int, int] | None] = {}
    for place, text in enumerate(_split(inside)):
        bounds = re.search(r"range\(i\d+ (-?\d+), (-?\d+)\)", text)
        if "immarg" in text:
            found[place] = (int(bounds[1]), int(bounds[2])) if bounds else None
    return found


def _split(text: str) -> list[str]:
    """Parts between commas that are not in parentheses."""
    return re.findall(r"(?:[^,()]|\([^()]*(?:\([^()]*\)[^()]*)*\))+", text)


# --- cases ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Case:
    """One call: numbers for some of the arguments by place, and how the others are passed.

    ``offset`` is added to every pointer before the call; ``used`` says whether results are stored.
    """

    name: str
    numbers: Mapping[int, int] = field(default_factory=dict)
    offset: int = 0
    used: bool = True

    def __str__(self) -> str:
        args = [str(self.numbers.get(n, "_")) for n in range(len(signature(self.name).args))]
        more = f" offset {self.offset}" if self.offset else ""
        return f"{self.name}({', '.join(args)}){more}{'' if self.used else ' unused'}"

    def module(self) -> str:
        """A module whose kernel ``k`` makes the call."""
        return _Kernel(self).text()


def cases(family: str) -> Iterator[Case]:
    """All calls to compile for a family."""
    for name in names(family):
        legal = immediates(name)
        for choice in itertools.product(*legal.values()):
            yield Case(name, dict(zip(legal, choice, strict=True)))
        yield from variants(name)


def plain(name: str) -> Case:
    """The call with the lowest immediates and everything else in registers."""
    return Case(name, {place: values[0] for place, values in immediates(name).items()})


def probes(name: str) -> Iterator[Case]:
    """A few calls that between them need everything a target can lack: every kind of a multiply."""
    lowest = plain(name)
    yield lowest
    if name.startswith("tcgen05.mma.") and ".block_scale" not in name:
        kind = min(place for place in lowest.numbers if signature(name).args[place].type == "i32")
        for value in immediates(name)[kind][1:]:
            yield Case(name, {**lowest.numbers, kind: value})


def variants(name: str) -> Iterator[Case]:
    """The plain call with other operands: constants, addresses with offsets, unused results."""
    what, numbers = signature(name), plain(name).numbers
    constants = {
        place: arg.constant for place, arg in enumerate(what.args) if arg.constant is not None
    }
    for place, constant in constants.items():
        yield Case(name, {**numbers, place: constant})
    if len(constants) > 1:
        yield Case(name, {**numbers, **constants})
    if any(arg.type.startswith("ptr") for arg in what.args):
        yield Case(name, numbers, offset=32)
    if what.result != "void":
        yield Case(name, numbers, used=False)


class _Kernel:
    """The text of a case's module, built argument by argument."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.signature = signature(case.name)
        self.params: list[str] = []
        self.body: list[str] = []

    def text(self) -> str:
        passed = [self._argument(place, arg) for place, arg in enumerate(self.signature.args)]
        call = f"call {self.signature.result} @{PREFIX}{self.case.name}({', '.join(passed)})"
        result = self.signature.result
        self._line(call if result == "void" else f"%result = {call}")
        if result != "void" and self.case.used:
            self._store(result)
        lines = "\n".join(self.body)
        return (
            f"{llvm.HEADER}{self.signature.declaration(PREFIX + self.case.name)}\n"
            f"define ptx_kernel void @k({', '.join(self.params)}) {{\n{lines}\n  ret void\n}}\n"
        )

    def _line(self, text: str) -> None:
        self.body.append("  " + text)

    def _param(self, type_: str) -> str:
        name = f"%p{len(self.params)}"
        self.params.append(f"{type_} {name}")
        return name

    def _argument(self, place: int, arg: Arg) -> str:
        number = self.case.numbers.get(place)
        if number is not None:
            return f"{arg.type} {number}"
        if arg.type.startswith("<"):
            self._line(f"%a{place} = load {arg.type}, ptr addrspace(1) {self._param(GLOBAL)}")
        elif arg.type == "i1":
            self._line(f"%a{place} = icmp ne i32 {self._param('i32')}, 0")
        elif arg.type.startswith("ptr") and self.case.offset:
            base = self._param(arg.type)
            self._line(f"%a{place} = getelementptr i8, {arg.type} {base}, i32 {self.case.offset}")
        else:
            return f"{arg.type} {self._param(arg.type)}"
        return f"{arg.type} %a{place}"

    def _store(self, result: str) -> None:
        out = self._param(GLOBAL)
        if result.startswith("{"):
            for at, type_ in enumerate(result.strip("{ }").split(", ")):
                self._line(f"%result{at} = extractvalue {result} %result, {at}")
                self._line(f"%out{at} = getelementptr i8, {GLOBAL} {out}, i64 {8 * at}")
                self._store_scalar(type_, f"%result{at}", f"%out{at}")
        else:
            self._store_scalar(result, "%result", out)

    def _store_scalar(self, type_: str, value: str, where: str) -> None:
        if type_ == "i1":
            self._line(f"{value}.wide = zext i1 {value} to i32")
            type_, value = "i32", f"{value}.wide"
        self._line(f"store {type_} {value}, {GLOBAL} {where}")

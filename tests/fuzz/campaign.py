"""A run of the fuzzer: draw inputs, take them to their doors, keep and shrink what goes wrong."""

from __future__ import annotations

import collections
import random
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.fuzz import doors, seeds
from tests.fuzz.arguments import spoilt_arguments, spoilt_array, spoilt_cache
from tests.fuzz.functions import random_function
from tests.fuzz.inputs import Input, Kind
from tests.fuzz.mutate import spoilt
from tests.fuzz.problems import Outcome, Problem
from tests.fuzz.shrink import shrunk
from tests.fuzz.structure import LANGUAGES, OWN
from tests.fuzz.worker import LIMITS, Door, Limits, outcome_of, outcomes

BATCH = 64
WEIGHTS = {
    Kind.LLVM: 36, Kind.PTX: 24, Kind.MIR: 20, Kind.ARGUMENTS: 6, Kind.CACHE: 3, Kind.ARRAY: 5,
    Kind.FUNCTION: 6,
}  # fmt: skip
"""How many inputs of a kind there are among a hundred."""

MOST_GROWN = 2000
"""Mutants that are spoilt further, because a rule was met first with them."""


@dataclass
class Source:
    """Draws inputs; what it has learnt from outcomes goes into the next ones."""

    rng: random.Random
    kinds: tuple[Kind, ...] = tuple(WEIGHTS)
    grown: dict[Kind, list[str]] = field(default_factory=dict)
    rules: set[tuple[Kind, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        seeds.command_lines()  # and the files that they name
        for kind, language in LANGUAGES.items():
            if not language.words:
                language.learn(seeds.texts(kind))

    def draw(self) -> Input:
        """An input."""
        kind = self.rng.choices(self.kinds, [WEIGHTS[kind] for kind in self.kinds])[0]
        match kind:
            case Kind.ARGUMENTS:
                return spoilt_arguments(self.rng)
            case Kind.ARRAY:
                return spoilt_array(self.rng)
            case Kind.CACHE:
                return spoilt_cache(self.rng)
            case Kind.FUNCTION:
                return random_function(self.rng)
            case _:
                return self._text(kind)

    def _text(self, kind: Kind) -> Input:
        rng, texts, grown = self.rng, seeds.texts(kind), self.grown.get(kind)
        text = rng.choice(grown if grown and rng.random() < 0.3 else texts)
        if kind is Kind.LLVM and rng.random() < 0.25:
            text = random_function(rng).text
        data = spoilt(text, rng, LANGUAGES[kind], texts, OWN[kind])
        options = {"run": "1"} if rng.random() < 0.15 else {}
        if kind is Kind.LLVM:
            options["target"] = rng.choice(seeds.TARGETS[: rng.choice((2, 2, 6))])
            options |= {"opt": rng.choice("123")} if rng.random() < 0.03 else {}
            options |= {"ptxas": "1"} if rng.random() < 0.02 else {}
            options |= {"level": "all"} if rng.random() < 0.3 else {}
        return Input(kind, data, tuple(options.items()))

    def learn(self, item: Input, outcome: Outcome) -> None:
        """Spoil further what met a rule that nothing met before."""
        new = {(item.kind, rule) for rule in outcome.rules} - self.rules
        self.rules |= new
        grown = self.grown.setdefault(item.kind, [])
        if new and len(grown) < MOST_GROWN and len(item.data) < seeds.LARGEST:
            grown.append(item.text)


@dataclass
class Found:
    """A problem, with the smallest input that shows it."""

    item: Input
    outcome: Outcome
    path: Path
    times: int = 1


@dataclass
class Campaign:
    """Counts of a run, and what it found."""

    seed: int
    folder: Path
    kinds: tuple[Kind, ...] = tuple(WEIGHTS)
    door: Door = doors.take
    limits: Limits = LIMITS
    shrink_seconds: float = 40.0
    tell: Callable[[str], None] = print
    inputs: collections.Counter[Kind] = field(default_factory=collections.Counter)
    accepted: collections.Counter[Kind] = field(default_factory=collections.Counter)
    refused: collections.Counter[Kind] = field(default_factory=collections.Counter)
    notes: collections.Counter[str] = field(default_factory=collections.Counter)
    seconds: collections.Counter[Kind] = field(default_factory=collections.Counter)
    found: dict[tuple[str, str], Found] = field(default_factory=dict)
    slowest: tuple[float, str] = (0.0, "")
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.source = Source(random.Random(self.seed), self.kinds)

    def run(self, *, minutes: float = 1e9, inputs: int = 1 << 60) -> None:
        """Take inputs until the time is over, or so many were taken."""
        end, left = self.began + 60 * minutes, inputs
        while left > 0 and time.monotonic() < end:
            batch = [self.source.draw() for _ in range(min(BATCH, left))]
            left -= len(batch)
            for item, outcome in outcomes(batch, self.door, self.limits):
                self._count(item, outcome)

    def _count(self, item: Input, outcome: Outcome) -> None:
        self.inputs[item.kind] += 1
        self.seconds[item.kind] += outcome.seconds  # type: ignore[assignment]
        self.source.learn(item, outcome)
        if outcome.note:
            self.notes[outcome.note] += 1
        if outcome.problem is not None:
            self._keep(item, outcome)
            return
        (self.accepted if outcome.accepted else self.refused)[item.kind] += 1
        if outcome.seconds > self.slowest[0]:
            self.slowest = (outcome.seconds, f"{item.kind.value} {item.option('target')}")
            self._write("slowest", item)

    def _keep(self, item: Input, outcome: Outcome) -> None:
        """A problem that is known is counted; a new one is shrunk and written."""
        known = self.found.get(outcome.key)
        if known is not None:
            known.times += 1
            return
        number = len(self.found) + 1
        words = re.sub(r"\W+", "-", f"{outcome.key[0]}-{outcome.where}").strip("-")[:80]
        name = f"{self.seed:04}-{number:03}-{words}"
        path = self._write(name, item)
        self.found[outcome.key] = Found(item, outcome, path)
        self.tell(f"{outcome.key[0]}: {outcome.where}\n  {_one_line(outcome.message)}\n  {path}")
        small = self._shrunk(item, outcome)
        self.found[outcome.key] = Found(small, outcome, self._write(name, small))

    def _shrunk(self, item: Input, outcome: Outcome) -> Input:
        hangs = outcome.problem is Problem.HANG
        limits = replace(self.limits, seconds=self.limits.seconds / 3) if hangs else self.limits

        def shows(other: Input) -> bool:
            found = outcome_of(other, self.door, limits)
            return found.problem is Problem.HANG if hangs else found.key == outcome.key

        if not shows(item):
            self.tell("  alone it does not show it again")
            return item
        return shrunk(item, shows, self.shrink_seconds * (3 if hangs else 1))

    def _write(self, name: str, item: Input) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{name}{item.kind.value}"
        path.write_bytes(item.file())
        return path

    def summary(self) -> Iterator[str]:
        """What the run took and found, as lines."""
        took, total = time.monotonic() - self.began, sum(self.inputs.values())
        yield f"{'kind':<10} {'inputs':>8} {'accepted':>9} {'refused':>8} {'s of CPU':>9}"
        for kind in self.kinds:
            yield (
                f"{kind.name.lower():<10} {self.inputs[kind]:>8} {self.accepted[kind]:>9} "
                f"{self.refused[kind]:>8} {self.seconds[kind]:>9.1f}"
            )
        yield (
            f"{total} inputs in {took:.0f} s ({total / max(took, 1e-9):.0f} a second), seed "
            f"{self.seed}; {len(self.source.rules)} rules met; slowest {self.slowest[0]:.1f} s"
        )
        if self.notes:
            yield "runs: " + ", ".join(f"{n} {note}" for note, n in self.notes.most_common(8))
        known = sum(f.outcome.problem is Problem.LLVM for f in self.found.values())
        yield f"found: {len(self.found)}" + (f", {known} of them in LLVM" if known else "")
        for one in sorted(self.found.values(), key=lambda one: -one.times):
            yield f"  {one.times:>5} times {one.outcome.key[0]}: {one.outcome.where}"
            yield f"        python -m tests.fuzz --replay {one.path}"


def _one_line(message: str) -> str:
    return " | ".join(line for line in message.splitlines() if line.strip())[:300]

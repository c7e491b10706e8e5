"""Launches in a process that may end, and what came of them, by producer and level."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import TypedDict

from tests.benchmarks.beside_llvm import launches
from tests.benchmarks.beside_llvm.launches import LEVELS

COMMAND = (sys.executable, "-m", "tests.benchmarks.beside_llvm.gpu")

START = 60.0
"""Seconds that a process may take to start."""
PATIENCE = 4
"""Processes in a row that end without a word: it is not the kernels then."""


class Found(TypedDict):
    """One launch at one level, as the process of the GPU says it."""

    module: str
    kernel: str
    level: str
    values: str
    times: dict[str, float]
    spread: float


def run(
    packed: Path, limit: float, out: Path | None, command: Sequence[str] = COMMAND
) -> list[Found]:
    """Every launch; a line as it comes, in `out` too, and a new process where one ends."""
    with zipfile.ZipFile(packed) as file:
        names = [(module, launch.kernel) for module, launch in launches.packed(file)]
    found: list[Found] = []
    first = silent = 0
    while first < len(names) and silent < PATIENCE:
        before = len(found)
        for one in _answers([*command, str(packed), str(first)], limit):
            found.append(one)
            if out is not None:
                out.write_text("".join(json.dumps(line) + "\n" for line in found))
        silent = 0 if len(found) > before else silent + 1
        first += (len(found) - before) // len(LEVELS)
        if first < len(names):
            print(f"{' '.join(names[first])}: the process ended or hung", flush=True)
            found.append(_lost(*names[first]))
            first += 1
    return found


def _lost(module: str, kernel: str) -> Found:
    return {
        "module": module, "kernel": kernel, "level": "", "values": "ended", "times": {},
        "spread": 0.0,
    }  # fmt: skip


def _answers(command: Sequence[str], limit: float) -> Iterator[Found]:
    """What one process says, until it ends or says nothing for too long."""
    wait, data = START + limit, b""
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            while select.select([process.stdout], [], [], wait)[0]:
                wait = limit
                if not (more := os.read(process.stdout.fileno(), 1 << 16)):
                    return
                *lines, data = (data + more).split(b"\n")
                for line in lines:
                    one: Found = json.loads(line)
                    print(_line(one), flush=True)
                    yield one
        finally:
            process.kill()


def _line(one: Found) -> str:
    ours, llvm = one["times"]["nvgen"], one["times"]["llvm"]
    return (
        f"{one['module']} {one['kernel'][:40]} {one['level']}: {ours:.2f} / {llvm:.2f} us = "
        f"{ours / llvm:.3f} (spread {one['spread']:.3f}); {one['values']}"
    )


def read(results: Path) -> list[Found]:
    """What `run` wrote."""
    return [json.loads(line) for line in results.read_text().splitlines()]


def table(packed: Path, found: Sequence[Found]) -> Iterator[str]:
    """By level and producer: values, time, SASS instructions and registers."""
    with zipfile.ZipFile(packed) as file:
        figures = {name: about["figures"] for name, about in launches.abouts(file).items()}
    for level in LEVELS:
        producers = sorted({name.partition("_")[0] for name in figures})
        for producer in [*producers, ""]:
            modules = [name for name in figures if name.startswith(f"{producer}_") or not producer]
            own = [one for one in found if one["module"] in modules and one["level"] == level]
            yield _row(producer or "all", level, own, [figures[name] for name in modules])


def _row(
    producer: str, level: str, found: Sequence[Found], figures: Sequence[dict[str, dict[str, int]]]
) -> str:
    ratios = [one["times"]["nvgen"] / one["times"]["llvm"] for one in found if one["times"]]
    kinds = [one["values"].partition(",")[0].partition(":")[0] for one in found]
    said = ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted({*kinds}))
    parts = {
        key: [(own[f"{level} nvgen"][key], own[f"{level} llvm"][key]) for own in figures]
        for key in ("instructions", "registers", "spills")
    }
    sass, registers = (
        geometric_mean([ours / theirs for ours, theirs in parts[key]])
        for key in ("instructions", "registers")
    )
    spills = [sum(side) for side in zip(*parts["spills"], strict=True)]
    time = f"time {geometric_mean(ratios):.3f}, most {max(ratios):.3f}" if ratios else "no times"
    return (
        f"{level} {producer}: {len(found)} launches, {time}; {said}; {len(figures)} modules, "
        f"SASS {sass:.3f}, registers {registers:.3f}, spills {spills[0]} / {spills[1]}"
    )

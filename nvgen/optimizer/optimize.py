"""A module at the default level and at -O1 to -O3: LLVM's passes and the way back.

Layer: nvgen.optimizer.  Input: a module as LLVM prints it, and where its instructions stand.
Output: the optimised module with the real names of the intrinsics, and where its instructions come
from.
"""

from __future__ import annotations

import re

from intrinsics.findings import Finding, InputError, Place, Severity
from intrinsics.targets import Target
from isel.llvm import ir
from isel.llvm.reader import read_module
from isel.lower.branches.reflection import REFLECT, answer_of
from isel.places.align import places_of_globals
from isel.places.debug import NO_DEBUG, DebugPlaces
from isel.select.locations import Source
from nvgen.llvm.crash import timed_out
from nvgen.llvm.process import LlvmDiedError, LlvmTimeoutError
from nvgen.optimizer.origins import Origins, attach, detach
from nvgen.optimizer.pipeline import default_level, run
from nvgen.optimizer.shield import shield

_WITHOUT = "-O0 compiles without LLVM's passes"


def optimize(
    text: str, module: ir.Module, source: Source, level: int | None, target: Target
) -> tuple[str, ir.Module, Source]:
    """Optimise `text`, which reads as `module`, at level 1, 2 or 3, or at one of those below.

    None is the default level (`nvgen.optimizer.pipeline.default_level`), at which no call needs a
    shield.

    Raises: InputError when LLVM's optimiser dies of the module, or does not end.
    """
    lines = ["" if _says_nothing(line) else line for line in text.split("\n")]
    _answer(lines, module, target)
    origins = attach(lines, module)
    if level is None:
        level = default_level(text)
    hidden = shield(lines, module) if level > 0 else None
    try:
        done = run("\n".join(lines), level, target)
    except LlvmDiedError as death:
        raise InputError([_died(str(death), source.file, level)]) from None
    except LlvmTimeoutError as limit:
        raise timed_out(str(limit), source.file, "optimises", _WITHOUT) from None
    restored = done if hidden is None else hidden.restore(done)
    optimized = read_module(restored)
    numbers = origins.of(optimized, restored)
    return detach(restored), optimized, _sources(source, module, origins, numbers)


def _answer(lines: list[str], module: ir.Module, target: Target) -> None:
    """Answer questions about the target, of which LLVM knows a relative only, with numbers."""
    if not any(name in module.functions for name in REFLECT):
        return
    for function in module.definitions():
        for i in function.instructions():
            if not isinstance(i, ir.Call) or i.callee_name not in REFLECT or i.result is None:
                continue
            answer = answer_of(i, module, target)
            if answer is not None:
                name, _, call = lines[i.line - 1].partition(" = ")
                place = re.search(r", !dbg !\d+", call)
                lines[i.line - 1] = f"{name} = add {i.type} {answer}, 0{place[0] if place else ''}"


def _says_nothing(line: str) -> bool:
    """Whether a line names a triple of no machine, with which LLVM's passes know no machine."""
    return line.startswith('target triple = "unknown')


def _died(words: str, file: str, level: int) -> Finding:
    return Finding(
        "llvm/crash",
        Severity.ERROR,
        "LLVM aborts when it optimises this module",
        Place(file),
        got=f"-O{level}: {words}" if level > 0 else words,
        expected="a module that LLVM's passes survive",
        hint=_WITHOUT,
    )


def _sources(
    source: Source, module: ir.Module, origins: Origins, numbers: dict[str, list[int]]
) -> Source:
    """Where the optimised instructions come from, by function and ordinal."""
    places = [(0, 0)]
    debug = [NO_DEBUG]
    debug_places = DebugPlaces(module)
    for function, i in origins.instructions:
        places.append(_place(source, function, i))
        debug.append(debug_places.of(i))
    globals_ = places_of_globals(source.text)
    found: dict[str, list[tuple[int, int]]] = {}
    for name, ns in numbers.items():
        # What LLVM made of several instructions, or of none, stands where its function does.
        places[0] = globals_.get(name, (0, 0))
        found[name] = [places[n] for n in ns]
    said = {name: [debug[n] for n in ns] for name, ns in numbers.items()}
    return Source(source.file, found, source.text, said)


def _place(source: Source, function: ir.Function, i: ir.Instruction) -> tuple[int, int]:
    known = (source.places or {}).get(function.name)
    return (i.line, 0) if known is None or i.ordinal >= len(known) else known[i.ordinal]

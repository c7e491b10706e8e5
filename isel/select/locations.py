"""Source locations of the records of a module, found when they are first asked for.

Layer: isel.select.  Input: a module as it was read, and where its instructions stand.  Output: the
locations of `intrinsics.mir.Module`, one for each instruction of the functions that are selected,
in order.  Records have their numbers at once; most modules are printed without a look at the
places, which cost much of what reading the module costs.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Location
from isel.llvm import ir
from isel.places.debug import NO_DEBUG, DebugPlace, DebugPlaces


@dataclass(frozen=True, slots=True)
class Source:
    """The source of locations: the user's file and text, and (line, column) by function and
    ordinal.

    `debug` says in the same way what the user's own debug info says; None leaves that to the debug
    locations of the instructions.

    What is not known yet may be found later: `find` gives the source with the places of a module,
    and `read` reads the module again, so that nobody has to keep it.
    """

    file: str = ""
    places: dict[str, list[tuple[int, int]]] | None = None
    text: str = ""
    debug: dict[str, list[DebugPlace]] | None = None
    find: Callable[[ir.Module], Source] | None = None
    read: Callable[[], ir.Module] | None = None

    def placed(self, module: ir.Module) -> Source:
        """This source with the locations of the instructions of `module`."""
        return self if self.find is None else self.find(module)


NO_SOURCE = Source()


class Locations:
    """The numbers of a module's instructions, and their locations."""

    def __init__(self, module: ir.Module, source: Source) -> None:
        self._source = source
        self._module = (lambda: module) if source.read is None else weakref.ref(module)
        self._first: dict[str, int] = {}
        self._count = 1
        self._places: _Places | None = None

    def add(self, function: str) -> int:
        """Number the instructions of a function as it was read; gives the number of the first."""
        first = self._first[function] = self._count
        last = self._read().functions[function].blocks[-1].instructions[-1]
        self._count += last.ordinal + 1
        return first

    def all(self) -> list[Location]:
        """The locations of all instructions that have numbers, by these."""
        module = self._read()
        places = _Places(module, self._source.placed(module))
        found = [Location()]
        for name in self._first:
            found += map(places.of, itertools.repeat(name), module.functions[name].instructions())
        return found

    def of(self, function: str, i: ir.Instruction) -> Location:
        """The location of one instruction of a function."""
        if self._places is None:
            module = self._read()
            self._places = _Places(module, self._source.placed(module))
        return self._places.of(function, i)

    def _read(self) -> ir.Module:
        """The module, which is read again if nobody has it any more."""
        module = self._module()
        if module is None:
            assert self._source.read is not None
            module = self._source.read()
        return module


class _Places:
    """The places of the instructions of a module."""

    def __init__(self, module: ir.Module, source: Source) -> None:
        self._source = source
        self._debug_places = DebugPlaces(module)

    def of(self, function: str, i: ir.Instruction) -> Location:
        """In the user's text, or in LLVM's where that is unknown, and in what debug info names."""
        source = self._source
        places = (source.places or {}).get(function, ())
        line, column = places[i.ordinal] if i.ordinal < len(places) else (i.line, 0)
        if source.debug is None:
            place = self._debug_places.of(i)
        else:
            known = source.debug.get(function, ())
            place = known[i.ordinal] if i.ordinal < len(known) else NO_DEBUG
        file, number, callers, called = place
        return Location(source.file, line, column, file, number, "", callers, called)

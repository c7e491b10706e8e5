"""Source lines in PTX: the numbers of `.file`, and the `.loc` of each record.

Layer: asmprinter.  Input: a module with source locations.  Output: directives.  PTX ISA, Debugging
Directives.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Location, Module
from intrinsics.targets import Ptx


@dataclass(frozen=True, slots=True)
class LineSources:
    """The numbers of the files that records come from, and the `.loc` of each location: of a line
    that others called theirs, too, the outermost first.
    """

    files: dict[str, int]
    places: dict[int, tuple[str, ...]]
    helpers: dict[str, str]
    """The labels of the names of functions that others call."""

    def number(self, file: str) -> int:
        """The number of a file."""
        return self.files.setdefault(file, len(self.files) + 1)

    def loc(self, file: str, line: int, column: int = 0, inlined: str = "") -> str:
        """The `.loc` of a line, with a comment that names the file."""
        name = escaped_path(file).rpartition("/")[2]
        return f"\t.loc {self.number(file)} {line} {column}{inlined}  // {name}:{line}"

    def called(self, place: Location) -> tuple[str, ...]:
        """The `.loc` of a line, of those that called it, and how it was called."""
        chain = [*place.callers[::-1], (place.python_file, place.python_line)]
        names = reversed(place.called or [""] * len(place.callers))
        found = [self.loc(*chain[0])]
        for (outer, at), (inner, here) in itertools.pairwise(chain):
            called = next(names) or escaped_path(inner).rpartition("/")[2]
            label = self.helpers.setdefault(called, f"$L__info_string{len(self.helpers)}")
            inlined = f", function_name {label}, inlined_at {self.number(outer)} {at} 0"
            found.append(self.loc(inner, here, inlined=inlined))
        return tuple(found)

    def section(self) -> Iterator[str]:
        """The names that `function_name` refers to; where none is known, the file's."""
        if not self.helpers:
            return
        yield from ("\t.section .debug_str", "\t{")
        for name, label in self.helpers.items():
            yield f"{label}:"
            yield "\t.b8 " + ", ".join(map(str, (*name.encode().replace(b"\0", b""), 0)))
        yield "\t}"


NO_SOURCES = LineSources({}, {}, {})


_INLINED = Ptx(7, 2)
"""The first version whose `.loc` says where a function was inlined."""


def escaped_path(name: str) -> str:
    """The name of a file without what a string of PTX cannot hold."""
    return re.sub(r'["\x00-\x1f\x7f]', "_", name).replace("\\", "/")


def line_sources(module: Module, ptx: Ptx) -> LineSources:
    """The source lines to print as `.loc`; none where the PTX had its own."""
    if module.has_directives:
        return NO_SOURCES
    found = LineSources({}, {}, {})
    for index, place in enumerate(module.locations):
        if place.python_file and place.python_line and place.callers and ptx >= _INLINED:
            found.places[index] = found.called(place)
            continue
        file, line, column = place.python_file, place.python_line, 0
        if not file:
            file, line, column = place.file, place.line, place.column
        if file and line:
            found.places[index] = (found.loc(file, line, column),)
    return found

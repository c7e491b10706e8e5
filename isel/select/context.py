"""The module under selection, and source locations in it, for all parts of selection.

Layer: isel.select.  Input: a module of LLVM IR that is ready to be selected.  Output: the machine
module as far as it is made, with findings and notes at their places.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

from intrinsics.findings import Place
from intrinsics.mir import Module
from intrinsics.targets import Ptx, Target
from isel.diagnostics import Diagnostics, Unselectable
from isel.llvm import ir
from isel.llvm.type_layout import layout_of
from isel.lower.memory.neighbours import pure_functions
from isel.places.align import places_of_globals
from isel.select.locations import Locations, Source
from isel.select.names import kernels, ptx_names
from isel.select.unrolling import ids_of_loops_kept


class ModuleContext:
    """A module that is being selected."""

    def __init__(
        self,
        module: ir.Module,
        target: Target,
        ptx: Ptx | None,
        source: Source,
        locations: Locations,
    ) -> None:
        self.module = module
        self.target = target
        self.ptx = ptx
        self.source = source
        self.locations = locations
        self.layout = layout_of(module.data_layout)
        self.diagnostics = Diagnostics()
        self.out = Module(target, ptx, source.file)
        self.names = ptx_names(module)
        self.symbols = {name: n for name, n in self.names.items() if name not in module.aliases}
        self.taken = frozenset(self.symbols.values())
        self.kernels = {function.name for function in kernels(module)}
        self.pure = pure_functions(module)
        self.loops_kept = ids_of_loops_kept(module)

    def guarded(self, action: Callable[[], None], name: str = "") -> None:
        """Do something about the global `name`, or about the whole module."""
        try:
            action()
        except Unselectable as reason:
            self.diagnostics.report(reason, self.place_of_global(name))

    # ---- places ------------------------------------------------------------------------------

    def place_of_global(self, name: str) -> Place:
        """The place of a global's definition; if the text does not show it, of its first
        instruction.
        """
        function = self.module.functions.get(name)
        found = self.places.get(name)
        if found is None and function is not None:
            first = next((self.locations.of(name, i) for i in function.instructions()), None)
            found = (first.line, first.column) if first is not None else None
        line, column = found or (0, 0)
        return Place(self.source.file, line, column, name if function else "")

    @functools.cached_property
    def places(self) -> dict[str, tuple[int, int]]:
        """Positions of function and variable definitions in the user's text."""
        return places_of_globals(self.source.text)

    def place_of_line(self, beginning: str, number: int) -> Place:
        """The line, of those that begin so (a regular expression), with a number from 0, or the
        last one; in text that has none, no line.
        """
        lines = [*re.finditer(rf"^[ \t]*+(?={beginning})", self.source.text, re.MULTILINE)]
        if not lines:
            return Place(self.source.file)
        found = lines[min(number, len(lines) - 1)]
        line = self.source.text.count("\n", 0, found.start()) + 1
        return Place(self.source.file, line, len(found[0]) + 1)

    def place_of(self, function: ir.Function, i: ir.Instruction) -> Place:
        """The source location of an instruction."""
        location = self.locations.of(function.name, i)
        return Place(
            location.file,
            location.line,
            location.column,
            function.name,
            location.python_file,
            location.python_line,
            location.callers,
        )

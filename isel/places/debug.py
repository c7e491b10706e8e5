"""Where an instruction stands in the source that debug info names.

Layer: isel (standard library, and `isel.llvm` for records).
Input: a module, and the id of a debug location in it.
Output: files and lines; for inlined code those of the callee, and of the calls it was inlined at.

Many instructions have one location and all locations few scopes, so that each node is read once.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from isel.llvm.ir import Instruction, Module
from isel.llvm.metadata import (
    DIFile,
    DILexicalBlock,
    DILocation,
    DISubprogram,
    Node,
    read_node,
)

DebugPlace: TypeAlias = tuple[str, int, tuple[tuple[str, int], ...], tuple[str, ...]]
"""A file and a line that debug info names, those from which their function was called, and the
names of what was called there.
"""

NO_DEBUG: DebugPlace = ("", 0, (), ())


class DebugPlaces:
    """The places that the debug locations of one module name."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._nodes: dict[int, Node | None] = {}
        self._files: dict[int, str | None] = {}
        self._places: dict[int, DebugPlace] = {}

    def of(self, i: Instruction) -> DebugPlace:
        """The source location of an instruction's debug location; `NO_DEBUG` without one."""
        if i.dbg is None:
            return NO_DEBUG
        place = self._places.get(i.dbg)
        if place is None:
            place = self._places[i.dbg] = self._place(i.dbg)
        return place

    def resolve(self, dbg_id: int) -> tuple[str, int, int] | None:
        """The file, line and column of a debug location; for inlined code, inside the callee."""
        location = self._node(dbg_id)
        if not isinstance(location, DILocation) or location.scope is None:
            return None
        if location.scope not in self._files:
            self._files[location.scope] = self._file_of(location.scope)
        file = self._files[location.scope]
        return None if file is None else (file, location.line, location.column)

    def _place(self, dbg_id: int) -> DebugPlace:
        found = self.resolve(dbg_id)
        return NO_DEBUG if found is None else (*found[:2], *self._callers(dbg_id))

    def _callers(self, dbg_id: int) -> tuple[tuple[tuple[str, int], ...], tuple[str, ...]]:
        """The files and lines that code was inlined at, the innermost first, and its functions."""
        found: list[tuple[str, int]] = []
        names: list[str] = []
        seen: set[int] = set()
        node = self._node(dbg_id)
        while isinstance(node, DILocation) and (at := node.inlined_at) is not None:
            if at in seen:
                break
            seen.add(at)
            resolved = self.resolve(at)
            if resolved is None:
                break
            found.append(resolved[:2])
            names.append(self._function_of(node.scope))
            node = self._node(at)
        return tuple(found), tuple(names) if any(names) else ()

    def _function_of(self, scope: int | None) -> str:
        """The name of the function that a scope is in."""
        seen: set[int] = set()
        while scope is not None and scope not in seen:
            seen.add(scope)
            match self._node(scope):
                case DISubprogram(name=name):
                    return name
                case DILexicalBlock(scope=outer):
                    scope = outer
                case _:
                    scope = None
        return ""

    def _file_of(self, scope: int | None) -> str | None:
        """The path of the file of the innermost scope that names one."""
        seen: set[int] = set()
        while scope is not None and scope not in seen:
            seen.add(scope)
            node = self._node(scope)
            if isinstance(node, DIFile):
                return _path(node)
            if not isinstance(node, DISubprogram | DILexicalBlock):
                return None
            scope = node.scope if node.file is None else node.file
        return None

    def _node(self, id: int) -> Node | None:
        if id not in self._nodes:
            self._nodes[id] = read_node(self._module, id)
        return self._nodes[id]


def _path(file: DIFile) -> str:
    name, directory = file.filename, file.directory
    absolute = name.startswith(("/", "\\")) or re.match(r"[A-Za-z]:[\\/]", name)
    if absolute or not directory:
        return name
    separator = "\\" if "\\" in directory and "/" not in directory else "/"
    return directory.rstrip(separator) + separator + name

"""Modules: functions and variables for one target, with the source locations of their records.

Layer: intrinsics.mir.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, fields
from enum import Enum
from typing import TYPE_CHECKING

from intrinsics.findings import Finding
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir.declarations import Prototype, Variable
from intrinsics.mir.functions import MachineFunction
from intrinsics.targets import Ptx, Target


@dataclass(slots=True, unsafe_hash=True)
class Location:
    """A source location of a record; lines count from 1, 0 is unknown.

    `directives` are those of PTX before the record that belong to it: `.loc`, `.pragma`.  `callers`
    are the files and lines of the calls that led to the Python line, and `called` the names of the
    functions called there, where they are known.
    """

    file: str = ""
    line: int = 0
    column: int = 0
    python_file: str = ""
    python_line: int = 0
    directives: str = ""
    callers: tuple[tuple[str, int], ...] = ()
    called: tuple[str, ...] = ()


class DirectivePosition(Enum):
    """The position of a directive in a PTX module that is kept as text."""

    TOP = "top"  # before every declaration
    MIDDLE = "middle"  # behind the variables, before the functions
    BOTTOM = "bottom"


@dataclass(frozen=True, slots=True)
class KeptDirective:
    """A directive of a module, kept as text: `.file`, `.section`, `.alias`, unknown ones."""

    text: str
    where: DirectivePosition


@dataclass
class Module:
    """Machine code for one target.

    `ptx` is the requested version, or None for the lowest that the target and the records need.
    `externals` are functions that another module defines.  `locations[0]` is the unknown one;
    `notes` are findings of selection and passes.  `options` are those of `.target` (`debug`), and
    `kept` other directives of PTX.  `stage` is the last pass that was run, "" when no pass is
    missing.
    """

    target: Target
    ptx: Ptx | None = None
    source: str = ""
    variables: list[Variable] = field(default_factory=list)
    functions: list[MachineFunction] = field(default_factory=list)
    externals: list[Prototype] = field(default_factory=list)
    locations: list[Location] = field(default_factory=lambda: [Location()])
    notes: list[Finding] = field(default_factory=list, compare=False)
    options: tuple[str, ...] = ()
    kept: list[KeptDirective] = field(default_factory=list)
    stage: str = ""

    def locate_by(self, make: Callable[[], list[Location]]) -> None:
        """Compute the locations by `make` when they are first read."""
        vars(self).pop("locations", None)
        self._make_locations: Callable[[], list[Location]] = make

    @property
    def is_located(self) -> bool:
        """Whether the locations have been computed."""
        return "locations" in vars(self)

    if not TYPE_CHECKING:  # where `locations` is a field like others

        def __getattr__(self, name: str) -> list[Location]:
            if name != "locations" or "_make_locations" not in vars(self):
                raise AttributeError(name)
            self.locations = self._make_locations()
            return self.locations

    def __getstate__(self) -> dict[str, object]:
        """What is pickled: the locations are computed for it, as what computes them is code."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def has_directives(self) -> bool:
        """Whether records have directives of PTX before them, as records of LLVM IR do not."""
        return self.is_located and any(location.directives for location in self.locations)

    def function(self, name: str) -> MachineFunction | None:
        """The function called `name`."""
        return next((f for f in self.functions if f.name == name), None)

    def signature(self, name: str) -> Prototype | None:
        """The parameters and results of the function called `name`, defined here or external."""
        defined = self.function(name)
        if defined is not None:
            return defined.signature
        return next((f for f in self.externals if f.name == name), None)

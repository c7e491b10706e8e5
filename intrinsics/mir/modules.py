"""Modules: functions and variables for one target, with the source locations of their records.

Layer: intrinsics.mir.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from intrinsics.findings import Finding
from intrinsics.mir.declarations import Prototype, Variable
from intrinsics.mir.functions import MachineFunction
from intrinsics.targets import Ptx, Target


@dataclass(slots=True, unsafe_hash=True)
class Location:
    """Where a record comes from; lines count from 1, 0 says unknown.

    `directives` are those of PTX that stood before the record and are about it: `.loc`, `.pragma`.
    `callers` are the files and lines that called the function which has the line of Python, and
    `called` the names of what each called, where they are known.
    """

    file: str = ""
    line: int = 0
    column: int = 0
    python_file: str = ""
    python_line: int = 0
    directives: str = ""
    callers: tuple[tuple[str, int], ...] = ()
    called: tuple[str, ...] = ()


class Where(Enum):
    """Where in a PTX module a directive stands that nvgen keeps as text."""

    TOP = "top"  # before every declaration
    MIDDLE = "middle"  # behind the variables, before the functions
    BOTTOM = "bottom"


@dataclass(frozen=True, slots=True)
class Kept:
    """A module's directive kept as it stood: `.file`, `.section`, `.alias`, what is not known."""

    text: str
    where: Where


@dataclass
class Module:
    """Machine code for one target.

    `ptx` is the version asked for, or None to take the lowest that the target and the records need.
    `externals` are functions that another module defines.  `locations[0]` is the unknown one;
    `notes` are what selection and passes tell the user.  `options` are what `.target` says beside
    the target (`debug`), and `kept` are directives of PTX as they stood.  `stage` is the pass that
    was the last to change it, "" when no pass is missing.
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
    kept: list[Kept] = field(default_factory=list)
    stage: str = ""

    def locate_by(self, make: Callable[[], list[Location]]) -> None:
        """Let `make` give the locations when they are first asked for."""
        vars(self).pop("locations", None)
        self._make_locations: Callable[[], list[Location]] = make

    @property
    def is_located(self) -> bool:
        """Whether the locations are there, or have to be made."""
        return "locations" in vars(self)

    if not TYPE_CHECKING:  # where `locations` is a field like others

        def __getattr__(self, name: str) -> list[Location]:
            if name != "locations" or "_make_locations" not in vars(self):
                raise AttributeError(name)
            self.locations = self._make_locations()
            return self.locations

    @property
    def has_directives(self) -> bool:
        """Whether records have directives of PTX before them: those of LLVM IR have none."""
        return self.is_located and any(location.directives for location in self.locations)

    def function(self, name: str) -> MachineFunction | None:
        """The function called `name`."""
        return next((f for f in self.functions if f.name == name), None)

    def signature(self, name: str) -> Prototype | None:
        """What the function called `name` takes and gives, defined here or elsewhere."""
        defined = self.function(name)
        if defined is not None:
            return defined.signature
        return next((f for f in self.externals if f.name == name), None)

"""Intrinsics that are written out as PTX statements.

Layer: isel.select.
"""

from __future__ import annotations

from intrinsics.lazy_dataclass import dataclass
from intrinsics.targets import Capability


@dataclass(frozen=True, slots=True)
class Statement:
    """A text for each mode, if there are modes, and the constraints of inline assembly.

    The mode is the second argument, a constant, which the text does not name.  Arguments behind the
    last constraint are constants that the text has already.  `needs` are the targets and versions
    that have what is written, where not all do.
    """

    texts: tuple[str, ...]
    constraints: str
    needs: Capability | None = None

    @property
    def inputs(self) -> int:
        """The number of arguments that the text names."""
        return sum(part[0] not in "=~" for part in self.constraints.split(","))

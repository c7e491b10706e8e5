"""Collector buffers: matrices that a multiply may reuse without reading memory.

Layer: nvgen.sim.  The manual leaves it to the chip whether it takes a matrix from its buffer or
loads it again, and forbids to change the matrix in memory meanwhile.  So the simulator reads memory
every time, and compares: where a multiply with `use` or `lastuse` would find something else in
memory than in the buffer, the result is undefined, and that is a fault.  Buffers belong to the CTA
that issues, and follow the order of issue of its multiplies; that a fill takes effect before its
uses is not checked.  PTX ISA, TensorCore 5th Generation Matrix Multiply and accumulate Operations
(collector buffers).
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from intrinsics.element import ElementType
from intrinsics.lazy_dataclass import dataclass
from nvgen.sim.faults import fault

Codes = NDArray[np.unsignedinteger]
_SECTION = "tcgen05.mma (collector_usage)"


class Usage(Enum):
    """The use of a buffer by an instruction."""

    FILL = "fill"
    USE = "use"
    LASTUSE = "lastuse"
    DISCARD = "discard"


@dataclass(slots=True, eq=False)
class Held:
    """The matrix that a buffer was filled with: its type, its element codes, and which rows are
    known.
    """

    name: str
    type_: ElementType | None = None
    codes: Codes | None = None
    known: NDArray[np.bool_] | None = None

    def meet(self, type_: ElementType, codes: Codes, known: NDArray[np.bool_]) -> None:
        """Compare what a multiply reads from memory with what others of the same fill have read.

        `codes` has a row for each row (column, of B) of the matrix, `known` says which were read.
        Raises: Fault when they differ.
        """
        if self.codes is None or self.known is None:
            self.type_, self.codes, self.known = type_, codes.copy(), known.copy()
            return
        if type_ is not self.type_ or codes.shape[1:] != self.codes.shape[1:]:
            raise fault(
                "collector-other",
                f"collector buffer {self.name} holds a matrix of another form",
                got=_form(type_, codes),
                expected=_form(self.type_, self.codes),
                section=_SECTION,
            )
        rows = min(len(known), len(self.known))
        both = known[:rows] & self.known[:rows]
        differ = (codes[:rows] != self.codes[:rows]).any(axis=1) & both
        if differ.any():
            raise fault(
                "collector-stale",
                f"the matrix in memory is not what collector buffer {self.name} was filled with",
                got=f"{int(differ.sum())} rows differ, first row {int(np.flatnonzero(differ)[0])}",
                expected="the same matrix: the chip may read it from either",
                hint="do not change the matrix until the last multiply that uses it is complete, "
                "or fill the buffer again",
                section=_SECTION,
            )
        if len(known) > len(self.known):
            self.codes, self.known = codes.copy(), known.copy()


def _form(type_: ElementType | None, codes: Codes) -> str:
    return f"{type_.value if type_ else '?'}, K {codes.shape[1]}"


@dataclass(slots=True)
class Collectors:
    """The buffers of a CTA, by name: `a`, and `b0` to `b3` for weight-stationary multiplies."""

    held: dict[str, Held] = field(default_factory=dict)

    def claim(self, name: str, usage: Usage) -> Held | None:
        """The contents of the collector buffer that a multiply uses, as it is issued; None where it
        discards them.

        Raises: Fault when it uses a buffer that nothing has filled, or that was discarded.
        """
        if usage is Usage.DISCARD:
            self.held.pop(name, None)
            return None
        if usage is Usage.FILL:
            self.held[name] = Held(name)
            return self.held[name]
        found = self.held.get(name)
        if found is None:
            raise fault(
                "collector-empty",
                f"collector buffer {name} is used, and no fill of it is valid",
                got=f"::{usage.value}",
                expected=f"a multiply with collector::{name}::fill before, and none in between "
                f"that discards the buffer",
                hint="a multiply without a collector qualifier discards the buffer, too",
                section=_SECTION,
            )
        if usage is Usage.LASTUSE:
            del self.held[name]
        return found

"""tcgen05.mma, what a record says: its form, its collector buffer, the values of its operands.

Layer: nvgen.sim.semantics.  Input: a machine record; output: what the modifiers mean, and the
operands' values in the lane that issues it.  PTX ISA, tcgen05.mma, .sp, .ws and .ws.sp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Imm, MachineInstr, Mem
from intrinsics.modifiers import CtaGroup, MmaKind, Modifier, ScalarType, ScaleVec
from nvgen.sim.memory.collectors import Usage
from nvgen.sim.semantics.tcgen05.mma_check import MmaModifiers
from nvgen.sim.threads.compile import Compiler, Getter
from nvgen.sim.threads.machine import Warp

_STATIONARY = "tcgen05.mma.ws"
_Word: TypeAlias = Callable[[Warp, int], int]


@dataclass(frozen=True, slots=True)
class Values:
    """The operands of one multiply; None where it has no such operand."""

    d: int
    a: int
    b: int
    idesc: int
    enable_d: bool
    sfa: int | None
    sfb: int | None
    sp_meta: int | None
    zero_mask: int | None
    mask: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Operands:
    """The operands of a record, each as what gives its value; `scale_d` is a number in it."""

    needed: tuple[_Word, ...]
    others: tuple[_Word | None, ...]
    mask: tuple[_Word, ...]
    scale_d: int

    @classmethod
    def of(cls, c: Compiler, mi: MachineInstr) -> Operands:
        """The operands of a record."""

        def word(slot: str, type_: ScalarType) -> _Word | None:
            op = mi.get(slot)
            if op is None:
                return None
            return _lane_of(c.address(op) if isinstance(op, Mem) else c.get(op, type_))

        needed = [
            word("d", ScalarType.U32),
            word("a", ScalarType.U64),
            word("b", ScalarType.U64),
            word("idesc", ScalarType.U32),
            word("enable_d", ScalarType.PRED),
        ]
        others = [word(slot, ScalarType.U32) for slot in ("sfa", "sfb", "sp_meta")]
        others.append(word("zero_mask", ScalarType.U64))
        scale, mask = mi.get("scale_d"), mi.get("mask")
        words = mask if isinstance(mask, tuple) else ()
        return cls(
            tuple(w for w in needed if w is not None),
            tuple(others),
            tuple(_lane_of(c.get(op, ScalarType.B32)) for op in words),
            scale.value if isinstance(scale, Imm) else 0,
        )

    def values(self, warp: Warp, lane: int) -> Values:
        """Their values in a lane."""
        d, a, b, idesc, enable = (word(warp, lane) for word in self.needed)
        sfa, sfb, sp_meta, zero_mask = (
            None if word is None else word(warp, lane) for word in self.others
        )
        mask = tuple(word(warp, lane) for word in self.mask)
        return Values(d, a, b, idesc, bool(enable), sfa, sfb, sp_meta, zero_mask, mask)


def _lane_of(get: Getter | Callable[[Warp], NDArray[np.int64]]) -> _Word:
    return lambda warp, lane: int(get(warp)[lane])


def form_of(mi: MachineInstr) -> MmaModifiers:
    """The form of a multiply, decoded from its modifiers, and the location of A."""
    attributes = mi.attributes()
    kind, scale_vec = attributes["kind"], attributes.get("scale_vec")
    assert isinstance(kind, MmaKind)
    return MmaModifiers(
        kind,
        2 if attributes.get("cta_group") is CtaGroup.TWO else 1,
        mi.row.id.startswith(_STATIONARY),
        mi.get("sp_meta") is not None,
        isinstance(mi["a"], Mem),
        attributes.get("ashift") is not None,
        scale_vec if isinstance(scale_vec, ScaleVec) else None,
    )


def collector_of(mi: MachineInstr) -> tuple[str, Usage]:
    """The collector buffer of a record and what it does with it: by default, discard."""
    attributes = mi.attributes()
    found = attributes.get("collector_ws") or attributes.get("collector_a")
    if not isinstance(found, Modifier):
        return ("b0" if mi.row.id.startswith(_STATIONARY) else "a"), Usage.DISCARD
    _, buffer, usage = found.value.split("::")
    return buffer, Usage(usage)

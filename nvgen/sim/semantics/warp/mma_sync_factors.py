"""mma with .block_scale: scale factors of A and B from registers.

Layer: nvgen.sim.semantics.  A factor scales a block of a row's elements, so many as K divided by
the factors of a row; where A is sparse its zeros count.  The selectors of byte and thread are
numbers, or registers that the threads of a warp must agree on.  PTX ISA, Block Scaling for
mma.sync; see `intrinsics.layouts.fragments_mma_factors`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from intrinsics.element import ElementType
from intrinsics.layouts.fragments_mma_factors import (
    FACTORS,
    PROVIDERS,
    factor_bytes,
    factor_fragment,
)
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import Modifier, ScalarType, ScaleVec
from nvgen.sim.faults import fault, not_simulated
from nvgen.sim.semantics.tcgen05.mma_operands import numbers
from nvgen.sim.semantics.warp.mma_sync_numbers import Factors
from nvgen.sim.threads.compile import Compiler
from nvgen.sim.threads.machine import Strand
from nvgen.sim.threads.steps import uniform

Read: TypeAlias = Callable[[Strand], Factors]
"""The factor of each element of a matrix: rows by K."""

_SECTION = "Block Scaling for mma.sync"


def factors(c: Compiler, mi: MachineInstr, matrix: str, usual: ScaleVec, k: int) -> Read:
    """The factors of `matrix`, "a" or "b", of K = `k`; `usual` is the number that is left out."""
    vector = mi.form.attributes.get("scale_vec") or usual
    stype = mi.form.attributes["stype"]
    assert isinstance(vector, ScaleVec)
    assert isinstance(stype, Modifier)
    count, type_ = FACTORS[vector], ElementType(stype.value)
    words, places = mi[f"sf{matrix}"], mi[f"sf{matrix}_place"]
    assert isinstance(places, tuple)
    held = c.get(words, ScalarType.B32)
    byte, thread = (c.get(place, ScalarType.U16) for place in places)
    agent = f"{mi.row.head} (scale factors of {matrix.upper()})"

    def read(strand: Strand) -> Factors:
        warp = strand.warp
        first = uniform(byte(warp), strand, "a selector of bytes")
        giver = uniform(thread(warp), strand, "a selector of threads")
        _check(agent, "byte", first, factor_bytes(count))
        _check(agent, "thread", giver, range(PROVIDERS[matrix]))
        lane, place = factor_fragment(matrix, count, first, giver)
        bytes_ = held(warp).astype(np.uint32)[lane] >> (8 * place).astype(np.uint32)
        codes = (bytes_ & np.uint32(0xFF)).astype(np.uint8)
        if type_ is ElementType.UE4M3 and (codes & 0x80).any():
            raise not_simulated(f"{agent}: a UE4M3 factor whose highest bit is set")
        return np.repeat(numbers(codes, type_), k // count, axis=1)

    return read


def _check(agent: str, what: str, number: int, allowed: range) -> None:
    if number not in allowed:
        raise fault(
            "scale-selector",
            f"{agent}: no such selector of a {what}",
            got=str(number),
            expected=", ".join(map(str, allowed)),
            section=_SECTION,
        )

"""mma.m8n8k4 of f16: a warp makes four multiplies, each with eight of its threads.

Layer: nvgen.sim.semantics.  A and B may be row- or column-major: then threads hold other elements.
PTX ISA, mma; see `intrinsics.layouts.fragments_mma_quarters`.
"""

from __future__ import annotations

import numpy as np

from intrinsics.layouts.fragments_mma_quarters import QUARTERS, quarter_a, quarter_b, quarter_c
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import ScalarType
from intrinsics.modifiers.mma_sync import MmaLayout
from nvgen.sim.semantics.warp.mma_sync_numbers import multiplier
from nvgen.sim.semantics.warp.mma_sync_registers import elements, matrices, too_few, writer
from nvgen.sim.threads.compile import Compiler
from nvgen.sim.threads.machine import FULL, Outcome, Step, Strand

_K = 4
_SIDE = 8


def multiply(c: Compiler, mi: MachineInstr) -> Step:
    """D = A·B + C, four times."""
    attributes = mi.form.attributes
    alayout, blayout = attributes["alayout"], attributes["blayout"]
    assert isinstance(alayout, MmaLayout)
    assert isinstance(blayout, MmaLayout)
    bits = [
        16 if attributes[qualifier] is ScalarType.F16 else 32 for qualifier in ("ctype", "dtype")
    ]
    held = {name: mi.row.operand[name].type_under(attributes) for name in "abc"}
    a, b = (elements(c, mi[name], held[name], 16) for name in "ab")
    old = elements(c, mi["c"], held["c"], bits[0])
    write, compute = writer(c, mi["d"], bits[1]), multiplier(attributes)
    a_at, b_at = quarter_a(alayout), quarter_b(blayout)
    c_at, d_at = (quarter_c(size) for size in bits)

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        if strand.mask != FULL:
            raise too_few(mi, strand)
        left = matrices(a(warp), a_at, (QUARTERS, _SIDE, _K))
        right = matrices(b(warp), b_at, (QUARTERS, _SIDE, _K))
        before = matrices(old(warp), c_at, (QUARTERS, _SIDE, _SIDE))
        found = [compute(*parts, None) for parts in zip(left, right, before, strict=True)]
        write(strand, np.stack(found)[d_at])
        return None

    return run

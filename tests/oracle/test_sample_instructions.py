"""A sample's PTX asks the same of the machine as what LLVM prints for the same IR, by opcode.

A record of LLVM's counts says what a change of the builder or of a sample has changed: where both
compilers agree on the new counts, and a person finds them right, it is written anew with
`python -m tests.oracle.sample_instructions`.
"""

from __future__ import annotations

import pytest

from tests.oracle.sample_instructions import (
    by_llvm,
    by_nvgen,
    counted,
    differences,
    kernels,
    recorded,
)

KERNELS = kernels()


@pytest.mark.turns(12)
@pytest.mark.parametrize("name", KERNELS)
def test_a_sample_asks_the_same_of_the_machine_as_llvms_ptx_of_it(name: str):
    build, target = KERNELS[name]
    text = build()
    theirs = by_llvm(text, target)
    assert differences(theirs, by_nvgen(text, target)) == [], "LLVM's number, now nvgen's"
    changed = differences(recorded()[name], theirs)
    assert changed == [], "the builder or the sample makes another kernel than is recorded"


def test_every_recorded_kernel_is_a_samples():
    assert recorded().keys() == KERNELS.keys()


def test_what_counts():
    ptx = """
    loop: // st.shared.b32 in a comment
        @%p1 st.shared.v2.b64 [%r1], {%rd1, %rd2};
        add.s32 %r2, %r2, 1; bar.sync 0;
        { // callseq 0, 0
        call.uni llvm.nvvm.wgmma.mma_async.m64n8k16.f32.f16.f16.registers, (param0);
        }
        wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1}, %rd1, %rd2, 1, 1, 1, 0, 0;
        atom.relaxed.gpu.global.add.u32 %r3, [%rd3], 1;
        @!%p2 bra loop;
    """
    assert counted(ptx) == {
        "st.shared, 16 bytes": 1,
        "bar.sync": 1,
        "wgmma.mma_async.m64n8k16.f32.f16.f16": 2,
        "atom.global.add.u32": 1,
    }

"""Tensor maps of a launch: those that the machine cannot make, or cannot use as the kernel does.

What the machine can do an H200 was asked (tests/sim/copies/test_tma_modes.py, tests/driver); here
is where a launch says it, before anything runs.
"""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.descriptors.smem_desc import Swizzle
from intrinsics.element import ElementType as E
from intrinsics.findings import Finding, InputError
from intrinsics.modifiers import AtomicOp
from nvgen import KernelBuilder
from nvgen.compilation.compiled import Compiled
from nvgen.launching.tensor_map import tensor_map


def reducing(op: AtomicOp, dtype: E = E.S32) -> Compiled:
    """A kernel that combines a tile of zeros with its tensor."""
    b = KernelBuilder("k", block=32)
    b.tensor_map("sums", dtype=dtype, box=(8, 32), output=True)
    args = b.begin()
    tile = b.shared_tile("tile", dtype, (8, 32), swizzle=128)
    with b.elect():
        b.cp_async_bulk_tensor_reduce_tile(op, args["sums"], (0, 0), tile.pointer)
        b.cp_async_bulk_commit_group()
        b.cp_async_bulk_wait_group(0)
    return b.finish().compile(target="sm_90a")


def refused(compiled: Compiled, *arguments: object) -> Finding:
    with pytest.raises(InputError) as caught:
        compiled.run(*arguments)
    (found,) = caught.value.findings
    return found


def test_a_reduction_of_a_type_that_no_gpu_combines_so() -> None:
    found = refused(reducing(AtomicOp.INC), np.zeros((64, 32), np.int32))
    assert found.rule == "tensor-map/reduction"
    assert found.got == ".inc of S32, tensor map sums"
    assert found.expected == "U32"
    assert found.place.python_line
    assert found.section == "PTX ISA, cp.reduce.async.bulk.tensor"


def test_the_map_decides_about_the_type_and_not_the_kernel() -> None:
    array = np.zeros((64, 32), np.int64)
    map_ = tensor_map(array, (8, 16), 128)
    assert refused(reducing(AtomicOp.XOR), map_).got == ".xor of S64, tensor map sums"


def test_swizzling_that_the_target_does_not_have() -> None:
    map_ = tensor_map(np.zeros((64, 32), np.int32), (8, 32), Swizzle.B128_ATOM32)
    found = refused(reducing(AtomicOp.ADD), map_)
    assert (found.rule, found.got) == ("tensor-map/swizzle-target", "9.0")

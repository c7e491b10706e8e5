"""Products of single multiply instructions in the simulator are those of numpy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import nvgen
from intrinsics.findings import NvgenError, SelectionError, VerificationError
from intrinsics.modifiers import MmaKind
from nvgen.sim.faults import NotSimulatedError
from tests.oracle.gemm import DTYPES, Gemm, to_type
from tests.oracle.products import Array
from tests.sim.kernels import Mma, TensorProgram
from tests.sim.layouts import accumulator_lane
from tests.sim.matrices import (
    INSTRUCTION_K,
    Placement,
    instruction_descriptor,
    matrix_descriptor,
    placements,
)

# ---- single instructions ---------------------------------------------------------------------

KINDS = {
    "f16": (MmaKind.F16, "f32"),
    "bf16": (MmaKind.F16, "f32"),
    "tf32": (MmaKind.TF32, "f32"),
    "e4m3": (MmaKind.F8F6F4, "f32"),
    "e5m2": (MmaKind.F8F6F4, "f32"),
    "s8": (MmaKind.I8, "s32"),
    "u8": (MmaKind.I8, "s32"),
}
INPUTS: dict[str, np.dtype[np.generic]] = {
    **DTYPES,
    "s8": np.dtype(np.int8),
    "u8": np.dtype(np.uint8),
}
COLUMNS = 128


def integers(rng: np.random.Generator, shape: tuple[int, int], name: str) -> Array:
    """Integers that the type holds exactly, negative ones where it has them."""
    low, high = {"s8": (-128, 128), "u8": (0, 256)}.get(name, (-8, 9))
    return rng.integers(low, high, shape).astype(INPUTS[name])


def product(a: Array, b: Array) -> NDArray[np.float64]:
    return a.astype(np.float64) @ b.astype(np.float64).T


def multiply(
    a: Array,
    b: Array,
    a_name: str,
    b_name: str,
    a_place: Placement,
    b_place: Placement,
    *,
    before: NDArray[np.generic] | None = None,
    d: str = "",
    saturate: bool = False,
    negate_a: bool = False,
    negate_b: bool = False,
    scale_d: int | None = None,
    mask: tuple[int, int, int, int] | None = None,
    b_desc: int | None = None,
) -> NDArray[np.uint32]:
    """The words of D after one MMA of matrices placed in shared memory; `before` is added."""
    kind, result = KINDS[a_name]
    m, n = len(a), len(b)
    idesc = instruction_descriptor(
        kind,
        m,
        n,
        a_name,
        b_name,
        d or result,
        a_mn=a_place.mn_major,
        b_mn=b_place.mn_major,
        saturate=saturate,
        negate_a=negate_a,
        negate_b=negate_b,
    )
    images = a_place.image(a), b_place.image(b)
    mma = Mma(
        kind,
        idesc,
        a_place.descriptor,
        b_place.descriptor if b_desc is None else b_desc,
        enable_d=int(before is not None),
        scale_d=scale_d,
        mask=mask,
    )
    lanes = [accumulator_lane(row, m) for row in range(m)]
    cells = np.full((128, COLUMNS), 0xDEADBEEF, np.uint32)
    if before is not None:
        cells[lanes, :n] = before.view(np.uint32)
    after = TensorProgram(COLUMNS, images[0].size, images[1].size, (mma,)).run(cells, *images)
    others = np.ones(cells.shape, bool)
    others[np.ix_(lanes, range(n))] = False
    assert np.array_equal(after[others], cells[others]), "cells that are not D's have changed"
    return after[lanes, :n]


PAIRS = [
    ("f16", "f16"),
    ("bf16", "bf16"),
    ("e4m3", "e5m2"),
    ("e5m2", "e4m3"),
    ("s8", "s8"),
    ("u8", "u8"),
    ("s8", "u8"),
    ("u8", "s8"),
]


@pytest.mark.turns(32)
@pytest.mark.parametrize("majors", ["K K", "MN K", "K MN", "MN MN"])
@pytest.mark.parametrize(("a_name", "b_name"), PAIRS)
def test_every_layout_of_both_matrices(a_name: str, b_name: str, majors: str):
    """A and B K- or MN-major, with every swizzle and two ways to choose the strides each."""
    rng = np.random.default_rng(7)
    size = INPUTS[a_name].itemsize
    k = 32 // size
    m, n = 64, 64
    a, b = integers(rng, (m, k), a_name), integers(rng, (n, k), b_name)
    a_major, b_major = majors.split()
    a_places = placements(size, m, k, mn_major=a_major == "MN")
    b_places = placements(size, n, k, mn_major=b_major == "MN")
    dtype = np.int32 if KINDS[a_name][1] == "s32" else np.float32
    for index, a_place in enumerate(a_places):
        b_place = b_places[(3 * index + 1) % len(b_places)]
        found = multiply(a, b, a_name, b_name, a_place, b_place)
        assert np.array_equal(found.view(dtype), product(a, b)), (a_place, b_place)


@pytest.mark.turns(6)
def test_every_layout_of_tf32():
    rng = np.random.default_rng(8)
    a, b = integers(rng, (128, 8), "tf32"), integers(rng, (48, 8), "tf32")
    b_places = placements(4, 48, 8, mn_major=False)
    for index, a_place in enumerate(placements(4, 128, 8, mn_major=False)):
        found = multiply(a, b, "tf32", "tf32", a_place, b_places[-1 - index])
        assert np.array_equal(found.view(np.float32), product(a, b)), a_place


@pytest.mark.parametrize("span", [0, 32, 64, 128])
def test_tf32_is_not_transposed_with_this_swizzle(span: int):
    """Tables 49 and 52: 32-bit types only with 128-byte swizzling of 32-byte atoms."""
    a, b = np.ones((64, 8), np.float32), np.ones((32, 8), np.float32)
    place = next(p for p in placements(4, 64, 8, mn_major=True) if p.span == span)
    with pytest.raises(NvgenError):
        multiply(a, b, "tf32", "tf32", place, placements(4, 32, 8, mn_major=False)[0])


@pytest.mark.parametrize("n", [8, 24, 40])
def test_8_bit_types_are_not_transposed_with_such_an_n(n: int):
    """Table 50: N is a multiple of 16 when B is N-major and its type has 8 bits."""
    a, b = np.ones((64, 32), INPUTS["e4m3"]), np.ones((n, 32), INPUTS["e4m3"])
    place = Placement(True, 0, 128 * (n // 16 + 1), 128)
    with pytest.raises(NvgenError):
        multiply(a, b, "e4m3", "e4m3", placements(1, 64, 32, mn_major=False)[0], place)


@pytest.mark.parametrize("n", [40, 56, 72])
def test_i8_has_no_such_n(n: int):
    """Table 39: steps of 16 after N = 32."""
    a, b = np.ones((64, 32), np.int8), np.ones((n, 32), np.int8)
    place = placements(1, 64, 32, mn_major=False)[2]
    with pytest.raises(NvgenError):
        multiply(a, b, "s8", "s8", place, place)


K_MAJOR = Placement(False, 32, 16, 256)


@pytest.mark.parametrize("target", ["sm_103a", "sm_100f"])
def test_i8_exists_on_few_targets(target: str):
    idesc = instruction_descriptor(MmaKind.I8, 64, 16, "s8", "s8", "s32")
    mma = Mma(MmaKind.I8, idesc, K_MAJOR.descriptor, K_MAJOR.descriptor)
    with pytest.raises(NvgenError) as caught:
        TensorProgram(32, 4096, 4096, (mma,), target=target)
    assert "i8" in str(caught.value).lower()


@pytest.mark.turns(4)
@pytest.mark.parametrize("m", [64, 128])
@pytest.mark.parametrize("name", KINDS)
def test_the_accumulator_is_added_when_enabled(name: str, m: int):
    rng = np.random.default_rng(m)
    k = 32 // INPUTS[name].itemsize
    a, b = integers(rng, (m, k), name), integers(rng, (16, k), name)
    dtype = np.int32 if KINDS[name][1] == "s32" else np.float32
    before = rng.integers(-5000, 5000, (m, 16)).astype(dtype)
    found = multiply(a, b, name, name, K_MAJOR, K_MAJOR, before=before)
    assert np.array_equal(found.view(dtype), product(a, b) + before)


@pytest.mark.parametrize("saturate", [False, True])
def test_i8_sums_wrap_around_unless_they_saturate(saturate: bool):
    a, b = np.full((64, 32), 127, np.int8), np.full((16, 32), 127, np.int8)
    b[8:] = -128
    before = np.full((64, 16), 2**31 - 1000, np.int32)
    before[:, 8:] = -(2**31) + 1000
    exact = a.astype(np.int64) @ b.astype(np.int64).T + before
    limits = np.iinfo(np.int32)
    wrapped = exact.astype(np.uint64).astype(np.uint32).view(np.int32)
    expected = np.clip(exact, limits.min, limits.max) if saturate else wrapped
    assert not np.array_equal(expected, exact) or saturate
    found = multiply(a, b, "s8", "s8", K_MAJOR, K_MAJOR, before=before, saturate=saturate)
    assert np.array_equal(found.view(np.int32), expected)


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", ["f16", "bf16", "tf32"])
@pytest.mark.parametrize("power", [0, 1, 7, 15])
def test_the_accumulator_is_scaled_by_a_power_of_two(name: str, power: int):
    """scale-input-d: D = A·B + D·2⁻ⁿ."""
    rng = np.random.default_rng(power)
    k = 32 // INPUTS[name].itemsize
    a, b = integers(rng, (128, k), name), integers(rng, (32, k), name)
    before = (rng.integers(-100, 100, (128, 32)) * 2.0**power).astype(np.float32)
    found = multiply(a, b, name, name, K_MAJOR, K_MAJOR, before=before, scale_d=power)
    assert np.array_equal(found.view(np.float32), product(a, b) + before / 2.0**power)


@pytest.mark.parametrize("name", ["f16", "e4m3", "e5m2"])
def test_an_f16_result_is_in_the_low_half_of_each_word(name: str):
    """Packing format for matrix D: one element of 16 bits a word."""
    rng = np.random.default_rng(5)
    k = 32 // INPUTS[name].itemsize
    a, b = integers(rng, (64, k), name), integers(rng, (24, k), name)
    before = rng.integers(-30, 30, (64, 24)).astype(np.float16)
    words = before.view(np.uint16).astype(np.uint32)
    found = multiply(a, b, name, name, K_MAJOR, K_MAJOR, before=words, d="f16")
    low = found.astype(np.uint16).view(np.float16)
    assert np.array_equal(low, (product(a, b) + before).astype(np.float16))


def test_an_f16_result_too_large_is_infinite():
    a, b = np.full((64, 16), 256, np.float16), np.full((8, 16), 16, np.float16)
    b[4:] = -16
    found = multiply(a, b, "f16", "f16", K_MAJOR, K_MAJOR, d="f16")
    low = found.astype(np.uint16).view(np.float16)
    assert (low[:, :4] == np.inf).all()
    assert (low[:, 4:] == -np.inf).all()


def test_several_mmas_of_one_thread_add_up_in_order():
    """The first replaces the accumulator, the others add to it; a fourth writes elsewhere."""
    rng = np.random.default_rng(9)
    k = 16
    parts = [(integers(rng, (128, k), "f16"), integers(rng, (16, k), "f16")) for _ in range(3)]
    a_images = [K_MAJOR.image(a, 4096) for a, _ in parts]
    b_images = [K_MAJOR.image(b, 1024) for _, b in parts]
    idesc = instruction_descriptor(MmaKind.F16, 128, 16, "f16", "f16")
    descriptor = K_MAJOR.descriptor
    mmas = [
        Mma(MmaKind.F16, idesc, descriptor, descriptor, 4096 * i, 1024 * i, enable_d=int(i > 0))
        for i in range(3)
    ]
    mmas.append(Mma(MmaKind.F16, idesc, descriptor, descriptor, 8192, 0, d=16))
    program = TensorProgram(32, 3 * 4096, 3 * 1024, tuple(mmas))
    for schedule in ("early", "late", "random:3"):
        cells = np.full((128, 32), 0x7FC00000, np.uint32)
        found = program.run(
            cells, np.concatenate(a_images), np.concatenate(b_images), schedule=schedule
        ).view(np.float32)
        assert np.array_equal(found[:, :16], sum(product(a, b) for a, b in parts))
        assert np.array_equal(found[:, 16:], product(parts[2][0], parts[0][1]))


# ---- what is not simulated -------------------------------------------------------------------


def small(name: str = "f16") -> tuple[Array, Array]:
    k = 32 // INPUTS[name].itemsize
    return np.ones((64, k), INPUTS[name]), np.ones((16, k), INPUTS[name])


@pytest.mark.parametrize(("left", "right"), [(True, False), (False, True), (True, True)])
def test_negated_matrices(*, left: bool, right: bool):
    rng = np.random.default_rng(4)
    a, b = integers(rng, (64, 16), "f16"), integers(rng, (16, 16), "f16")
    found = multiply(a, b, "f16", "f16", K_MAJOR, K_MAJOR, negate_a=left, negate_b=right)
    sign = 1 if left is right else -1
    assert np.array_equal(found.view(np.float32), sign * product(a, b))


def test_i8_matrices_are_never_negated():
    """Table 49."""
    a, b = small("s8")
    with pytest.raises(VerificationError, match="idesc-negate"):
        multiply(a, b, "s8", "s8", K_MAJOR, K_MAJOR, negate_a=True)


def test_rows_along_k_with_32_byte_atoms_are_not_simulated():
    """No public source says where they lie."""
    a, b = small()
    word = matrix_descriptor(span=32, lbo=16, sbo=256) & ~(7 << 61) | 1 << 61
    with pytest.raises(NotSimulatedError):
        multiply(a, b, "f16", "f16", K_MAJOR, K_MAJOR, b_desc=word)


NOT_SELECTED = {
    "wgmma": "call void @llvm.nvvm.wgmma.fence.sync.aligned()",
}


def one_call(line: str) -> str:
    return f"""
@s = internal addrspace(3) global [1024 x i8] undef, align 128
define ptx_kernel void @k(ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %map,
    ptr addrspace(1) %g, i32 %x) "nvvm.reqntid"="32" {{
  %d = inttoptr i32 %x to ptr addrspace(6)
  {line}
  ret void
}}
"""


@pytest.mark.parametrize("name", NOT_SELECTED)
def test_this_instruction_is_not_selected_yet(name: str):
    """When it is, it should be simulated, or say that it is not."""
    with pytest.raises(SelectionError):
        nvgen.compile(one_call(NOT_SELECTED[name]), target="sm_100a")


# ---- the oracle itself -----------------------------------------------------------------------


def test_the_references_own_numbers():
    """A product small enough to check by hand, and the rounding of tf32."""
    problem = Gemm(64, 8, 16, add_c=True)
    a, b = np.zeros((64, 16), np.float16), np.zeros((8, 16), np.float16)
    a[3, 5], b[2, 5] = 3, -7
    c = np.full((64, 8), 100, np.float32)
    expected = problem.expected(a, b, c)
    assert expected[3, 2] == 79
    assert (expected == 100).sum() == 64 * 8 - 1
    assert to_type(np.array([1 + 2.0**-11]), "tf32")[0] == 1
    assert to_type(np.array([1 + 2.0**-10]), "tf32")[0] == 1 + 2.0**-10
    assert INSTRUCTION_K[MmaKind.F8F6F4] == 32
    assert np.array_equal(
        np.array([448.0, 2.0**-9], ml_dtypes.float8_e4m3fn).view(np.uint8), [0x7E, 0x01]
    )

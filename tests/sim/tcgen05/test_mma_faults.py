"""What a tcgen05.mma refuses: descriptors that mean nothing, and memory that is not there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from intrinsics.modifiers import MmaKind
from nvgen.sim.faults import Fault, NotSimulatedError
from nvgen.sim.semantics.tcgen05.mma_check import (
    MmaModifiers,
    scale_address,
    shape_of,
    shared_descriptor,
    tensor_address,
)
from tests.sim.kernels import TensorProgram
from tests.sim.matrices import instruction_descriptor, matrix_descriptor, scaled_descriptor
from tests.sim.tcgen05.mma_case import COLUMNS, IMAGE, Case, image, prepared
from tests.sim.tcgen05.mma_inputs import dense

F16, TF32, I8, MXF4 = MmaKind.F16, MmaKind.TF32, MmaKind.I8, MmaKind.MXF4


def of_f16(m: int = 128, n: int = 16, **more: bool) -> int:
    return instruction_descriptor(F16, m, n, "f16", "f16", **more)


def of_i8(**more: int) -> int:
    return instruction_descriptor(I8, 128, 16, "s8", "s8", "s32", **more)


def of_mxf4(**more: bool) -> int:
    return scaled_descriptor(MXF4, 128, 16, "e2m1", "e2m1", **more)


PLAIN, TRANSPOSED = of_f16(), of_f16(a_mn=True)
UNSWIZZLED = matrix_descriptor(span=0, lbo=128, sbo=256)

IDESC = {
    "a reserved bit": (PLAIN | 1 << 6, MmaModifiers(F16), "reserved bits"),
    "a type that the kind does not have": (PLAIN | 3 << 7, MmaModifiers(F16), "type code"),
    "M of a pair": (of_f16(m=256), MmaModifiers(F16), "M does not exist"),
    "M = 32 without .ws": (of_f16(m=32, n=64), MmaModifiers(F16), "M does not exist"),
    "N = 16 with .ws": (PLAIN, MmaModifiers(F16, ws=True), "N does not exist"),
    "N = 0": (of_f16(n=0), MmaModifiers(F16), "N does not exist"),
    "dense, and marked sparse": (of_f16(sparse=True), MmaModifiers(F16), "a dense multiply"),
    "sparse, and marked dense": (PLAIN, MmaModifiers(F16, sparse=True), "a sparse multiply"),
    "a selector that must be 0": (
        of_i8(sparse=True, selector=1),
        MmaModifiers(I8, sparse=True),
        "selector",
    ),
    "saturation of floats": (of_f16(saturate=True), MmaModifiers(F16), "saturates"),
    "negated integers": (of_i8(negate_a=True), MmaModifiers(I8), "negate"),
    "D of f16 from bf16": (
        instruction_descriptor(F16, 128, 16, "bf16", "f16", "f16"),
        MmaModifiers(F16),
        "f16 inputs",
    ),
    "K = 96 on one CTA": (of_mxf4(k96=True), MmaModifiers(MXF4), "K = 96"),
    "a transposed 4-bit matrix": (of_mxf4(b_mn=True), MmaModifiers(MXF4), "transpose"),
    "A in tensor memory, transposed": (
        TRANSPOSED,
        MmaModifiers(F16, a_in_tensor=True),
        "marked transposed",
    ),
}


@pytest.mark.parametrize("name", IDESC)
def test_an_instruction_descriptor_that_means_nothing(name: str):
    word, form, words = IDESC[name]
    with pytest.raises(Fault, match=words) as caught:
        shape_of(word, form)
    assert caught.value.findings[0].rule == "sim/idesc"


def test_what_is_not_documented_is_not_simulated():
    with pytest.raises(NotSimulatedError, match="ti16"):
        shape_of(PLAIN, MmaModifiers(MmaKind.TI16))


SMEM = {
    "no constant": (0, PLAIN, "0b001"),
    "a reserved bit": (UNSWIZZLED | 1 << 55, PLAIN, "must be 0"),
    "no such swizzling": (UNSWIZZLED | 3 << 61, PLAIN, "swizzling mode"),
    "32-byte atoms of f16, transposed": (UNSWIZZLED | 1 << 61, TRANSPOSED, "another swizzling"),
    "an absolute leading dimension without swizzling": (
        UNSWIZZLED | 1 << 52,
        PLAIN,
        "absolute leading dimension",
    ),
}


@pytest.mark.parametrize("name", SMEM)
def test_a_shared_memory_descriptor_that_means_nothing(name: str):
    word, idesc, words = SMEM[name]
    with pytest.raises(Fault, match=words) as caught:
        shared_descriptor(word, "A", shape_of(idesc, MmaModifiers(F16)))
    assert caught.value.findings[0].rule == "sim/smem-desc"


def test_a_transposed_tf32_matrix_has_atoms_of_32_bytes():
    shape = shape_of(
        instruction_descriptor(TF32, 128, 16, "tf32", "tf32", a_mn=True), MmaModifiers(TF32)
    )
    word = matrix_descriptor(span=128, lbo=1024, sbo=512)
    with pytest.raises(Fault, match="another swizzling"):
        shared_descriptor(word, "A", shape)
    assert shared_descriptor(word & ~(7 << 61) | 1 << 61, "A", shape).sbo == 512


def test_addresses_begin_at_lanes_that_the_layout_allows():
    assert tensor_address(16 << 16 | 7, "D", (0, 16)).column == 7
    for lane in (1, 8, 32, 112, 128):
        with pytest.raises(Fault) as caught:
            tensor_address(lane << 16, "D", (0, 16))
        assert caught.value.findings[0].rule == "sim/lane-alignment"
    assert scale_address(3 << 30 | 9, "SFA").column == 9
    with pytest.raises(Fault):
        scale_address(32 << 16, "SFA")


# ---- memory ----------------------------------------------------------------------------------


def fault_of(case: Case, **change: object) -> str:
    """The rule of the fault that a changed instruction ends in."""
    given = dense(case)
    mma = replace(case.mma(), **change)
    a = image(given.a, case.a, case.kind, case.a_place) if case.a_place else None
    b = image(given.b, case.b, case.kind, case.b_place)
    program = TensorProgram(COLUMNS, IMAGE if case.a_place else 0, IMAGE, (mma,))
    with pytest.raises(Fault) as caught:
        program.run(prepared(case, given), a, b)
    return caught.value.findings[0].rule


HALF = Case(F16, 64, 16, "f16", "f16", lane=16, a_place=None)


@pytest.mark.wrong_kernel
@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("case", "change", "rule"),
    [
        (HALF, {"a_cell": 288}, "sim/lane-alignment"),
        (Case(F16, 128, 16, "f16", "f16", a_place=None), {"a_cell": 509}, "tensor-memory-bounds"),
        (Case(F16, 128, 16, "f16", "f16"), {"d": 500}, "tensor-memory-bounds"),
        (Case(F16, 128, 16, "f16", "f16"), {"d": 16 << 16}, "sim/lane-alignment"),
        (Case(F16, 128, 16, "f16", "f16"), {"b_offset": 2 * IMAGE}, "sim/out-of-bounds"),
    ],
    ids=["A and D at different lanes", "A outside", "D outside", "D at lane 16", "B outside"],
)
def test_matrices_that_are_not_where_they_can_be(case: Case, change: dict[str, int], rule: str):
    assert rule in fault_of(case, **change)


def test_scale_factors_and_metadata_that_were_never_written():
    """The cells of a fresh allocation: the test's own stores are left out."""
    for case, rule in [
        (Case(MXF4, 128, 16, "e2m1", "e2m1"), "SFA"),
        (Case(F16, 128, 16, "f16", "f16", sparse=True), "metadata"),
    ]:
        program = TensorProgram(COLUMNS, IMAGE, IMAGE, (case.mma(),), blank=True)
        codes = np.zeros(IMAGE, np.uint8)
        with pytest.raises(Fault, match=rule) as caught:
            program.run(np.zeros((128, COLUMNS), np.uint32), codes, codes)
        assert caught.value.findings[0].rule == "sim/uninitialized"

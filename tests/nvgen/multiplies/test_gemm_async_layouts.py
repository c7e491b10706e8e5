"""gemm_async with MN-major and unswizzled matrices, in pairs of CTAs, and weight-stationary."""

from __future__ import annotations

import re

import numpy as np
import pytest
from llvmlite import ir

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor, Swizzle
from intrinsics.descriptors.tensor_address import ZeroColumnMask
from intrinsics.element import ElementType as E
from intrinsics.element import Major
from intrinsics.findings import InputError, NvgenError
from intrinsics.modifiers import CollectorWs, CtaGroup
from isel.verifier.descriptors.check import verify_descriptors
from nvgen import Kernel, KernelBuilder
from nvgen.machine_code.assembler import assemble
from nvgen.values.vectors import Vector
from tests.each import each
from tests.nvgen.gemm_programs import build, lines, mmas
from tests.nvgen.multiplies.gemm_async_runs import PLAIN, advances, d_columns, words

K, MN = Major.K, Major.MN


def constants(kernel: Kernel) -> list[SharedMemoryDescriptor]:
    """The constant parts of the shared memory descriptors, without their addresses."""
    found = re.findall(r"or i64 %\S+, (-?\d+),", kernel.llvm)
    return [SharedMemoryDescriptor.decode(int(word) % (1 << 64)) for word in found]


# ---- MN-major --------------------------------------------------------------------------------


def test_mn_major_matrices_say_so_and_move_by_rows_of_k() -> None:
    """Bits 15 and 16; a span of 64 rows of f16 is 64 k of 128 bytes, 8 of them an atom.

    A step of K = 16 is 16 of them.  LBO is from one span of rows to the next.
    """
    kernel = build(majors=(MN, MN))
    assert words(kernel) == [PLAIN | 1 << 15 | 1 << 16] * 4
    assert advances(kernel) == [2048, 2048, 4096, 4096, 6144, 6144]
    assert (
        constants(kernel)
        == [SharedMemoryDescriptor(0, lbo=64 * 128, sbo=1024, swizzle=Swizzle.B128)] * 2
    )


@pytest.mark.parametrize(("swizzle", "mode"), [(32, Swizzle.B32), (64, Swizzle.B64)])
def test_spans_of_other_swizzles(swizzle: int, mode: Swizzle) -> None:
    """As the manual's examples: 2T elements of 32 bytes, SBO 8 of them, LBO all k of them."""
    kernel = build(majors=(MN, K), swizzle=swizzle)
    a, b = constants(kernel)
    assert a == SharedMemoryDescriptor(0, lbo=64 * swizzle, sbo=8 * swizzle, swizzle=mode)
    assert b == SharedMemoryDescriptor(0, lbo=16, sbo=8 * swizzle, swizzle=mode)
    assert words(kernel)[0] == PLAIN | 1 << 15


def test_a_second_piece_of_n_begins_at_its_span_of_rows() -> None:
    """N = 320: four spans of 64 rows are before row 256, each 16 k of 128 bytes."""
    kernel = build(a=(128, 16), b=(320, 16), majors=(MN, MN))
    assert advances(kernel) == [4 * 16 * 128]


@pytest.mark.parametrize("dtype", [E.TF32, E.E2M3, E.E2M1])
def test_only_8_and_16_bits_are_transposed_in_16_byte_atoms(dtype: E) -> None:
    """Table 52; tf32 has 32-byte atoms."""
    k = 1024 // (8 if dtype is not E.TF32 else 32)
    with pytest.raises(InputError, match="gemm_async/major"):
        build(a=(128, k), b=(128, k), dtypes=(dtype, dtype), majors=(K, MN), padded=(True, True))


def test_transposed_tf32_has_32_byte_atoms() -> None:
    """A span of 32 rows is 32 k of 128 bytes, 4 of them an atom; a step of K is 8 of them."""
    form = {"dtypes": (E.TF32, E.TF32), "a": (128, 32), "b": (64, 32)}
    kernel = build(**form, majors=(MN, MN), atoms=(32, 32))
    assert constants(kernel) == [
        SharedMemoryDescriptor(0, lbo=32 * 128, sbo=512, swizzle=Swizzle.B128_ATOM32)
    ] * 2  # fmt: skip
    assert advances(kernel) == [1024, 1024, 2048, 2048, 3072, 3072]
    for wrong in ({"atoms": (32, 32)}, {"majors": (MN, MN), "atoms": (16, 32)}):
        with pytest.raises(InputError, match="gemm_async/major"):
            build(**form, **wrong)


def test_there_are_no_atoms_of_32_bytes_in_other_swizzlings() -> None:
    with pytest.raises(InputError, match="no such swizzle") as caught:
        build(swizzle=64, atoms=(16, 32))
    assert "atoms of 32 bytes" in caught.value.findings[0].got


# ---- unswizzled ------------------------------------------------------------------------------


def test_without_swizzling_a_span_is_16_bytes() -> None:
    """As the manual's examples: K-major, SBO 8 rows of 16 bytes, LBO all rows of them."""
    kernel = build(a=(128, 32), b=(64, 32), swizzle=0)
    assert constants(kernel) == [
        SharedMemoryDescriptor(0, lbo=16 * rows, sbo=128, swizzle=Swizzle.NONE)
        for rows in (128, 64)
    ]
    assert advances(kernel) == [2 * 16 * 128, 2 * 16 * 64]


def test_without_swizzling_mn_major_strides_change_places() -> None:
    """SBO from 8 rows to the next, all k of 16 bytes; LBO from 8 k to the next."""
    kernel = build(a=(128, 32), b=(64, 32), swizzle=0, majors=(MN, MN))
    plain = SharedMemoryDescriptor(0, lbo=128, sbo=16 * 32, swizzle=Swizzle.NONE)
    assert constants(kernel) == [plain] * 2
    assert advances(kernel) == [256, 256]


@pytest.mark.parametrize(("n", "group", "good"), [(128, 1, True), (144, 2, False), (256, 2, True)])
def test_8_bit_b_that_is_transposed_goes_by_16_columns_a_cta(
    n: int, group: int, good: bool
) -> None:
    """Table 50; spans of 16 rows, so that 24 would be possible else."""
    form = {
        "a": (128, 128), "b": (n // group, 128), "dtypes": (E.E4M3, E.E4M3), "majors": (K, MN),
        "swizzle": 128 if good else 64, "group": CtaGroup.ONE if group == 1 else CtaGroup.TWO,
    }  # fmt: skip
    if good:
        assert mmas(build(**form))
    else:
        with pytest.raises(InputError, match="gemm_async/n"):
            build(**form)


# ---- pairs -----------------------------------------------------------------------------------


def test_a_pair_multiplies_twice_the_rows_of_both() -> None:
    """M 256: 16 << 24; N 256: 32 << 17."""
    kernel = build(group=CtaGroup.TWO)
    assert words(kernel) == [1 << 4 | 32 << 17 | 16 << 24] * 4
    assert all(".cta_group::2." in line for line in lines(kernel))


def test_a_pairs_second_piece_of_n_is_of_half_its_columns_in_each_cta() -> None:
    """N = 320 is 256 and 64: of B's 160 rows in a CTA the second piece begins at row 128."""
    kernel = build(a=(128, 16), b=(160, 16), swizzle=32, group=CtaGroup.TWO)
    assert [word >> 17 & 63 for word in words(kernel)] == [32, 8]
    assert advances(kernel) == [128 * 32]
    assert d_columns(kernel) == [0, 256]


def test_a_pair_has_no_piece_of_eight_columns() -> None:
    with pytest.raises(InputError, match="gemm_async/n") as caught:
        build(b=(164, 64), group=CtaGroup.TWO)
    assert caught.value.findings[0].expected.startswith("16..256 in steps of 16")


def test_a_pair_allocates_together() -> None:
    b = KernelBuilder("k", block=128, cluster=2)
    b.begin()
    memory = b.tensor_memory("slot", 256, cta_group=CtaGroup.TWO)
    assert memory.tile(256, 128).n == 128
    assert memory.used == 128
    memory.tile(128, 128)  # layout B: halves of the columns in halves of the lanes
    assert memory.used == 192
    memory.tile(128, 16, sparse=True)  # layout C: all columns
    assert memory.used == 208
    memory.free()
    ptx = b.finish().compile(target="sm_100a").ptx
    assert ".reqnctapercluster 2, 1, 1" in ptx
    for verb in ("alloc", "dealloc", "relinquish_alloc_permit"):
        assert f"tcgen05.{verb}.cta_group::2" in ptx


# ---- weight-stationary -----------------------------------------------------------------------

WS = {"stationary": True, "b": (64, 64)}


@pytest.mark.parametrize(("m", "columns"), [(32, 16), (64, 32), (128, 64)])
def test_m_may_be_32(m: int, columns: int) -> None:
    """M at bits 24, in units of 16.  The accumulator lies in groups of lanes side by side."""
    kernel = build(a=(m, 64), **WS)
    assert words(kernel) == [1 << 4 | 8 << 17 | m // 16 << 24] * 4
    assert all("tcgen05.mma.ws." in line for line in lines(kernel))
    b = KernelBuilder("k", block=128)
    b.begin()
    memory = b.tensor_memory("slot", 64)
    memory.tile(m, 64, stationary=True)
    assert memory.used == columns


@pytest.mark.parametrize(
    ("n", "good"), [(64, True), (128, True), (256, True), (192, True), (96, False)]
)
def test_n_is_made_of_64_128_and_256(n: int, good: bool) -> None:
    if good:
        assert mmas(build(stationary=True, b=(n, 64)))
    else:
        with pytest.raises(InputError, match="gemm_async/n"):
            build(stationary=True, b=(n, 64))


def test_a_collector_keeps_b_of_one_step() -> None:
    kernel = build(**WS, collector=CollectorWs.B2_FILL, step=1)
    (line,) = lines(kernel)
    assert ".collector::b2::fill" in line
    assert advances(kernel) == [32, 32]
    with pytest.raises(InputError, match="gemm_async/collector"):
        build(**WS, collector=CollectorWs.B2_USE)


def test_a_mask_zeroes_columns_and_shifts_them() -> None:
    """The largest shift that a collector allows for is at bits 30: 1 for 8, 2 for 16, 3 for 32."""
    mask = ZeroColumnMask(shift=9, skip_span=1, use_span=6)
    kernel = build(**WS, zero_mask=mask)
    assert words(kernel)[0] >> 30 == 2
    assert all(line.endswith(f", {mask.encode()};") for line in lines(kernel))
    assert words(build(**WS, max_shift=32))[0] >> 30 == 3


@each("n", [64, 128, 256])
@each("m", [32, 64, 128])
def test_a_mask_without_zeros_keeps_its_shift(m: int, n: int) -> None:
    """With bit 39, as ptxas takes another literal for a scale of D: no column is zeroed."""
    mask = ZeroColumnMask(nonzero=False, shift=5, first=(1, 1, 1, 1), skip_span=3)
    (line,) = lines(build(a=(m, 64), b=(n, 64), stationary=True, zero_mask=mask, step=0))
    word = ZeroColumnMask.decode(int(line.rsplit(", ", 1)[1].rstrip(";")))
    assert word.nonzero
    assert (word.mask(m, n), word.shift) == (0, 5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"zero_mask": ZeroColumnMask(shift=33)},
        {"zero_mask": ZeroColumnMask(shift=9), "max_shift": 8},
        {"max_shift": 12},
        {"max_shift": 32, "a": (32, 64)},
    ],
    ids=str,
)
def test_shifts_that_there_are_not(wrong: dict[str, object]) -> None:
    """Table 45: at most 16 columns with M = 32, 32 otherwise."""
    with pytest.raises(InputError, match="gemm_async/shift"):
        build(**{**WS, **wrong})


@pytest.mark.parametrize(
    "wrong",
    [
        {"stationary": False, "collector": CollectorWs.B0_FILL, "step": 0},
        {"stationary": False, "max_shift": 8},
        {"group": CtaGroup.TWO},
    ],
    ids=str,
)
def test_collectors_and_masks_are_for_one_cta(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match="gemm_async/stationary"):
        build(**{**WS, **wrong})


# ---- all of them -----------------------------------------------------------------------------

FP8 = {"a": (128, 128), "b": (64, 128)}
FORMS = {
    "f16 in tensor memory": {"place": "tensor"},
    "tf32 in tensor memory": {"place": "tensor", "dtypes": (E.TF32, E.TF32), "a": (128, 32),
                              "b": (64, 32)},
    "fp6 in tensor memory": {**FP8, "place": "tensor", "dtypes": (E.E3M2, E.E5M2)},
    "a pair, in tensor memory": {"place": "tensor", "group": CtaGroup.TWO},
    "fp6 by fp4": {**FP8, "dtypes": (E.E2M3, E.E2M1), "padded": (False, True)},
    "sparse": {"a": (128, 128), "b": (128, 128), "metadata": True},
    "sparse in tensor memory": {"a": (128, 128), "b": (128, 128), "place": "sparse tensor"},
    "sparse pair": {"a": (128, 128), "b": (128, 128), "metadata": True, "group": CtaGroup.TWO},
    "sparse bytes": {"a": (128, 256), "b": (64, 256), "dtypes": (E.E4M3, E.E5M2),
                     "metadata": True},
    "MN-major": {"majors": (MN, MN)},
    "MN-major bytes": {"a": (128, 32), "b": (128, 32), "dtypes": (E.E4M3, E.E5M2),
                       "majors": (MN, MN)},
    "MN-major, 32-byte swizzle": {"majors": (MN, K), "swizzle": 32},
    "MN-major pair": {"majors": (K, MN), "group": CtaGroup.TWO},
    "weight-stationary": {**WS, "a": (32, 64)},
    "weight-stationary, kept": {**WS, "a": (64, 64), "step": 3,
                                "collector": CollectorWs.B3_LASTUSE},
    "weight-stationary, masked": {**WS, "zero_mask": ZeroColumnMask(shift=1)},
    "weight-stationary, in tensor memory": {**WS, "place": "tensor"},
    "weight-stationary, sparse": {"stationary": True, "a": (128, 128), "b": (128, 128),
                                  "metadata": True},
    "pieces": {"a": (192, 64), "b": (64, 64)},
    "pieces of N, A kept": {"b": (264, 64), "reuse_a": True},
    "pieces of a pair": {"a": (192, 64), "b": (160, 64), "group": CtaGroup.TWO},
    "f16 by bf16": {"dtypes": (E.F16, E.BF16)},
    "unswizzled": {"swizzle": 0, "majors": (K, MN)},
    "transposed tf32": {"dtypes": (E.TF32, E.TF32), "a": (128, 32), "b": (64, 32),
                        "majors": (MN, MN), "atoms": (32, 32)},
    "negated": {"negate_a": True, "negate_b": True},
    "lanes masked": {"lane_mask": [1, 2, 4, 8]},
    "lanes of a pair masked": {"lane_mask": [1] * 8, "group": CtaGroup.TWO},
    "shifted": {"place": "tensor", "ashift": True},
    "a loop": {"loop": True},
    "a loop over spans": {"loop": True, "a": (128, 128), "b": (64, 128)},
    "a loop, sparse": {"a": (128, 128), "b": (128, 128), "metadata": True, "loop": True},
    "a loop, in tensor memory": {"place": "tensor", "loop": True},
    "a loop, MN-major": {"majors": (MN, MN), "loop": True},
}  # fmt: skip


@each("form", FORMS, turns=6)
@each("target", ["sm_100a", "sm_103a", "sm_110a"])
@each("opt", [0, 3])
def test_ptxas_takes_it_and_the_verifier_finds_nothing(form: str, target: str, opt: int) -> None:
    compiled = build(**FORMS[form]).compile(target=target, opt=opt)
    assert assemble(compiled.ptx, compiled.target).cubin
    assert verify_descriptors(compiled.module) == []


@each("opt", [0, 3])
def test_ptxas_takes_kind_i8_where_it_exists(opt: int) -> None:
    form = {"dtypes": (E.S8, E.U8), "a": (192, 64), "b": (40, 64), "swizzle": 64, "d_type": E.S32}
    for target in ("sm_100a", "sm_110a"):
        compiled = build(**form).compile(target=target, opt=opt)
        assert assemble(compiled.ptx, compiled.target).cubin
    with pytest.raises(NvgenError, match="INT8 type is supported only"):
        build(**form).compile(target="sm_103a")


@each("target", ["sm_100a", "sm_103a"])
def test_ptxas_takes_a_scale_of_d_where_it_exists(target: str) -> None:
    """In the first instruction only: it is the one that reads what was in D."""
    compiled = build(accumulate=True, scale_d=5).compile(target=target)
    assert assemble(compiled.ptx, compiled.target).cubin
    found = [line.endswith(", 5;") for line in lines(build(accumulate=True, scale_d=5), target)]
    assert found == [True, False, False, False]


def test_a_step_that_there_is_not() -> None:
    with pytest.raises(InputError, match="no such step") as caught:
        build(step=4)
    assert caught.value.findings[0].expected == "0..3"


def test_a_part_of_a_tile_begins_where_its_swizzling_does() -> None:
    """Rows of 128 bytes; a pattern of eight of them."""
    b = KernelBuilder("k", block=128)
    b.begin()
    tile = b.shared_tile("tile", E.F16, (96, 64))
    part = tile.part(16, 64)
    assert (part.rows, part.k, part.nbytes) == (64, 64, 64 * 128)
    assert "i64 2048" in str(part.pointer.value)
    for first, rows in ((4, 8), (16, 88)):
        with pytest.raises(InputError, match="no such"):
            tile.part(first, rows)


def test_a_part_of_several_spans_lies_among_the_rows_of_the_whole() -> None:
    """Of f16, K = 128 is two spans: the second lies behind all 16 rows of the first."""
    b = KernelBuilder("k", block=128)
    b.begin()
    part = b.shared_tile("wide", E.F16, (16, 128)).part(8, 8)
    assert "i64 1024" in str(part.pointer.value)
    assert part.offset(64) == 16 * 128
    assert part.nbytes == 8 * 256


def test_a_part_of_an_mn_major_tile_has_whole_spans() -> None:
    """64 rows of f16 are a span, a block of all 32 k."""
    b = KernelBuilder("k", block=128)
    b.begin()
    tile = b.shared_tile("tile", E.F16, (256, 32), major=Major.MN)
    assert f"i64 {2 * 32 * 128}" in str(tile.part(128, 64).pointer.value)
    for first, rows in ((32, 64), (64, 32), (-64, 64)):
        with pytest.raises(InputError, match="no such"):
            tile.part(first, rows)


def test_the_even_cta_of_a_pair_has_an_even_rank() -> None:
    """The rank is at bit 24 of an address."""
    b = KernelBuilder("k", block=128, cluster=2)
    b.begin()
    b.of_even_cta(b.mbarrier("full"))
    assert re.search(rf"and i32 %\S+, {~(1 << 24)}\b", b.finish().llvm)


def test_registers_are_multiplied_as_floats() -> None:
    factor = np.array([1.5], np.float32)
    b = KernelBuilder("k", block=32)
    b.pointer("factor")
    b.pointer("d", output=True)
    args = b.begin()
    bits = b.load_word(args["factor"])
    both = Vector(b, b.at_caller().load(args["factor"].value, typ=VEC, align=4), 2)
    with b.if_thread(0):
        b.store(both.f32 * b.f32(bits), args["d"], align=4)
    d = np.zeros(2, np.float32)
    b.finish().compile(target="sm_100a").run(np.array([1.5, -3.25], np.float32), d)
    assert d.tolist() == [1.5 * factor[0], -3.25 * factor[0]]


VEC = ir.VectorType(ir.IntType(32), 2)

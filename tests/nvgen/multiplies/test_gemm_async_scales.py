"""gemm_async with scale factors: ids and columns of each step, and copies of the factors.

Instruction descriptors are worked by hand from PTX ISA, Tables 43 and 44.
"""

from __future__ import annotations

import re

import pytest

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor
from intrinsics.element import ElementType as E
from intrinsics.findings import InputError, Severity, VerificationError
from intrinsics.modifiers import CtaGroup
from isel.verifier.descriptors.check import verify_descriptors
from nvgen import KernelBuilder
from nvgen.machine_code.assembler import assemble
from nvgen.multiplies.tensor_tiles import ScaleTile
from tests.each import each
from tests.nvgen.gemm_programs import Scaling, build, lines, mmas

FP8 = {"dtypes": (E.E4M3, E.E4M3), "a": (128, 128), "b": (64, 128)}
FP4 = {"dtypes": (E.E2M1, E.E2M1), "a": (128, 256), "b": (64, 256)}
NV = Scaling(type=E.UE4M3, size=16)


def words(kernel: object) -> list[int]:
    return [step["idesc"] % (1 << 32) for step in mmas(kernel)]


def places(kernel: object) -> list[tuple[int, int]]:
    """The columns of SFA and SFB of each instruction, from its two operands before the last."""
    found = [re.findall(r"\[%r\d+(?:\+(\d+))?\], \[%r\d+(?:\+(\d+))?\], [01];", x) for x in
             lines(kernel)]  # fmt: skip
    return [(int(a or 0), int(b or 0)) for ((a, b),) in found]


def test_scaled_fp8_takes_one_factor_a_step() -> None:
    """Four steps of K = 32 use the four factors of a word, one after the other.

    N 64: 8 << 17; UE8M0: 1 << 23; M 128: 1 << 27; the ids at bits 29 and 4.
    """
    kernel = build(**FP8, scales=Scaling())
    assert words(kernel) == [0x08900000, 0x28900010, 0x48900020, 0x68900030]
    assert places(kernel) == [(256, 320)] * 4


def test_scaled_fp4_takes_two_factors_a_step() -> None:
    """K = 64 a step: ids 0 and 2, then the next word, four columns on for up to 128 rows.

    E2M1: 1 << 7 and 1 << 10.
    """
    kernel = build(**FP4, scales=Scaling())
    assert words(kernel) == [0x08900480, 0x489004A0] * 2
    assert places(kernel) == [(256, 320)] * 2 + [(260, 324)] * 2
    assert all(".kind::mxf4.block_scale" in line for line in lines(kernel))


def test_factors_of_sixteen_elements_fill_a_word_a_step() -> None:
    """NVFP4: K = 64 a step are four UE4M3, a word, whose id is 0; bit 23 is 0."""
    kernel = build(**FP4, scales=NV)
    assert words(kernel) == [0x08100480] * 4
    assert places(kernel) == [(256, 320), (260, 324), (264, 328), (268, 332)]
    assert all(".kind::mxf4nvf4.block_scale.block16" in line for line in lines(kernel))


def test_more_than_128_rows_of_b_take_eight_columns_a_word() -> None:
    kernel = build(**{**FP4, "b": (256, 256)}, scales=NV)
    assert places(kernel) == [(256, 320), (260, 328), (264, 336), (268, 344)]


def test_the_second_piece_of_n_has_factors_of_its_own() -> None:
    """N = 320: rows 256 on are in the ninth column of twelve."""
    kernel = build(**{**FP8, "b": (320, 128)}, scales=Scaling())
    assert places(kernel) == [(256, 320)] * 4 + [(256, 328)] * 4


def test_a_pair_has_the_factors_of_all_of_b_in_each_cta() -> None:
    """M 256: 2 << 27.  A's factors are those of the CTA's own rows."""
    kernel = build(**FP8, scales=Scaling(), group=CtaGroup.TWO)
    assert words(kernel)[0] == 0x10000000 | 16 << 17 | 1 << 23
    with pytest.raises(InputError, match="gemm_async/scales"):
        build(**FP8, scales=Scaling(rows_b=64), group=CtaGroup.TWO)


def test_a_pair_of_64_rows_each_has_the_factors_of_b_in_two_parts() -> None:
    """M 128: 1 << 27.  N = 320: the second piece is rows 128 on of each part, the fifth column."""
    form = {**FP8, "a": (64, 128), "b": (160, 128), "group": CtaGroup.TWO}
    kernel = build(**form, scales=Scaling(parts_b=2))
    assert words(kernel)[0] == 0x08000000 | 32 << 17 | 1 << 23
    assert places(kernel) == [(256, 320)] * 4 + [(256, 324)] * 4
    with pytest.raises(InputError, match="gemm_async/scales") as caught:
        build(**form, scales=Scaling())
    assert "320 in 2 parts" in caught.value.findings[0].expected


def test_a_pair_does_not_mix_both_layouts_of_b_s_factors() -> None:
    with pytest.raises(InputError, match="gemm_async/m") as caught:
        build(**{**FP8, "a": (192, 128)}, scales=Scaling(), group=CtaGroup.TWO)
    assert caught.value.findings[0].expected.startswith("256 with cta_group::2")


@pytest.mark.parametrize("one", [{"a": True, "b": False}, {"a": False, "b": True}])
def test_one_of_two_is_refused(one: dict[str, bool]) -> None:
    with pytest.raises(InputError, match="gemm_async/scales"):
        build(**FP8, scales=Scaling(**one))


@pytest.mark.parametrize("dtypes", [(E.E2M3, E.E4M3), (E.E5M2, E.E2M1), (E.E3M2, E.E2M3)])
def test_narrow_types_mix_where_each_takes_a_byte(dtypes: tuple[E, E]) -> None:
    codes = {E.E4M3: 0, E.E5M2: 1, E.E2M3: 3, E.E3M2: 4, E.E2M1: 5}
    kernel = build(**{**FP8, "dtypes": dtypes}, scales=Scaling(), padded=(True, True))
    assert words(kernel)[0] == 0x08900000 | codes[dtypes[0]] << 7 | codes[dtypes[1]] << 10
    assert all(".kind::mxf8f6f4." in line for line in lines(kernel))


def test_padded_and_packed_fp4_are_of_different_kinds() -> None:
    padded = {**FP8, "dtypes": (E.E2M1, E.E2M1), "padded": (True, True)}
    assert "mxf8f6f4" in lines(build(**padded, scales=Scaling()))[0]
    with pytest.raises(InputError, match="gemm_async/dtype"):
        build(**{**padded, "padded": (True, False)}, scales=Scaling())


@pytest.mark.parametrize(
    ("dtype", "type_", "size", "message"),
    [
        (E.E2M1, E.UE4M3, 32, "expects A/B element types to be Float4E2M1FNType and sfa/sfb "
         "element types to be Float8E8M0FNUType when (atom_K=64 && vecSize=32)"),
        (E.E2M1, E.F32, 16, "expects sfa/sfb element types to be Float8E8M0FNUType or "
         "Float8E4M3FNType when (atom_K=64 && vecSize=16)"),
        (E.E4M3, E.UE8M0, 16, "expects (atom_K, vecSize) to be a block scaling that the tensor "
         "core has"),
    ],
)  # fmt: skip
def test_scale_factors_that_there_are_not(dtype: E, type_: E, size: int, message: str) -> None:
    shapes = {"a": (128, 256), "b": (64, 256), "dtypes": (dtype, dtype)}
    with pytest.raises(InputError) as caught:
        build(**shapes, scales=Scaling(type=type_, size=size))
    assert [f.message for f in caught.value.findings] == [message]


# ---- K = 96 ----------------------------------------------------------------------------------

K96 = {"dtypes": (E.E2M1, E.E2M1), "a": (128, 768), "b": (64, 768), "group": CtaGroup.TWO,
       "k96": True}  # fmt: skip


def test_three_factors_a_step_begin_at_every_byte_of_a_word() -> None:
    """Factor 3s is byte 3s mod 4 of word 3s / 4.

    K = 96 is bit 31, M 256 2 << 27, N 128 16 << 17.
    """
    kernel = build(**K96, scales=Scaling())
    found = mmas(kernel, "sm_103a")
    ids = [0, 3, 2, 1, 0, 3, 2, 1]
    plain = 1 << 31 | 2 << 27 | 1 << 23 | 16 << 17 | 1 << 10 | 1 << 7
    assert [s["idesc"] % (1 << 32) for s in found] == [plain | i << 29 | i << 4 for i in ids]
    columns = [re.findall(r"\[%r\d+\+(\d+)\]", x)[-2] for x in lines(kernel, "sm_103a")]
    assert [int(x) for x in columns] == [256 + 4 * (3 * step // 4) for step in range(8)]


def test_the_leading_dimension_is_the_address_of_the_next_span() -> None:
    """Bit 52 says so; the constant part has no other."""
    mir = build(**K96, scales=Scaling()).compile(target="sm_103a").mir
    found = [int(n) % (1 << 64) for n in re.findall(r"= OR_B64 \S+, imm:(-?\d+)", mir)]
    constant = SharedMemoryDescriptor(0, lbo=0, sbo=1024, absolute_lbo=True).encode()
    assert found.count(constant) == 2


@each("size", [32, 16])
@each("swizzle", [128, 0])
def test_ptxas_takes_k_of_96(size: int, swizzle: int) -> None:
    """Table 44 has the ids 0 and 2 only, the figures of three factors a row all four: a doubt."""
    compiled = build(**K96, scales=Scaling(size=size), swizzle=swizzle).compile(target="sm_103a")
    assert assemble(compiled.ptx, compiled.target).cubin
    found = {(f.rule, f.severity) for f in verify_descriptors(compiled.module)}
    doubt = ("tcgen05.mma/idesc-scale-id", Severity.REVIEW)
    assert found == ({doubt} if size == 32 else set())


def test_k_of_96_is_for_one_target() -> None:
    kernel = build(**K96, scales=Scaling(size=16), swizzle=0)
    with pytest.raises(VerificationError) as caught:
        kernel.compile(target="sm_100a")
    assert {f.rule for f in caught.value.findings} == {"tcgen05.mma/idesc-k96-target"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"group": CtaGroup.ONE},
        {"a": (64, 768), "scales": Scaling(parts_b=2)},
        {"b": (160, 768)},
        {"swizzle": 64},
    ],
    ids=str,
)
def test_k_of_96_is_one_instruction_of_a_pair(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError) as caught:
        build(**{**K96, "scales": Scaling(), **wrong})
    assert [f.rule for f in caught.value.findings] == ["gemm_async/k96"]


FORMS = {
    "mxf8": {**FP8, "scales": Scaling()},
    "mxf4": {**FP4, "scales": Scaling()},
    "nvf4": {**FP4, "scales": NV},
    "nvf4 with UE8M0": {**FP4, "scales": Scaling(size=16)},
    "mxf6": {**FP8, "dtypes": (E.E2M3, E.E3M2), "scales": Scaling()},
    "mxf8 of a pair": {**FP8, "scales": Scaling(), "group": CtaGroup.TWO},
    "mxf8 of a pair of 64 rows each": {
        **FP8, "a": (64, 128), "scales": Scaling(parts_b=2), "group": CtaGroup.TWO,
    },
    "mxf8, sparse": {
        **FP8, "a": (128, 256), "b": (64, 256), "scales": Scaling(size=64), "metadata": True,
    },
    "mxf8 in a loop": {**FP8, "scales": Scaling(), "loop": True},
    "mxf4 in a loop": {**FP4, "scales": Scaling(), "loop": True},
    "nvf4 in a loop": {**FP4, "scales": NV, "loop": True},
}  # fmt: skip


@each("form", FORMS, turns=2)
@each("target", ["sm_100a", "sm_103a", "sm_110a"], turns=3)
def test_ptxas_takes_it(form: str, target: str) -> None:
    compiled = build(**FORMS[form]).compile(target=target)
    assert assemble(compiled.ptx, compiled.target).cubin
    assert verify_descriptors(compiled.module) == []


def test_a_step_that_the_kernel_counts_ors_its_ids_into_the_descriptor() -> None:
    """One instruction in a loop: (step % 4) << 29 | (step % 4) << 4 | the constant part."""
    kernel = build(**FP8, scales=Scaling(), loop=True)
    assert len(lines(kernel)) == 1
    assert re.search(rf"or i32 %\S+, {0x08900000}\b", kernel.llvm)
    assert re.search(r"shl i32 %\S+, 29\b", kernel.llvm)
    assert re.search(r"shl i32 %\S+, 4\b", kernel.llvm)


def test_four_factors_a_step_leave_the_descriptor_constant() -> None:
    (step,) = mmas(build(**FP4, scales=NV, loop=True))
    assert step["idesc"] == 0x08100480


# ---- copies ----------------------------------------------------------------------------------


def copies(rows: int, k: int, size: int = 32, group: CtaGroup = CtaGroup.ONE):
    """A kernel that copies factors from shared memory to column 64."""
    b = KernelBuilder("k", block=128)
    b.begin()
    source = b.shared_scales("factors", rows, k, size=size).first
    target = ScaleTile(b.tensor_pointer(b.const(64)), rows, k, size=size)
    with b.if_thread(0):
        b.copy_scales(target, source, cta_group=group)
    return b.finish().compile(target="sm_100a")


@pytest.mark.parametrize(
    ("rows", "k", "size", "columns"),
    [
        (128, 128, 32, [64]),
        (128, 256, 16, [64, 68, 72, 76]),
        (256, 256, 32, [64, 72, 68, 76]),  # two words of rows 0 to 127, then of the others
        (64, 64, 32, [64]),
    ],
)
def test_each_block_of_512_bytes_is_a_copy(
    rows: int, k: int, size: int, columns: list[int]
) -> None:
    """128 rows, four factors: to four columns; a word's blocks lie side by side."""
    compiled = copies(rows, k, size)
    found = re.findall(
        r"tcgen05\.cp\.cta_group::1\.32x128b\.warpx4 \[%r\d+(?:\+(\d+))?\]", compiled.ptx
    )
    base = 0 if found[0] == "" else int(found[0])
    assert [int(x or 0) - base + 64 for x in found] == columns
    advances = [int(n) for n in re.findall(r"= ADD_S64 \S+, imm:(\d+)", compiled.mir)]
    assert advances == [32 * i for i in range(1, len(columns))], "512 bytes, in units of 16"
    assert verify_descriptors(compiled.module) == []
    assert assemble(compiled.ptx, compiled.target).cubin


def test_two_parts_come_with_one_copy_of_1024_bytes_each() -> None:
    b = KernelBuilder("k", block=128)
    b.begin()
    source = b.shared_scales("factors", 320, 256, parts=2).first
    target = ScaleTile(b.tensor_pointer(b.const(64)), 320, 256, parts=2)
    assert source.nbytes == target.nbytes == 2 * 2 * 2 * 512
    with b.if_thread(0):
        b.copy_scales(target, source)
    compiled = b.finish().compile(target="sm_100a")
    assert compiled.ptx.count("tcgen05.cp.cta_group::1.64x128b.warpx2::01_23 [") == 4
    advances = [int(n) for n in re.findall(r"= ADD_S64 \S+, imm:(\d+)", compiled.mir)]
    assert advances == [64, 128, 192], "1024 bytes, in units of 16"
    assert assemble(compiled.ptx, compiled.target).cubin
    with pytest.raises(InputError, match="no such parts"):
        b.shared_scales("thirds", 96, 128, parts=3)


def test_a_pair_copies_in_both_ctas() -> None:
    assert ".cp.cta_group::2." in copies(128, 128, group=CtaGroup.TWO).ptx


def test_factors_of_another_shape_are_refused() -> None:
    b = KernelBuilder("k", block=128)
    b.begin()
    source = b.shared_scales("factors", 128, 128).first
    target = ScaleTile(b.tensor_pointer(b.const(0)), 128, 256)
    with pytest.raises(InputError, match="another shape") as caught:
        b.copy_scales(target, source)
    assert caught.value.findings[0].got == "128 rows of K 128, one for 32 ue8m0"

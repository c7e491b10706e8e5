"""gemm_async: what it requires, and what it makes of tiles."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import nvgen
from intrinsics.descriptors.idesc import InstructionDescriptor
from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor, Swizzle
from intrinsics.descriptors.tensor_address import ZeroColumnMask
from intrinsics.element import ElementType as E
from intrinsics.element import Major
from intrinsics.findings import InputError
from intrinsics.modifiers import CollectorA, CollectorWs, CtaGroup, MmaKind
from isel.verifier.descriptors.check import verify_descriptors
from nvgen import KernelBuilder
from nvgen.instructions.roles import ExecutionScope
from nvgen.multiplies.tensor_memory import TensorMemory
from nvgen.multiplies.tensor_requirements import REQUIREMENTS
from nvgen.shared_memory.tiles import SharedTile
from tests.each import each
from tests.nvgen.gemm_programs import Scaling, build, mmas

# ---- what it makes ---------------------------------------------------------------------------


def test_the_nest_is_unrolled_over_k() -> None:
    steps = mmas(build(a=(128, 64), b=(64, 64)))
    assert [s["enable_d"] for s in steps] == [0, 1, 1, 1]
    shapes = {InstructionDescriptor.decode(s["idesc"], MmaKind.F16) for s in steps}
    assert shapes == {InstructionDescriptor(MmaKind.F16, 128, 64, E.F16, E.F16, E.F32)}


def test_accumulate_keeps_what_is_in_d() -> None:
    assert [s["enable_d"] for s in mmas(build(accumulate=True))] == [1, 1, 1, 1]


def test_n_beyond_256_goes_in_pieces() -> None:
    """N = 320 is one instruction of 256 and one of 64 columns, for each step of K."""
    steps = mmas(build(a=(64, 16), b=(320, 16), swizzle=32))
    widths = [InstructionDescriptor.decode(s["idesc"], MmaKind.F16).n for s in steps]
    assert widths == [256, 64]


def test_a_step_of_k_moves_the_descriptor_32_bytes() -> None:
    """Within a 128-byte span of f16, 16 elements are 32 bytes, 2 in the descriptor's units."""
    mir = build().compile(target="sm_100a").mir
    advances = [int(n) for n in re.findall(r"= ADD_S64 \S+, imm:(\d+)", mir)]
    assert advances == [2, 2, 4, 4, 6, 6]


def test_a_span_of_k_is_a_block_of_all_rows() -> None:
    """K = 128 in f16 is two spans: the second begins 128 rows of 128 bytes further on."""
    mir = build(a=(128, 128), b=(64, 128)).compile(target="sm_100a").mir
    advances = [int(n) for n in re.findall(r"= ADD_S64 \S+, imm:(\d+)", mir)]
    assert advances[6] == 128 * 128 // 16
    assert advances[7] == 64 * 128 // 16


@pytest.mark.parametrize(
    ("swizzle", "mode"), [(32, Swizzle.B32), (64, Swizzle.B64), (128, Swizzle.B128)]
)
def test_the_shared_memory_descriptor_says_the_swizzle(swizzle: int, mode: Swizzle) -> None:
    """Eight rows of a span are one repetition: the stride between them is eight spans."""
    mir = build(a=(128, 64), b=(64, 64), swizzle=swizzle).compile(target="sm_100a").mir
    constant = int(re.search(r"= OR_B64 \S+, imm:(-?\d+)", mir)[1])
    descriptor = SharedMemoryDescriptor.decode(constant % (1 << 64))
    assert descriptor.swizzle is mode
    assert descriptor.sbo == 8 * swizzle


@pytest.mark.parametrize(
    ("dtype", "kind", "k"),
    [(E.F16, "f16", 16), (E.BF16, "f16", 16), (E.TF32, "tf32", 8), (E.E4M3, "f8f6f4", 32)],
)
def test_each_element_type_has_its_kind_and_k(dtype: E, kind: str, k: int) -> None:
    depth = 128 * 8 // dtype.bits
    kernel = build(a=(128, depth), b=(64, depth), dtypes=(dtype, dtype))
    assert len(mmas(kernel)) == depth // k
    ptx = kernel.compile(target="sm_100a").ptx
    assert ptx.count(f".kind::{kind}.") == depth // k


def test_fp8_types_mix() -> None:
    kernel = build(a=(128, 128), b=(64, 128), dtypes=(E.E4M3, E.E5M2))
    (shape,) = {InstructionDescriptor.decode(s["idesc"], MmaKind.F8F6F4) for s in mmas(kernel)}
    assert (shape.a, shape.b) == (E.E4M3, E.E5M2)


def test_a_cta_pair_multiplies_twice_the_rows() -> None:
    kernel = build(a=(128, 64), b=(64, 64), group=CtaGroup.TWO)
    (shape,) = {InstructionDescriptor.decode(s["idesc"], MmaKind.F16) for s in mmas(kernel)}
    assert (shape.m, shape.n) == (256, 128)
    assert ".cta_group::2." in kernel.compile(target="sm_100a").ptx


def test_it_commits_nothing() -> None:
    """The caller says on which mbarrier, and when."""
    assert "commit" not in build().compile(target="sm_100a").ptx


def test_a_warp_elects_one_thread() -> None:
    assert "elect.sync" in build(scope=ExecutionScope.WARP).compile(target="sm_100a").ptx
    assert "elect.sync" not in build(scope=ExecutionScope.THREAD).compile(target="sm_100a").ptx


NV = Scaling(type=E.UE4M3, size=16)
FAMILIES = {
    "f16": {"dtypes": (E.F16, E.F16)},
    "bf16, 32-byte swizzle": {"dtypes": (E.BF16, E.BF16), "swizzle": 32},
    "tf32": {"dtypes": (E.TF32, E.TF32), "a": (64, 32), "b": (24, 32)},
    "f8": {"dtypes": (E.E4M3, E.E5M2), "a": (64, 128), "b": (264, 128)},
    "a pair": {"group": CtaGroup.TWO, "b": (64, 64)},
    "a pair of 128 rows": {"group": CtaGroup.TWO, "a": (64, 64), "b": (8, 64)},
    "mxf8": {"dtypes": (E.E5M2, E.E4M3), "a": (128, 128), "b": (64, 128), "scales": Scaling()},
    "mxf4": {"dtypes": (E.E2M1, E.E2M1), "a": (128, 256), "b": (64, 256), "scales": Scaling()},
    "nvf4": {
        "dtypes": (E.E2M1, E.E2M1), "a": (128, 256), "b": (64, 256), "scales": NV,
    },
}  # fmt: skip


@each("family", FAMILIES)
@each("opt", [0, 3], turns=3)
def test_its_descriptors_pass_the_rules_about_them(family: str, opt: int) -> None:
    """All of their constant parts are known: with a bit of it changed there is something wrong."""
    kernel = build(**FAMILIES[family])
    assert verify_descriptors(kernel.compile(target="sm_100a", opt=opt).module) == []
    constant = 1 << 46
    broken, n = re.subn(
        r"(or i64 %\S+, )(-?\d+)", lambda m: m[1] + str(int(m[2]) ^ constant), kernel.llvm
    )
    assert n == 2
    found = verify_descriptors(nvgen.compile(broken, target="sm_100a", opt=opt).module)
    assert {f.rule for f in found} == {"tcgen05.mma/smem-desc-constant"}


# ---- what it requires ------------------------------------------------------------------------

K, MN = Major.K, Major.MN
NO_SFB = Scaling(b=False)
BROKEN = {
    "scope": {"scope": ExecutionScope.CTA},
    "dtype": {"dtypes": (E.F16, E.E4M3)},
    "accumulator": {"dtypes": (E.S8, E.S8), "a": (128, 128), "b": (64, 128)},
    "scales": {"dtypes": (E.E4M3, E.E4M3), "a": (128, 128), "b": (64, 128), "scales": NO_SFB},
    "shape": {"d": (128, 64)},
    "m": {"a": (96, 64), "b": (64, 64)},
    "n": {"b": (12, 64)},
    "k": {"a": (128, 24), "b": (64, 24), "swizzle": 32},
    "swizzle": {"a": (128, 48), "b": (64, 48)},
    "major": {"dtypes": (E.TF32, E.TF32), "a": (128, 32), "b": (64, 32), "majors": (MN, K)},
    "stationary": {"zero_mask": ZeroColumnMask()},
    "collector": {"stationary": True, "collector": CollectorWs.B1_FILL},
    "shift": {"stationary": True, "zero_mask": ZeroColumnMask(shift=33)},
    "zero-mask": {"stationary": True, "b": (192, 64), "zero_mask": ZeroColumnMask()},
    "collector-a": {"collector_a": CollectorA.FILL},
    "ashift": {"ashift": True},
    "negate": {"dtypes": (E.S8, E.S8), "a": (128, 128), "b": (64, 128), "negate_b": True},
    "scale-d": {"scale_d": 3},
    "lane-mask": {"lane_mask": [0, 0, 0]},
    "k96": {"k96": True},
}
OTHER_SECTIONS = {
    "scales": "Block Scaling (Tables 54 and 55)",
    "major": "Valid Combinations of Type-Size, Major-ness and Swizzling (Table 52)",
    "stationary": "tcgen05.mma.ws",
    "collector": "tcgen05.mma.ws",
    "shift": "Zero-Column Mask Descriptor (Table 45)",
    "zero-mask": "Zero-Column Mask Descriptor (Table 45)",
    "collector-a": "tcgen05.mma",
    "ashift": "tcgen05.mma",
    "negate": "Transpose and Negate operations (Table 49)",
    "scale-d": "tcgen05.mma",
    "lane-mask": "tcgen05.mma",
}


@each("rule", BROKEN)
def test_a_broken_requirement_is_named(rule: str) -> None:
    with pytest.raises(InputError) as caught:
        build(**BROKEN[rule])
    found = {f.rule: f for f in caught.value.findings}
    finding = found[f"gemm_async/{rule}"]
    assert len(found) == len(caught.value.findings), "each is told once"
    assert finding.got
    assert finding.expected
    assert finding.hint
    section = OTHER_SECTIONS.get(rule, "Matrix Shape (Table 39)")
    assert finding.section == f"PTX ISA, {section}"


def test_every_requirement_can_be_broken() -> None:
    """Those that are left: below."""
    left = {"columns", "kernel", "metadata", "target"}
    assert {r.rule for r in REQUIREMENTS} - set(BROKEN) == left


Body = Callable[[KernelBuilder, TensorMemory, SharedTile, SharedTile], None]


def refused(body: Body, cluster: int = 1) -> list[str]:
    """The rules that refuse a multiply of a 64×64 A and a 128×64 B in f16, of each CTA."""
    b = KernelBuilder("k", block=128, cluster=cluster)
    b.begin()
    group = CtaGroup.TWO if cluster == 2 else CtaGroup.ONE
    tmem = b.tensor_memory("tmem", 512, cta_group=group)
    a_tile, b_tile = b.shared_tile("a", E.F16, (64, 64)), b.shared_tile("b", E.F16, (128, 64))
    with pytest.raises(InputError) as caught, b.if_thread(0):
        body(b, tmem, a_tile, b_tile)
    assert all(f.got and f.expected for f in caught.value.findings)
    return [f.rule for f in caught.value.findings]


def test_an_accumulator_of_another_data_path_has_too_few_columns() -> None:
    """Layouts E and B lie in half of the columns that layouts F and C take."""
    wide = refused(lambda b, t, x, y: b.gemm_async(t.tile(64, 128, stationary=True), x, y))
    assert wide == ["gemm_async/columns"]
    with pytest.raises(InputError, match="gemm_async/columns"):
        build(a=(256, 64), b=(264, 64))  # 528, of an address of which no more is known
    pair = refused(
        lambda b, t, x, y: b.gemm_async(
            t.tile(128, 128), x, b.shared_tile("w", E.F16, (64, 128)), cta_group=CtaGroup.TWO,
            metadata=t.metadata(128, E.F16),
        ),
        cluster=2,
    )  # fmt: skip
    assert pair == ["gemm_async/columns"]


def test_metadata_in_registers_are_a_warpgroups() -> None:
    def held(b: KernelBuilder, t: TensorMemory, a: SharedTile, w: SharedTile) -> None:
        wide, words = b.shared_tile("w", E.F16, (64, 128)), b.words([b.const(0), b.const(0)])
        b.gemm_async(t.tile(64, 64, sparse=True), a, wide, metadata=words)

    assert refused(held) == ["gemm_async/metadata"]


def test_a_target_without_tensor_memory_names_those_that_have_it() -> None:
    b = KernelBuilder("k", block=32, target="sm_120a")
    b.begin()
    tile = b.shared_tile("tile", E.F16, (64, 64))
    with pytest.raises(InputError) as caught, b.if_thread(0):
        b.gemm_async(b.tensor_tile(b.const(0), 64, 64), tile, tile)
    (finding,) = caught.value.findings
    assert (finding.rule, finding.got) == ("gemm_async/target", "sm_120a")
    assert "sm_100a" in finding.expected


def test_tiles_are_of_the_kernel_that_multiplies_them() -> None:
    other = KernelBuilder("other", block=128)
    other.begin()
    strange = other.shared_tile("strange", E.F16, (128, 64))
    rules = refused(lambda b, t, x, y: b.gemm_async(t.tile(64, 128), x, strange))
    assert rules == ["gemm_async/kernel"]


@pytest.mark.parametrize(
    "body",
    [
        lambda b, t, x, y: b.gemm_async(x, x, y),
        lambda b, t, x, y: b.gemm_async(t.tile(64, 128), t.tile(64, 64), y),
        lambda b, t, x, y: b.gemm_async(t.tile(64, 128), x, t.operand_tile(64, 64, E.F16)),
    ],
    ids=["D in shared memory", "an accumulator as A", "B in tensor memory"],
)
def test_matrices_lie_where_an_mma_has_them(body: Body) -> None:
    assert refused(body) == ["gemm_async/tile"]


def test_all_broken_requirements_are_reported_at_once() -> None:
    with pytest.raises(InputError) as caught:
        build(a=(96, 64), b=(12, 64), scope=ExecutionScope.CTA)
    rules = [f.rule.removeprefix("gemm_async/") for f in caught.value.findings]
    assert rules == ["scope", "m", "n"]


@pytest.mark.parametrize("loop", [False, True])
def test_a_nest_of_many_instructions_tells_each_requirement_once(loop: bool) -> None:
    with pytest.raises(InputError) as caught:
        build(a=(200, 24), b=(12, 40), dtypes=(E.F16, E.E4M3), swizzle=0, loop=loop)
    rules = [f.rule.removeprefix("gemm_async/") for f in caught.value.findings]
    assert rules == ["dtype", "shape", "m", "n"]


def test_a_requirement_is_told_once_with_the_words_of_tile_compilers() -> None:
    """K and N are wrong, each in two ways: no instruction has them, and no layout either."""
    with pytest.raises(InputError) as caught:
        build(a=(128, 24), b=(12, 24), swizzle=32)
    told = {f.rule: f.hint for f in caught.value.findings}
    assert told == {
        "gemm_async/n": "the nearest N: 8 or 16; "
        "Not a canonical UMMA_K Layout: Expected MN-size multiple of 8.",
        "gemm_async/k": "K = 32, with zeros in what is added; "
        "Not a canonical UMMA_K Layout: Expected K-size multiple of 16.",
    }


@pytest.mark.parametrize(
    ("form", "hint"),
    [
        ({"a": (96, 64)}, "the nearest M: 64 or 128"),
        ({"a": (200, 64)}, "the nearest M: 192 or 256"),
        ({"b": (100, 64), "stationary": True}, "the nearest N: 64 or 128"),
        ({"a": (128, 48), "b": (64, 48)}, "swizzle=32 has whole spans"),
        ({"a": (128, 32), "b": (64, 32), "swizzle": 128}, "swizzle=64 has whole spans"),
    ],
    ids=str,
)
def test_a_hint_has_the_nearest_form(form: dict[str, object], hint: str) -> None:
    with pytest.raises(InputError) as caught:
        build(**form)
    assert hint in caught.value.findings[0].hint


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ({"ashift": True, "place": "tensor", "reuse_a": True}, 128),
        ({"ashift": True, "place": "tensor", "collector_a": CollectorA.USE, "step": 0}, 128),
        ({"ashift": True, "place": "tensor"}, 64),
        ({"ashift": True, "place": "tensor"}, 256),
    ],
)
def test_what_ashift_does_not_go_with(options: dict[str, object], rows: int) -> None:
    with pytest.raises(InputError, match="gemm_async/ashift"):
        build(**options, a=(rows, 64))


def test_sums_of_bf16_are_f32() -> None:
    """D's type is at bits 4 and 5: 0 is f16."""
    steps = mmas(build(d_type=E.F16))
    assert {step["idesc"] >> 4 & 3 for step in steps} == {0}
    with pytest.raises(InputError, match="gemm_async/accumulator") as caught:
        build(d_type=E.F16, dtypes=(E.F16, E.BF16))
    assert caught.value.findings[0].expected == "f32"


@pytest.mark.parametrize("power", [-1, 16])
def test_d_is_scaled_by_sixteen_powers_of_two(power: int) -> None:
    with pytest.raises(InputError, match="gemm_async/scale-d"):
        build(accumulate=True, scale_d=power)
    assert mmas(build(accumulate=True, scale_d=power % 16))


@pytest.mark.parametrize(
    ("group", "rows", "good"),
    [
        (CtaGroup.ONE, 64, True),
        (CtaGroup.ONE, 128, True),
        (CtaGroup.ONE, 32, False),
        (CtaGroup.TWO, 64, True),
        (CtaGroup.TWO, 128, True),
        (CtaGroup.TWO, 32, False),
    ],
)
def test_m_is_64_or_128_for_each_cta(group: CtaGroup, rows: int, good: bool) -> None:
    if good:
        assert mmas(build(a=(rows, 64), b=(64, 64), group=group))
    else:
        with pytest.raises(InputError, match="gemm_async/m"):
            build(a=(rows, 64), b=(64, 64), group=group)


@pytest.mark.parametrize(
    ("group", "n", "good"),
    [(CtaGroup.ONE, 8, True), (CtaGroup.ONE, 12, False), (CtaGroup.TWO, 8, True)],
)
def test_n_goes_by_8_or_16(group: CtaGroup, n: int, good: bool) -> None:
    """8 rows of B in each CTA of a pair are N = 16."""
    if good:
        assert mmas(build(b=(n, 64), group=group))
    else:
        with pytest.raises(InputError, match="gemm_async/n"):
            build(b=(n, 64), group=group)

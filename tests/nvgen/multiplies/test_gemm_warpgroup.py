"""gemm_async and gemm in the registers of a warpgroup: what they make of tiles and require."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from intrinsics.element import ElementType as E
from intrinsics.element import Major
from intrinsics.findings import InputError
from intrinsics.modifiers import CtaGroup
from nvgen import Kernel, KernelBuilder
from nvgen.instructions.roles import ExecutionScope
from nvgen.multiplies.warpgroup_tile import WARPGROUP_REQUIREMENTS, WarpgroupTile
from tests.oracle.ptxas_modules import report
from tests.oracle.sass import find_nvdisasm, listing

pytestmark = pytest.mark.seldom(3)

K, MN = Major.K, Major.MN


def build(
    *,
    a: tuple[int, int] = (64, 64),
    b: tuple[int, int] = (128, 64),
    d: tuple[int, int] | None = None,
    dtypes: tuple[E, E] = (E.F16, E.F16),
    sums: E = E.F32,
    majors: tuple[Major, Major] = (K, K),
    swizzle: int = 128,
    threads: int = 128,
    scope: ExecutionScope = ExecutionScope.CTA,
    registers: bool = False,
    whole: bool = False,
    **options: object,
) -> Kernel:
    """One gemm_async, or with `whole` one gemm; of f16, K-major, unless said otherwise."""
    builder = KernelBuilder("k", block=threads, dynamic_shared=True)
    builder.integer("first")
    builder.begin()
    builder.scope = scope
    tile = builder.warpgroup_tile(*(d or (a[0], b[0])), sums)
    if registers:
        x = builder.tid_x
        four = builder.words([x, x, x, x])
        steps = a[1] * dtypes[0].bits // 256
        left: object = builder.warpgroup_operand([[four] * steps] * (a[0] // 64), dtypes[0])
    else:
        left = builder.shared_tile("a", dtypes[0], a, swizzle=swizzle, major=majors[0])
    right = builder.shared_tile("b", dtypes[1], b, swizzle=swizzle, major=majors[1])
    (builder.gemm if whole else builder.gemm_async)(tile, left, right, **options)
    builder.scope = ExecutionScope.CTA
    return builder.finish()


def instructions(kernel: Kernel) -> list[str]:
    """The warpgroup's instructions, each operand's registers left out."""
    ptx = kernel.compile(target="sm_90a").ptx
    found = re.findall(r"^\s*(wgmma\S* .*|wgmma\S*;)$", ptx, re.MULTILINE)
    return [re.sub(r"\{[^}]*\}", "{}", re.sub(r"%(rd|r|f|p)\d+", r"%\1", line)) for line in found]


# ---- what it makes ---------------------------------------------------------------------------

MULTIPLY = "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {}, %rd, %rd, "


def test_all_steps_of_k_are_multiplied_and_the_first_one_ignores_d() -> None:
    """K = 64 of f16 is four steps of 16; scale-d, signs, no transposition."""
    assert instructions(build()) == [f"{MULTIPLY}{d}, 1, 1, 0, 0;" for d in (0, 1, 1, 1)]


def test_accumulate_keeps_what_is_in_d() -> None:
    assert instructions(build(accumulate=True)) == [f"{MULTIPLY}1, 1, 1, 0, 0;"] * 4


def test_the_whole_protocol_is_fence_multiplies_commit_wait() -> None:
    found = instructions(build(whole=True))
    assert found[0] == "wgmma.fence.sync.aligned;"
    assert found[1:5] == [f"{MULTIPLY}{d}, 1, 1, 0, 0;" for d in (0, 1, 1, 1)]
    assert found[5:] == ["wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"]


def test_a_group_may_stay_in_flight() -> None:
    assert instructions(build(whole=True, in_flight=1))[-1] == "wgmma.wait_group.sync.aligned 1;"


def test_it_fences_and_commits_nothing() -> None:
    assert all("mma_async" in line for line in instructions(build()))


@pytest.mark.parametrize("step", [0, 3])
def test_one_step_of_k(step: int) -> None:
    assert instructions(build(step=step)) == [f"{MULTIPLY}0, 1, 1, 0, 0;"]


def test_64_rows_are_one_instruction() -> None:
    assert len(instructions(build(a=(192, 64)))) == 3 * 4


@pytest.mark.parametrize(
    ("dtypes", "sums", "words", "k", "tail"),
    [
        ((E.F16, E.F16), E.F16, "f16.f16.f16", 16, "0, 1, 1, 0, 0;"),
        ((E.BF16, E.BF16), E.F32, "f32.bf16.bf16", 16, "0, 1, 1, 0, 0;"),
        ((E.TF32, E.TF32), E.F32, "f32.tf32.tf32", 8, "0, 1, 1;"),
        ((E.E4M3, E.E5M2), E.F32, "f32.e4m3.e5m2", 32, "0, 1, 1;"),
        ((E.E5M2, E.E5M2), E.F16, "f16.e5m2.e5m2", 32, "0, 1, 1;"),
        ((E.S8, E.U8), E.S32, "s32.s8.u8", 32, "0;"),
    ],
)
def test_each_type_has_its_instruction(
    dtypes: tuple[E, E], sums: E, words: str, k: int, tail: str
) -> None:
    """K of an instruction is what 32 bytes hold; a span of 128 bytes has four of them."""
    depth = 128 * 8 // dtypes[0].bits
    found = instructions(build(a=(64, depth), b=(64, depth), dtypes=dtypes, sums=sums))
    head = f"wgmma.mma_async.sync.aligned.m64n64k{k}.{words}"
    assert len(found) == 4
    assert found[0] == f"{head} {{}}, %rd, %rd, {tail}"


@pytest.mark.parametrize("majors", [(K, MN), (MN, K), (MN, MN)])
def test_an_mn_major_matrix_is_transposed(majors: tuple[Major, Major]) -> None:
    (first, *_) = instructions(build(majors=majors))
    trans_a, trans_b = (int(major is MN) for major in majors)
    assert first == f"{MULTIPLY}0, 1, 1, {trans_a}, {trans_b};"


def test_a_in_registers() -> None:
    found = instructions(build(a=(128, 32), b=(8, 32), swizzle=64, registers=True))
    head = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {}, {}, %rd, "
    assert found == [f"{head}{d}, 1, 1, 0;" for d in (0, 0, 1, 1)]


# ---- descriptors -----------------------------------------------------------------------------


def advances(kernel: Kernel) -> list[int]:
    """What is added to descriptors, in bytes, in the order of the instructions."""
    mir = kernel.compile(target="sm_90a").mir
    return [16 * int(n) for n in re.findall(r"= ADD_S64 \S+, imm:(\d+)", mir)]


def test_a_step_of_k_moves_both_descriptors_32_bytes() -> None:
    assert advances(build()) == [32, 32, 64, 64, 96, 96]


def test_a_span_of_k_is_a_block_of_all_rows() -> None:
    """K = 128 of f16 is two spans; the second lies behind all rows of the first."""
    moved = advances(build(a=(64, 128), b=(32, 128)))
    assert {64 * 128, 32 * 128} <= set(moved)


def test_64_rows_further_down() -> None:
    """Rows of a span follow one another: 64 of them are 64 spans."""
    assert advances(build(a=(128, 16), b=(8, 16), swizzle=32)) == [64 * 32]


def test_a_step_of_k_of_an_mn_major_matrix_is_16_spans() -> None:
    """K lies across the spans, each of 64 elements of M."""
    moved = advances(build(a=(128, 32), b=(64, 32), majors=(MN, MN)))
    second_rows = 32 * 128  # the block of the first 64 elements of M has 32 spans
    assert sorted(moved) == sorted([second_rows, 16 * 128, 16 * 128, 16 * 128 + second_rows])


@pytest.mark.parametrize(("swizzle", "code"), [(128, 1), (64, 2), (32, 3)])
@pytest.mark.parametrize("major", [K, MN])
def test_the_constant_part_of_a_descriptor(swizzle: int, code: int, major: Major) -> None:
    """Swizzling in bits 62 and 63; strides of 16 bytes at 16 (MN-major only) and 32."""
    depth = swizzle // 2 if major is K else 32
    mir = (
        build(a=(64, depth), b=(64, depth), majors=(major, major), swizzle=swizzle)
        .compile(target="sm_90a")
        .mir
    )
    leading = depth * swizzle // 16 if major is MN else 1
    word = code << 62 | 8 * swizzle // 16 << 32 | leading << 16
    found = {int(n) % (1 << 64) for n in re.findall(r"= OR_B64 \S+, imm:(-?\d+)", mir)}
    assert found == {word}


# ---- what the machine gets -------------------------------------------------------------------


def ring_of_stages(consumers: int, rows: int, n: int, *, same: bool = False) -> Kernel:
    """Warpgroups that multiply `rows` rows each from a ring of four stages, then store.

    Each has code of its own, or with `same` all the same, with a number that is computed.
    """
    b = KernelBuilder("k", block=128 * (consumers + 1), dynamic_shared=True)
    b.pointer("out")
    b.integer("steps")
    args = b.begin()
    a_ring = b.shared_tiles("a", E.F16, (rows * consumers, 64), 4)
    b_ring = b.shared_tiles("b", E.F16, (n, 64), 4)
    full, empty = b.mbarriers("full", 4), b.mbarriers("empty", 4)
    scopes = [b.if_(b.warpgroup < consumers)] if same else map(b.if_warpgroup, range(consumers))
    for number, scope in enumerate(scopes):
        with scope:
            d, ring = b.warpgroup_tile(rows, n), b.ring(4)
            first = (b.warpgroup if same else number) * rows
            with b.range(args["steps"]) as step:
                b.wait(full[ring.stage], ring.parity)
                mine = a_ring[ring.stage].part(first, rows)
                b.gemm(d, mine, b_ring[ring.stage], accumulate=step != 0)
                b.mbarrier_arrive(empty[ring.stage])
                ring.advance()
            for index, part in enumerate(d.parts):
                place = b.tid_x * (2 * n) + 2 * n * 128 * consumers * index
                b.store(part.registers, args["out"] + place.zext(64), align=16)
    return b.finish()


LAYOUTS = [(1, 64, 256), (1, 128, 128), (2, 64, 256), (2, 128, 128)]
MOVES = {"MOV", "IMAD", "SHFL", "STL", "LDL", "CS2R", "R2UR", "SEL", "PRMT"}
"""What copies registers, IMAD as IMAD.MOV; a barrier's address goes by one."""


@pytest.mark.wrong_kernel  # nothing fills the ring: only its loop is looked at
@pytest.mark.turns(8)
@pytest.mark.skipif(find_nvdisasm() is None, reason="nvdisasm is not installed")
@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize(("consumers", "rows", "n"), LAYOUTS)
def test_a_loop_of_stages_holds_multiplies_and_no_copies(
    consumers: int, rows: int, n: int, opt: int, *, same: bool
) -> None:
    compiled = ring_of_stages(consumers, rows, n, same=same).compile(target="sm_90a", opt=opt)
    said = report(compiled.ptx, "sm_90a")
    assert "0 bytes spill stores, 0 bytes spill loads" in said
    assert not re.search(r"C75\d\d", said)
    loop = listing(compiled.cubin()).innermost("HGMMA")
    multiplies = rows // 64 * 4
    assert loop["HGMMA"] == multiplies
    vectors = {kind: count for kind, count in loop.items() if kind in MOVES}
    assert set(vectors) <= {"IMAD"}, "registers are copied"
    assert vectors.get("IMAD", 0) <= 3
    advancing = loop["UIADD3"] + loop["UMOV"]
    assert advancing <= 3 * multiplies + 10, "more than a few uniform instructions for a step"


# ---- what it requires ------------------------------------------------------------------------

SMALL = {"a": (64, 32), "b": (64, 32)}
BROKEN: dict[str, dict[str, object]] = {
    "scope": {"scope": ExecutionScope.WARP},
    "option": {"cta_group": CtaGroup.TWO},
    "dtype": {"dtypes": (E.F16, E.BF16)},
    "accumulator": {"dtypes": (E.BF16, E.BF16), "sums": E.F16},
    "shape": {"d": (128, 128)},
    "k": {"a": (64, 24), "b": (64, 24), "swizzle": 32},
    "step": {"step": 4},
    "metadata": {"metadata": [0, 0, 0, 0]},
    "swizzle": {"a": (64, 48), "b": (64, 48)},
    "major": {"dtypes": (E.TF32, E.TF32), "majors": (MN, K), **SMALL},
}


def refusal(**arguments: object) -> dict[str, tuple[str, str]]:
    """What was got and expected, by rule."""
    with pytest.raises(InputError) as caught:
        build(**arguments)
    return {f.rule.removeprefix("gemm_async/"): (f.got, f.expected) for f in caught.value.findings}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_requirement_is_named(rule: str) -> None:
    got, expected = refusal(**BROKEN[rule])[rule]
    assert got
    assert expected


def test_every_requirement_can_be_broken() -> None:
    """All but the kernel's own tiles and its target, which follow, and A of warps' registers, which
    is in `test_fragments`.
    """
    rules = {r.rule for r in WARPGROUP_REQUIREMENTS}
    assert rules - set(BROKEN) == {
        "kernel",
        "target",
        "registers",
    }


def test_a_target_without_such_multiplies_names_the_one_that_has_them() -> None:
    b = KernelBuilder("k", block=128, target="sm_120a")
    b.begin()
    tile = b.shared_tile("tile", E.F16, (64, 64))
    with pytest.raises(InputError) as caught:
        b.gemm(b.warpgroup_tile(64, 64), tile, tile)
    found = [(f.rule, f.got, f.expected) for f in caught.value.findings]
    assert found == [("gemm_async/target", "sm_120a", "sm_90a")]


def test_a_wrong_k_is_reported_once() -> None:
    """24 elements are no multiple of 16, and no whole span either."""
    b = KernelBuilder("k", block=128)
    b.begin()
    tile = b.shared_tile("tile", E.F16, (64, 24), swizzle=64)
    with pytest.raises(InputError) as caught:
        b.gemm_async(b.warpgroup_tile(64, 64), tile, tile)
    assert [f.rule for f in caught.value.findings] == ["gemm_async/k"]


def test_atoms_of_32_bytes_are_not_read_by_a_warpgroup() -> None:
    b = KernelBuilder("k", block=128)
    b.begin()
    tile = b.shared_tile("tile", E.F16, (64, 64), atom=32)
    with pytest.raises(InputError, match="gemm_async/swizzle"):
        b.gemm_async(b.warpgroup_tile(64, 64), tile, tile)


def test_all_broken_requirements_are_reported_at_once() -> None:
    assert {"scope", "shape", "dtype"} <= set(
        refusal(b=(12, 64), d=(64, 8), scope=ExecutionScope.THREAD, dtypes=(E.F16, E.F32))
    )


@pytest.mark.parametrize("threads", [64, 192])
def test_a_whole_warpgroup_multiplies(threads: int) -> None:
    assert refusal(threads=threads) == {
        "scope": (
            f"all threads of the CTA, of {threads} threads",
            "inside `b.if_warpgroup(…)`, or all threads of whole warpgroups",
        )
    }


def test_integers_have_fewer_widths() -> None:
    """wgmma of integers has N in steps of 16 beyond 24: there is no D to multiply into."""
    b = KernelBuilder("k", block=128)
    b.begin()
    assert b.warpgroup_tile(64, 40).n == 40
    with pytest.raises(InputError, match="no multiply of a warpgroup has such a D"):
        b.warpgroup_tile(64, 40, E.S32)


def test_registers_are_not_numbered_by_the_kernel() -> None:
    b = KernelBuilder("k", block=128)
    b.begin()
    four = b.words([b.tid_x] * 4)
    a, right = b.warpgroup_operand([[four, four]], E.F16), b.shared_tile("b", E.F16, (8, 64))
    with pytest.raises(InputError, match="gemm_async/step"), b.range(2) as step:
        b.gemm_async(b.warpgroup_tile(64, 8), a, right, step=step)


Strange = Callable[[KernelBuilder, KernelBuilder], None]


@pytest.mark.parametrize("name", ["D", "A", "B"])
def test_tiles_are_of_the_kernel_that_multiplies_them(name: str) -> None:
    own, other = KernelBuilder("own", block=128), KernelBuilder("other", block=128)
    for builder in (own, other):
        builder.begin()
    of = {tile: other if tile == name else own for tile in "DAB"}
    with pytest.raises(InputError) as caught:
        own.gemm(
            of["D"].warpgroup_tile(64, 64),
            of["A"].shared_tile("a", E.F16, (64, 64)),
            of["B"].shared_tile("b", E.F16, (64, 64)),
        )
    (finding,) = caught.value.findings
    assert (finding.rule, finding.got) == ("gemm_async/kernel", f"{name} of another KernelBuilder")


Body = Callable[[KernelBuilder, WarpgroupTile], None]
PLACES: dict[str, Body] = {
    "D in shared memory": lambda b, d: b.gemm_async(
        b.shared_tile("d", E.F16, (64, 64)),
        d,
        b.shared_tile("b", E.F16, (64, 64)),
    ),
    "an accumulator as A": lambda b, d: b.gemm_async(d, d, b.shared_tile("b", E.F16, (64, 64))),
    "B in registers": lambda b, d: b.gemm_async(d, b.shared_tile("a", E.F16, (64, 64)), d),
}


@pytest.mark.parametrize("place", PLACES)
def test_matrices_lie_where_a_multiply_has_them(place: str) -> None:
    b = KernelBuilder("k", block=128)
    b.begin()
    with pytest.raises(InputError) as caught:
        PLACES[place](b, b.warpgroup_tile(64, 64))
    assert {f.rule for f in caught.value.findings} == {"gemm_async/tile"}


def test_the_whole_protocol_in_tensor_memory_is_the_callers() -> None:
    b = KernelBuilder("k", block=128)
    b.begin()
    a, c = b.shared_tile("a", E.F16, (128, 64)), b.shared_tile("b", E.F16, (64, 64))
    with pytest.raises(InputError, match="the whole protocol"):
        b.gemm(b.tensor_tile(b.const(0), 128, 64), a, c)


@pytest.mark.parametrize(
    ("m", "n", "dtype"), [(32, 64, E.F32), (96, 64, E.F32), (0, 64, E.F32), (64, 64, E.BF16)]
)
def test_an_accumulator_has_whole_parts_of_64_rows(m: int, n: int, dtype: E) -> None:
    b = KernelBuilder("k", block=128)
    b.begin()
    with pytest.raises(InputError, match="no such tile"):
        b.warpgroup_tile(m, n, dtype)


def test_a_in_registers_has_four_for_each_step() -> None:
    b = KernelBuilder("k", block=128)
    b.begin()
    two = b.words([b.tid_x] * 2)
    with pytest.raises(InputError, match="no A in the registers"):
        b.warpgroup_operand([[two]], E.F16)
    four = b.words([b.tid_x] * 4)
    with pytest.raises(InputError, match="no A in the registers"):
        b.warpgroup_operand([[four], [four, four]], E.F16)

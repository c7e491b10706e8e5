"""Shared memory of the builder, and the arguments that its verbs refuse, with the caller's line."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from llvmlite import binding, ir

from intrinsics.element import ElementType
from intrinsics.findings import InputError
from intrinsics.modifiers import (
    CollectorA,
    LdStNum,
    LdStShape,
    MmaKind,
    ScaleVec,
)
from nvgen import KernelBuilder, u32
from nvgen.llvm.ir_text import BFloatType
from tests.each import each
from tests.nvgen.builder.small_kernels import kernel, taddr

# ---- shared memory ---------------------------------------------------------------------------


@pytest.mark.parametrize("swizzle", [32, 64, 128])
def test_a_chunk_of_a_tile_lies_where_a_copy_puts_it(swizzle: int) -> None:
    """Every row's chunks of 16 bytes, written one by one, come out of a tile store in order."""
    chunks = swizzle // 16
    b = KernelBuilder("k", block=32)
    b.tensor_map("out", dtype=ElementType.S32, box=(32, 4 * chunks), swizzle=swizzle, output=True)
    args = b.begin()
    tile = b.shared_tile("tile", ElementType.S32, (32, 4 * chunks), swizzle=swizzle)
    for number in range(chunks):
        b.store(b.tid_x * 100 + number, tile.chunk(b.tid_x, number))
        for word in range(1, 4):
            b.store(b.const(0), tile.chunk(b.tid_x, number) + 4 * word)
    b.fence_proxy_async()
    b.bar_warp_sync()
    with b.elect():
        b.cp_async_bulk_tensor_s2g_tile(args["out"], (0, 0), tile.pointer)
        b.cp_async_bulk_commit_group()
        b.cp_async_bulk_wait_group(0)
    out = np.zeros((32, 4 * chunks), np.int32)
    b.finish().compile(target="sm_90a").run(out, schedule="late")
    expected = np.zeros_like(out)
    expected[:, ::4] = np.arange(32)[:, None] * 100 + np.arange(chunks)
    assert np.array_equal(out, expected)


def test_tiles_in_dynamic_shared_memory() -> None:
    """More than 48 KiB, one array from a multiple of 1024 on; the kernel says how much it needs."""
    b = KernelBuilder("k", block=32, dynamic_shared=True)
    b.begin()
    tiles = b.shared_tiles("tiles", ElementType.F16, (128, 64), 4)
    b.shared_tile("other", ElementType.U8, (8, 16), swizzle=32)
    last = b.shared_tile("last", ElementType.F16, (8, 64))
    b.mbarrier_init(b.mbarriers("m", 2)[1], 1)
    assert (tiles.nbytes, last.nbytes) == (16384, 1024)
    made = b.finish()
    assert made.dynamic_shared == 4 * 16384 + 1024 + 1024, "the last one is aligned again"
    assert "@dynamic_shared = external addrspace(3) global [0 x i8], align 1024" in made.llvm
    assert ".extern .shared .align 1024 .b8 dynamic_shared[];" in made.compile(target="sm_90a").ptx


def test_dynamic_shared_memory_ends_at_227_kib() -> None:
    b = KernelBuilder("k", block=32, dynamic_shared=True)
    b.begin()
    with pytest.raises(InputError, match="at most 232448"):
        b.shared_tiles("t", ElementType.F16, (128, 64), 15)


# ---- refusals --------------------------------------------------------------------------------


def refusal(body: Callable[[KernelBuilder, dict], object]) -> str:
    with pytest.raises(InputError) as caught:
        kernel(body)
    return str(caught.value)


def test_a_value_of_the_kernel_has_no_truth_while_it_is_built() -> None:
    assert "with b.if_(condition)" in refusal(lambda b, a: bool(b.tid_x == 0))
    assert "with b.range(n) as i" in refusal(lambda b, a: range(b.tid_x))
    assert "no number of elements" in refusal(lambda b, a: b.shared_array("x", u32, b.tid_x))


def test_integers_of_different_widths_do_not_mix() -> None:
    assert "x.to(u32)" in refusal(lambda b, a: b.tid_x + b.const(1, 64))


def test_a_number_that_does_not_fit_is_refused() -> None:
    assert "does not fit into 32 bits" in refusal(lambda b, a: b.tid_x + (1 << 40))


def test_a_number_is_no_address() -> None:
    assert "an address is wanted" in refusal(lambda b, a: b.tcgen05_dealloc(0, 32))


def test_a_global_address_is_no_tensor_memory_address() -> None:
    text = refusal(lambda b, a: b.tcgen05_dealloc(a["out"], 32))
    assert "got: ptr addrspace(1)" in text
    assert "expected: ptr addrspace(6)" in text


def scaled(b: KernelBuilder, **more: object) -> None:
    b.tcgen05_mma(taddr(b), taddr(b), b.const(2, 64), 3, 1, sfa=taddr(b), sfb=taddr(b), **more)


def plain(b: KernelBuilder, **more: object) -> None:
    b.tcgen05_mma(taddr(b), taddr(b), b.const(2, 64), 3, 1, **more)


LADDER = {
    "5, i8": (
        "Scale input accumulator can only be used with f16 and tf32 types",
        lambda b: plain(b, kind=MmaKind.I8, scale_d=3)),
    "5, f8f6f4": (
        "Scale input accumulator can only be used with f16 and tf32 types",
        lambda b: plain(b, kind=MmaKind.F8F6F4, scale_d=3)),
    "6": (
        "Block scale is not supported for f16, tf32, f8f6f4, and i8 types",
        lambda b: scaled(b, kind=MmaKind.F16)),
    "7": (
        "ashift is not supported with tcgen05.mma.block_scale variants",
        lambda b: scaled(b, kind=MmaKind.MXF8F6F4, ashift=True)),
    "9": (
        "Cannot use weight stationary with mxf8f6f4 and fp4 types",
        lambda b: b.tcgen05_mma_ws(
            taddr(b), b.const(1, 64), b.const(2, 64), 3, 1, kind=MmaKind.MXF4)),
    "10, fill": (
        "Cannot use collector::a::use or colletor::a::fill with ashift",
        lambda b: plain(b, kind=MmaKind.F16, ashift=True, collector_a=CollectorA.FILL)),
    "10, use": (
        "Cannot use collector::a::use or colletor::a::fill with ashift",
        lambda b: plain(b, kind=MmaKind.F16, ashift=True, collector_a=CollectorA.USE)),
    "11": (
        "scale vector size is not legal for this input family",
        lambda b: scaled(b, kind=MmaKind.MXF8F6F4, scale_vec=ScaleVec.BLOCK16)),
    "12": (
        "scale vector size is not legal for this input family",
        lambda b: scaled(b, kind=MmaKind.MXF4NVF4)),
    "13": (
        "scale vector size is not legal for this input family",
        lambda b: scaled(b, kind=MmaKind.MXF4, scale_vec=ScaleVec.BLOCK16)),
}  # fmt: skip
"""Rules of the ladder, their words, and what breaks them."""


@pytest.mark.parametrize("rule", LADDER)
def test_the_rules_of_the_ladder_speak_before_llvm_has_no_name_for_a_form(rule: str) -> None:
    text, breaks = LADDER[rule]
    assert text in refusal(lambda b, a: breaks(b))


def test_a_shift_of_rows_in_shared_memory_is_refused_by_its_rule() -> None:
    text = refusal(
        lambda b, a: b.tcgen05_mma(
            taddr(b), b.const(1, 64), b.const(2, 64), 3, 1, kind=MmaKind.F16, ashift=True
        )
    )
    assert "ashift shifts rows of A in tensor memory" in text


def test_a_load_of_more_than_128_registers_is_refused() -> None:
    text = refusal(lambda b, a: b.tcgen05_ld(taddr(b), num=LdStNum.X64, shape=LdStShape.S16X256B))
    assert "at most 128" in text


def test_static_shared_memory_ends_at_48_kib() -> None:
    text = refusal(lambda b, a: b.shared_tile("t", ElementType.F16, (256, 128)))
    assert "at most 49152" in text
    assert "dynamic_shared=True" in text


OUTSIDE: dict[str, Callable[[KernelBuilder, dict], object]] = {
    "an mbarrier": lambda b, a: b.mbarriers("m", 2)[2],
    "a tile": lambda b, a: b.shared_tiles("t", ElementType.F16, (8, 64), 2)[-1],
    "a tile that is not aligned": lambda b, a: b.shared_tiles("t", ElementType.F16, (4, 64), 2),
    "registers": lambda b, a: b.tcgen05_ld(taddr(b), num=LdStNum.X4)[2:6],
    "one register": lambda b, a: b.tcgen05_ld(taddr(b), num=LdStNum.X4)[2:3],
    "the fifth register": lambda b, a: b.tcgen05_ld(taddr(b), num=LdStNum.X4)[4],
    "a vector of nothing": lambda b, a: b.words([]),
}


@each("name", OUTSIDE)
def test_what_is_not_there_is_refused(name: str) -> None:
    assert "expected: " in refusal(OUTSIDE[name])


NONSENSE: dict[str, Callable[[KernelBuilder, dict], object]] = {
    "a name that is taken": lambda b, a: [b.shared_word("s"), b.mbarrier("s")],
    "no name": lambda b, a: b.shared_word(""),
    "no mbarriers": lambda b, a: b.mbarriers("m", 0),
    "a tile of no rows": lambda b, a: b.shared_tile("t", ElementType.F16, (0, 64)),
    "less than no rows": lambda b, a: b.shared_tile("t", ElementType.F16, (-8, 64)),
    "factors for no elements": lambda b, a: b.shared_scales("s", 128, 128, size=0),
    "factors in tensor memory": lambda b, a: b.tensor_memory("t", 32).scale_tiles(
        128, 64, 1, size=0
    ),
    "a second body": lambda b, a: b.begin(),
    "a second end": lambda b, a: [b.finish(), b.finish()],
    "a ring of nothing": lambda b, a: b.ring(0),
    "a loop that stands still": lambda b, a: b.range(4, step=0).__enter__(),
    "Python's condition": lambda b, a: b.if_(True).__enter__(),
    "a number as a condition": lambda b, a: b.if_(b.tid_x).__enter__(),
    "a float": lambda b, a: b.tid_x + 1.5,
    "a narrower extension": lambda b, a: b.tid_x.zext(16),
    "an address that is uniform": lambda b, a: b.uniform(b.shared_word("w")),
}


@each("name", NONSENSE)
def test_nonsense_is_refused(name: str) -> None:
    text = refusal(NONSENSE[name])
    assert "builder/value" in text
    assert "expected: " in text


SHAPES: dict[str, Callable[[], object]] = {
    "no name": lambda: KernelBuilder("", block=32),
    "no threads": lambda: KernelBuilder("k", block=0),
    "too many threads": lambda: KernelBuilder("k", block=(32, 32, 2)),
    "no cluster": lambda: KernelBuilder("k", block=32, cluster=0),
    "a cluster that no GPU has": lambda: KernelBuilder("k", block=32, cluster=17),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_kernel_that_cannot_be_launched_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="expected: "):
        SHAPES[name]()


@pytest.mark.parametrize("name", ["", "x"])
def test_a_parameter_has_a_name_of_its_own(name: str) -> None:
    b = KernelBuilder("k", block=32)
    b.pointer("x")
    with pytest.raises(InputError, match="a name of its own"):
        b.integer(name)


def test_arithmetic_of_numbers_with_values_and_of_registers() -> None:
    """Whatever side the number stands on, and one register by one; numpy computes it again."""
    b = KernelBuilder("k", block=32)
    b.pointer("x")
    b.pointer("y", output=True)
    args = b.begin()
    row = b.tid_x.zext(64) * 16
    values = b.load(args["x"] + row, u32, 4, align=16)
    one, two, three, four = values
    found = b.words([100 - one, 3 * two, 0xF0 & three, 0xFF ^ four + values[0]])
    b.store(found, args["y"] + row, align=16)
    x = np.random.default_rng(0).integers(0, 99, (32, 4)).astype(np.uint32)
    y = np.zeros_like(x)
    b.finish().compile(target="sm_100a").run(x, y)
    wanted = [100 - x[:, 0], 3 * x[:, 1], x[:, 2] & 0xF0, (x[:, 3] + x[:, 0]) ^ 0xFF]
    np.testing.assert_array_equal(y, np.stack(wanted, axis=1))


def test_a_variable_keeps_its_width() -> None:
    assert "expected: u32" in refusal(lambda b, a: b.variable(0).set(b.const(0, 64)))


def test_a_tensor_copy_has_one_to_five_dimensions() -> None:
    text = refusal(
        lambda b, a: b.cp_async_bulk_tensor_g2s_tile(
            b.shared_word("s"), b.mbarrier("m"), a["map"], (0,) * 6
        )
    )
    assert "TMA rank must be in the range 1..5" in text


def test_parameters_come_before_the_body() -> None:
    assert "before the body" in refusal(lambda b, a: b.integer("late"))


def test_a_body_must_be_begun() -> None:
    with pytest.raises(InputError, match=r"no call of begin\(\)"):
        KernelBuilder("k", block=32).tcgen05_wait_ld()


# ---- what llvmlite.ir lacks ------------------------------------------------------------------


def test_bfloat_constants_are_llvms_bits() -> None:
    """1.5 is 0x3FC0 in bfloat; LLVM prints it the same way."""
    module = ir.Module()
    type_ = BFloatType()
    variable = ir.GlobalVariable(module, type_, "g")
    variable.initializer = ir.Constant(type_, 1.5)
    printed = str(binding.parse_assembly(str(module), context=binding.create_context()))
    assert "@g = global bfloat 0xR3FC0" in printed


def test_kernels_have_their_attributes() -> None:
    text = kernel(lambda b, a: None)
    assert 'define ptx_kernel void @k(ptr addrspace(1) %out, ptr byval([128 x i8]) align 64 ' \
        '"nvvm.grid_constant" %map, ' in text  # fmt: skip
    assert '"nvvm.reqntid"="128,1,1"' in text

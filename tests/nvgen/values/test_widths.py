"""Shuffles, reductions and atomic additions of numbers of every width; expected by numpy."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from intrinsics.findings import InputError
from intrinsics.modifiers import AtomicOp, Shuffle
from nvgen import KernelBuilder, bf16, bf16x2, f16, f16x2, f32, f64, i16, i64, u8, u32, u64
from nvgen.testing import Launch, assert_exact, kernel_test
from tests.each import each

NUMBERS = {
    "u8": (u8, np.uint8), "i16": (i16, np.int16), "f16": (f16, np.float16),
    "bf16": (bf16, bf16.numpy), "i64": (i64, np.int64), "u64": (u64, np.uint64),
    "f64": (f64, np.float64),
}  # fmt: skip


@each("name", NUMBERS)
@kernel_test(targets="sm_80")
def test_a_shuffle_moves_numbers_of_any_width(launch: Launch, name: str) -> None:
    dtype, numpy = NUMBERS[name]
    b = KernelBuilder("k", block=32, target=launch.target)
    b.pointer("x", dtype)
    b.pointer("y", dtype, output=True)
    b.pointer("inside", u32, output=True)
    args = b.begin()
    mine = args["x"][b.tid_x]
    args["y"][b.tid_x] = b.shfl_sync(Shuffle.BFLY, mine, 5)
    below, inside = b.shfl_sync_p(Shuffle.UP, mine, 3)
    args["y"][b.tid_x + 32] = below
    args["inside"][b.tid_x] = inside.to(u32)
    sign = 1 if name.startswith("u") else -1
    scale = 2**40 + 1 if name.endswith("64") else 1
    x = (np.arange(32) * 3 * scale * sign).astype(numpy)
    y, inside_of = np.zeros(64, numpy), np.zeros(32, np.uint32)
    launch(b.finish(), x, y, inside_of)
    lanes = np.arange(32)
    assert_exact(y, np.concatenate([x[lanes ^ 5], x[np.where(lanes < 3, lanes, lanes - 3)]]))
    assert_exact(inside_of, (lanes >= 3).astype(np.uint32))


@pytest.mark.turns(3)
@each("threads", [32, 64, 96, 256])
@each("name", ["i16", "bf16", "i64", "u64", "f64"])
@kernel_test(targets="sm_80")
def test_all_threads_get_sums_and_extremes_of_any_width(
    launch: Launch, name: str, threads: int
) -> None:
    dtype, numpy = NUMBERS[name]
    b = KernelBuilder("k", block=threads, target=launch.target)
    b.pointer("x", dtype)
    b.pointer("y", dtype, output=True)
    args = b.begin()
    mine = args["x"][b.tid_x]
    args["y"][b.tid_x] = b.cta_reduce(mine, operator.add)
    args["y"][b.tid_x + threads] = b.cta_reduce(mine, lambda x, y: x.max(y))
    high = 2 if name == "bf16" else 99  # so that bf16 rounds no sum
    x = np.random.default_rng(threads).integers(0, high, threads).astype(numpy)
    if name.endswith("64"):
        x = x * numpy(2**33)  # type: ignore[misc]
    y = np.zeros(2 * threads, numpy)
    launch(b.finish(), x, y)
    total, most = x.astype(np.float64).sum(), x.astype(np.float64).max()
    assert_exact(y, np.repeat([total, most], threads).astype(numpy))


def test_a_reduction_keeps_its_type() -> None:
    b = KernelBuilder("k", block=32, target="sm_80")
    b.begin()
    for other, got in ((lambda x, _: x.to(u64), "u64"), (lambda *_: 1.0, "1.0")):
        with pytest.raises(InputError, match="makes another type") as caught:
            b.warp_reduce(b.tid_x, other)
        assert caught.value.findings[0].got == got


ADDED = {"f16": (f16, "f16"), "bf16": (bf16, "bf16"), "f16x2": (f16x2, "f16x2"),
         "bf16x2": (bf16x2, "bf16x2")}  # fmt: skip


@each("name", ADDED)
@kernel_test(targets="sm_90a")
def test_halves_and_pairs_are_added_to_memory(launch: Launch, name: str) -> None:
    """Small whole numbers, whose sums halves hold exactly.  PTX ISA, atom."""
    dtype, spelled = ADDED[name]
    numpy = (f16 if name.startswith("f16") else bf16).numpy
    count = 2 if name.endswith("x2") else 1
    b = KernelBuilder("k", block=32, target=launch.target)
    b.pointer("x", dtype)
    b.pointer("sum", dtype)
    args = b.begin()
    b.atom(AtomicOp.ADD, dtype, args["sum"], args["x"][b.tid_x])
    kernel = b.finish()
    assert f".add.noftz.{spelled} " in kernel.compile(target="sm_90a").ptx
    x = np.random.default_rng(1).integers(-3, 4, 32 * count).astype(numpy)
    total = np.zeros(count, numpy)
    launch(kernel, x, total)
    assert_exact(total, x.reshape(32, count).astype(np.float32).sum(0).astype(numpy))


def test_a_signed_comparison_with_memory_gives_a_signed_number() -> None:
    b = KernelBuilder("k", block=1, target="sm_80")
    b.pointer("x", i64)
    args = b.begin()
    old = b.atom_cas(args["x"], b.i64(-5), 7)
    assert old.signed
    assert old.bits == 64
    args["x"][1] = old
    x = np.array([-5, 0], np.int64)
    b.finish().compile().run(x, device="sim")
    assert x.tolist() == [7, -5]


@each("name", ["clock64", "globaltimer"])
def test_clocks_of_64_bits_are_read(name: str) -> None:
    b = KernelBuilder("k", block=32, target="sm_90a")
    b.pointer("x", u64)
    args = b.begin()
    args["x"][b.tid_x] = b.sreg(name)
    assert f"mov.u64 %rd2, %{name};" in b.finish().compile().ptx


def test_two_floats_are_chosen_between() -> None:
    b = KernelBuilder("k", block=32, target="sm_90a")
    b.pointer("y", f32, output=True)
    args = b.begin()
    args["y"][b.tid_x] = b.select(b.tid_x < 5, 1.5, -2)
    y = np.zeros(32, np.float32)
    b.finish().compile().run(y, device="sim")
    assert_exact(y, np.where(np.arange(32) < 5, 1.5, -2).astype(np.float32))


def test_one_of_two_addresses_is_chosen() -> None:
    b = KernelBuilder("k", block=32, target="sm_90a")
    for name in ("x", "z"):
        b.pointer(name, f32)
    b.pointer("y", f32, output=True)
    args = b.begin()
    even = b.tid_x % 2 == 0
    shared = b.shared_array("s", f32, 32)
    args["y"][b.tid_x] = b.select(even, args["x"], args["z"])[b.tid_x]
    for other, got in ((shared, "Pointer"), (1, "1")):
        with pytest.raises(InputError, match="another address") as caught:
            b.select(even, args["x"], other)
        assert caught.value.findings[0].got == got
    x, z = np.random.default_rng(2).standard_normal((2, 32)).astype(np.float32)
    y = np.zeros(32, np.float32)
    b.finish().compile().run(x, z, y, device="sim")
    assert_exact(y, np.where(np.arange(32) % 2 == 0, x, z))

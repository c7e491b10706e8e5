"""Matrices in registers: operators, rows, masks, A of the next multiply, stores; against numpy.

Layouts are those of wgmma, mma.sync and tensor memory; one kernel does much at once.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from intrinsics.element import Major
from intrinsics.layouts.register_layout import (
    operand_layout,
    sources,
    tensor_layout,
    warp_layout,
    warpgroup_layout,
)
from nvgen import InputError, KernelBuilder, bf16, e4m3, f16, f32, f64, i32, i64, u32
from nvgen.fragments.fragment import Fragment
from nvgen.fragments.layouts import Holders
from nvgen.testing import Launch, assert_exact, kernel_test
from nvgen.values.vectors import Vector

pytestmark = pytest.mark.filterwarnings("error::nvgen.FindingWarning")

HALF = {f16: np.float16, bf16: ml_dtypes.bfloat16}


def filled(b: KernelBuilder, layout, source, dtype=f32) -> Fragment:
    """A matrix in memory as a fragment of a layout, element by element."""
    holders = Holders(b, layout)
    row, column = holders.corner()
    places = zip(layout.down, layout.along, strict=True)
    values = [source[(row + d) * layout.columns + (column + a)] for d, a in places]
    vector = b.vector(values)
    assert isinstance(vector, Vector)
    return Fragment(vector, holders)


LAYOUTS = {
    "wgmma": (128, lambda: warpgroup_layout(128, 24, 32)),
    "wgmma, sums of 16 bits": (128, lambda: warpgroup_layout(64, 16, 16)),
    "mma.sync": (32, lambda: warp_layout(32, 24)),
    "tensor memory": (128, lambda: tensor_layout(8)),
}


@pytest.mark.turns(3)
@kernel_test(schedules=["early"], targets="sm_90a", opt=[0, 3])
@pytest.mark.parametrize("name", LAYOUTS)
def test_operators_rows_and_masks(launch: Launch, name: str) -> None:
    threads, layout = LAYOUTS[name]
    m, n = layout().rows, layout().columns
    b = KernelBuilder("k", block=threads, target=launch.target)
    b.pointer("x", f32)
    b.pointer("y", f32)
    for out in ("sums", "masked", "scaled", "most"):
        b.pointer(out, f32, output=True)
    args = b.begin()
    x, y = (filled(b, layout(), args[name]) for name in ("x", "y"))
    total = (x * 2 + y - 1) / 4
    total.store(args["sums"], n)
    ends = x.rows(lambda row: row + 3)
    x.where(lambda end, column: column <= end, -math.inf, of=ends).store(args["masked"], n)
    most = x.row_max()
    sums = x.row_sum(whole=False).whole(lambda a, b: a + b)
    ((x - most).fma(sums, y) * -1.0).max(most).store(args["scaled"], n)
    for row, number in (most + sums.map(lambda s: s * s)).items():
        args["most"][row] = number
    rng = np.random.default_rng(2)
    given = [(rng.integers(-40, 41, (m, n)) / 4).astype(np.float32) for _ in range(2)]
    outs = [np.zeros((m, n), np.float32) for _ in range(3)]
    last = np.zeros(m, np.float32)
    launch(b.finish(), *given, *outs, last)
    p, q = given
    assert_exact(outs[0], (p * 2 + q - 1) / 4)
    row, column = np.mgrid[:m, :n]
    assert_exact(outs[1], np.where(column <= row + 3, p, -np.inf).astype(np.float32))
    high, whole = p.max(1, keepdims=True), p.sum(1, keepdims=True)
    assert_exact(outs[2], np.maximum(-((p - high) * whole + q), high))
    assert_exact(last, (high + whole * whole)[:, 0])


@kernel_test(schedules=["early"], targets="sm_90a")
@pytest.mark.parametrize("name", LAYOUTS)
def test_rows_beside_columns_matrices_and_numbers(launch: Launch, name: str) -> None:
    threads, layout = LAYOUTS[name]
    m, n = layout().rows, layout().columns
    b = KernelBuilder("k", block=threads, target=launch.target)
    for given in ("x", "p", "q"):
        b.pointer(given, f32)
    for out in ("differences", "backwards", "mixed", "numbers"):
        b.pointer(out, f32, output=True)
    args = b.begin()
    x = filled(b, layout(), args["x"])
    rows = x.rows(lambda row: args["p"][row])
    columns = x.columns(lambda column: args["q"][column])
    (rows - columns).store(args["differences"], n)
    (columns - rows * columns.max(rows)).store(args["backwards"], n)
    (rows * x + columns.fma(x, rows)).store(args["mixed"], n)
    first = args["p"][0]
    (first - x * (first * rows) + abs(first / columns)).store(args["numbers"], n)
    rng = np.random.default_rng(3)
    shapes = (m, n), (m, 1), (n,)
    full, p, q = (rng.integers(-9, 10, shape).astype(np.float32) for shape in shapes)
    q = np.exp2(q)  # exact quotients
    outs = [np.zeros((m, n), np.float32) for _ in range(4)]
    launch(b.finish(), full, p.ravel(), q, *outs)
    one = p[0, 0]
    wanted = [
        p - q,
        q - p * np.maximum(q, p),
        p * full + (q * full + p),
        one - full * (one * p) + abs(one / q),
    ]
    for got, expected in zip(outs, wanted, strict=True):
        assert_exact(got, expected.astype(np.float32))


@kernel_test(schedules=["early"], targets="sm_90a")
@pytest.mark.parametrize("threads", [32, 128])
def test_an_accumulator_is_computed_with_as_what_it_holds(launch: Launch, threads: int) -> None:
    """Numbers on either side, and functions, of D itself."""
    b = KernelBuilder("k", block=threads, target=launch.target)
    b.pointer("y", f32, output=True)
    args = b.begin()
    sums = b.warp_tile(64, 8) if threads == 32 else b.warpgroup_tile(64, 8)
    sums.set(sums.map_at(lambda _, row, column: (row * 8 + column).to(f32)))
    found = (1 - 2 / (1 + sums)).max(sums.min(3)) + (2 * sums).abs() - sums**2
    found.fma(sums, 1).store(args["y"], 8)
    y = np.zeros((64, 8), np.float32)
    launch(b.finish(), y)
    x = np.arange(512, dtype=np.float32).reshape(64, 8)
    wanted = np.maximum(1 - 2 / (1 + x), np.minimum(x, 3)) + 2 * x - x * x
    assert_exact(y, (wanted.astype(np.float64) * x + 1).astype(np.float32))


@kernel_test(schedules=["early"], targets="sm_90a")
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_bias_for_each_column_and_stores_of_neighbours(launch: Launch, name: str) -> None:
    """Rows begin at multiples of 16 bytes: what a thread has side by side goes at once, also where
    some rows are left out."""
    threads, layout = LAYOUTS[name]
    m, n = layout().rows, layout().columns
    b = KernelBuilder("k", block=threads, target=launch.target)
    b.pointer("x", f32)
    b.pointer("bias", f32)
    b.pointer("wide", f32, output=True)
    b.pointer("narrow", bf16, output=True)
    args = b.begin()
    x = filled(b, layout(), args["x"])
    total = x + x.columns(lambda column: args["bias"][column]) * 2
    total.store(args["wide"], n + 4, align=16)
    total.to(bf16).store(args["narrow"], n, align=16, rows=lambda row: row % 5 < 3)
    compiled = b.finish().compile()
    widest = {"wgmma": 2, "wgmma, sums of 16 bits": 2, "mma.sync": 2, "tensor memory": 4}[name]
    assert compiled.ptx.count(f"st.global.v{widest}.b32") >= layout().count // widest
    rng = np.random.default_rng(3)
    given, bias = (rng.integers(-99, 99, shape).astype(np.float32) for shape in ((m, n), n))
    wide, narrow = np.zeros((m, n + 4), np.float32), np.zeros((m, n), ml_dtypes.bfloat16)
    launch(compiled, given, bias, wide, narrow)
    assert_exact(wide[:, :n], given + 2 * bias)
    kept = np.where(np.arange(m)[:, None] % 5 < 3, given + 2 * bias, 0)
    assert_exact(narrow, kept.astype(ml_dtypes.bfloat16))


@pytest.mark.turns(4)
@kernel_test(schedules=["early"], targets="sm_90a")
@pytest.mark.parametrize("dtype", [bf16, f32, i32], ids=lambda t: t.value)
@pytest.mark.parametrize("name", LAYOUTS)
def test_from_memory(launch: Launch, name: str, dtype) -> None:
    """Rows further apart than they are long; as wide as neighbours and `align` allow."""
    threads, layout = LAYOUTS[name]
    m, n = layout().rows, layout().columns
    b = KernelBuilder("k", block=threads, target=launch.target)
    b.pointer("like", f32)
    b.pointer("x", dtype)
    b.pointer("narrow", f32, output=True)
    b.pointer("wide", f32, output=True)
    b.u32("pitch")
    args = b.begin()
    like = filled(b, layout(), args["like"])
    for out, align in (("narrow", None), ("wide", 16)):
        found = like.from_memory(args["x"].at(8), args["pitch"], align=align)
        (found.to(f32) + like).store(args[out], n)
    compiled = b.finish().compile()
    wide = "ld.global.v2.b32" if layout().threads == 128 and name != "tensor memory" else "v4.b32"
    assert wide in compiled.ptx or dtype is bf16 or name == "mma.sync"
    rng = np.random.default_rng(7)
    x = rng.integers(-99, 99, (m, n + 16)).astype(np.int32 if dtype is i32 else dtype.numpy)
    like_ = rng.integers(-99, 99, (m, n)).astype(np.float32)
    outs = [np.zeros((m, n), np.float32) for _ in range(2)]
    launch(compiled, like_, x, *outs, n + 16)
    for out_ in outs:
        assert_exact(out_, x[:, 8 : 8 + n].astype(np.float32) + like_)


@pytest.mark.turns(4)
@kernel_test(schedules=["early"], targets="sm_90a")
@pytest.mark.parametrize("role", [False, True], ids=["all threads", "two warpgroups of three"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_columns_of_all_rows(launch: Launch, name: str, role: bool) -> None:
    """Twice, so that shared memory is used again; each warpgroup, or warp, has its own matrix."""
    threads, layout = LAYOUTS[name]
    m, n = layout().rows, layout().columns
    groups = 2 if role and threads == 128 else 1
    b = KernelBuilder("k", block=threads * (groups + (groups > 1)), target=launch.target)
    b.pointer("x", f32)
    b.pointer("sums", f32, output=True)
    b.pointer("most", f32, output=True)
    args = b.begin()
    barrier = 1 + b.warpgroup if groups > 1 else None
    with b.if_warpgroup(0, 2) if groups > 1 else contextlib.nullcontext():
        group = b.thread // threads
        x = filled(b, layout(), args["x"].at(group * (m * n)))
        sums = x.column_sum(barrier=barrier)
        most = (x * -1).column_reduce(lambda a, b: a.max(b), barrier=barrier)
        (x * 0 + sums).store(args["sums"].at(group * (m * n)), n)
        (x * 0 + most).store(args["most"].at(group * (m * n)), n)
    given = np.random.default_rng(8).integers(-99, 99, (groups, m, n)).astype(np.float32)
    outs = [np.zeros_like(given) for _ in range(2)]
    launch(b.finish(), given, *outs)
    for found, wanted in zip(outs, (given.sum(1), (-given).max(1)), strict=True):
        assert_exact(found, np.broadcast_to(wanted[:, None], given.shape).copy())


def test_columns_that_warps_divide_are_refused() -> None:
    b = KernelBuilder("k", block=128, target="sm_90a")
    b.begin()
    with pytest.raises(InputError, match="divided among warps"):
        b.warp_tile(32, 32, warps=(2, 2)).column_sum()
    with b.if_warpgroup(0), pytest.raises(InputError, match="barrier of its own"):
        b.warpgroup_tile(64, 64).column_sum()


SWIZZLES = (128, 64, 32)
TILED = {
    "wgmma": warpgroup_layout(64, 64, 32),
    "mma.sync": warp_layout(64, 64),
    "tensor memory": tensor_layout(64),
}


@kernel_test(schedules=["early"], targets="sm_90a")
@pytest.mark.parametrize("dtype", [bf16, f16, f64, i64], ids=lambda t: t.value)
def test_rows_of_numbers_of_any_width(launch: Launch, dtype) -> None:
    """What threads exchange for a row has 16 bits, or 64."""
    b = KernelBuilder("k", block=32, target=launch.target)
    b.pointer("x", f32)
    b.pointer("most", f32, output=True)
    b.pointer("sums", f32, output=True)
    args = b.begin()
    held = filled(b, warp_layout(32, 24), args["x"]).to(dtype)
    for name, rows in (("most", held.row_max()), ("sums", held.row_sum())):
        for row, number in rows.items():
            args[name][row] = number.to(f32)
    x = np.random.default_rng(0).integers(-5, 6, (32, 24)).astype(np.float32)
    most, sums = np.zeros(32, np.float32), np.zeros(32, np.float32)
    launch(b.finish(), x, most, sums)
    assert_exact(most, x.max(1))
    assert_exact(sums, x.sum(1))


@pytest.mark.turns(8)
@kernel_test(schedules=["early"], targets="sm_90a")
@pytest.mark.parametrize("major", Major, ids=lambda m: m.value)
@pytest.mark.parametrize("dtype", [bf16, f32], ids=lambda t: t.value)
@pytest.mark.parametrize("name", TILED)
def test_into_tiles(launch: Launch, name: str, dtype, major: Major) -> None:
    """Read back chunk by chunk; by stmatrix where elements of 16 bits lie as it takes them."""
    threads, layout = LAYOUTS[name][0], TILED[name]
    b = KernelBuilder("k", block=threads, target=launch.target, dynamic_shared=True)
    b.pointer("x", f32)
    b.pointer("out", output=True)
    args = b.begin()
    shape, lines = (layout.rows, 64), layout.rows if major is Major.K else 64
    tiles = [b.shared_tile(f"t{s}", dtype, shape, swizzle=s, major=major) for s in SWIZZLES]
    x = filled(b, layout, args["x"])
    chunks = layout.rows * 64 // lines * dtype.bits // 128
    for number, tile in enumerate(tiles):
        x.as_tile(tile)
        b.barrier_cta_sync_aligned()
        with b.range(lines * chunks, start=b.tid_x, step=threads) as i:
            words = b.load(tile.chunk(i // chunks, i % chunks), u32, 4, align=16)
            at = args["out"] + (i * 16 + number * lines * chunks * 16).zext(64)
            b.store(words, at, align=16)
    compiled = b.finish().compile()
    assert ("stmatrix" in compiled.ptx) is (dtype is bf16 and name != "tensor memory")
    x = (np.random.default_rng(4).integers(-99, 99, shape) / 4).astype(np.float32)  # type: ignore[assignment]
    stored = np.float32 if dtype is f32 else ml_dtypes.bfloat16
    out = np.zeros((len(SWIZZLES), lines, layout.rows * 64 // lines), stored)
    launch(compiled, x, out)
    expected = (x if major is Major.K else x.T).astype(stored)  # type: ignore[attr-defined]
    for found in out:
        assert_exact(found, expected)


@pytest.mark.turns(8)
@kernel_test(schedules=["early"], targets="sm_90a")
@pytest.mark.parametrize("major", Major, ids=lambda m: m.value)
@pytest.mark.parametrize("dtype", [bf16, f32], ids=lambda t: t.value)
@pytest.mark.parametrize("name", TILED)
def test_from_tiles(launch: Launch, name: str, dtype, major: Major) -> None:
    """Tiles that cp.async has filled; by ldmatrix where 16-bit elements lie as it gives them."""
    threads, layout = LAYOUTS[name][0], TILED[name]
    b = KernelBuilder("k", block=threads, target=launch.target, dynamic_shared=True)
    b.pointer("x", dtype)
    b.pointer("any", f32)
    b.pointer("out", dtype, output=True)
    args = b.begin()
    shape, pitch = (layout.rows, 64), 64 if major is Major.K else layout.rows
    tiles = [b.shared_tile(f"t{s}", dtype, shape, swizzle=s, major=major) for s in SWIZZLES]
    for tile in tiles:
        b.load_tile(tile, args["x"], pitch)
    b.load_commit()
    b.load_wait()
    like = filled(b, layout, args["any"])
    for number, tile in enumerate(tiles):
        like.from_tile(tile).store(args["out"].at(number * layout.rows * 64), 64)
    compiled = b.finish().compile()
    assert ("ldmatrix" in compiled.ptx) is (dtype is bf16 and name != "tensor memory")
    x = (np.random.default_rng(4).integers(-99, 99, shape) / 4).astype(dtype.numpy)
    out = np.zeros((len(SWIZZLES), *shape), dtype.numpy)
    given = np.ascontiguousarray(x if major is Major.K else x.T)
    launch(compiled, given, np.zeros(shape, np.float32), out)
    for found in out:
        assert_exact(found, x)


def check_product_of_a_product(
    launch: Launch, b: KernelBuilder, multiply, sums, dtype, rows: int
) -> None:
    """(A·Bᵀ / 8)·Cᵀ + D, twice, kept in accumulators that `sums` makes and `multiply` adds to."""
    for name in ("a", "b", "c"):
        b.pointer(name)
    b.pointer("out", f32, output=True)
    args = b.begin()
    a = b.shared_tile("a_tile", dtype, (rows, 64))
    right = [b.shared_tile(f"{name}_tile", dtype, (64, 64)) for name in "bc"]
    for tile, name in zip((a, *right), "abc", strict=True):
        b.load_tile(tile, args[name], 64)
    b.load_commit()
    b.load_wait()
    first, second = sums(), sums()
    second.set(3)
    with b.range(2):
        multiply(first, a, right[0])
        multiply(second, (first * 0.125).as_a_operand(dtype), right[1], accumulate=True)
        second.set(second - 1.0)
    second.store(args["out"], 64)
    rng = np.random.default_rng(8)
    x, y, z = (rng.integers(-2, 3, (m, 64)).astype(HALF[dtype]) for m in (rows, 64, 64))
    out = np.zeros((rows, 64), np.float32)
    launch(b.finish(), x, y, z, out)
    wide = [v.astype(np.float32) for v in (x, y, z)]
    inner = (wide[0] @ wide[1].T / 8).astype(HALF[dtype]).astype(np.float32)
    assert_exact(out, 2 * (inner @ wide[2].T) + 1)


@pytest.mark.turns(8)
@kernel_test(schedules="all", targets="sm_90a")
@pytest.mark.parametrize("dtype", HALF, ids=lambda t: t.value)
def test_a_product_is_a_of_the_next_multiply(launch: Launch, dtype) -> None:
    b = KernelBuilder("k", block=128, target=launch.target, dynamic_shared=True)
    check_product_of_a_product(launch, b, b.gemm, lambda: b.warpgroup_tile(128, 64), dtype, 128)


@pytest.mark.turns(4)
@kernel_test(schedules=["early"], targets=["sm_80", "sm_89"], opt=[0, 3])
@pytest.mark.parametrize("dtype", HALF, ids=lambda t: t.value)
def test_sums_of_warps_are_a_of_their_next_multiply(launch: Launch, dtype) -> None:
    """By two warps, one below the other."""
    b = KernelBuilder("k", block=64, target=launch.target)
    sums = functools.partial(b.warp_tile, 32, 64, warps=(2, 1))
    check_product_of_a_product(launch, b, b.gemm_async, sums, dtype, 32)


@kernel_test(schedules=["early", "late"], targets="sm_100a")
def test_columns_of_tensor_memory(launch: Launch) -> None:
    """Written, some of them read, scaled by their rows, and written back."""
    b = KernelBuilder("k", block=128, target=launch.target)
    b.pointer("x", f32)
    b.pointer("out", f32, output=True)
    args = b.begin()
    memory = b.tensor_memory("columns", 64)
    tile = memory.tile(128, 40)
    filled(b, tensor_layout(40), args["x"]).as_tile(tile)
    middle = tile.load(8, 24)
    middle.scale_rows(middle.row_sum()).as_tile(tile, first=8)
    tile.load().store(args["out"], 40)
    memory.free()
    x = np.random.default_rng(9).integers(-5, 6, (128, 40)).astype(np.float32)
    out = np.zeros_like(x)
    launch(b.finish(), x, out)
    expected = x.copy()
    expected[:, 8:32] *= x[:, 8:32].sum(1, keepdims=True)
    assert_exact(out, expected)


@pytest.mark.turns(3)
@kernel_test(schedules=["early", "late"], targets="sm_100a")
@pytest.mark.parametrize("dtype", [bf16, e4m3], ids=lambda t: t.value)
def test_columns_become_an_a_in_tensor_memory(launch: Launch, dtype) -> None:
    """Rounded, in two parts, of which neither is a power of two wide; read back as they lie."""
    k, cells = 64, 64 * dtype.bits // 32
    b = KernelBuilder("k", block=128, target=launch.target)
    b.pointer("x", f32)
    b.pointer("out", f32, output=True)
    args = b.begin()
    memory = b.tensor_memory("columns", 64)
    a = b.tensor_operand(memory.address + 8, 128, k, dtype)
    for first, columns in ((0, 24), (24, 40)):
        part = Fragment(b.vector([b.f32(0.0)] * columns), Holders(b, tensor_layout(columns)))
        part.map_at(lambda _, r, c, at=first: args["x"][r * k + c + at]).as_tile(a, first=first)  # type: ignore[misc]
    b.tensor_tile(memory.address + 8, 128, cells).load().store(args["out"], cells)
    memory.free()
    x = (np.random.default_rng(9).integers(-99, 100, (128, k)) / 8).astype(np.float32)
    out = np.zeros((128, cells), np.float32)
    launch(b.finish(), x, out)
    assert np.array_equal(out.view(np.uint8), x.astype(dtype.numpy).view(np.uint8))


def test_no_columns_of_an_a_in_tensor_memory() -> None:
    b = KernelBuilder("k", block=128, target="sm_100a")
    b.begin()
    memory = b.tensor_memory("columns", 64)
    a, found = b.tensor_operand(memory.address, 128, 32, bf16), memory.tile(128, 16).load()
    for first in (-2, 17, 24):
        with pytest.raises(InputError, match="no columns of an A in tensor memory"):
            found.as_tile(a, first=first)
    with pytest.raises(InputError, match="no columns of an A"), b.if_warp(0):
        found.as_tile(a)


@pytest.mark.parametrize(
    ("shape", "swizzle", "bytes_", "hint"),
    [
        ((128, 7), 128, 28, ""),
        ((128, 7), 0, 28, ""),
        ((128, 24), 128, 96, "swizzle=32 has whole spans"),
        ((128, 16), 128, 64, "swizzle=64 has whole spans"),
    ],
)
def test_a_tile_whose_lines_end_within_a_span(
    shape: tuple[int, int], swizzle: int, bytes_: int, hint: str
) -> None:
    """A line begins where a span does, so the tile's bytes are fewer than its lines reach over."""
    b = KernelBuilder("k", block=128, target="sm_100a")
    b.begin()
    columns = b.tensor_memory("columns", 64).tile(*shape).load()
    narrow = b.shared_tile("narrow", f32, shape, swizzle=swizzle)
    with pytest.raises(
        InputError, match="lines of tile narrow end within a swizzle span"
    ) as caught:
        columns.as_tile(narrow)
    (found,) = caught.value.findings
    assert found.got.startswith(f"{bytes_} bytes in a line")
    assert found.hint == hint


# ---- layouts -------------------------------------------------------------------------------------


def test_an_operand_is_found_in_sums_by_the_tables_alone() -> None:
    """Registers of A in 16 bits are neighbouring sums; in 8 bits other threads have them."""
    for held in (warpgroup_layout(64, 64, 32), warp_layout(16, 64)):
        wanted = operand_layout(held.threads, 16)
        for step in range(4):
            found = sources(held, wanted, 0, 16 * step)
            rows, columns = held.places()
            row, column = wanted.places()
            assert np.array_equal(rows[:, found], row)
            assert np.array_equal(columns[:, found], column + 16 * step)
        assert sources(held, operand_layout(held.threads, 8), 0, 0) == []


# ---- nonsense ------------------------------------------------------------------------------------


def tile(b: KernelBuilder, m: int = 64, n: int = 32, dtype=f32):
    return b.warpgroup_tile(m, n, dtype)


REFUSED: dict[str, tuple[Callable[[KernelBuilder], object], str]] = {
    "another layout": (lambda b: tile(b) + tile(b, n=64), "another layout"),
    "rows of another layout": (lambda b: tile(b) * tile(b, 128).rows(1.0), "another layout"),
    "a vector": (lambda b: tile(b) * b.vector([b.f32(1.0)]), "another layout"),
    "another type": (lambda b: tile(b) * b.f16(1.0), "another type"),
    "assigned": (lambda b: tile(b).set(tile(b, n=64).fragment), "another layout"),
    "no A of 8 bits": (lambda b: tile(b).as_a_operand(), "no A of a multiply|do not hold"),
    "no whole step": (lambda b: tile(b, n=24).as_a_operand(bf16), "no A of a multiply"),
    "another tile": (lambda b: tile(b).as_tile(b.shared_tile("t", bf16, (64, 64))), "not hold"),
    "from another tile": (
        lambda b: tile(b).from_tile(b.shared_tile("t", bf16, (64, 64))),
        "not hold",
    ),
    "from no tile": (lambda b: tile(b).from_tile(b.shared_word("t")), "`tile` has another"),
    "rows of warps side by side": (
        lambda b: b.warp_tile(32, 32, warps=(2, 2)).row_max(),
        "several warps share",
    ),
    "rows of another layout that elements are compared with": (
        lambda b: tile(b).where(lambda r, c: c < r, 0.0, of=tile(b, 128).rows(lambda r: r)),
        "no integers of these rows",
    ),
    "no integers of rows": (
        lambda b: tile(b).where(lambda r, c: c < r, 0.0, of=tile(b).rows(1.0)),
        "no integers of these rows",
    ),
    "a condition": (lambda b: tile(b).where(lambda row, column: True, 0.0), "no condition"),
    "a pointer of another type": (
        lambda b: tile(b).store(b.shared_word("w").of(i32), 8),
        "another type",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nonsense_is_refused_at_its_line(name: str) -> None:
    wrong, text = REFUSED[name]
    b = KernelBuilder("k", block=128, target="sm_90a")
    b.begin()
    with pytest.raises(InputError, match=text) as caught:
        wrong(b)
    assert caught.value.findings[0].place.file == __file__


def test_a_of_a_warpgroup_is_not_a_warps_nor_the_other_way_round() -> None:
    b = KernelBuilder("k", block=128, target="sm_90a")
    b.begin()
    right = b.shared_tile("t", bf16, (64, 64))
    of_warps, of_warpgroup = b.warp_tile(64, 64, warps=(4, 1)), tile(b, n=64)
    for d, a in ((of_warps, of_warpgroup), (of_warpgroup, of_warps)):
        with pytest.raises(InputError, match="those of another multiply") as caught:
            b.gemm_async(d, a.as_a_operand(bf16), right)
        assert caught.value.findings[0].place.file == __file__

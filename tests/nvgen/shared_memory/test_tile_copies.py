"""load_tile: copies of 16 bytes put a tile where a tensor map's copy would; what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import numpy as np
import pytest

from intrinsics.element import ElementType as E
from intrinsics.element import Major
from intrinsics.findings import InputError
from nvgen import KernelBuilder
from nvgen.instructions.roles import ExecutionScope
from nvgen.shared_memory.tiles import SharedTile
from nvgen.values.pointers import Pointer
from tests.each import each

TARGET = "sm_90a"
PITCH = 8
"""Elements of 16 bytes or so that lie between the lines of a matrix and are not of the tile."""


def stored(
    dtype: E,
    lines: int,
    length: int,
    swizzle: int,
    threads: int,
    *,
    computed: bool = False,
    major: Major = Major.K,
    scope: ExecutionScope = ExecutionScope.CTA,
) -> None:
    """A tile of `lines` × `length` in memory is loaded by copies and stored by TMA, unchanged.

    A store of a tensor map undoes the swizzling, block by block of a span.
    """
    width = swizzle or 16
    span = width * 8 // dtype.bits
    b = KernelBuilder("k", block=threads, target=TARGET, dynamic_shared=True)
    b.pointer("source")
    b.integer("pitch")
    b.tensor_map("out", dtype=dtype, box=(lines, span), swizzle=swizzle, output=True)
    args = b.begin()
    shape = (lines, length) if major is Major.K else (length, lines)
    tile = b.shared_tile("tile", dtype, shape, swizzle=swizzle, major=major)
    pitch = length + PITCH * 32 // dtype.bits
    one = {ExecutionScope.WARP: b.if_warp, ExecutionScope.WARPGROUP: b.if_warpgroup}
    with one[scope](1) if scope in one else nullcontext():
        b.load_tile(tile, args["source"], args["pitch"] if computed else pitch)
    b.load_commit()
    b.load_wait()
    with b.if_thread(0):
        for block in range(length // span):
            source = tile.pointer + block * lines * width
            b.cp_async_bulk_tensor_s2g_tile(args["out"], (block * span, 0), source)
        b.cp_async_bulk_commit_group()
        b.cp_async_bulk_wait_group(0)
    numbers = np.arange(lines * pitch) % 251 % (1 << min(dtype.bits, 8) - 2)
    matrix = numbers.astype(dtype.numpy).reshape(lines, pitch)
    out = np.zeros((lines, length), dtype.numpy)
    b.finish().compile().run(matrix, pitch, out, schedule="late")
    assert np.array_equal(out.view(np.uint8), matrix[:, :length].copy().view(np.uint8))


@each("swizzle", [0, 32, 64, 128])
@each("dtype", [E.F16, E.E4M3, E.TF32], ids=lambda t: t.value)
def test_a_tile_lies_as_a_tensor_map_has_it(dtype: E, swizzle: int) -> None:
    stored(dtype, 64, 2 * (swizzle or 16) * 8 // dtype.bits, swizzle, 128)


@each("threads", [32, 96, 128, 160, 256, 512])
@each("computed", [False, True])
def test_any_number_of_threads_loads_it(threads: int, *, computed: bool) -> None:
    """Fewer threads than a period of the swizzling, more than there are copies, odd numbers."""
    stored(E.BF16, 40, 64, 128, threads, computed=computed)


def test_a_line_of_three_spans() -> None:
    stored(E.BF16, 16, 192, 128, 128)


@pytest.mark.parametrize("swizzle", [32, 64, 128])
def test_the_lines_of_an_mn_major_tile_are_its_k(swizzle: int) -> None:
    """48 of K, each of two spans of M."""
    stored(E.F16, 48, swizzle, swizzle, 128, major=Major.MN)


@pytest.mark.parametrize("scope", [ExecutionScope.WARP, ExecutionScope.WARPGROUP])
def test_one_warp_or_one_warpgroup_loads_it(scope: ExecutionScope) -> None:
    stored(E.F16, 64, 64, 128, 256, scope=scope)


def loop(b: KernelBuilder, source: Pointer) -> None:
    tile = b.shared_tile("tile", E.F16, (64, 64))
    b.load_tile(tile, source, 64)
    b.load_commit()
    b.load_wait(1)


@pytest.mark.parametrize(
    ("target", "fenced"),
    [("sm_80", False), ("sm_89", False), ("sm_90a", True), ("sm_100a", True), ("sm_110a", True),
     ("sm_120a", False)],
)  # fmt: skip
def test_tiles_are_fenced_where_multiplies_read_through_the_async_proxy(
    target: str, *, fenced: bool
) -> None:
    """wgmma and tcgen05.mma do; mma.sync reads registers."""
    b = KernelBuilder("k", block=128, target=target)
    b.pointer("source")
    loop(b, b.begin()["source"])
    ptx = b.finish().compile().ptx
    order = ["cp.async.wait_group 1", "bar.sync 0"]
    order[1:1] = ["fence.proxy.async.shared::cta"] * fenced
    places = [ptx.index(text) for text in order]
    assert places == sorted(places)
    assert ("fence.proxy.async" in ptx) is fenced


REFUSED: dict[str, tuple[Callable[[KernelBuilder, Pointer], object], str]] = {
    "one thread": (lambda b, p: by_one_thread(b, p), "all threads of a scope"),
    "32-byte atoms": (lambda b, p: b.load_tile(tile_of(b, atom=32), p, 64), "cannot be loaded"),
    "half a span": (lambda b, p: b.load_tile(tile_of(b, k=32), p, 64), "cannot be loaded"),
    "no target": (lambda b, p: b.load_wait(), "depends on the target"),
}


def by_one_thread(b: KernelBuilder, source: Pointer) -> None:
    with b.if_thread(0):
        b.load_tile(tile_of(b), source, 64)


def tile_of(b: KernelBuilder, k: int = 64, atom: int = 16) -> SharedTile:
    return b.shared_tile("t", E.F16, (64, k), atom=atom)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_loaded_is_refused(name: str) -> None:
    body, message = REFUSED[name]
    b = KernelBuilder("k", block=128)
    b.pointer("source")
    source = b.begin()["source"]
    with pytest.raises(InputError, match=message):
        body(b, source)


def test_a_kernel_is_compiled_for_the_target_that_it_was_built_for() -> None:
    b = KernelBuilder("k", block=32, target="sm_90a")
    b.begin()
    kernel = b.finish()
    assert ".target sm_90a" in kernel.compile().ptx
    assert ".target sm_100a" in kernel.compile(target="sm_100a").ptx


def test_a_target_is_known_or_given() -> None:
    b = KernelBuilder("k", block=32)
    b.begin()
    with pytest.raises(InputError, match="compiled for a target"):
        b.finish().compile()
    with pytest.raises(InputError, match="target/unknown"):
        KernelBuilder("k", block=32, target="sm_1")

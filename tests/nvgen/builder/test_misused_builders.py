"""Builders that are used at the wrong time, or by two at once: nothing is left out in silence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from intrinsics.findings import InputError
from nvgen import KernelBuilder, bf16, f32
from nvgen.values.pointers import Pointer
from tests.each import each


def begun() -> tuple[KernelBuilder, Pointer]:
    b = KernelBuilder("k", block=32, target="sm_90a")
    b.pointer("x", f32)
    return b, b.begin()["x"]


def the_same_tiles_twice(b: KernelBuilder, _: Pointer) -> None:
    tiles = b.shared_tiles("tiles", bf16, (8, 64), 2)
    b.tile_ring("ring", tiles, tiles)


def finished(use: Callable[[KernelBuilder, Pointer], object]) -> None:
    b, x = begun()
    b.finish()
    use(b, x)


def stores(_: KernelBuilder, x: Pointer) -> None:
    x[0] = 1.0


def branches(b: KernelBuilder, _: Pointer) -> None:
    with b.elect():
        pass


def a_block_twice(b: KernelBuilder, _: Pointer) -> None:
    block = b.if_(b.tid_x == 0)
    with block:
        pass
    with block:
        pass


def blocks_that_cross(b: KernelBuilder, _: Pointer) -> None:
    first, second = b.if_(b.tid_x == 0), b.range(4)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)


@each(
    "use",
    [
        stores,
        branches,
        lambda b, _: b.tid_x + 1,
        lambda b, _: b.begin(),
        lambda b, _: b.finish(),
        lambda b, _: b.u32("n"),
        lambda b, _: b.shared_tile("tile", bf16, (64, 64)),
        lambda b, _: b.shared_array("array", f32, 4),
    ],
)
def test_a_finished_kernel_takes_nothing_more(
    use: Callable[[KernelBuilder, Pointer], object],
) -> None:
    with pytest.raises(InputError, match=r"already|before the body") as caught:
        finished(use)
    assert caught.value.findings[0].place.file == __file__


@each(
    "use, says",
    [
        (a_block_twice, "a block is entered once"),
        (blocks_that_cross, "a block ends before those that were entered in it"),
        (lambda _, x: x.__setitem__(0, np.zeros(1)), "no number"),
        (lambda b, _: b.variable(np.zeros(2)), "no integer"),
        (lambda b, _: b.range(np.array([4])).__enter__(), "no integer"),
        (lambda b, _: np.array([1, 2]) + b.tid_x, "no integer"),
        (lambda b, _: b.tid_x + 10**4300, "int that Python cannot write does not fit"),
        (lambda b, _: b.shared_array("a", f32, 1 << 63), "no number of elements"),
        (lambda b, x: b.load(x, f32, 10**400), "no number of numbers"),
        (lambda _, x: x[np.array([1, None])], "no index"),
        (lambda b, _: b.tid_x.to([]), "no type of numbers"),
        (lambda b, _: b.shared_tiles("t", bf16, (8, 64), 2)[np.array([1])], "no such number"),
        (lambda b, _: b.warpgroup_operand(4, bf16), "no registers of A"),
        (lambda b, _: b.of_cta("m", 1), "no mbarrier"),
        (lambda b, _: b.variable(1).set(b), "no operand of an integer"),
        (lambda b, _: b.const(1, 1 << 64), "no width of an integer"),
        (lambda b, _: b.const(1.5, f32), r"b.f32\(1.5\) and b.u64\(1\) are constants of a type"),
        (lambda b, _: b.tid_x.zext(np.zeros(2)), "no width of an integer"),
        (lambda b, _: b.vector(b.vector([b.lane, b.warp])), "no numbers of a vector"),
        (lambda b, _: b.warp_scan(1.5, max, 0), "no number"),
        (lambda b, _: b.cta_scan((b.lane, b.warp), max, (0, 0, 0)), "an initial value of other"),
        (lambda b, _: b.warpgroup_tile(64, np.zeros(2)), "no multiply"),
        (lambda b, _: b.warpgroup_tile(np.zeros(2), 64), "no such tile"),
        (lambda b, _: b.printf("\udcff"), "no text"),
        (the_same_tiles_twice, "the same tiles twice"),
        (lambda b, _: KernelBuilder("k", block=32, dynamic_shared="no"), "on nor off"),
        (lambda b, _: KernelBuilder("a\nb", block=32), "one of a file"),
        (lambda b, _: KernelBuilder("k", block=32).u32("n" * 2000), "too long a name"),
    ],
)
def test_a_misuse(use: Callable[[KernelBuilder, Pointer], object], says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        use(*begun())
    assert caught.value.findings[0].place.file == __file__


def test_an_exception_of_the_users_goes_through_its_blocks() -> None:
    b, _ = begun()
    with pytest.raises(ZeroDivisionError), b.if_(b.tid_x == 0), b.range(4):
        _ = 1 / 0


def test_a_parameter_is_no_attribute() -> None:
    b = KernelBuilder("k", block=32, target="sm_90a")
    b.u32("n")
    with pytest.raises(AttributeError, match="they are args\\['n'\\]"):
        _ = b.begin().n  # type: ignore[attr-defined]  # to a type checker it is none, too

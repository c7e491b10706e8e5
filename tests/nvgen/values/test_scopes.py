"""A value of the kernel is used where its definition reaches, or is refused with both lines."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np
import pytest

from asmprinter.mir.reader import read_mir
from intrinsics.element import ElementType as E
from nvgen import InputError, KernelBuilder
from nvgen.values.pointers import Pointer


def begun(target: str = "sm_90a", block: int = 128) -> tuple[KernelBuilder, Pointer]:
    b = KernelBuilder("k", block=block, target=target)
    b.pointer("out", output=True)
    out = b.begin()["out"]
    assert isinstance(out, Pointer)
    return b, out


def line_of(text: str) -> int:
    """The line of this file's only statement with a comment."""
    lines = inspect.getsource(inspect.getmodule(line_of)).split("\n")
    (found,) = (n for n, line in enumerate(lines, 1) if line.endswith(f"# {text}"))
    return found


def branch(b: KernelBuilder) -> object:
    return b.if_(b.tid_x > 3)


BLOCKS: dict[str, Callable[[KernelBuilder], object]] = {
    "a branch": branch,
    "a loop": lambda b: b.range(4),
    "one thread": lambda b: b.elect(),
    "a while": lambda b: b.while_(lambda: b.tid_x > 3),
}


@pytest.mark.parametrize("block", BLOCKS)
def test_a_value_of_a_block_is_refused_behind_it(block: str) -> None:
    b, out = begun()
    with BLOCKS[block](b):  # type: ignore[attr-defined]
        made = b.tid_x * 2  # the definition
    with pytest.raises(InputError) as caught:
        b.store(made, out)  # the use
    (found,) = caught.value.findings
    assert found.rule == "builder/scope"
    assert (found.place.file, found.place.line) == (__file__, line_of("the use"))
    assert f"{__file__}:{line_of('the definition')}" in found.got


def test_a_value_of_an_outer_block_is_used_within() -> None:
    b, out = begun()
    with b.if_(b.tid_x > 3):
        made = b.tid_x * 2
        with b.range(2), b.if_(made > 10):
            b.store(made, out + made)
    assert "mul" in b.finish().compile().ptx


def test_what_the_condition_of_a_loop_computes_reaches_the_loop_and_behind() -> None:
    b, out = begun(block=1)
    left = b.variable(3)
    asked = []

    def condition() -> object:
        asked.append(left.value * 2)
        return asked[0] > 0

    with b.while_(condition):
        b.store(asked[0], out)
        left.set(left.value - 1)
    b.store(asked[0], out + 4)
    got = np.ones(2, np.uint32)
    b.finish().compile().run(got)
    assert got.tolist() == [2, 0]


def test_a_value_of_another_kernel_is_refused() -> None:
    first, _ = begun()
    made = first.tid_x + 1
    b, out = begun()
    with pytest.raises(InputError, match="another kernel"):
        b.store(made, out)


@pytest.mark.parametrize(
    "make",
    [
        lambda b: b.variable(1),
        lambda b: b.ring(2)._stage,
        lambda b: b.warpgroup_tile(64, 64).parts[0],
        lambda b: b.warp_tile(16, 8).parts[0][0],
    ],
    ids=["variable", "ring", "tile of a warpgroup", "tile of a warp"],
)
def test_what_changes_ends_with_the_block_it_was_made_in(
    make: Callable[[KernelBuilder], object],
) -> None:
    """Nothing would carry it on: a loop behind the block would begin anew in each turn."""
    b, _ = begun()
    with b.if_(b.tid_x > 3):
        made = make(b)
    with pytest.raises(InputError, match="behind the block that it was made in"):
        _ = made.raw  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="behind the block that it was made in"):
        made.raw = b.const(0).value  # type: ignore[attr-defined]


def test_an_accumulator_of_a_branch_is_refused_in_the_loop_behind_it() -> None:
    b, _ = begun()
    tile = b.shared_tile("tile", E.BF16, (64, 64))
    with b.if_(b.tid_x > 3):
        d = b.warpgroup_tile(64, 64)
    with pytest.raises(InputError, match="an Accumulator is used"), b.range(3):
        b.gemm_async(d, tile, tile, accumulate=True)


def test_an_accumulator_made_before_a_branch_carries_what_it_got_there() -> None:
    b, out = begun()
    d = b.variable(5)
    with b.if_(b.tid_x > 3):
        d.set(7)
    b.store(d.value, out + b.tid_x * 4)
    got = np.zeros(128, np.uint32)
    b.finish().compile().run(got)
    assert got.tolist() == [5] * 4 + [7] * 124


def helper(b: KernelBuilder, value: object) -> object:
    return b.max(value, 3)  # in the helper


def test_a_place_names_the_line_of_the_helper_and_of_who_called_it() -> None:
    b, out = begun()
    b.store(helper(b, b.tid_x), out)  # the call
    compiled = b.finish().compile()
    locations = [place for place in compiled.module.locations if place.callers]
    assert {(place.python_line, place.callers) for place in locations} == {
        (line_of("in the helper"), ((__file__, line_of("the call")),))
    }
    again = read_mir(compiled.mir, "k.mir")
    assert {place.callers for place in again.locations} == {
        place.callers for place in compiled.module.locations
    }


@pytest.mark.parametrize("opt", [0, 3])
def test_a_finding_says_who_called_the_helper(opt: int) -> None:
    """A register of a multiply that still runs is added to, by a helper."""
    b, out = begun()
    tile = b.shared_tile("tile", E.BF16, (64, 64))
    d = b.warpgroup_tile(64, 64)
    b.wgmma_fence()
    b.gemm_async(d, tile, tile)
    b.wgmma_commit_group()
    b.store(added(b, d.parts[0].registers[0]), out)  # too early
    b.wgmma_wait_group(0)
    kernel = b.finish()
    with pytest.raises(Exception, match="in-flight") as caught:
        kernel.compile(level="function", opt=opt)
    text = str(caught.value)
    assert f"{__file__}:{line_of('by the helper')}, called from {__file__}" in text
    assert f"called from {__file__}:{line_of('too early')}" in text


def added(b: KernelBuilder, value: object) -> object:
    return b.f32(value) + 1.0  # by the helper

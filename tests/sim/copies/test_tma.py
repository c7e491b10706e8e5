"""Tensor maps and tile copies: what the driver would refuse, and any box against the formula.

`tests.sim.layouts.tma_tile` says byte by byte what a copy leaves in shared memory; here hypothesis
picks ranks, shapes, boxes, starts and swizzles.  The limits of tensor maps are those of the CUDA
driver API's cuTensorMapEncodeTiled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from intrinsics.findings import InputError
from nvgen.launching.tensor_map import TensorMap, tensor_map
from nvgen.sim.faults import DeadlockError
from tests.sim.layouts import tma_tile
from tests.sim.ptx import SCHEDULES, findings, rule, run

SIZE = 8192
FILLER = 0xC3

# ---- any copy --------------------------------------------------------------------------------


class Copy(NamedTuple):
    """A tensor, a box, where it starts, and how it is swizzled; outermost dimension first."""

    item: int
    shape: tuple[int, ...]
    box: tuple[int, ...]
    start: tuple[int, ...]
    span: int
    offset: int


@st.composite
def copies(draw: st.DrawFn, *, before: bool = True) -> Copy:
    """Small copies whose shared memory fits into `SIZE` bytes; some may begin before the tensor."""
    first = -6 if before else 0
    item = draw(st.sampled_from([1, 2, 4, 8]))
    rank = draw(st.integers(1, 5))
    span = draw(st.sampled_from([0, 32, 64, 128]))
    pieces = draw(st.integers(1, (span or 64) // 16))
    outer = draw(st.lists(st.integers(1, 5), min_size=rank - 1, max_size=rank - 1))
    box = (*outer, pieces * 16 // item)
    shape = tuple(draw(st.integers(1, 6)) for _ in outer)
    shape += (draw(st.integers(1, 6)) * 16 // item,)
    start = tuple(draw(st.integers(first, 6)) for _ in outer)
    start += (draw(st.integers(first, 6)) * 16 // item,)
    offset = draw(st.integers(0, 7)) * 128
    assume(offset + int(np.prod(outer, dtype=int)) * (span or box[-1] * item) <= SIZE)
    return Copy(item, shape, box, start, span, offset)


KERNEL = """
    setp.ne.u32 %p1, %tx, 0;
    @%p1 bra ready;
    mbarrier.init.shared::cta.b64 [bar], 1;
ready:
    mul.lo.u32 %r1, %tx, 16;
    mov.u32 %r2, tile;
    add.u32 %r2, %r2, %r1;
    mov.u32 %r3, 0xC3C3C3C3;
    mov.u32 %r4, 0;
fill:
    st.shared.v4.u32 [%r2], {{%r3, %r3, %r3, %r3}};
    add.u32 %r2, %r2, 512;
    add.u32 %r4, %r4, 512;
    setp.lt.u32 %p2, %r4, 8192;
    @%p2 bra fill;
    bar.sync 0;
    @%p1 bra wait;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {count};
    cp.async.bulk.tensor.{rank}d.{to}.global.tile.mbarrier::complete_tx::bytes
        [tile+{offset}], [%m0, {{{start}}}], [bar];
wait:
    mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0;
    @!%p3 bra wait;
    mov.u32 %r2, tile;
    add.u32 %r2, %r2, %r1;
    mov.u32 %r4, 0;
    cvt.u64.u32 %rd1, %r1;
    add.u64 %rd1, %rd1, %a1;
show:
    ld.shared.v4.u32 {{%r5, %r6, %r7, %r8}}, [%r2];
    st.global.v4.u32 [%rd1], {{%r5, %r6, %r7, %r8}};
    add.u32 %r2, %r2, 512;
    add.u64 %rd1, %rd1, 512;
    add.u32 %r4, %r4, 512;
    setp.lt.u32 %p2, %r4, 8192;
    @%p2 bra show;"""
VARIABLES = f".shared .align 1024 .b8 tile[{SIZE}];\n.shared .align 8 .b64 bar;"


def kernel_of(copy: Copy, *, missing: int = 0, to: str = "shared::cluster") -> str:
    """Fill shared memory, copy, and show it; `missing` more bytes are expected than come."""
    count = int(np.prod(copy.box)) * copy.item
    start = ", ".join(map(str, reversed(copy.start)))
    return KERNEL.format(
        count=count + missing, rank=len(copy.box), offset=copy.offset, start=start, to=to
    )


def source_of(copy: Copy) -> NDArray[np.generic]:
    """Bytes that are neither 0 nor the filler."""
    size = int(np.prod(copy.shape)) * copy.item
    values = (np.arange(size) * 7) % 191 + 1
    dtype = np.dtype(f"u{copy.item}")
    return values.astype(np.uint8).view(dtype).reshape(copy.shape)


def map_of(copy: Copy) -> TensorMap:
    return tensor_map(source_of(copy), copy.box, copy.span)


def after(copy: Copy, schedule: str = "early", to: str = "shared::cluster") -> NDArray[np.uint8]:
    """All bytes of shared memory after the copy."""
    seen = np.zeros(SIZE, np.uint8)
    run(kernel_of(copy, to=to), map_of(copy), seen, variables=VARIABLES, schedule=schedule)
    return seen


@pytest.mark.gpu
@settings(max_examples=60, deadline=None)
@given(copies(), st.sampled_from(SCHEDULES), st.sampled_from(["shared::cluster", "shared::cta"]))
def test_a_copy_leaves_what_the_formula_says(copy: Copy, schedule: str, to: str):
    """Also that it completes as many bytes as the box has, those outside of the tensor too."""
    array = source_of(copy)
    memory, written = tma_tile(
        array, copy.box, copy.start, span=copy.span, base=copy.offset, size=SIZE
    )
    expected = np.where(written, memory, np.uint8(FILLER))
    assert np.array_equal(after(copy, schedule, to), expected)


WHOLE = Copy(2, (8, 64), (8, 64), (0, 0), 128, 0)


@pytest.mark.parametrize("missing", [-2, 2, 1024])
@pytest.mark.parametrize("schedule", ["early", "late"])
def test_a_copy_completes_as_many_bytes_as_its_box_has(missing: int, schedule: str):
    """A wait for more, or for fewer, never ends, and the report says by how many bytes."""
    seen = np.zeros(SIZE, np.uint8)
    body = kernel_of(WHOLE, missing=missing)
    with pytest.raises(DeadlockError) as caught:
        run(body, map_of(WHOLE), seen, variables=VARIABLES, schedule=schedule)
    finding = caught.value.findings[0]
    assert f"1024 of {1024 + missing} expected bytes" in finding.got
    assert str(abs(missing)) in finding.expected


# ---- what is wrong with a copy ---------------------------------------------------------------


@pytest.mark.parametrize("schedule", ["early", "late"])
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"offset": 64}, "tma-alignment"),
        ({"offset": SIZE}, "out-of-bounds"),
        ({"offset": SIZE - 512}, "out-of-bounds"),
        ({"start": (0, 4)}, "tma-coordinate"),
    ],
)
def test_a_copy_that_the_machine_refuses(
    change: dict[str, int | tuple[int, int]], expected: str, schedule: str
):
    copy = WHOLE._replace(**change)
    found = findings(
        kernel_of(copy),
        map_of(copy),
        np.zeros(SIZE, np.uint8),
        variables=VARIABLES,
        schedule=schedule,
    )
    assert found[0].rule == f"sim/{expected}"
    assert found[0].place.line > 0


@pytest.mark.parametrize("map_", ["%a1", "%rd9"])
def test_what_is_no_tensor_map(map_: str):
    """An array of zeros, and a null pointer."""
    body = kernel_of(WHOLE).replace("%m0", map_)
    found = rule(body, map_of(WHOLE), np.zeros(SIZE, np.uint8), variables=VARIABLES)
    assert found == ("tensor-map" if map_ == "%a1" else "out-of-bounds")


def test_a_copy_of_another_rank_than_its_map():
    body = kernel_of(WHOLE).replace(".2d.", ".3d.").replace("{0, 0}", "{0, 0, 0}")
    assert rule(body, map_of(WHOLE), np.zeros(SIZE, np.uint8), variables=VARIABLES) == (
        "tensor-map-rank"
    )


def test_a_copy_onto_what_is_no_mbarrier():
    variables = VARIABLES + "\n.shared .align 8 .b64 other;"
    body = kernel_of(WHOLE).replace("[%m0, {0, 0}], [bar]", "[%m0, {0, 0}], [other]")
    assert rule(body, map_of(WHOLE), np.zeros(SIZE, np.uint8), variables=variables) == (
        "mbarrier-uninitialized"
    )


# ---- tensor maps -----------------------------------------------------------------------------


def problems(array: NDArray[np.generic], box: tuple[int, ...], swizzle: int = 0) -> set[str]:
    """The rules that a tensor map breaks, without `tensor-map/`."""
    try:
        tensor_map(array, box, swizzle)
    except InputError as error:
        return {f.rule.removeprefix("tensor-map/") for f in error.findings}
    return set()


U8, F16 = np.zeros((64, 64), np.uint8), np.zeros((64, 64), np.float16)


@pytest.mark.parametrize(
    ("array", "box", "swizzle", "expected"),
    [
        (U8, (64, 64), 0, set()),
        (F16, (64, 64), 128, set()),
        (F16, (64, 32), 64, set()),
        (U8, (64, 64), 32, {"swizzle-span"}),
        (F16, (64, 64), 64, {"swizzle-span"}),
        (U8, (64, 64), 48, {"swizzle"}),
        (U8, (64, 24), 0, {"box-bytes"}),
        (U8, (0, 64), 0, {"box"}),
        (np.zeros((300, 16), np.uint8), (257, 16), 0, {"box"}),
        (np.zeros((300, 16), np.uint8), (256, 16), 0, set()),
        (U8, (64,), 0, {"box"}),
        (np.zeros((1,) * 6, np.uint8), (1,) * 6, 0, {"rank"}),
        (np.zeros((4, 20), np.uint8), (4, 16), 0, {"stride"}),
        (U8[:, ::2], (4, 16), 0, {"packed"}),
        (U8[::-1], (4, 16), 0, {"stride"}),
        (np.zeros((64, 64), np.uint8).T, (4, 16), 0, {"packed"}),
    ],
)
def test_what_a_tensor_map_must_be(
    array: NDArray[np.generic], box: tuple[int, ...], swizzle: int, expected: set[str]
):
    """cuTensorMapEncodeTiled: rank 1 to 5, boxes of 1 to 256, strides of 16 bytes, spans."""
    assert problems(array, box, swizzle) >= expected
    assert bool(problems(array, box, swizzle)) == bool(expected)


def test_a_tensor_map_lists_everything_innermost_first():
    array = np.zeros((3, 5, 16), np.float32)
    made = tensor_map(array[:, 1:4], (2, 3, 8), 32)
    assert made.dims == (16, 3, 3)
    assert made.strides == (64, 320), "bytes from row to row, and from plane to plane"
    assert made.box == (8, 3, 2)
    assert made.box_bytes == 2 * 3 * 8 * 4

"""Tensor maps whose fields a kernel replaces, or makes from zeros, and bytes that are no map."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from intrinsics.tma.rules import Im2col
from nvgen.launching.tensor_map import TensorMap, im2col_map, tensor_map
from tests.sim.copies.changed_maps import (
    ACQUIRE,
    BEGIN,
    BOX,
    CLEAR,
    RELEASE,
    TEMPLATE,
    TILE,
    VARIABLES,
    field,
    load,
    numbers,
    tile_of,
    workspace,
)
from tests.sim.layouts import tma_tile
from tests.sim.ptx import SCHEDULES, findings, run

MOVE = (
    TEMPLATE
    + """
    add.u64 %rd2, %a1, %rd1;
    st.global.u32 [%rd2], %r3;
    bar.warp.sync 0xffffffff;
"""
)
ZEROS = """
    mov.u32 %r3, 0;
    st.shared.u32 [%r2], %r3;
    bar.warp.sync 0xffffffff;
"""


def rules(body: str, *arguments: object, threads: int = 32) -> str:
    """The rule of the first finding, without `sim/`."""
    found = findings(body, *arguments, variables=VARIABLES, threads=threads)
    return found[0].rule.removeprefix("sim/") if found else ""


# ---- fields that are replaced ----------------------------------------------------------------

SHAPES = ((5, 64), (12, 40), (8, 32))


def grouped(shapes: tuple[tuple[int, int], ...] = SHAPES) -> str:
    """For each group: its array's address and shape go into a copy of the host's map."""
    text = BEGIN + TEMPLATE
    for phase, (rows, columns) in enumerate(shapes):
        text += field("global_address", f"%a{3 + phase}")
        text += f"    mov.u32 %r10, {columns};\n    mov.u32 %r11, {rows};\n"
        text += f"    mov.u64 %rd10, {2 * columns};\n"
        text += field("global_dim", "%r10", 0) + field("global_dim", "%r11", 1)
        text += field("global_stride", "%rd10", 0)
        text += RELEASE + ACQUIRE + load((8, 2), phase)
    return text


def groups() -> tuple[list[NDArray[np.uint16]], TensorMap]:
    arrays = [numbers(*shape, first=1000 * n + 1) for n, shape in enumerate(SHAPES)]
    return arrays, tensor_map(numbers(64, 32), (8, 32))


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_grouped_copy_replaces_addresses_and_shapes(schedule: str):
    """Tiles cross the ends of the second and the third array: zeros come from outside."""
    arrays, template = groups()
    seen = np.zeros((len(arrays), 512), np.uint8)
    run(
        grouped(), template, workspace(), seen, *arrays, variables=VARIABLES, schedule=schedule,
    )  # fmt: skip
    assert np.array_equal(seen, np.stack([tile_of(array, (2, 8)) for array in arrays]))


@pytest.mark.gpu
@pytest.mark.parametrize("races", [True, False])
def test_a_map_in_a_variable_of_the_module(races: bool):
    """And where races are not looked for."""
    arrays, template = groups()
    place = "    mov.u64 %rd40, gmap;\n"
    body = place + grouped(SHAPES[:1]).replace("%a1", "%rd40")
    seen = np.zeros(512, np.uint8)
    variables = VARIABLES + "\n.global .align 128 .b8 gmap[128];"
    run(body, template, workspace(), seen, arrays[0], variables=variables, races=races)
    assert np.array_equal(seen, tile_of(arrays[0], (2, 8)))


MISSING = {
    "acquire": (ACQUIRE, "", "acquire"),
    "acquire of another map": (ACQUIRE, ACQUIRE.replace("[%a1]", "[%a3]"), "acquire"),
    "release": (
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned\n"
        "        [%a1], [%r20], 128;",
        "ld.shared.u32 %r3, [%r2];\n    add.u64 %rd2, %a1, %rd1;\n    st.global.u32 [%rd2], %r3;\n"
        "    bar.warp.sync 0xffffffff;\n    fence.acq_rel.gpu;",
        "release",
    ),
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("case", MISSING)
def test_a_missing_proxy_fence_is_found(case: str, schedule: str):
    old, new, what = MISSING[case]
    arrays, template = groups()
    body = grouped()
    assert old in body
    found = findings(
        body.replace(old, new), template, workspace(), np.zeros((3, 512), np.uint8), *arrays,
        variables=VARIABLES, schedule=schedule,
    )  # fmt: skip
    assert found[0].rule == "sim/tensor-map-proxy"
    assert f"no proxy {what}" in found[0].message
    assert found[0].place.line > 0


def test_an_acquire_of_an_earlier_map_is_none_of_a_later_one():
    """The second group's map is written behind the only acquire."""
    arrays, template = groups()
    first, *rest = grouped().split(ACQUIRE)
    body = first + ACQUIRE + rest[0] + "".join(rest[1:])
    assert rules(body, template, workspace(), np.zeros((3, 512), np.uint8), *arrays) == (
        "tensor-map-proxy"
    )


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_maps_of_a_release_that_comes_before_the_write_are_not_released(schedule: str):
    array, template = numbers(8, 32, 7), tensor_map(numbers(64, 32), (8, 32))
    change = field("global_address", "%a3", to="global")
    fence = "    fence.proxy.tensormap::generic.release.gpu;\n"
    for order, expected in (((change, fence), ""), ((fence, change), "tensor-map-proxy")):
        body = BEGIN + MOVE + "".join(order) + ACQUIRE + load((0, 0))
        seen = np.zeros(512, np.uint8)
        found = findings(
            body, template, workspace(), seen, array, variables=VARIABLES, schedule=schedule
        )
        assert [f.rule.removeprefix("sim/") for f in found] == ([expected] if expected else [])
        if not expected:
            assert np.array_equal(seen, tile_of(array, (0, 0)))


@pytest.mark.gpu
def test_a_map_may_be_changed_where_it_lies_in_global_memory():
    """And a copy of the host's map, not changed at all, is that map."""
    array, template = numbers(8, 32, 7), numbers(64, 32)
    fences = "    fence.proxy.tensormap::generic.release.gpu;\n" + ACQUIRE
    change = field("global_address", "%a3", to="global") + "    bar.warp.sync 0xffffffff;\n"
    for changed, source in ((change, array), ("", template)):
        seen = np.zeros(512, np.uint8)
        body = BEGIN + MOVE + changed + fences + load((0, 0))
        map_ = tensor_map(template, (8, 32))
        run(body, map_, workspace(), seen, array, variables=VARIABLES)
        assert np.array_equal(seen, tile_of(source, (0, 0)))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_warp_copies_what_each_of_its_threads_knows(schedule: str):
    """A field that one thread replaces, and no bar.warp.sync before the warp copies the map."""
    array, template = numbers(8, 32, 7), tensor_map(numbers(64, 32), (8, 32))
    change, alone = field("global_address", "%a3"), ACQUIRE.replace("    fence", "    @%p1 fence")
    unordered = RELEASE.replace("bar.warp.sync 0xffffffff;", "")
    for fences, expected in ((RELEASE + alone, ""), (unordered + alone, "sim/race")):
        body = BEGIN + TEMPLATE + change + fences + load((0, 0))
        seen = np.zeros(512, np.uint8)
        found = findings(
            body, template, workspace(), seen, array, variables=VARIABLES, schedule=schedule
        )
        assert [f.rule for f in found] == ([expected] if expected else [])
        if not expected:
            assert np.array_equal(seen, tile_of(array, (0, 0)))


# ---- maps made of zeros ----------------------------------------------------------------------


def built(rows: int, columns: int, swizzle: int = 0) -> list[str]:
    """All fields of a map of 16-bit numbers whose address is %a3; boxes of 8 x 32."""
    whole = [("global_address", "%a3"), ("rank", 1)]
    each = [
        ("box_dim", (BOX[1] // 2, BOX[0])), ("global_dim", (columns, rows)),
        ("element_stride", (1, 1)), ("global_stride", (2 * columns,)),
    ]  # fmt: skip
    codes = [("elemtype", 1), ("interleave_layout", 0), ("swizzle_mode", swizzle), ("fill_mode", 0)]
    return [
        *(field(name, value) for name, value in whole),
        *(field(name, n, at) for name, values in each for at, n in enumerate(values)),
        *(field(name, code) for name, code in codes),
    ]


SECOND_HALF = """
    ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r4+512];
    st.global.v4.u32 [%rd4+512], {%r5, %r6, %r7, %r8};
"""


@pytest.mark.gpu
@pytest.mark.parametrize(("code", "span"), [(0, 0), (2, 64), (3, 128)])
def test_a_map_made_of_zeros(code: int, span: int):
    """The bytes between rows that are swizzled by more than their length stay as they were."""
    array = numbers(20, 40)
    seen = np.zeros(TILE, np.uint8)
    made = BEGIN + CLEAR + ZEROS + "".join(built(20, 40, code)) + RELEASE + ACQUIRE
    body = made + load((8, 3)) + SECOND_HALF
    map_ = tensor_map(array, (8, 32))
    run(body, map_, workspace(), seen, array, variables=VARIABLES)
    memory, written = tma_tile(array, (8, 32), (3, 8), span=span, base=0, size=TILE)
    assert np.array_equal(seen, np.where(written, memory, np.uint8(0)))


@pytest.mark.parametrize("left_out", range(len(built(20, 40))))
def test_a_field_that_is_not_set_is_found(left_out: int):
    array = numbers(20, 40)
    fields = built(20, 40)
    name = fields.pop(left_out).split(".")[3]
    body = BEGIN + ZEROS + "".join(fields) + RELEASE + ACQUIRE + load((8, 3))
    found = findings(
        body, tensor_map(array, (8, 32)), workspace(), np.zeros(512, np.uint8), array,
        variables=VARIABLES,
    )  # fmt: skip
    assert found[0].rule == "sim/tensor-map-field"
    assert name in found[0].message


# ---- what no map may be ----------------------------------------------------------------------

WRONG = {
    "rank": field("rank", 5),
    "dims": field("global_dim", 0, 1),
    "box": field("box_dim", 257, 1),
    "box bytes": field("box_dim", 4, 0),
    "stride": field("global_stride", 24, 0),
    "stride limit": field("global_stride", 1 << 40, 0),
    "element stride": field("element_stride", 9, 1),
    "span": field("swizzle_mode", 1),
    "fill": field("fill_mode", 1),
    "address": "    add.u64 %rd9, %a3, 8;\n" + field("global_address", "%rd9"),
    "atoms": field("swizzle_mode", 2) + field("swizzle_atomicity", 1),
}
REFUSED = {
    "flipped": field("swizzle_mode", 3) + field("swizzle_atomicity", 2),
    "64-byte atoms": field("swizzle_mode", 3) + field("swizzle_atomicity", 3),
}


@pytest.mark.parametrize("case", [*WRONG, *REFUSED])
def test_a_map_that_the_driver_would_not_make(case: str):
    """cuTensorMapEncodeTiled; what is not modelled is said to be not simulated."""
    array = numbers(20, 40)
    change = (WRONG | REFUSED)[case]
    body = BEGIN + ZEROS + "".join(built(20, 40)) + change + RELEASE + ACQUIRE + load((32, 3))
    rule = rules(body, tensor_map(array, (8, 32)), workspace(), np.zeros(512, np.uint8), array)
    assert rule == ("tensor-map-field" if case in WRONG else "not-simulated")


def test_what_lies_behind_the_tensors_memory_is_out_of_bounds():
    """A map may say more than there is; a copy may not go there."""
    array = numbers(20, 40)
    seen = np.zeros(512, np.uint8)
    longer = field("global_dim", 1000, 1)
    made = BEGIN + ZEROS + "".join(built(20, 40)) + longer + RELEASE + ACQUIRE
    map_ = tensor_map(array, (8, 32))
    assert rules(made + load((8, 12)), map_, workspace(), seen, array) == ""
    assert np.array_equal(seen, tile_of(array, (12, 8)))
    assert rules(made + load((8, 13)), map_, workspace(), seen, array) == "out-of-bounds"


def test_bytes_that_are_no_map():
    array = numbers(20, 40)
    map_, seen = tensor_map(array, (8, 32)), np.zeros(512, np.uint8)
    images = im2col_map(numbers(20, 40).reshape(1, 20, 40), Im2col((0,), (0,), 32, 8))
    poke = "    @%p1 st.shared.u32 [%r20+64], %r1;\n"
    behind = field("global_address", "%a3") + RELEASE + ACQUIRE + load((0, 0))

    def rule(body: str, which: TensorMap = map_) -> str:
        return rules(BEGIN + body, which, workspace(), seen, array)

    assert rule(TEMPLATE + behind) == ""
    assert rule(TEMPLATE + poke.replace("%r1;", "123;") + behind) == "tensor-map"
    assert rule(TEMPLATE + poke.replace("%r1;", "123;") + RELEASE + ACQUIRE + load((0, 0))) == (
        "tensor-map"
    )
    assert rule(behind) == "uninitialized"
    assert rule(TEMPLATE + behind, images) == "tensor-map-mode"
    assert rule(ZEROS + RELEASE + ACQUIRE + load((0, 0))) == "tensor-map"


def test_where_maps_may_lie():
    array = numbers(20, 40)
    map_, seen = tensor_map(array, (8, 32)), np.zeros(512, np.uint8)

    def rule(body: str) -> str:
        return rules(BEGIN + TEMPLATE + body, map_, workspace(), seen, array)

    change = field("global_address", "%a3")
    there = "    cvt.u64.u32 %rd5, %r20;\n    cvta.shared.u64 %rd5, %rd5;\n"
    assert rule(change + there + load((0, 0), map_="%rd5")) == "tensor-map-space"
    acquire = ACQUIRE.replace("%a1", "%m0")
    assert rule(acquire) == "tensor-map-space"
    generic = change.replace(".shared::cta", "").replace("[%r20]", "[%rd5]")
    assert rule(there + generic + RELEASE + ACQUIRE + load((0, 0))) == ""
    assert rule(generic.replace("%rd5", "%m0")) == "tensor-map-space"
    assert rule(change.replace("[%r20]", "[%r20+32]")) == "misaligned"


def test_a_map_of_an_array_with_gaps_is_not_changed():
    gaps = numbers(20, 80)[:, :40]
    body = BEGIN + TEMPLATE + field("global_dim", 4, 1) + RELEASE + ACQUIRE + load((0, 0))
    found = rules(body, tensor_map(gaps, (8, 32)), workspace(), np.zeros(512, np.uint8))
    assert found == "not-simulated"


def test_all_threads_of_a_warp_may_change_a_map_alike():
    array, seen = numbers(8, 32, 7), np.zeros(512, np.uint8)
    map_ = tensor_map(numbers(64, 32), (8, 32))
    change = field("global_address", "%a3").replace("@%p1 ", "")
    end = RELEASE + ACQUIRE + load((0, 0))
    assert rules(BEGIN + TEMPLATE + change + end, map_, workspace(), seen, array) == ""
    assert np.array_equal(seen, tile_of(array, (0, 0)))
    apart = field("global_dim", "%lane", 0).replace("@%p1 ", "")
    found = rules(BEGIN + TEMPLATE + apart + end, map_, workspace(), seen, array)
    assert found == "not-uniform"


def test_threads_that_change_one_map_without_an_order_race():
    """tensormap.replace is a weak access to all 128 bytes."""
    array = numbers(20, 40)
    each = field("global_dim", 8, 0).replace("@%p1 ", "")
    body = BEGIN.replace("@%p1 mbar", "mbar") + ZEROS.replace(
        "bar.warp.sync 0xffffffff", "bar.sync 0"
    )
    found = rules(
        body + each, tensor_map(array, (8, 32)), workspace(), np.zeros(512, np.uint8), threads=64
    )
    assert found == "race"


# ---- stores ----------------------------------------------------------------------------------

STORE = """
    mul.lo.u32 %r4, %lane, 16;
    add.u32 %r4, %r21, %r4;
    add.u32 %r5, %lane, 1;
    st.shared.v4.u32 [%r4], {{%r5, %r5, %r5, %r5}};
    fence.proxy.async;
    bar.warp.sync 0xffffffff;
    @%p1 cp{reduce}.async.bulk.tensor.2d.global.shared::cta{op}.tile.bulk_group
        [%a1, {{8, 3}}], [%r21];
    @%p1 cp.async.bulk.commit_group;
    @%p1 cp.async.bulk.wait_group 0;
"""


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("op", ["", ".add"])
def test_a_store_through_a_map_that_the_kernel_made(op: str, schedule: str):
    """Behind the array's end nothing is written; a sum is one of 32-bit numbers."""
    target = np.arange(1, 10 * 20 + 1, dtype=np.uint32).reshape(10, 20)
    expected = target.copy()
    values = np.repeat(np.arange(1, 33, dtype=np.uint32), 4).reshape(8, 16)
    expected[3:10, 8:20] = values[:7, :12] + (expected[3:10, 8:20] if op else np.uint32(0))
    fields = [f for f in built(10, 20) if ".elemtype" not in f and ".box_dim" not in f]
    made = "".join(fields).replace("0, 40;", "0, 80;")
    made += field("elemtype", 2) + field("box_dim", 16, 0) + field("box_dim", 8, 1)
    body = BEGIN + ZEROS + made + RELEASE + ACQUIRE
    body += STORE.format(op=op, reduce=".reduce" if op else "")
    map_ = tensor_map(numbers(64, 32), (8, 32))
    seen = np.zeros(512, np.uint8)
    run(body, map_, workspace(), seen, target, variables=VARIABLES, schedule=schedule)
    assert np.array_equal(target, expected)

"""Tile stores: any box against the formula, and what a thread must wait for and fence.

`tests.sim.layouts.tma_stored` says element by element what a store leaves in global memory.  The
kernel brings an image into shared memory by ordinary stores, fences, and lets one thread store a
box of it.  PTX ISA, cp.async.bulk.tensor; cp.async.bulk.commit_group; cp.async.bulk.wait_group.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from nvgen.launching.parameters import Output
from nvgen.launching.tensor_map import TensorMap, tensor_map
from tests.sim.copies.test_tma import SIZE, Copy, copies
from tests.sim.layouts import tma_stored
from tests.sim.ptx import SCHEDULES, findings, run
from tests.turns import examples

KERNEL = """
    mul.lo.u32 %r1, %tx, 16;
    mov.u32 %r2, tile;
    add.u32 %r2, %r2, %r1;
    cvt.u64.u32 %rd1, %r1;
    add.u64 %rd1, %rd1, %a1;
    mov.u32 %r4, 0;
fill:
    ld.global.v4.u32 {{%r5, %r6, %r7, %r8}}, [%rd1];
    st.shared.v4.u32 [%r2], {{%r5, %r6, %r7, %r8}};
    add.u32 %r2, %r2, 512;
    add.u64 %rd1, %rd1, 512;
    add.u32 %r4, %r4, 512;
    setp.lt.u32 %p2, %r4, 8192;
    @%p2 bra fill;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    setp.ne.u32 %p1, %tx, 0;
    @%p1 bra end;
    cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group [%m0, {{{start}}}],
        [tile+{offset}];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 0;
end:"""
VARIABLES = f".shared .align 1024 .b8 tile[{SIZE}];"
IMAGE = ((np.arange(SIZE) * 13 + np.arange(SIZE) // 256) % 253).astype(np.uint8)


def kernel_of(copy: Copy) -> str:
    start = ", ".join(map(str, reversed(copy.start)))
    return KERNEL.format(rank=len(copy.box), offset=copy.offset, start=start)


def target_of(copy: Copy) -> NDArray[np.generic]:
    """A tensor that is not zero before the store."""
    size = int(np.prod(copy.shape)) * copy.item
    return np.full(size, 0x5A, np.uint8).view(np.dtype(f"u{copy.item}")).reshape(copy.shape)


def map_of(copy: Copy) -> TensorMap:
    return tensor_map(target_of(copy), copy.box, copy.span)


@pytest.mark.gpu
@examples(150)
@given(copies(before=False), st.sampled_from(SCHEDULES))
def test_a_store_leaves_what_the_formula_says(copy: Copy, schedule: str):
    """Every element of the box that lies in the tensor, and no other.

    300 random stores on an H200 (driver 580.159) did the same.
    """
    found = target_of(copy)
    expected = tma_stored(found, IMAGE, copy.box, copy.start, span=copy.span, base=copy.offset)
    map_ = tensor_map(found, copy.box, copy.span)
    run(kernel_of(copy), map_, IMAGE, variables=VARIABLES, schedule=schedule)
    assert np.array_equal(found, expected)


WHOLE = Copy(2, (8, 64), (8, 64), (0, 0), 128, 0)


@pytest.mark.gpu
def test_an_array_given_twice_is_one_memory():
    """What goes through the tensor map is seen through the pointer, and comes back once."""
    found = target_of(WHOLE)
    expected = tma_stored(found, IMAGE, WHOLE.box, WHOLE.start, span=128, base=0)
    expected[0, 0] = 7
    body = kernel_of(WHOLE).replace("wait_group.read 0;", "wait_group 0;")
    body += "\n    @%p1 bra last;\n    mov.u16 %rs1, 7;\n    st.global.u16 [%a2], %rs1;\nlast:"
    map_ = tensor_map(found, WHOLE.box, 128)
    run(body, map_, IMAGE, found, variables=VARIABLES, schedule="late")
    assert np.array_equal(found, expected)


@pytest.mark.gpu
def test_an_output_that_is_only_half_stored_keeps_the_rest():
    half = WHOLE._replace(box=(4, 64))
    found = target_of(half)
    expected = tma_stored(found, IMAGE, half.box, half.start, span=128, base=0)
    output = Output(tensor_map(found, half.box, 128))
    run(kernel_of(half), output, IMAGE, variables=VARIABLES)
    assert np.array_equal(found, expected)
    assert (found[4:] == 0x5A5A).all()


# ---- what is wrong with a store --------------------------------------------------------------


def first_rule(body: str, copy: Copy = WHOLE, schedule: str = "early") -> str:
    found = findings(body, map_of(copy), IMAGE, variables=VARIABLES, schedule=schedule)
    assert all(f.place.line > 0 for f in found)
    return found[0].rule if found else ""


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"offset": 64}, "sim/tma-alignment"),
        ({"offset": SIZE}, "sim/out-of-bounds"),
        ({"start": (0, 4)}, "sim/tma-coordinate"),
        ({"start": (-1, 0)}, "sim/tma-coordinate"),
        ({"start": (0, -64)}, "sim/tma-coordinate"),
    ],
)
def test_a_store_that_the_machine_refuses(
    change: dict[str, int | tuple[int, int]], expected: str, schedule: str
):
    copy = WHOLE._replace(**change)
    assert first_rule(kernel_of(copy), copy, schedule) == expected


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("fence", ["", "fence.proxy.async.global;"])
def test_stores_of_threads_need_a_proxy_fence(fence: str, schedule: str):
    body = kernel_of(WHOLE).replace("fence.proxy.async.shared::cta;", fence)
    assert first_rule(body, schedule=schedule) == "sim/proxy-fence"


@pytest.mark.parametrize("fence", ["fence.proxy.async;", "fence.proxy.async.shared::cluster;"])
def test_wider_proxy_fences_do_as_well(fence: str):
    assert not first_rule(kernel_of(WHOLE).replace("fence.proxy.async.shared::cta;", fence))


def test_a_thread_waits_for_its_reads_before_it_exits():
    """Shared memory ends with the CTA; under `early` the read was done at once."""
    body = kernel_of(WHOLE).replace("cp.async.bulk.wait_group.read 0;", "")
    assert first_rule(body, schedule="late") == "sim/exit-pending"
    assert not first_rule(body, schedule="early")


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_store_of_unwritten_memory_is_reported(schedule: str):
    """What would go to the tensor is then not there; that is no second fault."""
    fill = "st.shared.v4.u32 [%r2], {{%r5, %r6, %r7, %r8}};".format()
    assert fill in kernel_of(WHOLE)
    assert first_rule(kernel_of(WHOLE).replace(fill, ""), schedule=schedule) == "sim/uninitialized"


def test_a_store_that_is_in_no_group_is_not_waited_for():
    body = kernel_of(WHOLE).replace("cp.async.bulk.commit_group;", "")
    assert first_rule(body, schedule="late") == "sim/exit-pending"


def test_a_wait_for_all_groups_but_one_leaves_the_last():
    once = kernel_of(WHOLE)
    assert first_rule(once.replace("read 0;", "read 1;"), schedule="late") == "sim/exit-pending"
    empty = once.replace("read 0;", "read 1;").replace(
        "cp.async.bulk.commit_group;", "cp.async.bulk.commit_group;" * 2
    )
    assert not first_rule(empty, schedule="late"), "the last group is an empty one"


OVERWRITE = """
    mov.u32 %r5, 0;
    st.shared.u32 [tile], %r5;
"""


@pytest.mark.parametrize(
    "wait", ["cp.async.bulk.wait_group.read 0;", "cp.async.bulk.wait_group 0;"]
)
def test_the_source_may_change_after_the_wait_for_reads(wait: str):
    """Before it, a late store takes the new contents."""
    body = kernel_of(WHOLE)
    careful = body.replace("wait_group.read 0;", "wait_group.read 0;" + OVERWRITE)
    hasty = body.replace(
        "cp.async.bulk.wait_group.read 0;", OVERWRITE + "fence.proxy.async;" + wait
    )
    expected = tma_stored(target_of(WHOLE), IMAGE, WHOLE.box, WHOLE.start, span=128, base=0)
    for body, right in ((careful, True), (hasty, False)):
        found = target_of(WHOLE)
        map_ = tensor_map(found, WHOLE.box, 128)
        run(body, map_, IMAGE, variables=VARIABLES, schedule="late", races=False)
        assert np.array_equal(found, expected) is right
        for schedule in SCHEDULES:
            bad = findings(body, map_, IMAGE, variables=VARIABLES, schedule=schedule)
            assert [f.rule for f in bad] == ([] if right else ["sim/race"])


def test_global_memory_is_written_after_the_wait_for_writes():
    """wait_group.read says nothing of the writes; wait_group does."""
    show = "\n    @%p1 bra last;\n    ld.global.u16 %rs1, [%a2];\n    st.global.u16 [%a3], %rs1;"
    seen = []
    for wait in ("cp.async.bulk.wait_group.read 0;", "cp.async.bulk.wait_group 0;"):
        found, out = target_of(WHOLE), np.zeros(1, np.uint16)
        body = kernel_of(WHOLE).replace("cp.async.bulk.wait_group.read 0;", wait) + show + "\nlast:"
        map_ = tensor_map(found, WHOLE.box, 128)
        run(body, map_, IMAGE, found, out, variables=VARIABLES, schedule="late", races=False)
        seen.append(int(out[0]))
        for schedule in SCHEDULES:
            bad = findings(body, map_, IMAGE, found, out, variables=VARIABLES, schedule=schedule)
            assert [f.rule for f in bad] == (["sim/race"] if "read" in wait else [])
    assert seen == [0x5A5A, int(IMAGE.view(np.uint16)[0])]

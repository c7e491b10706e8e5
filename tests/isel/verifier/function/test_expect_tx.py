"""Bytes that a phase expects against those that its copies bring: right kernels and their mutants.

Each mutant differs in one number or one line from a kernel that is clean, and would hang, or read
what has not come, on a machine: where it can, the simulator says so too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.element import ElementType
from intrinsics.findings import Finding, SimulationError, VerificationError
from isel.verifier.function.barriers.expect_tx import BYTES
from isel.verifier.functions import verify_functions
from nvgen import Kernel, KernelBuilder, u16
from nvgen.launching.tensor_map import tensor_map
from nvgen.values.numbers import Int
from nvgen.values.pointers import Pointer
from tests.each import each
from tests.isel.verifier.kernels import kernel

E = ElementType
BOX = (8, 32)
SIZE = 8 * 32 * 4
"""Bytes of a box of f32."""


@dataclass(frozen=True)
class Plan:
    """A kernel that copies boxes, as numbers that a mutant may change."""

    expected: int = SIZE
    copies: int = 1
    stages: int = 1
    steps: int = 1
    cluster: int = 1
    mask: int | None = None  # of a multicast
    alone: bool = False  # only CTA 0 copies
    by_rank: bool = False  # each CTA copies to its peer only, by a mask that it computes
    perhaps: bool = False  # a copy that depends on a parameter
    apart: bool = False  # one warp expects, another one copies
    box: tuple[int, int] = BOX


def build(plan: Plan) -> Kernel:
    """Warp 0 expects and copies in each step; all threads wait, and meet."""
    b = KernelBuilder("expect_tx", block=64, cluster=plan.cluster)
    b.tensor_map("source", dtype=E.F32, box=plan.box)
    b.integer("flag")
    args = b.begin()
    source, flag = args["source"], args["flag"]
    assert isinstance(source, Pointer)
    assert isinstance(flag, Int)
    tile = b.shared_tile("tile", E.F32, (128, 32), swizzle=0)
    full = b.mbarriers("full", plan.stages)
    b.make_mbarriers((full, 1))
    rank = b.sreg("cluster.ctarank")
    ring = b.ring(plan.stages)

    def copies() -> None:
        for number in range(plan.copies):
            mask = b.const(1, 32) << (rank ^ 1) if plan.by_rank else plan.mask
            place = tile.pointer + ((rank * plan.copies + number) * SIZE).zext(64)
            b.cp_async_bulk_tensor_g2s_tile(
                place, full[ring.stage], source, [0, 0],
                cta_mask=mask.to(u16) if isinstance(mask, Int) else mask,
            )  # fmt: skip

    with b.range(plan.steps):
        with b.if_thread(0):
            b.mbarrier_arrive_expect_tx(full[ring.stage], plan.expected)
            if not plan.apart:
                only(b, plan, rank, flag, copies)
        if plan.apart:
            with b.if_thread(32):
                copies()
        b.wait(full[ring.stage], ring.parity)
        b.cluster_sync()
        ring.advance()
    return b.finish()


def only(b: KernelBuilder, plan: Plan, rank: Int, flag: Int, copies: Callable[[], None]) -> None:
    """Issue copies in those CTAs that do."""
    if plan.alone:
        with b.if_(rank == 0):
            copies()
    elif plan.perhaps:
        with b.if_(flag != 0):
            copies()
    else:
        copies()


def findings(plan: Plan) -> list[Finding]:
    """What the rule says of the kernel, whose boxes the builder knows."""
    compiled = build(plan).compile(target="sm_90a")
    return [f for f in compiled.findings if f.rule == BYTES.id]


PLANS = {
    "one copy": Plan(),
    "two copies": Plan(expected=2 * SIZE, copies=2),
    "a loop": Plan(steps=4),
    "a ring": Plan(stages=2, steps=4, expected=2 * SIZE, copies=2),
    "another box": Plan(box=(4, 32), expected=SIZE // 2),
    "a cluster, each its own": Plan(cluster=2),
    "a multicast by each of two": Plan(cluster=2, mask=0b11, expected=2 * SIZE),
    "a multicast by one": Plan(cluster=2, mask=0b11, alone=True),
    "a multicast by each of four": Plan(cluster=4, mask=0b1111, expected=4 * SIZE),
    "a multicast of two copies": Plan(cluster=2, mask=0b11, copies=2, expected=4 * SIZE),
    "each copies for its peer": Plan(cluster=2, by_rank=True),
    "two warps": Plan(apart=True),
    "a ring of multicasts": Plan(cluster=2, mask=0b11, stages=2, steps=4, expected=2 * SIZE),
}
MUTANTS: dict[str, tuple[str, Plan]] = {
    f"{name}: {label}": (name, changed)
    for name, plan in PLANS.items()
    for label, changed in (
        ("too many bytes", replace(plan, expected=plan.expected + SIZE // 2)),
        ("too few bytes", replace(plan, expected=plan.expected - SIZE // 2)),
        ("a copy more", replace(plan, copies=plan.copies + 1)),
    )
}
MUTANTS |= {
    "elements counted, not bytes": ("one copy", replace(Plan(), expected=SIZE // 4)),
    "a multicast's share only": (
        "a multicast by each of two", Plan(cluster=2, mask=0b11, expected=SIZE)),
    "the other CTA's copy forgotten": (
        "a multicast by one", Plan(cluster=2, mask=0b11, alone=True, expected=2 * SIZE)),
    "a mask of one CTA": (
        "a multicast by each of two", Plan(cluster=2, mask=0b01, expected=2 * SIZE)),
    "a larger box": ("another box", Plan(box=(8, 32), expected=SIZE // 2)),
}  # fmt: skip


@each("name", PLANS, turns=3)
def test_a_right_kernel_is_clean_and_ends(name: str) -> None:
    plan = PLANS[name]
    assert findings(plan) == []
    source = np.zeros((64, 32), np.float32)
    build(plan).compile(target="sm_90a", level="all").run(source, 1, grid=plan.cluster)


@pytest.mark.wrong_kernel
@each("name", MUTANTS, turns=4)
def test_a_mutant_is_found(name: str) -> None:
    original, plan = MUTANTS[name]
    assert findings(PLANS[original]) == []
    assert findings(plan), name
    source = np.zeros((64, 32), np.float32)
    with pytest.raises(SimulationError):
        build(plan).compile(target="sm_90a").run(source, 1, grid=plan.cluster, schedule="late")


@pytest.mark.wrong_kernel
def test_what_is_said() -> None:
    (found,) = findings(Plan(expected=2 * SIZE))
    assert f"full expects {2 * SIZE} bytes; {SIZE} come: {SIZE} by cp.async.bulk" in found.got
    assert found.expected == f"{SIZE} bytes"
    assert found.place.python_file.endswith("test_expect_tx.py")


@pytest.mark.parametrize(
    "plan",
    [Plan(perhaps=True, expected=2 * SIZE), Plan(cluster=8, mask=0xFF, expected=SIZE)],
    ids=["a copy that depends on a parameter", "a large cluster"],
)
def test_what_is_not_known_is_not_judged(plan: Plan) -> None:
    assert findings(plan) == []


# ---- launches ------------------------------------------------------------------------------------


def test_a_launch_is_judged_with_the_maps_that_it_is_given() -> None:
    """LLVM IR says nothing of boxes; who runs it does."""
    import nvgen

    compiled = nvgen.compile(build(Plan()).llvm, target="sm_90a", level="launch")
    source = np.zeros((64, 32), np.float32)
    compiled.run(tensor_map(source, BOX, 0), 1)
    with pytest.raises(VerificationError) as error:
        compiled.run(tensor_map(source, (4, 32), 0), 1)
    assert [f.rule for f in error.value.findings] == [BYTES.id]


# ---- copies of bytes in a row ----------------------------------------------------------------

ONE_THREAD = """\
    .shared .align 128 .b8 tile[1024];
    .shared .align 8 .b64 bar;
    setp.ne.u32 %p1, %t, 0;
    @%p1 bra end;
    mbarrier.init.shared.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], EXPECTED;
    COPIES
spin:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;
    @!%p2 bra spin;
end:"""
"""One thread expects bytes, and copies them."""
TO = "mbarrier::complete_tx::bytes"
MAP = ", .param .align 64 .b8 map[128]"


def is_wrong(expected: int, copies: str, target: str = "sm_90a", box: int = 0) -> bool:
    """Whether these copies do not bring what is expected; `box` is the size of a map's."""
    found = judged(expected, copies, {"map": box} if box else {}, target)
    return BYTES.id in [f.rule for f in found]


def judged(
    expected: int, copies: str, boxes: dict[str, int], target: str = "sm_90a"
) -> list[Finding]:
    """What is said of a thread that expects bytes and makes these copies."""
    body = ONE_THREAD.replace("EXPECTED", str(expected)).replace("COPIES", copies)
    text = kernel(body, ".param .u64 p" + MAP * ("map" in copies), ".reqntid 32", target=target)
    return verify_functions(read_ptx(text).module, (32, 1, 1), (1, 1, 1), boxes)


COPIES = {
    "to the cluster": f"cp.async.bulk.shared::cluster.global.{TO} [tile], [%p], 48, [bar];",
    "to the CTA": f"cp.async.bulk.shared::cta.global.{TO} [tile], [%p], 48, [bar];",
    "with bytes outside": (
        f"cp.async.bulk.shared::cta.global.{TO}.ignore_oob [tile], [%p], 48, 0, 3, [bar];"
    ),
}


@each("copy", COPIES)
@each("expected", [32, 48, 64])
def test_bytes_in_a_row(copy: str, expected: int) -> None:
    assert is_wrong(expected, COPIES[copy]) == (expected != 48)


OF_MAP = "mov.b64 %rd2, map; cvta.param.u64 %rd2, %rd2; cp.async.bulk.tensor"


@each("expected", [32, 48, 56, 64, 4096])
def test_a_box_that_nobody_gave_is_some_bytes_beside_others(expected: int) -> None:
    """A box has a multiple of 16 bytes, 16 at least (cuTensorMapEncodeTiled); 48 come beside it."""
    box = f"{OF_MAP}.1d.shared::cta.global.tile.{TO} [tile+128], [%rd2, {{0}}], [bar];"
    assert is_wrong(expected, COPIES["to the CTA"] + box) == (expected not in (64, 4096))


@pytest.mark.parametrize("expected", [128, 512, 640])
def test_four_rows_are_four_boxes(expected: int) -> None:
    """A box is one row of 128 bytes, and the copy brings four."""
    gather = f"{OF_MAP}.2d.shared::cta.global.tile::gather4.{TO}"
    rows = f"{gather} [tile], [%rd2, {{0, 3, 1, 4, 1}}], [bar];"
    assert is_wrong(expected, rows, "sm_100a", 128) == (expected != 512)


MAPS = {
    "map": "mov.b64 %rd2, map; cvta.param.u64 %rd2, %rd2;",
    "map+64": "mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1; add.u64 %rd2, %rd1, 64;",
    "p": "mov.b64 %rd2, %p;",
    "p+128": "add.u64 %rd2, %p, 128;",
}
"""Addresses of tensor maps in %rd2, by the names under which their boxes are given."""
A_BOX = f"cp.async.bulk.tensor.1d.shared::cta.global.tile.{TO} [tile], [%rd2, {{0}}], [bar];"


@each("name", MAPS)
def test_the_box_of_a_map_is_asked_for_by_its_place(name: str) -> None:
    copy = MAPS[name] + A_BOX
    (note,) = judged(512, copy, {})
    assert (note.rule, note.expected) == ("verify/boxes", f"--box {name}=BYTES")
    assert (note.got, note.incomplete) == ("1 tensor copies", True)
    assert judged(512, copy, {name: 512}) == []
    assert [f.rule for f in judged(512, copy, {name: 256})] == [BYTES.id]


def test_the_box_of_a_map_that_no_parameter_names_cannot_be_given() -> None:
    (note,) = judged(512, "ld.global.u64 %rd2, [%p];" + A_BOX, {})
    assert (note.rule, note.expected) == ("verify/boxes", "")

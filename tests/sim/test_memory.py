"""Loads and stores of every state space: bounds, alignment, and what nobody has written.

`Memory.access` is held to a model that keeps one state per byte; the instructions are tried at the
edges of each space, in PTX.  An access of n bytes is aligned to n (PTX ISA, ld: the address must be
aligned to a multiple of the access size), for vectors to the size of all elements.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvgen.launching.parameters import Output
from nvgen.launching.tensor_map import tensor_map
from nvgen.sim.faults import Fault
from nvgen.sim.memory.regions import Access, Memory, Proxy, Region, gather, scatter
from tests.sim.ptx import findings, rule, run
from tests.turns import examples

# ---- the model -------------------------------------------------------------------------------

SIZE = 24
BASE = 0x1000
STEP = st.tuples(
    st.sampled_from(list(Access)),
    st.lists(st.integers(-3, SIZE + 3), min_size=1, max_size=4),
    st.sampled_from([1, 2, 4, 8]),
    st.booleans(),
)


def expected_rule(
    written: dict[int, int], kind: Access, offsets: list[int], size: int, align: int
) -> str:
    """What an access of some lanes must end in, from the state of each byte."""
    if any((BASE + offset) % align for offset in offsets):
        return "misaligned"
    bytes_ = [offset + i for offset in offsets for i in range(size)]
    if any(not 0 <= byte < SIZE for byte in bytes_):
        return "out-of-bounds"
    if kind is Access.READ and any(byte not in written for byte in bytes_):
        return "uninitialized"
    return ""


@examples(450)
@given(st.lists(STEP, max_size=12))
def test_accesses_do_what_the_model_does(
    steps: list[tuple[Access, list[int], int, bool]],
):
    memory, region = Memory(), Region.blank("region", BASE, SIZE)
    written: dict[int, int] = {}
    for number, (kind, offsets, size, aligned) in enumerate(steps):
        addresses = np.array(offsets, np.int64) + BASE
        align = size if aligned else 1
        wrong = expected_rule(written, kind, offsets, size, align)
        if wrong:
            with pytest.raises(Fault) as caught:
                memory.access(region, addresses, size, kind, Proxy.GENERIC, "test", align=align)
            assert caught.value.findings[0].rule == f"sim/{wrong}"
            continue
        at = memory.access(region, addresses, size, kind, Proxy.GENERIC, "test", align=align)
        if kind is Access.WRITE:
            data = np.full((len(offsets), size), number + 1, np.uint8)
            scatter(region, at, data)
            written |= {offset + i: number + 1 for offset in offsets for i in range(size)}
        else:
            for lane, offset in enumerate(offsets):
                assert gather(region, at, size)[lane].tolist() == [
                    written[offset + i] for i in range(size)
                ]


def test_a_write_wakes_waiting_threads_and_a_read_does_not():
    memory, region = Memory(), Region.of("region", 0, np.zeros(8, np.uint8))
    before = memory.version
    memory.access(region, np.zeros(1, np.int64), 1, Access.READ, Proxy.GENERIC, "test")
    assert memory.version == before
    memory.access(region, np.zeros(1, np.int64), 1, Access.WRITE, Proxy.GENERIC, "test")
    assert memory.version > before


@given(st.lists(st.integers(0, 5000), min_size=2, max_size=6))
def test_allocations_are_apart_and_aligned(sizes: list[int]):
    """256 bytes, as the driver aligns them, and memory of nobody's between any two."""
    memory = Memory()
    regions = [memory.allocate(f"r{i}", size) for i, size in enumerate(sizes)]
    assert all(region.base % 256 == 0 for region in regions)
    for one, other in itertools.pairwise(regions):
        assert one.end < other.base


# ---- the edges of each space -----------------------------------------------------------------

VARIABLES = """
.shared .align 16 .b8 s[64];
.global .align 16 .b8 g[64] = {1, 2, 3, 4};
.const .align 16 .b8 c[64] = {5, 6, 7, 8};"""
FILL = "\n".join(f"    st.shared.b64 [s+{i}], 0;" for i in range(0, 64, 8))
SPACES = {
    "global": ("", ".global", "g"),
    "shared": (FILL, ".shared", "s"),
    "const": ("", ".const", "c"),
    "generic global": ("", "", "g"),
    "generic shared": (FILL, "", "s"),
}
"""What makes the space readable, how it is named, and a variable of 64 bytes in it."""


def base_of(space: str) -> str:
    """A register %rd1 that points to the variable."""
    _, _, variable = SPACES[space]
    text = f"    mov.u64 %rd1, {variable};"
    return text + ("\n    cvta.shared.u64 %rd1, %rd1;" if space == "generic shared" else "")


def load_at(space: str, offset: int, modifier: str = "b32", target: str = "%r1") -> str:
    ready, named, _ = SPACES[space]
    return f"{ready}\n{base_of(space)}\n    ld{named}.{modifier} {target}, [%rd1+{offset}];"


WIDTHS = {
    "b8": (1, "%c1"),
    "b16": (2, "%rs1"),
    "b32": (4, "%r1"),
    "b64": (8, "%rd2"),
    "v2.b32": (8, "{%r1, %r2}"),
    "v4.b32": (16, "{%r1, %r2, %r3, %r4}"),
    "v2.b64": (16, "{%rd2, %rd3}"),
    "v2.b16": (4, "{%rs1, %rs2}"),
}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("space", SPACES)
def test_loads_at_the_edges(space: str, width: str):
    """The last aligned place is good, one further on is outside, as is one before the start."""
    size, target = WIDTHS[width]

    def outcome(offset: int) -> str:
        return rule(load_at(space, offset, width, target), variables=VARIABLES, threads=1)

    assert outcome(0) == outcome(64 - size) == ""
    assert outcome(64) == "out-of-bounds"
    assert outcome(-size) == "out-of-bounds"
    if size > 1:
        assert outcome(size // 2) == "misaligned"
        assert outcome(1) == "misaligned"


@pytest.mark.parametrize("space", ["global", "shared", "generic global", "generic shared"])
@pytest.mark.parametrize("width", WIDTHS)
def test_stores_at_the_edges(space: str, width: str):
    size, source = WIDTHS[width]
    _, named, _ = SPACES[space]

    def outcome(offset: int) -> str:
        body = f"{base_of(space)}\n    st{named}.{width} [%rd1+{offset}], {source};"
        return rule(body, variables=VARIABLES, threads=1)

    assert outcome(0) == outcome(64 - size) == ""
    assert outcome(64) == outcome(-size) == "out-of-bounds"
    if size > 1:
        assert outcome(size // 2) == "misaligned"


@pytest.mark.parametrize(("offset", "expected"), [(0, ""), (8, ""), (12, "out-of-bounds")])
def test_parameters_end_after_the_last_one(offset: int, expected: str):
    """A pointer and a 32-bit number: 12 bytes."""
    body = f"    ld.param.u32 %r1, [a0+{offset}];"
    assert rule(body, np.zeros(4, np.uint8), 7, threads=1) == expected


def test_parameters_are_read_only_and_aligned():
    assert rule("    ld.param.u64 %rd1, [a0+4];", np.zeros(4, np.uint8), 7) == "misaligned"
    body = "    mov.u64 %rd1, a0;\n    cvta.param.u64 %rd1, %rd1;\n    st.u32 [%rd1], 1;"
    assert rule(body, np.zeros(4, np.uint8)) == "param-store"


@pytest.mark.parametrize("kind", ["ld.global.u32 %r1, [%a0+{}];", "st.global.u32 [%a0+{}], 1;"])
def test_an_array_ends_after_its_last_byte(kind: str):
    """Also where the driver would have rounded the allocation up."""
    array = np.zeros(10, np.uint32)
    assert rule("    " + kind.format(36), array) == ""
    assert rule("    " + kind.format(40), array) == "out-of-bounds"
    (finding,) = findings("    " + kind.format(40), array)
    assert "a0" in finding.message, "whose bounds they are"
    assert "40 bytes" in finding.expected


def test_between_two_arrays_there_is_nothing():
    """An index that is far too large does not end up in the next array."""
    first, second = np.zeros(64, np.uint8), np.zeros(1 << 16, np.uint8)
    for offset in (64, 256, 1024, 4096):
        assert rule(f"    ld.global.u8 %r1, [%a0+{offset}];", first, second) == "out-of-bounds"
    assert rule("    ld.global.u8 %r1, [%a1+-1];", first, second) == "out-of-bounds"


def test_one_lane_is_enough():
    """The lanes of an access are judged one by one; those that take no part are not."""
    body = """
    mad.wide.u32 %rd1, %tx, 4, %a0;
    {}ld.global.u32 %r1, [%rd1];"""
    array = np.zeros(31, np.uint32)
    assert rule(body.format(""), array) == "out-of-bounds"
    guarded = body.format("setp.lt.u32 %p1, %tx, 31;\n    @%p1 ")
    assert rule(guarded, array) == ""


@pytest.mark.parametrize("space", ["generic global", "generic shared"])
def test_one_instruction_may_reach_several_windows(space: str):
    """Generic addresses: the even lanes load from shared, the odd ones from global memory."""
    body = """
    mad.lo.u32 %r1, %lane, 2, 0;
    st.shared.u32 [s], 77;
    mov.u64 %rd1, s;
    cvta.shared.u64 %rd1, %rd1;
    and.b32 %r2, %lane, 1;
    setp.eq.u32 %p1, %r2, 0;
    selp.b64 %rd2, %rd1, %a0, %p1;
    ld.u32 %r3, [%rd2];
    mad.wide.u32 %rd3, %lane, 4, %a1;
    st.u32 [%rd3], %r3;"""
    seen = np.zeros(32, np.uint32)
    run(body, np.array([99], np.uint32), seen, variables=VARIABLES)
    assert seen.tolist() == [77, 99] * 16


@pytest.mark.parametrize(("made", "expected"), [
    ("cvta.to.shared.u64 %rd2, %rd1; cvt.u32.u64 %r5, %rd2;", ""),
    ("cvt.u32.u64 %r5, %rd1;", "out-of-bounds"),
])  # fmt: skip
def test_a_generic_address_is_no_shared_one(made: str, expected: str):
    """Its low 32 bits are not: the two differ by where the window begins, which cvta takes off."""
    body = f"""
    cvta.shared.u64 %rd1, tile;
    st.u32 [%rd1], 5;
    {made}
    ld.shared.u32 %r6, [%r5];"""
    variables = ".shared .align 4 .b8 tile[4];"
    assert rule(body, np.zeros(1, np.uint32), variables=variables) == expected


# ---- what nobody has written -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("stored", "loaded", "expected"),
    [
        ("b32 [s], %r1", "b32 %r1, [s]", ""),
        ("b32 [s], %r1", "b32 %r1, [s+4]", "uninitialized"),
        ("b16 [s], %rs1", "b32 %r1, [s]", "uninitialized"),
        ("b16 [s+2], %rs1", "b16 %rs1, [s+2]", ""),
        ("v2.b32 [s+8], {%r1, %r2}", "b64 %rd1, [s+8]", ""),
        ("b64 [s+8], %rd1", "v4.b32 {%r1, %r2, %r3, %r4}, [s]", "uninitialized"),
    ],
)
def test_every_byte_of_a_load_was_written(stored: str, loaded: str, expected: str):
    body = f"    st.shared.{stored};\n    ld.shared.{loaded};"
    assert rule(body, variables=VARIABLES, threads=1) == expected


def test_a_finding_counts_the_bytes():
    (finding,) = findings(
        "    st.shared.b16 [s+4], %rs1;\n    ld.shared.b64 %rd1, [s];",
        variables=VARIABLES,
        threads=1,
    )
    assert finding.rule == "sim/uninitialized"
    assert finding.got == "6 unwritten bytes, the first at offset 0, by lane 0"


def test_module_variables_are_initialised_and_outputs_are_not():
    """PTX ISA: variables in .global and .const are zero unless they say otherwise."""
    load = "    ld.global.u32 %r1, [%a0];"
    assert rule(load, np.zeros(4, np.uint32)) == ""
    assert rule(load, Output(np.zeros(4, np.uint32))) == "uninitialized"
    seen = np.ones(4, np.uint32)
    body = "\n".join(
        f"    ld.{space}.u32 %r1, [{name}+{offset}];\n    st.global.u32 [%a0+{4 * i}], %r1;"
        for i, (space, name, offset) in enumerate(
            [("global", "g", 0), ("global", "g", 4), ("const", "c", 0), ("const", "c", 60)]
        )
    )
    run(body, seen, variables=VARIABLES, threads=1)
    assert seen.tolist() == [0x04030201, 0, 0x08070605, 0]


def test_unwritten_local_memory_is_zero():
    """A copy of a struct takes its padding along, which no program writes."""
    seen = np.full((32, 2), 9, np.uint32)
    body = """
    st.local.u8 [l+8], 255;
    ld.local.v2.u32 {%r1, %r2}, [l+8];
    mad.wide.u32 %rd1, %lane, 8, %a0;
    st.global.v2.u32 [%rd1], {%r1, %r2};"""
    run(f"    .local .align 16 .b8 l[16];{body}", seen)
    assert seen.tolist() == [[255, 0]] * 32


def test_only_what_was_written_comes_back():
    """The rest of an output keeps what it held on the host."""
    out = np.arange(4, dtype=np.uint32)
    run("    st.global.u32 [%a0+8], 70;", Output(out))
    assert out.tolist() == [0, 1, 70, 3]


def test_shared_memory_is_each_launches_own():
    body = "    ld.shared.u32 %r1, [s];"
    run("    st.shared.u32 [s], 1;", variables=VARIABLES)
    assert rule(body, variables=VARIABLES) == "uninitialized"


def test_dynamic_shared_memory_begins_behind_the_static_one():
    variables = ".shared .align 4 .b8 s[20];\n.extern .shared .align 16 .b8 d[];"
    body = """
    mov.u32 %r1, d;
    st.global.u32 [%a0], %r1;
    st.shared.u32 [d+{}], 5;"""
    out = np.zeros(1, np.uint32)
    run(body.format(60), out, variables=variables, smem=64)
    assert out[0] == 32, "the next multiple of its alignment"
    with pytest.raises(Fault):
        run(body.format(64), out, variables=variables, smem=64)


# ---- lanes that write to one place -----------------------------------------------------------


def test_one_of_several_lanes_wins():
    """PTX ISA leaves open which; every byte is from the same one, and schedules choose others."""
    body = "    mul.lo.u32 %r1, %lane, 0x01010101;\n    st.global.u32 [%a0], %r1;"
    lanes = set()
    for schedule in ("early", "late", "random:1", "random:2"):
        out = np.zeros(1, np.uint32)
        run(body, out, schedule=schedule)
        [lane] = set(out.view(np.uint8).tolist())
        lanes.add(lane)
    assert lanes > {0, 31}
    assert max(lanes) < 32


def test_a_shared_address_in_32_bits_wraps():
    """nvcc folds a constant into the offset, so that a base may be below the variable."""
    out = np.zeros(32, np.uint32)
    body = """
    mov.u32 %r1, s;
    mad.lo.u32 %r2, %lane, -4, %r1;
    st.shared.u32 [%r2+124], %lane;
    mad.wide.u32 %rd1, %lane, 4, %a0;
    ld.shared.u32 %r3, [%r2+124];
    st.global.u32 [%rd1], %r3;"""
    run(body, out, variables=".shared .align 4 .b8 s[128];")
    assert out.tolist() == list(range(32))


# ---- one array, two ways to reach it ---------------------------------------------------------

COPY = """
    mbarrier.init.shared::cta.b64 [bar], 1;
    st.global.u32 [%a1], 123;
    fence.proxy.async;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 64;
    cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
        [tile], [%m0, {0}], [bar];
spin:
    mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;
    @!%p1 bra spin;
    ld.shared.u32 %r1, [tile];
    st.global.u32 [%a2], %r1;"""
TILE = ".shared .align 128 .b8 tile[64];\n.shared .align 8 .b64 bar;"


@pytest.mark.parametrize("schedule", ["early", "late"])
def test_a_copy_sees_what_the_kernel_wrote_to_the_tensor(schedule: str):
    array, out = np.zeros(16, np.uint32), np.zeros(1, np.uint32)
    run(
        COPY,
        tensor_map(array, (16,)),
        array,
        out,
        variables=TILE,
        threads=1,
        schedule=schedule,
    )
    assert out[0] == 123
    assert array[0] == 123


def test_a_tensor_map_over_a_part_of_another_argument_is_not_simulated():
    array = np.zeros(32, np.uint32)
    found = rule(
        COPY,
        tensor_map(array[:16], (16,)),
        array,
        np.zeros(1, np.uint32),
        variables=TILE,
        threads=1,
    )
    assert found == "not-simulated"

"""Columns and lanes: how far each instruction reaches, and that it stays inside its allocation.

The widths are the manual's: Data Movement Shape, Tables 47 and 48, Data Path Layout Organization,
Packing formats, Table 54.  A region of w columns fits into 512 at column 512 - w and no further.
"""

from __future__ import annotations

import pytest

from intrinsics.descriptors.idesc import DENSE_K
from intrinsics.findings import Severity
from intrinsics.layouts.data_paths import accumulator_cells, data_path
from intrinsics.layouts.metadata import metadata_cells
from intrinsics.modifiers import MmaKind
from tests.each import each
from tests.isel.verifier.function.tensor_kernels import issuing, line_of, said, whole_warp


def idesc(m: int, n: int, *, a: int = 0, d: int = 1, sparse: bool = False) -> int:
    """An instruction descriptor, Table 42."""
    return int(sparse) << 2 | d << 4 | a << 7 | a << 10 | n >> 3 << 17 | m >> 4 << 24


def scaled(m: int, n: int, *, a: int = 0, k96: bool = False) -> int:
    """An instruction descriptor, Tables 43 and 44, with UE8M0 scales."""
    return a << 7 | a << 10 | n >> 3 << 17 | 1 << 23 | m >> 7 << 27 | int(k96) << 31


def mma(
    word: int, d: str = "%r3", a: str = "%rd1", kind: str = "f16", *, group: int = 1, ws: str = ""
) -> str:
    """A dense MMA."""
    return f"    tcgen05.mma{ws}.cta_group::{group}.kind::{kind} [{d}], {a}, %rd2, {word}, 0;\n"


def sparse(word: int, meta: str, d: str = "%r3", a: str = "%rd1", kind: str = "f16") -> str:
    """A sparse MMA."""
    return f"    tcgen05.mma.sp.cta_group::1.kind::{kind} [{d}], {a}, %rd2, [{meta}], {word}, 0;\n"


def block(word: int, sfa: str, sfb: str, d: str = "%r3", kind: str = "mxf8f6f4") -> str:
    """A block-scaled MMA."""
    return (
        f"    tcgen05.mma.cta_group::1.kind::{kind}.block_scale [{d}], %rd1, %rd2, {word}, "
        f"[{sfa}], [{sfb}], 0;\n"
    )


def copy(shape: str, address: str) -> str:
    """A copy to tensor memory."""
    return f"    tcgen05.cp.cta_group::1.{shape} [{address}], %rd1;\n"


def shift(address: str) -> str:
    """A shift."""
    return f"    tcgen05.shift.cta_group::1.down [{address}];\n"


def registers(count: int) -> str:
    """A vector of registers."""
    return "{" + ", ".join(f"%r{i}" for i in range(20, 20 + count)) + "}"


AT = "%r3+{c}"
BY_ONE = {
    "D of 128 x 128": (mma(idesc(128, 128), AT), 128),
    "D of 128 x 256, f16": (mma(idesc(128, 256, d=0), AT), 256),
    "D of 128 x 8": (mma(idesc(128, 8), AT), 8),
    "D of 64 x 64, half the lanes": (mma(idesc(64, 64), AT), 64),
    "D of 64 x 128, weight-stationary": (mma(idesc(64, 128), AT, ws=".ws"), 64),
    "D of 32 x 256, weight-stationary": (mma(idesc(32, 256), AT, ws=".ws"), 64),
    "D of 128 x 128, weight-stationary": (mma(idesc(128, 128), AT, ws=".ws"), 128),
    "A of f16": (mma(idesc(128, 32), a=f"[{AT}]"), 8),
    "A of tf32": (mma(idesc(128, 32, a=2), a=f"[{AT}]", kind="tf32"), 8),
    "A of e4m3": (mma(idesc(128, 32), a=f"[{AT}]", kind="f8f6f4"), 8),
    "metadata of f16": (sparse(idesc(128, 32, sparse=True), AT), 1),
    "metadata of e4m3": (sparse(idesc(128, 32, sparse=True), AT, kind="f8f6f4"), 2),
    "scales of 128 rows": (block(scaled(128, 32), AT, "%r3+64"), 4),
    "scales of 256 columns": (block(scaled(128, 256), "%r3+300", AT), 8),
    "scales of 32 columns": (block(scaled(128, 32), "%r3+300", AT), 1),
    "copy of 128x256b": (copy("128x256b", AT), 8),
    "copy of 4x256b": (copy("4x256b", AT), 8),
    "copy of 128x128b": (copy("128x128b", AT), 4),
    "copy of 64x128b": (copy("64x128b.warpx2::02_13", AT), 4),
    "copy of 32x128b": (copy("32x128b.warpx4", AT), 4),
    "copy that decompresses": (copy("128x256b.b8x16.b4x16_p64", AT), 8),
    "shift": (f"    tcgen05.shift.cta_group::1.down [{AT}];\n", 8),
}  # fmt: skip
BY_WARP = {
    "load 32x32b.x4": (
        f"    tcgen05.ld.sync.aligned.32x32b.x4.b32 {registers(4)}, [{AT}];\n", 4),
    "load 16x64b.x4": (
        f"    tcgen05.ld.sync.aligned.16x64b.x4.b32 {registers(4)}, [{AT}];\n", 8),
    "load 16x128b.x2": (
        f"    tcgen05.ld.sync.aligned.16x128b.x2.b32 {registers(4)}, [{AT}];\n", 8),
    "load 16x256b.x1": (
        f"    tcgen05.ld.sync.aligned.16x256b.x1.b32 {registers(4)}, [{AT}];\n", 8),
    "load that packs": (
        f"    tcgen05.ld.sync.aligned.32x32b.x4.pack::16b.b32 {registers(4)}, [{AT}];\n", 8),
    "load of two halves": (
        f"    tcgen05.ld.sync.aligned.16x32bx2.x4.b32 {registers(4)}, [{AT}], 16;\n", 20),
    "load with reduction": (
        f"    tcgen05.ld.red.sync.aligned.32x32b.x4.min.u32 {registers(4)}, %r40, [{AT}];\n", 4),
    "load that keeps two of four": (
        "    tcgen05.ld.spcompress.sync.aligned.32x32b.x8.max.sp::2:4.f32.b2 {%r40}, "
        f"{registers(4)}, [{AT}];\n", 8),
    "load that keeps two of four, with reduction": (
        "    tcgen05.ld.red.spcompress.sync.aligned.32x32b.x8.max.sp::2:4.f32.b2 {%r40}, "
        f"{registers(4)}, %r41, [{AT}];\n", 8),
    "store 32x32b.x8": (
        f"    tcgen05.st.sync.aligned.32x32b.x8.b32 [{AT}], {registers(8)};\n", 8),
    "store that unpacks": (
        f"    tcgen05.st.sync.aligned.32x32b.x8.unpack::16b.b32 [{AT}], {registers(8)};\n", 16),
    "store of two halves": (
        f"    tcgen05.st.sync.aligned.16x32bx2.x2.b32 [{AT}], 64, {registers(2)};\n", 66),
}  # fmt: skip


def beyond(text: str) -> list[int]:
    """The lines that reach beyond their allocation."""
    found = [f for f in said(text) if f.rule.endswith("/beyond-allocation")]
    assert all(f.severity is Severity.ERROR for f in found)
    return [f.place.line for f in found]


@each("name", BY_ONE)
def test_how_far_an_operation_of_one_thread_reaches(name: str):
    statement, width = BY_ONE[name]
    assert beyond(issuing(statement.replace("{c}", str(512 - width)))) == []
    outside = issuing(statement.replace("{c}", str(512 - width + 1)))
    assert beyond(outside) == [line_of(outside, statement.strip().split()[0])]


def newest(text: str) -> str:
    """For sm_107a, which has loads that keep two of four, where the text has one."""
    if "spcompress" not in text:
        return text
    return text.replace(".version 9.0", ".version 9.4").replace("sm_103a", "sm_107a")


@each("name", BY_WARP)
def test_how_far_an_operation_of_a_warp_reaches(name: str):
    statement, width = BY_WARP[name]
    assert beyond(newest(whole_warp(statement.replace("{c}", str(512 - width))))) == []
    outside = newest(whole_warp(statement.replace("{c}", str(512 - width + 1))))
    assert beyond(outside) == [line_of(outside, statement.strip().split()[0])]


def test_the_finding_says_where_and_how_much():
    text = issuing(mma(idesc(128, 128))).replace("], 512;", "], 64;").replace("r3, 512", "r3, 64")
    (found,) = [f for f in said(text) if f.rule == "tcgen05.mma/beyond-allocation"]
    assert found.got == "D: columns 0 to 127 of [slot]"
    assert found.expected.startswith("columns 0 to 63, as tcgen05.alloc in line")


def test_before_the_allocation():
    text = issuing("    sub.s32 %r50, %r3, 4;\n" + mma(idesc(128, 32), "%r50"))
    (found,) = [f for f in said(text) if f.rule == "tcgen05.mma/beyond-allocation"]
    assert found.got == "D: columns -4 to 27 of [slot]"


UNKNOWN = {
    "an unknown descriptor": mma(0, "%r3+500").replace(" 0, 0;", " %r9, 0;"),
    "an unknown address": "    add.u32 %r50, %r3, %r9;\n" + mma(idesc(128, 256), "%r50"),
    "an address from elsewhere": mma(idesc(128, 256), "%r9+511"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_nothing_is_said_of_what_is_not_known(name: str):
    assert beyond(issuing(UNKNOWN[name])) == []


def test_the_block_need_not_be_known_for_columns():
    text = issuing(mma(idesc(128, 128), "%r3+400")).replace(".reqntid 32", "")
    assert beyond(text) == [line_of(text, "tcgen05.mma")]


# ---- lanes -----------------------------------------------------------------------------------

_HALF = 16 << 16
RIGHT_LANES = {
    "half of the lanes, the upper ones": mma(idesc(64, 32), f"%r3+{_HALF}"),
    "A too": mma(idesc(64, 32), f"%r3+{_HALF}", f"[%r3+{_HALF + 64}]"),
    "metadata too": sparse(idesc(64, 32, sparse=True), f"%r3+{_HALF + 64}", f"%r3+{_HALF}"),
    "all lanes": mma(idesc(128, 32), "%r3+64", "[%r3]"),
    "a shift of the second quarter": f"    tcgen05.shift.cta_group::1.down [%r3+{32 << 16}];\n",
}
WRONG_LANES = {
    "M = 128 at lane 16": (mma(idesc(128, 32), f"%r3+{_HALF}"), "lane-alignment"),
    "M = 64 at lane 32": (mma(idesc(64, 32), f"%r3+{32 << 16}"), "lane-alignment"),
    "M = 64 at lane 16, weight-stationary": (
        mma(idesc(64, 64), f"%r3+{_HALF}", ws=".ws"), "lane-alignment"),
    "A at lane 0, D at lane 16": (mma(idesc(64, 32), f"%r3+{_HALF}", "[%r3+64]"), "same-lanes"),
    "metadata at lane 16, D at lane 0": (
        sparse(idesc(64, 32, sparse=True), f"%r3+{_HALF + 64}"), "same-lanes"),
    "A at lane 16, all lanes": (mma(idesc(128, 32), a=f"[%r3+{_HALF + 64}]"), "same-lanes"),
    "a shift at lane 8": (f"    tcgen05.shift.cta_group::1.down [%r3+{8 << 16}];\n", "lane"),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT_LANES)
def test_lanes_that_a_layout_allows(name: str):
    assert [f for f in said(issuing(RIGHT_LANES[name])) if "lane" in f.rule] == []


@pytest.mark.parametrize("name", WRONG_LANES)
def test_lanes_that_a_layout_does_not_allow(name: str):
    body, rule = WRONG_LANES[name]
    (found,) = [f for f in said(issuing(body)) if "lane" in f.rule]
    assert found.rule.split("/")[1] == rule
    assert found.severity is Severity.ERROR
    assert "lane" in found.expected


STORED = "    tcgen05.st.sync.aligned.16x32bx2.x4.b32 [%r3], 8, {%r20, %r21, %r22, %r23};\n"


@each("shape", ["16x32bx2.x4", "16x64b.x4"])
def test_a_load_waits_for_stores_to_its_own_sixteen_lanes(shape: str):
    """Data Movement Shape: all shapes but .32x32b access 16 lanes."""
    split = ", 8" if "x2" in shape else ""
    load = f"    tcgen05.ld.sync.aligned.{shape}.b32 {registers(4)}, [%r3+AT]{split};\n"
    same, other = (
        {f.rule for f in said(whole_warp(STORED + load.replace("AT", str(lane << 16))))}
        for lane in (0, 16)
    )
    assert "tcgen05.st/no-wait" in same
    assert other == {"tcgen05.ld/unwritten-columns"}


# ---- overlaps --------------------------------------------------------------------------------


def overlapping(body: str) -> list[tuple[str, Severity]]:
    """What is said of overlaps."""
    rules = ("overlap", "not-pipelined", "overwrites-operand")
    found = [f for f in said(issuing(body)) if f.rule.split("/")[1] in rules]
    return [(f.rule.split("/")[1], f.severity) for f in found]


WAITED = """\
    $commit [done];
AGAIN:
    $try %p12, [done], 0;
    @!%p12 bra AGAIN;
    $after;
"""
RELAXED = WAITED.replace("$try", "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64")
RELAXED = RELAXED.replace("    $after;\n", "")
D32 = idesc(128, 32)
APART = {
    "A beside D": mma(D32, "%r3", "[%r3+32]"),
    "scales beside D": block(scaled(128, 32), "%r3+32", "%r3+36"),
    "both scales in one place": block(scaled(128, 32), "%r3+32", "%r3+32"),
    "metadata beside D": sparse(idesc(128, 32, sparse=True), "%r3+32"),
    "two accumulators": mma(D32) + mma(D32, "%r3+32"),
    "one accumulator twice": mma(D32) + mma(D32),
    "interleaved in the lanes": mma(idesc(64, 32)) + mma(idesc(64, 32), f"%r3+{_HALF}"),
    "another shape after a wait": mma(D32) + WAITED + mma(idesc(128, 64)),
    "D an operand after a wait": mma(D32) + WAITED + mma(D32, "%r3+64", "[%r3]"),
    "a relaxed wait and a fence": mma(D32)
    + RELAXED
    + "    $after;\n"
    + mma(D32, "%r3+64", "[%r3]"),
    "copies beside each other": copy("128x128b", "%r3") + copy("128x128b", "%r3+4"),
    "a copy, then the MMA": copy("128x256b", "%r3+64") + mma(D32, "%r3", "[%r3+64]"),
    "a shift, then the MMA": shift("%r3+64") + mma(D32, "%r3", "[%r3+64]"),
    "the MMA, then a shift": mma(D32, "%r3", "[%r3+64]") + shift("%r3+64"),
    "a shift, then a copy of its row": shift("%r3+64") + copy("4x256b", "%r3+64"),
    "a copy over a copy after a wait": copy("128x128b", "%r3") + WAITED + copy("128x128b", "%r3"),
    "A overwritten after a wait": mma(D32, "%r3", "[%r3+32]") + WAITED + mma(D32, "%r3+32"),
}
OVER = {
    "A in D": (mma(D32, "%r3", "[%r3+24]"), "overlap", Severity.ERROR),
    "D ends in A": (mma(D32, "%r3", "[%r3+31]"), "overlap", Severity.ERROR),
    "scale A in D": (block(scaled(128, 32), "%r3+30", "%r3+64"), "overlap", Severity.ERROR),
    "scale B in D": (block(scaled(128, 32), "%r3+64", "%r3"), "overlap", Severity.ERROR),
    "metadata in D": (
        sparse(idesc(128, 32, sparse=True), "%r3+31"), "overlap", Severity.ERROR),
    "accumulators": (
        mma(idesc(128, 64)) + mma(D32, "%r3+32"), "not-pipelined", Severity.ERROR),
    "another N": (mma(D32) + mma(idesc(128, 64)), "not-pipelined", Severity.ERROR),
    "another M": (mma(D32) + mma(idesc(64, 32)), "not-pipelined", Severity.ERROR),
    "A of an MMA in flight": (
        mma(D32, "%r3", "[%r3+64]") + mma(D32, "%r3+64"), "overwrites-operand", Severity.REVIEW),
    "D is an operand": (
        mma(D32) + mma(D32, "%r3+64", "[%r3]"), "not-pipelined", Severity.ERROR),
    "a copy over a copy": (
        copy("128x128b", "%r3") + copy("32x128b.warpx4", "%r3+3"), "not-pipelined",
        Severity.ERROR),
    "a copy over D": (mma(D32) + copy("128x128b", "%r3+8"), "not-pipelined", Severity.ERROR),
    "a copy over A": (
        mma(D32, "%r3", "[%r3+64]") + copy("128x256b", "%r3+64"), "not-pipelined",
        Severity.ERROR),
    "a copy over scale factors": (
        block(scaled(128, 32), "%r3+64", "%r3+68") + copy("32x128b.warpx4", "%r3+64"),
        "not-pipelined", Severity.REVIEW),
    "a copy over scale factors and D": (
        block(scaled(128, 32), "%r3+32", "%r3+36") + copy("128x256b", "%r3+28"),
        "not-pipelined", Severity.ERROR),
    "a copy, then a shift": (
        copy("128x256b", "%r3+64") + shift("%r3+64"), "not-pipelined", Severity.ERROR),
    "a shift, then a whole copy": (
        shift("%r3+64") + copy("128x256b", "%r3+64"), "not-pipelined", Severity.ERROR),
    "a wait for the phase before": (
        mma(D32) + WAITED.replace("[done], 0", "[full], 1") + mma(D32, "%r3+64", "[%r3]"),
        "not-pipelined", Severity.ERROR),
    "scales of an MMA in flight": (
        block(scaled(128, 32), "%r3+64", "%r3+68") + mma(D32, "%r3+64"), "overwrites-operand",
        Severity.REVIEW),
}  # fmt: skip


@each("name", APART)
def test_operands_that_are_apart(name: str):
    assert overlapping(APART[name]) == []


@each("name", OVER)
def test_operands_that_overlap(name: str):
    body, rule, severity = OVER[name]
    assert overlapping(body) == [(rule, severity)]


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("m", [128, 256])
def test_a_copy_over_the_last_column_of_a_pairs_accumulator(m: int, is_sparse: bool):
    """Layout B has the halves of N in lanes of their own; A, and C of a sparse A, do not."""
    path = data_path(m, group=2, sparse=is_sparse)
    columns = int(accumulator_cells(path, m, 64).column.max()) + 1
    word = idesc(m, 64, sparse=is_sparse)
    multiply = sparse(word, "%r3+200") if is_sparse else mma(word)
    assert over_in_pair(multiply + copy("128x256b", f"%r3+{columns}")) == []
    assert over_in_pair(multiply + copy("128x256b", f"%r3+{columns - 1}")) == ["not-pipelined"]


@pytest.mark.parametrize("kind", [MmaKind.F16, MmaKind.TF32, MmaKind.F8F6F4, MmaKind.I8])
def test_a_copy_over_the_last_column_of_metadata(kind: MmaKind):
    cells = metadata_cells(data_path(128, sparse=True), 128, kind, 2 * DENSE_K[kind])
    behind = 200 + int(cells[0].column.max()) + 1
    name = kind.value.removeprefix("kind::")
    types = {"tf32": (2, 1), "i8": (1, 2)}.get(name, (0, 1))
    word = idesc(128, 32, a=types[0], d=types[1], sparse=True)
    multiply = sparse(word, "%r3+200", kind=name)
    assert overlapping(multiply + copy("128x256b", f"%r3+{behind}")) == []
    over = overlapping(multiply + copy("128x256b", f"%r3+{behind - 1}"))
    assert over == [("not-pipelined", Severity.ERROR)]


LOADED = {
    "packed": ("32x32b.x4.pack::16b.b32 {regs}, [%r3];", [0, 3, 4, 7], [8]),
    "not packed": ("32x32b.x4.b32 {regs}, [%r3];", [0, 3], [4, 7, 8]),
    "in two halves": ("16x32bx2.x4.b32 {regs}, [%r3], 16;", [0, 3, 16, 19], [4, 15, 20]),
}


@pytest.mark.parametrize("name", LOADED)
def test_columns_that_a_load_may_still_read(name: str):
    """A packed load reads two columns for each register; half a split one begins further on."""
    load, read, others = LOADED[name]
    load = f"    tcgen05.ld.sync.aligned.{load}\n".format(regs=registers(4))
    store = "    tcgen05.st.sync.aligned.32x32b.x1.b32 [%r3+{c}], {{%r40}};\n"
    for column in (*read, *others):
        found = {f.rule for f in said(whole_warp(load + store.format(c=column)))}
        assert ("tcgen05.ld/no-wait" in found) == (column in read), column


def over_in_pair(body: str) -> list[str]:
    """What is said of overlaps in a CTA pair."""
    text = issuing(body).replace("cta_group::1", "cta_group::2")
    found = said(text.replace(".reqntid 32", ".reqntid 32\n.reqnctapercluster 2"))
    rules = [f.rule.split("/")[1] for f in found]
    return [rule for rule in rules if rule in ("overlap", "not-pipelined")]

"""Happens-before between two accesses of a kernel, pair by pair, in the runs of its analysis.

Each kernel is a frame and a body; what is expected is what the manual says of the two accesses.
PTX ISA, tcgen05: Memory Consistency Model; Memory Consistency Model, Proxies; cp.async.bulk.
"""

from __future__ import annotations

import pytest

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Severity
from isel.verifier.functions import verify_functions
from isel.verifier.ordering.judgement import races
from tests.each import each

FILL = "".join(
    f"    st.shared.v4.b32 [%r4+{at}], {{%t, %t, %t, %t}};\n" for at in range(0, 128, 16)
)
"""All 16,384 bytes that a multiply reads, 128 by each thread."""

FRAME = """\
.version 8.8
.target sm_100a
.address_size 64
.shared .align 1024 .b8 tile[32768];
.shared .align 8 .b64 bars[4];
.shared .align 4 .b32 slot;
.extern .shared .align 1024 .b8 dynamic[];
.visible .entry k(.param .u64 out, .param .u32 n) .reqntid 128
{
    .reg .pred %p<20>;
    .reg .b32 %r<60>, %d, %x, %t, %w;
    .reg .b64 %rd<20>, %desc;
    mov.u32 %t, %tid.x;
    shr.u32 %w, %t, 5;
    setp.eq.u32 %p1, %t, 0;
    setp.eq.u32 %p2, %w, 0;
    setp.eq.u32 %p3, %t, 32;
    @%p1 mbarrier.init.shared.b64 [bars], 1;
    @%p1 mbarrier.init.shared.b64 [bars+8], 1;
    @%p1 mbarrier.init.shared.b64 [bars+16], 128;
    @%p1 fence.mbarrier_init.release.cluster;
    @!%p2 bra ALLOCATED;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
ALLOCATED:
    mov.u32 %r2, tile;
    shl.b32 %r4, %t, 7;
    add.u32 %r4, %r2, %r4;
$fill
    fence.proxy.async.shared::cta;
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    ld.shared.b32 %d, [slot];
    shl.b32 %r1, %w, 21;
    add.u32 %x, %d, %r1;
    shr.u32 %r3, %r2, 4;
    cvt.u64.u32 %rd1, %r3;
    or.b64 %desc, %rd1, 4611756662049538048;
$body
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    @!%p2 bra END;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, 128;
    tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
END:
    ret;
}
""".replace("$fill\n", FILL)

MULTIPLY = """\
    @!%p1 bra ISSUED;
    tcgen05.mma.cta_group::1.kind::f16 [%d], %desc, %desc, 134742032, 0;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bars];
ISSUED:
"""
WAIT = """\
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p9, [bars], 0;
    @!%p9 bra WAIT;
    tcgen05.fence::after_thread_sync;
"""
LOAD = """\
    tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r20, %r21}, [%x];
    tcgen05.wait::ld.sync.aligned;
"""
STORES = """\
    shl.b32 %r5, %t, 4;
    add.u32 %r6, %r2, %r5;
    st.shared.v4.b32 [%r6], {%t, %t, %t, %t};
"""
FENCE = "    fence.proxy.async.shared::cta;\n"
MEET = """\
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
"""
ELECTED = """\
    mov.u32 %r30, 0;
    @!%p2 bra NOBODY;
    elect.sync _|%p10, 0xffffffff;
    @%p10 mov.u32 %r30, 1;
NOBODY:
    setp.eq.u32 %p11, %r30, 0;
    @%p11 bra ISSUED;
    tcgen05.mma.cta_group::1.kind::f16 [%d], %desc, %desc, 134742032, 0;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bars];
ISSUED:
"""
RING = """\
    mov.u32 %r40, 0;
    mov.u32 %r41, dynamic;
    add.u32 %r41, %r41, 1023;
    and.b32 %r41, %r41, -1024;
    @!%p1 bra PRODUCED;
    ld.param.u32 %r47, [n];
NEXT:
    and.b32 %r42, %r40, 1;
    shr.u32 %r43, %r40, 1;
    and.b32 %r43, %r43, 1;
    xor.b32 %r44, %r43, 1;
    shl.b32 %r45, %r42, 14;
    add.u32 %r45, %r41, %r45;
    shl.b32 %r46, %r42, 3;
    mov.u32 %r48, bars;
    add.u32 %r48, %r48, %r46;
FREE:
    mbarrier.try_wait.parity.shared.b64 %p12, [%r48], %r44;
    @!%p12 bra FREE;
    shr.u32 %r49, %r45, 4;
    cvt.u64.u32 %rd5, %r49;
    or.b64 %rd5, %rd5, 4611756662049538048;
    st.shared.b32 [%r45], %r40;
    fence.proxy.async.shared::cta;
    tcgen05.mma.cta_group::1.kind::f16 [%d], %rd5, %rd5, 134742032, 0;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r48];
    add.u32 %r40, %r40, 1;
    setp.lt.u32 %p13, %r40, %r47;
    @%p13 bra NEXT;
    and.b32 %r50, %r47, 1;
    xor.b32 %r50, %r50, 1;
PRODUCED:
"""
PRODUCT = """\
    @%p1 tcgen05.mma.cta_group::1.kind::f16 [%d], %desc, %desc, 134742032, 0;
"""
ADD = MULTIPLY.replace("134742032, 0", "134742032, 1").replace("ISSUED", "ADDED")
FENCED = """\
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
"""
ZERO = f"""\
    tcgen05.st.sync.aligned.32x32b.x16.b32 [%x], {{{", ".join(["%t"] * 16)}}};
    add.u32 %r51, %x, 16;
    tcgen05.st.sync.aligned.32x32b.x16.b32 [%r51], {{{", ".join(["%t"] * 16)}}};
    tcgen05.wait::st.sync.aligned;
{FENCED}"""
HALF = ZERO[: ZERO.index("    add")] + ZERO[ZERO.index("    tcgen05.wait") :]
IF_ASKED = """\
    ld.param.u32 %r52, [n];
    setp.ne.u32 %p14, %r52, 0;
"""
LEFT = """\
    @!%p1 bra LEFT;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bars+16];
LEFT:
"""
SENT = """\
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @!%p1 bra SENT;
    ld.param.u64 %rd9, [out];
    cp.async.bulk.global.shared::cta.bulk_group [%rd9], [%r2], 2048;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 0;
SENT:
    bar.sync 0;
"""

PARTS = """\
    @%p1 mbarrier.init.shared.b64 [bars+24], 1;
    @%p1 fence.mbarrier_init.release.cluster;
    ld.param.u64 %rd9, [out];
    mov.u32 %r50, 0;
    bar.sync 0;
    @!%p3 bra ASKED;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bars+24], 4096;
    cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes
        [dynamic], [%rd9, {%r50, %r50}], [bars+24];
OTHER:
    mbarrier.try_wait.parity.shared.b64 %p12, [bars+24], 0;
    @!%p12 bra OTHER;
    mbarrier.arrive.shared.b64 _, [bars+8];
ASKED:
    @!%p1 bra FILLED;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bars], 8192;
    cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes
        [tile], [%rd9, {%r50, %r50}], [bars];
BETWEEN:
    mbarrier.try_wait.parity.shared.b64 %p13, [bars+8], 0;
    @!%p13 bra BETWEEN;
    cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes
        [tile+4096], [%rd9, {%r50, %r50}], [bars];
FILLED:
    bar.sync 0;
"""
READ = "    ld.shared.b32 %r51, [tile+4096];\n"
TO_PEER = f"""\
    mov.u32 %r10, %cluster_ctarank;
    xor.b32 %r11, %r10, 1;
    mov.u32 %r12, bars;
    mapa.shared::cluster.u32 %r13, %r12, %r11;
    add.u32 %r14, %r2, 16384;
    mapa.shared::cluster.u32 %r15, %r14, %r11;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
{STORES}{FENCE}
    bar.sync 0;
    @!%p1 bra SENT;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bars], 2048;
    cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes
        [%r15], [%r2], 2048, [%r13];
SENT:
"""
WARP_SYNC = "    bar.warp.sync 0xffffffff;\n"
HANDED_ON = f"""\
    setp.eq.u32 %p5, %w, 1;
    setp.eq.u32 %p6, %w, 2;
    shl.b32 %r5, %t, 4;
    add.u32 %r6, %r2, %r5;
    @!%p5 bra GIVEN;
    st.shared.b32 [%r6], %t;
{WARP_SYNC}    elect.sync _|%p10, 0xffffffff;
    @%p10 mbarrier.arrive.shared.b64 _, [bars+8];
GIVEN:
    @!%p6 bra TAKEN;
TAKE:
    mbarrier.try_wait.parity.shared.b64 %p9, [bars+8], 0;
    @!%p9 bra TAKE;
    ld.shared.b32 %r9, [%r6+-512];
TAKEN:
"""
WAITS_ELSEWHERE = """\
FREE:
    mbarrier.try_wait.parity.shared.b64 %p8, [bars+16], 1;
    @!%p8 bra FREE;
"""
"""For the phase before the first, which counts as complete."""
EACH_ARRIVES = f"""\
{STORES}    mbarrier.arrive.shared.b64 _, [bars+16];
ALL:
    mbarrier.try_wait.parity.shared.b64 %p9, [bars+16], 0;
    @!%p9 bra ALL;
    xor.b32 %r7, %r5, 512;
    add.u32 %r8, %r2, %r7;
    ld.shared.b32 %r9, [%r8];
"""
PEERS_MEET = "    barrier.cluster.arrive.aligned;\n    barrier.cluster.wait.aligned;\n"


_E, _R = Severity.ERROR, Severity.REVIEW


def said(body: str, launch: str = "") -> set[tuple[str, Severity]]:
    """What is said of order in the frame with a body."""
    text = FRAME.replace(".reqntid 128", f".reqntid 128{launch}")
    module = read_ptx(text.replace("$body\n", body), "k.ptx").module
    found = verify_functions(module)
    return {(f.rule, f.severity) for f in found if f.severity in (_E, _R)}


RIGHT = {
    "a multiply, its commit, the wait and the fence": MULTIPLY + WAIT + LOAD,
    "a thread that is elected, and told through a register": ELECTED + WAIT + LOAD,
    "stores, the fence of each thread, the barrier": STORES + FENCE + MEET + MULTIPLY + WAIT + LOAD,
    "stores, the barrier, the fence of the reader": STORES + MEET + FENCE + MULTIPLY + WAIT + LOAD,
    "stores behind the multiply that has read": MULTIPLY + WAIT + STORES + LOAD,
    "a bulk copy whose source has been read": STORES + SENT + STORES,
    "halves of the lanes": (
        "    tcgen05.st.sync.aligned.16x256b.x1.b32 [%x], {%t, %t, %t, %t};\n"
        "    add.u32 %r9, %x, 1048576;\n"
        "    tcgen05.st.sync.aligned.16x256b.x1.b32 [%r9], {%t, %t, %t, %t};\n"
        "    tcgen05.wait::st.sync.aligned;\n"),
    "a sum that begins with a product": PRODUCT + ADD + WAIT + LOAD,
    "a sum that begins with what was stored": ZERO + ADD + WAIT + LOAD,
    "what is no sum yet is not read": HALF + ADD + WAIT + LOAD,
    "a sum that the caller may have begun": (
        IF_ASKED + MULTIPLY.replace("134742032, 0", "134742032, %p14") + WAIT + LOAD),
    "a commit behind a multiply of its own thread": (
        PRODUCT + FENCED + "    @%p3" + ADD[ADD.index(" tcgen05.mma"):].replace(
            "    tcgen05", "    @%p3 tcgen05").replace("ADDED:\n", "") + WAIT + LOAD),
    "two copies of a phase, and another wait between them": PARTS + WAIT + READ,
    "a warp that synchronises before one of its threads arrives": HANDED_ON,
    "threads that arrive one by one": EACH_ARRIVES,
    "a barrier for a part of the threads that was one for all before": (
        "    setp.ge.u32 %p9, %w, 2;\n    @%p9 bra MEET;\n    bar.sync 0, 64;\n"
        "    bar.sync 0, 64;\nMEET:\n    bar.sync 1;\n"),
}  # fmt: skip


@each("name", RIGHT)
def test_a_right_kernel_is_clean(name: str) -> None:
    assert said(RIGHT[name]) == set()


WRONG: dict[str, tuple[str, tuple[str, Severity]]] = {
    "nobody waits": (MULTIPLY + LOAD, ("tcgen05.ld/before-completion", _E)),
    "a barrier between fences is no wait for the multiply": (
        MULTIPLY + FENCED + LOAD, ("tcgen05.ld/before-completion", _E)),
    "the elected thread's multiply is not waited for": (
        ELECTED + LOAD, ("tcgen05.ld/before-completion", _E)),
    "no fence behind the wait": (
        MULTIPLY + WAIT.replace("    tcgen05.fence::after_thread_sync;\n", "") + LOAD,
        ("tcgen05.ld/before-fence", _R)),
    "stores without a proxy fence": (
        STORES + MEET + MULTIPLY + WAIT + LOAD, ("shared/proxy-fence", _E)),
    "stores without a barrier": (
        STORES + FENCE + MULTIPLY + WAIT + LOAD, ("shared/barrier", _E)),
    "the matrix is stored over while it is read": (
        MULTIPLY + STORES + WAIT + LOAD, ("st/operand-modified", _E)),
    "a store that still runs": (
        "    tcgen05.st.sync.aligned.32x32b.x2.b32 [%x], {%t, %t};\n" + MEET + MULTIPLY + WAIT,
        ("tcgen05.st/no-wait", _E)),
    "the source of a bulk copy is stored over": (
        STORES + SENT.replace("    cp.async.bulk.wait_group.read 0;\n", "") + STORES,
        ("st/source-modified", _E)),
    "two copies of a phase that nobody waits for": (PARTS + READ, ("ld/before-copy", _E)),
    "words that other warps have stored": (
        STORES + "    xor.b32 %r7, %r5, 512;\n    add.u32 %r8, %r2, %r7;\n"
        "    ld.shared.b32 %r9, [%r8];\n", ("shared/race", _E)),
    "a sum without a beginning": (ADD + WAIT + LOAD, ("tcgen05.mma/not-written", _R)),
    "a sum whose beginning is stored behind it": (
        ADD + WAIT + ZERO + LOAD, ("tcgen05.mma/not-written", _R)),
    "a commit by a thread that has issued nothing": (
        PRODUCT + FENCED + MULTIPLY[MULTIPLY.index("    tcgen05.commit"):].replace(
            "    tcgen05", "    @%p3 tcgen05").replace("ISSUED:\n", "") + WAIT + LOAD,
        ("tcgen05.mma/no-commit", _E)),
    "a thread that arrives for its warp, which has not synchronised": (
        HANDED_ON.replace(WARP_SYNC, ""), ("mbarrier.arrive/other-threads", _R)),
    "one that has waited for something else with its warp": (
        HANDED_ON.replace(WARP_SYNC, WAITS_ELSEWHERE), ("mbarrier.arrive/other-threads", _R)),
    "a named barrier for more threads than come": ("    bar.sync 1, 160;\n", ("sync/deadlock", _E)),
}  # fmt: skip


@each("name", WRONG)
def test_a_wrong_kernel_is_told_what_it_lacks(name: str) -> None:
    body, finding = WRONG[name]
    assert finding in said(body)


def test_a_ring_in_dynamic_shared_memory_is_followed_stage_by_stage() -> None:
    """Its stages and phases are numbers at run time; a use before the commit's wait is not lost."""
    assert said(RING + LEFT + "") & {("st/operand-modified", _E)} == set()
    careless = RING.replace("    @!%p12 bra FREE;\n", "")
    assert ("st/operand-modified", _E) in said(careless + LEFT)


@pytest.mark.parametrize(("meet", "expected"), [
    (PEERS_MEET, set()), ("", {("st/source-modified", _E)}),
])  # fmt: skip
def test_a_copy_to_a_peer_has_been_read_when_the_peer_has_it(
    meet: str, expected: set[tuple[str, Severity]]
) -> None:
    body = TO_PEER + WAIT + meet + STORES + PEERS_MEET
    assert said(body, " .reqnctapercluster 2") == expected


def test_a_finding_names_both_accesses_and_the_barrier_that_tells() -> None:
    module = read_ptx(FRAME.replace("$body\n", MULTIPLY + LOAD), "k.ptx").module
    (found,) = [f for f in verify_functions(module) if f.rule == "tcgen05.ld/before-completion"]
    assert "reads columns 0 to 1" in found.got
    assert "tcgen05.mma in line" in found.got
    assert "writes columns 0 to 31" in found.got
    assert "mbarrier bars" in found.expected


_WHOLE = LOAD.replace("x2", "x32").replace(
    "{%r20, %r21}", "{" + ", ".join(f"%q{n}" for n in range(32)) + "}"
)


@pytest.mark.parametrize(("beginning", "end", "columns"), [
    ("", LOAD, "columns 0 to 1"), ("", _WHOLE, "columns 0 to 31"),
    ("", LOAD.replace("x2", "x1").replace(", %r21", ""), "column 0"),
    (HALF, _WHOLE, "columns 16 to 31"),
])  # fmt: skip
def test_a_sum_without_a_beginning_names_the_columns(
    beginning: str, end: str, columns: str
) -> None:
    text = FRAME.replace("$body\n", beginning + ADD + WAIT + end)
    text = text.replace(".reg .b64", ".reg .b32 %q<32>;\n    .reg .b64", 1)
    module = read_ptx(text, "k.ptx").module
    (found,) = [f for f in verify_functions(module) if f.rule == "tcgen05.mma/not-written"]
    assert found.got.endswith(columns)


@pytest.mark.parametrize("number", ["0", "1"])
def test_without_the_block_nothing_is_executed(number: str) -> None:
    text = FRAME.replace("$body\n", MULTIPLY + LOAD).replace(".reqntid 128", "")
    text = text.replace("134742032, 0", f"134742032, {number}")
    found = verify_functions(read_ptx(text, "k.ptx").module)
    assert [f for f in found if f.severity is _E] == []


COUNT = """\
    mov.u32 %r7, 0;
COUNT:
    ld.shared.b32 %r8, [slot];
    add.u32 %r7, %r7, 1;
    setp.lt.u32 %p13, %r7, $rounds;
    @%p13 bra COUNT;
"""


def test_where_runs_end_early_and_what_stands_behind_is_said() -> None:
    """Each of 128 threads counts to a million before the load: no run comes so far."""
    waits = COUNT.replace("$rounds", "1000000")
    module = read_ptx(FRAME.replace("$body\n", waits + MULTIPLY + WAIT + LOAD), "k.ptx").module
    (found,) = [f for f in verify_functions(module) if f.rule == "verify/budget"]
    assert found.incomplete
    assert found.op == "tcgen05.mma"
    begun = read_ptx(FRAME.replace("$body\n", MULTIPLY + WAIT + LOAD), "k.ptx").module
    assert not [f for f in verify_functions(begun) if f.rule == "verify/budget"]


ASKED = """\
    ld.param.b32 %r9, [n];
    setp.ne.u32 %p14, %r9, 1000;
    @%p14 bra USUAL;
    bar.sync 0;
USUAL:
"""


@pytest.mark.parametrize("asked", ["", ASKED])
def test_a_run_that_arguments_have_no_part_in_goes_on_for_longer(asked: str) -> None:
    """Four warps make 550 rounds of four records: the usual 8,000 records are not enough."""
    body = asked + COUNT.replace("$rounds", "550") + MULTIPLY + LOAD
    module = read_ptx(FRAME.replace("$body\n", body), "k.ptx").module
    found = {f.rule: f for f in verify_functions(module)}
    assert "verify/budget" not in found
    assert found["tcgen05.ld/before-completion"].severity is _E


def test_a_loop_over_a_part_of_an_argument_has_turns_in_some_run() -> None:
    """K is divided by 64, and among `parts`: where both are the same number, nothing is left."""
    steps = """\
    ld.param.u32 %r9, [n];
    shr.u32 %r9, %r9, 6;
    ld.param.u32 %r10, [parts];
    div.u32 %r9, %r9, %r10;
    setp.eq.u32 %p14, %r9, 0;
    @%p14 bra NOTHING;
"""
    frame = FRAME.replace(".param .u32 n)", ".param .u32 n, .param .u32 parts)")
    text = frame.replace("$body\n", steps + MULTIPLY + LOAD + "NOTHING:\n")
    found = {f.rule: f for f in verify_functions(read_ptx(text, "k.ptx").module)}
    assert found["tcgen05.ld/before-completion"].severity is _E


def test_a_run_in_which_too_much_races_says_that_it_was_not_compared_to_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    body, (rule, _) = WRONG["words that other warps have stored"]
    module = read_ptx(FRAME.replace("$body\n", body), "k.ptx").module
    assert not [f for f in verify_functions(module) if f.rule == "verify/races"]
    monkeypatch.setattr(races, "_MOST_RACES", 1)
    found = {f.rule: f for f in verify_functions(module)}
    assert found["verify/races"].incomplete
    assert found["verify/races"].place == found[rule].place

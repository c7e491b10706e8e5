"""Registers that warpgroups hand each other: setmaxnreg, against the PTX ISA and ptxas.

A right kernel is clean; each mistake is one edit of it, and breaks one rule at one line.  What a
thread has at entry is what ptxas says of the same kernel.
"""

from __future__ import annotations

import re

import pytest

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Finding, Severity
from intrinsics.mir import Launch
from isel.verifier.function.participants.registers import at_entry
from isel.verifier.functions import verify_functions
from tests.each import each
from tests.isel.verifier.function.kernel_text import kernel
from tests.oracle.ptxas_modules import report

THREE = ".reqntid 384\n.minnctapersm 1"

SPECIALISED = kernel(
    """
    mov.u32 %r1, %tid.x;
    shr.u32 %r2, %r1, 7;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra CONSUMER;
    setmaxnreg.dec.sync.aligned.u32 24;
    bar.sync 1, 384;
    ret;
CONSUMER:
    setmaxnreg.inc.sync.aligned.u32 240;
    bar.sync 1, 384;
    ret;
""",
    THREE,
)
"""One warpgroup that loads, two that calculate: 128 * 24 + 256 * 240 = 64512 registers."""


def said(text: str, block: tuple[int, ...] = ()) -> list[Finding]:
    reading = read_ptx(text, "k.ptx")
    assert reading.findings == []
    found = verify_functions(reading.module, block)
    return [f for f in found if f.severity is not Severity.NOTE]


def edited(old: str, new: str) -> str:
    assert SPECIALISED.count(old) == 1, old
    return SPECIALISED.replace(old, new)


def line_of(text: str, piece: str) -> int:
    return next(i for i, line in enumerate(text.splitlines(), 1) if piece in line)


INC, DEC = "setmaxnreg.inc.sync.aligned.u32 240;", "setmaxnreg.dec.sync.aligned.u32 24;"

TURNS = kernel(
    """
    mov.u32 %r1, %tid.x;
    shr.u32 %r2, %r1, 7;
    setp.ne.u32 %p1, %r2, 0;
    mov.u32 %r3, 0;
    @%p1 bra WORKER;
    setmaxnreg.dec.sync.aligned.u32 40;
    barrier.sync 1;
    barrier.sync 1;
    setmaxnreg.inc.sync.aligned.u32 256;
    ret;
WORKER:
    setmaxnreg.dec.sync.aligned.u32 120;
    bar.sync 2, 256;
    setmaxnreg.inc.sync.aligned.u32 232;
    barrier.sync 1;
    setmaxnreg.dec.sync.aligned.u32 120;
    barrier.sync 1;
    setmaxnreg.dec.sync.aligned.u32 120;
    setmaxnreg.dec.sync.aligned.u32 120;
    ret;
""",
    ".reqntid 384\n.maxnreg 168",
)
"""Registers go to the workers and come back: first 40 + 2 * 232 = 504, then 256 + 2 * 120 = 496."""

CLEAN = {
    "specialised": SPECIALISED,
    "as many as there are, before the others give": edited(
        DEC + "\n    bar.sync 1, 384;", "bar.sync 1, 384;\n    " + DEC
    )
    .replace(INC, "setmaxnreg.inc.sync.aligned.u32 168;")
    .replace(THREE, ".reqntid 384\n.maxnreg 168"),
    "in turns": TURNS,
    "four warpgroups": edited("shr.u32 %r2, %r1, 7;", "shr.u32 %r2, %r1, 8;")
    .replace("384", "512")
    .replace(".u32 240;", ".u32 224;"),
    "the registers are said": edited(THREE, ".reqntid 384\n.maxnreg 168"),
    "only given back": edited(INC, ""),
    "twice, with a barrier in between": edited(
        INC, "setmaxnreg.dec.sync.aligned.u32 40; bar.sync 2, 256; " + INC
    ),
    "all registers there are": edited(INC, "setmaxnreg.inc.sync.aligned.u32 240;"),
}


@each("name", CLEAN)
def test_a_right_kernel_is_clean(name: str) -> None:
    assert said(CLEAN[name]) == []


MISTAKES = {
    "more than there is": (
        "setmaxnreg.inc/budget", edited(DEC, DEC.replace("24", "40")), "setmaxnreg.inc",
    ),
    "two warpgroups that load": (
        "setmaxnreg.inc/budget",
        CLEAN["four warpgroups"].replace(".u32 224;", ".u32 240;"),
        "setmaxnreg.inc",
    ),
    "nobody gives back": ("setmaxnreg.inc/budget", edited(DEC, ""), "setmaxnreg.inc"),
    "two CTAs a multiprocessor": (
        "setmaxnreg.inc/budget",
        edited(".minnctapersm 1", ".minnctapersm 2"),
        "setmaxnreg.inc",
    ),
    "the workers keep theirs": (
        "setmaxnreg.inc/budget",
        TURNS.replace(
            "barrier.sync 1;\n    setmaxnreg.dec.sync.aligned.u32 120;\n    barrier.sync 1;\n"
            "    setmaxnreg.dec.sync.aligned.u32 120;\n    setmaxnreg.dec.sync.aligned.u32 120;\n",
            "barrier.sync 1;\n    barrier.sync 1;\n",
        ),
        "setmaxnreg.inc",
    ),
    "one asks for more than the others can give": (
        "setmaxnreg.inc/budget",
        TURNS.replace("u32 40;", "u32 160;").replace("u32 120;", "u32 136;"),
        "setmaxnreg.inc",
    ),
    "one warp asks": (
        "setmaxnreg.dec/warpgroup",
        edited("@%p1 bra CONSUMER;", "@%p1 bra CONSUMER; setp.ge.u32 %p2, %r1, 32; @%p2 ret;")
        .replace("bar.sync 1, 384", "bar.sync 1, 288"),
        "setmaxnreg.dec",
    ),
    "each half at its own instruction": (
        "setmaxnreg.inc/warpgroup",
        edited(
            INC,
            "setp.ge.u32 %p3, %r1, 192; @%p3 bra SECOND; setmaxnreg.inc.sync.aligned.u32 240;"
            " bra ON; SECOND: setmaxnreg.inc.sync.aligned.u32 240; ON:",
        ),
        "setmaxnreg.inc",
    ),
    "no barrier in between": (
        "setmaxnreg.inc/again",
        edited(INC, "setmaxnreg.dec.sync.aligned.u32 40;\n " + INC),
        "setmaxnreg.inc",
    ),
    "given back in two steps": (
        "setmaxnreg.dec/again",
        edited(DEC, f"{DEC.replace('24', '40')}\n    {DEC}"),
        "aligned.u32 24;",
    ),
    "keeps more than it has": (
        "setmaxnreg.dec/direction", edited(DEC, DEC.replace("24", "176")), "setmaxnreg.dec",
    ),
    "asks for less than it has": (
        "setmaxnreg.inc/direction",
        edited(INC, INC + "bar.sync 2, 256; setmaxnreg.inc.sync.aligned.u32 200;"),
        "setmaxnreg.inc",
    ),
    "given back behind the barrier": (
        "setmaxnreg.inc/order",
        edited(DEC + "\n    bar.sync 1, 384;", "bar.sync 1, 384;\n    " + DEC),
        "setmaxnreg.inc",
    ),
    "waited for by an mbarrier": (
        "setmaxnreg.inc/order",
        edited(DEC + "\n    bar.sync 1, 384;", "W: $try %p5, [full], 0; @!%p5 bra W; " + DEC)
        .replace("bar.sync 1, 384;", "$arrive [full];")
        .replace("$try", "mbarrier.try_wait.parity.shared::cta.b64")
        .replace("$arrive", "mbarrier.arrive.shared::cta.b64 _,")
        .replace(
            "@%p1 bra CONSUMER;",
            "setp.eq.u32 %p6, %r1, 0; @%p6 mbarrier.init.shared::cta.b64 [full], 256;"
            " bar.sync 0; @%p1 bra CONSUMER;",
        ),
        "setmaxnreg.inc",
    ),
    "nothing says what a thread has": (
        "setmaxnreg.dec/ignored", edited(THREE, ".reqntid 384"), "setmaxnreg.dec",
    ),
    "only how many threads there may be": (
        "setmaxnreg.dec/ignored", edited(THREE, ".maxntid 384"), "setmaxnreg.dec",
    ),
}  # fmt: skip

ALSO = {
    "one warp asks": {"setmaxnreg.inc/budget"},  # the others keep theirs
    "keeps more than it has": {"setmaxnreg.inc/budget"},
}  # fmt: skip
SEVERITY = {"again": Severity.REVIEW, "ignored": Severity.WARNING}
RUNS = ("each half at its own instruction",)
"""The manual forbids it, and kernels are known to do so: a warning."""


@each("name", MISTAKES)
def test_a_mistake_breaks_its_rule_where_it_is(name: str) -> None:
    rule, text, at = MISTAKES[name]
    found = said(text)
    hit = [f for f in found if f.rule == rule and f.place.line == line_of(text, at)]
    assert hit, found
    severity = SEVERITY.get(rule.rpartition("/")[2], Severity.ERROR)
    assert hit[0].severity is (Severity.WARNING if name in RUNS else severity)
    assert hit[0].section == "PTX ISA, setmaxnreg"
    assert {f.rule for f in found} - {rule} == ALSO.get(name, set())


def test_a_warp_may_come_to_either_of_two_as_an_argument_says() -> None:
    """Warp 3 gives back in a branch of its own or with no other work, warps 0 to 2 in theirs."""
    apart = (
        "ld.param.u32 %r3, [steps]; setp.ne.u32 %p2, %r3, 0; setp.ge.u32 %p3, %r1, 96;"
        f" @!%p3 bra FIRST; and.pred %p4, %p2, %p3; @%p4 bra LOADS; {DEC} bra ON;"
        f" LOADS: {DEC} bra ON; FIRST: {DEC} ON:"
    )
    text = edited(DEC, apart)
    none = text.replace(f"@%p4 bra LOADS; {DEC}", "@%p4 bra LOADS;").replace(
        f"LOADS: {DEC}", "LOADS:"
    )
    assert Severity.ERROR not in {f.severity for f in said(text)}
    assert {f.severity for f in said(none) if f.rule == "setmaxnreg.dec/warpgroup"} == {
        Severity.ERROR
    }


@pytest.mark.parametrize(("threads", "registers", "fits"), [
    (576, 112, False), (576, 104, False), (576, 96, True), (512, 128, True), (512, 136, False),
    (640, 104, False), (640, 96, True), (1024, 64, True), (1024, 72, False),
])  # fmt: skip
def test_a_quarter_of_the_registers_is_for_a_quarter_of_the_warps(
    threads: int, registers: int, fits: bool
) -> None:
    """A GPU refuses 18 warps of 112: five of them in one quarter would have 17,920 of 16,384."""
    bound = f".reqntid {threads}\n.maxnreg {registers}"
    text = edited(THREE, bound).replace("384;", f"{threads};").replace(INC, "")
    found = {f.rule for f in said(text)}
    assert found == (set() if fits else {"launch/registers"})
    assert -(-threads // 128) * 32 * registers <= 16_384 or not fits


def test_the_budget_is_reckoned_aloud() -> None:
    """240 for 256 threads and 40 for 128 are 66560; 384 threads that start with 168 have 64512."""
    (finding,) = said(edited(DEC, DEC.replace("24", "40")))
    assert "66560" in finding.got
    assert "64512" in finding.expected
    assert "waits forever" in finding.message


FITTING = {
    "one producer, two consumers": (edited(DEC, DEC.replace("24", "40")), 128, 40, 256, 240),
    "two producers": (
        CLEAN["four warpgroups"].replace(".u32 224;", ".u32 240;"), 256, 24, 256, 240
    ),
    "nobody gives back": (edited(DEC, ""), 128, 168, 256, 240),
}  # fmt: skip


@pytest.mark.parametrize("name", FITTING)
def test_a_hint_says_what_fits(name: str) -> None:
    """Each number in the hint fits beside what the other threads have, and 8 more does not."""
    text, others, kept, threads, count = FITTING[name]
    (finding,) = said(text)
    pool = (others + threads) * (168 if others + threads == 384 else 128)
    asked = re.search(r"setmaxnreg.inc (\d+) fits", finding.hint)
    given = re.search(rf"{count} fits when .* setmaxnreg.dec (\d+)", finding.hint)
    assert asked is not None
    less = int(asked[1])
    assert others * kept + threads * less <= pool < others * kept + threads * (less + 8)
    assert said(text.replace(f".u32 {count};", f".u32 {less};")) == []
    assert (given is None) == (pool - threads * count < others * 24)
    if given is not None:
        rest = int(given[1])
        assert others * rest + threads * count <= pool < others * (rest + 8) + threads * count


def sums(n: int) -> str:
    """A multiply of 64 by n, whose sums a consumer stores."""
    registers = [f"%f{i}" for i in range(n // 2)]
    stores = "".join(f"st.global.f32 [%rd3+{4 * i}], {r};" for i, r in enumerate(registers))
    return f"""
    .reg .f32 %f<{n // 2}>;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16 {{{", ".join(registers)}}}, %rd1, %rd2,
        0, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    ld.param.u64 %rd3, [out];
    {stores}
"""


@each("inc", [168, 240])
@each(
    "threads, n",
    [(384, n) for n in (64, 104, 120, 256)]
    + [(256, n) for n in (200, 216, 256)]
    + [(512, n) for n in (72, 88, 128)]
    + [(640, n) for n in (40, 56, 64)],
)
def test_accumulators_that_fill_a_multiprocessor_say_how_many_ctas_there_are(
    threads: int, n: int, inc: int
) -> None:
    """Where nothing else does: ptxas then starts with what one CTA can have, or ignores it."""
    asks = INC.replace("240", str(inc))
    text = edited(INC, asks + sums(n)).replace(THREE, f".reqntid {threads}")
    text = text.replace("sm_100a", "sm_90a").replace("bar.sync 1, 384;", "")
    told = report(text, "sm_90a")
    used = re.search(r"Used (\d+) registers", told)
    assert used is not None, told
    ignored = [f for f in said(text) if f.rule == "setmaxnreg.dec/ignored"]
    assert bool(ignored) == ("C7508" in told)
    if not ignored:
        assert at_entry(Launch(reqntid=(threads,)), inc, n // 2 + 24) == int(used[1])


@pytest.mark.parametrize("bounds", [THREE, ".reqntid 384\n.maxnreg 168"])
@pytest.mark.parametrize("inc", [160, 168, 240])
def test_no_thread_starts_with_more_than_is_asked_for(bounds: str, inc: int) -> None:
    text = edited(INC, INC.replace("240", str(inc))).replace(THREE, bounds)
    used = re.search(r"Used (\d+) registers", report(text, "sm_100a"))
    assert used is not None
    assert min(inc, 168) == int(used[1])
    assert said(text) == []


@each("name", CLEAN)
def test_without_the_block_nothing_is_claimed(name: str) -> None:
    text = re.sub(r"\.reqntid \d+", ".maxntid 1024", CLEAN[name])
    text = text.replace(".minnctapersm 1", ".maxnreg 168")
    found = verify_functions(read_ptx(text).module)
    claimed = [f for f in found if f.rule.startswith("setmaxnreg") and "/aligned" not in f.rule]
    assert claimed == []
    assert "verify/block" in {f.rule for f in found}


@each(
    "bounds, launch",
    [
        *(
            (f".reqntid {n}\n.minnctapersm {m}", Launch(reqntid=(n,), minctasm=m))
            for n in (128, 160, 256, 288, 384, 416, 512, 640, 768, 1024)
            for m in (1, 2)
        ),
        (".maxntid 16, 24\n.minnctapersm 1", Launch(maxntid=(16, 24), minctasm=1)),
        (".maxnreg 168", Launch(maxnreg=168)),
        (".reqntid 384\n.maxnreg 128", Launch(reqntid=(384,), maxnreg=128)),
        (".reqntid 384", Launch(reqntid=(384,))),
        (".maxntid 384", Launch(maxntid=(384,))),
        ("", Launch()),
    ],
)
def test_the_registers_at_entry_are_those_of_ptxas(bounds: str, launch: Launch) -> None:
    """ptxas reports how many registers a kernel with setmaxnreg starts with, or ignores it."""
    said = report(kernel(DEC + "\n ret;", bounds, ""), "sm_100a")
    used = re.search(r"Used (\d+) registers", said)
    assert used is not None, said
    ours = at_entry(launch)
    if "C7508" in said:
        assert ours is None
    else:
        assert ours == int(used[1])

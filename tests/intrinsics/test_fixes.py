"""Every entry of the table of fixes is really so.

An entry says that somebody (the manual, LLVM, ptxas) says one thing, and that another holds.  Each
has a check here, found by its subject: what ptxas and LLVM are said to do is asked of them, and
what holds is asked of nvgen.  A check that needs a machine that is not at hand says which.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

import pytest

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics import catalog
from intrinsics.descriptors.tensor_address import ZeroColumnMask
from intrinsics.findings import Severity
from intrinsics.fixes import FIXES, Fix
from intrinsics.reference.page import pages
from intrinsics.targets import TARGETS, Ptx
from isel.verifier.record import verify_records
from nvgen import compile as nvgen_compile
from tests.each import each
from tests.oracle import llvm, llvm_sass, ptxas

TARGET, PTX = "sm_100a", "9.5"
MMA = "tcgen05.mma.cta_group::1.kind::{kind} [%r0], %rd1, %rd2, %r3, %p1{more};"
COPY = (
    "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
    "{dst}, [{tmap}, {{%r2}}], {mbar};"
)


# ---- asking ----------------------------------------------------------------------------------


def ptxas_refuses(statement: str) -> list[str]:
    """What ptxas says of a statement when it only checks it."""
    return ptxas.judge([statement], TARGET, PTX)[0]


def code_of(statement: str) -> bytes:
    """The machine code of a kernel of this statement."""
    text = ptxas.module_text([statement, "ret;"], TARGET, PTX)
    return llvm_sass.machine_code({"k": text}, TARGET, PTX)["k"]


def nvgen_refuses(statement: str) -> list[str]:
    """What nvgen says of a statement."""
    reading = read_ptx(ptxas.module_text([statement], TARGET, PTX))
    version = Ptx(*map(int, PTX.split(".")))
    found = reading.findings + verify_records(reading.module, TARGETS[TARGET], version)
    return [f.message for f in found if f.severity is Severity.ERROR]


def only_ptxas_accepts(*statements: str) -> None:
    """ptxas lets the statements pass, nvgen does not."""
    for statement in statements:
        assert ptxas_refuses(statement) == [], statement
        assert nvgen_refuses(statement), statement


def both_accept(*statements: str) -> None:
    """So what the other statements are refused for is what tells them from these."""
    for statement in statements:
        assert ptxas_refuses(statement) == [], statement
        assert nvgen_refuses(statement) == [], statement


# ---- the checks ------------------------------------------------------------------------------


def zero_column_mask() -> None:
    """The manual's second example: skip span 2, use span 3 gives 0b…1110000_1110000.

    A one is a zeroed column.  Were the skip span that of used columns, the zeros would be three.
    """
    mask = f"{ZeroColumnMask(skip_span=2, use_span=3).mask(128, 128):0128b}"
    assert mask.endswith("11100001110000")
    assert set(re.findall(r"0+", mask.lstrip("0"))) == {"0000"}


def scale_with_i8() -> None:
    """ptxas takes any number, and makes the same code as without; with f16 it does not."""
    plain = MMA.format(kind="i8", more="")
    scaled = [MMA.format(kind="i8", more=f", {scale}") for scale in (3, 1000)]
    both_accept(plain)
    only_ptxas_accepts(*scaled)
    assert {code_of(statement) for statement in scaled} == {code_of(plain)}
    half = [MMA.format(kind="f16", more=more) for more in ("", ", 3")]
    both_accept(*half)
    assert code_of(half[0]) != code_of(half[1])
    assert ptxas_refuses(MMA.format(kind="f16", more=", 16"))


def small_number_after_ws() -> None:
    ws = "tcgen05.mma.ws.cta_group::1.kind::f16 [%r0], %rd1, %rd2, %r3, %p1{more};"
    both_accept(ws.format(more=""), ws.format(more=", %rd3"), ws.format(more=f", {1 << 39}"))
    only_ptxas_accepts(ws.format(more=", 7"))


def register_twice() -> None:
    load = "tcgen05.ld.sync.aligned.32x32b.x2.b32 {{{registers}}}, [%r3];"
    both_accept(load.format(registers="%r1, %r2"))
    twice = load.format(registers="%r1, %r1")
    only_ptxas_accepts(twice)
    assert any("C7308" in line for line in ptxas.assemble(twice, TARGET, PTX))


def addresses_without_brackets() -> None:
    good = {"dst": "[%r1]", "tmap": "%rd1", "mbar": "[%r3]"}
    both_accept(COPY.format(**good))
    changes = ({"dst": "%f1"}, {"dst": "%h1"}, {"mbar": "1.5"}, {"mbar": "%f2"}, {"tmap": "%fd1"})
    wrong = [COPY.format(**{**good, **change}) for change in changes]
    only_ptxas_accepts(*wrong)
    assert [ptxas.assemble(statement, TARGET, PTX) for statement in wrong] == [[]] * len(wrong)
    assert ptxas_refuses(COPY.format(**{**good, "dst": "1"})), "an integer is refused"


def cta_groups() -> None:
    for group in range(4):
        statement = MMA.replace("group::1", f"group::{group}").format(kind="f16", more="")
        assert bool(ptxas_refuses(statement)) == (group not in (1, 2)), group
        assert bool(nvgen_refuses(statement)) == (group not in (1, 2)), group


def commit_on_a_generic_address() -> None:
    module = llvm.HEADER + (
        "declare void @llvm.nvvm.tcgen05.commit.cg1(ptr)\n"
        "define ptx_kernel void @k(ptr %p) {\n"
        "  call void @llvm.nvvm.tcgen05.commit.cg1(ptr %p)\n  ret void\n}\n"
    )
    commit = "tcgen05.commit.cta_group::1.mbarrier::arrive::one"
    (outcome,) = llvm.compile_all([module], TARGET, "8.6")
    assert f"{commit}.shared::cluster.b64" in outcome.ptx
    assert f"{commit}.b64" in nvgen_compile(module, target=TARGET).ptx


CHECKS: dict[str, Callable[[], None]] = {
    "zero-column mask": zero_column_mask,
    "tcgen05.mma, scale-input-d with .kind::i8": scale_with_i8,
    "tcgen05.mma.ws with a small number after enable-input-d": small_number_after_ws,
    "tcgen05.ld with one register twice": register_twice,
    "cp.async.bulk.tensor, addresses": addresses_without_brackets,
    "cta_group 0 and 3 in the control word": cta_groups,
    "tcgen05.commit on a generic address": commit_on_a_generic_address,
}
NOT_AT_HAND = {
    "cp.async.bulk.tensor, innermost coordinate": "needs an H200: the copy must run",
    "cp.async.bulk.tensor, destination": "needs an H200: the copy must run",
    "cp.async.bulk.tensor, coordinates of a tile store": "needs an H200: the store must run",
    "bfe with a position or length in a register beyond 255": "needs an H200: it must run",
    "barrier.cluster.arrive, some threads of a warp with .relaxed": "needs an H200: it must run",
}
"""Entries that only a machine shows; tests/sim hold the simulator to them."""


@each("fix", FIXES, ids=lambda fix: fix.subject)
def test_an_entry_is_really_so(fix: Fix):
    if fix.subject in NOT_AT_HAND:
        pytest.skip(NOT_AT_HAND[fix.subject])
    ptxas.required_ptxas()
    CHECKS[fix.subject]()


# ---- the table -------------------------------------------------------------------------------


@each("fix", FIXES, ids=lambda fix: fix.subject)
def test_an_entry_says_everything(fix: Fix):
    """Who says what, what holds instead, and what has shown it, when."""
    assert all((fix.subject, fix.source, fix.says, fix.holds, fix.shown))
    assert fix.says != fix.holds
    assert date.fromisoformat(fix.date) >= date(2026, 1, 1)
    known = r"PTX ISA \d+\.\d+(, \S.*)?|ptxas \d+\.\d+(, checking only)?|LLVM \d+|compilers .*"
    assert re.fullmatch(known, fix.source), "a version tells which manual or program it was"


def test_the_versions_are_those_that_the_checks_ask():
    """An entry about another ptxas or LLVM than the oracles' would not be checked at all."""
    assert {f.source.split(",")[0] for f in FIXES if f.source.startswith("ptxas")} == {
        "ptxas " + ".".join(map(str, ptxas.MINIMUM))
    }
    assert {f.source for f in FIXES if f.source.startswith("LLVM")} == {f"LLVM {llvm.VERSION}"}


def test_entries_have_subjects_of_their_own():
    subjects = [fix.subject for fix in FIXES]
    assert len(set(subjects)) == len(subjects)
    assert set(subjects) == {*CHECKS, *NOT_AT_HAND}
    assert not set(CHECKS) & set(NOT_AT_HAND)


def test_entries_are_found_by_what_they_are_about():
    """On their page, and by the head of a row where they are about an instruction."""
    page = pages()["fixes.md"].splitlines()
    heads = {row.head for row in catalog.rows()}
    for fix in FIXES:
        assert len([line for line in page if line.startswith(f"| {fix.subject} | ")]) == 1
        name = re.match(r"[\w.]+", fix.subject)
        if name and "." in name[0]:
            assert name[0] in heads, fix.subject

"""The function level against the PTX ISA: right kernels are clean, one mistake gives one rule.

The kernels and the mistakes stand in `function_kernels` and `function_mistakes`; what is expected
is what the manual says.  Each mistake is one edit of a kernel that is right, so every pair says
what the rule is about and what it is not about.
"""

from __future__ import annotations

import functools

import pytest
from hypothesis import HealthCheck, given, settings

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Finding, Severity
from intrinsics.mir import Module
from isel.verifier.functions import verify_functions
from isel.verifier.record import verify_records
from nvgen.compilation.compile_text import compile_text
from nvgen.compilation.options import Options
from tests.each import each
from tests.isel.verifier.function.consequences import besides, others
from tests.isel.verifier.function.function_kernels import CLEAN
from tests.isel.verifier.function.function_mistakes import MISTAKES, Mistake
from tests.isel.verifier.function.function_soups import soups
from tests.isel.verifier.function.kernel_text import HEAD, kernel
from tests.oracle import llvm
from tests.samples.modules import WALKTHROUGH, gemm_tile, warp_specialized
from tests.turns import examples


def module_of(text: str) -> Module:
    """A module that the reader and the record level find nothing wrong with."""
    reading = read_ptx(text, "k.ptx")
    assert reading.findings == []
    module = reading.module
    assert module.ptx is not None
    assert verify_records(module, module.target, module.ptx) == []
    return module


def said(text: str, block: tuple[int, ...] = ()) -> list[Finding]:
    """What the function level says of a module, but for notes."""
    return [f for f in verify_functions(module_of(text), block) if f.severity is not Severity.NOTE]


# ---- what is right ---------------------------------------------------------------------------


@each("name", CLEAN, turns=3)
def test_a_right_kernel_is_clean(name: str):
    assert verify_functions(module_of(CLEAN[name])) == []


def test_there_are_kernels():
    assert len(CLEAN) > 25
    assert HEAD not in CLEAN.values()


SAMPLES = {"tile": gemm_tile, "warp-specialised": warp_specialized}


@each("opt", [0, 1, 2, 3], turns=2)
@each("name", SAMPLES, turns=3)
def test_a_sample_is_clean(name: str, opt: int):
    ptx = SAMPLES[name]().build().compile(target="sm_100a", opt=opt).ptx
    assert verify_functions(module_of(ptx)) == []


@pytest.mark.turns(3)
@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_as_llvm_compiles_it_is_clean(name: str, opt: int):
    (outcome,) = llvm.compile_all([SAMPLES[name]().build().llvm], "sm_100a", "8.6", opt=opt)
    assert verify_functions(module_of(outcome.ptx)) == []


def test_the_walkthrough_is_clean():
    ptx = compile_text(WALKTHROUGH.read_text(), Options(target="sm_100a")).ptx
    assert verify_functions(module_of(ptx)) == []


# ---- what is wrong ---------------------------------------------------------------------------

MISSED: dict[str, str] = {}
"""Mistakes that are not found, and why."""

REVIEWS = ("tcgen05.ld/before-fence",)
WARNINGS = ("tcgen05.alloc/unused",)


@each("name", MISTAKES, xfail=MISSED)
def test_a_mistake_breaks_its_rule_where_it_is(name: str):
    mistake = MISTAKES[name]
    found = said(mistake.broken())
    hit = [f for f in found if f.rule == mistake.rule and f.place.line == mistake.line()]
    assert len(hit) == 1
    expected = Severity.REVIEW if mistake.rule in REVIEWS else Severity.ERROR
    if mistake.rule in WARNINGS or mistake.runs:
        expected = Severity.WARNING
    if mistake.perhaps:
        expected = Severity.REVIEW
    assert hit[0].severity is expected
    assert others(found, hit[0]) - {mistake.rule} == besides(mistake.also) - {mistake.rule}


def test_a_fence_that_is_missing_behind_a_wait_is_named():
    (found,) = said(MISTAKES["no fence"].broken())
    assert "tcgen05.fence::after_thread_sync" in found.message
    assert "complete" not in found.message  # that it is, the wait has told


@pytest.mark.parametrize("variable", ["a_tile", "dynamic"])
def test_a_store_behind_the_proxy_fence_is_in_the_matrix(variable: str):
    """How far a matrix goes is what its descriptors say, wherever it lies."""
    text = CLEAN["generic_stores"].replace(
        ".shared .align 4 .b32 slot;",
        """\
.shared .align 4 .b32 slot;
.extern .shared .align 1024 .b8 dynamic[];""",
    )
    late = "    st.shared.v4.b32 [%r6+12288], {%r1, %r1, %r1, %r1};\n"
    text = text.replace("a_tile;\n    add", f"{variable};\n    add").replace(late, "")
    text = text.replace(
        "    fence.proxy.async.shared::cta;\n", "    fence.proxy.async.shared::cta;\n" + late
    )
    (found,) = said(text)
    assert (found.rule, found.severity) == ("shared/proxy-fence", Severity.ERROR)


@each("mistake", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_edit_of_a_clean_kernel(mistake: Mistake):
    assert mistake.text in CLEAN.values()
    assert mistake.broken() != mistake.text


def test_a_finding_says_what_helps():
    (finding,) = said(MISTAKES["no fence"].broken())
    assert finding.op.startswith("tcgen05.ld.sync.aligned.32x32b.x2")
    assert finding.place.function == "k"
    assert "fence::after_thread_sync" in finding.expected
    assert finding.section.startswith("PTX ISA, ")


def test_each_rule_has_two_mistakes():
    rules = [m.rule for m in MISTAKES.values()]
    once = {r for r in rules if rules.count(r) < 2}
    assert {r for r in once if not r.endswith("/aligned")} <= {
        "tcgen05.dealloc/warps",
        "tcgen05.dealloc/unallocated",
    }


# ---- what is not known -----------------------------------------------------------------------


@functools.cache
def _without_block(name: str) -> str:
    return "\n".join(
        "" if line.startswith(".reqntid") else line for line in CLEAN[name].splitlines()
    )


@each("name", CLEAN)
def test_without_the_block_nothing_is_claimed(name: str):
    """Nobody knows who executes what: no error, and a finding that says what was not checked."""
    found = verify_functions(module_of(_without_block(name)))
    assert [f.rule for f in found if f.severity is Severity.ERROR] == []
    assert [f.incomplete for f in found if f.rule == "verify/block"] == [True]


def _bounded(text: str) -> str:
    return text.replace(".reqntid", ".maxntid")


@each("name", CLEAN, turns=3)
def test_a_right_kernel_is_clean_in_the_largest_block_that_it_allows(name: str):
    (note,) = verify_functions(module_of(_bounded(CLEAN[name])))
    assert (note.rule, note.severity, note.incomplete) == ("verify/block", Severity.NOTE, False)


@each("name", ("tcgen05.ld/before-completion", "mbarrier/arrivals"))
def test_a_mistake_in_the_largest_block_is_for_review(name: str):
    """Nobody knows whether it is launched so; the finding says which block it is about."""
    mistake = next(m for m in MISTAKES.values() if m.rule == name)
    found = verify_functions(module_of(_bounded(mistake.broken())))
    (hit,) = (f for f in found if f.rule == name and f.place.line == mistake.line())
    assert hit.severity is Severity.REVIEW
    assert "which .maxntid allows" in hit.got


def test_the_block_may_come_from_outside():
    assert verify_functions(module_of(_without_block("tile")), (128,)) == []
    assert verify_functions(module_of(_without_block("by_row")), (32, 4)) == []


def test_a_block_that_a_kernel_does_not_allow_is_that_of_another_kernel():
    """A module has kernels for blocks of several sizes: each is judged in one that it can have."""
    mistake = next(m for m in MISTAKES.values() if m.rule == "mbarrier/arrivals")
    for text in (CLEAN["tile"], mistake.broken()):
        bounded = module_of(_bounded(text))
        assert verify_functions(bounded, (1024,)) == verify_functions(bounded)


def test_what_holds_for_every_thread_is_checked_without_the_block():
    mistake = MISTAKES["free for two CTAs"]
    text = "\n".join(x for x in mistake.broken().splitlines() if not x.startswith(".reqntid"))
    assert "tcgen05/cta-groups" in {f.rule for f in said(text)}


def test_where_something_was_not_understood_what_is_missing_is_for_review():
    """What arrives may be what was not understood."""
    mistake = MISTAKES["no commit"]
    unknown = "sust.b.1d.b32.trap [%rd1, {%r1}], {%r1};\n"
    text = mistake.broken().replace("ISSUED:", unknown + "ISSUED:")
    found = verify_functions(read_ptx(text).module)
    (missing,) = (f for f in found if f.rule == mistake.rule)
    assert missing.severity is Severity.REVIEW
    assert [f.incomplete for f in found if f.rule == "verify/opaque"] == [True]


# ---- what comes of anything ------------------------------------------------------------------


@given(soups())
@examples(150)
def test_nothing_raises(body: str):
    """Any statements with any branches: verdicts, and no exception."""
    module = read_ptx(kernel(body, ".reqntid 96"), "soup.ptx").module
    for block in ((), (96,)):
        for finding in verify_functions(module, block):
            assert finding.rule
            assert finding.message


@given(soups(blocks=60, statements=7))
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_large_soup_comes_to_an_end(body: str):
    """Ways multiply with each branch; what is remembered of them is bounded."""
    verify_functions(read_ptx(kernel(body, ".reqntid 256"), "soup.ptx").module)


def test_twenty_stores_that_may_or_may_not_be_are_no_million_ways():
    stores = "\n".join(
        f"    ld.global.u32 %r{i}, [%rd1+{4 * i}];\n    setp.ne.u32 %p{i}, %r{i}, 0;\n"
        f"    @%p{i} st.shared.b32 [a_tile+{4 * i}], %r{i};"
        for i in range(9, 33)
    )
    text = CLEAN["generic_stores"].replace("    fence.proxy", stores + "\n    fence.proxy")
    assert {f.rule for f in said(text)} == {"shared/race"}  # other warps have stored there, too

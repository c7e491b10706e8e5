"""The oracle's harness is right: what it accepts, what it refuses, and whom it blames.

Only ptxas and the harness are tested here, no table of nvgen's.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.oracle import evidence, float_forms, legality_forms, ptxas, tcgen05_mma_product

GOOD = (
    "add.u32 %r1, %r2, %r3;",
    "mov.b128 %q1, {%rd1, %rd2};",
    "ld.shared.v4.f32 {%f0, %f1, %f2, %f3}, [smem+16];",
    "mbarrier.init.shared::cta.b64 [mbar], 1;",
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 32;",
    "tcgen05.mma.cta_group::1.kind::f16 [%r0], %rd1, %rd2, %r3, %p1;",
)
BAD = {
    "add.f16x3 %r1, %r2, %r3;": "Unknown modifier",
    "add.u32 %r1, %f2, %r3;": "Arguments mismatch",
    "mov.u64 %rd1, nosuch;": "Unknown symbol",
    "frobnicate.u32 %r1;": "Not a name of any known instruction",
    "tcgen05.alloc.cta_group::1.sync.aligned.b32 [%r1], 48;": "power of 2",
    "tcgen05.mma.cta_group::3.kind::f16 [%r0], %rd1, %rd2, %r3, %p1;": "cta_group",
}
UNPARSABLE = ("add.u32 %r1,, %r3;", "mov.b32 %r1, {%h1, %h2;", "add.u32. %r1, %r2, %r3;")
LATE = (
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%h1];",
    "tcgen05.st.sync.aligned.32x32b.x1.b32 [smem], {%r1};",
    "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, _}, [%r3];",
    "tcgen05.mma.cta_group::1.kind::f16 [%r0], %rd1, %rd2, smem+4, %p1;",
)
"""Read without complaint, refused when they are expanded."""


@pytest.fixture(autouse=True)
def _fresh_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test learns the unparsable and the suspect statements anew."""
    ptxas.required_ptxas()
    monkeypatch.setattr(ptxas, "_unparsable", {})
    monkeypatch.setattr(ptxas, "_suspects", set())


def test_good_statements_pass():
    assert ptxas.judge(GOOD, "sm_100a", "9.5") == [[] for _ in GOOD]


def test_what_ends_the_reading_stands_alone_the_next_time(monkeypatch: pytest.MonkeyPatch):
    """ptxas says the same of it, and reads all the others at once."""
    statements = [*GOOD, "add.u32 _, %r2, %r3;", *GOOD]
    first = ptxas.judge(statements, "sm_100a", "9.5")
    assert [bool(errors) for errors in first] == [text not in GOOD for text in statements]
    assert "Result discard mode" in first[len(GOOD)][0]
    runs: list[int] = []
    run = ptxas._run
    monkeypatch.setattr(
        ptxas,
        "_run",
        lambda asked, *a: (runs.append(len(asked)), run(asked, *a))[1],  # type: ignore[func-returns-value]
    )
    assert ptxas.judge(statements, "sm_100a", "9.5") == first
    assert sorted(runs) == [1, len(statements) - 1]


def test_a_crash_over_many_statements_says_nothing_of_any(monkeypatch: pytest.MonkeyPatch):
    """Parts that ptxas does not crash at are judged, and nothing that reads well is suspected."""
    statements = [*GOOD, *BAD, *GOOD]
    usual = ptxas.judge(statements, "sm_100a", "9.5")
    ptxas._suspects.clear()
    run = ptxas._run

    def crashing(asked: list[str], *pair: str) -> ptxas._Outcome:
        outcome = run(asked, *pair)
        return outcome._replace(errors={}, clean=False, crashed=True) if len(asked) > 3 else outcome

    monkeypatch.setattr(ptxas, "_run", crashing)
    assert list(map(bool, ptxas.judge(statements, "sm_100a", "9.5"))) == list(map(bool, usual))
    assert ptxas._suspects.isdisjoint(GOOD)


def test_bad_statements_are_refused_for_the_right_reason():
    verdicts = ptxas.judge(list(BAD), "sm_100a", "9.5")
    for (statement, reason), errors in zip(BAD.items(), verdicts, strict=True):
        assert any(reason in error for error in errors), (statement, errors)


def test_no_statement_touches_its_neighbours():
    mixed = [s for group in zip(GOOD, BAD, (*UNPARSABLE, *LATE), strict=False) for s in group]
    verdicts = ptxas.judge(mixed, "sm_100a", "9.5")
    assert [s for s, errors in zip(mixed, verdicts, strict=True) if not errors] == list(GOOD)
    alone = [bool(ptxas.judge([s], "sm_100a", "9.5")[0]) for s in mixed]
    assert alone == [bool(errors) for errors in verdicts]


def test_a_fatal_line_is_blamed_and_the_rest_is_still_judged():
    statements = [GOOD[0], UNPARSABLE[0], GOOD[1], UNPARSABLE[1], UNPARSABLE[2], "bra nowhere;"]
    for _ in range(2):  # the second time from memory
        verdicts = ptxas.judge(statements, "sm_90a", "8.6")
        assert [bool(errors) for errors in verdicts] == [False, True, False, True, True, True]
        assert all("Parsing error" in verdicts[place][0] for place in (1, 3, 4))
        assert verdicts[5] == ["Unknown symbol 'nowhere'"]


@pytest.mark.turns(3)
def test_whether_a_statement_parses_does_not_depend_on_the_target():
    """Of a tenth of the statements, another one each day; of all with --live."""
    statements = [s for family in legality_forms.FAMILIES.values() for s in family()]
    tenth = 1 if evidence.options().live else 10
    statements = statements[evidence.options().seed % tenth :: tenth]
    ptxas.judge(statements, "sm_107a", "9.5")
    learned = set(ptxas._unparsable)
    assert 30 < len(learned) * tenth < 600
    for target, version in (("sm_90a", "8.6"), ("sm_120f", "9.0")):
        ptxas._unparsable.clear()
        ptxas.judge(statements, target, version)
        assert set(ptxas._unparsable) == learned


def test_statements_that_fail_late_are_found():
    statements = [s for pair in zip(GOOD, LATE, strict=False) for s in pair]
    for _ in range(2):
        verdicts = ptxas.judge(statements, "sm_107a", "9.5")
        refused = [s for s, errors in zip(statements, verdicts, strict=True) if errors]
        assert refused == list(LATE)


def test_a_version_too_old_for_the_target_refuses_everything():
    verdicts = ptxas.judge([*GOOD, *UNPARSABLE], "sm_107a", "9.0")
    assert all("does not support .target sm_107a" in errors[0] for errors in verdicts)
    assert len(verdicts) == len(GOOD) + len(UNPARSABLE)


def test_the_renamed_target_is_assembled():
    assert ptxas.judge(GOOD, "sm_101a", "9.5") == [[] for _ in GOOD]
    assert ptxas.arch_of("sm_101a") == "compute_110a"


def test_lines_are_counted_like_ptxas_counts_them():
    text = ptxas.module_text(GOOD, "sm_100a", "9.5").splitlines()
    assert [text[ptxas.line_of(i) - 1] for i in range(len(GOOD))] == list(GOOD)
    assert text[0] == ".version 9.5"
    assert text[1] == ".target sm_100a"


@pytest.mark.parametrize(
    "statement", ["ret", "ret; ret;", "{ ret;", "ret; // no", 'ret "a";', "ret;\nret;", ""]
)
def test_only_one_statement_on_one_line(statement: str):
    with pytest.raises(ValueError, match="not one complete statement"):
        ptxas.judge([statement], "sm_90a", "8.6")


def test_batches_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch):
    statements = legality_forms.FAMILIES["fence"]()
    whole = ptxas.judge(statements, "sm_100a", "9.5")
    monkeypatch.setattr(ptxas, "BATCH", 50)
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda _: ptxas.judge(statements, "sm_100a", "9.5"), range(2)))
    assert runs == [whole, whole]


def test_code_generation_settles_a_doubt():
    wide = "ld.global.u32 %r1, [%rd1];"
    narrow = "ld.global.u32 %r1, [%r2];"
    assert ptxas.judge([wide, narrow], "sm_100a", "9.5") == [[], []]
    assert ptxas.assemble(wide, "sm_100a", "9.5") == []
    assert "32-Bit" in " ".join(ptxas.assemble(narrow, "sm_100a", "9.5"))


def test_the_search_for_ptxas_explains_itself(monkeypatch: pytest.MonkeyPatch):
    ptxas.find_ptxas.cache_clear()
    monkeypatch.setattr(ptxas, "_candidates", lambda: iter(["/nowhere/ptxas"]))
    with pytest.raises(ptxas.PtxasMissingError, match=r"13\.5 or newer.*does not run"):
        ptxas.find_ptxas()
    ptxas.find_ptxas.cache_clear()


def test_families_are_deterministic_and_free_of_repetitions():
    total = 0
    for name, family in (legality_forms.FAMILIES | float_forms.FAMILIES).items():
        statements = family()
        assert statements == family(), name
        assert len(set(statements)) == len(statements), name
        assert family.__doc__, name
        total += len(statements)
    assert 45_000 <= total <= 60_000, "neither is a family lost, nor does a run take an hour"


@pytest.mark.turns(24)
@pytest.mark.parametrize("name", legality_forms.FAMILIES)
def test_every_family_has_legal_and_illegal_statements(name: str):
    statements = legality_forms.FAMILIES[name]()
    verdicts = ptxas.judge(statements, "sm_107a", "9.5")
    legal = sum(not errors for errors in verdicts)
    least = 0.02 if name == "tcgen05.cp/shift" else 0.1  # each shape has one multicast or none
    assert least * len(statements) < legal < 0.6 * len(statements)


@pytest.mark.turns(3)
def test_many_modules_in_one_run_are_judged_as_each_alone():
    """What ends a module early is said of it, and not of the one behind it."""
    mixed = [*GOOD, *BAD, *LATE, *UNPARSABLE, *GOOD, *LATE]
    modules = [[statement] for statement in (*mixed, *reversed(mixed))]
    together = ptxas._run_each(modules, "sm_100a", "9.5")
    for module, outcome in zip(modules, together, strict=True):
        assert outcome.clean == ptxas._run(module, "sm_100a", "9.5").clean, module


def test_modules_that_crash_ptxas_do_not_hide_the_others():
    crash = next(tcgen05_mma_product.mma_crashes())
    modules = [[text] for text in (GOOD[0], LATE[0], crash, GOOD[1], crash, LATE[1], GOOD[2])]
    clean = [outcome.clean for outcome in ptxas._run_each(modules, "sm_100a", "9.5")]
    assert clean == [True, False, False, True, False, False, True]

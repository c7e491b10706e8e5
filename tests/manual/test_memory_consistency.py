"""9.7.16.6, Memory Consistency Model: every pair of operations, judged statically and in runs.

The table (`memory_table`, `memory_more`) says of each kernel what the manual says; the verifier has
to say the same without running it, and the simulator under its schedules.  A tenth of the kernels
has its turn each day, with three schedules; --live has all of them, with eight.
"""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

import pytest

from intrinsics.findings import Finding, Severity
from nvgen.compilation.options import Options
from nvgen.loading import load
from nvgen.machine_code.assembler import find_ptxas
from tests.each import each
from tests.isel.verifier.patterns.pattern_runs import run
from tests.manual.memory_more import allocation, other_cta, shared_memory
from tests.manual.memory_table import Case, Verdict, other_thread, same_thread
from tests.turns import has_turn

CASES = {
    case.name: case
    for case in (
        *same_thread(), *other_thread(), *other_cta(), *shared_memory(), *allocation()
    )
}  # fmt: skip
TURNS = 10
SCHEDULES = ("late", "early", "random:0")
MORE = tuple(f"random:{seed}" for seed in range(1, 6))


def said(case: Case) -> list[Finding]:
    """What `nvgen check` says of a kernel, but for notes."""
    program = load("k.ptx", case.kernel.ptx(), Options(target="sm_100a", level="all"))
    return [f for f in program.findings if f.severity is not Severity.NOTE]


@each("name", CASES, turns=TURNS, parts=2)
def test_the_verifier_agrees_with_the_manual(name: str) -> None:
    """What lacks a fence alone may be a review, since the operations are complete; so may what
    kernels in use rely on.
    """
    found = said(CASES[name])
    match CASES[name].verdict:
        case Verdict.RIGHT:
            assert found == []
        case Verdict.UNFENCED | Verdict.RELIED_ON:
            assert {f.severity for f in found} & {Severity.ERROR, Severity.REVIEW}
        case Verdict.WRONG:
            assert Severity.ERROR in {f.severity for f in found}


@each("name", CASES, turns=TURNS, parts=2)
def test_runs_agree_with_the_manual(name: str, pytestconfig: pytest.Config) -> None:
    """A right kernel ends well under every schedule, a wrong one with a finding under some."""
    case = CASES[name]
    schedules = SCHEDULES + (MORE if pytestconfig.option.live else ())
    found = (run(case.kernel, schedule) for schedule in schedules)
    if case.verdict is Verdict.RIGHT:
        assert list(itertools.chain(*found)) == []
    else:
        assert any(found)


def test_ptxas_takes_the_right_ones(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Those whose turn it is, in one module, whose head they share."""
    ptxas = find_ptxas()
    if ptxas is None:
        pytest.skip("no ptxas")
    right = [case for case in CASES.values() if case.verdict is Verdict.RIGHT]
    today = [case.kernel for case in right if has_turn(request, case.name, TURNS)]
    if not today:
        pytest.skip("no case has its turn")
    texts = [kernel.ptx().partition(".visible .entry k(") for kernel in today]
    (head,) = {text[0] for text in texts}
    entries = [f"\n.visible .entry k{n}({text}" for n, (_, _, text) in enumerate(texts)]
    source = tmp_path / "k.ptx"
    source.write_text(head + "".join(entries))
    command = [str(ptxas), "-arch", "sm_100a", "-O0", str(source), "-o", str(tmp_path / "k.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_each_pair_has_a_right_way_and_a_wrong_one() -> None:
    """A pair of the table is what stands before the last colon but for the way."""
    ways: dict[str, set[Verdict]] = {}
    for case in CASES.values():
        pair = case.name.rpartition(": ")[0].partition(", ")[0]
        ways.setdefault(pair, set()).add(case.verdict)
    uses = {pair: found for pair, found in ways.items() if not pair.startswith("alloc ->")}
    assert len(CASES) > 700
    assert all({Verdict.RIGHT, Verdict.WRONG} <= found for found in uses.values())

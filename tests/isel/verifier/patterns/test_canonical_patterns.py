"""The manual's synchronisation patterns against the verifier.

Right kernels are without a finding, and ptxas takes each; of a kernel with one mistake something is
said on the line that has it or on a partner's.  What is not yet so stands in `pattern_missed`, and
has to leave it when it is.  What nvgen is asked is what
`nvgen check --level all` is asked; the size of the block stands in the kernels.
"""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

import pytest

from intrinsics.findings import Finding, Severity
from nvgen.compilation.options import Options
from nvgen.loading import load
from nvgen.machine_code.assembler import find_ptxas
from tests.each import each
from tests.isel.verifier.patterns import (
    canonical_allocations,
    canonical_compositions,
    canonical_idioms,
    canonical_patterns,
    canonical_rings,
    canonical_threads,
    pattern_mutants,
    pattern_mutants_idioms,
    pattern_mutants_memory,
    pattern_mutants_rings,
    pattern_mutants_threads,
)
from tests.isel.verifier.patterns.pattern_edits import Doubt, Mutant
from tests.isel.verifier.patterns.pattern_missed import FALSE_ALARMS, MISSED
from tests.isel.verifier.patterns.pattern_ptx import Kernel

CLEAN = {
    name.lower(): kernel
    for module in (
        canonical_patterns,
        canonical_threads,
        canonical_compositions,
        canonical_allocations,
        canonical_idioms,
        canonical_rings,
    )
    for name, kernel in vars(module).items()
    if isinstance(kernel, Kernel)
}


@functools.cache
def findings(kernel: Kernel) -> list[Finding]:
    """What is said of a kernel, but for notes."""
    judged = load(
        "k.ptx", kernel.ptx(), Options(target=kernel.target, ptx=None, level="all")
    ).findings
    return [f for f in judged if f.severity is not Severity.NOTE]


# ---- what is right ---------------------------------------------------------------------------


@each("name", CLEAN, xfail=FALSE_ALARMS, turns=3)
def test_a_right_kernel_is_clean(name: str):
    assert findings(CLEAN[name]) == []


@pytest.mark.turns(3)
def test_ptxas_takes_them(tmp_path: Path):
    """All in one module, whose head they share."""
    ptxas = find_ptxas()
    if ptxas is None:
        pytest.skip("no ptxas")
    texts = [kernel.ptx().partition(".visible .entry k(") for kernel in CLEAN.values()]
    ((target, head),) = {(k.target, text[0]) for k, text in zip(CLEAN.values(), texts, strict=True)}
    entries = [f"\n.visible .entry k{n}({text}" for n, (_, _, text) in enumerate(texts)]
    source = tmp_path / "k.ptx"
    source.write_text(head + "".join(entries))
    command = [str(ptxas), "-arch", target, str(source), "-o", str(tmp_path / "k.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_each_pattern_has_kernels():
    assert len(CLEAN) >= 60
    assert FALSE_ALARMS.keys() <= CLEAN.keys()


# ---- what is wrong ---------------------------------------------------------------------------

MUTANTS = (
    *pattern_mutants.MUTANTS,
    *pattern_mutants_threads.MUTANTS,
    *pattern_mutants_memory.MUTANTS,
    *pattern_mutants_idioms.MUTANTS,
    *pattern_mutants_rings.MUTANTS,
)
ALL = {m.name: m for m in MUTANTS}
FIRST = sorted({m.rule: m.name for m in reversed(MUTANTS)}.values())
"""Of the mutants that break the same rule, the first one: these run every day."""

OTHERS = [name for name in ALL if name not in FIRST]
TURNS = 8
"""In so many days each of the others runs once."""


def blamed(mutant: Mutant) -> list[Finding]:
    """What is said of a mutant, but not of the right kernel, on the lines that may be blamed."""
    kernel = mutant.broken()
    lines = {kernel.line(tag) for tag in mutant.at}
    already = {(f.rule, f.op, f.got) for f in findings(mutant.kernel)}
    return [
        f
        for f in findings(kernel)
        if f.place.line in lines and (f.rule, f.op, f.got) not in already
    ]


def found(mutant: Mutant) -> bool:
    """Whether an error is found as an error, and a doubt at all."""
    said = blamed(mutant)
    if mutant.doubt is Doubt.ERROR:
        return any(f.severity is Severity.ERROR for f in said)
    return bool(said)


@each("name", FIRST, xfail=MISSED)
def test_a_mistake_is_found_where_it_is(name: str):
    assert found(ALL[name]), ALL[name].rule


@each("name", OTHERS, xfail=MISSED, turns=TURNS)
def test_another_mistake_of_a_kind_is_found_where_it_is(name: str):
    assert found(ALL[name]), ALL[name].rule


def test_each_mutant_has_a_name_of_its_own():
    assert len(ALL) == len(MUTANTS) > 500
    assert MISSED.keys() <= ALL.keys()


def test_each_mutant_is_another_kernel():
    for mutant in ALL.values():
        assert mutant.kernel in CLEAN.values()
        assert mutant.broken().ptx() != mutant.kernel.ptx()


def test_each_kernel_has_a_mutant():
    assert {m.kernel for m in ALL.values()} == set(CLEAN.values())

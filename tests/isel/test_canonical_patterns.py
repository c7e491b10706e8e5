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
from nvgen.assembler import find_ptxas
from nvgen.loading import load
from tests.isel import (
    canonical_compositions,
    canonical_idioms,
    canonical_patterns,
    canonical_rings,
    pattern_mutants,
    pattern_mutants_idioms,
    pattern_mutants_rings,
    pattern_mutants_threads,
)
from tests.isel.pattern_edits import Doubt, Mutant
from tests.isel.pattern_missed import FALSE_ALARMS, MISSED
from tests.isel.pattern_ptx import Kernel

CLEAN = {
    name.lower(): kernel
    for module in (canonical_patterns, canonical_compositions, canonical_idioms, canonical_rings)
    for name, kernel in vars(module).items()
    if isinstance(kernel, Kernel)
}


@functools.cache
def findings(kernel: Kernel) -> list[Finding]:
    """What is said of a kernel, but for notes."""
    judged = load("k.ptx", kernel.ptx(), target=kernel.target, ptx=None, level="all").findings
    return [f for f in judged if f.severity is not Severity.NOTE]


# ---- what is right ---------------------------------------------------------------------------


def _clean(name: str) -> object:
    marks = [pytest.mark.xfail(reason=FALSE_ALARMS[name])] if name in FALSE_ALARMS else []
    return pytest.param(CLEAN[name], id=name, marks=marks)


@pytest.mark.parametrize("kernel", [_clean(name) for name in CLEAN])
def test_a_right_kernel_is_clean(kernel: Kernel):
    assert findings(kernel) == []


@pytest.mark.parametrize("kernel", CLEAN.values(), ids=CLEAN)
def test_ptxas_takes_it(kernel: Kernel, tmp_path: Path):
    ptxas = find_ptxas()
    if ptxas is None:
        pytest.skip("no ptxas")
    source = tmp_path / "k.ptx"
    source.write_text(kernel.ptx())
    command = [str(ptxas), "-arch", kernel.target, str(source), "-o", str(tmp_path / "k.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_each_pattern_has_kernels():
    assert len(CLEAN) >= 60
    assert FALSE_ALARMS.keys() <= CLEAN.keys()


# ---- what is wrong ---------------------------------------------------------------------------

MUTANTS = (
    *pattern_mutants.MUTANTS,
    *pattern_mutants_threads.MUTANTS,
    *pattern_mutants_idioms.MUTANTS,
    *pattern_mutants_rings.MUTANTS,
)
ALL = {m.name: m for m in MUTANTS}


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


def _mutant(name: str) -> object:
    marks = [pytest.mark.xfail(reason=MISSED[name])] if name in MISSED else []
    return pytest.param(ALL[name], id=name, marks=marks)


@pytest.mark.parametrize("mutant", [_mutant(name) for name in ALL])
def test_a_mistake_is_found_where_it_is(mutant: Mutant):
    assert found(mutant), mutant.rule


def test_each_mutant_has_a_name_of_its_own():
    assert len(ALL) == len(MUTANTS) > 500
    assert MISSED.keys() <= ALL.keys()


def test_each_mutant_is_another_kernel():
    for mutant in ALL.values():
        assert mutant.kernel in CLEAN.values()
        assert mutant.broken().ptx() != mutant.kernel.ptx()


def test_each_kernel_has_a_mutant():
    assert {m.kernel for m in ALL.values()} == set(CLEAN.values())

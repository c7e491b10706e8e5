"""Every mutant of every sample's synchronisation is found, or is known not to be, and why.

The mutants are those of `tests.samples.synchronisation`; the finders are the verifier, and the
simulator with its clocks.  What nobody finds stands in `sample_mutants_unfound`, which is strict:
what stands there and is found, or does not occur, is a mistake.
"""

from __future__ import annotations

import pytest

from tests.samples.sample_mutants import FEW, sound, verdicts
from tests.samples.sample_mutants_unfound import UNFOUND
from tests.samples.sample_subjects import SUBJECTS, subject
from tests.samples.synchronisation import Mutant, mutants
from tests.turns import has_turn

pytestmark = pytest.mark.seldom(3)

ALIKE = ("mxfp8", "nvfp4", "sparse")
"""Samples whose synchronisation is the same, statement by statement: a mutant is tried on one."""

# These take longer; clocks find races under every schedule, and "late" ends what must be waited for
# last of all.
SCHEDULES = dict.fromkeys((*ALIKE, "warps", "pair", "stationary", "hopper", "cluster"), ("late",))


def _tried(name: str, ptx: str, request: pytest.FixtureRequest) -> list[Mutant]:
    """Those that have their turn; of samples that are alike each has its own."""
    found = list(mutants(ptx))
    if name in ALIKE:
        found = found[ALIKE.index(name) :: len(ALIKE)]
    return [m for m in found if has_turn(request, m.name, _SELDOM if _is_known(name, m) else 18)]


_SELDOM = 72


def _is_known(name: str, mutant: Mutant) -> bool:
    return any(entry.covers(name, mutant) for entry in UNFOUND)


@pytest.mark.turns(2)
@pytest.mark.parametrize("name", SUBJECTS)
def test_mutants_are_found(name: str, request: pytest.FixtureRequest) -> None:
    """Each by somebody, or by nobody and for one reason."""
    of = subject(name)
    wrong = []
    tried = _tried(name, of.compiled.ptx, request)
    for judged in verdicts(of, tried, SCHEDULES.get(name, FEW)):
        known = [entry.pattern for entry in UNFOUND if entry.covers(name, judged.mutant)]
        if len(known) != (0 if judged.found else 1):
            wrong.append(f"{judged} {known}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", SUBJECTS)
def test_what_is_not_found_occurs(name: str) -> None:
    """In each sample that an entry names."""
    found = list(mutants(subject(name).compiled.ptx))
    for entry in UNFOUND:
        if name in entry.samples:
            assert any(entry.covers(name, mutant) for mutant in found), entry.pattern


def test_samples_are_alike() -> None:
    """So that one stands for the others."""
    first, *others = ([m.name for m in mutants(subject(name).compiled.ptx)] for name in ALIKE)
    assert all(names == first for names in others)


@pytest.mark.turns(6)
@pytest.mark.parametrize("name", SUBJECTS)
def test_samples_are_right_without_an_edit(name: str) -> None:
    """What is found of a mutant is the edit's doing."""
    assert sound(subject(name), SCHEDULES.get(name, FEW))


PTX = """\
.visible .entry kernel()
{
	.reg .pred %p<3>;
	mbarrier.init.shared.b64 [a], 1;
	mbarrier.init.shared.b64 [b], 1;
	@%p1 bar.sync 0;
	add.s32 %r2, %r3, 1;
	mbarrier.arrive.expect_tx.shared.b64 %rd1, [%r2], 64;
	ld.shared.b32 %r4, [c];
L:
	mbarrier.try_wait.parity.shared.b64 %p2, [a], %r5;
	@!%p2 bra L;
	ret;
}
"""


def test_edits_of_one_kernel() -> None:
    """Told apart by hand: what is dropped, moved, and numbered otherwise."""
    found = [(m.edit, m.line, m.ptx) for m in mutants(PTX)]
    assert [(edit, line) for edit, line, _ in found] == [
        ("drop", 4), ("count", 4),
        ("drop", 5), ("later", 5), ("count", 5),
        ("drop", 6), ("later", 6),
        ("drop", 8), ("later", 8), ("bytes", 8),
        ("drop", 11), ("parity", 11),
    ]  # fmt: skip
    by_edit = {(edit, line): ptx for edit, line, ptx in found}
    assert "[a], 2;" in by_edit["count", 4]
    assert "\tmbarrier.arrive.expect_tx.shared.b64 %rd1, [%r2], 32;" in by_edit["bytes", 8]
    assert "xor.b32 %mutant, %r5, 1;" in by_edit["parity", 11]
    assert "setp.eq.u32 %p2, 0, 0;\n\t@!%p2 bra L;" in by_edit["drop", 11]
    moved = by_edit["later", 8].splitlines()
    assert moved[7].startswith("\tld.shared")
    assert moved[8].startswith("\tmbarrier.arrive")

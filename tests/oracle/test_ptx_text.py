"""nvgen prints the PTX that LLVM 22's NVPTX back end prints, but for a list of named deviations.

The same LLVM IR goes through LLVM's back end (:mod:`tests.oracle.llvm`) and through
``nvgen.compile``, for the same target and PTX version; the two texts are compared in normal form
(:mod:`tests.oracle.llvm_forms`: modifiers sorted, registers replaced by what they hold, numbers and
offsets wherever they were folded).

* Intrinsics (:mod:`tests.oracle.llvm_intrinsics`): every one that LLVM has in the families that
  nvgen is about, with every legal combination of immediates, and with other operands.  At further
  targets and versions, both must select the same ones.
* Ordinary instructions (:mod:`tests.oracle.llvm_scalar`): every type, address space and kind of
  operand.  LLVM's text may be that of -O0 or of -O3.  Values of whole programs are not compared
  here.

What may differ, and what is not selected yet, stands in :mod:`tests.oracle.llvm_deviations`; an
entry there that nothing needs any more fails.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import nvgen
from intrinsics.findings import SelectionError, VerificationError
from tests.oracle import (
    llvm,
    llvm_forms,
    llvm_intrinsics,
    llvm_sass,
    llvm_scalar,
    llvm_signatures,
    ptxas,
)
from tests.oracle.llvm_deviations import (
    INTRINSICS,
    REFUSALS,
    SCALAR,
    Deviation,
    Refusal,
)
from tests.turns import has_turn

TARGET, PTX = "sm_100a", "9.0"
"""Where everything that LLVM 22 has exists."""

ELSEWHERE = (
    ("sm_80", "7.0"),
    ("sm_90", "7.8"),
    ("sm_90a", "8.6"),
    ("sm_100", "9.0"),
    ("sm_100a", "8.6"),
    ("sm_103f", "9.0"),
    ("sm_110a", "9.0"),
    ("sm_120a", "8.7"),
)
"""Targets and versions that lack some of it: one of each generation, kind and first version."""

TURNS = 24
"""In so many days each call is compared once that is not the plain one of its intrinsic."""

SHOWN = 8
"""Differences that a failure shows; it counts the rest."""

pytestmark = [
    pytest.mark.skipif(
        llvm.VERSION != 22 or not hasattr(os, "fork"),
        reason=f"the oracle is LLVM 22 in a forked child; this is LLVM {llvm.VERSION} on {os.name}",
    ),
]


class Texts(NamedTuple):
    """What became of one case: LLVM's outcome, then nvgen's PTX or the reason why there is none."""

    label: str
    theirs: llvm.Outcome
    ours: str
    refusal: str


def by_nvgen(module: str, target: str = TARGET, ptx: str = PTX) -> tuple[str, str]:
    """nvgen's PTX, or why it selects none: a mistake in the module or in nvgen is neither."""
    try:
        return nvgen.compile(module, target=target, ptx=ptx).ptx, ""
    except (SelectionError, VerificationError) as error:
        return "", str(error).splitlines()[0]


def both(
    labels: Iterable[str], modules: Iterable[str], target: str = TARGET, ptx: str = PTX
) -> Iterator[Texts]:
    """Every module through both compilers."""
    texts = list(modules)
    outcomes = llvm.compile_all(texts, target, ptx)
    for label, module, outcome in zip(labels, texts, outcomes, strict=True):
        yield Texts(label, outcome, *by_nvgen(module, target, ptx))


def normal(ptx: str) -> list[str]:
    """The normal form of a kernel, or what is wrong with it."""
    try:
        return llvm_forms.effects(ptx)
    except llvm_forms.UndefinedError as error:
        return [f"not a program: {error}"]


def report(wrong: list[str]) -> None:
    """Fail, if anything is wrong, with the first differences."""
    if wrong:
        more = f"\n… and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        pytest.fail(f"{len(wrong)} differ:\n" + "\n".join(wrong[:SHOWN]) + more, pytrace=False)


def shown(label: str, theirs: list[str] | str, ours: list[str] | str) -> str:
    """One difference: the lines that only one of the two has."""
    if isinstance(theirs, list) and isinstance(ours, list):
        only = [line for line in theirs if line not in ours]
        theirs, ours = only or theirs, [line for line in ours if line not in theirs] or ours
    return f"{label}\n    LLVM:  {theirs}\n    nvgen: {ours}"


def deviation_of(label: str, rows: tuple[Deviation, ...]) -> Deviation | None:
    """The one row that covers a case."""
    found = [row for row in rows if row.covers(label)]
    assert len(found) < 2, (label, [row.name for row in found])
    return found[0] if found else None


# --- intrinsics ----------------------------------------------------------------------------------


def test_the_families_hold_all_of_llvms_names():
    families = [llvm_signatures.names(family) for family in llvm_signatures.FAMILIES]
    listed = [name for names in families for name in names]
    assert len(set(listed)) == len(listed), "an intrinsic is in two families"
    wanted = {
        spelled
        for name in llvm_signatures.all_names()
        if llvm_signatures.SCOPE.fullmatch(name)
        for spelled in llvm_signatures.spelled(name)
    }
    assert wanted == set(listed)


@pytest.mark.parametrize("family", llvm_signatures.FAMILIES)
def test_every_call_has_llvms_text(family: str, request: pytest.FixtureRequest):
    """Every legal combination of immediates, and each call with other kinds of operands.

    The plain call of each intrinsic is compared every day, the others take turns.
    """
    chosen = {name: str(llvm_intrinsics.plain(name)) for name in llvm_signatures.names(family)}
    cases = [
        case
        for case in llvm_intrinsics.cases(family)
        if case.name in chosen
        and (str(case) == chosen[case.name] or has_turn(request, str(case), TURNS))
    ]
    wrong = []
    for texts in both(map(str, cases), [case.module() for case in cases]):
        assert texts.theirs.ptx, f"{texts.label}: {texts.theirs.refusal}"
        if not texts.ours:
            wrong.append(shown(texts.label, "selects it", texts.refusal))
            continue
        theirs, ours = normal(texts.theirs.ptx), normal(texts.ours)
        deviation = deviation_of(texts.label, INTRINSICS)
        if deviation is not None:
            if theirs == ours:
                wrong.append(f"{texts.label}: '{deviation.name}' does not deviate any more")
            theirs = deviation.rewritten(theirs)
        if theirs != ours:
            wrong.append(shown(texts.label, theirs, ours))
    report(wrong)


@pytest.mark.turns(12)
@pytest.mark.parametrize(("target", "ptx"), ELSEWHERE)
def test_the_same_calls_exist_elsewhere(target: str, ptx: str, request: pytest.FixtureRequest):
    """What LLVM selects for a target and version nvgen selects too, with the same text.

    A third of the calls each time: LLVM ends with each that it does not select.
    """
    cases = [
        case
        for family in llvm_signatures.FAMILIES
        for name in llvm_signatures.names(family)
        for case in llvm_intrinsics.probes(name)
        if has_turn(request, f"{case} {target} {ptx}", 3)
    ]
    wrong = []
    selected = 0
    for texts in both(map(str, cases), [case.module() for case in cases], target, ptx):
        selected += bool(texts.ours)
        if any(
            row.target == target and row.ptx == ptx and _settles(row, texts) for row in REFUSALS
        ):
            continue
        if bool(texts.theirs.ptx) != bool(texts.ours):
            theirs = texts.theirs.refusal or "selects it"
            wrong.append(shown(texts.label, theirs, texts.refusal or "selects it"))
        elif texts.ours:
            deviation = deviation_of(texts.label, INTRINSICS)
            theirs = normal(texts.theirs.ptx)  # type: ignore[assignment]
            theirs = deviation.rewritten(theirs) if deviation else theirs  # type: ignore[assignment]
            if theirs != normal(texts.ours):  # type: ignore[comparison-overlap]
                wrong.append(shown(texts.label, theirs, normal(texts.ours)))
    report(wrong)
    assert 50 < selected < len(cases), "every target has some of the calls, none has all"


def _settles(row: Refusal, texts: Texts) -> bool:
    """Whether a row explains that only one compiler selects a case."""
    selects = (bool(texts.theirs.ptx), bool(texts.ours))
    return row.covers(texts.label) and selects == (row.by == "nvgen", row.by == "LLVM")


@pytest.mark.parametrize("row", REFUSALS, ids=lambda row: row.name)
def test_ptxas_settles_who_refuses_rightly(row: Refusal):
    """Where only one compiler selects, ptxas agrees with nvgen, for every case of the row."""
    ptxas.required_ptxas()
    cases = [
        case
        for family in llvm_signatures.FAMILIES
        for name in llvm_signatures.names(family)
        for case in llvm_intrinsics.probes(name)
        if row.covers(str(case))
    ]
    assert cases, "the row covers nothing"
    found = {}
    for texts in both(map(str, cases), [c.module() for c in cases], row.target, row.ptx):
        assert _settles(row, texts), f"{texts.label}: LLVM and nvgen agree"
        found[texts.label] = texts.ours or texts.theirs.ptx
    complaints = llvm_sass.refused(found, row.target, row.ptx)
    assert {*complaints} == ({*found} if row.by == "nvgen" else set()), complaints


_COMPILE_EACH = """
import json, sys
import nvgen
from intrinsics.findings import NvgenError
for module in json.load(sys.stdin):
    try:
        nvgen.compile(module, target="sm_100a")
    except NvgenError:
        print("refused", flush=True)
    else:
        print("taken", flush=True)
"""


def test_a_wrong_immediate_is_an_exception():
    """nvgen refuses each value next to the legal ones, even where LLVM's verifier dies of it."""
    beside = [
        llvm_intrinsics.Case(name, {**llvm_intrinsics.plain(name).numbers, place: number})
        for family in llvm_signatures.FAMILIES
        for name in llvm_signatures.names(family)
        for place, legal in llvm_intrinsics.immediates(name).items()
        if llvm_intrinsics.is_bounded(name, place)
        for number in (min(legal) - 1, max(legal) + 1)
    ]
    done = subprocess.run(
        [sys.executable, "-c", _COMPILE_EACH],
        input=json.dumps([case.module() for case in beside]),
        cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    answers = done.stdout.split()
    taken = [str(case) for case, answer in zip(beside, answers, strict=False) if answer == "taken"]
    assert not taken
    if len(answers) < len(beside):
        last_words = done.stderr.strip().splitlines()[:1]
        pytest.fail(f"{beside[len(answers)]} ended the process: {last_words}", pytrace=False)


# --- ordinary instructions -----------------------------------------------------------------------


class Kernel(NamedTuple):
    """One kernel of ordinary instructions: LLVM's text at -O0 and -O3, nvgen's or its refusal."""

    label: str
    unoptimised: str
    optimised: str
    ours: str
    refusal: str


@functools.cache
def kernels(family: str) -> list[Kernel]:
    """The kernels of a family through both compilers."""
    cases = llvm_scalar.cases(family)
    modules = list(cases.values())
    levels = [llvm.compile_all(modules, TARGET, PTX, opt) for opt in (0, 3)]
    found = []
    for (label, module), low, high in zip(cases.items(), *levels, strict=True):
        assert low.ptx, f"{label}: {low.refusal}"
        assert high.ptx, f"{label}: {high.refusal}"
        found.append(Kernel(label, low.ptx, high.ptx, *by_nvgen(module)))
    return found


def form(family: str, label: str, ptx: str) -> list[str]:
    """What is compared of a kernel: effects, its declaration too, or the instructions alone."""
    if llvm_scalar.branches(label):
        return [f"{name}: {count}" for name, count in sorted(llvm_forms.opcodes(ptx).items())]
    lines = normal(ptx)
    return [llvm_forms.header(ptx), *lines] if family == "parameters" else lines


@pytest.mark.turns(2)
@pytest.mark.parametrize("family", llvm_scalar.FAMILIES)
def test_ordinary_instructions_have_llvms_text(family: str):
    """nvgen prints what LLVM prints at -O0 or at -O3, or a named deviation from either."""
    wrong = []
    for kernel in kernels(family):
        if llvm_scalar.alignment(kernel.label):
            continue  # LLVM puts bytes together by arithmetic: see the test of accesses
        if not kernel.ours:
            wrong.append(shown(kernel.label, "selects it", kernel.refusal))
            continue
        theirs = [
            form(family, kernel.label, text) for text in (kernel.unoptimised, kernel.optimised)
        ]
        ours = form(family, kernel.label, kernel.ours)
        deviation = deviation_of(kernel.label, SCALAR)
        if deviation is not None:
            if ours in theirs:
                wrong.append(f"{kernel.label}: '{deviation.name}' does not deviate any more")
            if deviation.rewrite is None:
                continue  # proved by its machine code
            theirs = [deviation.rewritten(lines) for lines in theirs]
        if ours not in theirs:
            wrong.append(shown(kernel.label, theirs[0], ours))
    report(wrong)


def test_no_access_is_wider_than_its_alignment():
    """PTX ISA, Addresses as Operands: an address is a multiple of the size of its access."""
    wrong = []
    checked = 0
    for kernel in kernels("memory"):
        align = llvm_scalar.alignment(kernel.label)
        if align is None:
            continue
        checked += 1
        for name, text in (("LLVM", kernel.optimised), ("nvgen", kernel.ours)):
            wrong += [
                f"{kernel.label}: {name} has {access}"
                for access in llvm_forms.accesses(text)
                if access.base == "p0:b64" and (access.size > align or access.offset % access.size)
            ]
    assert checked > 40
    report(wrong)


def test_a_vector_of_eight_has_elements_of_32_bits():
    """PTX ISA, ld and st: .v8 only goes with types of 32 bits (ptxas 13.5 crashes on .v8.b16)."""
    wrong = []
    for kernel in kernels("memory"):
        for name, text in (("LLVM", kernel.optimised), ("nvgen", kernel.ours)):
            wrong += [
                f"{kernel.label}: {name} has {statement.name}"
                for statement in (llvm_forms.statements(text) if text else ())
                if ".v8." in statement.name and llvm_forms.element_bytes(statement.name) != 4
            ]
    report(wrong)


@pytest.mark.turns(3)
@pytest.mark.parametrize("family", llvm_scalar.FAMILIES)
def test_ptxas_takes_the_text(family: str):
    """ptxas makes code of every kernel, but where it refuses LLVM's text for the same reason."""
    ptxas.required_ptxas()
    texts = {kernel.label: kernel for kernel in kernels(family) if kernel.ours}
    ours = llvm_sass.refused({label: k.ours for label, k in texts.items()}, TARGET, PTX)
    theirs = llvm_sass.refused({label: texts[label].optimised for label in ours}, TARGET, PTX)
    report([f"{label}: {said}" for label, said in ours.items() if theirs.get(label) != said])


# --- deviations ----------------------------------------------------------------------------------


@pytest.mark.parametrize("row", INTRINSICS, ids=lambda row: row.name)
def test_a_deviation_of_intrinsics_is_as_described(row: Deviation):
    cases = [c for f in llvm_signatures.FAMILIES for c in llvm_intrinsics.cases(f)]
    case = next(case for case in cases if str(case) == row.example)
    assert row.covers(str(case))
    (texts,) = both([str(case)], [case.module()])
    _check_example(row, [normal(texts.theirs.ptx)], normal(texts.ours))
    if row.same_sass:
        ptxas.required_ptxas()
        theirs, ours = (
            llvm_sass.machine_code({row.example: text}, TARGET, PTX)
            for text in (texts.theirs.ptx, texts.ours)
        )
        assert theirs == ours


@pytest.mark.turns(6)
@pytest.mark.parametrize("row", SCALAR, ids=lambda row: row.name)
def test_a_deviation_of_instructions_is_as_described(row: Deviation):
    """The example is printed as the row says, and all its cases are equal in machine code."""
    covered = {
        kernel.label: (family, kernel)
        for family in llvm_scalar.FAMILIES
        for kernel in kernels(family)
        if row.covers(kernel.label)
    }
    family, kernel = covered[row.example]
    theirs = [form(family, kernel.label, text) for text in (kernel.unoptimised, kernel.optimised)]
    _check_example(row, theirs, form(family, kernel.label, kernel.ours))
    assert row.rewrite or row.same_sass, "a deviation needs a proof"
    if row.same_sass:
        ptxas.required_ptxas()
        low, high, ours = (
            llvm_sass.machine_code({label: k[at] for label, (_, k) in covered.items()}, TARGET, PTX)
            for at in (1, 2, 3)
        )
        differ = [label for label in ours if ours[label] not in (low[label], high[label])]
        assert not differ


def _check_example(row: Deviation, theirs: list[list[str]], ours: list[str]) -> None:
    assert list(row.llvm) in theirs
    assert list(row.nvgen) == ours
    assert list(row.nvgen) not in theirs
    if row.rewrite is not None:
        assert row.rewritten(list(row.llvm)) == ours

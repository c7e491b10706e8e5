"""Neighbours of wrong names: the work does not grow with the number of wrong names."""

from __future__ import annotations

import difflib

import pytest

import nvgen
from intrinsics.findings import NvgenError

MANY = 2000


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many names each comparison went through."""
    found: list[int] = []
    compare = difflib.get_close_matches

    def counting(word: str, names: list[str], *, n: int, cutoff: float) -> list[str]:
        found.append(len(names))
        return compare(word, names, n=n, cutoff=cutoff)

    monkeypatch.setattr(difflib, "get_close_matches", counting)
    return found


def calls_of(names: list[str]) -> str:
    calls = "\n".join(f"  call void @{name}()" for name in names)
    declared = "\n".join(f"declare void @{name}()" for name in dict.fromkeys(names))
    return f"define ptx_kernel void @k() {{\n{calls}\n  ret void\n}}\n{declared}\n"


def hints(text: str) -> list[str]:
    with pytest.raises(NvgenError) as error:
        nvgen.compile(text, target="sm_90a")
    return [finding.hint for finding in error.value.findings]


@pytest.mark.turns(3)
def test_two_thousand_unknown_intrinsics_are_told_after_few_comparisons(compared: list[int]):
    names = [f"llvm.nvvm.tcgen05.wait.lb{n}" for n in range(MANY)]
    found = hints(calls_of(names))
    assert len(found) == MANY
    assert sum(compared) < MANY
    assert "llvm.nvvm.tcgen05.wait.ld" in found[0]


def test_two_thousand_calls_of_one_unknown_intrinsic_are_one_comparison(compared: list[int]):
    found = hints(calls_of(["llvm.nvvm.tcgen05.wait.lb"] * MANY))
    assert len(compared) == 1
    assert all("llvm.nvvm.tcgen05.wait.ld" in hint for hint in found)


def test_two_thousand_functions_of_other_modules_are_few_comparisons(compared: list[int]):
    defined = "\n".join(f"define void @helper{n}_() {{\n  ret void\n}}" for n in range(50))
    text = calls_of([f"helper{n}" for n in range(MANY)]) + defined
    notes = nvgen.compile(text, target="sm_90a").findings
    assert [n.rule for n in notes] == ["select/extern-function"] * MANY
    assert sum(compared) < MANY
    assert "helper0_" in notes[0].hint

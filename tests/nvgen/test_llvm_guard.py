"""What LLVM dies of is found before it does, and nothing else costs a second process."""

from __future__ import annotations

import subprocess

import pytest

from intrinsics.findings import InputError, InternalError
from nvgen import llvm_guard
from nvgen.llvm_guard import crash, nesting_limit
from tests.nvgen.programs import ADD, BAD_ALLOC, WAITS
from tests.nvgen.samples import gemm_llvm, gemm_tile

ANNOTATED = ADD + '!nvvm.annotations = !{!0}\n!0 = !{ptr @add, !"maxntidx", i32 128}\n'


def test_usual_modules_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("a second process")

    monkeypatch.setattr(subprocess, "run", forbidden)
    for text in (ADD, BAD_ALLOC, WAITS, ANNOTATED, gemm_llvm()):
        assert crash(text) == ""
    gemm_tile().build()


UNUSUAL = {
    "unknown intrinsic": ADD + "declare void @llvm.nvvm.no.such.thing(i32)\n",
    "LLVM's own intrinsic": ADD + "declare void @llvm.assume(i1)\n",
    "escaped name": ADD + 'declare void @"\\6clvm.assume"(i1)\n',
    "deep but not too deep": f"@g = global {'{' * 250} i32 {'}' * 250} zeroinitializer\n",
    "many nodes": ADD + "".join(f"!{i} = !{{}}\n" for i in range(2500)) + "!x = !{!0}\n",
    "records of variables": ADD.replace("  ret", "    #dbg_value(i32 %n, !0, !1, !2)\n  ret"),
    "location of another kind": ADD.replace("ret void", "ret void, !dbg !0") + "!0 = !{}\n",
    "scope of another kind": ADD + "!0 = !DILocation(line: 1, scope: !1)\n!1 = !{}\n",
    "location in place": ADD.replace("ret void", "ret void, !dbg !DILocation(line: 1, scope: !1)"),
    "a flag of another shape": ADD + "!llvm.module.flags = !{!0}\n!0 = !{i32 1, !0, i32 1}\n",
    "another kind of annotation": ADD + '!nvvm.annotations = !{!0}\n!0 = !{ptr @add, !"x", !"y"}\n',
}


@pytest.mark.parametrize("text", UNUSUAL.values(), ids=UNUSUAL)
def test_unusual_modules_are_tried_in_a_second_process(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[object] = []

    def attempt(command: object, **_: object) -> subprocess.CompletedProcess[str]:
        tried.append(command)
        return subprocess.CompletedProcess([], 0, "", "")

    monkeypatch.setattr(subprocess, "run", attempt)
    assert crash(text) == ""
    assert len(tried) == 1


@pytest.mark.parametrize(
    ("status", "said", "told"),
    [
        (0, "", ""),
        (1, "RuntimeError: expected top-level entity", ""),  # no death: LLVM says it itself
        (-11, "", "signal 11"),
        (-6, 'python: C.h:1: Assertion `x && "wrong type!"\' failed.', "wrong type!"),
        (-6, "LLVM ERROR: out of luck", "LLVM ERROR: out of luck"),
    ],
)
def test_how_the_second_process_ends_is_what_llvm_would_do(
    status: int, said: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = subprocess.CompletedProcess([], status, "", said)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    assert crash(UNUSUAL["unknown intrinsic"]) == told


def test_only_nesting_is_taken_for_nesting() -> None:
    def dive(depth: int) -> int:
        return 1 + dive(depth)

    def dive_and_tell() -> None:
        try:
            dive(0)
        except RecursionError as error:
            raise InternalError("cannot read") from error

    for deep in (lambda: dive(0), dive_and_tell):
        with pytest.raises(InputError, match="nested too deep"), nesting_limit("f"):
            deep()
    for bug in (InternalError("a bug"), ValueError("another")):
        with pytest.raises(type(bug)), nesting_limit("f"):
            raise bug


def test_the_guard_is_linear() -> None:
    """A hundred thousand blank lines are looked at once each."""
    text = "\n" * 200_000 + ADD
    assert llvm_guard.crash(text) == ""

"""Loading: the language, target and version of a program, from its file and from what is asked."""

from __future__ import annotations

import pytest

import nvgen
from intrinsics.findings import InputError
from isel.pipeline import PASSES
from nvgen.compilation.options import Options
from nvgen.loading import language_of, load
from tests.each import each
from tests.nvgen.programs import ADD

COMPILED = nvgen.compile(ADD, target="sm_90a", ptx="8.3")
PTX, MIR = COMPILED.ptx, COMPILED.mir


@each(
    "path, text, language",
    [
        ("a.ll", PTX, "llvm"),  # a name that says it wins
        ("a.mir", ADD, "mir"),
        ("a.ptx", ADD, "ptx"),
        ("a.txt", ADD, "llvm"),
        ("a.txt", MIR, "mir"),
        ("a.txt", PTX, "ptx"),
        ("-", PTX, "ptx"),
        ("-", "\n\t.version 8.0\n", "ptx"),
        ("-", "// .version 8.0\n", "llvm"),
        ("-", "", "llvm"),
        ("dir.ptx/a", ADD, "llvm"),
    ],
)
def test_the_language(path: str, text: str, language: str) -> None:
    assert language_of(path, text) == language


def test_ptx_says_its_target_and_version_itself() -> None:
    program = load("a.ptx", PTX)
    assert (str(program.target), str(program.ptx_version)) == ("sm_90a", "8.3")
    assert "\n.version 8.3\n.target sm_90a\n" in program.ptx


def test_records_say_their_target_and_need_a_version() -> None:
    """sm_90a came with PTX 8.0."""
    program = load("a.mir", MIR)
    assert str(program.target) == "sm_90a"
    assert str(program.ptx_version) in ("8.0", "8.3")


@pytest.mark.parametrize(("path", "text"), [("a.ptx", PTX), ("a.mir", MIR), ("a.ll", ADD)])
def test_what_is_asked_for_wins(path: str, text: str) -> None:
    program = load(path, text, Options(target="sm_100a", ptx="9.0"))
    assert (str(program.target), str(program.ptx_version)) == ("sm_100a", "9.0")
    assert "\n.version 9.0\n.target sm_100a\n" in program.ptx
    assert program.findings == []


@each("path, text", [("a.ptx", PTX), ("a.mir", MIR), ("a.ll", ADD)])
@each("wrong", [{"target": ""}, {"target": "sm_1"}, {"ptx": ""}, {"ptx": "1"}])
def test_what_is_asked_for_must_exist(path: str, text: str, wrong: dict[str, str]) -> None:
    with pytest.raises(InputError, match=r"unknown (target|PTX version)"):
        load(path, text, Options(**{"target": "sm_90a", **wrong}))


def test_llvm_ir_needs_a_target() -> None:
    with pytest.raises(InputError, match="does not say its target"):
        load("a.ll", ADD)


def test_stages_are_kept_when_asked_for() -> None:
    assert load("a.ll", ADD, Options(target="sm_90a")).stages == {}
    assert tuple(load("a.ll", ADD, Options(target="sm_90a", keep_stages=True)).stages) == PASSES


def test_a_name_that_breaks_the_line_does_not_break_the_ptx() -> None:
    """The comment at the top names the source."""
    program = load("a\n.target sm_20\n.ll", ADD, Options(target="sm_90a"))
    assert program.ptx.count("\n.target ") == 1

"""What LLVM dies of, or never ends with, is an error of the input; the next module is read."""

from __future__ import annotations

import time

import pytest

import nvgen
from intrinsics.findings import Finding, InputError
from nvgen.llvm import reading
from nvgen.llvm.crash import crashed
from nvgen.llvm.process import LLVM, Llvm, LlvmDiedError, LlvmTimeoutError, last_words
from tests.nvgen.llvm.deadly import DEADLY, ENDLESS, inside
from tests.nvgen.programs import ADD


def refused(text: str, opt: int = 0) -> Finding:
    with pytest.raises(InputError) as caught:
        nvgen.compile(text, target="sm_90a", opt=opt)
    (finding,) = caught.value.findings
    return finding


@pytest.mark.turns(12)
@pytest.mark.parametrize(("text", "line"), DEADLY.values(), ids=DEADLY)
def test_what_ends_llvm_is_an_error_with_a_line_and_the_next_module_compiles(
    text: str, line: int
) -> None:
    finding = refused(text)
    assert finding.rule == "llvm/crash"
    assert finding.place.line == line
    assert finding.got
    assert ".entry add" in nvgen.compile(ADD, target="sm_90a").ptx


def test_the_table_is_as_long_as_it_should_be() -> None:
    assert len(DEADLY) >= 50


@pytest.mark.parametrize("name", ["types in types", "expressions in expressions"])
def test_nesting_is_taken_for_the_reason_where_llvm_says_nothing(name: str) -> None:
    finding = refused(DEADLY[name][0])
    assert finding.got == "SIGSEGV"
    assert "nested too deep" in finding.hint


def test_last_words_are_the_assertions_own() -> None:
    text, _ = DEADLY["tbaa of null"]
    assert refused(text).got == "isa<> used on a null pointer"
    text, _ = DEADLY["a masked load with an alignment that is none"]
    assert refused(text).got == "LLVM ERROR: Invalid alignment argument"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("", ""),
        ("warning: odd\n", ""),
        ('python: C.h:1: Assertion `x && "wrong type!"\' failed.', "wrong type!"),
        ("LLVM ERROR: out of luck", "LLVM ERROR: out of luck"),
    ],
)
def test_last_words(said: str, words: str) -> None:
    assert last_words(said) == words


@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS)
def test_what_llvm_never_ends_with_is_given_up(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    patient = Llvm.read
    monkeypatch.setattr(
        Llvm,
        "read",
        lambda self, text, *rest: patient(self, text, *rest, seconds=0.5),  # type: ignore[misc]
    )
    finding = refused(text)
    assert finding.rule == "llvm/timeout"
    assert finding.got == "nothing after 0.5 s"
    monkeypatch.undo()
    nvgen.compile(ADD, target="sm_90a")


def test_a_limit_grows_with_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []

    def note(_: Llvm, parts: tuple[bytes, ...], seconds: float) -> list[bytes]:
        limits.append(seconds)
        return [b"done", b""]

    monkeypatch.setattr(Llvm, "_ask", note)
    for size in (0, 20_000_000):
        LLVM.read(" " * size)
        LLVM.optimize(" " * size, 3, "sm_90")
    assert limits == [30.0, 300.0, 630.0, 6300.0]


def test_a_bug_of_the_search_does_not_hide_the_death() -> None:
    """LLVM may die of looking, too."""

    def die(_: str) -> bool:
        raise LlvmDiedError("again")

    for failing in (die, lambda _: False):
        error = crashed("words", inside("fence seq_cst"), "a.ll", failing)
        assert [(f.rule, f.place.line, f.got) for f in error.findings] == [
            ("llvm/crash", 0, "words")
        ]


LONG = 300_000


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    "text",
    [
        " " * LONG,
        "!x = !{\n" * LONG,
        "define void @f() {\n" * LONG,
        "!x = !{" + ", ".join(f"!{n}" for n in range(LONG)) + "}\n",
        ", !x" * LONG,
        '"' * LONG,
        "@llvm." * LONG,
        "declare " * LONG,
    ],
    ids=["blanks", "lists", "functions", "entries", "attachments", "strings", "names", "words"],
)
def test_the_reason_is_looked_for_in_linear_time(text: str) -> None:
    """Quadratic time would be minutes."""
    begun = time.process_time()
    crashed("words", text, "a.ll", lambda _: False)
    assert time.process_time() - begun < 10


def test_text_of_twenty_megabytes_goes_there_and_back() -> None:
    size = 20_000_000
    printed = reading.parse(f'@g = constant [{size} x i8] c"{"x" * size}"\n')
    assert "x" * size in printed


def test_a_time_limit_says_what_it_is() -> None:
    with pytest.raises(LlvmTimeoutError, match=r"0\.25 s"):
        LLVM.read(ENDLESS["inlined at itself"], seconds=0.25)

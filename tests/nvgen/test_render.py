"""Findings for people: carets where the fault is, plain text for pipes, colour for terminals."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest

from intrinsics.findings import Finding, Place, Severity
from nvgen.render import as_json, finding_lines, has_colour, print_findings, summary
from tests.each import each

ANSI = re.compile(r"\x1b\[[\d;]*m")
MMA = (
    "  call void @llvm.nvvm.tcgen05.mma.shared(ptr addrspace(6) %d, i64 %a, i64 %b, "
    "i32 %idesc, i1 true, i32 3, i32 1, i32 0)"
)
ALLOC = '\tcall void @"llvm.nvvm.tcgen05.alloc.shared.cg1"(ptr addrspace(3) @s, i32 48) ; (x, y)'


def finding(line: int = 1, column: int = 1, **fields: str) -> Finding:
    place = Place("k.ll", line, column)
    return Finding("a/rule", Severity.ERROR, fields.pop("message", "wrong"), place, **fields)


def rendered(found: Finding, *source: str) -> list[str]:
    return ["".join(text for text, _ in line) for line in finding_lines(found, source)]


def pointed_at(found: Finding, *source: str) -> str:
    """What stands above the carets."""
    lines = rendered(found, *source)
    at = next(i for i, line in enumerate(lines) if "^" in line)
    span = re.search(r"\^+", lines[at])
    assert span is not None
    return lines[at - 1][span.start() : span.end()]


# ---- where -----------------------------------------------------------------------------------


@each(
    "source, column, subject, pointed",
    [
        (MMA, 3, "", "@llvm.nvvm.tcgen05.mma.shared"),
        (MMA, 3, "kind", "i32 3"),
        (MMA, 3, "cta_group", "i32 1"),
        (MMA, 3, "idesc", "i32 %idesc"),
        (MMA, 3, "d", "ptr addrspace(6) %d"),
        (MMA, 3, "no such operand", "@llvm.nvvm.tcgen05.mma.shared"),
        ("  %x = " + MMA.strip(), 3, "b", "i64 %b"),
        (ALLOC, 2, "", '@"llvm.nvvm.tcgen05.alloc.shared.cg1"'),
        (ALLOC, 2, "ncols", "i32 48"),
        ("  call void @f(<2 x i32> <i32 1, i32 2>)", 3, "", "@f"),
        ('  call void @"a b(c"(i32 1)', 3, "", '@"a b(c"'),
        ("  store i32 %sum, ptr %p", 3, "", "store"),
        ("  store i32 %sum, ptr %p", 13, "", "%sum"),
        ("x", 1, "", "x"),
    ],
)
def test_the_carets_stand_under_what_is_wrong(
    source: str, column: int, subject: str, pointed: str
) -> None:
    assert pointed_at(finding(column=column, subject=subject), source) == pointed


def test_the_carets_are_told_what_they_point_at() -> None:
    (line,) = (
        s for s in rendered(finding(subject="kind", column=3, label="kind::i8"), MMA) if "^" in s
    )
    assert line.endswith(" ^^^^^ kind::i8")


def test_carets_count_the_cells_of_a_terminal() -> None:
    """East Asian characters take two, combining ones none, a tab four here."""
    lines = rendered(finding(column=2), '\tcall void @"変é\u0301"() ; x')
    (code,) = (s for s in lines if "call" in s)
    (carets,) = (s for s in lines if "^" in s)
    assert code.index("@") == carets.index("^")
    assert carets.count("^") == len('@"') + 2 + 1 + len('"')


@pytest.mark.parametrize("column", [0, 2, 100])
def test_a_column_beyond_the_line_has_no_caret(column: int) -> None:
    lines = rendered(finding(column=column), "x")
    assert lines[1] == (f"  --> k.ll:1:{column}" if column else "  --> k.ll:1")
    assert not any("^" in line for line in lines)


@pytest.mark.parametrize("line", [0, 3, 1000])
def test_a_line_that_is_not_there_is_not_shown(line: int) -> None:
    assert not any(" | " in text for text in rendered(finding(line=line), "a", "b"))


def test_the_layout() -> None:
    found = finding(
        12, 3, got="48", expected="64", hint="take 64", section="PTX ISA", subject="ncols"
    )
    call = "  call void @llvm.nvvm.tcgen05.alloc.shared.cg1(ptr addrspace(3) @s, i32 48)"
    assert rendered(found, *[""] * 11, call) == [
        "error[a/rule]: wrong",
        "  --> k.ll:12:3",
        "   |",
        "12 | " + call,
        "   | " + " " * call.index("i32 48") + "^^^^^^",
        "   = got: 48                      = expected: 64",
        "   = help: take 64",
        "   = see: PTX ISA",
    ]


def test_a_margin_as_wide_as_the_number() -> None:
    lines = rendered(finding(12345), *["x"] * 12345)
    assert "12345 | x" in lines
    assert "      | ^" in lines


# ---- long lines and odd characters -----------------------------------------------------------


def test_a_long_line_is_clipped_behind_what_matters() -> None:
    near = rendered(finding(column=5), "    add " + "x" * 500)
    assert max(map(len, near)) <= 110
    assert any(line.endswith("…") for line in near)
    far = rendered(finding(column=151), " " * 150 + "add " + "x" * 500)
    assert any(line.endswith("^^^") for line in far), "shown as far as the caret"
    beyond = rendered(finding(column=5001), " " * 5000 + "add")
    assert not any("^" in line for line in beyond)
    assert max(map(len, beyond)) <= 110


def test_carets_are_no_longer_than_a_line() -> None:
    carets = next(line for line in rendered(finding(), "{" * 5000) if "^" in line)
    assert len(carets) <= 2 * 100


def test_long_details_are_broken_between_words() -> None:
    names = ", ".join(f"sm_{n}" for n in range(100))
    lines = rendered(finding(expected=names, got="x" * 300, hint="short"))
    assert max(len(line) for line in lines if "xxx" not in line) <= 100
    assert f"   = got: {'x' * 300}" in lines, "a word is not broken"
    joined = " ".join(line.strip() for line in lines)
    assert f"= expected: {names} = help: short" in joined


def test_what_a_terminal_would_obey_is_shown_instead() -> None:
    odd = "a\x1b[31m\nb\r\x07\x9b"
    lines = rendered(finding(message=odd, got=odd, hint=odd), "add\x1b[31m\x07 x")
    assert all(character.isprintable() for character in "".join(lines))
    assert lines[0] == r"error[a/rule]: wrong".replace("wrong", r"a\x1b[31m\nb\r\x07\x9b")
    assert "1 | add?[31m? x" in "".join(lines), "as many cells as characters"


# ---- colour ----------------------------------------------------------------------------------


class Terminal(io.StringIO):
    """A stream at which a person looks."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.mark.parametrize(
    ("stream", "environment", "coloured"),
    [
        (io.StringIO, {}, False),
        (Terminal, {}, True),
        (io.StringIO, {"FORCE_COLOR": "1"}, True),
        (Terminal, {"NO_COLOR": "1"}, False),
        (Terminal, {"NO_COLOR": ""}, True),  # no-color.org: when not empty
        (Terminal, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        (io.StringIO, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_colour_is_for_terminals_and_who_asks(
    stream: type[io.StringIO],
    environment: dict[str, str],
    coloured: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    out = stream()
    assert has_colour(out) == coloured
    print_findings([finding(got="x")], "source line", out)
    assert bool(ANSI.search(out.getvalue())) == coloured


def test_colours_change_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither long lines nor what rich would take for markup."""
    found = finding(
        message="[bold]no markup[/bold] :smile:", got="x" * 300, expected="a b " * 80, column=3
    )
    plain, terminal = io.StringIO(), Terminal()
    print_findings([found, found], MMA + " ; [red]" + "y" * 300, plain)
    print_findings([found, found], MMA + " ; [red]" + "y" * 300, terminal)
    assert ANSI.sub("", terminal.getvalue()) == plain.getvalue()
    assert terminal.getvalue() != plain.getvalue()


# ---- sums ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("severities", "text"),
    [
        ((), "f: clean"),
        ((Severity.NOTE,), "f: clean (1 note)"),
        ((Severity.WARNING,) * 2, "f: clean (2 warnings)"),
        ((Severity.REVIEW,) * 2, "f: review (2 reviews)"),
        ((Severity.ERROR, Severity.NOTE, Severity.ERROR), "f: error (2 errors, 1 note)"),
    ],
)
def test_the_summary(severities: tuple[Severity, ...], text: str) -> None:
    findings = [Finding("a/rule", severity, "m") for severity in severities]
    assert "".join(part for part, _ in summary(findings, "f")) == text


def test_what_was_not_judged_is_not_called_clean() -> None:
    unjudged = Finding("a/rule", Severity.NOTE, "m", incomplete=True)
    assert "".join(part for part, _ in summary([unjudged], "f")) == "f: incomplete (1 note)"


def test_json_has_all_fields_of_a_finding_that_machines_need() -> None:
    found = finding(op="o", got="g", expected="e", section="s", hint="h")
    found = found.at(Place("k.ll", 4, 2, "k", "k.py", 7))
    assert as_json(found) == {
        "rule": "a/rule", "severity": "error", "message": "wrong", "line": 4, "column": 2,
        "function": "k", "source_file": "k.py", "source_line": 7,
        "op": "o", "got": "g", "expected": "e", "section": "s", "hint": "h",
    }  # fmt: skip


# ---- very much to say --------------------------------------------------------------------------


def test_texts_of_any_length_are_cut_in_the_middle() -> None:
    long = "begin" + "x" * 100_000 + "end"
    told = finding(message=long, got=long, expected=long, hint=long)
    lines = finding_lines(told, ["  " + "y" * 1_000_000])
    assert sum(len(text) for line in lines for text, _ in line) < 10_000
    assert "begin" in str(told)
    assert "end" in str(told)
    assert len(str(told)) < 10_000
    assert all(len(str(value)) < 10_000 for value in as_json(told).values())


def test_a_text_of_spaces_is_shown() -> None:
    assert finding_lines(finding(got=" " * 500))


def test_of_thousands_of_findings_of_one_rule_some_are_printed_and_all_are_counted() -> None:
    stream = io.StringIO()
    print_findings([finding()] * 5000 + [replace(finding(), rule="b/rule")], "", stream)
    text = stream.getvalue()
    assert len(text) < 20_000
    assert "error[b/rule]" in text
    shown = text.count("error[a/rule]: wrong")
    assert f"error[a/rule]: and {5000 - shown} more" in text

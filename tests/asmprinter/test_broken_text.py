"""Broken PTX of any kind: what is right around it is read, and nothing worse happens."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from asmprinter.mir.printer import print_mir
from asmprinter.mir.reader import read_mir
from asmprinter.ptx.printer import print_ptx
from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import InputError
from intrinsics.mir import renumber
from isel.verifier.record import verify_records
from tests.asmprinter.broken import LINE, around, errors_of
from tests.asmprinter.operand_strategies import NEWEST
from tests.asmprinter.ptx_texts import TEXTS
from tests.asmprinter.strategies import Drawn, Record, modules, records
from tests.turns import examples

# ---- recovery --------------------------------------------------------------------------------

_RUBBISH = st.text(alphabet="abz019 ._%$@!|<>+-*:,[]()\n\t#?\\^~&", max_size=40)


@examples(120)
@given(modules(kept_names=False), _RUBBISH, st.data())
def test_one_bad_statement_never_hides_another(drawn: Drawn, rubbish: str, data: st.DataObject):
    """Whatever stands between two `;`, the other statements are read as if it were not there."""
    text = print_ptx(drawn.module, NEWEST).text
    lines = text.split("\n")
    starts = [i for i, line in enumerate(lines) if line == "{"]
    place = data.draw(st.sampled_from(starts)) + 1
    # A label, a branch or a declaration would be more than a bad statement.
    assume(":" not in rubbish.replace("::", "") and "." not in rubbish.strip()[:1])
    assume(not rubbish.strip().startswith(("ret", "exit", "bra", "@")))
    with_it = "\n".join([*lines[:place], "\trubbish " + rubbish + ";", *lines[place:]])
    usual, found = read_ptx(text), read_ptx(with_it)
    assert len(found.findings) > len(usual.findings)
    for old, new in zip(usual.module.functions, found.module.functions, strict=True):
        assert [
            (mi.form, mi.packed_fields()) for mi in new.instructions() if mi.row.id != "opaque"
        ] == [(mi.form, mi.packed_fields()) for mi in old.instructions() if mi.row.id != "opaque"]


@examples(60)
@given(st.lists(records(special=False), min_size=2, max_size=5))
def test_every_bad_statement_is_reported(drawn: list[Record]):
    """Ten statements, five of them wrong: five lines are blamed."""
    target = drawn[0].target
    good = "add.s32 %r1, %r2, 3;"
    bad = [f"{d.row.head}.nosuch %r1;" for d in drawn]
    lines = list(itertools.chain.from_iterable((good, line) for line in bad))
    text = around("ret;", target).replace("ret;", "\n".join(lines), 1)
    blamed_lines = {f.place.line for f in errors_of(text)}
    assert blamed_lines == {LINE + 1 + 2 * i for i in range(len(bad))}


# ---- any text at all -------------------------------------------------------------------------


@st.composite
def spoilt_text(draw: st.DrawFn, text: str) -> str:
    """`text` with a few places deleted, doubled, exchanged or filled with other characters."""
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        length = draw(st.sampled_from((1, 1, 1, 2, 5, 40)))
        piece = text[at : at + length]
        other = draw(st.sampled_from(list(" ;{}[](),.:%@!|\"'/*-+<>=\n0x9aU_$\\é\0")))
        text = (
            text[:at]
            + draw(
                st.sampled_from(("", piece * 2, other, other + piece, piece[::-1], piece + other))
            )
            + text[at + length :]
        )
    return text


@pytest.mark.parametrize("name", TEXTS)
def test_no_spoilt_ptx_makes_the_reader_raise(name: str):
    @examples(250)
    @given(spoilt_text(TEXTS[name]))
    def reads(text: str) -> None:
        reading = read_ptx(text, "spoilt.ptx")
        module = reading.module
        assert module.ptx is not None
        verify_records(module, module.target, module.ptx)
        for finding in reading.findings:
            assert 0 <= finding.place.line <= text.count("\n") + 1

    reads()


@pytest.mark.parametrize("name", TEXTS)
def test_what_was_read_from_spoilt_ptx_can_be_printed(name: str):
    @examples(120)
    @given(spoilt_text(TEXTS[name]))
    def reads(text: str) -> None:
        module = read_ptx(text, "spoilt.ptx").module
        assert module.ptx is not None
        assert print_ptx(module, module.ptx).text
        assert print_mir(module).text

    reads()


@pytest.mark.parametrize("name", TEXTS)
def test_spoilt_mir_raises_nothing_but_an_input_error(name: str):
    mir = print_mir(read_ptx(TEXTS[name], "kernel.ptx").module).text

    @examples(250)
    @given(spoilt_text(mir))
    def reads(text: str) -> None:
        check_mir_findings(text)

    reads()


@examples(250)
@given(modules(mir=True), st.data())
def test_spoilt_mir_of_drawn_modules_raises_nothing_but_an_input_error(
    drawn: Drawn, data: st.DataObject
):
    check_mir_findings(data.draw(spoilt_text(print_mir(drawn.module).text)))


def check_mir_findings(text: str) -> None:
    """What the MIR reader says of `text` names a place in it, and what would be right there.

    Text that is a module all the same can be judged and printed like any other.
    """
    try:
        module = read_mir(text, "spoilt.mir")
    except InputError as error:
        findings = error.findings
    else:
        findings = ()
        verify_records(module, module.target, NEWEST)
        for function in module.functions:
            renumber(function)
        assert read_mir(print_mir(module).text) == module
    for finding in findings:
        assert (finding.rule, finding.place.file) == ("mir/syntax", "spoilt.mir")
        assert 1 <= finding.place.line <= text.count("\n") + 1
        assert finding.expected


@examples(150)
@given(st.text(max_size=200))
def test_text_that_is_no_program(text: str):
    assert read_ptx(text).findings  # at the very least, the module has no .target
    with pytest.raises(InputError):
        read_mir(text)

"""Real PTX, spoilt at random: every outcome is a finding with its place, never an exception."""

from __future__ import annotations

import random
import re
from pathlib import Path

from asmprinter.mir.printer import print_mir
from asmprinter.ptx.printer import print_ptx
from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import errors
from isel.verifier.record import verify_records
from tests.each import each
from tests.ptx_corpus import FILES

SMALL = [path for path in FILES if path.stat().st_size < 7_000]
TIMES = 24
"""Spoilt texts for each file; `python -m tests.asmprinter.test_ptx_mutations N` tries more."""

_TOKENS = re.compile(r"\s+|[\w.$%]+|.", re.DOTALL)
_ODD = "\0\n\"'%*./;@[]{}0é\u2028"


def spoilt(text: str, rng: random.Random) -> str:
    """The text with a token or a line left out, doubled or exchanged, cut, or a character odd."""
    if rng.random() < 0.1:
        return text[: rng.randrange(len(text))]
    if rng.random() < 0.2:
        at = rng.randrange(len(text))
        return text[:at] + rng.choice(_ODD) + text[at + rng.randrange(2) :]
    by_line = rng.random() < 0.4
    parts = text.splitlines(keepends=True) if by_line else _TOKENS.findall(text)
    for _ in range(rng.choice((1, 1, 3))):
        one, other = rng.randrange(len(parts)), rng.randrange(len(parts))
        match rng.randrange(3):
            case 0:
                del parts[one]
            case 1:
                parts.insert(one, parts[other])
            case _:
                parts[one], parts[other] = parts[other], parts[one]
    return "".join(parts)


def is_told(text: str) -> None:
    """Reading, judging and printing end well; what nothing is wrong with reads the same again."""
    reading = read_ptx(text, "spoilt.ptx")
    module, lines = reading.module, text.count("\n") + 1
    assert module.ptx is not None
    found = verify_records(module, module.target, module.ptx)
    for finding in reading.findings:
        assert finding.place.file == "spoilt.ptx"
        assert 1 <= finding.place.line <= lines
        assert finding.place.column >= 1
        assert re.fullmatch(r"[\w.:]+/[\w-]+", finding.rule)
        assert finding.message
    print_mir(module)
    printed = print_ptx(module, module.ptx).text
    if not errors([*reading.findings, *found]):
        assert (
            print_ptx(read_ptx(printed).module, module.ptx).text.split("\n")[3:]
            == (printed.split("\n")[3:])
        )


@each("path", SMALL, ids=lambda path: path.stem)
def test_spoilt_text_is_reported(path: Path):
    rng, text = random.Random(path.stem), path.read_text()
    for _ in range(TIMES):
        is_told(spoilt(text, rng))


def test_texts_are_really_spoilt():
    """Most of them are wrong, so that the test above sees findings."""
    rng = random.Random(0)
    text = SMALL[0].read_text()
    wrong = [bool(errors(read_ptx(spoilt(text, rng)).findings)) for _ in range(40)]
    assert 10 <= sum(wrong) < 40


if __name__ == "__main__":
    import sys

    for number in range(int(sys.argv[1])):
        rng = random.Random(number)
        is_told(spoilt(rng.choice(SMALL).read_text(), rng))

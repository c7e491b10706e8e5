"""PTX of real compilers is read whole: nothing is refused, nothing lost, nothing changed.

That ptxas takes the files, and what nvgen prints of them, is asked in
`tests/oracle/test_ptx_corpus.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from asmprinter.mir.printer import print_mir
from asmprinter.mir.reader import read_mir
from asmprinter.ptx.printer import print_ptx
from asmprinter.ptx.reading.reader import PtxReading, read_ptx
from intrinsics.findings import Severity
from intrinsics.mir import Location, MachineInstr, Module, Text, renumber
from isel.verifier.record import verify_records
from tests.ptx_corpus import FILES, text_of

TEXTURES = ("tex", "suld", "sust")

UNKNOWN = {
    "nvcc_memory_sm90": TEXTURES,
}
"""What nvgen has no rows for, by file; every statement of the other files is understood."""

each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def read(path: Path) -> PtxReading:
    return read_ptx(path.read_text(), path.name)


def opaque(module: Module) -> list[str]:
    records = [mi for function in module.functions for mi in function.instructions()]
    texts = [mi.ops[0] for mi in records if mi.row.id == "opaque"]
    return [text.text for text in texts if isinstance(text, Text)]


@each_file
def test_nothing_is_wrong(path: Path):
    reading = read(path)
    module = reading.module
    assert module.ptx is not None
    found = [*reading.findings, *verify_records(module, module.target, module.ptx)]
    assert [f for f in found if not f.incomplete] == []


@each_file
def test_what_is_not_known_is_of_these_families(path: Path):
    module = read(path).module
    kept = opaque(module)
    count = sum(1 for function in module.functions for _ in function.instructions())
    print(f"{path.stem}: {len(kept)} of {count} statements are not known to nvgen")
    heads = Counter(re.sub(r"^(@!?\S+ |\S+: )", "", text).split()[0] for text in kept)
    known = UNKNOWN.get(path.stem, ())
    assert [
        h for h in heads if not any(h == k or h.startswith((f"{k}.", f"{k}::")) for k in known)
    ] == []
    assert bool(kept) == bool(known)


def test_the_list_of_families_has_no_other_files():
    assert set(UNKNOWN) <= {path.stem for path in FILES}


def bodies(text: str) -> Iterator[str]:
    """What stands in the outermost braces behind the header of a function."""
    depth, begin, before = 0, 0, 0
    for match in re.finditer(r"[{}]", text):
        depth += 1 if match[0] == "{" else -1
        if depth == 1 and match[0] == "{":
            header, begin = text[before : match.start()], match.end()
        if depth == 0:
            before = match.end()
            if re.search(r"\.(entry|func)\b[^;]*$", header):
                yield text[begin : match.start()]


def statements(text: str) -> Iterator[str]:
    """The instructions of a module's functions, and their tables of functions, found without
    knowing any of them.
    """
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"\.section\s+\.\w+\s*\{[^}]*\}", "", text)
    text = re.sub(r"^\s*\.(loc|file)\b[^\n]*", "", text, flags=re.MULTILINE)
    for body in bodies(text):
        for part in body.split(";"):
            shown = re.sub(r"^[\s{}]*(?:[\w$]+\s*:(?!:)[\s{}]*)*", "", part)
            if shown and not re.match(
                r"\.(reg|local|shared|param|pragma|callprototype|branchtargets)\b", shown
            ):
                yield " ".join(shown.split())


@each_file
def test_no_statement_is_lost(path: Path):
    found = list(statements(path.read_text()))
    module = read(path).module
    assert sum(1 for f in module.functions for _ in f.instructions()) == len(found)


@each_file
def test_debug_information_is_kept(path: Path):
    text = path.read_text()
    module = read(path).module
    assert module.ptx is not None
    printed = print_ptx(module, module.ptx).text
    for pattern in (
        r"\.loc\s+\d+ \d+ \d+",
        r"\.file\s+\d+ ",
        r"\.section\s+\S+",
        r"\.pragma[^;]*;",
    ):
        shown = [" ".join(found.split()) for found in re.findall(pattern, text)]
        assert [" ".join(found.split()) for found in re.findall(pattern, printed)] == shown


def without_places(module: Module) -> Module:
    module.source, module.locations = "", [Location()]
    for function in module.functions:
        renumber(function)
        for mi in function.instructions():
            mi.loc = 0
    return module


@each_file
def test_what_is_printed_reads_the_same(path: Path):
    first = read(path).module
    assert first.ptx is not None
    printed = print_ptx(first, first.ptx).text
    again = read_ptx(printed, path.name).module
    assert print_ptx(again, first.ptx).text == printed
    assert without_places(again) == without_places(first)


@pytest.mark.turns(3)
@each_file
def test_mir_of_it_reads_the_same(path: Path):
    module = read(path).module
    for function in module.functions:
        renumber(function)
    assert read_mir(print_mir(module).text) == module


# ---- what the files say, looked up by hand ----------------------------------------------------


def records(name: str, function: str) -> list[MachineInstr]:
    found = read_ptx(text_of(name)).module.function(function)
    assert found is not None
    return list(found.instructions())


def test_a_finding_knows_the_line_of_the_compilers_source():
    text = text_of("nvcc_softmax_sm90a")
    broken = text.replace("bar.sync \t0;", "bar.sync \t%r77, 3, 4, 5;", 1)
    assert broken != text
    (finding,) = [f for f in read_ptx(broken).findings if f.severity is Severity.ERROR]
    assert finding.place.python_file.endswith("softmax.cu")
    assert 1 < finding.place.python_line < 40


def test_a_loop_that_must_not_be_unrolled_says_so_where_it_did():
    module = read_ptx(text_of("nvcc_control_sm120a")).module
    assert module.ptx is not None
    lines = print_ptx(module, module.ptx).text.split("\n")
    at = next(i for i, line in enumerate(lines) if ".pragma" in line)
    assert lines[at] == '.pragma "nounroll";'
    assert lines[at - 1].endswith(":")


def test_managed_variables_stay_managed():
    variables = {v.name: v for v in read_ptx(text_of("nvcc_memory_sm90")).module.variables}
    assert variables["shared_with_host"].attribute == ".attribute(.managed)"
    assert variables["shared_with_host"].data == (42).to_bytes(4, "little")

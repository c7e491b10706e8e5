"""A new instruction is one row and one function of semantics: who spells an instruction's name.

Names in code count, as constants that are a row's head or begin with it; docstrings do not.  What
is derived from the rows (selection, printers, readers, verbs of the builder, reference pages)
spells none.  The verifier's rules and the selection of LLVM's operations do: that is bounded.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

from intrinsics.catalog import rows
from tests.each import each

ROOT = Path(__file__).parents[1]
PACKAGES = ("intrinsics", "asmprinter", "isel", "nvgen")

ROW_AND_SEMANTICS = {
    "applypriority": {"intrinsics/rows/caches.py", "nvgen/sim/semantics/memory/caches.py"},
    "st.bulk": {
        "intrinsics/rows/memory.py",
        "nvgen/sim/semantics/memory/bulk_store.py",
        "isel/verifier/ordering/program.py",  # what it writes, other threads may access
    },
    "multimem.ld_reduce": {"intrinsics/rows/multimem.py", "nvgen/sim/semantics/memory/accesses.py"},
    "multimem.red": {"intrinsics/rows/multimem.py", "nvgen/sim/semantics/memory/atomic.py"},
    "clusterlaunchcontrol.try_cancel.async": {
        "intrinsics/rows/launch_control.py",
        "nvgen/sim/semantics/synchronization/launch_control.py",
        "isel/verifier/ordering/events/copies.py",  # what waits for its bytes comes behind it
    },
}
"""Instructions that were added as rows, and all files that spell them.  (`discard` was one, too: a
word that collectors of tensor cores have as well.)"""

MOST_FILES = 22
"""Files that spell one instruction: tcgen05.mma, by far the largest family."""

MOST_OF_ALL = 422
"""Instructions times the files that spell them, where these are neither rows nor semantics."""


def constants(tree: ast.Module) -> Iterator[str]:
    """The texts of a module that are not docstrings or comments."""
    nodes = [*ast.walk(tree)]
    said = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value


@functools.cache
def spelled() -> dict[str, set[str]]:
    """Of each head of a row the files that spell it: the longest head that a text begins with."""
    found: dict[str, set[str]] = {row.head: set() for row in rows()}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            name = path.relative_to(ROOT).as_posix()
            for text in constants(ast.parse(path.read_text(encoding="utf-8"))):
                parts = text.split(" ")[0].split(".")
                heads = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
                head = next((head for head in heads if head in found), None)
                if head is not None:
                    found[head].add(name)
    return found


@each("head", ROW_AND_SEMANTICS)
def test_an_instruction_is_one_row_and_one_function(head: str) -> None:
    made = {
        "clusterlaunchcontrol.query_cancel.is_canceled",
        "clusterlaunchcontrol.try_cancel.async",
    }
    files = spelled()[head] | ({"intrinsics/rows/launch_control.py"} if head in made else set())
    assert files == ROW_AND_SEMANTICS[head]


def test_few_files_spell_an_instruction() -> None:
    dotted = {head: files for head, files in spelled().items() if "." in head}
    assert {h: len(files) for h, files in dotted.items() if len(files) > MOST_FILES} == {}
    others = [
        file
        for files in dotted.values()
        for file in files
        if not file.startswith(("intrinsics/rows/", "nvgen/sim/semantics/"))
    ]
    assert len(others) <= MOST_OF_ALL


def test_what_is_derived_from_rows_spells_none_of_them() -> None:
    derived = (
        "asmprinter/ptx/printer.py",
        "asmprinter/ptx/reading/reader.py",
        "asmprinter/mir/reader.py",
    )
    wrong = [(head, file) for head, files in spelled().items() for file in derived
             if "." in head and file in files]  # fmt: skip
    assert wrong == []

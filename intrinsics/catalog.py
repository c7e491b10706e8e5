"""The catalog of rows: find one by head, opcode, id or LLVM name.

Layer: intrinsics.  Everything is built on first use and kept; importing this module imports no row.
"""

from __future__ import annotations

import copyreg
import functools
import importlib
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping

from intrinsics.chapter_words import WORDS
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Form, form_attribute_names, form_of, opcode_name
from intrinsics.modifiers import Modifier
from intrinsics.row import Attribute, Attributes, Literal, Llvm, Qualifier, Residency, Row

_CHAPTERS = (
    "tcgen05", "tcgen05_copy", "tcgen05_reduce", "tcgen05_mma", "wgmma", "mma_sync", "wmma",
    "mbarrier", "tma", "tma_stores", "tensormap", "sync", "memory", "stack", "atomic", "caches",
    "policies", "multimem", "copies", "bulk", "bulk_reduce", "async_stores", "matrix", "scalar",
    "integers", "floats", "narrow_arithmetic", "float_conversions", "control", "calls", "warp",
    "cluster", "launch_control",
)  # fmt: skip
"""The chapters: modules of `intrinsics.rows`, in the order of the reference."""


def _chapter(name: str) -> tuple[Row, ...]:
    found: tuple[Row, ...] = importlib.import_module(f"intrinsics.rows.{name}").ROWS
    return found


@functools.cache
def chapters() -> dict[str, tuple[Row, ...]]:
    """The rows of the machine by chapter, which is the name of their module."""
    return {chapter: _chapter(chapter) for chapter in _CHAPTERS}


@functools.cache
def rows() -> tuple[Row, ...]:
    """Every row of the machine, chapter by chapter."""
    return tuple(itertools.chain.from_iterable(chapters().values()))


def first_word(name: str) -> str:
    """The word that a dotted name begins with: `cp` of `cp.async`, `red` of `red::async`."""
    return name.partition(".")[0].partition(":")[0]


@functools.cache
def _chapters_by_word() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for chapter in _CHAPTERS:
        for word in WORDS.get(chapter, "").split():
            found.setdefault(word, []).append(chapter)
    return found


def rows_of(word: str) -> Iterator[Row]:
    """The rows of the chapters that have a word, in their order.

    No other chapter is imported, unless no chapter is known to have the word.
    """
    known = _chapters_by_word().get(word)
    if known is None and word not in other_instructions():
        known = [name for name, rows in chapters().items() if word in words_in(rows)]
    for chapter in known or ():
        yield from _chapter(chapter)


def words_in(rows: Iterable[Row]) -> dict[str, None]:
    """The words that the ids, heads and aliases of rows begin with, in order."""
    names = (name for row in rows for name in (row.id, row.head, *row.aliases))
    return dict.fromkeys(map(first_word, names))


@functools.cache
def pseudo_rows() -> tuple[Row, ...]:
    """Rows of records that a pass turns into the machine's."""
    from intrinsics.rows import walkthrough

    return walkthrough.ROWS


@functools.cache
def _by_id(word: str) -> dict[str, Row]:
    found = pseudo_rows() if word == "walkthrough" else rows_of(word)
    return {row.id: row for row in found}


def row(name: str) -> Row:
    """The row whose id is `name`; KeyError if there is none."""
    return _by_id(first_word(name))[name]


@functools.cache
def form(name: str, **attributes: Attribute) -> Form:
    """The form of the row called `name`; KeyError if there is none."""
    return form_of(row(name), **attributes)


def _restored(name: str, attributes: Attributes) -> Form:
    return form(name, **attributes)


# copies and unpickled forms are the interned object again
copyreg.pickle(Form, lambda form: (_restored, (form.row.id, form.attributes)))


# ---- heads -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Head:
    """The first words of an instruction's name: its rows, and attributes that the head itself
    fixes.
    """

    text: str
    rows: tuple[Row, ...]
    preset: Attributes


@functools.cache
def _heads(word: str) -> dict[str, Head]:
    """The heads that begin with a word."""
    found: dict[str, Head] = {}

    def add(text: str, row: Row, preset: Attributes) -> None:
        if first_word(text) == word:
            old = found.get(text)
            found[text] = Head(text, (*old.rows, row) if old else (row,), preset)

    for row in rows_of(word):
        glued = row.items[0] if row.items else None
        if isinstance(glued, Qualifier) and glued.values[0].ptx.startswith("::"):
            for value in glued.values:
                add(row.head + value.ptx, row, {glued.name: value})
        add(row.head, row, {})
        for alias in row.aliases:
            add(alias, row, {})
    return found


def find_head(name: str) -> tuple[Head | None, list[str]]:
    """The longest known head that begins `name` (a dotted name), and the modifiers after it."""
    parts = name.split(".")
    heads = _heads(first_word(name))
    for length in range(len(parts), 0, -1):
        head = heads.get(".".join(parts[:length]))
        if head is not None:
            return head, parts[length:]
    return None, parts


def head_words() -> frozenset[str]:
    """The first words of all known heads (`tcgen05`, `ld`)."""
    return frozenset(_chapters_by_word())


# Instructions that PTX has beside those of the rows: a program that uses one is not wrong, nvgen
# only does not know it.  PTX ISA, Instruction Set.
_OTHERS = """
    abs activemask addc atom bfe bfi bfind bmsk brev brkpt brx call
    clz cnot copysign cos cp createpolicy div dp2a dp4a ex2 fma fns
    getctarank griddepcontrol isspacep istypep ldmatrix ldu lg2 lop3 mad24 madc mapa match max
    membar min mma movmatrix mul24 nanosleep neg pmevent popc prefetch prefetchu prmt rcp
    red redux rem rsqrt sad set setmaxnreg shf shfl sin slct sqrt st stmatrix
    subc suld suq sured sust szext tanh tensormap testp tex tld4 txq vabsdiff vabsdiff2
    vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vote vset
    vset2 vset4 vshl vshr vsub vsub2 vsub4 wgmma wmma
"""


@functools.cache
def other_instructions() -> frozenset[str]:
    """First words of PTX instructions that no row describes."""
    return frozenset(_OTHERS.split()) - head_words()


# Longer names that begin with a row's head and are instructions of their own.
OTHER_HEADS: tuple[str, ...] = ()


# ---- opcodes ---------------------------------------------------------------------------------


@functools.cache
def form_of_opcode(opcode: str) -> tuple[Row, Mapping[str, Attribute]] | None:
    """The row and the opcode qualifiers that `opcode` names, or None if there is no such opcode."""
    for row in (*rows(), *pseudo_rows()):
        before, after = row.opcode_ends
        before, after = before.strip("_"), after.strip("_")
        if not opcode.startswith(before) or not opcode.endswith(after):
            continue
        middle = opcode[len(before) : len(opcode) - len(after) if after else None].strip("_")
        attributes = _read_qualifiers(row, list(row.opcode_qualifiers), middle)
        if attributes is not None and opcode_name(row, attributes) == opcode:
            return row, attributes
    return None


def _read_qualifiers(row: Row, names: list[str], text: str) -> dict[str, Attribute] | None:
    if not names:
        return None if text else {}
    qualifier = row.qualifier[names[0]]
    for attribute in sorted(
        qualifier.attributes, key=lambda f: -len(f.opcode) if isinstance(f, Modifier) else 0
    ):
        if isinstance(attribute, Modifier):
            if text != attribute.opcode and not text.startswith(attribute.opcode + "_"):
                continue
            rest = text[len(attribute.opcode) :].lstrip("_")
        else:
            rest = text
        found = _read_qualifiers(row, names[1:], rest)
        if found is not None:
            return {qualifier.name: attribute, **found}
    return None


# ---- LLVM's names ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Spelling:
    """One LLVM intrinsic: its row, pattern, and the attributes that its name states."""

    name: str  # without `llvm.nvvm.`
    row: Row
    pattern: Llvm
    attributes: Attributes


@functools.cache
def spellings() -> dict[str, Spelling]:
    """Every LLVM intrinsic that selects to a row, by its name after `llvm.nvvm.`."""
    return {s.name: s for row in rows() for pattern in row.llvm for s in _expand(row, pattern)}


@functools.cache
def walkthrough_spellings() -> dict[str, Spelling]:
    """The walkthrough's intrinsics, by name after `llvm.nvvm.`; LLVM itself has none of them."""
    from intrinsics.rows.walkthrough import MULTIPLIES

    patterns = [(pseudo, pattern) for pseudo in pseudo_rows() for pattern in pseudo.llvm]
    patterns += [(row(head), pattern) for head, all_ in MULTIPLIES.items() for pattern in all_]
    return {s.name: s for of, pattern in patterns for s in _expand(of, pattern)}


def spelling(name: str) -> Spelling | None:
    """The intrinsic called `name` after `llvm.nvvm.`, in either spelling."""
    return spellings().get(name) or walkthrough_spellings().get(name)


def _expand(row: Row, pattern: Llvm) -> Iterator[Spelling]:
    holes = re.findall(r"\{(\w+)\}", pattern.name)
    choices = [_hole_texts(row, pattern, hole) for hole in holes]
    for combination in itertools.product(*choices):
        name, attributes = pattern.name, dict(pattern.given)
        for hole, (text, stated) in zip(holes, combination, strict=True):
            name = name.replace("{" + hole + "}", text)
            attributes.update(stated)
        yield Spelling(name, row, pattern, attributes)


def _hole_texts(row: Row, pattern: Llvm, hole: str) -> list[tuple[str, Attributes]]:
    table = pattern.holes.get(hole)
    if table is None:
        return [(value.value, {hole: value}) for value in row.qualifier[hole].values]
    return [
        (text, stated if isinstance(stated, Mapping) else {hole: stated})
        for text, stated in table.items()
    ]


@functools.cache
def spellings_of(row: Row) -> tuple[Spelling, ...]:
    """The LLVM intrinsics of one row."""
    return tuple(s for s in spellings().values() if s.row is row)


# ---- forms -----------------------------------------------------------------------------------


def forms(row: Row) -> Iterator[Form]:
    """Every form of `row`, legal or not: the product of its attributes' values."""
    names = form_attribute_names(row)
    choices = [_choices(row, name) for name in names]
    for values in itertools.product(*choices):
        yield form_of(row, **dict(zip(names, values, strict=True)))


def _choices(row: Row, name: str) -> tuple[Attribute, ...]:
    if name in row.qualifier:
        return row.qualifier[name].attributes
    return (False, True) if name in row.optional else tuple(Residency)


def literals(row: Row) -> tuple[str, ...]:
    """The modifiers that every instance of `row` carries."""
    return tuple(item.text for item in row.items if isinstance(item, Literal))

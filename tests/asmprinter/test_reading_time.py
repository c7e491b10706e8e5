"""Texts that patterns could read again and again: all of them are read to their ends.

Each text makes a reader begin something that nothing ends, or repeats what it must not look back
at.  At this size a reader that takes quadratic time takes minutes.
"""

from __future__ import annotations

import pytest

from asmprinter.mir.reader import read_mir
from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import NvgenError

HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n"
SIZE = 40_000


def inside(body: str) -> str:
    """A kernel of these statements."""
    return f"{HEAD}.visible .entry k()\n{{\n.reg .b32 %r<9>;\n{body}\nret;\n}}\n"


def repeated(unit: str) -> str:
    """As much of it as makes a long text."""
    return unit * (SIZE // len(unit))


LABELS = SIZE // 8
TEXTS = {
    "escaped quotes": HEAD + repeated('"\\'),
    "escaped quotes in operands": inside("mov.b32 %r1, " + repeated('"\\') + ";"),
    "comments without end": HEAD + repeated("/*"),
    "sections without end": HEAD + repeated(".section a {\n"),
    "spaces in a header": HEAD + ".entry " + repeated(" ") + "(\n{ret;}",
    "spaces behind a name": HEAD + ".global .b8 x " + repeated(" ") + "!;",
    "spaces behind a guard": inside("@" + repeated(" ") + "!!;"),
    "pragmas in a header": HEAD + ".entry k() " + repeated('.pragma "a";'),
    "functions of registers": HEAD + repeated(".func (.reg "),
    "scopes": inside(repeated("{mov.b32 %r1,%r2;")),
    "labels of a table": inside(
        f"t: .branchtargets {','.join(f'L{n}' for n in range(LABELS))};\nbrx.idx %r1, t;\n"
        + "\n".join(f"L{n}:" for n in range(LABELS))
    ),
    "modifiers": inside("mma" + repeated(".x") + " %r1;"),
    "parentheses": inside("mov.b32 %r1, " + repeated("(") + ";"),
    "products": inside("mov.b32 %r1, " + "*".join(["0xFFFFFFFFFFFFFFFF"] * (SIZE // 19)) + ";"),
    "braces": HEAD + ".global .b8 x[9] = " + repeated("{") + ";",
    "variables without braces": HEAD
    + "\n".join(f".visible .global .b32 x{n};" for n in range(SIZE // 25)),
}


@pytest.mark.parametrize("name", TEXTS)
def test_ptx_is_read_in_linear_time(name: str) -> None:
    reading = read_ptx(TEXTS[name])
    assert reading.findings or name in ("variables without braces", "labels of a table")


def test_mir_is_read_in_linear_time() -> None:
    for unit in ('"\\', '%"\\', "%", "[", "a."):
        with pytest.raises(NvgenError):
            read_mir(repeated(unit))


def test_a_table_of_a_million_numbers_is_read_at_once() -> None:
    numbers = [n % 251 for n in range(1_000_000)]
    text = f"{HEAD}.global .align 4 .b8 x[1000000] = {{{', '.join(map(str, numbers))}}};\n"
    (variable,) = read_ptx(text).module.variables
    assert variable.data == bytes(numbers)


@pytest.mark.parametrize(
    ("type_", "values", "data"),
    [
        ("u16", "1, -1, 0x10", b"\1\0\xff\xff\x10\0"),  # not all decimal
        ("u16", "010, 8", b"\x08\0\x08\0"),  # a zero in front is octal
        ("s32", "-2, 3", b"\xfe\xff\xff\xff\3\0\0\0"),
        ("f32", "0f3F800000, 0f40000000", b"\0\0\x80\x3f\0\0\0\x40"),
        ("f64", "0d3FF0000000000000", b"\0\0\0\0\0\0\xf0\x3f"),
        ("u8", "300, -1", b"\x2c\xff"),
    ],
)
def test_both_readers_of_numbers_agree(type_: str, values: str, data: bytes) -> None:
    count = values.count(",") + 1
    declared = f"{HEAD}.global .{type_} x[{count}] = {{{values}}};\n"
    (variable,) = read_ptx(declared).module.variables
    assert variable.data == data
    by_row = ", ".join(f"{{{value}}}" for value in values.split(","))
    rows = f"{HEAD}.global .{type_} x[{count}][1] = {{{by_row}}};\n"
    assert read_ptx(rows).module.variables[0].data == data

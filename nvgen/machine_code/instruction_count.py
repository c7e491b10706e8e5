"""The number of instructions in a cubin, without a disassembler.

Layer: nvgen.  Input: a cubin, which is an ELF file of 64 bits, little-endian.  Output: a number for
each kernel or function.  ELF-64 Object File Format; CUDA Binary Utilities, Instruction Set
Reference: since Volta each instruction has 128 bits, whose lowest twelve are its opcode.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_BYTES = 16
_NOP = 0x918
_TEXT = ".text."
_HEADER = struct.Struct("<40xQ10xHHH")  # where the table of sections is, their size, number, names
_SECTION = struct.Struct("<II16xQQ24x")  # name, type, place and size in bytes


def instructions(cubin: bytes) -> dict[str, int]:
    """The machine instructions of each kernel and function, without the NOPs that fill it up.

    Raises: ValueError for what is no cubin.
    """
    return {name: _counted(code) for name, code in _texts(cubin)}


def _counted(code: bytes) -> int:
    words = struct.iter_unpack("<H14x", code)
    return sum(word & 0xFFF != _NOP for (word,) in words)


def _texts(cubin: bytes) -> Iterator[tuple[str, bytes]]:
    """The name and the machine code of each section of code."""
    if cubin[:6] != b"\x7fELF\x02\x01":
        raise ValueError("this is no cubin")
    table, size, number, strings = _HEADER.unpack_from(cubin)
    sections = [_SECTION.unpack_from(cubin, table + n * size) for n in range(number)]
    names = sections[strings][2]
    for name, _, place, length in sections:
        begin = names + name
        text = cubin[begin : cubin.index(b"\0", begin)].decode()
        if text.startswith(_TEXT):
            yield text.removeprefix(_TEXT), cubin[place : place + length - length % _BYTES]

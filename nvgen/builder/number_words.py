"""A number of any width as registers of 32 bits, and back: for instructions that move registers.

Layer: nvgen.builder.  Input: a number of 1 to 64 bits.  Output: one word, or two, the lower first.
PTX ISA, shfl.sync.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from nvgen.builder.numbers import Float, Int, Number

WORD = 32
"""Bits of a register that a shuffle moves."""


def words_of(number: Number) -> list[Int]:
    """The words that hold a number's bits, with zeros above them."""
    bits = number.word if isinstance(number, Float) else Int(number.builder, number.value)
    if bits.bits == WORD:
        return [bits]
    if bits.bits < WORD:
        return [bits.zext(WORD)]
    builder, i32 = bits.builder.at_caller(), ir.IntType(WORD)
    return [Int(bits.builder, builder.trunc(part.value, i32)) for part in (bits, bits >> WORD)]


def of_words(number: Number, parts: Sequence[object]) -> object:
    """What came for each word of `words_of(number)`, joined to a number of its type.

    Where an instruction gave more than the word, the rest is that of the first.
    """
    first = parts[0]
    if isinstance(first, tuple):
        firsts = [part[0] for part in parts if isinstance(part, tuple)]
        return (of_words(number, firsts), *first[1:])
    words = [part for part in parts if isinstance(part, Int)]
    builder, width = number.builder.at_caller(), ir.IntType(number.bits)
    if number.bits < WORD:
        found = builder.trunc(words[0].value, width)
    else:
        low, high = (word.zext(2 * WORD) for word in words)
        found = (high << WORD | low).value
    if isinstance(number, Int):
        return number.like(found)
    return number.like(number.builder.at_caller().bitcast(found, number.value.type))

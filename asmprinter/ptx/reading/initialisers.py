"""Initial values of variables in PTX, and their layout in bytes.

Layer: asmprinter.  Input: the text of an initialiser.  Output: bytes, and the addresses in them.
PTX ISA, Initializers; Operators.
"""

from __future__ import annotations

import dataclasses
import math
import re
import struct
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from asmprinter.ptx.reading.tokens import OperandError, Tokens, read_float
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Address, FloatImm
from intrinsics.modifiers import ScalarType

_DECIMALS = re.compile(r"\{[-0-9,\s]*+\}")


_OCTAL = re.compile(r"(?<![0-9])0[0-9]")


_FLOATS = {
    ScalarType.F32: re.compile(r"\{\s*+(?:0[fF][0-9a-fA-F]{8}\s*+(?:,\s*+|(?=\})))*+\}"),
    ScalarType.F64: re.compile(r"\{\s*+(?:0[dD][0-9a-fA-F]{16}\s*+(?:,\s*+|(?=\})))*+\}"),
}


_UNITS = {1: "B", 2: "H", 4: "I", 8: "Q"}
"""How `struct` calls numbers of some bytes."""


_DEEPEST = 64
"""Braces within braces, and calls within calls, of an initial value."""


# ---- variables -------------------------------------------------------------------------------


LARGEST_INITIAL = 1 << 24
"""Bytes of a variable whose zeros behind its initial values are held, and printed, like those."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """An address among initial values; `mask` says which of its bits are meant, 0 all of them."""

    name: str
    offset: int = 0
    generic: bool = False
    mask: int = 0


@dataclass(frozen=True, slots=True)
class Plain:
    """The bytes of a list of plain numbers in braces, without addresses or nested braces."""

    data: bytes
    count: int


Tree: TypeAlias = "bytes | Symbol | Plain | list[Tree]"
"""Initial values: the bytes of one, an address, or what stands in braces."""


def number_in(text: str) -> int:
    """The value of a constant expression.

    Raises: OperandError for what is no integer.
    """
    tokens = Tokens(text)
    value = tokens.expression()
    tokens.end()
    return value


def check_shape(tree: Tree, dims: Sequence[int], vector: int = 0) -> None:
    """Whether there are braces for each dimension, and as many values as the last one's `vector`.

    Raises: OperandError.
    """
    if not dims:
        if isinstance(tree, (list, Plain)):
            raise OperandError("braces around one value")
        return
    if not isinstance(tree, (list, Plain)):
        raise OperandError("no braces around the values of an array")
    if len(dims) == 1 and vector and count_of(tree) != vector:
        raise OperandError(f"a vector has {vector} values")
    if isinstance(tree, Plain):
        if len(dims) > 1:
            raise OperandError("no braces around the values of an inner array")
        return
    for part in tree:
        check_shape(part, dims[1:], vector)


def count_of(tree: Tree) -> int:
    """The number of values in the outermost braces; a value without braces is one."""
    if isinstance(tree, Plain):
        return tree.count
    return len(tree) if isinstance(tree, list) else 1


def initial_values(text: str, type_: ScalarType) -> Tree:
    """The values of an initialiser, nested as its braces are."""
    plain = _plain(text.strip(), type_)
    if plain is not None:
        return plain
    tokens = Tokens(text)
    found = _value(tokens, type_, 0)
    tokens.end()
    return found


def _plain(text: str, type_: ScalarType) -> Plain | None:
    """A list of decimal numbers, or of floating-point numbers as bits; None for any other.

    Tables are written so, some with a million values: a token at a time would take seconds.
    """
    size = max(type_.bits // 8, 1)
    pattern = _FLOATS.get(type_)
    if pattern is not None:
        if pattern.fullmatch(text) is None:
            return None
        numbers = [int(n, 16) for n in re.findall(r"0[fFdD]([0-9a-fA-F]+)", text)]
    else:
        if type_.kind == "f" or size not in _UNITS or not _DECIMALS.fullmatch(text):
            return None
        if _OCTAL.search(text):
            return None
        try:
            numbers = [int(n) & (1 << 8 * size) - 1 for n in text[1:-1].split(",")]
        except ValueError:  # nothing between commas, or too much
            return None
    return Plain(struct.pack(f"<{len(numbers)}{_UNITS[size]}", *numbers), len(numbers))


def _value(tokens: Tokens, type_: ScalarType, depth: int) -> Tree:
    if depth > _DEEPEST:
        raise OperandError("braces nested too deep")
    if tokens.peek() == "{":
        tokens.take("{")
        found: list[Tree] = []
        while tokens.peek() != "}":
            found.append(_value(tokens, type_, depth + 1))
            if tokens.peek() != "}":
                tokens.take(",")
        tokens.take("}")
        return found
    masked = tokens.peek().startswith("0x") and tokens.peek(1) == "("
    if masked or (tokens.peek_kind() == "name" and tokens.peek() != "WARP_SZ"):
        return _address(tokens, type_)
    return _bytes(tokens, type_)


_HOLD_ADDRESSES = (ScalarType.U32, ScalarType.U64)
_HOLD_BYTES_OF_ADDRESSES = (ScalarType.U8, *_HOLD_ADDRESSES)


def _address(tokens: Tokens, type_: ScalarType) -> Symbol:
    """`x`, `x+8`, `generic(x)+-8` or `0xFF(x)`."""
    is_part = tokens.peek_kind() != "name"
    if type_ not in (_HOLD_BYTES_OF_ADDRESSES if is_part else _HOLD_ADDRESSES):
        raise OperandError(f"an address in {type_.ptx}")
    mask = 0
    if tokens.peek_kind() != "name":
        mask = number_in(tokens.take()[1])
        tokens.take("(")
    found = _unmasked(tokens, 0)
    if mask:
        tokens.take(")")
    return dataclasses.replace(found, mask=mask)


def _unmasked(tokens: Tokens, depth: int) -> Symbol:
    if depth > _DEEPEST:
        raise OperandError("parentheses nested too deep")
    _, name = tokens.take()
    found = Symbol(name)
    if tokens.peek() == "(":
        tokens.take("(")
        found = dataclasses.replace(_unmasked(tokens, depth + 1), generic=name == "generic")
        tokens.take(")")
    if tokens.peek() != "+":
        return found
    tokens.take("+")
    return dataclasses.replace(found, offset=found.offset + tokens.expression())


def _bytes(tokens: Tokens, type_: ScalarType) -> bytes:
    size = max(type_.bits // 8, 1)
    negative = tokens.peek() == "-" and tokens.peek_kind(1) == "float"
    if negative:
        tokens.take("-")
    if tokens.peek_kind() == "float":
        return _float_bytes(read_float(tokens.take()[1], negative=negative), type_)
    value = tokens.expression()
    if type_.kind == "f" or type_ is ScalarType.F16X2:
        raise OperandError(f"an integer for {type_.ptx}: write it with a point, or its bits")
    return (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")


_BITS = (ScalarType.B8, ScalarType.B16, ScalarType.B32, ScalarType.B64, ScalarType.B128)


def _float_bytes(literal: FloatImm, type_: ScalarType) -> bytes:
    """A number of `f32` and `f64` is rounded, and of 32 bits too; else bits stay as they are."""
    if type_ not in (ScalarType.F32, ScalarType.F64) and type_ not in _BITS:
        raise OperandError(f"{literal.type.ptx} for {type_.ptx}")
    bits = literal.bits_as(ScalarType.F32 if type_ is ScalarType.B32 else type_)
    return (bits & (1 << type_.bits) - 1).to_bytes(type_.bits // 8, "little")


def laid_out(
    tree: Tree, dims: list[int], element: int, at: int, found: list[tuple[int, Symbol]]
) -> Iterator[bytes]:
    """The bytes in order; an inner brace that says less than its dimension is filled with zeros.

    Addresses are zeros, and noted in `found` with the bytes that they stand at.
    """
    if isinstance(tree, Symbol):
        found.append((at, tree))
        yield bytes(element)
    elif isinstance(tree, bytes):
        yield tree
    elif isinstance(tree, Plain):
        yield tree.data
    else:
        inner = math.prod(dims[1:]) * element
        for part in tree:
            data = b"".join(laid_out(part, dims[1:], element, at, found))
            data = data.ljust(inner, b"\0") if isinstance(part, list) else data
            at += len(data)
            yield data


def addresses_in(found: list[tuple[int, Symbol]], element: int) -> tuple[Address, ...] | None:
    """The addresses in an initial value; None where parts of one are missing."""
    whole: list[Address] = []
    step = 1 if element == 8 else 8
    for first in range(0, len(found), step):
        group = found[first : first + step]
        at, symbol = group[0]
        parts = [dataclasses.replace(symbol, mask=0xFF << 8 * n) for n in range(8)]
        right = [(at + n, part) for n, part in enumerate(parts)] if step == 8 else None
        if (group if step == 8 else symbol.mask or None) != right:
            return None
        whole.append(Address(at, symbol.name, symbol.offset, symbol.generic))
    return tuple(whole)

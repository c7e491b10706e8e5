"""Tokens of PTX operands, and constant expressions.

Layer: asmprinter.  Input: operand text.  Output: tokens, and the values of integer expressions such
as `1 << 3` or `WARP_SZ`.  PTX ISA, Constants: Constant Expressions.
"""

from __future__ import annotations

import operator
import re
import struct
from collections.abc import Callable, Mapping

from intrinsics.mir import FloatImm
from intrinsics.modifiers import ScalarType

WARP_SZ = 32
"""The value of PTX's only predefined constant."""

_TOKEN = re.compile(
    r"\s*(?:"
    r"(?P<float>0[fF][0-9a-fA-F]{8}\b|0[dD][0-9a-fA-F]{16}\b|[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<cast>\.[su]64\b)"
    r"|(?P<int>0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|[0-9]+U?)"
    r"|(?P<name>[A-Za-z_$%][\w$]*(?:\.[A-Za-z]\w*)?)"
    r"|(?P<mark><<|>>|<=|>=|==|!=|&&|\|\||[][{}(),|!+*/%&^~<>?:-])"
    r")"
)


class OperandError(Exception):
    """The operand text is not PTX; the message says where."""

    rule = "ptx/operands"


class UndeclaredError(OperandError):
    """The operand text names what nothing declares."""

    rule = "ptx/undeclared"

    def __init__(self, name: str) -> None:
        super().__init__(f"'{name}' is not declared")


def tokenize(text: str) -> list[tuple[str, str]]:
    """Split operand text into (kind, text) tokens.

    Raises: OperandError.
    """
    tokens, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise OperandError(f"cannot read '{text[at:].strip()[:20]}'")
        kind = match.lastgroup
        assert kind is not None
        tokens.append((kind, match[kind]))
        at = match.end()
    return tokens


class Tokens:
    """A position in a token list."""

    def __init__(self, text: str) -> None:
        self.tokens = tokenize(text)
        self.at = 0

    def peek(self, ahead: int = 0) -> str:
        """The text of the next token, or of one further on; "" at the end."""
        at = self.at + ahead
        return self.tokens[at][1] if at < len(self.tokens) else ""

    def peek_kind(self, ahead: int = 0) -> str:
        """The kind of the next token, or of one further on; "" at the end."""
        at = self.at + ahead
        return self.tokens[at][0] if at < len(self.tokens) else ""

    def end(self) -> None:
        """Nothing may follow.

        Raises: OperandError.
        """
        if self.at < len(self.tokens):
            raise OperandError(f"unexpected '{self.peek()}'")

    def take(self, wanted: str = "") -> tuple[str, str]:
        """Consume a token, which must be `wanted` if that is given.

        Raises: OperandError.
        """
        if self.at >= len(self.tokens):
            raise OperandError(f"expected '{wanted}' at the end" if wanted else "operand missing")
        kind, text = self.tokens[self.at]
        if wanted and text != wanted:
            raise OperandError(f"expected '{wanted}', got '{text}'")
        self.at += 1
        return kind, text

    def expression(self) -> int:
        """An integer expression.

        Raises: OperandError; RecursionError where it is nested too deep.
        """
        value = self._binary(0)
        return self._chosen(value) if self.peek() == "?" else value

    def _binary(self, level: int) -> int:
        """An expression whose operators bind at least as strongly as `level`."""
        value = self._unary()
        while True:
            sign = self.peek()
            binding, function = _OPERATORS.get(sign, _NO_OPERATOR)
            if binding < level:
                return value
            self.take()
            right = self._binary(binding + 1)
            if sign in ("/", "%") and right == 0:
                raise OperandError("division by zero in a constant expression")
            value = int(function(value, right))
            if abs(value) >> _LARGEST_BITS:
                raise OperandError("a constant expression is far beyond its 64 bits")

    def _chosen(self, condition: int) -> int:
        """`condition ? this : that`."""
        self.take("?")
        this = self.expression()
        self.take(":")
        that = self.expression()
        return this if condition else that

    def _unary(self) -> int:
        kind, text = self.take()
        if kind == "int":
            return _integer(text)
        if text == "WARP_SZ":
            return WARP_SZ
        if text == "(" and self.peek_kind() == "cast":
            _, cast = self.take()
            self.take(")")
            return _wrapped(self._unary(), signed=cast == ".s64")
        if text == "(":
            value = self.expression()
            self.take(")")
            return value
        if text in _UNARY:
            return _UNARY[text](self._unary())
        raise OperandError(f"unexpected '{text}'")


def _wrapped(value: int, *, signed: bool) -> int:
    value &= (1 << 64) - 1
    return value - (1 << 64) if signed and value >> 63 else value


def read_float(text: str, *, negative: bool = False) -> FloatImm:
    """`0f3F800000`, `0d3FF0000000000000`, or `1.0`, which is an f64."""
    if text[:2] in ("0f", "0F"):
        bits, type_ = int(text[2:], 16), ScalarType.F32
    elif text[:2] in ("0d", "0D"):
        bits, type_ = int(text[2:], 16), ScalarType.F64
    else:
        (bits,) = struct.unpack("<Q", struct.pack("<d", float(text)))
        type_ = ScalarType.F64
    return FloatImm(bits ^ (1 << (type_.bits - 1)) if negative else bits, type_)


def _divide(a: int, b: int) -> int:
    """Division as in C: toward zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _shift(function: Callable[[int, int], int]) -> Callable[[int, int], int]:
    def shift(a: int, b: int) -> int:
        if not 0 <= b < 64:
            raise OperandError("a constant is shifted by more than its 64 bits")
        return function(a, b)

    return shift


_LEVELS: tuple[Mapping[str, Callable[[int, int], int]], ...] = (
    {"||": lambda a, b: bool(a) or bool(b)},
    {"&&": lambda a, b: bool(a) and bool(b)},
    {"|": operator.or_},
    {"^": operator.xor},
    {"&": operator.and_},
    {"==": operator.eq, "!=": operator.ne},
    {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge},
    {"<<": _shift(operator.lshift), ">>": _shift(operator.rshift)},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": _divide, "%": lambda a, b: a - _divide(a, b) * b},
)
_OPERATORS: Mapping[str, tuple[int, Callable[[int, int], int]]] = {
    sign: (level, function)
    for level, functions in enumerate(_LEVELS)
    for sign, function in functions.items()
}
"""How strongly each operator binds, and what it does."""

_NO_OPERATOR: tuple[int, Callable[[int, int], int]] = (-1, operator.add)
_LARGEST_BITS = 128
"""Bits that a value on the way may have; the hardware's have 64."""

_UNARY: Mapping[str, Callable[[int], int]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "!": lambda a: int(not a),
}


def _integer(text: str) -> int:
    text = text.rstrip("U")
    octal = len(text) > 1 and text[0] == "0" and text[1].isdigit()
    try:
        return int(text, 8 if octal else 0)
    except ValueError:
        raise OperandError(f"'{text}' is no number") from None

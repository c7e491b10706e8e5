"""Whether a statement that no row describes could be one of PTX at all.

Layer: asmprinter.  Input: the name and the operands of an instruction, as text.  Output: nothing,
or an `OperandError`: commas between operands, brackets that match, numbers that are some.  What an
instruction makes of its operands is not asked.  PTX ISA, Instruction Statements; Operands.
"""

from __future__ import annotations

from asmprinter.ptx.reading.tokens import OperandError, Tokens

_CLOSING = {"[": "]", "{": "}", "(": ")"}
_BEFORE = frozenset("-+~!")
_SIGNS = "+ - * / % & | ^ << >> < > <= >= == != && || ? :"
_BETWEEN = frozenset(_SIGNS.split())


def check_statement(name: str, operands: str) -> None:
    """Whether the text is that of some instruction.

    Raises: OperandError with what is there and what could be.
    """
    if ".." in name or name.endswith((".", ":")):
        raise OperandError(f"expected a modifier behind each '.' of '{name}'")
    if '"' in operands:
        return
    tokens = Tokens(operands)
    if not tokens.tokens:
        return
    try:
        _list(tokens)
    except RecursionError:
        raise OperandError("an operand is nested too deep") from None
    if tokens.peek():
        raise OperandError(f"expected ',', got '{tokens.peek()}'")


def _list(tokens: Tokens) -> None:
    _operand(tokens)
    while tokens.peek() == ",":
        tokens.take(",")
        _operand(tokens)


def _operand(tokens: Tokens) -> None:
    """A name, a number, a list in brackets, or several of them with operators between."""
    _part(tokens)
    while tokens.peek() in _BETWEEN:
        tokens.take()
        _part(tokens)


def _part(tokens: Tokens) -> None:
    while tokens.peek() in _BEFORE:
        tokens.take()
    kind, text = tokens.take()
    if text == "(" and tokens.peek_kind() == "cast":
        tokens.take()
        tokens.take(")")
        _part(tokens)
        return
    if text in _CLOSING:
        _group(tokens, _CLOSING[text])
    elif kind in ("mark", "cast"):
        raise OperandError(f"unexpected '{text}'")
    while tokens.peek() == "[":
        tokens.take("[")
        _group(tokens, "]")


def _group(tokens: Tokens, closing: str) -> None:
    """What stands in brackets, of which the first is taken."""
    if tokens.peek() != closing:
        _list(tokens)
    tokens.take(closing)

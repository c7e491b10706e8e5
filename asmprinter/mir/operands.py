"""The operands of MIR text.

Layer: asmprinter.  Input: tokens, and the registers of the function so far.  Output: operands as
`intrinsics.mir` has them.  The grammar stands in `asmprinter.mir.reader`.
"""

from __future__ import annotations

import re
from dataclasses import field

from asmprinter.mir.declarations import register_class
from asmprinter.mir.names import RegisterName, register_name, register_range, unquoted
from asmprinter.mir.tokens import BadTextError, Token, Tokens, integer
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import (
    SINK,
    FloatImm,
    Imm,
    Label,
    MachineFunction,
    Mem,
    Not,
    Op,
    Reg,
    Scalar,
    Special,
    Sym,
    Text,
)
from intrinsics.modifiers import ScalarType

_LITERALS = {
    "imm": (re.compile("-?[0-9]+"), "imm:-16"),
    "fimm": (re.compile("0(?:f([0-9A-Fa-f]{8})|d([0-9A-Fa-f]{16}))"), "fimm:0f3F800000"),
    "sreg": (re.compile(r"[A-Za-z_]\w*(?:\.\w+)*"), "sreg:tid.x"),
}
"""What may stand behind each word, and an example."""


@dataclass(slots=True)
class Body:
    """A function being read, its registers by what their spelling says, its blocks' names."""

    function: MachineFunction
    registers: dict[RegisterName, Reg] = field(default_factory=dict)
    blocks: set[str] = field(default_factory=set)


def operand(tokens: Tokens, body: Body) -> Op:
    """An operand: a scalar, or several in braces.

    Raises: BadTextError.
    """
    if not tokens.take_if("mark", "{"):
        return _scalar(tokens, body)
    parts: list[Scalar] = []
    if not tokens.is_next("mark", "}"):
        first = tokens.next
        parts.append(_scalar(tokens, body))
        if first.kind == "reg" and tokens.take_if("mark", "..."):
            parts = _range(tokens, body, first)
        else:
            while tokens.take_if("mark", ","):
                parts.append(_scalar(tokens, body))
    tokens.take("mark", "}")
    return tuple(parts)


def _range(tokens: Tokens, body: Body, first: Token) -> list[Scalar]:
    """The registers from `first`, which is read, to the one that follows; all of one class."""
    last = tokens.next
    end = tokens.take("reg")
    names = register_range(first.text, end)
    if not names:
        message = f"no range of registers from {first.text} to {end}"
        raise BadTextError(message, last, "a number behind the same name, and not a lower one")
    cls = body.function.regs.classes[_named(first, first.text, None, body)]
    if tokens.take_if("mark", ":"):
        _must_be(last, cls, register_class(tokens))
    return [_named(last, name, cls, body) for name in names]


def _scalar(tokens: Tokens, body: Body) -> Scalar:
    token = tokens.next
    match token.kind:
        case "reg":
            return register(tokens, body)
        case "literal":
            tokens.take()
            return _literal(token)
        case "sym":
            return Sym(tokens.symbol(), _offset(tokens))
        case "label":
            return Label(tokens.block())
        case "text":
            return Text(unquoted(tokens.take()[5:]))
    match token.text:
        case "_":
            tokens.take()
            return SINK
        case "!":
            tokens.take()
            return Not(register(tokens, body))
        case "[":
            tokens.take()
            return _address(tokens, body)
    raise tokens.unexpected("an operand")


def _literal(token: Token) -> Scalar:
    word, _, shown = token.text.partition(":")
    pattern, example = _LITERALS[word]
    match = pattern.fullmatch(shown)
    if match is None:
        raise BadTextError(f"'{token.shown}' is no operand", token, f"such as {example}")
    match word:
        case "imm":
            return Imm(integer(token, shown))
        case "fimm":
            cls = ScalarType.F32 if match[1] else ScalarType.F64
            return FloatImm(int(match[1] or match[2], 16), cls)
        case _:
            return Special(shown)


def _address(tokens: Tokens, body: Body) -> Mem:
    base: Reg | Sym
    if tokens.next.kind == "sym":
        base = Sym(tokens.symbol())
    elif tokens.next.kind == "reg":
        base = register(tokens, body)
    else:
        raise tokens.unexpected("a register or a symbol")
    offset = _offset(tokens)
    tokens.take("mark", "]")
    return Mem(base, offset)


def _offset(tokens: Tokens) -> int:
    if tokens.take_if("mark", "+"):
        return tokens.integer()
    return -tokens.integer() if tokens.take_if("mark", "-") else 0


# ---- registers -------------------------------------------------------------------------------


def register(tokens: Tokens, body: Body) -> Reg:
    """A register, and its class if it is written.

    Raises: BadTextError.
    """
    token = tokens.next
    shown = tokens.take("reg")
    cls = register_class(tokens) if tokens.take_if("mark", ":") else None
    return _named(token, shown, cls, body)


def _named(token: Token, shown: str, cls: ScalarType | None, body: Body) -> Reg:
    name = register_name(shown, keep=body.function.keep_names)
    found = body.registers.get(name)
    regs = body.function.regs
    if found is None:
        if cls is None:
            expected = f"a class ({shown}:b32)"
            raise BadTextError(f"the first {shown} needs a class ({shown}:b32)", token, expected)
        found = body.registers[name] = regs.new(cls, name.name or "")
    elif cls is not None:
        _must_be(token, regs.classes[found], cls)
    return found


def _must_be(token: Token, cls: ScalarType, given: ScalarType) -> None:
    if given is not cls:
        message = f"{token.text} is a {cls.value}, not a {given.value}"
        raise BadTextError(message, token, f"{token.text}:{cls.value}")

"""Metadata nodes, parsed from their text on demand.

Layer: isel.llvm (standard library only). Input: a `Module`, whose nodes are text, and a node's id.
Output: a typed node for tuples and for debug information that leads to a source line; any other
specialised node as its kind and fields.  A node that does not exist is None.
"""

from __future__ import annotations

from collections.abc import Mapping

from intrinsics.lazy_dataclass import dataclass
from isel.llvm.grammar.lexer import Cursor, UnreadableError, unescape
from isel.llvm.grammar.scope import SymbolTable
from isel.llvm.grammar.values import read_metadata_operand
from isel.llvm.ir import Module
from isel.llvm.values import ConstInt, MetadataOperand, MetadataString, WrappedValue


@dataclass(frozen=True, slots=True)
class TupleNode:
    """`!{…}` or `distinct !{…}`."""

    elements: tuple[MetadataOperand, ...]
    distinct: bool


@dataclass(frozen=True, slots=True)
class DILocation:
    """A source location; `inlined_at` is the id of the location of the call it was inlined at."""

    line: int
    column: int
    scope: int | None
    inlined_at: int | None


@dataclass(frozen=True, slots=True)
class DISubprogram:
    """A function of the source."""

    name: str
    linkage_name: str
    scope: int | None
    file: int | None
    line: int


@dataclass(frozen=True, slots=True)
class DILexicalBlock:
    """A block of the source (`DILexicalBlock`), or a change of file (`DILexicalBlockFile`)."""

    scope: int | None
    file: int | None
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class DIFile:
    """A source file."""

    filename: str
    directory: str


@dataclass(frozen=True, slots=True)
class OtherNode:
    """A node of another kind: `!Kind(name: text, …)`, or with arguments that have no names."""

    kind: str
    fields: Mapping[str, str]
    arguments: tuple[str, ...]
    distinct: bool


Node = TupleNode | DILocation | DISubprogram | DILexicalBlock | DIFile | OtherNode


def read_node(module: Module, id: int) -> Node | None:
    """The node `!id` of the module."""
    text = module.metadata.get(id)
    if text is None:
        return None
    cursor = Cursor(text)
    distinct = cursor.accept("distinct")
    if cursor.accept("!"):
        return TupleNode(_elements(cursor, module), distinct)
    node = _specialised(cursor, distinct)
    cursor.expect_end()
    return _typed(node)


def module_flags(module: Module) -> dict[str, MetadataOperand]:
    """The module's flags: name to value, such as `nvvm-reflect-ftz` to `i32 1`."""
    flags: dict[str, MetadataOperand] = {}
    for id in module.named_metadata.get("llvm.module.flags", ()):
        node = read_node(module, id) if isinstance(id, int) else None
        match node:
            case TupleNode(elements=(_, MetadataString(text=name), value)):
                flags[name] = value
    return flags


def module_flag(module: Module, name: str) -> int | None:
    """The module flag `name` when it is an integer."""
    match module_flags(module).get(name):
        case WrappedValue(value=ConstInt(value=number)):
            return number
    return None


def _elements(cursor: Cursor, module: Module) -> tuple[MetadataOperand, ...]:
    scope = SymbolTable(types=module.types)
    elements: list[MetadataOperand] = []
    cursor.expect("{")
    while not cursor.accept("}"):
        if elements:
            cursor.expect(",")
        elements.append(read_metadata_operand(cursor, scope))
    cursor.expect_end()
    return tuple(elements)


def _specialised(cursor: Cursor, distinct: bool) -> OtherNode:
    kind = cursor.name("!")
    fields: dict[str, str] = {}
    arguments: list[str] = []
    cursor.expect("(")
    while not cursor.accept(")"):
        if fields or arguments:
            cursor.expect(",")
        name = cursor.peek() if cursor.peek(1) == ":" else ""
        if name:
            cursor.next()
            cursor.next()
        text = cursor.text_before(",", ")")
        if name:
            fields[name] = text
        else:
            arguments.append(text)
    return OtherNode(kind, fields, tuple(arguments), distinct)


def _typed(node: OtherNode) -> Node:
    fields = node.fields
    match node.kind:
        case "DILocation":
            line, column = _integer(fields, "line"), _integer(fields, "column")
            return DILocation(line, column, _ref(fields, "scope"), _ref(fields, "inlinedAt"))
        case "DISubprogram":
            return DISubprogram(
                _string(fields, "name"),
                _string(fields, "linkageName"),
                _ref(fields, "scope"),
                _ref(fields, "file"),
                _integer(fields, "line"),
            )
        case "DILexicalBlock" | "DILexicalBlockFile":
            line, column = _integer(fields, "line"), _integer(fields, "column")
            return DILexicalBlock(_ref(fields, "scope"), _ref(fields, "file"), line, column)
        case "DIFile":
            return DIFile(_string(fields, "filename"), _string(fields, "directory"))
    return node


def _integer(fields: Mapping[str, str], name: str) -> int:
    text = fields.get(name, "0")
    if not text.isdecimal():
        raise UnreadableError(f"{name}: {text} is no number")
    return int(text)


def _string(fields: Mapping[str, str], name: str) -> str:
    return unescape(fields.get(name, '""')[1:-1])


def _ref(fields: Mapping[str, str], name: str) -> int | None:
    text = fields.get(name, "null")
    return int(text[1:]) if text[0] == "!" and text[1:].isdecimal() else None

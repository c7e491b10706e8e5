"""Global variables, aliases, ifuncs and the headers of functions, from text.

Layer: isel.llvm (standard library only).
Input: one top-level statement and the module's scope.  Output: its record.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

from isel.llvm.attributes import NO_ATTRIBUTES, Attributes
from isel.llvm.grammar.attributes import read_attributes
from isel.llvm.grammar.heads import read_calling_convention, read_groups
from isel.llvm.grammar.lexer import Cursor, UnreadableError, name_of, read_whole
from isel.llvm.grammar.parts import read_attachment
from isel.llvm.grammar.scope import SymbolTable
from isel.llvm.grammar.types import read_address_space, read_type
from isel.llvm.grammar.values import read_typed_value, read_value
from isel.llvm.ir import Alias, Attachments, Function, GlobalVariable, Param, Symbol
from isel.llvm.types import PTR, Type
from isel.llvm.vocabulary import Linkage, StorageClass, UnnamedAddr, Visibility

_LINKAGES = {linkage.value: linkage for linkage in Linkage}
_VISIBILITIES = {visibility.value: visibility for visibility in Visibility}
_STORAGE_CLASSES = {storage.value: storage for storage in StorageClass if storage.value}
_UNNAMED_ADDRS = {unnamed.value: unnamed for unnamed in UnnamedAddr if unnamed.value}
_SANITIZER_WORDS = frozenset(
    {
        *("no_sanitize_address", "no_sanitize_hwaddress"),
        *("sanitize_memtag", "sanitize_address_dyninit"),
    }
)


def read_global(text: str, scope: SymbolTable, line: int) -> GlobalVariable | Alias:
    """A statement that begins with `@name =`."""
    cursor = Cursor(text)
    name = cursor.name("@")
    cursor.expect("=")
    words = Symbol(name, line)
    thread_local = _read_symbol_words(cursor, words)
    if cursor.peek() in ("alias", "ifunc"):
        return _read_alias(cursor, scope, words, thread_local)
    return _read_variable(cursor, scope, words, thread_local)


def read_function_header(text: str, scope: SymbolTable, line: int) -> Function:
    """`declare …`, or `define … {` up to the brace."""
    if text[:8] != "declare ":
        plain = _DEFINITION.fullmatch(text)
        found = None if plain is None else _plain_definition(plain, scope, line)
        return found or _read_header(text, scope, line)
    head, _, group = text.rpartition(" #")
    known = _declaration(head) if group.isdecimal() and int(group) in scope.groups else None
    if known is None:
        return _read_header(text, scope, line)
    return _copied(known, line, scope.groups[int(group)])


_OF_A_MODULE = re.compile('[%"!#]')
"""References, whose meaning depends on the module."""

_Known = tuple[Callable[[], Function], list[Param], Attributes]
"""What copies a function, and parts that each copy has for itself."""


def _known(function: Function) -> _Known:
    return function.copier(), function.params, function.attributes


def _copied(known: _Known, line: int, group: Attributes) -> Function:
    """A copy at another line, with the attributes of a group."""
    copy, params, attributes = known
    found = copy()
    found.line, found.blocks, found.params = line, [], [*params]
    found.attributes = attributes.merged(group)
    return found


@functools.lru_cache(1 << 12)
def _declaration(text: str) -> _Known | None:
    """A declaration without references, as those of LLVM's intrinsics; None for another one."""
    return None if _OF_A_MODULE.search(text) else _known(_read_header(text, SymbolTable(), 0))


_DEFINITION = re.compile(
    r'define (?P<words>[\w ]*)@(?P<name>[\w.$]+)\((?P<params>[^"{}!#]*)\)'
    r"(?P<behind> (?:local_)?unnamed_addr)?(?: #(?P<group>\d+))? \{"
)
"""A definition without references, but for its name and parameters."""


def _plain_definition(plain: re.Match[str], scope: SymbolTable, line: int) -> Function | None:
    """The header of such a definition; None where a parameter has references."""
    params: list[Param] = []
    attributes = NO_ATTRIBUTES
    try:
        for piece in plain["params"].split(", ") if plain["params"] else ():
            head, _, name = piece.rpartition(" %")
            if ")" in name:  # of the function's address space, which the pattern reached
                return None
            params.append(Param(name_of("%" + name), *_param(head)))
        if plain["group"]:
            attributes = scope.groups[int(plain["group"])]
    except (UnreadableError, LookupError):
        return None
    found = _copied(_definition(plain["words"], plain["behind"] or ""), line, attributes)
    found.name, found.params = plain["name"], params
    return found


@functools.lru_cache(1 << 12)
def _param(text: str) -> tuple[Type, Attributes]:
    """The type and the attributes of a parameter that names none of a module's types.

    Raises: UnreadableError for what is cut inside brackets, or names one.
    """
    scope = SymbolTable()
    return read_whole(
        text, lambda cursor: (read_type(cursor, scope), read_attributes(cursor, scope))
    )


@functools.lru_cache(1 << 12)
def _definition(words: str, behind: str) -> _Known:
    """What stands before and behind the name and the parameters of a definition."""
    return _known(_read_header(f"define {words}@f(){behind} {{", SymbolTable(), 0))


def _read_header(text: str, scope: SymbolTable, line: int) -> Function:
    cursor = Cursor(text)
    defined = cursor.next() == "define"
    attachments = _read_attachments(cursor)
    function = Function("", line, is_declaration=not defined)
    _read_symbol_words(cursor, function)
    function.calling_convention = read_calling_convention(cursor)
    function.return_attributes = read_attributes(cursor, scope)
    function.return_type = read_type(cursor, scope)
    function.name = cursor.name("@")
    _read_params(cursor, scope, function)
    while not cursor.at_end() and not (defined and cursor.peek() == "{"):
        _read_function_word(cursor, scope, function)
    function.metadata = attachments + function.metadata
    if defined:
        cursor.expect("{")
    cursor.expect_end()
    return function


def _read_symbol_words(cursor: Cursor, symbol: Symbol) -> str:
    """The words from linkage to address space; gives the thread-local model."""
    thread_local = ""
    while True:
        word = cursor.peek()
        if word in _LINKAGES:
            symbol.linkage = _LINKAGES[cursor.next()]
        elif word in _VISIBILITIES:
            symbol.visibility = _VISIBILITIES[cursor.next()]
        elif word in _STORAGE_CLASSES:
            symbol.storage_class = _STORAGE_CLASSES[cursor.next()]
        elif word in _UNNAMED_ADDRS:
            symbol.unnamed_addr = _UNNAMED_ADDRS[cursor.next()]
        elif word == "addrspace":
            symbol.address_space = read_address_space(cursor)
        elif cursor.accept("dso_local"):
            symbol.dso_local = True
        elif cursor.accept("thread_local"):
            model = cursor.group()[1:-1] if cursor.peek() == "(" else "generaldynamic"
            thread_local = model
        else:
            return thread_local


def _copy_words(words: Symbol, symbol: Symbol) -> None:
    symbol.linkage = words.linkage
    symbol.visibility = words.visibility
    symbol.storage_class = words.storage_class
    symbol.dso_local = words.dso_local
    symbol.unnamed_addr = words.unnamed_addr
    symbol.address_space = words.address_space


def _read_variable(
    cursor: Cursor, scope: SymbolTable, words: Symbol, thread_local: str
) -> GlobalVariable:
    variable = GlobalVariable(words.name, words.line, thread_local=thread_local)
    _copy_words(words, variable)
    variable.externally_initialized = cursor.accept("externally_initialized")
    variable.is_constant = cursor.accept("constant")
    if not variable.is_constant:
        cursor.expect("global")
    variable.value_type = read_type(cursor, scope)
    if cursor.peek() not in ("", ",") and cursor.peek()[0] != "#":
        variable.initializer = read_value(cursor, scope, variable.value_type)
    while cursor.accept(","):
        _read_variable_word(cursor, variable)
    variable.attributes = read_groups(cursor, scope)
    cursor.expect_end()
    return variable


def _read_variable_word(cursor: Cursor, variable: GlobalVariable) -> None:
    word = cursor.peek()
    if word in _SANITIZER_WORDS:
        variable.sanitizer = (*variable.sanitizer, cursor.next())
    elif cursor.accept("code_model"):
        variable.code_model = cursor.string()
    elif word[:1] == "!":
        variable.metadata = (*variable.metadata, read_attachment(cursor))
    else:
        _read_placement(cursor, variable)


def _read_placement(cursor: Cursor, symbol: Symbol) -> None:
    word = cursor.next()
    if word == "section":
        symbol.section = cursor.string()
    elif word == "partition":
        symbol.partition = cursor.string()
    elif word == "align":
        symbol.alignment = cursor.integer()
    elif word == "comdat":
        symbol.comdat = _read_comdat_name(cursor) or symbol.name
    else:
        raise UnreadableError(f"did not expect {word!r}")


def _read_comdat_name(cursor: Cursor) -> str:
    if not cursor.accept("("):
        return ""
    name = cursor.name("$")
    cursor.expect(")")
    return name


def _read_alias(cursor: Cursor, scope: SymbolTable, words: Symbol, thread_local: str) -> Alias:
    alias = Alias(words.name, words.line, thread_local=thread_local)
    _copy_words(words, alias)
    alias.is_ifunc = cursor.next() == "ifunc"
    alias.value_type = read_type(cursor, scope)
    cursor.expect(",")
    # LLVM leaves the type out before a constant expression, and the expression has its own.
    typed = cursor.peek() == "ptr"
    alias.target = read_typed_value(cursor, scope) if typed else read_value(cursor, scope, PTR)
    while cursor.accept(","):
        if cursor.peek()[:1] == "!":
            alias.metadata = (*alias.metadata, read_attachment(cursor))
        else:
            _read_placement(cursor, alias)
    cursor.expect_end()
    return alias


def _read_params(cursor: Cursor, scope: SymbolTable, function: Function) -> None:
    cursor.expect("(")
    while not cursor.accept(")"):
        if function.params:
            cursor.expect(",")
        if cursor.accept("..."):
            function.vararg = True
            cursor.expect(")")
            return
        type = read_type(cursor, scope)
        attributes = read_attributes(cursor, scope)
        name = cursor.name("%") if cursor.peek()[:1] == "%" else ""
        function.params.append(Param(name, type, attributes))


def _read_attachments(cursor: Cursor) -> Attachments:
    attachments: Attachments = ()
    while cursor.peek()[:1] == "!":
        attachments = (*attachments, read_attachment(cursor))
    return attachments


def _read_function_word(cursor: Cursor, scope: SymbolTable, function: Function) -> None:
    word = cursor.peek()
    if word[:1] == "!":
        function.metadata = (*function.metadata, read_attachment(cursor))
    elif word[:1] == "#":
        function.attributes = function.attributes.merged(read_groups(cursor, scope))
    elif word in _UNNAMED_ADDRS:
        function.unnamed_addr = _UNNAMED_ADDRS[cursor.next()]
    elif word == "addrspace":
        function.address_space = read_address_space(cursor)
    elif cursor.accept("gc"):
        function.gc = cursor.string()
    elif cursor.accept("prefix"):
        function.prefix = read_typed_value(cursor, scope)
    elif cursor.accept("prologue"):
        function.prologue = read_typed_value(cursor, scope)
    elif cursor.accept("personality"):
        function.personality = read_typed_value(cursor, scope)
    else:
        _read_placement(cursor, function)

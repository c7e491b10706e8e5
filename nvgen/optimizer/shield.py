"""Hides asynchronous and tensor-core calls and shared memory from LLVM's optimiser.

Layer: nvgen.optimizer.  Input: the lines of a module as LLVM prints it, and its records.  Output:
the same lines with a shield, and the way back.

LLVM takes the intrinsics for what their attributes say: that `tcgen05.mma` only writes its
accumulator, that it may move from two branches into one place, that a call touches no memory but
its arguments'.  So every call of an intrinsic, but for arithmetic and for a thread's own numbers,
becomes a call of a function of its own, of which LLVM is told nothing: it reads and writes any
memory, may not return, and stays under the conditions that it is under (`convergent`).  No two
calls have the same callee, so none is taken for another, and their immediates stay what they are.
What wgmma.wait_group waits for goes through it (see `nvgen.optimizer.waits`): no use of an
accumulator moves ahead of the wait.

A variable in shared memory is also read and written by units that LLVM knows nothing of, through
descriptors, so it is external while the passes run; and so is a kernel, which nobody calls.

Inline assembly needs no shield if it says what it does: `asm sideeffect`, and `~{memory}` among its
constraints.  Without, LLVM takes it for a formula.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import field

from intrinsics.lazy_dataclass import dataclass
from intrinsics.patterns import PREFIX
from isel.llvm import ir
from isel.llvm.type_layout import SHARED_SPACE
from isel.llvm.types import METADATA, TOKEN
from isel.llvm.vocabulary import C_CALLING_CONVENTION, Linkage
from isel.select.names import kernels
from nvgen.optimizer.waits import Handed, shown, through_waits

ARITHMETIC = r"""
    (?:add|mul|mul24|mulhi|fma|div|sqrt|rsqrt|rcp|ex2|lg2|sin|cos|abs|fabs|fmin|fmax|ceil|floor
      |round|trunc|saturate|sad|prmt|bitcast|lohi|\w+2\w+)[\w.]*
"""
"""Intrinsics that compute a value from others, and nothing else; within `llvm.nvvm.`."""

LEFT_TO_LLVM = re.compile(
    rf"""llvm\.nvvm\.(?:{ARITHMETIC}
    | reflect
    | is_explicit_cluster
    | read\.ptx\.sreg\.(?:
        (?:tid|ntid|ctaid|nctaid|clusterid|nclusterid|cluster\.ctaid|cluster\.nctaid)\.[xyzw]
      | cluster\.n?ctarank | laneid | lanemask\.(?:eq|le|lt|ge|gt) | warpsize
      )
    )""",
    re.VERBOSE,
)
"""Intrinsics that need no shield: what they give depends on their operands and the thread alone."""

_ATTRIBUTES = "convergent nomerge nounwind"
_OPAQUE = "nvgen.shielded"
_WAITED = "nvgen.waited"
_PLACE = re.compile(r", !dbg !\d+")

_GLOBAL = re.compile(r'@(?:"[^"]*"|[-\w$.]+)', re.ASCII)
_GLOBAL_OR_STRING = re.compile(r'@(?:"[^"]*"|[-\w$.]+)|"[^"]*"', re.ASCII)
_COMMENT = re.compile(r'"[^"]*"|/\*.*?\*/ ')
_PIECE = re.compile(r'"[^"]*"|[][(){}<>,]')
_GROUP = re.compile(r" #(\d+)")
_ALIAS_METADATA = re.compile(r", !(?:tbaa|tbaa\.struct|alias\.scope|noalias) !\d+")
_ATTRIBUTE = re.compile(
    r"""(?: align\ \d+
      | "[^"]*"(?:="[^"]*")?
      | (?!(?:true|false|null|undef|poison|none|zeroinitializer|asm|c)(?![\w(]))
        [a-z][\w.]*+ (?: \( (?:[^()]|\([^()]*\))* \) )? (?=\ )
      )\ """,
    re.VERBOSE,
)
_CONSTANT = re.compile(
    "(?:getelementptr|ptrtoint|ptrtoaddr|inttoptr|bitcast|addrspacecast|trunc|add|sub|xor|splat|"
    "blockaddress|dso_local_equivalent|no_cfi|ptrauth|extractelement|insertelement|shufflevector)"
    r"\b"
)
_LOSES = (
    Linkage.PRIVATE,
    Linkage.INTERNAL,
    Linkage.LINKONCE,
    Linkage.LINKONCE_ODR,
    Linkage.AVAILABLE_EXTERNALLY,
)
"""Linkages under which LLVM may drop or rewrite a symbol that seems unused."""


@dataclass(frozen=True, slots=True)
class _Call:
    """What a shielded call loses: its callee, and the attributes of arguments and call."""

    callee: str
    types: tuple[str, ...]
    attributes: tuple[str, ...]
    group: str


@dataclass(slots=True)
class Shield:
    """What was hidden, by number, and the linkages that were removed, by the symbol's token."""

    prefix: str
    calls: list[_Call] = field(default_factory=list)
    linkages: dict[str, str] = field(default_factory=dict)
    declarations: dict[str, str] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)

    def restore(self, text: str) -> str:
        """The optimised text with the calls and linkages that were there before."""
        return _Restorer(self, text).text()


def shield(lines: list[str], module: ir.Module) -> Shield:
    """Hide what LLVM must not see: `lines` are changed in place and get more of them."""
    found = Shield(_unused(_OPAQUE, lines))
    names = _unused(_WAITED, lines)
    waits = {
        f.name: through_waits(lines, f, f"{names}{n}.") for n, f in enumerate(module.definitions())
    }
    for line in lines:
        match = re.match(r"attributes (#\d+) = \{(.*)\}$", line)
        if match:
            found.groups[match[1]] = match[2]
    opaque: list[str] = []
    for function in module.definitions():
        for i in function.instructions():
            if isinstance(i, ir.Call) and _is_hidden(i):
                at = i.line - 1
                lines[at] = _hide(lines[at], i, found, opaque)
        for handed in waits[function.name]:
            _hand_through(lines, handed, found, opaque)
    for function in module.functions.values():
        if function.is_declaration and function.name.startswith(PREFIX):
            line = lines[function.line - 1]
            found.declarations[_first_global(line)] = line
    _open_up(lines, module, found)
    lines += opaque
    return found


def _unused(name: str, lines: list[str]) -> str:
    while any(name in line for line in lines):
        name += "_"
    return name + "."


def _is_hidden(call: ir.Call) -> bool:
    name = call.callee_name or ""
    if not name.startswith(PREFIX) or LEFT_TO_LLVM.fullmatch(name):
        return False
    # Only LLVM's own intrinsics take these, and nvgen selects none of them.
    strange = call.vararg_type is not None or any(
        a.type in (METADATA, TOKEN) for a in call.arguments
    )
    return not strange


def _hide(line: str, call: ir.Call, found: Shield, opaque: list[str]) -> str:
    """A call without what it says of itself; its opaque callee is declared in `opaque`."""
    head, callee, arguments, rest = _cut_call(line)
    types = tuple(str(value.type) for value in call.arguments)
    split = [_cut_argument(a, type_) for a, type_ in zip(arguments, types, strict=True)]
    group = _GROUP.match(rest)
    if group:
        rest = rest[group.end() :]
    name = f"@{found.prefix}{len(found.calls)}"
    attributes = tuple(attributes for attributes, _ in split)
    found.calls.append(_Call(callee, types, attributes, group[0][1:] if group else ""))
    convention = call.calling_convention
    shown = "" if convention == C_CALLING_CONVENTION else convention + " "
    opaque.append(f"declare {shown}{call.type} {name}({', '.join(types)}) {_ATTRIBUTES}")
    given = ", ".join(f"{type_} {value}" for type_, (_, value) in zip(types, split, strict=True))
    return f"{head}{name}({given}){_ALIAS_METADATA.sub('', rest)}"


def _hand_through(lines: list[str], handed: Handed, found: Shield, opaque: list[str]) -> None:
    """A call behind a wait whose result is its argument; it stands on the wait's own line."""
    at, type_ = handed.wait.line - 1, str(handed.type)
    name = f"@{found.prefix}{len(found.calls)}"
    found.calls.append(_Call(handed.callee, (type_,), ("",), ""))
    found.declarations[handed.callee] = f"declare {type_} {handed.callee}({type_})"
    opaque.append(f"declare {type_} {name}({type_}) {_ATTRIBUTES}")
    place = _PLACE.search(lines[at].partition("\n")[0])
    call = f"{shown(handed.behind)} = call {type_} {name}({type_} {shown(handed.before)})"
    lines[at] += f"\n  {call}{place[0] if place else ''}"


def _open_up(lines: list[str], module: ir.Module, found: Shield) -> None:
    """Make shared variables and kernels external."""
    shared = (g for g in module.globals.values() if g.address_space == SHARED_SPACE)
    for symbol in (*shared, *kernels(module)):
        if symbol.linkage not in _LOSES:
            continue
        line, word = lines[symbol.line - 1], symbol.linkage.value + " "
        found.linkages[_first_global(line)] = word
        before = _before_linkage(line)
        lines[symbol.line - 1] = before + line[len(before) :].removeprefix(word)


def _before_linkage(line: str) -> str:
    """What a line that defines a symbol has in front of its linkage."""
    return "define " if line.startswith("define ") else _first_global(line) + " = "


# ---- cutting lines ---------------------------------------------------------------------------


def _first_global(line: str) -> str:
    match = _first(line)
    return match[0] if match else ""


def _first(line: str) -> re.Match[str] | None:
    """The first global's name on a line, strings and local names aside."""
    return next((m for m in _GLOBAL_OR_STRING.finditer(line) if m[0][0] == "@"), None)


def _cut_call(line: str) -> tuple[str, str, list[str], str]:
    """What stands before the callee, the callee, the arguments, and what follows them.

    LLVM explains some immediates in comments, which go.
    """
    line = _COMMENT.sub(lambda m: m[0] if m[0][0] == '"' else "", line)
    callee = _first(line)
    assert callee is not None, line
    arguments, end = _cut_list(line, callee.end())
    return line[: callee.start()], callee[0], arguments, line[end:]


def _cut_list(line: str, start: int) -> tuple[list[str], int]:
    """The items of the parentheses that open at `start`, and where what follows begins."""
    items: list[str] = []
    depth, begin = 0, start + 1
    for match in _PIECE.finditer(line, start):
        piece = match[0]
        if piece in "([{<":
            depth += 1
        elif piece in ")]}>":
            depth -= 1
        if (piece == "," and depth == 1) or depth == 0:
            items.append(line[begin : match.start()].strip())
            begin = match.end()
        if depth == 0:
            break
    return [item for item in items if item], begin


def _cut_argument(text: str, type_: str) -> tuple[str, str]:
    """An argument's attributes (with a space after each) and its value."""
    rest = text[len(type_) + 1 :]
    at = 0
    while not _CONSTANT.match(rest, at) and (match := _ATTRIBUTE.match(rest, at)):
        at = match.end()
    return rest[:at], rest[at:]


# ---- the way back ----------------------------------------------------------------------------


class _Restorer:
    def __init__(self, shield: Shield, text: str) -> None:
        self.shield = shield
        self.lines = text.split("\n")
        self.used: dict[str, None] = {}  # callees, in order
        self.groups: dict[str, str] = {}
        self.next_group = 1 + max(
            (int(n) for n in re.findall(r"^attributes #(\d+) =", text, re.MULTILINE)), default=-1
        )
        self.opaque = re.compile(rf"@{re.escape(shield.prefix)}(\d+)\(")

    def text(self) -> str:
        kept = [self._line(line) for line in self._without_declarations()]
        groups = [n for n, line in enumerate(kept) if line.startswith("attributes #")]
        nodes = (n for n, line in enumerate(kept) if line.startswith("!"))
        first = groups[0] if groups else next(nodes, len(kept))
        behind = groups[-1] + 1 if groups else first
        declared = self._declarations()
        kept[behind:behind] = self._attribute_groups()
        kept[first:first] = declared
        return "\n".join(_without_unused_group(kept))

    def _without_declarations(self) -> Iterator[str]:
        """The lines but for the opaque declarations and the comments that stand before them."""
        for line, following in zip(self.lines, (*self.lines[1:], ""), strict=True):
            if line.startswith("declare ") and self.opaque.search(line):
                continue
            comment = line.startswith("; Function Attrs:")
            if comment and following.startswith("declare ") and self.opaque.search(following):
                continue
            yield line

    def _line(self, line: str) -> str:
        hidden = self.opaque.search(line)
        if hidden:
            return self._call(line, self.shield.calls[int(hidden[1])])
        if not line.startswith(("@", "define ")):
            return line
        word = self.shield.linkages.get(_first_global(line))
        if word is None:
            return line
        before = _before_linkage(line)
        return before + word + line[len(before) :]

    def _call(self, line: str, call: _Call) -> str:
        head, _, arguments, rest = _cut_call(line)
        self.used.setdefault(call.callee)
        given = []
        for text, type_, said in zip(arguments, call.types, call.attributes, strict=True):
            _, value = _cut_argument(text, type_)
            given.append(f"{type_} {said}{value}")
        rest = _GROUP.sub("", rest, count=1) if _GROUP.match(rest) else rest
        group = f" {self._group(call.group)}" if call.group else ""
        return f"{head}{call.callee}({', '.join(given)}){group}{rest}"

    def _group(self, old: str) -> str:
        """An attribute group of the input under a number that is free."""
        if old not in self.groups:
            self.groups[old] = f"#{self.next_group + len(self.groups)}"
        return self.groups[old]

    def _declarations(self) -> list[str]:
        """The declarations of what is called, then the attribute groups of the input."""
        found = []
        for callee in self.used:
            line = self.shield.declarations.get(callee, "")
            if line:
                found += [_renumbered(line, self._group), ""]
        return found

    def _attribute_groups(self) -> list[str]:
        groups = self.groups.items()
        return [f"attributes {new} = {{{self.shield.groups[old]}}}" for old, new in groups]


def _renumbered(line: str, group: Callable[[str], str]) -> str:
    head, space, last = line.rpartition(" ")
    return f"{head}{space}{group(last)}" if last.startswith("#") else line


def _without_unused_group(lines: list[str]) -> list[str]:
    """The lines without the attribute group that only the opaque declarations had."""
    for at, line in enumerate(lines):
        match = re.fullmatch(rf"attributes (#\d+) = \{{ {_ATTRIBUTES} \}}", line)
        if match is None:
            continue
        used = re.compile(rf"{match[1]}\b")
        if not any(used.search(other) for n, other in enumerate(lines) if n != at):
            return lines[:at] + lines[at + 1 :]
    return lines

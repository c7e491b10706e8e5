"""Input on which LLVM ends the process, found before it does.

Layer: nvgen.  LLVM's reader upgrades old intrinsics and old metadata as it reads, and aborts where
their shape is not the old one; deep nesting overflows its stack.  A module that has such things in
it, or may have, is read by a child process first; one that has none of them is read at once.  The
readers in Python give up earlier than LLVM does: `nesting_limit` says so in words.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator

from intrinsics import catalog
from intrinsics.catalog import Spelling
from intrinsics.findings import InternalError, Place, input_error
from isel.select.intrinsics import PAIRS, PREFIX, arguments, element_type, lengths

_DEPTH = 200
"""Brackets within brackets that LLVM's reader takes without doubt."""

_MANY = 2000
"""Metadata nodes or named types that LLVM reads without doubt, should each refer to the next."""

_DECLARATION = re.compile(
    r'^[ \t]*(?:declare|define)\b[^@\n]*@(?:"([^"]*)"|([\w.$-]+))', re.MULTILINE
)
_TYPE = re.compile(r"\s*(ptr(?:\s+addrspace\(\d+\))?|i\d+|<\s*\d+\s+x\s+i\d+\s*>)(?=[\s,)]|$)")
_NODE = re.compile(r"^!(\d+) = (?:distinct )?!\{(.*)\}\s*$", re.MULTILINE)
_ANNOTATION = re.compile(r'ptr @([\w.$-]+)((?:, !"(?!grid_constant)\w+", i32 \d+)+)')
_LINK = re.compile(r"^(?:!\d+|%\S+) = (?:distinct )?(?:!|type\b)", re.MULTILINE)
_DEBUG_NODE = re.compile(r"^!(\d+) = (?:distinct )?!(DI\w+)\((.*)\)\s*$", re.MULTILINE)
_ATTACHMENT = re.compile(r"^(define\b)?.*!dbg !(\d*)", re.MULTILINE)
_REFERENCE = re.compile(r"\b(\w+): !(\d+)")
_LOCAL = ("DISubprogram", "DILexicalBlock", "DILexicalBlockFile")
_REFERENCES: dict[str, dict[str, tuple[str, ...]]] = {
    "DILocation": {"scope": _LOCAL, "inlinedAt": ("DILocation",)},
    "DILexicalBlock": {"scope": _LOCAL, "file": ("DIFile",)},
    "DILexicalBlockFile": {"scope": _LOCAL, "file": ("DIFile",)},
    "DISubprogram": {"scope": ("DIFile",), "file": ("DIFile",), "unit": ("DICompileUnit",)},
    "DICompileUnit": {"file": ("DIFile",)},
    "DIFile": {},
}
"""Which fields of debug info LLVM follows without a look, to nodes of which kinds."""

_FLAG = re.compile(r'i32 \d+, !"[^"]*", (?:i32 \d+|!"[^"]*")')
_MMA = re.compile(r'\bcall\b[^@\n]*@"?llvm\.nvvm\.(tcgen05\.mma[\w.]*)"?\((.*)\)')
_LEGAL = [[str(n)] for n in range(4)]
NO_UPGRADE = "--disable-auto-upgrade-debug-info"
"""LLVM's option to leave debug info as it stands."""

_CHILD = f"""
import sys
from llvmlite import binding
binding.set_option("nvgen", "{NO_UPGRADE}")
module = binding.parse_assembly(sys.stdin.read())
module.verify()
str(module)
"""


def crash(text: str) -> str:
    """How LLVM dies of `text`, or "" if it does not."""
    odd = (
        _has_odd_intrinsics,
        _has_odd_immediates,
        _has_odd_annotations,
        _has_odd_flags,
        _has_odd_debug_info,
        _is_deep,
        _is_long,
    )
    if not any(check(text) for check in odd):
        return ""
    child = subprocess.run(
        [sys.executable, "-c", _CHILD],
        input=text,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if child.returncode >= 0:
        return ""
    return last_words(child.stderr) or f"signal {-child.returncode}"


def last_words(said: str) -> str:
    """What LLVM says in its standard error about its end; "" when it says nothing."""
    marked = [line for line in said.splitlines() if "Assertion" in line or "LLVM ERROR" in line]
    if not marked:
        return ""
    quoted = re.search(r'&& "(.*?)"', marked[0])
    return quoted[1] if quoted else marked[0][-200:]


def _has_odd_intrinsics(text: str) -> bool:
    """Whether an intrinsic is declared that nvgen's tables do not have with this signature."""
    for match in _DECLARATION.finditer(text):
        name = match[2] or match[1] or ""
        if "\\" in name:
            return True
        if name.startswith("llvm.") and not _is_known(name, text[match.end() : match.end() + 4000]):
            return True
    return False


def _is_known(name: str, rest: str) -> bool:
    spelling = catalog.spelling(name.removeprefix(PREFIX))
    if spelling is None:
        return name.startswith(PREFIX + "read.ptx.sreg.") and rest.startswith("()")
    types = _types(rest)
    return types is not None and _agree(spelling, types)


def _types(rest: str) -> list[str] | None:
    """The parameter types that follow a function's name; None for any that nvgen never uses."""
    end = rest.find("\n")
    line = rest[: end if end >= 0 else None]
    if not line.startswith("("):
        return None
    found: list[str] = []
    for part in re.split(r",(?![^<(]*[>)])", _within(line)):
        if not part.strip():
            continue
        match = _TYPE.match(part)
        if match is None:
            return None
        found.append(" ".join(match[1].split()))
    return found


def _within(line: str) -> str:
    depth = 0
    for at, character in enumerate(line):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return line[1:at]
    return line[1:]


def _agree(spelling: Spelling, types: list[str]) -> bool:
    sizes = lengths(spelling)
    spare = len(types) - sum(sizes)
    wanted: list[str] = []
    for argument, size in zip(arguments(spelling.pattern.args), sizes, strict=True):
        wanted += [element_type(argument.type.rstrip("*"))] * (size or spare)
    return len(wanted) == len(types) and all(map(_is_type, wanted, types))


def _is_type(wanted: str, type_: str) -> bool:
    if wanted in PAIRS:
        return type_ == PAIRS[wanted]
    if wanted.startswith("p"):
        return type_ == (f"ptr addrspace({wanted[1:]})" if wanted[1:] else "ptr")
    if wanted.startswith("v"):
        element = "i" + wanted.rpartition("i")[2]
        return type_ == element or type_.endswith(f"x {element}>")
    return type_ == wanted


def _has_odd_immediates(text: str) -> bool:
    """Whether an MMA has a number that encodes nothing: LLVM prints these by name, or dies."""
    for match in _MMA.finditer(text):
        if match[1] in catalog.walkthrough_spellings():
            continue
        spelling = catalog.spellings().get(match[1])
        if spelling is None:
            return True
        formal = arguments(spelling.pattern.args)
        actual = re.split(r",(?![^<(]*[>)])", match[2])
        if len(actual) != len(formal):
            return True
        for argument, value in zip(formal, actual, strict=True):
            if argument.sign == "#" and value.split()[-1:] not in _LEGAL:
                return True
    return False


def _has_odd_annotations(text: str) -> bool:
    """Whether `!nvvm.annotations` has anything but a function with names and numbers."""
    matches = [_ANNOTATION.fullmatch(node) for node in _named_nodes(text, "nvvm.annotations")]
    functions = {m[2] or m[1] for m in _DECLARATION.finditer(text)} if matches else set()
    return any(match is None or match[1] not in functions for match in matches)


def _has_odd_flags(text: str) -> bool:
    """Whether a flag of the module is anything but a number, a name and a number or string."""
    return not all(map(_FLAG.fullmatch, _named_nodes(text, "llvm.module.flags")))


def _named_nodes(text: str, name: str) -> list[str]:
    """The contents of the nodes that named metadata lists; "" for what cannot be followed."""
    if name not in text:
        return []
    match = re.search(rf"^!{re.escape(name)} = !\{{(.*)\}}\s*$", text, re.MULTILINE)
    if match is None:
        return [""]
    nodes = {number: fields.strip() for number, fields in _NODE.findall(text)}
    return [nodes.get(part.strip().removeprefix("!"), "") for part in match[1].split(",")]


def _has_odd_debug_info(text: str) -> bool:
    """Whether debug info refers to anything but what LLVM takes for granted, or has more to it."""
    if "#dbg_" in text:
        return True
    if "!dbg" not in text and "!DI" not in text:
        return False
    kinds = {number: kind for number, kind, _ in _DEBUG_NODE.findall(text)}
    for define, number in _ATTACHMENT.findall(text):
        if kinds.get(number) != ("DISubprogram" if define else "DILocation"):
            return True
    for _, kind, fields in _DEBUG_NODE.findall(text):
        allowed = _REFERENCES.get(kind)
        if allowed is None:
            return True
        for name, number in _REFERENCE.findall(fields):
            if kinds.get(number) not in allowed.get(name, ()):
                return True
    return text.count("!DI") != len(kinds)


def _is_deep(text: str) -> bool:
    depth = 0
    for bracket in re.findall(r"[][{}()<>]", text):
        depth = max(depth + (1 if bracket in "[{(<" else -1), 0)
        if depth > _DEPTH:
            return True
    return False


def _is_long(text: str) -> bool:
    """Whether there are enough nodes or types for a chain of them to overflow LLVM's stack."""
    return any(at >= _MANY for at, _ in enumerate(_LINK.finditer(text), 1))


@contextlib.contextmanager
def nesting_limit(file: str) -> Iterator[None]:
    """Give an input that is nested too deep for the readers as an error of the input.

    Raises: InputError.
    """
    try:
        yield
    except (RecursionError, InternalError) as error:
        reason: BaseException | None = error
        while reason is not None and not isinstance(reason, RecursionError):
            reason = reason.__cause__ or reason.__context__
        if reason is None:
            raise
        raise input_error(
            "input/too-deep",
            "types, expressions or brackets are nested too deep",
            place=Place(file),
            expected="less nesting",
        ) from None

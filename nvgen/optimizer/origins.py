"""Which instruction of the input each optimised instruction comes from.

Layer: nvgen.optimizer.  LLVM's passes carry debug locations along, so every instruction gets one
whose "line" is its number in the module; the user's own locations are set aside and found again by
that number.  An instruction that LLVM made of several, or of none, has no number.
"""

from __future__ import annotations

import re
from dataclasses import field

from intrinsics.lazy_dataclass import dataclass
from isel.llvm import ir

_FILE = "nvgen.origins"
_ATTACHED = re.compile(r'"[^"]*"|,? !dbg !\d+')
_LOCATION = re.compile(r"^!(\d+) = (?:distinct )?!DILocation\(line: (\d+)[,)]", re.MULTILINE)
_A_LOCATION = re.compile(r"!(\d+) = (?:distinct )?!DILocation\(")
_LOOP = re.compile(r"!(\d+) = distinct !\{!\1[,}]")
_ELEMENT = re.compile(r'"[^"]*"|, !(\d+)\b')
_CONTINUES = re.compile(r" {4}(?! *#dbg_)|  \]")
_NODE = re.compile(r"!(\d+) = (.*)")
_REFERENCE = re.compile(r'"[^"]*"|!(\d+)\b')


@dataclass(slots=True)
class Origins:
    """The functions and instructions of the input, by number from 1."""

    instructions: list[tuple[ir.Function, ir.Instruction]] = field(default_factory=list)

    def of(self, module: ir.Module, text: str) -> dict[str, list[int]]:
        """For each function of the optimised module the number of its n-th instruction, or 0."""
        numbers = {int(node): int(line) for node, line in _LOCATION.findall(text)}
        return {
            function.name: [numbers.get(i.dbg or -1, 0) for i in function.instructions()]
            for function in module.definitions()
        }


def attach(lines: list[str], module: ir.Module) -> Origins:
    """Number every instruction: `lines` are changed in place and get more of them."""
    found = Origins()
    node = 1 + max(module.metadata, default=-1)
    unit, file, type_, empty = node, node + 1, node + 2, node + 3
    node += 4
    nodes = [
        f"!{unit} = distinct !DICompileUnit(language: DW_LANG_C, file: !{file}, "
        "isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug)",
        f'!{file} = !DIFile(filename: "{_FILE}", directory: "")',
        f"!{type_} = !DISubroutineType(types: !{empty})",
        f"!{empty} = !{{}}",
    ]
    for function in module.definitions():
        scope = node
        nodes.append(
            f'!{scope} = distinct !DISubprogram(name: "f", scope: !{file}, file: !{file}, line: 1, '
            f"type: !{type_}, spFlags: DISPFlagDefinition, unit: !{unit})"
        )
        node += 1
        at = _end_of_header(lines, function)
        lines[at] = f"{_detached(lines[at])[:-1].rstrip()} !dbg !{scope} {{"
        for i in function.instructions():
            found.instructions.append((function, i))
            nodes.append(f"!{node} = !DILocation(line: {len(found.instructions)}, scope: !{scope})")
            at = _last_line(lines, i)
            lines[at] = f"{_detached(lines[at])}, !dbg !{node}"
            node += 1
    _forget_loop_locations(lines)
    _set_aside(lines, unit)
    lines += nodes
    return found


def _end_of_header(lines: list[str], function: ir.Function) -> int:
    """The index of the line with the brace; a string in the header may go over lines."""
    first = function.blocks[0].instructions[0].line - 1
    return max(at for at in range(function.line - 1, first) if lines[at].endswith("{"))


def _last_line(lines: list[str], i: ir.Instruction) -> int:
    """The index of the line that an instruction ends on: what goes on is indented further."""
    at = i.line - 1
    while _CONTINUES.match(lines[at + 1]):
        at += 1
    return at


def _detached(line: str) -> str:
    """The line without its debug location."""
    return _ATTACHED.sub(lambda m: m[0] if m[0][0] == '"' else "", line) if "!dbg" in line else line


def _forget_loop_locations(lines: list[str]) -> None:
    """Take the ends of loops out of `!llvm.loop`: they lie in the user's functions, not in ours."""
    locations = {match[1] for line in lines if (match := _A_LOCATION.match(line))}
    for at, line in enumerate(lines):
        if locations and _LOOP.match(line):
            lines[at] = _ELEMENT.sub(lambda m: "" if m[1] in locations else m[0], line)


def _set_aside(lines: list[str], unit: int) -> None:
    """Take out the records of variables, and list our unit beside those that there are."""
    listed = False
    for at, line in enumerate(lines):
        if line.startswith("    #dbg_"):
            lines[at] = ""
        elif line.startswith("!llvm.dbg.cu = !{"):
            listed = True
            more = ", " if line[len("!llvm.dbg.cu = !{") :].strip("} ") else ""
            lines[at] = f"{line.rstrip()[:-1]}{more}!{unit}}}"
    if not listed:
        lines.append(f"!llvm.dbg.cu = !{{!{unit}}}")


def detach(text: str) -> str:
    """The optimised text without the numbers, and without the nodes that nothing refers to then."""
    lines = [_detached(line) for line in text.split("\n")]
    nodes = {match[1]: match[2] for line in lines if (match := _NODE.match(line))}
    ours = {n for n, rest in nodes.items() if "!DIFile(" in rest and f'"{_FILE}"' in rest}
    ours |= {n for n, rest in nodes.items() if "!DICompileUnit(" in rest and ours & _named(rest)}
    kept = [line for line in (_without_units(line, ours) for line in lines) if line is not None]
    needed: set[str] = set()
    waiting = set().union(*(_named(line) for line in kept if not _NODE.match(line)))
    while waiting:
        needed |= waiting
        waiting = set().union(*(_named(nodes[n]) for n in waiting if n in nodes)) - needed
    kept = [n for n in kept if (match := _NODE.match(n)) is None or match[1] in needed]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept))


def _named(text: str) -> set[str]:
    """The nodes that a text refers to, strings aside."""
    return set(_REFERENCE.findall(text)) - {""}


def _without_units(line: str, units: set[str]) -> str | None:
    """The list of compile units without ours, or None when no others are there."""
    if not line.startswith("!llvm.dbg.cu = "):
        return line
    left = [n for n in _REFERENCE.findall(line) if n not in units]
    return f"!llvm.dbg.cu = !{{{', '.join('!' + n for n in left)}}}" if left else None

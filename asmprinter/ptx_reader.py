"""PTX text to machine records.

Layer: asmprinter.  Input: a PTX module.  Output: an `intrinsics.mir.Module` and what could not be
read.  The reader recovers at `;`, so one bad statement never hides another; an instruction that PTX
has and nvgen does not know becomes an opaque record and a finding that says so.  PTX ISA, Syntax.

Understood: .version .target .address_size, module variables with initialisers, .entry and .func
with parameters and performance directives, .reg, labels, nested scopes, predicates, instructions.
.file, .loc, .section and .pragma are skipped.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, field

from asmprinter.opcode_reader import Candidate, read_opcode
from asmprinter.ptx_operands import Syntax, operand_facts, parse_operands, place
from asmprinter.ptx_tokens import OperandError
from intrinsics import catalog
from intrinsics.findings import Finding, Place, Severity
from intrinsics.legality import expected, got, judge, text_of
from intrinsics.mir import (
    Block,
    Imm,
    Label,
    Launch,
    Location,
    MachineFunction,
    MachineInstr,
    Module,
    Not,
    Param,
    Reg,
    Scalar,
    Sym,
    Text,
    Variable,
    form_of,
)
from intrinsics.modifiers import ScalarType, Space
from intrinsics.operand_fit import operand_problems
from intrinsics.row import Fact, Row
from intrinsics.targets import PTX_VERSIONS, TARGETS, Ptx, Target

_SPACE = re.compile(r"\s*")
_NAME = r"[A-Za-z_$%][\w$]*"
_LABEL = re.compile(rf"({_NAME})\s*:(?!:)")
_INSTRUCTION = re.compile(
    rf"(?:@(!?)\s*({_NAME})\s+)?([A-Za-z][\w.:]*(?:\s+\.[\w.:]+)*)\s*(.*)", re.DOTALL
)
_REGISTERS = re.compile(rf"({_NAME})(?:<(\d+)>)?")
_SPACES = {s.value: s for s in (Space.GLOBAL, Space.SHARED, Space.CONST, Space.LOCAL, Space.PARAM)}
_TYPES = {t.value: t for t in ScalarType}
_TO_LINE_END = ("version", "target", "address_size", "file", "loc")


@dataclass(slots=True)
class _Scope:
    """Names of one `{ … }`."""

    registers: dict[str, Reg] = field(default_factory=dict)
    ranges: dict[str, tuple[int, ScalarType]] = field(default_factory=dict)


@dataclass(slots=True)
class PtxReading:
    """A module read from PTX, and what the reader has to say about it."""

    module: Module
    findings: list[Finding]


def read_ptx(text: str, file: str = "", *, target: Target | None = None) -> PtxReading:
    """Read a PTX module.

    `target` overrides what `.target` says.  Findings, not exceptions, report what is wrong.
    """
    return _Reader(text, file, target).read()


def strip_comments(text: str) -> str:
    """The text with comments blanked out, so that every offset stays what it was."""

    def blank(match: re.Match[str]) -> str:
        found = match[0]
        return found if found[0] == '"' else re.sub(r"[^\n]", " ", found)

    return re.sub(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', blank, text, flags=re.DOTALL)


class _Reader:
    def __init__(self, text: str, file: str, target: Target | None) -> None:
        self.text = strip_comments(text)
        self.file = file
        self.wanted_target = target
        self.target: Target | None = target
        self.ptx: Ptx | None = None
        self.findings: list[Finding] = []
        self.line_starts = [0, *(m.end() for m in re.finditer("\n", self.text))]
        self.module = Module(TARGETS["sm_75"], source=file)
        self.symbols: dict[str, Space | None] = {}
        self.function: MachineFunction | None = None
        self.scopes: list[_Scope] = []
        self.labels: dict[str, str] = {}
        self.at = 0

    # ---- module level ------------------------------------------------------------------------

    def read(self) -> PtxReading:
        end = len(self.text)
        while not self._at_end(end):
            try:
                self._statement()
            except _BadStatementError as bad:
                self._report(bad.finding, bad.at)
        if self.function is not None:
            self._error("ptx/syntax", "the function's closing } is missing", end - 1)
            self._finish_function()
        self._settle_header()
        return PtxReading(self.module, self.findings)

    def _settle_header(self) -> None:
        if self.target is None:
            self._error("ptx/no-target", "the module has no .target", 0, expected=".target sm_…")
        if self.ptx is None:
            self._error("ptx/no-version", "the module has no .version", 0, expected=".version")
        self.module.target = self.target or TARGETS["sm_75"]
        self.module.ptx = self.ptx or PTX_VERSIONS[0]

    def _at_end(self, end: int) -> bool:
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        return self.at >= end

    def _statement(self) -> None:
        start = self.at
        first = self.text[start]
        if first == ";":
            self.at += 1
        elif first == "{":
            self.at += 1
            self.scopes.append(_Scope())
        elif first == "}":
            self.at += 1
            self._close_scope(start)
        elif first == ".":
            self._directive(start)
        elif match := _LABEL.match(self.text, start):
            self.at = match.end()
            self._label(match[1], start)
        else:
            self.at = self._end_of_statement(start)
            self._instruction(self.text[start : self.at - 1], start)

    def _end_of_statement(self, start: int) -> int:
        end = self.text.find(";", start)
        if end < 0:
            self.at = len(self.text)
            raise _BadStatementError(_finding("ptx/syntax", "expected ';'"), start)
        return end + 1

    # ---- directives --------------------------------------------------------------------------

    def _directive(self, start: int) -> None:
        match = re.compile(r"\.(\w+)").match(self.text, start)
        name = match[1] if match else ""
        if name in _TO_LINE_END:
            end = self.text.find("\n", start)
            self.at = len(self.text) if end < 0 else end
            self._line_directive(name, self.text[start : self.at].strip().rstrip(";"), start)
        elif name == "section":
            self._skip_section(start)
        elif name in ("visible", "extern", "weak", "common", "entry", "func"):
            self._definition(start)
        elif name == "reg":
            self.at = self._end_of_statement(start)
            self._declare_registers(self.text[start : self.at - 1], start)
        elif name in _SPACES:
            self._variable(start, external=False)
        else:
            self.at = self._end_of_statement(start)
            if name not in ("pragma", "branchtargets", "calltargets", "callprototype", "alias"):
                self._not_understood("ptx/directive", f"directive .{name}", start)

    def _line_directive(self, name: str, text: str, start: int) -> None:
        words = text.split(None, 1)
        rest = words[1].strip() if len(words) > 1 else ""
        if name == "version":
            match = re.fullmatch(r"(\d+)\.(\d+)", rest)
            self.ptx = Ptx(int(match[1]), int(match[2])) if match else None
            if self.ptx not in PTX_VERSIONS:
                self._error(
                    "ptx/version-unknown",
                    f"unknown PTX version '{rest}'",
                    start,
                    got=rest,
                    expected=f"{PTX_VERSIONS[0]} to {PTX_VERSIONS[-1]}",
                )
        elif name == "target" and self.wanted_target is None:
            word = rest.split(",")[0].strip()
            self.target = TARGETS.get(word)
            if self.target is None:
                self.target = TARGETS["sm_75"]
                self._error(
                    "target/unknown",
                    f"unknown target '{word}'",
                    start,
                    got=word,
                    expected="one that `nvgen targets` lists",
                )
        elif name == "address_size" and rest != "64":
            self._error(
                "ptx/address-size", "nvgen reads 64-bit modules", start, got=rest, expected="64"
            )

    def _skip_section(self, start: int) -> None:
        depth, at = 0, self.text.find("{", start)
        while 0 <= at < len(self.text):
            depth += {"{": 1, "}": -1}.get(self.text[at], 0)
            at += 1
            if depth == 0:
                self.at = at
                return
        self.at = len(self.text)
        raise _BadStatementError(_finding("ptx/syntax", "unterminated .section"), start)

    def _definition(self, start: int) -> None:
        stop = re.compile(r"[;{]").search(self.text, start)
        header = self.text[start : stop.start()] if stop else ""
        if stop is None:
            self.at = len(self.text)
            raise _BadStatementError(_finding("ptx/syntax", "expected ';' or '{'"), start)
        if re.search(r"\.(entry|func)\b", header):
            self.at = stop.end()
            if stop[0] == "{":
                self._open_function(header, start)
            return
        self._variable(start, external=".extern" in header)

    def _variable(self, start: int, *, external: bool) -> None:
        self.at = self._end_of_statement(start)
        text = self.text[start : self.at - 1]
        match = re.fullmatch(
            r"(?:\.(?:visible|extern|weak|common)\s+)*\.(?P<space>\w+)\s+"
            r"(?:\.attribute\([^)]*\)\s*)?(?:\.align\s+(?P<align>\d+)\s+)?\.(?P<type>\w+)\s+"
            rf"(?P<name>{_NAME})(?P<dims>(?:\s*\[\s*\d*\s*\])*)\s*(?:=\s*(?P<init>.*))?",
            text.strip(),
            re.DOTALL,
        )
        type_ = _TYPES.get(match["type"]) if match else None
        if match is None or type_ is None or match["space"] not in _SPACES:
            raise _BadStatementError(
                _finding(
                    "ptx/declaration", "cannot read this declaration", got=" ".join(text.split())
                ),
                start,
            )
        space, name = _SPACES[match["space"]], match["name"]
        element = max(type_.bits // 8, 1)
        dims = [int(d or 0) for d in re.findall(r"\[\s*(\d*)\s*\]", match["dims"])]
        size = element
        for dim in dims:
            size *= dim
        data = _initializer(match["init"], element, size) if match["init"] else None
        variable = Variable(name, space, size, int(match["align"] or element), data, external)
        self.symbols[name] = Space.PARAM_FUNC if space is Space.PARAM else space
        if space is not Space.PARAM:
            self.module.variables.append(variable)

    # ---- functions ---------------------------------------------------------------------------

    def _open_function(self, header: str, start: int) -> None:
        match = re.search(
            rf"\.(entry|func)\s*(\([^)]*\))?\s*({_NAME})\s*(\([^)]*\))?(.*)", header, re.DOTALL
        )
        if match is None:
            raise _BadStatementError(
                _finding(
                    "ptx/declaration",
                    "cannot read this function's header",
                    got=" ".join(header.split()),
                ),
                start,
            )
        function = MachineFunction(match[3], is_kernel=match[1] == "entry", keep_names=True)
        self.symbols[function.name] = None
        for text in (match[4] or "")[1:-1].split(","):
            if text.strip():
                function.params.append(self._param(text, start))
        for param in function.params:
            self.symbols[param.name] = Space.PARAM_ENTRY if function.is_kernel else Space.PARAM_FUNC
        function.launch = _launch(match[5])
        function.blocks.append(Block("entry"))
        self.function = function
        self.scopes = [_Scope()]
        self.labels = {}

    def _param(self, text: str, start: int) -> Param:
        match = re.fullmatch(
            r"\.param\s+(?:\.align\s+(?P<align0>\d+)\s+)?\.(?P<type>\w+)\s+"
            r"(?:(?P<ptr>\.ptr)\s*(?:\.(?P<space>global|shared|const|local)\s*)?"
            r"(?:\.align\s+(?P<align>\d+)\s+)?)?"
            rf"(?P<name>{_NAME})\s*(?:\[\s*(?P<size>\d+)\s*\])?",
            text.strip(),
        )
        type_ = _TYPES.get(match["type"]) if match else None
        if match is None or type_ is None:
            raise _BadStatementError(
                _finding(
                    "ptx/declaration", "cannot read this parameter", got=" ".join(text.split())
                ),
                start,
            )
        element = max(type_.bits // 8, 1)
        size = element * int(match["size"] or 1)
        pointee = _SPACES[match["space"]] if match["space"] else None
        align = int(match["align0"] or element)
        is_pointer = match["ptr"] is not None
        return Param(
            match["name"], type_, size, align, pointee, is_pointer, int(match["align"] or 1)
        )

    def _close_scope(self, start: int) -> None:
        if not self.scopes:
            raise _BadStatementError(_finding("ptx/syntax", "unexpected '}'"), start)
        self.scopes.pop()
        if not self.scopes:
            self._finish_function()

    def _finish_function(self) -> None:
        function = self.function
        assert function is not None
        names = {block.name for block in function.blocks}
        for mi in function.instructions():
            for op in mi.ops:
                if isinstance(op, Label) and op.name not in names:
                    place_ = self.module.locations[mi.loc]
                    self.findings.append(
                        Finding(
                            "ptx/undeclared",
                            Severity.ERROR,
                            f"label '{op.name}' is not defined",
                            self._place_of(place_),
                            op=mi.row.head,
                            got=op.name,
                        )
                    )
        if len(function.blocks) > 1 and not function.blocks[-1].instrs:
            used = {
                op.name for mi in function.instructions() for op in mi.ops if isinstance(op, Label)
            }
            if function.blocks[-1].name not in used:
                function.blocks.pop()
        self.module.functions.append(function)
        self.function = None
        self.scopes = []

    def _label(self, name: str, start: int) -> None:
        function = self.function
        if function is None:
            raise _BadStatementError(
                _finding("ptx/syntax", "a label outside a function", got=name), start
            )
        name = block_name(name)
        if any(block.name == name for block in function.blocks if block.instrs or name != "entry"):
            raise _BadStatementError(
                _finding("ptx/duplicate-label", f"label '{name}' is defined twice"), start
            )
        last = function.blocks[-1]
        if (not last.instrs and last.name.startswith(_UNNAMED)) or (
            not last.instrs and last is function.blocks[0] and last.name == "entry"
        ):
            last.name = name
        else:
            function.blocks.append(Block(name))

    # ---- registers ---------------------------------------------------------------------------

    def _declare_registers(self, text: str, start: int) -> None:
        match = re.fullmatch(r"\.reg\s+(?:\.v[24]\s+)?\.(\w+)\s+(.*)", text.strip(), re.DOTALL)
        type_ = _TYPES.get(match[1]) if match else None
        if match is None or type_ is None or self.function is None:
            raise _BadStatementError(
                _finding(
                    "ptx/declaration", "cannot read this declaration", got=" ".join(text.split())
                ),
                start,
            )
        scope = self.scopes[-1]
        for name in match[2].split(","):
            found = _REGISTERS.fullmatch(name.strip())
            if found is None:
                raise _BadStatementError(
                    _finding("ptx/declaration", "cannot read this register name", got=name.strip()),
                    start,
                )
            if found[2]:
                scope.ranges[found[1]] = int(found[2]), type_
            else:
                scope.registers[found[1]] = self.function.regs.new(type_, found[1])

    def _resolve(self, name: str) -> Scalar | None:
        for scope in reversed(self.scopes):
            found = scope.registers.get(name)
            if found is not None:
                return found
            ranged = self._from_range(scope, name)
            if ranged is not None:
                return ranged
        if name in self.symbols:
            return Sym(name)
        return None

    def _from_range(self, scope: _Scope, name: str) -> Reg | None:
        match = re.fullmatch(r"(.*?)(0|[1-9]\d*)", name)
        if match is None or match[1] not in scope.ranges or self.function is None:
            return None
        count, type_ = scope.ranges[match[1]]
        if int(match[2]) >= count:
            return None
        reg = self.function.regs.new(type_, name)
        scope.registers[name] = reg
        return reg

    # ---- instructions ------------------------------------------------------------------------

    def _instruction(self, text: str, start: int) -> None:
        match = _INSTRUCTION.fullmatch(text)
        if match is None:
            raise _BadStatementError(
                _finding(
                    "ptx/syntax", "cannot read this statement", got=" ".join(text.split())[:60]
                ),
                start,
            )
        if self.function is None:
            raise _BadStatementError(
                _finding("ptx/syntax", "an instruction outside a function"), start
            )
        negated, predicate, name, rest = match.groups()
        name = "".join(name.split())
        reading = read_opcode(name)
        if not reading.candidates:
            if not reading.known_elsewhere:
                raise _BadStatementError(
                    _finding(
                        "ptx/unknown-instruction",
                        f"no instruction '{name}'",
                        got=name,
                        section="Instruction Set",
                    ),
                    start,
                )
            self._opaque(text, start, name)
            return
        if reading.candidates[0].foreign:
            self._opaque(text, start, name)
            return
        guard = self._guard(negated, predicate, start)
        try:
            operands = parse_operands(rest, self._operand_name(name))
        except OperandError as error:
            if reading.candidates[0].problems:
                self._report_problems(reading.candidates[0], start)
            raise _BadStatementError(
                _finding("ptx/operands", str(error), op=name, got=" ".join(rest.split())), start
            ) from None
        self._record(reading.candidates, operands, guard, start)

    def _operand_name(self, name: str) -> _Names:
        return _Names(self, is_branch=name.split(".")[0] == "bra")

    def _guard(self, negated: str, predicate: str | None, start: int) -> Reg | Not | None:
        if predicate is None:
            return None
        reg = self._resolve(predicate)
        assert self.function is not None
        if type(reg) is not int or self.function.regs.classes[reg] is not ScalarType.PRED:
            raise _BadStatementError(
                _finding(
                    "ptx/guard", "a guard is a predicate register", got="@" + negated + predicate
                ),
                start,
            )
        return Not(reg) if negated else reg

    def _record(
        self,
        candidates: tuple[Candidate, ...],
        operands: list[Syntax],
        guard: Reg | Not | None,
        start: int,
    ) -> None:
        best = self._best(candidates, operands)
        if best.problems:
            self._report_problems(best, start)
            return
        placed = place(best.row, best.facts, operands)
        if placed is None:
            raise _BadStatementError(
                _finding(
                    "ptx/operands",
                    f"operands do not fit {best.row.head}",
                    op=best.row.head,
                    got=f"{len(operands)} operands",
                    expected=best.row.syntax or "no operand",
                    section=best.row.section,
                ),
                start,
            )
        facts = {**best.facts, **operand_facts(best.row, placed)}
        row = best.row
        words = row.words.pack(facts) if row.words else {}
        form = form_of(row, **facts)
        if row.words and any(
            fact is not None and row.words.unpack(words, form.facts)[0].get(axis) is not fact
            for axis, fact in best.facts.items()
            if axis in row.words.axes
        ):
            self._report_broken(row, facts, start)
            return
        ops = tuple(placed[s] if s in placed else Imm(words[s]) for s in form.slots)
        self._append(MachineInstr(form, ops, guard, self._location(start)))

    def _best(self, candidates: tuple[Candidate, ...], operands: list[Syntax]) -> Candidate:
        """Of the rows that share a head, the first whose operands fit."""
        clean = [c for c in candidates if not c.problems]
        if len(clean) < 2:
            return candidates[0]
        assert self.function is not None
        classes = self.function.regs.classes
        for candidate in clean:
            placed = place(candidate.row, candidate.facts, operands)
            if placed is None:
                continue
            facts = {**candidate.facts, **operand_facts(candidate.row, placed)}
            form = form_of(candidate.row, **facts)
            if candidate.row.words is None and not any(
                operand_problems(
                    form, facts, tuple(placed[s] for s in form.slots), classes, self.symbols.get
                )
            ):
                return candidate
        return clean[0]

    def _append(self, mi: MachineInstr) -> None:
        assert self.function is not None
        self.function.blocks[-1].instrs.append(mi)
        if mi.form.is_terminator:
            self.function.blocks.append(Block(f"{_UNNAMED}{len(self.function.blocks)}"))

    def _opaque(self, text: str, start: int, name: str) -> None:
        kept = " ".join(text.split())
        form = form_of(catalog.row("opaque"))
        self._append(MachineInstr(form, (Text(kept),), None, self._location(start)))
        self._not_understood("ptx/not-modelled", f"instruction '{name}'", start, op=name)

    # ---- reporting ---------------------------------------------------------------------------

    def _location(self, start: int) -> int:
        line, column = self._line_column(start)
        self.module.locations.append(Location(self.file, line, column))
        return len(self.module.locations) - 1

    def _line_column(self, start: int) -> tuple[int, int]:
        line = bisect.bisect_right(self.line_starts, start)
        return line, start - self.line_starts[line - 1] + 1

    def _place_of(self, location: Location) -> Place:
        function = self.function.name if self.function else ""
        return Place(location.file, location.line, location.column, function)

    def _report(self, finding: Finding, start: int) -> None:
        line, column = self._line_column(start)
        function = self.function.name if self.function else ""
        self.findings.append(finding.at(Place(self.file, line, column, function)))

    def _report_problems(self, candidate: Candidate, start: int) -> None:
        for problem in candidate.problems:
            self._report(
                _finding(
                    "ptx/" + problem.rule,
                    problem.text,
                    op=candidate.row.head,
                    got=problem.got,
                    expected=problem.expected,
                    section=candidate.row.section,
                ),
                start,
            )

    def _report_broken(self, row: Row, facts: dict[str, Fact], start: int) -> None:
        """What is wrong with a form that no record can hold."""
        for rule in judge(row, facts).broken:
            self._report(
                _finding(
                    f"{row.head}/{rule.id}",
                    text_of(rule),
                    op=row.spell(facts),
                    got=got(rule, facts),
                    expected=expected(rule),
                    section=row.section,
                ),
                start,
            )

    def _error(
        self, rule: str, text: str, start: int, *, got: str = "", expected: str = ""
    ) -> None:
        self._report(_finding(rule, text, got=got, expected=expected), max(start, 0))

    def _not_understood(self, rule: str, what: str, start: int, op: str = "") -> None:
        self._report(
            Finding(
                rule,
                Severity.REVIEW,
                f"{what} is not known to nvgen: kept as it stands, not judged",
                op=op,
                incomplete=True,
            ),
            start,
        )


_UNNAMED = "bb_"


class _BadStatementError(Exception):
    """A statement that cannot be read; the reader reports it and goes on after the next `;`."""

    def __init__(self, finding: Finding, at: int) -> None:
        self.finding = finding
        self.at = at
        super().__init__(finding.message)


@dataclass(slots=True)
class _Names:
    """How names in an operand list resolve; a branch's target is a label whatever its name."""

    reader: _Reader
    is_branch: bool

    def __call__(self, name: str) -> Scalar | None:
        found = self.reader._resolve(name)
        if found is None and self.is_branch:
            return Label(block_name(name))
        return found


def block_name(label: str) -> str:
    """The block that a PTX label names: nvgen's own labels lose their prefix."""
    return label.removeprefix("$L_")


def _finding(
    rule: str, message: str, *, op: str = "", got: str = "", expected: str = "", section: str = ""
) -> Finding:
    see = f"PTX ISA, {section}" if section else ""
    return Finding(rule, Severity.ERROR, message, op=op, got=got, expected=expected, section=see)


def _launch(text: str) -> Launch:
    def numbers(name: str) -> tuple[int, ...]:
        match = re.search(rf"\.{name}\s+(\d+(?:\s*,\s*\d+)*)", text)
        return tuple(int(n) for n in match[1].split(",")) if match else ()

    def one(name: str) -> int:
        return next(iter(numbers(name)), 0)

    return Launch(
        numbers("reqntid"),
        numbers("maxntid"),
        numbers("reqnctapercluster"),
        one("maxnreg"),
        one("minnctapersm"),
    )


def _initializer(text: str, element: int, size: int) -> bytes:
    values = [int(v.rstrip("U"), 0) for v in re.findall(r"-?(?:0[xX][0-9a-fA-F]+|\d+)U?", text)]
    mask = (1 << 8 * element) - 1
    data = b"".join((v & mask).to_bytes(element, "little") for v in values)
    return data.ljust(size, b"\0")

r"""MIR text to machine records.

Layer: asmprinter.  Input: what `asmprinter.mir_printer` writes, or a person does.  Output: an
`intrinsics.mir.Module`; `read_mir(print_mir(m).text) == m` for every module whose registers are
numbered by first appearance (`intrinsics.mir.renumber`).

The grammar, line by line; `;` begins a comment, blank lines do not count:

    module    = "target" NAME | "ptx" MAJOR.MINOR | "source" STRING | variable | function | location
    variable  = ["extern"] SPACE "@"NAME ":" "size" INT "align" INT ["=" HEX]
    function  = ("kernel" | "func") "@"NAME "(" { param [","] } ")" { launch } ["named"] "{"
                { block } "}"
    param     = "param" "@"NAME ":" TYPE "size" INT "align" INT ["ptr" SPACE INT] ["constant"]
    launch    = ("reqntid" | "maxntid" | "cluster" | "maxnreg" | "minctasm") INT { INT }
    block     = "bb."NAME ":" { record }
    record    = [guard] [results "="] OPCODE [operands] ["!"INT]
              | [guard] [results "="] OPCODE ["!"INT], then lines NAME ":" operand
    guard     = "@" ["!"] register
    results   = result { "," result }
    operands  = operand { "," operand } ; one that may be left out is written NAME "=" operand
    operand   = register | "!" register | "imm:"INT | "fimm:"FLOAT | "sreg:"NAME | "@"NAME
              | "bb."NAME | "text:"STRING | "_" | "[" (register | "@"NAME) [("+" | "-") INT] "]"
              | "{" operand { "," operand } "}" | "{" register "..." register "}"
    register  = "%"NAME [":" CLASS]      ; the class may be left out once it is known
    location  = "!"INT "=" STRING":"INT":"INT ["from" STRING":"INT]

Which operands tie to which results, and which words are packed, is the opcode's own.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from asmprinter.mir_printer import register_range
from intrinsics import catalog
from intrinsics.findings import Finding, InputError, Place, Severity
from intrinsics.mir import (
    SINK,
    Block,
    FloatImm,
    Imm,
    Label,
    Launch,
    Location,
    MachineFunction,
    MachineInstr,
    Mem,
    Module,
    Not,
    Op,
    Param,
    Reg,
    Scalar,
    Special,
    Sym,
    Text,
    Variable,
    form_of,
)
from intrinsics.modifiers import ScalarType, Space
from intrinsics.row import Access, Fact, Kind, Operand, Residency, Row
from intrinsics.targets import PTX_VERSIONS, TARGETS, Ptx, Target

_TOKEN = re.compile(
    r"\s*(?:"
    r'(?P<string>"(?:\\.|[^"\\])*")'
    r'|(?P<reg>%(?:"(?:\\.|[^"\\])*"|[\w.$-]+))'
    r"|(?P<imm>imm:-?\d+)"
    r"|(?P<fimm>fimm:0[fd][0-9A-Fa-f]+)"
    r"|(?P<sreg>sreg:[\w.]+)"
    r'|(?P<text>text:"(?:\\.|[^"\\])*")'
    r"|(?P<sym>@[A-Za-z_$][\w$%]*)"
    r"|(?P<label>bb\.[\w$%]+)"
    r"|(?P<loc>!\d+)"
    r"|(?P<word>[A-Za-z_][\w.]*(?:::\w+)*)"
    r"|(?P<hex>0x(?:[0-9a-f]{2})*\b)"
    r"|(?P<version>\d+\.\d+)"
    r"|(?P<int>-?\d+)"
    r"|(?P<mark>\.\.\.|[][{}(),:=@!+-])"
    r")"
)
_SPACES = {space.value: space for space in Space}
_CLASSES = {cls.value: cls for cls in ScalarType}


class _BadLineError(Exception):
    """A line that does not follow the grammar."""


@dataclass(slots=True)
class _Line:
    """The tokens of one line, and where reading stands."""

    number: int
    tokens: list[tuple[str, str]]
    at: int = 0

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def peek_kind(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def take(self, kind: str = "", text: str = "") -> str:
        found_kind, found = self.peek_kind(), self.peek()
        if not found_kind or (kind and found_kind != kind) or (text and found != text):
            wanted = f"'{text}'" if text else kind or "more"
            raise _BadLineError(f"expected {wanted}, got '{found or 'the end of the line'}'")
        self.at += 1
        return found

    def take_if(self, text: str) -> bool:
        if self.peek() != text:
            return False
        self.at += 1
        return True

    def integer(self) -> int:
        return int(self.take("int"))

    def is_operand(self) -> bool:
        return self.peek_kind() == "word" and self.tokens[1:2] == [("mark", ":")]

    def end(self) -> None:
        if self.at < len(self.tokens):
            raise _BadLineError(f"unexpected '{self.peek()}'")


def _tokenize(number: int, text: str) -> _Line:
    tokens, at = [], 0
    text = _without_comment(text).rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise _BadLineError(f"cannot read '{text[at:].strip()[:20]}'")
        tokens.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return _Line(number, tokens)


def _without_comment(text: str) -> str:
    match = re.match(r'(?:"(?:\\.|[^"\\])*"|[^";])*', text)
    return match[0] if match else text


def read_mir(text: str, file: str = "", *, own_lines: bool = False) -> Module:
    """Read a MIR module.

    With `own_lines` the records' locations are lines of `text`, and what they were read from stands
    in the place of the Python line.

    Raises: InputError with one finding for each line that does not follow the grammar.
    """
    reader = _Reader(text, file)
    module = reader.read()
    if own_lines:
        _locate(module, file, reader.record_lines, text.split("\n"))
    return module


def _locate(module: Module, file: str, lines: list[int], text: list[str]) -> None:
    """Give every record the line of `text` that it stands on."""
    old, module.locations = module.locations, [Location()]
    records = (mi for function in module.functions for mi in function.instructions())
    for mi, line in zip(records, lines, strict=True):
        origin = old[mi.loc]
        shown = text[line - 1]
        column = len(shown) - len(shown.lstrip()) + 1
        module.locations.append(Location(file, line, column, origin.file, origin.line))
        mi.loc = len(module.locations) - 1


@dataclass(slots=True)
class _Body:
    """A function being read: the registers that have a name, and where they stand."""

    function: MachineFunction
    registers: dict[str, Reg] = field(default_factory=dict)


class _Reader:
    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.findings: list[Finding] = []
        self.lines = self._lines(text)
        self.ahead: _Line | None = None
        self.target: Target | None = None
        self.module = Module(TARGETS["sm_75"])
        self.locations: dict[int, Location] = {}
        self.record_lines: list[int] = []

    def _lines(self, text: str) -> Iterator[_Line]:
        for number, line in enumerate(text.split("\n"), 1):
            try:
                tokens = _tokenize(number, line)
            except _BadLineError as bad:
                self._report(number, str(bad))
                continue
            if tokens.tokens:
                yield tokens

    def _report(self, line: int, message: str) -> None:
        place = Place(self.file, line)
        self.findings.append(Finding("mir/syntax", Severity.ERROR, message, place))

    def read(self) -> Module:
        while self._peek_line() is not None:
            line = self._next()
            try:
                self._top(line)
            except _BadLineError as bad:
                self._report(line.number, str(bad))
        if self.target is None:
            self._report(1, "the module has no target line")
        if not self.findings:
            self._settle_locations()
        if self.findings:
            raise InputError(self.findings)
        assert self.target is not None
        self.module.target = self.target
        return self.module

    def _top(self, line: _Line) -> None:
        if line.peek_kind() == "loc":
            self._location(line)
            return
        match line.take("word"):
            case "target":
                name = line.take("word")
                self.target = TARGETS.get(name)
                if self.target is None:
                    raise _BadLineError(f"unknown target '{name}'")
            case "ptx":
                self._version(line)
            case "source":
                self.module.source = _unquoted(line.take("string"))
            case "kernel" | "func" as kind:
                self._function(line, is_kernel=kind == "kernel")
                return
            case "extern":
                self._variable(line, line.take("word"), external=True)
            case word:
                self._variable(line, word, external=False)
        line.end()

    def _version(self, line: _Line) -> None:
        major, _, minor = line.take("version").partition(".")
        self.module.ptx = Ptx(int(major), int(minor))
        if self.module.ptx not in PTX_VERSIONS:
            raise _BadLineError(f"unknown PTX version {self.module.ptx}")

    def _variable(self, line: _Line, space: str, *, external: bool) -> None:
        if space not in _SPACES:
            raise _BadLineError(f"unexpected '{space}'")
        name = line.take("sym")[1:]
        line.take("mark", ":")
        line.take("word", "size")
        size = line.integer()
        line.take("word", "align")
        align = line.integer()
        data = bytes.fromhex(line.take("hex")[2:]) if line.take_if("=") else None
        self.module.variables.append(Variable(name, _SPACES[space], size, align, data, external))

    def _location(self, line: _Line) -> None:
        index = int(line.take("loc")[1:])
        line.take("mark", "=")
        file = _unquoted(line.take("string"))
        line.take("mark", ":")
        number = line.integer()
        line.take("mark", ":")
        column = line.integer()
        python_file, python_line = "", 0
        if line.take_if("from"):
            python_file = _unquoted(line.take("string"))
            line.take("mark", ":")
            python_line = line.integer()
        line.end()
        self.locations[index] = Location(file, number, column, python_file, python_line)

    def _settle_locations(self) -> None:
        """Put the locations into their table, and check that the records' are among them."""
        known = range(1, len(self.locations) + 1)
        if sorted(self.locations) != list(known):
            self._report(1, f"locations are numbered from !1 to !{len(self.locations)}, one each")
            return
        self.module.locations += [self.locations[i] for i in known]
        records = (mi for f in self.module.functions for mi in f.instructions())
        for mi, line in zip(records, self.record_lines, strict=True):
            if mi.loc >= len(self.module.locations):
                self._report(line, f"location !{mi.loc} is not defined")

    # ---- functions ---------------------------------------------------------------------------

    def _function(self, line: _Line, *, is_kernel: bool) -> None:
        function = MachineFunction(line.take("sym")[1:], is_kernel)
        line.take("mark", "(")
        while not line.take_if(")"):
            if line.peek():
                function.params.append(self._param(line))
                line.take_if(",")
            else:
                line = self._next()
        self._launch(line, function)
        body = _Body(function)
        while (line := self._next()).peek() != "}":
            try:
                self._body_line(line, body)
            except _BadLineError as bad:
                self._report(line.number, str(bad))
        self.module.functions.append(function)

    def _peek_line(self) -> _Line | None:
        if self.ahead is None:
            self.ahead = next(self.lines, None)
        return self.ahead

    def _next(self) -> _Line:
        following = self._peek_line()
        if following is None:
            raise _BadLineError("the function's closing } is missing")
        self.ahead = None
        return following

    def _param(self, line: _Line) -> Param:
        line.take("word", "param")
        name = line.take("sym")[1:]
        line.take("mark", ":")
        cls = _class(line.take("word"))
        line.take("word", "size")
        size = line.integer()
        line.take("word", "align")
        align = line.integer()
        pointee, is_pointer, pointee_align = None, line.take_if("ptr"), 1
        if is_pointer:
            pointee = _SPACES.get(line.take("word"))
            pointee_align = line.integer()
        constant = line.take_if("constant")
        return Param(name, cls, size, align, pointee, is_pointer, pointee_align, constant)

    def _launch(self, line: _Line, function: MachineFunction) -> None:
        found: dict[str, tuple[int, ...]] = {}
        while not line.take_if("{"):
            word = line.take("word")
            if word == "named":
                function.keep_names = True
                continue
            numbers = []
            while line.peek_kind() == "int":
                numbers.append(line.integer())
            found[word] = tuple(numbers)
        line.end()
        unknown = set(found) - {"reqntid", "maxntid", "cluster", "maxnreg", "minctasm"}
        if unknown:
            raise _BadLineError(f"unexpected '{unknown.pop()}'")
        function.launch = Launch(
            found.get("reqntid", ()),
            found.get("maxntid", ()),
            found.get("cluster", ()),
            next(iter(found.get("maxnreg", ())), 0),
            next(iter(found.get("minctasm", ())), 0),
        )

    def _body_line(self, line: _Line, body: _Body) -> None:
        if line.peek_kind() == "label":
            name = line.take("label")[3:]
            line.take("mark", ":")
            line.end()
            body.function.blocks.append(Block(name))
            return
        if not body.function.blocks:
            raise _BadLineError("a record before the first block")
        body.function.blocks[-1].instrs.append(self._record(line, body))
        self.record_lines.append(line.number)

    # ---- records -----------------------------------------------------------------------------

    def _record(self, line: _Line, body: _Body) -> MachineInstr:
        guard = self._guard(line, body)
        results = self._results(line, body)
        opcode = line.take("word")
        found = catalog.form_of_opcode(opcode)
        if found is None:
            raise _BadLineError(f"no opcode '{opcode}'" + _near(opcode))
        row, axes = found
        given = dict(zip(_result_names(row), results, strict=False))
        if len(results) > len(_result_names(row)):
            raise _BadLineError(f"{opcode} has {len(_result_names(row))} results")
        given.update(self._operands(line, body, row))
        loc = self._mark(line)
        line.end()
        given.update(self._operand_lines(body))
        return _build(row, axes, given, guard, loc)

    def _guard(self, line: _Line, body: _Body) -> Reg | Not | None:
        if not line.take_if("@"):
            return None
        negated = line.take_if("!")
        reg = self._register(line, body)
        return Not(reg) if negated else reg

    def _results(self, line: _Line, body: _Body) -> list[Op]:
        if ("mark", "=") not in line.tokens or not self._begins_with_result(line):
            return []
        found = [self._operand(line, body)]
        while line.take_if(","):
            found.append(self._operand(line, body))
        line.take("mark", "=")
        return found

    def _begins_with_result(self, line: _Line) -> bool:
        return line.peek_kind() == "reg" or line.peek() in ("{", "_")

    def _mark(self, line: _Line) -> int:
        return int(line.take("loc")[1:]) if line.peek_kind() == "loc" else 0

    def _operand_lines(self, body: _Body) -> dict[str, Op]:
        given: dict[str, Op] = {}
        while (line := self._peek_line()) is not None and line.is_operand():
            self._next()
            name = line.take("word")
            line.take("mark", ":")
            given[name] = self._operand(line, body)
            line.end()
        return given

    def _operands(self, line: _Line, body: _Body, row: Row) -> dict[str, Op]:
        names = [
            slot
            for slot in row.slot_names
            if slot not in row.optional and slot not in _result_names(row)
        ]
        given: dict[str, Op] = {}
        position = 0
        while line.peek() and line.peek_kind() != "loc":
            if line.peek_kind() == "word" and self._is_named(line):
                name = line.take("word")
                line.take("mark", "=")
                given[name] = self._operand(line, body)
            elif position < len(names):
                given[names[position]] = self._operand(line, body)
                position += 1
            else:
                raise _BadLineError(f"{row.head} takes {len(names)} operands here")
            if not line.take_if(","):
                break
        return given

    def _is_named(self, line: _Line) -> bool:
        following = line.tokens[line.at + 1 : line.at + 2]
        return following == [("mark", "=")]

    # ---- operands ----------------------------------------------------------------------------

    def _operand(self, line: _Line, body: _Body) -> Op:
        if line.take_if("{"):
            parts = self._range(line, body) or [self._scalar(line, body)]
            while line.take_if(","):
                parts.append(self._scalar(line, body))
            line.take("mark", "}")
            return tuple(parts)
        return self._scalar(line, body)

    def _range(self, line: _Line, body: _Body) -> list[Scalar]:
        """`%r.0:b32 ... %r.31:b32`."""
        ahead = line.tokens[line.at : line.at + 7]
        texts = [text for _, text in ahead]
        if texts[1:2] + texts[3:4] + texts[5:6] != [":", "...", ":"]:
            return []
        line.at += 7
        cls = _class(texts[2])
        names = register_range("".join(texts[:3]), "".join(texts[4:]))
        if not names:
            raise _BadLineError(f"no range of registers from {texts[0]} to {texts[4]}")
        return [self._named(name.rpartition(":")[0][1:], cls, body) for name in names]

    def _scalar(self, line: _Line, body: _Body) -> Scalar:
        kind, text = line.peek_kind(), line.peek()
        if kind == "reg":
            return self._register(line, body)
        line.take()
        match kind:
            case "imm":
                return Imm(int(text[4:]))
            case "fimm":
                cls = ScalarType.F32 if text[6] == "f" else ScalarType.F64
                return FloatImm(int(text[7:], 16), cls)
            case "sreg":
                return Special(text[5:])
            case "sym":
                return Sym(text[1:], self._offset(line))
            case "label":
                return Label(text[3:])
            case "text":
                return Text(_unquoted(text[5:]))
        match text:
            case "_":
                return SINK
            case "!":
                return Not(self._register(line, body))
            case "[":
                return self._address(line, body)
        raise _BadLineError(f"'{text}' is no operand")

    def _address(self, line: _Line, body: _Body) -> Mem:
        base: Reg | Sym
        if line.peek_kind() == "sym":
            base = Sym(line.take("sym")[1:])
        else:
            base = self._register(line, body)
        offset = self._offset(line)
        line.take("mark", "]")
        return Mem(base, offset)

    def _offset(self, line: _Line) -> int:
        if line.peek() in ("+", "-"):
            sign = -1 if line.take() == "-" else 1
            return sign * line.integer()
        return line.integer() if line.peek_kind() == "int" else 0

    def _register(self, line: _Line, body: _Body) -> Reg:
        name = line.take("reg")[1:]
        cls = None
        if line.peek() == ":" and line.tokens[line.at + 1 : line.at + 2]:
            line.take("mark", ":")
            cls = _class(line.take("word"))
        return self._named(name, cls, body)

    def _named(self, name: str, cls: ScalarType | None, body: _Body) -> Reg:
        found = body.registers.get(name)
        regs = body.function.regs
        if found is None:
            if cls is None:
                raise _BadLineError(f"the first %{name} needs a class (%{name}:b32)")
            found = regs.new(cls, _hint(name, keep=body.function.keep_names))
            body.registers[name] = found
        elif cls is not None and cls is not regs.classes[found]:
            raise _BadLineError(f"%{name} is a {regs.classes[found].value}, not a {cls.value}")
        return found


def _hint(name: str, *, keep: bool) -> str:
    if keep:
        return _unquoted(name) if name.startswith('"') else "%" + name
    return "" if name.isdigit() else name


def _class(text: str) -> ScalarType:
    found = _CLASSES.get(text)
    if found is None:
        raise _BadLineError(f"no register class '{text}'")
    return found


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])


def _near(opcode: str) -> str:
    prefixes = sorted(
        {row.opcode_ends[0].strip("_") for row in catalog.rows()},
        key=lambda p: (-_common(p, opcode), len(p)),
    )
    best = prefixes[0]
    return f"; the nearest family is {best}" if _common(best, opcode) > 3 else ""


def _common(a: str, b: str) -> int:
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))
    return len(list(same))


def _result_names(row: Row) -> list[str]:
    return [operand.name for operand in row.operands if operand.access is Access.WRITE]


def _build(
    row: Row,
    axes: Mapping[str, Fact],
    given: dict[str, Op],
    guard: Reg | Not | None,
    loc: int,
) -> MachineInstr:
    placed = {name: op for name, op in given.items() if not _is_discarded(row, name, op)}
    facts: dict[str, Fact] = dict(axes)
    facts.update((name, name in placed) for name in row.optional)
    for operand in row.operands:
        if operand.kind is Kind.MATRIX:
            there = isinstance(placed.get(operand.name), Mem)
            facts[operand.name] = Residency.TENSOR if there else Residency.SHARED
    form = form_of(row, **facts)
    missing = [slot for slot in form.slots if slot not in placed]
    if missing:
        raise _BadLineError(f"{form.opcode} needs {', '.join(missing)}")
    unknown = [name for name in placed if name not in form.index]
    if unknown:
        raise _BadLineError(f"{form.opcode} has no operand {', '.join(unknown)}")
    ops = tuple(_address_of(row.operand.get(slot), placed[slot]) for slot in form.slots)
    return MachineInstr(form, ops, guard, loc)


def _is_discarded(row: Row, name: str, op: Op) -> bool:
    operand = row.operand.get(name)
    return op is SINK and operand is not None and operand.kind is Kind.REGISTER and operand.sink


def _address_of(operand: Operand | None, op: Op) -> Op:
    """A tensor memory address may be written without its brackets."""
    if operand is not None and operand.kind is Kind.TENSOR_ADDRESS and type(op) is int:
        return Mem(op)
    return op

r"""MIR text to machine records.

Layer: asmprinter.  Input: what `asmprinter.mir.printer` writes, or a person does.  Output: an
`intrinsics.mir.Module`; `read_mir(print_mir(m).text) == m` for every module whose registers are
numbered by first appearance (`intrinsics.mir.renumber`).

The grammar, line by line; `;` begins a comment, blank lines do not count:

    module    = { "target" WORD { WORD } | "ptx" INT"."INT | "stage" STRING | "source" STRING
                | variable | function | "declare" prototype
                | "kept" ("top" | "middle" | "bottom") STRING | location }
                                                ; a target with what .target says beside it; the
                                                ; pass after which it was printed, if others
                                                ; follow; no more than one of the first four
    variable  = [LINKAGE] SPACE symbol ":" "size" INT "align" INT ["type" CLASS]
                ["=" HEX { initial }] ["attribute" STRING]
                                                ; a call's parameter has a type, or is bytes
    initial   = "at" INT ["generic"] symbol ["-"] INT           ; an address among the bytes
    function  = ("kernel" | "func") symbol "(" { param [","] } ")" { launch } "{"
                { variable | "prototype" prototype } { block } "}"
                                                ; up to the `{` lines may end anywhere
    prototype = symbol "(" [param { "," param }] ")" ["noreturn"] { "attribute" STRING }
    param     = ("param" | "result") symbol ":" CLASS "size" INT "align" INT
                ["ptr" ("generic" | SPACE) INT] ["constant"] ["called" STRING]
    launch    = ("reqntid" | "maxntid" | "cluster") INT [INT [INT]]
              | ("maxnreg" | "minctasm" | "maxclusterrank") INT
              | "blocksareclusters" | "implicitcluster"
              | "internal" | "weak" | "noreturn" | "named"          ; each of them once
              | "attribute" STRING              ; a directive of PTX; so are those of "behind"
    block     = label ["nounroll"] ":" { record }                 ; each label once
    record    = [guard] [results "="] OPCODE [operands] ["!"INT]
                { WORD ":" operand }            ; one a line: operands by their names
    guard     = "@" ["!"] register
    results   = result { "," result }
    result    = register | "_" | list
    operands  = [WORD "="] operand { "," [WORD "="] operand }
                                                ; an operand that may be left out is named
    operand   = scalar | list
    list      = "{" [scalar { "," scalar }] "}" | "{" register "..." register "}"
    scalar    = register | "!" register | "imm:"["-"]INT | "fimm:"FLOAT | "sreg:"WORD
              | symbol [offset] | label | "text:"STRING | "_" | address
    address   = "[" (register | symbol) [offset] "]"
    offset    = ("+" | "-") INT
    register  = "%"NAME["#"INT] [":" CLASS]     ; the class may be left out once it is known
    symbol    = "@"NAME
    label     = "bb."(["%"]PLAIN | STRING)
    location  = "!"INT "=" STRING ":" INT ":" INT ["from" STRING ":" INT]
                {"called" STRING ":" INT ["as" STRING]} ["behind" STRING]
                                                ; from !1 on, each once

    NAME      = PLAIN | STRING
    PLAIN     = ["."] LETTERS { "." LETTERS }   ; LETTERS: letters and digits, `_` and `$`
    WORD      = letters, digits and `_`, with `.` and `::` between them
    STRING    = '"' { character | "\\" | '\"' | "\n" | "\r" | "\t" | "\u{"1 to 6 hex digits"}" } '"'
    HEX       = "0x", two hex digits for each byte
    FLOAT     = "0f", 8 hex digits | "0d", 16 hex digits

A register whose name is a number (`%7`) has no name of its own, unless the function is `named`:
then registers are called as in PTX, `%r1` with its `%`, and what has none is quoted (`%"acc"`).
`%x#2` is another register than `%x` with the same name.  Which operands tie to which results, and
which words are packed, is the opcode's own.

A call names its callee, and the variables that hold its results and parameters: they are stored to
before it, and loaded from behind it.  `prototype` is that of a callee in a register.

    ST_PARAM_B32 [@call0_param0], %n:b32
    CALL_UNI @square, results={@call0_result}, params={@call0_param0}
    %s:b32 = LD_PARAM_B32 [@call0_result]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from asmprinter.mir import declarations
from asmprinter.mir.names import block
from asmprinter.mir.operands import Body
from asmprinter.mir.records import RecordReader, is_operand_line
from asmprinter.mir.tokens import END, BadTextError, Token, Tokens, tokenize
from intrinsics.findings import Finding, InputError, Place, Severity
from intrinsics.mir import Block, Label, Location, MachineInstr, Module
from intrinsics.targets import TARGETS


def read_mir(text: str, file: str = "", *, own_lines: bool = False) -> Module:
    """Read a MIR module.

    With `own_lines` the records' locations are lines of `text`, and what they were read from stands
    in the place of the Python line.

    Raises: InputError with a finding for each line that does not follow the grammar, or that names
    a block or a location that is not there.
    """
    reader = _Reader(text, file)
    module = reader.read()
    if own_lines:
        _locate(module, file, [token for _, token in reader.records])
    return module


def _locate(module: Module, file: str, begins: list[Token]) -> None:
    """Give every record the place where it begins in the text."""
    old, module.locations = module.locations, [Location()]
    records = (mi for function in module.functions for mi in function.instructions())
    for mi, begin in zip(records, begins, strict=True):
        origin = old[mi.loc]
        module.locations.append(
            Location(file, begin.line, begin.column, origin.file, origin.line, origin.directives)
        )
        mi.loc = len(module.locations) - 1


_TOP_LEVEL = ("target", "ptx", "stage", "source", "extern", "declare", "kept", "kernel", "func")


class _Reader:
    """A position among the lines of the text, and the module so far."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.function = ""
        self.findings: list[Finding] = []
        lines = (tokenize(number, line) for number, line in enumerate(text.split("\n"), 1))
        self.lines = [line for line in lines if line[0].kind != END]
        self.at = 0
        self.module = Module(TARGETS["sm_75"])
        self.said: set[str] = set()
        self.locations: dict[int, tuple[Location, Token]] = {}
        self.records: list[tuple[MachineInstr, Token]] = []

    def read(self) -> Module:
        """The module.

        Raises: InputError.
        """
        for line in self._lines_until(lambda line: False):
            self._attempt(self._top, Tokens(line))
        if "target" not in self.said:
            nowhere = Token("", "", 1, 0)
            self._report(BadTextError("the module has no target line", nowhere, "target sm_…"))
        if not self.findings:
            self._settle_locations()
        if self.findings:
            raise InputError(sorted(self.findings, key=lambda f: (f.place.line, f.place.column)))
        return self.module

    def _lines_until(self, ends: Callable[[list[Token]], bool]) -> Iterator[list[Token]]:
        """The lines that follow, taken one by one, up to one that `ends` the run."""
        while self.at < len(self.lines) and not ends(self.lines[self.at]):
            self.at += 1
            yield self.lines[self.at - 1]

    def _attempt(self, read: Callable[[Tokens], None], tokens: Tokens) -> None:
        try:
            read(tokens)
        except BadTextError as bad:
            self._report(bad)

    def _report(self, bad: BadTextError) -> None:
        token = bad.token
        place = Place(self.file, token.line, token.column, self.function)
        self.findings.append(
            Finding(
                "mir/syntax",
                Severity.ERROR,
                str(bad),
                place,
                got=bad.got,
                expected=bad.expected,
            )
        )

    # ---- module level ------------------------------------------------------------------------

    def _top(self, tokens: Tokens) -> None:
        token = tokens.next
        if token.kind == "loc":
            self._location(tokens)
        elif token.text in ("kernel", "func"):
            self._function(token)
            return
        elif token.text in ("target", "ptx", "stage", "source"):
            self._once(tokens)
        elif declarations.is_variable(token):
            self.module.variables.append(declarations.variable(tokens))
        elif token.text == "declare":
            self.module.externals.append(declarations.prototype(tokens))
        elif token.text == "kept":
            self.module.kept.append(declarations.kept(tokens))
        else:
            expected = ", ".join(_TOP_LEVEL) + " or a state space"
            raise BadTextError(f"unexpected '{token.shown}'", token, expected)
        tokens.end()

    def _once(self, tokens: Tokens) -> None:
        token = tokens.next
        word = tokens.take()
        if word in self.said:
            raise BadTextError(f"{word} is said twice", token, f"{word} once")
        self.said.add(word)
        if word == "target":
            self.module.target = declarations.target(tokens)
            self.module.options = tuple(declarations.options(tokens))
        elif word == "ptx":
            self.module.ptx = declarations.version(tokens)
        elif word == "stage":
            self.module.stage = tokens.string()
        else:
            self.module.source = tokens.string()

    def _location(self, tokens: Tokens) -> None:
        token = tokens.next
        number = tokens.location()
        tokens.take("mark", "=")
        location = declarations.location(tokens)
        if number in self.locations:
            raise BadTextError(f"location {token.text} is there twice", token, "each number once")
        self.locations[number] = location, token

    def _settle_locations(self) -> None:
        """Put the locations into their table, and check that the records' are among them."""
        count = len(self.locations)
        for number, (_, token) in self.locations.items():
            if not 1 <= number <= count:
                message = f"location {token.text} is one of {count}"
                self._report(BadTextError(message, token, f"numbers from !1 to !{count}"))
                return
        self.module.locations += [self.locations[i][0] for i in range(1, count + 1)]
        for mi, token in self.records:
            if mi.loc > count:
                shown = f"!{mi.loc}"
                message = f"location {shown} is not defined"
                self._report(BadTextError(message, token, f"a line {shown} = …", shown))

    # ---- functions ---------------------------------------------------------------------------

    def _function(self, first: Token) -> None:
        tokens = Tokens(self._header())
        function = declarations.header(tokens, self._report)
        self.function = function.name
        body = Body(function)
        known = len(self.records)
        for line in self._lines_until(_ends_body):
            self._attempt(lambda tokens: self._body_line(tokens, body), Tokens(line))
        closing = next(self._lines_until(lambda line: line[0].text != "}"), None)
        if closing is None:
            message = f"the closing }} of @{function.name} is missing"
            self._report(BadTextError(message, first, "}", "the end of its text"))
        else:
            self._attempt(_closing, Tokens(closing))
        self._check_labels(body, self.records[known:])
        self.module.functions.append(function)
        self.function = ""

    def _header(self) -> list[Token]:
        """The tokens of a function up to its `{`, on as many lines as they take."""
        line = self.lines[self.at - 1]
        tokens = line[:-1]
        while all(token.text != "{" for token in line):
            following = next(self._lines_until(_ends_header), None)
            if following is None:
                break
            line = following
            tokens += line[:-1]
        return [*tokens, line[-1]]

    def _body_line(self, tokens: Tokens, body: Body) -> None:
        token, blocks = tokens.next, body.function.blocks
        if token.kind == "label":
            name = tokens.block()
            if name in body.blocks:
                self._report(BadTextError(f"{token.text} is there twice", token, "another name"))
            body.blocks.add(name)
            blocks.append(Block(name, nounroll=tokens.take_if("word", "nounroll")))
            tokens.take("mark", ":")
            tokens.end()
            return
        if not blocks and declarations.is_variable(token):
            body.function.variables.append(declarations.variable(tokens))
            tokens.end()
            return
        if not blocks and token.text == "prototype":
            body.function.prototypes.append(declarations.prototype(tokens))
            tokens.end()
            return
        if not blocks:
            self._report(BadTextError("a record before the first block", token, "bb.entry:"))
            blocks.append(Block(""))
        mi = self._record(tokens, body)
        if mi is not None:
            blocks[-1].instrs.append(mi)
            self.records.append((mi, token))

    def _record(self, tokens: Tokens, body: Body) -> MachineInstr | None:
        """A record with the lines of its operands; None if one of them is wrong."""
        before = len(self.findings)
        reader: RecordReader | None = None
        try:
            reader = RecordReader(tokens, body)
        except BadTextError as bad:
            self._report(bad)
        for line in self._lines_until(lambda line: not is_operand_line(line)):
            if reader is not None:
                self._attempt(reader.line, Tokens(line))
        return reader.record() if reader is not None and len(self.findings) == before else None

    def _check_labels(self, body: Body, records: list[tuple[MachineInstr, Token]]) -> None:
        for mi, token in records:
            parts = [p for op in mi.ops for p in (op if isinstance(op, tuple) else (op,))]
            for part in parts:
                if isinstance(part, Label) and part.name not in body.blocks:
                    shown = block(part.name)
                    message = f"the function has no block {shown}"
                    self._report(BadTextError(message, token, "a block of this function", shown))


def _begins_declaration(line: list[Token]) -> bool:
    return line[0].kind == "loc" or line[0].text in ("kernel", "func")


def _ends_body(line: list[Token]) -> bool:
    return line[0].text == "}" or _begins_declaration(line)


def _ends_header(line: list[Token]) -> bool:
    return line[0].kind == "label" or _ends_body(line)


def _closing(tokens: Tokens) -> None:
    tokens.take("mark", "}")
    tokens.end()

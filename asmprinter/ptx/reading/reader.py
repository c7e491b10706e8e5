"""PTX text to machine records.

Layer: asmprinter.  Input: a PTX module.  Output: an `intrinsics.mir.Module` and what could not be
read.  The reader recovers at `;`, so one bad statement never hides another; an instruction that PTX
has and nvgen does not know becomes an opaque record and a finding that says so.  PTX ISA, Syntax.

Understood: .version .target .address_size, variables with initial values, .entry and .func with
parameters and performance directives, .reg, labels, nested scopes, predicates, instructions.
.file, .section, .alias and .pragma are kept as they stand, .loc and the .pragma of a function with
the record that they stand before.
"""

from __future__ import annotations

import dataclasses
import re

from asmprinter.ptx.reading.declarations import (
    LINKAGES,
    VARIABLE_SPACES,
    DeclarationError,
    OpaqueTypeError,
    VariableRead,
    linkages_in,
    read_labels,
    read_registers,
    read_variables,
)
from asmprinter.ptx.reading.function_headers import HeaderRead, read_header, read_prototype
from asmprinter.ptx.reading.module_header import HeaderReader
from asmprinter.ptx.reading.module_names import ModuleNames, check_parameters, check_version
from asmprinter.ptx.reading.report import BadStatementError
from asmprinter.ptx.reading.scopes import Names
from asmprinter.ptx.source import NAME, NOUNROLL, OPEN_STRING, STRING
from intrinsics.findings import Finding, error_of
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import (
    UNNAMED,
    DirectivePosition,
    KeptDirective,
    MachineFunction,
    Module,
)
from intrinsics.modifiers import Space
from intrinsics.targets import Target

_LABEL = re.compile(rf"({NAME})\s*:(?!:)")
_DIRECTIVE = re.compile(r"\.(\w+)")
_FILE = re.compile(rf"\.file\s++([0-9]+)\s++({STRING})(?:\s*+,\s*+[0-9]+\s*+,\s*+[0-9]+)?")
_LOC = re.compile(
    r"\.loc\s+([0-9]+)\s+([0-9]+)(?:\s+[0-9]+)?"
    rf"(?:\s*,\s*function_name\s+{NAME}(?:\s*\+\s*[0-9]+)?\s*,\s*inlined_at(?:\s+[0-9]+){{3}})?"
)
_SECTION = re.compile(r"\.section\s+[.\w$]+\s*\{")
_DEFINES = re.compile(r"\.(entry|func)\b")
_PRAGMA_AT_END = re.compile(rf"\.pragma\s++{STRING}(?:\s*+,\s*+{STRING})*+\s*$")
_FUNCTION_NAME = re.compile(rf"\.func\s*+(?:\([^()]*\))?\s*+({NAME})")
_REGISTER_PARAM = re.compile(r"\(\s*\.reg\b")
_ALIAS = re.compile(rf"\.alias\s++({NAME})\s*+,\s*+({NAME})\s*")
_TABLES = ("branchtargets", "calltargets", "callprototype")
_TABLE = re.compile(rf"\s*\.({'|'.join(_TABLES)})\b")
_NO_SPACE = "\v\x1c\x1d\x1e\x1f"
"""What Python takes for white space, and PTX does not.  PTX ISA, Source Format."""
_HARMLESS = (".pragma", ".explicitcluster", ".abi_preserve", ".abi_preserve_control")
"""Directives of a function's header that nvgen keeps, and that change no verdict."""
_DEEPEST = 256
"""Scopes within scopes: a name is looked for in each of them."""

_DEFINITIONS = (*LINKAGES, "attribute", "entry", "func")


@dataclass(slots=True)
class PtxReading:
    """A module read from PTX, and what the reader has to say about it."""

    module: Module
    findings: list[Finding]


def read_ptx(text: str, file: str = "", *, target: Target | None = None) -> PtxReading:
    """Read a PTX module.

    `target` overrides what `.target` says.  Findings, not exceptions, report what is wrong.
    """
    return PtxReader(text, file, target).read()


class PtxReader(HeaderReader):
    """A position in the text: reads declarations and directives, and leaves out nothing."""

    refuses_empty = True
    """Whether a `;` ends something."""

    def __init__(self, text: str, file: str, target: Target | None) -> None:
        super().__init__(text, file, target)
        self.known = ModuleNames()

    # ---- statements --------------------------------------------------------------------------

    def read(self) -> PtxReading:
        """Read the module."""
        if (odd := self.source.find(_NO_SPACE, 0)) >= 0:
            got = repr(self.text[odd])
            self.error("ptx/syntax", "a character that is no white space", odd, got=got)
        self.read_statements()
        if self.function is not None:
            self._unclosed(len(self.source) - 1)
        self.settle_header()
        self.settle_lines()
        return PtxReading(self.module, self.findings)

    def read_statements(self) -> None:
        """Read all the text; what cannot be read is reported and left behind."""
        while (start := self.source.skip_space(self.at)) < len(self.source):
            self.at = start
            try:
                self._statement(start)
            except BadStatementError as bad:
                self.report(bad.finding, start)
            except DeclarationError as bad:
                self.report(error_of("ptx/declaration", str(bad), got=bad.what), start)
            if self.at == start:
                end = self.source.find(";", start)
                self.at = len(self.source) if end < 0 else end + 1

    def _statement(self, start: int) -> None:
        first = self.text[start]
        if first in ";{}":
            self.at += 1
            if first != ";":
                self._brace(first)
            elif self.refuses_empty:
                raise BadStatementError("ptx/syntax", "an empty statement", got=";")
        elif first == ".":
            self._directive(start)
        elif match := _LABEL.match(self.text, start):
            self.at = match.end()
            table = _TABLE.match(self.text, self.at) if self.names is not None else None
            if table is None:
                self._label(match[1])
            elif table[1] == "callprototype":
                self._prototype(match[1])
            elif table[1] == "branchtargets":
                self._branch_table(match[1], start)
            else:
                self._functions(match[1], table[1])
        else:
            self.read_instruction(self._to_semicolon(start), start)

    def _to_semicolon(self, start: int) -> str:
        """The statement up to its `;`, behind which reading goes on."""
        end = self.source.find(";", start)
        self.at = len(self.source) if end < 0 else end + 1
        if end < 0:
            raise BadStatementError("ptx/syntax", "expected ';'")
        return self.text[start:end]

    def _brace(self, brace: str) -> None:
        if self.names is None:
            raise BadStatementError("ptx/syntax", f"unexpected '{brace}' outside a function")
        if brace == "{":
            if self.names.depth > _DEEPEST:
                raise BadStatementError("ptx/syntax", "scopes nested too deep", expected="less")
            self.names.open()
        elif self.names.depth > 1:
            self.names.close()
        else:
            self.finish_function()

    def _label(self, name: str) -> None:
        if self.names is None:
            raise BadStatementError("ptx/syntax", "a label outside a function", got=name)
        if not self.names.label(name):
            raise BadStatementError("ptx/duplicate-label", f"label '{name}' is defined twice")

    def _prototype(self, label: str) -> None:
        """The table of a call by pointer."""
        assert self.function is not None
        assert self.names is not None
        text = self._to_semicolon(self.source.skip_space(self.at))
        self._new_name(label)
        read = read_prototype(self.names.declare_variable(label), text)
        self.function.prototypes.append(read)

    def _branch_table(self, name: str, start: int) -> None:
        """The labels of a branch through a table."""
        assert self.names is not None
        text = self._to_semicolon(self.source.skip_space(self.at))
        targets = read_labels(text.removeprefix(".branchtargets"))
        if not self.names.declare_table(name, targets, start):
            raise BadStatementError("ptx/duplicate-label", f"label '{name}' is defined twice")

    def _functions(self, label: str, directive: str) -> None:
        """The functions of an indirect call: kept as text."""
        assert self.names is not None
        start = self.source.skip_space(self.at)
        text = self._to_semicolon(start)
        self._new_name(label)
        name = self.names.declare_variable(label)
        self.keep_statement(f"{name}: .{directive}", text[len(directive) + 1 :], "", start)
        self.not_understood("ptx/directive", f"directive .{directive}", start, op="." + directive)

    # ---- directives --------------------------------------------------------------------------

    def _directive(self, start: int) -> None:
        match = _DIRECTIVE.match(self.text, start)
        name = match[1] if match else ""
        if name in ("version", "target", "address_size"):
            self.read_header_directive(name, start)
        elif name == "loc":
            self._loc(start)
        elif name == "file":
            self._file(start)
        elif name == "section":
            self._section(start)
        elif name in _DEFINITIONS:
            self._definition(start)
        elif name == "reg":
            self._registers(self._to_semicolon(start))
        elif name in VARIABLE_SPACES:
            self._variables(self._to_semicolon(start), start)
        else:
            self._other_directive(name, self._to_semicolon(start))

    def _other_directive(self, name: str, text: str) -> None:
        """A directive that ends at `;`, kept as text."""
        if name in _TABLES:
            raise BadStatementError("ptx/syntax", "a table has a name: LABEL: …", got="." + name)
        if name not in ("pragma", "alias"):
            raise BadStatementError("ptx/syntax", f"'.{name}' begins no statement", got="." + name)
        shown = _flat(text) + ";"
        if name == "alias":
            self._check_alias(text)
        if self.function is None or name == "alias":
            where = (
                DirectivePosition.TOP
                if name == "pragma" and not self.has_begun()
                else DirectivePosition.BOTTOM
            )
            self.module.kept.append(KeptDirective(shown, where))
        elif shown == NOUNROLL and self._begins_labelled_block():
            self.function.blocks[-1].nounroll = True
        else:
            self.above.append(shown)

    def _check_alias(self, text: str) -> None:
        match = _ALIAS.fullmatch(text)
        if match is None:
            raise BadStatementError("ptx/syntax", "cannot read this directive", op=".alias")
        self.known.alias(match[1], match[2], self.spaces)

    def _begins_labelled_block(self) -> bool:
        """Whether nothing has been read behind a label."""
        assert self.function is not None
        block = self.function.blocks[-1]
        return not (self.above or block.instrs or block.name.startswith(UNNAMED))

    def _loc(self, start: int) -> None:
        """A line of the user's source, which the records up to the next one come from."""
        match = _LOC.match(self.text, start)
        self.at = match.end() if match else self.source.line_end(start)
        if match is None:
            raise BadStatementError("ptx/syntax", "cannot read this directive", op=".loc")
        self.debug = int(match[1]), int(match[2])
        self.above.append(_flat(match[0]))

    def _file(self, start: int) -> None:
        match = _FILE.match(self.text, start)
        self.at = match.end() if match else self.source.line_end(start)
        if match is None:
            raise BadStatementError("ptx/syntax", "cannot read this directive", op=".file")
        self.files[int(match[1])] = match[2][1:-1]
        if self.function is not None:
            raise BadStatementError("ptx/syntax", "a .file inside a function", op=".file")
        where = DirectivePosition.BOTTOM if self.module.functions else DirectivePosition.TOP
        self.module.kept.append(KeptDirective(_flat(match[0]), where))

    def _section(self, start: int) -> None:
        """Debug information, kept line by line."""
        match = _SECTION.match(self.text, start)
        end = self.source.closing_brace(start) if match else -1
        self.at = self.source.line_end(start) if end < 0 else end
        if end < 0:
            raise BadStatementError("ptx/syntax", "unterminated .section", op=".section")
        self.module.kept.append(
            KeptDirective(_lines(self.text[start:end]), DirectivePosition.BOTTOM)
        )

    def _definition(self, start: int) -> None:
        """A function, or a variable with its linkage."""
        stop = self.source.find(";{", start)
        header = self.text[start:stop] if stop >= 0 else ""
        if not _DEFINES.search(header):
            text = self._to_semicolon(start)
            if self.function is not None and linkages_in(text):
                raise DeclarationError("a variable of a function has no linkage", text)
            self._variables(text, start)
            return
        last = start
        while self.text[stop] == ";" and _PRAGMA_AT_END.search(self.text[last:stop]):
            last, stop = stop, self.source.find(";{", stop + 1)
            if stop < 0:
                raise BadStatementError("ptx/syntax", "expected '{'")
        header = self.text[start:stop]
        if _REGISTER_PARAM.search(header) and ".entry" not in header:
            self._foreign_function(start, stop)
            return
        self.at = stop + 1
        read = read_header(header)
        try:
            check_version(header, self.ptx)
        except BadStatementError as bad:  # its body is read all the same
            self.report(bad.finding, start)
        if self.text[stop] == ";":
            self.known.function(read, is_defined=False)
            name = read.signature.name
            self.spaces[name] = None
            if not any(f.name == name for f in self.module.externals):
                self.module.externals.append(read.signature)
            return
        if self.function is not None:
            self._unclosed(start)
        self._open_function(read, start)

    def _foreign_function(self, start: int, stop: int) -> None:
        """A function whose parameters are registers, kept whole: it needs no calling convention."""
        end = self.source.closing_brace(stop) if self.text[stop] == "{" else stop + 1
        self.at = len(self.source) if end < 0 else end
        if end < 0:
            raise BadStatementError("ptx/syntax", "the function's closing } is missing")
        if self.function is not None:
            self._unclosed(start)
        name = _FUNCTION_NAME.search(self.text, start, stop)
        if name is not None:
            self.spaces[name[1]] = None
        self.module.kept.append(
            KeptDirective(_lines(self.text[start : self.at]), DirectivePosition.MIDDLE)
        )
        self.not_understood("ptx/not-modelled", "a function of registers", start, op=".func")

    def _registers(self, text: str) -> None:
        read = read_registers(text)
        if self.names is None:
            raise DeclarationError("registers are declared in functions", text)
        for one in read:
            self._new_name(one.name, is_range=one.count is not None)
            self.names.declare(one)
        check_version(text, self.ptx)  # behind: what reads them is right

    def _new_name(self, name: str, *, is_range: bool = False) -> None:
        """A name that its scope must not have already.

        Raises: BadStatementError.
        """
        assert self.names is not None
        if self.names.has_here(name, is_range=is_range):
            shown = f"{name}<…>" if is_range else name
            raise BadStatementError(
                "ptx/duplicate-name", f"'{shown}' is something else already in this scope",
                got=shown, expected="a new name, or another { }",
            )  # fmt: skip

    def _variables(self, text: str, start: int) -> None:
        try:
            read = read_variables(text)
        except OpaqueTypeError as error:
            self._foreign_variables(error, text, start)
            return
        for one in read:
            if one.lost_address:
                self.not_understood(
                    "ptx/not-modelled",
                    f"an address in the initial value of {one.variable.name}",
                    start,
                    kept=False,
                )
            self._variable(one)
        check_version(text, self.ptx)

    def _variable(self, read: VariableRead) -> None:
        variable = read.variable
        if self.function is None or self.names is None:
            if variable.space is Space.LOCAL:
                raise DeclarationError("local variables are those of functions", variable.name)
            self.spaces[variable.name] = variable.space
            self.module.variables.append(variable)
            self.known.variable(variable, self.spaces)
            return
        self._new_name(variable.name)
        name = self.names.declare_variable(variable.name)
        self.local_spaces[name] = variable.address_space
        self.function.variables.append(dataclasses.replace(variable, name=name))

    def _foreign_variables(self, error: OpaqueTypeError, text: str, start: int) -> None:
        """Textures, samplers and surfaces: kept as text, their names are known."""
        if self.function is not None:
            raise error
        self.spaces.update(dict.fromkeys(error.names, error.space))
        self.module.kept.append(KeptDirective(_flat(text) + ";", DirectivePosition.MIDDLE))
        self.not_understood("ptx/not-modelled", "a variable of an opaque type", start)

    # ---- functions ---------------------------------------------------------------------------

    def _open_function(self, read: HeaderRead, start: int) -> None:
        said = read.signature
        if self.module.function(said.name) is not None:
            self.error(
                "ptx/duplicate-function",
                f"function '{said.name}' is defined twice",
                start,
                got=said.name,
                expected="a name that no other function has",
            )
        try:
            self.known.function(read, is_defined=True)
            if read.is_kernel:
                check_parameters(said.params, self.ptx)
        except BadStatementError as bad:  # its body is read all the same
            self.report(bad.finding, start)
        function = MachineFunction(
            said.name,
            read.is_kernel,
            list(said.params),
            read.launch,
            keep_names=True,
            results=list(said.results),
            linkage=read.linkage,
            noreturn=said.noreturn,
            attributes=said.attributes,
        )
        self.spaces[function.name] = None
        params = (*said.params, *said.results)
        self.local_spaces = {param.name: function.param_space for param in params}
        self.function = function
        self.names = Names(function, {*self.spaces, *self.local_spaces})
        self.above, self.debug = [], None
        for directive in said.attributes:
            name = directive.split(maxsplit=1)[0]
            if name not in _HARMLESS:
                self.not_understood("ptx/directive", f"directive {name}", start, op=name)

    def _unclosed(self, at: int) -> None:
        self.error("ptx/syntax", "the function's closing } is missing", at)
        while self.function is not None:
            self._brace("}")

    def finish_function(self) -> None:
        """Close the function that is open."""
        function, names = self.function, self.names
        assert function is not None
        assert names is not None
        for reference in names.close():
            self.error(
                "ptx/undeclared",
                f"label '{reference.name}' is not defined",
                reference.at,
                got=reference.name,
            )
        last = function.blocks[-1]
        if len(function.blocks) > 1 and not last.instrs and last.name.startswith(UNNAMED):
            function.blocks.pop()  # what follows the last ret
        self.module.functions.append(function)
        self.function = self.names = self.debug = None
        self.local_spaces, self.above = {}, []


def _flat(text: str) -> str:
    """A statement on one line; strings stay as they are."""
    parts = re.split(f"({OPEN_STRING})", text.strip())
    flat = [p if p[:1] == '"' else re.sub(r"\s+", " ", p) for p in parts]
    return "".join(flat)


def _lines(text: str) -> str:
    """Text without empty lines, and without what stands at the ends of lines."""
    lines = (line.rstrip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)

"""A run of PTX statements inside a function, as inline assembly has them, to machine records.

Layer: asmprinter.  Input: the statements, and the registers and symbols that they may name.
Output: a function of blocks that begins and ends where the statements do.  A statement that cannot
be read stays as it was written, bound to its registers, with a finding that says why: the assembler
has the last word.  PTX ISA, Instruction Statements; Directive Statements: `{ }` groups.
"""

from __future__ import annotations

from collections.abc import Mapping

from asmprinter.ptx.reading.instructions import check_kept, split_instruction
from asmprinter.ptx.reading.reader import PtxReader
from asmprinter.ptx.reading.report import BadStatementError
from asmprinter.ptx.reading.scopes import Names
from intrinsics.findings import Finding, Severity
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import MachineFunction, Reg
from intrinsics.modifiers import ScalarType, Space
from intrinsics.special import special_registers

_NO_STATEMENT = frozenset({"ptx/operands", "ptx/guard"})
"""Rules about what an assembler that knows more instructions would refuse as well."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """Statements as blocks of records: control enters the first block and leaves the last.

    `registers` are those that the statements were given, by name.  `kept` says why statements were
    not understood, `errors` what could not be parsed; both count lines from the first.
    `written` are the registers that statements write, or may write where they are not understood.
    """

    function: MachineFunction
    registers: Mapping[str, Reg]
    kept: tuple[Finding, ...] = ()
    errors: tuple[Finding, ...] = ()
    written: frozenset[Reg] = frozenset()


def read_fragment(
    text: str, registers: Mapping[str, ScalarType], symbols: Mapping[str, Space | None]
) -> Fragment:
    """Read statements that may name `registers`, and variables and functions of the module."""
    return _FragmentReader(text, registers, symbols).fragment()


class _FragmentReader(PtxReader):
    """A reader of PTX that is inside a function from the start to the end."""

    refuses_empty = False  # none is printed

    def __init__(
        self, text: str, registers: Mapping[str, ScalarType], symbols: Mapping[str, Space | None]
    ) -> None:
        super().__init__(text, "", None)
        self.spaces = dict(symbols)
        self.body = MachineFunction("", keep_names=True)
        self.function = self.body
        self.outer = self.names = Names(self.body, set(symbols))
        self.given = {name: self.names.bind(name, cls) for name, cls in registers.items()}
        self.kept: list[Finding] = []

    def fragment(self) -> Fragment:
        """The records of the text."""
        self.read_statements()
        self._close()
        wrong = [f for f in self.findings if f.severity is Severity.ERROR]
        kept = [*self.kept, *(f for f in self.findings if f.severity is not Severity.ERROR)]
        return Fragment(self.body, self.given, tuple(kept), tuple(wrong), _written(self.body))

    def _close(self) -> None:
        end = len(self.source) - 1
        if self.outer.depth > 1:
            self.error("ptx/syntax", "a { is not closed", end, got="{", expected="}")
        while self.outer.depth > 1:
            self.outer.close()
        for reference in self.outer.close():
            self.error(
                "ptx/undeclared",
                f"label '{reference.name}' is not defined",
                reference.at,
                got=reference.name,
            )

    def finish_function(self) -> None:
        """A `}` that closes nothing.

        Raises: BadStatementError.
        """
        raise BadStatementError("ptx/syntax", "a } closes nothing", got="}", expected="{ before it")

    def read_instruction(self, text: str, start: int) -> None:
        """Read one statement, or keep it as it was written.

        Raises: BadStatementError for what is no statement, or names what is nowhere.
        """
        before = len(self.findings)
        try:
            super().read_instruction(text, start)
        except BadStatementError as bad:
            self._keep_written(text, start, bad.finding, bad)
            return
        wrong = [f for f in self.findings[before:] if f.severity is Severity.ERROR]
        if wrong:
            del self.findings[before:]
            self._keep_written(text, start, wrong[0], None)

    def _keep_written(
        self, text: str, start: int, why: Finding, error: BadStatementError | None
    ) -> None:
        """Keep a statement, and say why; one that no instruction could be cannot be kept.

        Such are operands that are none or too many, names that are nowhere, and missing commas.
        """
        parts = split_instruction(text)
        if why.rule in _NO_STATEMENT:
            self.report(why, start)
            return
        if parts is None or (unknown := self._unknown(parts.guard + parts.operands)):
            if error is None:
                self.report(why, start)
                return
            if parts is not None and unknown:
                names = " and ".join(f"'{name}'" for name in unknown)
                raise BadStatementError(
                    "ptx/undeclared", f"{names} is not declared", op=parts.name, got=text.strip()
                )
            raise error
        check_kept(parts.name, parts.operands)
        self.keep_statement(parts.name, parts.operands, parts.guard, start)
        self.kept.append(
            Finding(
                "ptx/not-modelled",
                Severity.REVIEW,
                f"kept as it stands, not judged: {why.message}",
                op=parts.name,
                got=why.got,
                expected=why.expected,
                incomplete=True,
            )
        )

    def _unknown(self, operands: str) -> list[str]:
        """The names of undeclared registers in the text."""
        assert self.names is not None
        _, _, unknown = self.names.keep(operands)
        return [
            name
            for name in dict.fromkeys(unknown)
            if name[:1] == "%" and name.removeprefix("%") not in special_registers()
        ]


def _written(function: MachineFunction) -> frozenset[Reg]:
    found: set[Reg] = set()
    for mi in function.instructions():
        found.update(mi.defs())
        if mi.row.id == "opaque":
            found.update(mi.uses())
    return frozenset(found)

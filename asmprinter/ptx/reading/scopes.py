"""Names in the nested scopes of a PTX function, made unique.

Layer: asmprinter.  Input: declarations, labels and uses in the order of the text.  Output: the
registers, blocks and variables of a function without scopes, no two of the same name.  PTX ISA,
Directive Statements: `{ }` groups; Labels.
"""

from __future__ import annotations

import re
from dataclasses import field

from asmprinter.ptx.reading.declarations import RegistersRead
from asmprinter.ptx.source import NAME, OPEN_STRING
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import UNNAMED, Block, Label, MachineFunction, MachineInstr, Op, Reg, Sym, Text
from intrinsics.modifiers import ScalarType

_USED = re.compile(rf"{OPEN_STRING}|(?<![\w$%.:]){NAME}")
_COMPONENTS = "xyzw"


@dataclass(slots=True)
class Reference:
    """A use of a label, which may come before the label: in a branch, or in kept text."""

    user: Label | MachineInstr
    name: str
    at: int  # offset of the statement


@dataclass(slots=True)
class _Scope:
    """Names of one `{ … }`."""

    registers: dict[str, Reg] = field(default_factory=dict)  # those that something uses
    single: dict[str, ScalarType] = field(default_factory=dict)
    ranges: dict[str, tuple[int, ScalarType]] = field(default_factory=dict)
    vectors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    tables: dict[str, tuple[Label, ...]] = field(default_factory=dict)
    references: list[Reference] = field(default_factory=list)


class Names:
    """The names of one function.

    `symbols` are those of the module and of the parameters.
    """

    def __init__(self, function: MachineFunction, symbols: set[str]) -> None:
        self.function = function
        self.params = {param.name for param in (*function.params, *function.results)}
        self.symbols = symbols
        self._taken = set(symbols)
        self._numbers: dict[str, int] = {}
        self._scopes = [_Scope()]
        self._blocks = 0
        self.begin_block()

    # ---- scopes ------------------------------------------------------------------------------

    def open(self) -> None:
        """A `{`."""
        self._scopes.append(_Scope())

    def close(self) -> list[Reference]:
        """A `}`: settle the branches to the scope's labels.

        The outermost scope gives back the references to labels that are nowhere.
        """
        scope = self._scopes.pop()
        left = []
        texts: dict[int, tuple[MachineInstr, dict[str, str]]] = {}
        for reference in scope.references:
            found = scope.labels.get(reference.name)
            if found is None:
                left.append(reference)
            elif isinstance(reference.user, Label):
                reference.user.name = found
            else:
                texts.setdefault(id(reference.user), (reference.user, {}))[1][reference.name] = (
                    found
                )
        for user, names in texts.values():
            _rename(user, names)
        if not self._scopes:
            return [r for r in left if isinstance(r.user, Label)]
        self._scopes[-1].references += left
        return []

    @property
    def depth(self) -> int:
        """How many scopes are open."""
        return len(self._scopes)

    def _unique(self, name: str) -> str:
        """`name`, or with a number behind it where the function already has such a name."""
        found = name
        while found in self._taken:
            self._numbers[name] = self._numbers.get(name, 1) + 1
            found = f"{name}_{self._numbers[name]}"
        self._taken.add(found)
        return found

    # ---- registers and variables -------------------------------------------------------------

    def declare(self, read: RegistersRead) -> None:
        """A name of a `.reg`."""
        scope = self._scopes[-1]
        if read.width:
            parts = tuple(f"{read.name}.{c}" for c in _COMPONENTS[: read.width])
            scope.single.update(dict.fromkeys(parts, read.type))
            scope.vectors[read.name] = parts
        elif read.count is not None:
            scope.ranges[read.name] = read.count, read.type
        else:
            scope.single[read.name] = read.type

    def has_here(self, name: str, *, is_range: bool = False) -> bool:
        """Whether the innermost scope has a name, or a range of registers called so."""
        scope = self._scopes[-1]
        if is_range:
            return name in scope.ranges
        if name in scope.single or name in scope.vectors or name in scope.variables:
            return True
        if name in scope.labels or name in scope.tables:
            return True
        is_outermost = len(self._scopes) == 1
        return self._in_range(scope, name) is not None or (is_outermost and name in self.params)

    def bind(self, name: str, cls: ScalarType) -> Reg:
        """A register of the scope that is there from the start."""
        return self._new(self._scopes[-1], cls, name)

    def declare_variable(self, name: str) -> str:
        """A variable of the scope; gives the name that it has in the function."""
        unique = self._unique(name)
        self._scopes[-1].variables[name] = unique
        return unique

    def _new(self, scope: _Scope, cls: ScalarType, name: str) -> Reg:
        """A register that something uses for the first time."""
        unique = self._unique(name.replace(".", "_"))
        found = scope.registers[name] = self.function.regs.new(cls, unique)
        return found

    def resolve(self, name: str) -> Op | None:
        """The register, vector of registers or symbol that `name` stands for here."""
        for scope in reversed(self._scopes):
            if (reg := scope.registers.get(name)) is not None:
                return reg
            if (cls := scope.single.get(name)) is not None:
                return self._new(scope, cls, name)
            if name in scope.vectors:
                parts = [self.resolve(part) for part in scope.vectors[name]]
                return tuple([part for part in parts if type(part) is int])
            if name in scope.variables:
                return Sym(scope.variables[name])
            if (reg := self._from_range(scope, name)) is not None:
                return reg
        return Sym(name) if name in self.symbols else None

    def _from_range(self, scope: _Scope, name: str) -> Reg | None:
        cls = self._in_range(scope, name)
        return None if cls is None else self._new(scope, cls, name)

    def _in_range(self, scope: _Scope, name: str) -> ScalarType | None:
        """The class of a register of a range."""
        match = re.fullmatch(r"(.*?)(0|[1-9][0-9]*)", name)
        if match is None or match[1] not in scope.ranges:
            return None
        count, cls = scope.ranges[match[1]]
        if len(match[2]) > len(str(count)) or int(match[2]) >= count:
            return None
        return cls

    # ---- blocks ------------------------------------------------------------------------------

    def begin_block(self) -> None:
        """A block without a label."""
        name = self._unique(f"{UNNAMED}{self._blocks}")
        self._blocks += 1
        self.function.blocks.append(Block(name))

    def label(self, name: str) -> bool:
        """A label, which begins a block; False when the scope has it already."""
        scope = self._scopes[-1]
        if self.has_here(name):
            return False
        unique = self._unique(name)
        scope.labels[name] = unique
        last = self.function.blocks[-1]
        if last.instrs or not last.name.startswith(UNNAMED):
            self.function.blocks.append(Block(unique))
        else:
            last.name = unique
        return True

    def refer(self, user: Label | MachineInstr, name: str, at: int) -> None:
        """A use of a label."""
        self._scopes[-1].references.append(Reference(user, name, at))

    def declare_table(self, name: str, targets: list[str], at: int) -> bool:
        """A table of labels, which may come later; False when the scope has its name already."""
        scope = self._scopes[-1]
        if name in scope.labels or name in scope.tables:
            return False
        found = scope.tables[name] = tuple([Label(target) for target in targets])
        for label in found:
            self.refer(label, label.name, at)
        return True

    def table(self, name: str) -> tuple[Label, ...] | None:
        """The labels of the table that is called `name` here; None where there is none."""
        return next((s.tables[name] for s in reversed(self._scopes) if name in s.tables), None)

    # ---- kept text ---------------------------------------------------------------------------

    def keep(self, text: str) -> tuple[str, tuple[Reg, ...], list[str]]:
        """Text that is kept as it stands: with `%[n]` in place of its n-th register, the registers,
        and the names that are not known yet, which may be labels that come later.
        """
        regs: dict[Reg, int] = {}
        unknown: list[str] = []

        def shown(op: Op) -> str:
            if isinstance(op, tuple):
                return "{" + ", ".join(map(shown, op)) + "}"
            if type(op) is int:
                return f"%[{regs.setdefault(op, len(regs))}]"
            assert isinstance(op, Sym)
            return op.name

        def renamed(match: re.Match[str]) -> str:
            name = match[0]
            found = None if name[0] == '"' else self.resolve(name)
            if found is None:
                unknown.append(name)
                return name
            return shown(found)

        return _USED.sub(renamed, text), tuple(regs), unknown


def _rename(user: MachineInstr, names: dict[str, str]) -> None:
    """Give labels in kept text the names that they have in the function."""
    kept, *others = user.ops
    assert isinstance(kept, Text)
    text = _USED.sub(lambda match: names.get(match[0], match[0]), kept.text)
    user.ops = (Text(text), *others)

"""Inlining for the rules: kernels with the bodies of the functions that they call.

Layer: isel.verifier.function.  Input: a module and a function of it.  Output: a function for the
rules alone, in which a call is replaced by the callee's body: parameters become registers. PTX ISA,
Abstracting the ABI; Control Flow Instructions: call, ret.
"""

from __future__ import annotations

from dataclasses import field, replace

from intrinsics import catalog
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import (
    Block,
    Label,
    MachineFunction,
    MachineInstr,
    Mem,
    Module,
    Op,
    Reg,
    RegisterTable,
    Sym,
    Variable,
)
from intrinsics.modifiers import ScalarType
from isel.verifier.function.flow.callees import Callees, callee
from isel.verifier.variables import PARAMETER_SPACES, parameter_access

_MOST = 100_000
"""The most records of a kernel with its callees; nothing is inlined into a larger one."""

_DEEPEST = 16
"""The deepest nesting of inlined calls."""


_GO = catalog.form("bra")
_TYPES = {
    8: ScalarType.B16, 16: ScalarType.B16, 32: ScalarType.B32, 64: ScalarType.B64,
    128: ScalarType.B128,
}  # fmt: skip
"""Register types for parameters, by width in bits."""


def inlined(
    module: Module, function: MachineFunction, callees: Callees
) -> tuple[MachineFunction, frozenset[str]]:
    """The function with its synchronising callees inlined, and their names.

    It is the function itself where there are none.  Indirect calls, calls of declarations and
    recursive calls remain.
    """
    functions = {f.name: f for f in module.functions if f.name not in callees.quiet}
    if not function.is_kernel or not any(_is_of(mi, functions) for mi in function.instructions()):
        return function, frozenset()
    inlining = _Inlining(functions, function)
    found = inlining.run()
    return (function, frozenset()) if inlining.is_full else (found, frozenset(inlining.taken))


def _is_of(mi: MachineInstr, functions: dict[str, MachineFunction]) -> bool:
    return mi.row.id == "call" and mi.guard is None and callee(mi) in functions


@dataclass(slots=True)
class _Body:
    """A function at one call: what its registers and labels are in the kernel.

    `params` are what its parameters are called in the kernel, `passed` its variables that are those
    of calls which are taken in; `path` are the functions around it.
    """

    function: MachineFunction
    prefix: str
    end: str
    params: dict[str, str]
    path: tuple[str, ...]
    registers: dict[Reg, Reg] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    passed: set[str] = field(default_factory=set)

    def renamed(self, mi: MachineInstr) -> MachineInstr:
        """A record with the kernel's registers and labels."""
        if not self.end:  # it is the kernel's own
            return mi
        found = MachineInstr(mi.form, mi.ops, mi.guard, mi.loc)
        found.map_registers(self.registers)
        found.map_labels(self.labels)
        return found


@dataclass(slots=True)
class _Inlining:
    functions: dict[str, MachineFunction]
    kernel: MachineFunction
    regs: RegisterTable = field(default_factory=RegisterTable)
    blocks: list[Block] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    slots: dict[tuple[str, int, ScalarType], Reg] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    calls: int = 0
    records: int = 0

    @property
    def is_full(self) -> bool:
        """Whether it has become too large."""
        return self.records > _MOST

    def run(self) -> MachineFunction:
        """The kernel with all of it inside."""
        self.regs = RegisterTable([*self.kernel.regs.classes], [*self.kernel.regs.names])
        self.variables = [*self.kernel.variables]
        self._take_in(_Body(self.kernel, "", "", {}, (self.kernel.name,)))
        return replace(self.kernel, regs=self.regs, blocks=self.blocks, variables=self.variables)

    def _take_in(self, body: _Body) -> None:
        """Append the blocks of a function."""
        mine = [mi for mi in body.function.instructions() if self._target(body, mi) is not None]
        body.passed = {name for mi in mine for name in _given(mi)}
        self.records += sum(len(block.instrs) for block in body.function.blocks)
        for block in body.function.blocks:
            self.blocks.append(Block(body.prefix + block.name))
            for mi in block.instrs:
                self._append(body, mi)

    def _append(self, body: _Body, mi: MachineInstr) -> None:
        target = None if self.is_full else self._target(body, mi)
        if target is not None:
            self._call(body, mi, target)
        else:
            self.blocks[-1].instrs += self._translated(body, mi)

    def _target(self, body: _Body, mi: MachineInstr) -> MachineFunction | None:
        """The function that is taken in at a record, None for none."""
        if not _is_of(mi, self.functions) or len(body.path) >= _DEEPEST:
            return None
        target = self.functions[callee(mi)]
        return None if target.name in body.path or _takes_address(target) else target

    def _call(self, body: _Body, mi: MachineInstr, target: MachineFunction) -> None:
        """Put a function in the place of its call."""
        self.calls += 1
        self.taken.add(target.name)
        prefix = f"{target.name}.{self.calls}."
        names = [p.name for p in (*target.results, *target.params)]
        params = dict(zip(names, (body.prefix + one for one in _given(mi)), strict=False))
        first = len(self.regs)
        registers = {reg: first + reg for reg in range(len(target.regs))}
        labels = {block.name: prefix + block.name for block in target.blocks}
        path = *body.path, target.name
        inner = _Body(target, prefix, f"{prefix}end", params, path, registers, labels)
        self.regs.classes += target.regs.classes
        self.regs.names += target.regs.names
        self.variables += [v for v in target.variables if v.space not in PARAMETER_SPACES]
        self._take_in(inner)
        self.blocks.append(Block(inner.end))

    def _translated(self, body: _Body, mi: MachineInstr) -> list[MachineInstr]:
        """A record as the kernel has it: returns are branches, accesses to parameters moves."""
        new, place = body.renamed(mi), _parameter(body, mi)
        if mi.row.id == "ret" and body.end:
            return [MachineInstr(_GO, (Label(body.end),), new.guard, mi.loc)]
        return [new] if place is None else self._moves(new, *place)

    def _moves(self, mi: MachineInstr, name: str, offset: int) -> list[MachineInstr]:
        """An access to a parameter as moves of registers."""
        type_ = mi.scalar_type()
        data = mi["d"] if mi.row.id == "ld" else mi["b"]
        form, moves = catalog.form("mov", type=_TYPES[type_.bits]), []
        for at, part in enumerate(data if isinstance(data, tuple) else (data,)):
            slot = self._slot(name, offset + at * type_.bits // 8, _TYPES[type_.bits])
            ops = (part, slot) if mi.row.id == "ld" else (slot, part)
            moves.append(MachineInstr(form, ops, mi.guard, mi.loc))
        return moves

    def _slot(self, name: str, offset: int, type_: ScalarType) -> Reg:
        key = name, offset, type_
        if key not in self.slots:
            self.slots[key] = self.regs.new(type_, f"{name}+{offset}")
        return self.slots[key]


def _given(call: MachineInstr) -> list[str]:
    """The caller's variables that a call names: results, then parameters."""
    found = [call.get("results"), call.get("params")]
    ops = [op for one in found if isinstance(one, tuple) for op in one]
    return [op.name for op in ops if isinstance(op, Sym)]


def _parameter(body: _Body, mi: MachineInstr) -> tuple[str, int] | None:
    """The parameter that a record loads or stores, as the kernel calls it, and the byte in it."""
    accessed = parameter_access(mi)
    if accessed is None:
        return None
    name, offset = accessed
    if name in body.params:
        return body.params[name], offset
    return (body.prefix + name, offset) if name in body.passed else None


def _takes_address(function: MachineFunction) -> bool:
    """Whether it does more with its parameters than to load and store them by name."""
    names = {p.name for p in (*function.params, *function.results)}
    return any(
        parameter_access(mi) is None and _name(op) in names
        for mi in function.instructions()
        for op in mi.ops
    )


def _name(op: Op) -> str:
    base = op.base if isinstance(op, Mem) else op
    return base.name if isinstance(base, Sym) else ""

"""Device functions with the walkthrough's records become part of the kernels that call them.

Layer: isel.passes.  Input: a module after SSA form was left.  Output: the same without calls of
functions that have pseudo records, or that call such functions: what the CTA does together is
expanded for a whole kernel, with one mbarrier whose phases are counted there, so no such record may
stand behind a call.  What is passed goes from register to register.  PTX ISA, call.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from intrinsics import catalog
from intrinsics.findings import Finding, SelectionError, Severity
from intrinsics.mir import (
    Block,
    Label,
    MachineFunction,
    MachineInstr,
    Mem,
    Module,
    Op,
    Reg,
    Scalar,
    Sym,
)
from intrinsics.modifiers import ScalarType, Space
from isel.passes.destruct_ssa import move
from isel.passes.walkthrough.accumulators import MULTIPLIES
from isel.verifier.locations import place_of

_Pieces = dict[tuple[str, int], Scalar]
"""What was stored where: by the parameter's name and the byte in it."""


def inline_walkthrough(module: Module) -> None:
    """Inline every call of a function that works with tensor memory, and drop the functions.

    Raises: SelectionError for functions that call themselves, and for values that are passed in
    other pieces than they are taken.
    """
    functions = {function.name: function for function in module.functions}
    wanted = _wanted(functions)
    if not wanted:
        return
    for name in _callees_first(module, functions, wanted):
        for call in list(_calls(functions[name], wanted)):
            _Inlining(module, functions[name], functions[_callee(call)], call).run()
    held = {address.name for variable in module.variables for address in variable.addresses}
    module.functions = [f for f in module.functions if f.name not in wanted or f.name in held]
    for function in module.functions:
        for mi in function.instructions():
            if taken := _symbols(mi) & wanted:
                text = f"@{min(taken)} works with tensor memory, and its address is taken"
                raise _error(module, function, mi, text, "calls of the function by its name")


def _wanted(functions: dict[str, MachineFunction]) -> set[str]:
    """The functions that are called and have such records, or call one that does."""
    called = {_callee(mi) for f in functions.values() for mi in f.instructions() if _is_call(mi)}
    found = {name for name, f in functions.items() if name in called and _works(f)}
    grown = True
    while grown:
        callers = {
            name for name, f in functions.items()
            if name in called and name not in found and any(_calls(f, found))
        }  # fmt: skip
        found |= callers
        grown = bool(callers)
    return {name for name in found if not functions[name].is_kernel}


def _works(function: MachineFunction) -> bool:
    """Whether a function works with tensor memory, as a whole CTA does."""
    return any(mi.row.pseudo or mi.row.id in MULTIPLIES for mi in function.instructions())


def _is_call(mi: MachineInstr) -> bool:
    return mi.row.id == "call" and isinstance(mi["callee"], Sym)


def _callee(mi: MachineInstr) -> str:
    callee = mi["callee"]
    assert isinstance(callee, Sym)
    return callee.name


def _calls(function: MachineFunction, names: set[str]) -> Iterator[MachineInstr]:
    return (mi for mi in function.instructions() if _is_call(mi) and _callee(mi) in names)


def _callees_first(
    module: Module, functions: dict[str, MachineFunction], wanted: set[str]
) -> list[str]:
    """All functions, each behind those of `wanted` that it calls.

    Raises: SelectionError where there is no such order.
    """
    done: dict[str, bool] = {}
    order: list[str] = []

    def visit(name: str) -> None:
        done[name] = False
        for call in _calls(functions[name], wanted):
            callee = _callee(call)
            if done.get(callee) is False:
                text = f"@{callee} works with tensor memory and calls itself"
                raise _error(module, functions[name], call, text, "functions that end in calls")
            if callee not in done:
                visit(callee)
        done[name] = True
        order.append(name)

    for name in functions:
        if name not in done:
            visit(name)
    return order


def _error(
    module: Module, function: MachineFunction, mi: MachineInstr, text: str, expected: str
) -> SelectionError:
    finding = Finding(
        "walkthrough/inline", Severity.ERROR, text, op=mi.opcode, expected=expected,
        hint="what a CTA does together with tensor memory is expanded within its kernel",
        section="PTX ISA, call",
    )  # fmt: skip
    return SelectionError([finding.at(place_of(module.locations[mi.loc], function.name))])


class _Inlining:
    """One call, of which `callee`'s records take the place."""

    def __init__(
        self,
        module: Module,
        caller: MachineFunction,
        callee: MachineFunction,
        call: MachineInstr,
    ) -> None:
        self.module = module
        self.caller = caller
        self.callee = callee
        self.call = call
        self.index = next(i for i, b in enumerate(caller.blocks) if _has(b, call))
        names = {block.name for block in caller.blocks}
        self.labels = {b.name: _fresh(f"{callee.name}.{b.name}", names) for b in callee.blocks}
        self.after = _fresh(f"{callee.name}.after", names)
        classes, said = callee.regs.classes, callee.regs.names
        self.registers = {
            reg: caller.regs.new(classes[reg], said[reg]) for reg in range(len(classes))
        }
        self.passed = self._passed()
        self.results = self._results()

    def run(self) -> None:
        """Put the callee's blocks between the two halves of the caller's."""
        block = self.caller.blocks[self.index]
        at = next(i for i, mi in enumerate(block.instrs) if mi is self.call)
        rest = Block(self.after, [new for mi in block.instrs[at + 1 :] for new in self._got(mi)])
        block.instrs = [mi for mi in block.instrs[:at] if not self._passes(mi)]
        inner = [
            replace(
                b,
                name=self.labels[b.name],
                instrs=[new for mi in b.instrs for new in self._copied(mi)],
            )
            for b in self.callee.blocks
        ]
        self.caller.blocks[self.index + 1 : self.index + 1] = [*inner, rest]
        own = {variable.name for variable in self.caller.variables}
        gone = {name for slot in ("params", "results") for name in _names(self.call.get(slot))}
        self.caller.variables = [v for v in self.caller.variables if v.name not in gone]
        self.caller.variables += [v for v in self.callee.variables if v.name not in own]
        self.caller.prototypes += [
            one for one in self.callee.prototypes if one not in self.caller.prototypes
        ]

    # ---- what is passed ----------------------------------------------------------------------

    def _passed(self) -> _Pieces:
        """What the caller stored into the call's parameters, by the callee's names."""
        names = _names(self.call.get("params"))
        own = {ours: p.name for ours, p in zip(names, self.callee.params, strict=True)}
        found: _Pieces = {}
        for mi in self.caller.blocks[self.index].instrs:
            if mi.row.id == "st" and _variable(mi) in own:
                found |= {(own[name], at): op for name, at, op in _pieces(mi, "b")}
        return found

    def _passes(self, mi: MachineInstr) -> bool:
        return mi.row.id == "st" and _variable(mi) in _names(self.call.get("params"))

    def _results(self) -> dict[int, Reg]:
        """A register for each piece of the result that the caller takes, by its byte."""
        found: dict[int, Reg] = {}
        names = _names(self.call.get("results"))
        for mi in self.caller.blocks[self.index].instrs:
            if mi.row.id == "ld" and _variable(mi) in names:
                for _, at, op in _pieces(mi, "d"):
                    assert isinstance(op, int)
                    found[at] = self.caller.regs.new(self.caller.regs.classes[op])
        return found

    def _got(self, mi: MachineInstr) -> Iterator[MachineInstr]:
        """What becomes of a record of the caller behind the call: loads of the result are moves."""
        if mi.row.id != "ld" or _variable(mi) not in _names(self.call.get("results")):
            yield mi
            return
        for _, at, op in _pieces(mi, "d"):
            assert isinstance(op, int)
            yield move(self.caller, op, self.results[at], mi.loc)

    # ---- records -----------------------------------------------------------------------------

    def _copied(self, mi: MachineInstr) -> Iterator[MachineInstr]:
        """What becomes of a record of the callee."""
        if mi.row.id == "ret":
            jump = catalog.form("bra")
            guard = MachineInstr(mi.form, mi.ops, mi.guard, mi.loc)
            guard.map_registers(self.registers)
            yield MachineInstr(jump, (Label(self.after),), guard.guard, mi.loc)
            return
        new = MachineInstr(mi.form, mi.ops, mi.guard, mi.loc)
        new.map_labels(self.labels)
        new.map_registers(self.registers)
        if mi.row.id == "ld" and _variable(mi) in {p.name for p in self.callee.params}:
            yield from self._taken(new)
        elif mi.row.id == "st" and _variable(mi) in {p.name for p in self.callee.results}:
            yield from self._given(new)
        else:
            if any(p.name in _symbols(mi) for p in (*self.callee.params, *self.callee.results)):
                raise self._in_pieces()
            yield new

    def _in_pieces(self) -> SelectionError:
        text = f"what @{self.callee.name} takes or gives is not passed in registers"
        expected = "numbers, pointers and vectors, of the types that the function has"
        return _error(self.module, self.caller, self.call, text, expected)

    def _taken(self, mi: MachineInstr) -> Iterator[MachineInstr]:
        """A parameter into the callee's registers."""
        for name, at, reg in _pieces(mi, "d"):
            source = self.passed.get((name, at))
            assert isinstance(reg, int)
            if source is None:
                raise self._in_pieces()
            yield self._moved(reg, source, mi.loc)

    def _given(self, mi: MachineInstr) -> Iterator[MachineInstr]:
        """A piece of the result."""
        for _, at, op in _pieces(mi, "b"):
            if at in self.results:
                yield self._moved(self.results[at], op, mi.loc)

    def _moved(self, result: Reg, source: Scalar, loc: int) -> MachineInstr:
        classes = self.caller.regs.classes
        wide = isinstance(source, int) and classes[source].bits > classes[result].bits
        if not wide:
            return move(self.caller, result, source, loc)
        types = {16: ScalarType.U16, 32: ScalarType.U32, 64: ScalarType.U64}
        assert isinstance(source, int)
        narrow = catalog.form(
            "cvt.int",
            dtype=types[classes[result].bits], atype=types[classes[source].bits],
        )  # fmt: skip
        return MachineInstr(narrow, (result, source), None, loc)


def _has(block: Block, mi: MachineInstr) -> bool:
    return any(one is mi for one in block.instrs)


def _fresh(wanted: str, names: set[str]) -> str:
    name, n = wanted, 1
    while name in names:
        n += 1
        name = f"{wanted}.{n}"
    names.add(name)
    return name


def _names(op: Op | None) -> list[str]:
    parts = op if isinstance(op, tuple) else ()
    return [part.name for part in parts if isinstance(part, Sym)]


def _symbols(mi: MachineInstr) -> set[str]:
    parts = [part for op in mi.ops for part in (op if isinstance(op, tuple) else (op,))]
    bases = [part.base if isinstance(part, Mem) else part for part in parts]
    return {base.name for base in bases if isinstance(base, Sym)}


def _variable(mi: MachineInstr) -> str:
    """The parameter that a load or a store accesses, "" for none."""
    address = mi["a"]
    if mi.form.attributes["space"] is not Space.PARAM or not isinstance(address, Mem):
        return ""
    return address.base.name if isinstance(address.base, Sym) else ""


def _pieces(mi: MachineInstr, slot: str) -> Iterator[tuple[str, int, Scalar]]:
    """The variable, the byte and the value of each element that a record moves."""
    address, moved = mi["a"], mi[slot]
    assert isinstance(address, Mem)
    size = mi.scalar_type().bits // 8
    for n, op in enumerate(moved if isinstance(moved, tuple) else (moved,)):
        yield _variable(mi), address.offset + n * size, op

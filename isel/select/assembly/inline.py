"""Calls of inline assembly: its text becomes records like any others.

Layer: isel.select.  Input: a call of `asm` and the state of its function.  Output: the records of
its statements between moves of what is passed and what comes back; with labels in the text, blocks
of them.  What was written is verified, optimised, printed and simulated as if it had come from
intrinsics; a statement that nvgen does not know stays as text, bound to its registers.
LLVM Language Reference, Inline Assembler Expressions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Imm, Reg, Scalar
from intrinsics.modifiers import ScalarType
from isel.diagnostics import Unselectable
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.type_layout import BITS, SHARED_SPACE, UNSIGNED, container
from isel.llvm.types import VOID, IntType, PointerType, StructType, Type
from isel.select.assembly.text import Constraint, read_constraints, substitute
from isel.select.repack import element_widths, from_predicate, repack
from isel.select.state import FunctionState, Values, form
from isel.select.statements import append
from isel.select.widths import LIMB, extend, resize

if TYPE_CHECKING:
    from asmprinter.ptx.reading.fragment import Fragment

T = ScalarType


@dataclass(slots=True)
class _Operands:
    """The operands of a call of assembly by their numbers in the text."""

    outputs: list[tuple[int, ScalarType]]
    inputs: list[tuple[int, Constraint, llvm.Value]]
    numbers: dict[int, str]
    memory: list[int]
    count: int

    def classes(self) -> dict[int, ScalarType]:
        """The class of each operand that is in a register; one tied to an output is that output."""
        found = dict(self.outputs)
        for number, constraint, _ in self.inputs:
            if constraint.register is not None:
                found[number] = constraint.register
            elif constraint.tie is not None:
                found[number] = found[constraint.tie]
        return found


def inline_assembly(state: FunctionState, call: ir.Call) -> Fragment:
    """Select a call of inline assembly; gives the fragment that was read.

    Raises: Unselectable.
    """
    callee = call.callee
    assert isinstance(callee, llvm.InlineAsm)
    operands = _operands(state, call, callee)
    classes = operands.classes()
    fragment = state.assembly.fragment(_text(callee.text, operands), classes)
    table: dict[Reg, Reg] = {}
    given: dict[int, Scalar] = {}
    ties: dict[int, Scalar] = {}
    for number, constraint, value in operands.inputs:
        if constraint.tie is not None:
            ties[constraint.tie] = _passed(state, value, classes[number])
        elif number not in operands.numbers:
            given[number] = _passed(state, value, classes[number])
    for number, op in given.items():
        table[fragment.registers[f"${number}"]] = state.reg(op, classes[number])
    outputs: list[Scalar] = []
    for number, cls in operands.outputs:
        own = fragment.registers[f"${number}"]
        tied = ties.get(number)
        if tied is not None and own not in fragment.written:
            table[own] = state.reg(tied, cls)
            outputs.append(tied)
            continue
        table[own] = out = state.new(cls)
        if tied is not None:
            state.emit(form("mov", type=cls), out, tied)
        outputs.append(out)
    append(state, fragment, table)
    _give_back(state, call, operands.outputs, outputs)
    return fragment


def _operands(state: FunctionState, call: ir.Call, callee: llvm.InlineAsm) -> _Operands:
    constraints = read_constraints(callee.constraints)
    arguments = iter(call.arguments)
    found = _Operands([], [], {}, [], len(constraints))
    for number, constraint in enumerate(constraints):
        if constraint.indirect:
            found.memory.append(number)
        if constraint.is_output and not constraint.indirect:
            assert constraint.register is not None
            found.outputs.append((number, constraint.register))
            continue
        value = next(arguments)
        spelled = _number(state, value) if constraint.may_be_number else None
        if spelled is not None:
            found.numbers[number] = spelled
        elif constraint.register is None and constraint.tie is None:
            raise Unselectable(
                "inline-asm",
                f"operand {number} of the inline assembly is no number",
                op="asm",
                got=f"a value of type {value.type}",
                expected="a constant",
                hint="r, l, h, f and d ask for registers",
            )
        else:
            found.inputs.append((number, constraint, value))
    return found


def _number(state: FunctionState, value: llvm.Value) -> str | None:
    """A constant as text: a number, or the name of a global."""
    match value:
        case llvm.ConstInt():
            return str(value.value if value.type.bits == 1 else value.signed)
        case llvm.GlobalRef(name):
            return state.symbol(name)
    return None


def _text(text: str, operands: _Operands) -> str:
    """The text in which operand n is called `$n`, and one that is tied to an output as that is."""
    text = substitute(text, operands.numbers, operands.memory, operands.count)
    ties = {f"${n}": f"${c.tie}" for n, c, _ in operands.inputs if c.tie is not None}
    if not ties:
        return text
    return re.sub(r"\$\d+", lambda match: ties.get(match[0], match[0]), text)


# ---- what is passed and what comes back ------------------------------------------------------


def _passed(state: FunctionState, value: llvm.Value, cls: ScalarType) -> Scalar:
    """A value as an operand of a class: its bits, with zeros above."""
    classes = state.layout.classes(value.type)
    ops = state.value(value)
    if len(classes) == 1 and classes[0].bits == cls.bits:
        return ops[0]
    if cls is T.B32 and value.type == PointerType(SHARED_SPACE):  # such addresses have 32 bits
        return resize(state, state.reg(ops[0], T.B64), LIMB, cls.bits)
    widths = element_widths(state, value.type)
    if cls is T.PRED or not _fits(widths, cls):
        raise _misfit(value.type, cls)
    if len(ops) == 1 and isinstance(ops[0], Imm):
        return Imm(ops[0].value & ((1 << widths[0]) - 1))
    result = state.new(cls)
    if widths == [1]:
        from_predicate(state, result, state.reg(ops[0], T.PRED), 1)
    elif len(widths) == 1:
        bits = container(widths[0])
        low = extend(state, state.reg(ops[0], BITS[bits]), widths[0], signed=False)
        return resize(state, state.reg(low, BITS[bits]), bits, cls.bits)
    elif cls is T.B128:
        state.emit(form("mov.pack2", type=cls), result, _limbs(state, ops, widths))
    else:
        rest = cls.bits - sum(widths)
        more = ([Imm(0)], [rest]) if rest else ([], [])
        repack(state, [*ops, *more[0]], [*widths, *more[1]], [result], [cls.bits])
    return result


def _limbs(state: FunctionState, ops: Values, widths: Sequence[int]) -> tuple[Scalar, ...]:
    if [*widths] == [64, 64]:
        return tuple(state.reg(op, T.B64) for op in ops)
    limbs = state.new(T.B64), state.new(T.B64)
    repack(state, ops, widths, limbs, [64, 64])
    return limbs


def _give_back(
    state: FunctionState,
    call: ir.Call,
    outputs: Sequence[tuple[int, ScalarType]],
    values: Sequence[Scalar],
) -> None:
    if call.type == VOID:
        return
    types = call.type.elements if isinstance(call.type, StructType) else (call.type,)
    parts = [
        part
        for type_, (_, cls), value in zip(types, outputs, values, strict=True)
        for part in _come_back(state, value, cls, type_)
    ]
    state.forward(call.result, tuple(parts))


def _come_back(state: FunctionState, value: Scalar, cls: ScalarType, type_: Type) -> Values:
    """The registers of a result of a type, from the register of a class that the text wrote."""
    classes = state.layout.classes(type_)
    if len(classes) == 1 and classes[0].bits == cls.bits:
        return (value,)
    widths = element_widths(state, type_)
    is_flag = widths == [1] and not isinstance(type_, IntType)
    if cls is T.PRED or is_flag or not _fits(widths, cls):
        raise _misfit(type_, cls)
    results = tuple(state.new(c) for c in classes)
    if cls is T.B128:
        limbs = state.two_halves(state.reg(value, cls), T.B64)
        repack(state, limbs, [64, 64], results, widths)
    elif len(widths) == 1 and widths != [1]:
        narrow = form("cvt.int", dtype=UNSIGNED[classes[0].bits], atype=UNSIGNED[cls.bits])
        state.emit(narrow, results[0], state.reg(value, cls))
    else:
        rest = cls.bits - sum(widths)
        more = [state.new(BITS[max(16, 1 << (rest - 1).bit_length())])] if rest else []
        repack(state, [value], [cls.bits], [*results, *more], [*widths, *([rest] if rest else [])])
    return results


def _fits(widths: Sequence[int], cls: ScalarType) -> bool:
    """Whether elements fit a register; one of 128 bits is filled by what it holds, as in LLVM."""
    return sum(widths) == cls.bits if cls is T.B128 else sum(widths) <= cls.bits


def _misfit(type_: Type, cls: ScalarType) -> Unselectable:
    return Unselectable(
        "inline-asm",
        f"a value of type {type_} does not fit the register that its constraint asks for",
        op="asm",
        got=str(type_),
        expected={T.PRED: "i1", T.B128: "128 bits"}.get(cls, f"{cls.bits} bits or less"),
        hint="b is i1, h 16 bits, r and f 32, l and d 64, q 128",
    )

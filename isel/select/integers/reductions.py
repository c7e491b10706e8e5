"""One number out of a vector of integers: llvm.vector.reduce.

Layer: isel.select.  The order does not matter for integers: neighbours are put together first.
"""

from __future__ import annotations

import re

from intrinsics.mir import Reg, Scalar
from intrinsics.modifiers import ScalarType
from isel.llvm.ir import Call
from isel.llvm.type_layout import BITS, SIGNED, UNSIGNED
from isel.llvm.types import IntType
from isel.llvm.vocabulary import IntPredicate, Opcode
from isel.select.integers.arithmetic import binary_element
from isel.select.integers.comparison import compare_element
from isel.select.state import FunctionState, Values, form
from isel.select.widths import LIMB, elements, extend, register, register_bits

T = ScalarType
_NAME = re.compile(r"llvm\.vector\.reduce\.(\w+)\.v\d+i\d+")

_OPERATIONS = {
    "add": Opcode.ADD,
    "mul": Opcode.MUL,
    "and": Opcode.AND,
    "or": Opcode.OR,
    "xor": Opcode.XOR,
}
_EXTREMES = {
    "smin": ("min", True, IntPredicate.SLT),
    "smax": ("max", True, IntPredicate.SGT),
    "umin": ("min", False, IntPredicate.ULT),
    "umax": ("max", False, IntPredicate.UGT),
}
_BIT_EXTREMES = {"smin": Opcode.OR, "smax": Opcode.AND, "umin": Opcode.AND, "umax": Opcode.OR}
"""Least and greatest of single bits; as a signed number a set bit is -1."""


def select_reduction(state: FunctionState, call: Call, name: str) -> bool:
    """Select a call of `name`, if it is the reduction of a vector of integers.

    Raises: Unselectable.
    """
    match = _NAME.fullmatch(name)
    if match is None or match[1] not in _OPERATIONS | _EXTREMES:
        return False
    type_ = call.type
    assert isinstance(type_, IntType)
    row = elements(state, call.arguments[0])
    while len(row) > 1:
        pairs = zip(row[::2], row[1::2], strict=False)
        alone = row[len(row) // 2 * 2 :]
        row = [_together(state, match[1], type_, a, b) for a, b in pairs] + alone
    state.forward(call.result, row[0])
    return True


def _together(state: FunctionState, kind: str, type_: IntType, a: Values, b: Values) -> Values:
    result: tuple[Reg, ...] = tuple(state.new(cls) for cls in state.layout.classes(type_))
    opcode = _OPERATIONS.get(kind)
    if type_.bits == 1 and kind in _BIT_EXTREMES:
        opcode = _BIT_EXTREMES[kind]
    if opcode is not None:
        binary_element(state, opcode, type_.bits, result, a, b)
        return result
    row, signed, before = _EXTREMES[kind]
    if type_.bits <= LIMB:
        bits = register_bits(type_, f"reduce.{kind}")
        types = SIGNED if signed else UNSIGNED
        left, right = (extend(state, op[0], type_.bits, signed=signed) for op in (a, b))
        first: Scalar = register(state, left, bits)
        state.emit(form(row, type=types[bits]), result[0], first, right)
        return result
    chosen = state.new(T.PRED)
    compare_element(state, before, type_.bits, chosen, a, b)
    for d, yes, no in zip(result, a, b, strict=True):
        state.emit(form("selp", type=BITS[64]), d, yes, no, chosen)
    return result

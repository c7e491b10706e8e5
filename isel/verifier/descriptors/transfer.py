"""Transfer functions of the known-bits analysis.

Layer: isel.verifier.descriptors.  Input: a record and the known bits of its operands.  Output: the
known bits of a register that it writes.  PTX ISA, Integer Arithmetic, Logic and Shift, Comparison
and Selection, Data Movement and Conversion Instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from intrinsics import known_bits as bits
from intrinsics.known_bits import UNKNOWN, KnownBits
from intrinsics.mir import Imm, MachineInstr, Op, Reg
from intrinsics.modifiers import ScalarType

Get: TypeAlias = Callable[[Op], KnownBits]


def written(mi: MachineInstr, reg: Reg, get: Get) -> KnownBits:
    """The known bits of `reg` after `mi`, which writes it."""
    rule = _RULES.get(mi.row.id)
    if rule is None or mi.form.attributes.get("sat") is not None or _is_packed(mi):
        return UNKNOWN
    d = mi.get("d")
    if isinstance(d, tuple):
        return _part(mi, d.index(reg), len(d), get)
    return rule(mi, get) if d == reg else UNKNOWN


def copied_operands(mi: MachineInstr) -> list[Op]:
    """The operands whose lowest bits are copied to the result, or combined with those of others."""
    match mi.row.id:
        case "mov" | "cvt.int" | "shfl.sync":
            return [mi["a"]]
        case "or" | "and":
            return [mi["a"], mi["b"]]
        case "add.int" if isinstance(mi["b"], Imm):
            return [mi["a"]]
        case "mov.pack2":
            low = mi["a"]
            return [low[0]] if isinstance(low, tuple) else []
    return []


def _is_packed(mi: MachineInstr) -> bool:
    type_ = mi.form.attributes.get("type")
    return isinstance(type_, ScalarType) and type_.is_packed


def _read(value: KnownBits, type_: ScalarType) -> KnownBits:
    """A number, sign- or zero-extended as its type demands."""
    return value.signed(type_.bits) if type_.is_signed else value.low(type_.bits)


# ---- moves -----------------------------------------------------------------------------------


def _copy(mi: MachineInstr, get: Get) -> KnownBits:
    """Also a shuffle: bits that are known in every thread are known in the source lane."""
    return get(mi["a"])


def _pack(mi: MachineInstr, get: Get) -> KnownBits:
    a, width = mi["a"], mi.scalar_type().bits
    if not isinstance(a, tuple) or width > bits.WIDTH:
        return UNKNOWN
    width //= len(a)
    found = bits.exactly(0)
    for i, part in enumerate(a):
        found = bits.disjunction(found, bits.shifted_left(get(part).low(width), i * width))
    return found


def _part(mi: MachineInstr, number: int, count: int, get: Get) -> KnownBits:
    """One of the registers that a number is unpacked to."""
    width = mi.scalar_type().bits
    if mi.row.id not in _UNPACKS or width > bits.WIDTH:
        return UNKNOWN
    width //= count
    return bits.shifted_right(get(mi["a"]), number * width).low(width)


def _cvt(mi: MachineInstr, get: Get) -> KnownBits:
    return _read(get(mi["a"]), mi.scalar_type("atype")).low(mi.scalar_type("dtype").bits)


def _selp(mi: MachineInstr, get: Get) -> KnownBits:
    chosen = get(mi["c"]).field(0, 1)
    if chosen is None:
        return bits.meet(get(mi["a"]), get(mi["b"]))
    return get(mi["a"]) if chosen else get(mi["b"])


# ---- arithmetic ------------------------------------------------------------------------------


def _add(mi: MachineInstr, get: Get) -> KnownBits:
    return bits.total(get(mi["a"]), get(mi["b"]))


def _sub(mi: MachineInstr, get: Get) -> KnownBits:
    return bits.difference(get(mi["a"]), get(mi["b"]))


def _multiply(mi: MachineInstr, get: Get) -> KnownBits:
    """mul.lo: the low bits do not depend on signedness."""
    width = mi.scalar_type().bits
    return bits.product(get(mi["a"]).low(width), get(mi["b"]).low(width))


def _multiply_wide(mi: MachineInstr, get: Get) -> KnownBits:
    type_ = mi.scalar_type()
    a, b = _read(get(mi["a"]), type_), _read(get(mi["b"]), type_)
    return bits.product(a, b).low(2 * type_.bits)


def _multiply_add(mi: MachineInstr, get: Get) -> KnownBits:
    return bits.total(_multiply(mi, get), get(mi["c"]))


def _multiply_wide_add(mi: MachineInstr, get: Get) -> KnownBits:
    return bits.total(_multiply_wide(mi, get), get(mi["c"]))


# ---- bits ------------------------------------------------------------------------------------


def _and(mi: MachineInstr, get: Get) -> KnownBits:
    return bits.conjunction(get(mi["a"]), get(mi["b"]))


def _or(mi: MachineInstr, get: Get) -> KnownBits:
    return bits.disjunction(get(mi["a"]), get(mi["b"]))


def _xor(mi: MachineInstr, get: Get) -> KnownBits:
    return bits.difference_of_bits(get(mi["a"]), get(mi["b"]))


def _not(mi: MachineInstr, get: Get) -> KnownBits:
    return bits.inverse(get(mi["a"]))


def _shl(mi: MachineInstr, get: Get) -> KnownBits:
    count = get(mi["b"]).field(0, 32)
    return UNKNOWN if count is None else bits.shifted_left(get(mi["a"]), count)


def _shr(mi: MachineInstr, get: Get) -> KnownBits:
    type_, count = mi.scalar_type(), get(mi["b"]).field(0, 32)
    a = get(mi["a"]).low(type_.bits)
    if count is None or (type_.is_signed and a.field(type_.bits - 1, 1) != 0):
        return UNKNOWN
    return bits.shifted_right(a, count)


def _bfe(mi: MachineInstr, get: Get) -> KnownBits:
    type_ = mi.scalar_type()
    first, count = get(mi["b"]).field(0, 8), get(mi["c"]).field(0, 8)
    if type_.is_signed or first is None or count is None:
        return UNKNOWN
    return bits.shifted_right(get(mi["a"]).low(type_.bits), first).low(min(count, type_.bits))


def _bfi(mi: MachineInstr, get: Get) -> KnownBits:
    """Bits of `a` replace `e` bits of `b`, from bit `c` on."""
    first, count = get(mi["c"]).field(0, 8), get(mi["e"]).field(0, 8)
    if first is None or count is None or first + count > mi.scalar_type().bits:
        return UNKNOWN
    hole = ((1 << count) - 1) << first
    around = bits.conjunction(get(mi["b"]), bits.exactly(~hole))
    return bits.disjunction(around, bits.shifted_left(get(mi["a"]).low(count), first))


def _lop3(mi: MachineInstr, get: Get) -> KnownBits:
    table = get(mi["lut"]).field(0, 8)
    if table is None:
        return UNKNOWN
    return bits.by_table(table, [get(mi[slot]) for slot in ("a", "b", "c")])


_Rule: TypeAlias = Callable[[MachineInstr, Get], KnownBits]

_UNPACKS = ("mov.unpack2", "mov.unpack4")

_RULES: dict[str, _Rule] = {
    "mov": _copy,
    **dict.fromkeys(("mov.pack2", "mov.pack4"), _pack),
    **dict.fromkeys(_UNPACKS, _copy),
    "cvt.int": _cvt,
    "shfl.sync": _copy,
    "selp": _selp,
    "add.int": _add,
    "sub.int": _sub,
    "mul.lo": _multiply,
    "mul.wide": _multiply_wide,
    "mad.lo": _multiply_add,
    "mad.wide": _multiply_wide_add,
    "and": _and,
    "or": _or,
    "xor": _xor,
    "not": _not,
    "shl": _shl,
    "shr": _shr,
    "bfe": _bfe,
    "bfi": _bfi,
    "lop3": _lop3,
}
"""By row; results of other rows have no known bits."""

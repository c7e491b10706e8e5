"""Steps that compute: integers, floating point, vectors, aggregates."""

from __future__ import annotations

from tests.oracle.integer_edges import ARITHMETIC, PREDICATES, SHIFTS
from tests.property.irtypes import (
    BFLOAT,
    FLOAT,
    I1,
    Array,
    Float,
    Int,
    Scalar,
    Simple,
    Struct,
    Type,
    Vector,
    bits,
    element,
    like,
    parts,
    suffix,
)
from tests.property.plans import Picks, scalars
from tests.property.writer import Scope, Value, Writer, bits_of, converts, float_text

FCMP = ("oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une",
        "uno", "true", "false")  # fmt: skip
FLOAT_BINARY = ("fadd", "fsub", "fmul", "fdiv", "frem")
FLOAT_UNARY = ("fabs", "sqrt", "floor", "ceil", "trunc", "rint", "nearbyint", "roundeven", "round")


def integers_of(type_: Type) -> Simple:
    """The type, or the nearest one of integers."""
    match type_:
        case Int() | Vector(_, Int()):
            return type_
        case Float() | Vector():
            return like(type_, Int(bits_of(type_)))
        case Array() | Struct():
            return integers_of(parts(type_)[0])


def floats_of(type_: Type, features: frozenset[str]) -> Simple:
    """The type, or the nearest one of floating point."""
    match type_:
        case Float() | Vector(_, Float()):
            return type_
        case Array() | Struct():
            return floats_of(parts(type_)[0], features)
        case _:
            width = bits_of(type_)
            found = FLOAT if width <= 32 else Float("double")
            if width <= 16 and "half" in features:
                found = Float("half")
            return like(type_, found)


def simple_of(type_: Type) -> Simple:
    """The type, or the first simple one inside."""
    return simple_of(parts(type_)[0]) if isinstance(type_, Array | Struct) else type_


def wide(type_: Simple) -> Simple:
    """Integers that can be divided: not of one bit."""
    return like(type_, Int(32)) if bits_of(type_) == 1 else type_


# ---- integers ------------------------------------------------------------------------------


def arith(w: Writer, scope: Scope, type_: Type, picks: Picks) -> Value:
    found = integers_of(type_)
    name = picks.one(ARITHMETIC)
    return w.op(name, w.operand(scope, found, picks), w.operand(scope, found, picks))


def amount(w: Writer, value: Value) -> Value:
    """A shift amount in range."""
    assert isinstance(value.type, Int | Vector)
    width = bits_of(value.type)
    if value.name.startswith("%"):
        return w.number(value.type, 0) if width == 1 else w.below(value, width)
    return w.number(value.type, min(3, width - 1))


def shift(w: Writer, scope: Scope, type_: Type, picks: Picks) -> Value:
    found = integers_of(type_)
    name = picks.one(SHIFTS)
    value = w.operand(scope, found, picks)
    if picks.below(3) == 0:
        return w.op(name, value, w.number(found, picks.below(bits_of(found))))
    return w.op(name, value, amount(w, w.operand(scope, found, picks)))


def icmp(w: Writer, scope: Scope, type_: Type, picks: Picks) -> Value:
    found = integers_of(type_)
    name = picks.one(PREDICATES)
    a, b = w.operand(scope, found, picks), w.operand(scope, found, picks)
    return w.value(like(found, I1), f"icmp {name} {a}, {b.name}")


def select(w: Writer, scope: Scope, type_: Type, picks: Picks) -> Value:
    lanes = isinstance(type_, Vector) and picks.below(2) == 1
    flag: Type = like(type_, I1) if lanes and isinstance(type_, Vector) else I1
    test = w.operand(scope, flag, picks)
    a, b = w.operand(scope, type_, picks), w.operand(scope, type_, picks)
    return w.value(type_, f"select {test}, {a}, {b}")


def divide(w: Writer, scope: Scope, type_: Type, picks: Picks) -> Value:
    """A division whose divisor is neither 0 nor -1."""
    found = wide(integers_of(type_))
    name = picks.one(("udiv", "urem", "sdiv", "srem"))
    a = w.operand(scope, found, picks)
    if picks.below(3) == 0:
        width = bits_of(found)
        powers = [1 << n for n in range(width - 1)]
        divisor = picks.one([3, 1, 7, 10, 2, -2, -3, 100, *powers])
        return w.op(name, a, w.number(found, divisor % (1 << min(width - 1, 6)) or 3))
    return w.op(name, a, divisor_of(w, w.operand(scope, found, picks)))


def divisor_of(w: Writer, value: Value) -> Value:
    """The value, or 3 where it is 0 or -1."""
    type_ = value.type
    assert isinstance(type_, Int | Vector)
    above = w.op("add", value, w.number(type_, 1))
    bad = w.value(like(type_, I1), f"icmp ult {above}, {w.number(type_, 2).name}")
    return w.value(type_, f"select {bad}, {w.number(type_, 3)}, {value}")


INTEGER_INTRINSICS = {
    **dict.fromkeys(("umin", "umax", "smin", "smax"), 2),
    **dict.fromkeys(("uadd.sat", "usub.sat"), 2),
    **dict.fromkeys(("ctpop", "bitreverse", "bswap"), 1),
    **dict.fromkeys(("abs", "ctlz", "cttz"), 1),
    **dict.fromkeys(("fshl", "fshr"), 3),
    **dict.fromkeys(("ucmp", "scmp"), 2),
}
"""LLVM's intrinsics on integers and how many operands they have."""

SATURATING = dict.fromkeys(("sadd.sat", "ssub.sat", "ushl.sat", "sshl.sat"), 2)


def intrinsic(w: Writer, scope: Scope, type_: Type, picks: Picks) -> Value:
    found = wide(integers_of(type_))
    known = INTEGER_INTRINSICS | (SATURATING if "saturation" in w.features else {})
    name = picks.one([*known])
    if name == "bswap" and bits_of(found) % 16:
        found = like(found, Int(16))
    given = [w.operand(scope, found, picks) for _ in range(known[name])]
    if name in ("ushl.sat", "sshl.sat"):
        given[1] = amount(w, given[1])
    if name in ("abs", "ctlz", "cttz"):
        given.append(Value("false", I1))
    if name in ("ucmp", "scmp"):
        narrow = Int(7) if "odd" in w.features else Int(16)
        result = like(found, picks.one((Int(32), Int(8), narrow, Int(64))))
        return w.call(f"llvm.{name}.{suffix(result)}.{suffix(found)}", result, *given)
    return w.call(f"llvm.{name}.{suffix(found)}", found, *given)


def overflow(w: Writer, scope: Scope, type_: Type, picks: Picks) -> list[Value]:
    """The result and the flag, each a value."""
    found = wide(integers_of(type_))
    name = picks.one(("uadd", "sadd", "usub", "ssub", "umul", "smul"))
    given = [w.operand(scope, found, picks) for _ in range(2)]
    pair = Struct((found, like(found, I1)))
    both = w.call(f"llvm.{name}.with.overflow.{suffix(found)}", pair, *given)
    return [w.value(part, f"extractvalue {both}, {i}") for i, part in enumerate(pair.elements)]


# ---- floating point ------------------------------------------------------------------------


def float_(w: Writer, scope: Scope, type_: Type, picks: Picks) -> Value:
    found = floats_of(type_, w.features)
    kind = picks.below(10)
    if kind < 3:
        name = picks.one(FLOAT_BINARY)
        return w.op(name, w.operand(scope, found, picks), w.operand(scope, found, picks))
    if kind == 3:
        return w.value(found, f"fneg {w.operand(scope, found, picks)}")
    a = w.operand(scope, found, picks)
    if kind == 4:
        b, c = w.operand(scope, found, picks), w.operand(scope, found, picks)
        return w.call(f"llvm.fma.{suffix(found)}", found, a, b, c)
    if kind == 5:
        return extremum(w, a, w.operand(scope, found, picks), picks)
    if kind == 6:
        # the sign of a NaN must not show
        sign = w.canonical(w.operand(scope, found, picks))
        return w.call(f"llvm.copysign.{suffix(found)}", found, a, sign)
    return w.call(f"llvm.{picks.one(FLOAT_UNARY)}.{suffix(found)}", found, a)


def extremum(w: Writer, a: Value, b: Value, picks: Picks) -> Value:
    """The smaller or the larger; minnum and maxnum may give either zero: then +0."""
    type_ = a.type
    assert isinstance(type_, Float | Vector)
    name = picks.one(("minnum", "maxnum", "minimum", "maximum"))
    found = w.call(f"llvm.{name}.{suffix(type_)}", type_, a, b)
    return found if name in ("minimum", "maximum") else positive_zero(w, found)


def positive_zero(w: Writer, found: Value) -> Value:
    """A number, with +0 for either zero."""
    type_ = found.type
    assert isinstance(type_, Float | Vector)
    zero = w.splat(type_, "0xH0000" if element(type_) == Float("half") else "0.0")
    if element(type_) == BFLOAT:
        zero = w.splat(type_, "0xR0000")
    test = w.value(like(type_, I1), f"fcmp oeq {found}, {zero.name}")
    return w.value(type_, f"select {test}, {zero}, {found}")


def fcmp(w: Writer, scope: Scope, type_: Type, picks: Picks) -> Value:
    found = floats_of(type_, w.features)
    name = picks.one(FCMP)
    a, b = w.operand(scope, found, picks), w.operand(scope, found, picks)
    return w.value(like(found, I1), f"fcmp {name} {a}, {b.name}")


def convert(w: Writer, scope: Scope, type_: Type, picks: Picks) -> Value:
    """Between integers and floating point, and between formats; vectors lane by lane."""
    source = floats_of(type_, w.features)
    kind = picks.below(4)
    if kind == 0:
        integer = picks.one([s for s in scalars(w.features) if isinstance(s, Int)])
        result = wide(like(source, w.saturable(integer)))
        name = picks.one(("fptosi", "fptoui"))
        value = w.operand(scope, source, picks)
        return w.call(f"llvm.{name}.sat.{suffix(result)}.{suffix(source)}", result, value)
    if kind == 1:
        integer = picks.one([s for s in scalars(w.features) if isinstance(s, Int)])
        if not converts(integer, element(source)):
            integer = Int(16)
        value = w.operand(scope, like(source, integer), picks)
        return w.value(source, f"{picks.one(('sitofp', 'uitofp'))} {value} to {source}")
    if kind == 2:
        other = picks.one([s for s in scalars(w.features) if isinstance(s, Float)])
        return w.refloat(w.operand(scope, source, picks), like(source, other))
    return in_range(w, w.operand(scope, source, picks), picks)


def in_range(w: Writer, value: Value, picks: Picks) -> Value:
    """fptosi or fptoui, of numbers that fit."""
    safe = small(w, value)
    assert isinstance(safe.type, Float | Vector)
    result = like(safe.type, picks.one((Int(32), Int(8), Int(16), Int(64))))
    return w.value(result, f"{picks.one(('fptosi', 'fptoui'))} {safe} to {result}")


def small(w: Writer, value: Value) -> Value:
    """Numbers from 0 to 100 remain, others become 1."""
    type_ = value.type
    assert isinstance(type_, Float | Vector)
    low, high, one = (w.splat(type_, float_hex(n, type_)) for n in (0.0, 100.0, 1.0))
    flags = like(type_, I1)
    above = w.value(flags, f"fcmp oge {value}, {low.name}")
    below = w.value(flags, f"fcmp ole {value}, {high.name}")
    fits = w.op("and", above, below)
    return w.value(type_, f"select {fits}, {value}, {one}")


def float_hex(number: float, type_: Simple) -> str:
    """A number in the format of a type."""
    scalar = element(type_)
    assert isinstance(scalar, Float)
    return float_text(number, scalar)


def cast(w: Writer, scope: Scope, type_: Type, picks: Picks) -> Value:
    """Integers in another width, all lanes at once."""
    found = integers_of(type_)
    other = picks.one([s for s in scalars(w.features) if isinstance(s, Int)])
    value = w.operand(scope, like(found, other), picks)
    return w.resize(value, found, signed=picks.below(2) == 1)


# ---- vectors -------------------------------------------------------------------------------


def vector_of(type_: Type) -> Vector:
    """The type, or a vector of it."""
    found = simple_of(type_)
    return found if isinstance(found, Vector) else Vector(4, found)


def lane(w: Writer, scope: Scope, type_: Vector, picks: Picks) -> Value:
    if "dynamic" in w.features:
        return w.index(scope, type_.count, picks)
    return Value(str(picks.below(type_.count)), Int(32))


def extract(w: Writer, scope: Scope, type_: Type, picks: Picks) -> Value:
    found = vector_of(type_)
    vector = w.operand(scope, found, picks)
    return w.value(found.element, f"extractelement {vector}, {lane(w, scope, found, picks)}")


def insert(w: Writer, scope: Scope, type_: Type, picks: Picks) -> Value:
    found = vector_of(type_)
    vector, scalar = w.operand(scope, found, picks), w.operand(scope, found.element, picks)
    where = lane(w, scope, found, picks)
    return w.value(found, f"insertelement {vector}, {scalar}, {where}")


def shuffle(w: Writer, scope: Scope, type_: Type, picks: Picks) -> Value:
    found = vector_of(type_)
    a, b = w.operand(scope, found, picks), w.operand(scope, found, picks)
    count = picks.below(7) + 2
    mask = ", ".join(f"i32 {picks.below(2 * found.count)}" for _ in range(count))
    result = Vector(count, found.element)
    return w.value(result, f"shufflevector {a}, {b}, <{count} x i32> <{mask}>")


def bits_(w: Writer, scope: Scope, type_: Type, picks: Picks) -> Value:
    """The same bits as another type.

    Elements are cut or joined, never shifted: LLVM is wrong at <7 x i8> as <8 x i7>, and its
    optimiser fails an assertion at <3 x i32> as <2 x i48>.
    """
    source = integers_of(simple_of(type_))
    if isinstance(source, Vector) and not packs(element(source)):
        source = like(source, Int(16))
    value = w.operand(scope, source, picks)
    width = bits(source)
    known = {s for s in scalars(w.features) if width % s.bits == 0 and width // s.bits in range(9)}
    choices: list[Simple] = []
    for scalar in sorted(known, key=str):
        count = width // scalar.bits
        old = bits_of(source)
        if count > 1 and (not packs(scalar) or (old % scalar.bits and scalar.bits % old)):
            continue
        choices.append(scalar if count == 1 else Vector(count, scalar))
    choices = [c for c in choices if c != source]
    if not choices:
        return value
    result = picks.one(choices)
    if isinstance(element(result), Float):
        return w.pattern(value, result)
    return w.value(result, f"bitcast {value} to {result}")


def packs(scalar: Scalar) -> bool:
    """Whether everyone agrees where the elements of a vector lie in its bits."""
    return scalar == I1 or scalar.bits % 8 == 0


# ---- aggregates ----------------------------------------------------------------------------


def compose(w: Writer, scope: Scope, type_: Type, picks: Picks) -> Value:
    """An aggregate from its parts, or one with a part replaced."""
    found = type_ if isinstance(type_, Array | Struct) else Struct((type_, Int(32), type_))
    if picks.below(2) == 0:
        return w.made(scope, found, picks)
    whole = w.operand(scope, found, picks)
    index = picks.below(len(parts(found)))
    inner = w.operand(scope, parts(found)[index], picks)
    return w.value(found, f"insertvalue {whole}, {inner}, {index}")


def decompose(w: Writer, scope: Scope, type_: Type, picks: Picks) -> Value:
    """A part of an aggregate, perhaps several levels down."""
    known = [v for v in scope.values if isinstance(v.type, Array | Struct)]
    found = known[-1 - picks.below(len(known))] if known else compose(w, scope, type_, picks)
    path: list[int] = []
    inner: Type = found.type
    while isinstance(inner, Array | Struct):
        path.append(picks.below(len(parts(inner))))
        inner = parts(inner)[path[-1]]
        if picks.below(3) == 2:
            break
    return w.value(inner, f"extractvalue {found}, {', '.join(map(str, path))}")


COMPUTATIONS = {
    "arith": arith,
    "shift": shift,
    "icmp": icmp,
    "select": select,
    "cast": cast,
    "divide": divide,
    "intrinsic": intrinsic,
    "overflow": overflow,
    "float": float_,
    "fcmp": fcmp,
    "convert": convert,
    "extract": extract,
    "insert": insert,
    "shuffle": shuffle,
    "bits": bits_,
    "compose": compose,
    "decompose": decompose,
}

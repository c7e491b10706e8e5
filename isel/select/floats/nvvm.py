"""llvm.nvvm's floating-point intrinsics to records, by their regular names.

Layer: isel.select.  The modifiers stand in the name as PTX has them (`fma.rn.ftz.f`); the type is
the last part (f, d, f16, bf16, f16x2, bf16x2), or what LLVM appends to an overloaded name.  Whether
the target has the form is for the verifier to judge: what the name says is never changed.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence

from intrinsics import catalog
from intrinsics.legality import judge, text_of
from intrinsics.mir import Form, Op, Scalar
from intrinsics.modifiers import Rounding, ScalarType
from intrinsics.row import Attribute, Qualifier
from isel.diagnostics import Unselectable
from isel.llvm import values as llvm
from isel.llvm.ir import Call
from isel.llvm.type_layout import BITS
from isel.llvm.types import VectorType
from isel.llvm.vocabulary import Flag
from isel.select.floats.steps import Floats
from isel.select.register_facts import Root
from isel.select.state import FunctionState, form

T = ScalarType
_TYPES = {
    "f": T.F32,
    "d": T.F64,
    "f32": T.F32,
    "f64": T.F64,
    "f16": T.F16,
    "bf16": T.BF16,
    "f16x2": T.F16X2,
    "bf16x2": T.BF16X2,
    "v2f16": T.F16X2,
    "v2bf16": T.BF16X2,
}
_ROWS = {
    "add": "add.float",
    "mul": "mul.float",
    "div": "div.float",
    "fma": "fma",
    "rcp": "rcp",
    "sqrt": "sqrt",
    "rsqrt": "rsqrt",
    "sin": "sin",
    "cos": "cos",
    "lg2": "lg2",
    "ex2": "ex2",
    "tanh": "tanh",
    "fabs": "abs.float",
    "neg": "neg.float",
    "fmin": "min.float",
    "fmax": "max.float",
}
_WHOLE = {
    "ceil": Rounding.RPI,
    "floor": Rounding.RMI,
    "trunc": Rounding.RZI,
    "round": Rounding.RNI,
}
_INTEGERS = {"i": T.S32, "ui": T.U32, "ll": T.S64, "ull": T.U64}
_FLOATS = {"f": T.F32, "d": T.F64}
_CONVERSION = re.compile(r"(f|d|i|ui|ll|ull)2(f|d|i|ui|ll|ull)((?:\.\w+)*)")
_PACKED = {T.F16X2: T.F16, T.BF16X2: T.BF16}
_OPERANDS = ("a", "b", "c")
_NARROW = {t.value: t for t in (T.E4M3X2, T.E5M2X2, T.E2M3X2, T.E3M2X2, T.E2M1X2, T.UE8M0X2)}


def select_float_nvvm(state: FunctionState, call: Call, name: str) -> bool:
    """Select a call of the intrinsic `name`, if it is one of these.

    Raises: Unselectable for modifiers that the instruction does not take together.
    """
    short = name.removeprefix("llvm.nvvm.")
    if short == name:
        return False
    floats = Floats(state, call.flags)
    found = _words(floats, call, short)
    if found is None:
        found = _regular(floats, call, name, short)
    if found is None:
        found = _to_and_from_integers(floats, call, name, short)
    if found is None:
        found = _between_floats(floats, call, name, short)
    if found is None:
        return False
    state.forward(call.result, found)
    return True


# ---- operands and results ----------------------------------------------------------------------


def _operand(floats: Floats, value: llvm.Value, kind: ScalarType) -> Scalar:
    """An argument: of packed types one register with both elements."""
    ops = floats.state.value(value)
    if isinstance(value.type, VectorType):
        return floats.packed(_PACKED[kind], *ops)
    return floats.literal(ops[0], kind)


def _result(floats: Floats, call: Call, chosen: Form, ops: Sequence[Op]) -> tuple[Scalar, ...]:
    """Emit a form whose result is the call's; a packed result is taken apart."""
    kind = chosen.attributes.get("dtype") or chosen.attributes["type"]
    assert isinstance(kind, ScalarType)
    result = floats.emit(chosen, *ops, cls=BITS[max(kind.bits, 16)])
    if isinstance(call.type, VectorType):
        return floats.unpacked(result, _PACKED[kind])
    return (result,)


@functools.cache
def _form(name: str, row_name: str, *modifiers: str, b: bool = False, **types: ScalarType) -> Form:
    """The form that a row has for modifiers in any order; `b`: its optional operand is there.

    Raises: Unselectable when it has none.
    """
    row = catalog.row(row_name)
    attributes: dict[str, Attribute] = {**types, **({"b": True} if b else {})}
    for qualifier_name, type_ in types.items():
        if type_ not in row.qualifier[qualifier_name].values:
            raise _no_form(name, f"{row.head} has no type .{type_.value}")
    for word in modifiers:
        qualifier = _qualifier(row.qualifier.values(), word)
        if qualifier is None:
            if word in catalog.literals(row):
                continue
            raise _no_form(name, f"{row.head} has no modifier .{word}")
        attributes[qualifier.name] = next(v for v in qualifier.values if v.value == word)
    chosen = form(row_name, **attributes)
    for rule in judge(row, chosen.attributes).broken:
        raise _no_form(name, text_of(rule))
    return chosen


def _qualifier(qualifiers: Iterable[Qualifier], word: str) -> Qualifier | None:
    return next((a for a in qualifiers if any(v.value == word for v in a.values)), None)


def _no_form(name: str, text: str) -> Unselectable:
    return Unselectable("unknown-intrinsic", f"@{name} is no instruction of PTX: {text}", op=name,
                        got=f"@{name}")  # fmt: skip


def _modifier(word: str) -> str:
    return {"nan": "NaN"}.get(word, word)


# ---- families ----------------------------------------------------------------------------------


def _regular(floats: Floats, call: Call, name: str, short: str) -> tuple[Scalar, ...] | None:
    """`head.modifiers.type`."""
    head, *words = short.split(".")
    if head in _WHOLE or head == "saturate":
        return _rounded(floats, call, name, head, words)
    row = _ROWS.get(head)
    if row is None or not call.arguments:
        return None
    if head in ("add", "sub", "mul", "div") and len(call.arguments) != 2:
        return None
    if short in ("div.full", "div.full.ftz"):
        words = [*words, "f"]
    kind = _TYPES.get(words[-1]) if words else None
    if kind is None:
        return None
    if short == "sqrt.f":
        rounding = "approx" if Flag.AFN in floats.flags else "rn"
        words = [rounding, *(["ftz"] if floats.state.flushes else []), "f"]
    chosen = _form(name, row, *map(_modifier, words[:-1]), type=kind)
    ops = [_operand(floats, value, kind) for value in call.arguments]
    found = _result(floats, call, chosen, ops)
    if head == "sqrt" and chosen.attributes["rnd"] is Rounding.APPROX:
        (root,), (of,) = found, ops
        if type(root) is int and type(of) is int:
            reciprocal = form("rsqrt", type=kind, ftz=chosen.attributes["ftz"])
            floats.state.roots[root] = Root(of, reciprocal)
    return found


def _rounded(
    floats: Floats, call: Call, name: str, head: str, words: list[str]
) -> tuple[Scalar, ...] | None:
    kind = _FLOATS.get(words[-1]) if words else None
    if kind is None:
        return None
    modifiers = ["sat"] if head == "saturate" else [_WHOLE[head].value]
    chosen = _form(name, "cvt.float", *modifiers, *words[:-1], dtype=kind, atype=kind)
    return _result(floats, call, chosen, [_operand(floats, call.arguments[0], kind)])


def _to_and_from_integers(
    floats: Floats, call: Call, name: str, short: str
) -> tuple[Scalar, ...] | None:
    """`d2i.rz`, `f2ull.rn.ftz`, `i2f.rm`, `d2f.rn`."""
    match = _CONVERSION.fullmatch(short)
    if match is None or match[1] == match[2]:
        return None
    words = match[3].split(".")[1:]
    source = {**_FLOATS, **_INTEGERS}[match[1]]
    to = {**_FLOATS, **_INTEGERS}[match[2]]
    if words in (["hi"], ["lo"]):
        return None
    if to.kind == "f":
        row = "cvt.float" if source.kind == "f" else "cvt.from_int"
    elif source.kind == "f":
        row = "cvt.to_int"
        words = [w if w == "ftz" else w + "i" for w in words]
    else:
        return None
    chosen = _form(name, row, *words, dtype=to, atype=source)
    ops = floats.state.value(call.arguments[0])
    operand = floats.literal(ops[0], source) if source.kind == "f" else ops[0]
    return _result(floats, call, chosen, [floats.state.reg(operand, BITS[source.bits])])


_BETWEEN: dict[str, tuple[str, ScalarType, ScalarType]] = {
    "f2bf16": ("cvt.to_bf16", T.BF16, T.F32),
    "f2f16": ("cvt.float", T.F16, T.F32),
    "f2h": ("cvt.float", T.F16, T.F32),
    "f2tf32": ("cvt.tf32", T.TF32, T.F32),
    "ff2bf16x2": ("cvt.pair", T.BF16X2, T.F32),
    "ff2f16x2": ("cvt.pair", T.F16X2, T.F32),
}


def _between_floats(floats: Floats, call: Call, name: str, short: str) -> tuple[Scalar, ...] | None:
    """`ff2bf16x2.rn.relu`, `f2tf32.rna`, `ff.to.e4m3x2.rn`, `e5m2x2.to.f16x2.rn`."""
    head, *words = short.split(".")
    entry = _BETWEEN.get(head)
    if entry is None and words[:1] == ["to"] and len(words) > 1:
        entry, words = _narrow(head, words[1]), words[2:]
        if short == "ue8m0x2.to.bf16x2":
            words = ["rn"]
    if entry is None:
        return None
    row, to, source = entry
    two = row == "cvt.to_scale" and len(call.arguments) == 2
    chosen = _form(name, row, *words, b=two, dtype=to, atype=source)
    ops = [_source(floats, value, source, to) for value in call.arguments]
    return _result(floats, call, chosen, ops)


def _narrow(source: str, to: str) -> tuple[str, ScalarType, ScalarType] | None:
    if source == "ff" and to in _NARROW:
        row = "cvt.to_scale" if to == "ue8m0x2" else "cvt.to_narrow"
        return row, _NARROW[to], T.F32
    if source in ("f16x2", "bf16x2") and to in _NARROW:
        row = "cvt.to_scale" if to == "ue8m0x2" else "cvt.narrow_pair"
        return row, _NARROW[to], _TYPES[source]
    if source in _NARROW and to in ("f16x2", "bf16x2"):
        row = "cvt.from_scale" if source == "ue8m0x2" else "cvt.from_narrow"
        return row, _TYPES[to], _NARROW[source]
    return None


def _source(floats: Floats, value: llvm.Value, kind: ScalarType, to: ScalarType) -> Scalar:
    op = _operand(floats, value, kind)
    return floats.state.reg(op, BITS[max(kind.bits, 16)]) if to is T.TF32 else op


def _words(floats: Floats, call: Call, short: str) -> tuple[Scalar, ...] | None:
    """A double from its two words, and one of them."""
    if short == "lohi.i2d":
        low, high = (floats.state.value(v)[0] for v in call.arguments)
        return (floats.emit(form("mov.pack2", type=T.B64), (low, high), cls=T.B64),)
    if short not in ("d2i.hi", "d2i.lo"):
        return None
    source = floats.reg(floats.state.value(call.arguments[0])[0], T.F64)
    return (floats.state.two_halves(source, T.B32)[short == "d2i.hi"],)

"""wmma: a warp loads matrices into registers, multiplies them, and stores the result.

PTX ISA, Warp-level Matrix Load Instruction: wmma.load; Store: wmma.store; Multiply-and-Accumulate:
wmma.mma.  Which thread has which elements is not specified: what one of them loads only the others
can use.  LLVM's names are

    llvm.nvvm.wmma.<shape>.load.<matrix>.<layout>[.stride].<type>.<address space>
    llvm.nvvm.wmma.<shape>.store.d.<layout>[.stride].<type>.<address space>
    llvm.nvvm.wmma.<shape>.mma[.and.popc|.xor.popc].<layouts>[.<rounding>].<types>[.satfinite]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import Modifier, Rounding, SatFinite, ScalarType, Space
from intrinsics.modifiers.mma_sync import MmaLayout
from intrinsics.modifiers.wgmma import BitOperation, MatrixType
from intrinsics.modifiers.wmma import WmmaShape
from intrinsics.row import (
    Access,
    Attribute,
    Attributes,
    By,
    Count,
    Effect,
    Effects,
    IssueScope,
    Llvm,
    Operand,
    Row,
    Rule,
    address,
    value,
    vector,
    when,
)
from intrinsics.rows.requirements import CTA_SPACE, SM80
from intrinsics.targets import at_least, since

T, M, S = ScalarType, MatrixType, WmmaShape
_ROW, _COL = MmaLayout.ROW, MmaLayout.COL
_WARP = Effect.CONVERGENT | Effect.ALIGNED
_SPACES = (Space.GLOBAL, Space.SHARED, Space.SHARED_CTA)
_LARGE = (S.M16N16K16, S.M8N32K16, S.M32N8K16)
_EIGHTS = (T.S8, T.U8)
_FOURS = (M.S4, M.U4)

# ---- which types a shape has -----------------------------------------------------------------

_Shapes: TypeAlias = tuple[WmmaShape, ...]
_SHAPES: tuple[tuple[tuple[Modifier, ...], _Shapes], ...] = (
    ((T.F16, T.BF16, *_EIGHTS), _LARGE),
    ((T.TF32,), (S.M16N16K8,)),
    ((T.F64,), (S.M8N8K4,)),
    (_FOURS, (S.M8N8K32,)),
    ((M.B1,), (S.M8N8K128,)),
)
"""The types of A and B, and their shapes."""

_SUMS: tuple[tuple[Modifier, tuple[WmmaShape, ...]], ...] = (
    (T.F16, _LARGE),
    (T.F32, (*_LARGE, S.M16N16K8)),
    (T.S32, (*_LARGE, S.M8N8K32, S.M8N8K128)),
    (T.F64, (S.M8N8K4,)),
)
"""The types of C and D, and their shapes."""

_FACTORS = tuple(type_ for types, _ in _SHAPES for type_ in types)
_TOTALS = tuple(type_ for type_, _ in _SUMS)
_NEWER = ((T.BF16, T.TF32, T.F64), SM80)

# ---- operands --------------------------------------------------------------------------------

_HELD: dict[Attribute, ScalarType] = {
    T.F16: T.F16X2, T.BF16: T.BF16X2, T.F32: T.F32, T.S32: T.S32, T.F64: T.F64,
}  # fmt: skip


_NUMBERS: dict[Attribute, ScalarType] = {
    **dict.fromkeys((*_EIGHTS, *_FOURS, M.B1), T.S32), T.TF32: T.TF32,
}  # fmt: skip
"""What the registers of A and B hold for ptxas, who lets loads of fewer than eight bits be."""


def _kind(name: str, qualifier: str, values: tuple[Modifier, ...]) -> By[ScalarType]:
    held = _HELD | _NUMBERS if name in "ab" else _HELD
    loose = (*_FOURS, M.B1) if qualifier == "type" else ()
    return By(qualifier, {v: held[v] for v in values if v in held and v not in loose}, T.B32)


def _factor_count(
    name: str, qualifier: str, values: tuple[Modifier, ...], shapes: _Shapes
) -> Count:
    """Registers of A or B; of f16 there are always eight, whatever the shape."""
    many = S.M32N8K16 if name == "a" else S.M8N32K16
    counts: dict[Attribute, int] = {
        s: 4 if s is many else 2 if s in (S.M16N16K16, S.M16N16K8) else 1 for s in shapes
    }
    types: dict[Attribute, int] = {t: 2 if t in (T.BF16, T.TF32) else 1 for t in values}
    return Count((("shape", counts), (qualifier, types)), _fixed(qualifier, values, 8))


def _sum_count(qualifier: str, values: tuple[Modifier, ...], shapes: _Shapes) -> Count:
    counts: dict[Attribute, int] = {s: 2 if s.value.startswith("m8n8") else 8 for s in shapes}
    return Count((("shape", counts),), _fixed(qualifier, values, 4))


def _fixed(
    qualifier: str, values: tuple[Modifier, ...], count: int
) -> tuple[tuple[str, Mapping[Attribute, int]], ...]:
    """How many registers halves have, whatever the shape."""
    return ((qualifier, {T.F16: count}),) if T.F16 in values else ()


def _matrix(
    name: str, qualifier: str, values: tuple[Modifier, ...], shapes: _Shapes = tuple(S),
    access: Access = Access.READ, *, text: str = "",
) -> Operand:  # fmt: skip
    counted = _factor_count(name, qualifier, values, shapes) if name in "ab" else (
        _sum_count(qualifier, values, shapes)
    )  # fmt: skip
    return vector(text or name, _kind(name, qualifier, values), counted, access)


# ---- LLVM's names ----------------------------------------------------------------------------

_POINTERS: tuple[tuple[str, Attributes], ...] = (
    ("p0", {}), ("p1", {"space": Space.GLOBAL}), ("p3", {"space": Space.SHARED}),
)  # fmt: skip
_LLVM: dict[Modifier, str] = {T.F16: "v2f16", T.F32: "float", T.F64: "double"}


def _moved(name: str) -> tuple[tuple[tuple[Modifier, ...], tuple[WmmaShape, ...]], ...]:
    """The types of a matrix that have the same shapes, and these."""
    return _SHAPES if name in "ab" else tuple(((type_,), shapes) for type_, shapes in _SUMS)


def _names(verb: str, name: str, operand: str) -> Iterator[Llvm]:
    """Loads or stores of one matrix, for each type, with a stride and without."""
    for types, shapes in _moved(name):
        layouts: tuple[MmaLayout, ...] = (_COL,) if name == "b" else (_ROW,)
        if types not in (_FOURS, (M.B1,)):
            layouts = (_ROW, _COL)
        for type_ in types:
            held = f"n*{_LLVM.get(type_, 'i32')}:{operand}"
            for (pointer, space), stride in ((p, s) for p in _POINTERS for s in (False, True)):
                place, last = pointer.replace("p0", "p") + ":p", ", i32:stride" * stride
                yield Llvm(
                    f"wmma.{{shape}}.{verb}.{name}.{{layout}}{'.stride' * stride}"
                    f".{type_.value}.{pointer}",
                    f"{place}{last}" if verb == "load" else f"{place}, {held}{last}",
                    held if verb == "load" else "",
                    given={"type": type_, **space},
                    holes={
                        "shape": {s.value: s for s in shapes},
                        "layout": {layout.value: layout for layout in layouts},
                    },
                )


@dataclass(frozen=True, slots=True)
class _Product:
    """A family of multiplies: what its names say, and the types of A and B, C and D."""

    types: str
    attributes: Attributes
    shapes: tuple[WmmaShape, ...]
    operands: tuple[str, str, str]  # LLVM's types of A and B, of C, and of D
    head: str = ""
    roundings: Mapping[str, Attribute | Attributes] | None = None
    saturates: bool = False
    mixed: bool = True  # in layouts: else row.col alone


def _product_names(family: _Product) -> Iterator[Llvm]:
    sides = (_ROW, _COL)
    layouts: dict[str, Attribute | Attributes] = {
        f"{a.value}.{b.value}": {"alayout": a, "blayout": b}
        for a in sides
        for b in sides
        if family.mixed or (a, b) == (_ROW, _COL)
    }
    factors, c, d = family.operands
    holes: dict[str, Mapping[str, Attribute | Attributes]] = {
        "shape": {s.value: s for s in family.shapes},
        "layouts": layouts,
    }
    if family.roundings:
        holes["rounding"] = family.roundings
    for saturating in (False, True)[: 1 + family.saturates]:
        extra: Attributes = {"satfinite": SatFinite.SATFINITE} if saturating else {}
        yield Llvm(
            f"wmma.{{shape}}.mma{family.head}.{{layouts}}"
            f"{'{rounding}' if family.roundings else ''}.{family.types}"
            f"{'.satfinite' * saturating}",
            f"n*{factors}:a, n*{factors}:b, n*{c}:c",
            f"n*{d}:d",
            given={**family.attributes, **extra},
            holes=holes,
        )


def _halves() -> Iterator[Llvm]:
    for d in (T.F16, T.F32):
        for c in (T.F16, T.F32):
            attributes: Attributes = {"dtype": d, "ctype": c}
            types = ("v2f16", _LLVM[c], _LLVM[d])
            name = f"{d.value}.{c.value}"
            yield from _product_names(_Product(name, attributes, _LARGE, types))


def _typed(a: Modifier, d: ScalarType, held: str) -> _Product:
    attributes: Attributes = {"atype": a, "btype": a, "ctype": d, "dtype": d}
    (shapes,) = (shapes for types, shapes in _SHAPES if a in types)
    integers = a in (*_EIGHTS, *_FOURS)
    total = _LLVM.get(d, "i32")
    roundings: dict[str, Attribute | Attributes] | None = None
    if a is T.F64:
        modes = (Rounding.RN, Rounding.RZ, Rounding.RM, Rounding.RP)
        roundings = {"": {"rnd": None}} | {f".{mode.value}": {"rnd": mode} for mode in modes}
    return _Product(
        a.value, attributes, shapes, (held, total, total),
        saturates=integers, mixed=a not in _FOURS, roundings=roundings,
    )  # fmt: skip


def _others() -> Iterator[Llvm]:
    for a, d in ((T.BF16, T.F32), (T.TF32, T.F32), *((t, T.S32) for t in (*_EIGHTS, *_FOURS))):
        yield from _product_names(_typed(a, d, "i32"))
    yield from _product_names(_typed(T.F64, T.F64, "double"))


def _bit_names() -> Iterator[Llvm]:
    for op in (BitOperation.XOR, BitOperation.AND):
        attributes: Attributes = {
            "op": op, "sum": BitOperation.POPC,
            "atype": M.B1, "btype": M.B1, "ctype": T.S32, "dtype": T.S32,
        }  # fmt: skip
        held = ("i32", "i32", "i32")
        yield from _product_names(
            _Product("b1", attributes, (S.M8N8K128,), held, f".{op.value}.popc", mixed=False)
        )


# ---- rules -------------------------------------------------------------------------------------


def _shape_rules(name: str) -> Iterator[Rule]:
    for types, shapes in _moved(name):
        yield when(type=types).must(
            "shape", "this type of element is not in a matrix of this shape", shape=shapes
        )


_LAYOUTS = (
    "elements of four bits and of one have A in rows and B in columns",
    (S.M8N8K32, S.M8N8K128),
)


def _load_rules(name: str) -> tuple[Rule, ...]:
    found = [*_shape_rules(name)]
    if name in "ab":
        text, shapes = _LAYOUTS
        found.append(when(shape=shapes).must("layout", text, layout=_ROW if name == "a" else _COL))
    types = tuple(t for t in _NEWER[0] if t in (_FACTORS if name in "ab" else _TOTALS))
    found.append(when(type=types).needs("type-target", _NEWER[1]))
    if name in "cd":
        found.append(when(shape=S.M16N16K8).needs("shape-target", SM80))
    found.append(CTA_SPACE)
    return tuple(found)


# ---- the rows ----------------------------------------------------------------------------------


_LINES = "All threads of the warp execute it; `stride` is the elements between lines of `layout`."


def _load(name: str) -> Row:
    types = _FACTORS if name in "ab" else _TOTALS
    return Row(
        f"wmma.load.{name}",
        ".sync.aligned.layout.shape{.space}.type",
        "r, [p] {, stride}",
        qualifiers={"layout": (_ROW, _COL), "shape": S, "space": _SPACES, "type": types},
        operands=(
            _matrix(name, "type", types, access=Access.WRITE, text="r"),
            address("p", "space"),
            value("stride", T.U32),
        ),
        about=f"Load {name.upper()} of a warp's multiply.\n\n{_LINES}",
        section="Warp-level Matrix Load Instruction: wmma.load",
        rules=_load_rules(name),
        effects=Effects(Effect.READS_MEMORY | _WARP, IssueScope.WARP),
        llvm=tuple(_names("load", name, "r")),
    )


STORE = Row(
    "wmma.store.d",
    ".sync.aligned.layout.shape{.space}.type",
    "[p], r {, stride}",
    qualifiers={"layout": (_ROW, _COL), "shape": S, "space": _SPACES, "type": _TOTALS},
    operands=(
        address("p", "space", stored=True),
        _matrix("d", "type", _TOTALS, text="r"),
        value("stride", T.U32),
    ),
    about=f"Store D of a warp's multiply.\n\n{_LINES}",
    section="Warp-level Matrix Store Instruction: wmma.store",
    rules=_load_rules("d"),
    effects=Effects(Effect.WRITES_MEMORY | _WARP, IssueScope.WARP),
    llvm=tuple(_names("store", "d", "r")),
)

_MULTIPLIES = Effects(_WARP, IssueScope.WARP)
_MMA = "Warp-level Matrix Multiply-and-Accumulate Instruction: wmma.mma"


def _sides() -> dict[str, tuple[Modifier, ...]]:
    return {"alayout": (_ROW, _COL), "blayout": (_ROW, _COL)}


def _product_operands(
    factors: tuple[Modifier, ...], totals: tuple[Modifier, ...], shapes: _Shapes
) -> tuple[Operand, ...]:
    return (
        _matrix("d", "dtype", totals, shapes, Access.WRITE),
        _matrix("a", "atype", factors, shapes),
        _matrix("b", "btype", factors, shapes),
        _matrix("c", "ctype", totals, shapes),
    )


def _of_halves(name: str) -> Operand:
    return vector(name, T.F16X2, Count((("shape", dict.fromkeys(_LARGE, 8)),)))


HALVES = Row(
    "wmma.mma",
    ".sync.aligned.alayout.blayout.shape.dtype.ctype",
    "d, a, b, c",
    name="wmma.mma.f16",
    about="D = A·B + C of f16 by a warp; returns the registers of D.",
    qualifiers={
        **_sides(), "shape": _LARGE, "dtype": (T.F16, T.F32), "ctype": (T.F16, T.F32),
    },
    operands=(
        _matrix("d", "dtype", (T.F16, T.F32), _LARGE, Access.WRITE), _of_halves("a"),
        _of_halves("b"), _matrix("c", "ctype", (T.F16, T.F32), _LARGE),
    ),
    section=_MMA, effects=_MULTIPLIES, llvm=tuple(_halves()), opcode="WMMA_MMA_F16_*",
)  # fmt: skip

_TYPED = tuple(t for t in _FACTORS if t not in (T.F16, M.B1))
_TYPED_SHAPES = tuple(s for s in S if s is not S.M8N8K128)
_TYPED_SUMS = (T.F32, T.S32, T.F64)
_RESULTS = ((T.BF16, T.F32), (T.TF32, T.F32), *((t, T.S32) for t in (*_EIGHTS, *_FOURS)),
            (T.F64, T.F64))  # fmt: skip

TYPED = Row(
    "wmma.mma",
    ".sync.aligned.alayout.blayout.shape{.rnd}.dtype.atype.btype.ctype{.satfinite}",
    "d, a, b, c",
    name="wmma.mma.typed",
    about="D = A·B + C by a warp, of the types named; returns the registers of D.",
    qualifiers={
        **_sides(), "shape": _TYPED_SHAPES,
        "rnd": (Rounding.RN, Rounding.RZ, Rounding.RM, Rounding.RP),
        "dtype": _TYPED_SUMS, "atype": _TYPED, "btype": _TYPED, "ctype": _TYPED_SUMS,
        "satfinite": SatFinite,
    },
    operands=_product_operands(_TYPED, _TYPED_SUMS, _TYPED_SHAPES),
    section=_MMA,
    rules=(
        *(when(atype=types).must(
            "shape", "this type of element is not multiplied in this shape", shape=shapes)
          for types, shapes in _SHAPES if types != (M.B1,)
          for types in (tuple(t for t in types if t in _TYPED),)),
        *(when(atype=a).must("types", "A and B have one type, and C and D the type of its sums",
                             btype=a, ctype=d, dtype=d) for a, d in _RESULTS),
        when(atype=_FOURS).must("layout", _LAYOUTS[0], alayout=_ROW, blayout=_COL),
        when(atype=(T.BF16, T.TF32, *_EIGHTS, *_FOURS)).must(
            "rounding", "only sums of f64 say how they are rounded", rnd=None),
        when(atype=(T.BF16, T.TF32, T.F64)).must(
            "satfinite", "only sums of integers are saturated", satfinite=None),
        when(atype=_NEWER[0]).needs("type-target", _NEWER[1]),
    ),
    effects=_MULTIPLIES, llvm=tuple(_others()), opcode="WMMA_MMA_*",
)  # fmt: skip


BITS = Row(
    "wmma.mma",
    ".op.sum.sync.aligned.alayout.blayout.shape.dtype.atype.btype.ctype",
    "d, a, b, c",
    name="wmma.mma.b1",
    about="D = C + popcount of `op` of single bits, by a warp; returns registers of D.",
    qualifiers={
        "op": (BitOperation.XOR, BitOperation.AND),
        "sum": (BitOperation.POPC,),
        "alayout": (_ROW,),
        "blayout": (_COL,),
        "shape": (S.M8N8K128,),
        "dtype": (T.S32,),
        "atype": (M.B1,),
        "btype": (M.B1,),
        "ctype": (T.S32,),
    },
    operands=_product_operands((M.B1,), (T.S32,), (S.M8N8K128,)),
    section=_MMA,
    rules=(when(op=BitOperation.AND).needs("and-target", since("7.1", at_least(80))),),
    effects=_MULTIPLIES,
    llvm=tuple(_bit_names()),
    opcode="WMMA_MMA_B1_*",
)

ROWS = (_load("a"), _load("b"), _load("c"), STORE, HALVES, TYPED, BITS)

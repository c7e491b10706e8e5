"""mma, mma.sp: multiplies of a warp, with all matrices in registers.

PTX ISA, Warp Level Matrix Multiply-Accumulate Instructions, mma.

The manual gives the instruction a syntax for each family of element types: each is a row.  Each
thread holds a part of every matrix; LLVM takes and gives its registers one by one.  LLVM's names
are

    llvm.nvvm.mma[.and.popc|.xor.popc].<shape>.<layouts>[.satfinite].<types>
    llvm.nvvm.mma.sp[.ordered.metadata].<shape>.row.col[.satfinite].<types>

with the types of D and C for f16, of all four matrices for e4m3 and e5m2, else of A, and of B where
it differs.  Those of e4m3 and e5m2 with a sparse A and sums in f16 are nvgen's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from intrinsics.mma_sync import MmaLayout, MmaShape
from intrinsics.modifiers import Modifier, SatFinite, ScalarType
from intrinsics.row import (
    Access,
    By,
    Count,
    Effect,
    Effects,
    Fact,
    Facts,
    IssueScope,
    Llvm,
    Numbers,
    Operand,
    Row,
    Rule,
    number,
    per,
    register,
    vector,
    when,
)
from intrinsics.targets import EVERYWHERE, Capability, at_least, named, since
from intrinsics.wgmma import BitOperation, MatrixType

T, S, M = ScalarType, MmaShape, MatrixType
_MULTIPLIES = Effects(Effect.CONVERGENT | Effect.ALIGNED, IssueScope.WARP)
_AMPERE = since("7.0", at_least(80))

# ---- families --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Family:
    """One syntax of the manual: shapes, the types of D and C, of A and B, and what goes with them.

    `bits` is what an element of A takes in a register of type `held`.
    """

    name: str
    shapes: tuple[MmaShape, ...]
    d: tuple[ScalarType, ...]
    a: tuple[Modifier, ...]
    bits: int
    held: ScalarType = T.B32
    needs: Capability = EVERYWHERE
    needs_text: str = ""
    layouts: tuple[MmaLayout, ...] = ()
    saturates: bool = False
    operations: bool = False
    rules: tuple[Rule, ...] = field(default=())
    sparse: str = ""  # what the head has behind `mma` where A is sparse
    selectors: Mapping[Fact, Numbers] = field(default_factory=dict)  # by shape


_SMALL = (S.M8N8K4, S.M8N8K16, S.M8N8K32, S.M8N8K128)
_LARGE = tuple(shape for shape in S if shape not in _SMALL)

# fmt: off
_SAME = "D and C are of one type"
_HALF_RULES = (
    when(ctype=T.F32).must("accumulator-type", "sums of .f32 stay .f32", dtype=T.F32),
    when(shape=_LARGE, ctype=T.F16).must("accumulator-type", _SAME, dtype=T.F16),
    when(shape=_LARGE).must("layout", "A is row-major, and B column-major", alayout=MmaLayout.ROW),
    when(shape=_LARGE).must("layout", "A is row-major, and B column-major", blayout=MmaLayout.COL),
    when(shape=S.M16N8K16).needs("shape-target", _AMPERE),
)
_TYPES = (
    when(dtype=T.F16).must("accumulator-type", _SAME, ctype=T.F16),
    when(dtype=T.F32).must("accumulator-type", _SAME, ctype=T.F32),
)
_ADA = at_least(89)
_BYTE_RULES = (
    *_TYPES,
    when(dtype=T.F16).needs("f16-version", since("8.7", _ADA)),
    when(shape=S.M16N8K16).needs("shape-version", since("8.7", _ADA)),
)
_LARGER = (when(shape=_LARGE).needs("shape-target", _AMPERE),)
_BIT_RULES = (
    *_LARGER,
    when(op=BitOperation.AND).needs("operation-target", since("7.1", at_least(80))),
)
_DOUBLE_RULES = (when(shape=_LARGE).needs("shape-target", since("7.8", at_least(90))),)

_FAMILIES = (
    _Family("f16", (S.M8N8K4, S.M16N8K8, S.M16N8K16), (T.F16, T.F32), (T.F16,), 16, T.F16X2,
            layouts=tuple(MmaLayout), rules=_HALF_RULES),
    _Family("bf16", (S.M16N8K8, S.M16N8K16), (T.F32,), (T.BF16,), 16, T.BF16X2, _AMPERE,
            "multiplies of bf16 run on sm_80 and later"),
    _Family("tf32", (S.M16N8K4, S.M16N8K8), (T.F32,), (T.TF32,), 32, T.TF32, _AMPERE,
            "multiplies of tf32 run on sm_80 and later"),
    _Family("f64", (S.M8N8K4, S.M16N8K4, S.M16N8K8, S.M16N8K16), (T.F64,), (T.F64,), 64, T.F64,
            _AMPERE, "multiplies of f64 run on sm_80 and later", rules=_DOUBLE_RULES),
    _Family("fp8", (S.M16N8K16, S.M16N8K32), (T.F16, T.F32), (M.E4M3, M.E5M2), 8, T.B32,
            since("8.4", _ADA), "multiplies of e4m3 and e5m2 run on sm_89 and later",
            rules=_BYTE_RULES),
    _Family("int8", (S.M8N8K16, S.M16N8K16, S.M16N8K32), (T.S32,), (T.S8, T.U8), 8,
            saturates=True, rules=_LARGER),
    _Family("int4", (S.M8N8K32, S.M16N8K32, S.M16N8K64), (T.S32,), (M.S4, M.U4), 4,
            saturates=True, rules=_LARGER),
    _Family("b1", (S.M8N8K128, S.M16N8K128, S.M16N8K256), (T.S32,), (M.B1,), 1,
            operations=True, rules=_BIT_RULES),
)

_FOUR, _TWO, _ONE = Numbers(0, 3), Numbers(0, 1), Numbers(0, 0)
_NEWEST = since("8.7", named("120af 121af"))
_SPARSE_TEXT = "multiplies of a sparse matrix run on sm_80 and later"


def _sparse(head: str, version: str) -> tuple[_Family, ...]:
    """The families with a sparse A.  Only ordered metadata go with sums of bytes in f16."""
    ampere, ada = since(version, at_least(80)), since(max(version, "8.4"), _ADA)
    bytes_ = _Family("fp8", (S.M16N8K64,), (T.F32,), (M.E4M3, M.E5M2), 8, T.B32, ada,
                     "multiplies of e4m3 and e5m2 run on sm_89 and later",
                     selectors={S.M16N8K64: _ONE})
    if head == ".sp::ordered_metadata":
        rules = (*_TYPES, when(dtype=T.F16).needs("f16-target", _NEWEST))
        bytes_ = replace(bytes_, d=(T.F16, T.F32), rules=rules)
    families = (
        _Family("f16", (S.M16N8K16, S.M16N8K32), (T.F16, T.F32), (T.F16,), 16, T.F16X2,
                rules=_TYPES, selectors={S.M16N8K16: _FOUR, S.M16N8K32: _TWO}),
        _Family("bf16", (S.M16N8K16, S.M16N8K32), (T.F32,), (T.BF16,), 16, T.BF16X2,
                selectors={S.M16N8K16: _FOUR, S.M16N8K32: _TWO}),
        _Family("tf32", (S.M16N8K8, S.M16N8K16), (T.F32,), (T.TF32,), 32, T.TF32,
                selectors={S.M16N8K8: _FOUR, S.M16N8K16: _TWO}),
        _Family("int8", (S.M16N8K32, S.M16N8K64), (T.S32,), (T.S8, T.U8), 8, saturates=True,
                selectors={S.M16N8K32: _TWO, S.M16N8K64: _ONE}),
        _Family("int4", (S.M16N8K64, S.M16N8K128), (T.S32,), (M.S4, M.U4), 4, saturates=True,
                selectors={S.M16N8K64: _TWO, S.M16N8K128: _ONE}),
    )
    ready = (replace(f, needs=ampere, needs_text=_SPARSE_TEXT) for f in families)
    return tuple(replace(f, sparse=head) for f in (*ready, bytes_))


_SPARSE = (*_sparse(".sp", "7.1"), *_sparse(".sp::ordered_metadata", "8.5"))
# fmt: on

# ---- operands --------------------------------------------------------------------------------

_REGISTERS: dict[Fact, ScalarType] = {T.F16: T.F16X2, T.F32: T.F32, T.S32: T.S32, T.F64: T.F64}


def _factor(name: str, family: _Family) -> Operand:
    """A or B: its share of a thread, in registers of 32 bits, or numbers of f64."""
    counts: dict[Fact, int] = {s: _share(s, name, family.bits) for s in family.shapes}
    if family.sparse and name == "a":
        counts = {shape: count // 2 for shape, count in counts.items()}
    return vector(name, family.held, per(shape=counts))


def _share(shape: MmaShape, name: str, bits: int) -> int:
    rows = shape.m if name == "a" else shape.n
    if bits == 64:
        return rows * shape.k // 32
    if shape is S.M8N8K4:
        return 2  # of a matrix that eight threads share
    return rows * shape.k * bits // 32 // 32


def _operands(family: _Family) -> tuple[Operand, ...]:
    a, b = _factor("a", family), _factor("b", family)
    found = (_sums("d", family), a, b, _sums("c", family))
    if not family.sparse:
        return found
    return (
        *found,
        register("sp_meta", T.U32 if family.name == "fp8" else T.B32),
        number("sp_sel", By("shape", family.selectors, _ONE)),
    )


def _sums(name: str, family: _Family) -> Operand:
    """D or C: two f16 or one number of another type in a register."""
    axis = f"{name}type"
    found: dict[Fact, ScalarType] = {t: _REGISTERS[t] for t in family.d}
    kind = By(axis, found, found[family.d[0]])
    if name == "d":
        sink = family.name not in ("f64", "fp8")  # some targets take no `_` there
        return vector(name, kind, _sum_count(family, axis), Access.WRITE, distinct=True, sink=sink)
    return vector(name, kind, _sum_count(family, axis))


def _sum_count(family: _Family, axis: str) -> Count:
    pairs: dict[Fact, int] = {s: s.m * s.n // 64 for s in family.shapes}
    if family.bits == 16 and S.M8N8K4 in pairs:
        pairs[S.M8N8K4] *= 4  # eight threads hold a matrix of their own
    each: dict[Fact, int] = {t: 1 if t is T.F16 else 2 for t in family.d}
    return Count((("shape", pairs), (axis, each)))


# ---- LLVM's names ----------------------------------------------------------------------------

_LLVM_TYPES: dict[Fact, str] = {T.F16: "v2f16", T.F32: "float", T.S32: "i32", T.F64: "double"}


def _spellings(family: _Family) -> Iterator[Llvm]:
    """One pattern for each pair of types of D and C that LLVM's names may state."""
    factors = _LLVM_TYPES.get(family.a[0], "i32")
    meta = ", i32:sp_meta, i32:sp_sel" if family.sparse else ""
    sparse = re.sub(r"\W+", ".", family.sparse).replace("_", ".")
    for stated in _stated(family):
        c, d = _LLVM_TYPES[stated.facts["ctype"]], _LLVM_TYPES[stated.facts["dtype"]]
        head = stated.head or sparse
        for saturating in (False, True)[: 1 + family.saturates]:
            extra: Facts = {"satfinite": SatFinite.SATFINITE} if saturating else {}
            yield Llvm(
                f"mma{head}.{{shape}}.{{layouts}}{'.satfinite' * saturating}.{{types}}",
                f"n*{factors}:a, n*{factors}:b, n*{c}:c{meta}",
                f"n*{d}:d",
                given={**stated.facts, **extra},
                holes={
                    "shape": {s.value: s for s in stated.shapes},
                    "layouts": stated.layouts,
                    "types": stated.types,
                },
                own=family.sparse != "" and family.name == "fp8" and d == "v2f16",
            )


@dataclass(frozen=True, slots=True)
class _Stated:
    """What names of one signature say: facts that they all state, and the texts of the rest."""

    shapes: tuple[MmaShape, ...]
    layouts: Mapping[str, Facts]
    types: Mapping[str, Facts]
    facts: Facts
    head: str = ""


_ROW_COL: Mapping[str, Facts] = {"row.col": {"alayout": MmaLayout.ROW, "blayout": MmaLayout.COL}}


def _stated(family: _Family) -> Iterator[_Stated]:
    pairs: dict[tuple[Modifier, Modifier], Facts] = {
        (a, b): {"atype": a, "btype": b} for a in family.a for b in family.a
    }
    if family.name == "f16":
        yield from _stated_halves(family)
        return
    for d in family.d:
        facts: dict[str, Fact] = {"dtype": d, "ctype": d}
        types = {
            (a.value if a is b else f"{a.value}.{b.value}"): stated
            for (a, b), stated in pairs.items()
        }
        if family.name == "fp8":
            types = {
                f"{d.value}.{a.value}.{b.value}.{d.value}": stated
                for (a, b), stated in pairs.items()
            }
        for op in (BitOperation.AND, BitOperation.XOR) if family.operations else (None,):
            more: Facts = {"op": op, "sum": BitOperation.POPC} if op else {}
            head = f".{op.value}.popc" if op else ""
            yield _Stated(family.shapes, _ROW_COL, types, {**facts, **more}, head)


def _stated_halves(family: _Family) -> Iterator[_Stated]:
    """The types of A and B are not in the name; K = 4 has free layouts and types."""
    free: dict[str, Facts] = {
        f"{a.value}.{b.value}": {"alayout": a, "blayout": b} for a in MmaLayout for b in MmaLayout
    }
    small = tuple(shape for shape in family.shapes if shape in _SMALL)
    large = tuple(shape for shape in family.shapes if shape in _LARGE)
    for d, c in ((T.F16, T.F16), (T.F32, T.F16), (T.F32, T.F32)):
        types: dict[str, Facts] = {f"{d.value}.{c.value}": {}}
        facts: Facts = {"dtype": d, "atype": T.F16, "btype": T.F16, "ctype": c}
        if small:
            yield _Stated(small, free, types, facts)
        if d is c:
            yield _Stated(large, _ROW_COL, types, facts)


# ---- the rows --------------------------------------------------------------------------------


_LATE = {word: f"mma.{word}" for word in ("sp", "sp::ordered_metadata")}
_NARROW_KINDS = ("kind::f8f6f4", "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4")
"""What makes other instructions of it: narrow types of any kind, scale factors."""


def _row(family: _Family) -> Row:
    layouts = family.layouts
    satfinite = "{.satfinite}" * family.saturates
    axes: dict[str, tuple[Modifier, ...]] = {
        "shape": family.shapes,
        "alayout": layouts or (MmaLayout.ROW,),
        "blayout": layouts or (MmaLayout.COL,),
        "dtype": family.d,
        "atype": family.a,
        "btype": family.a,
        "ctype": family.d,
    }
    if family.saturates:
        axes["satfinite"] = tuple(SatFinite)
    if family.operations:
        axes |= {"op": (BitOperation.XOR, BitOperation.AND), "sum": (BitOperation.POPC,)}
    operands = _operands(family)
    head = f"mma{family.sparse}"
    return Row(
        head,
        f".sync.aligned.shape.alayout.blayout{satfinite}.dtype.atype.btype.ctype"
        f"{'.op.sum' * family.operations}",
        ", ".join(operand.name for operand in operands),
        name=f"{head}.{family.name}",
        axes=axes,
        operands=operands,
        section=head,
        needs=family.needs,
        needs_text=family.needs_text,
        rules=family.rules,
        effects=_MULTIPLIES,
        llvm=tuple(_spellings(family)),
        opcode=f"MMA{re.sub(r'[^A-Z]+', '_', family.sparse.upper())}_SYNC_*",
        late={} if family.sparse else _LATE,
        elsewhere=_NARROW_KINDS,
        simulated=not family.sparse,
    )


ROWS = tuple(_row(family) for family in (*_FAMILIES, *_SPARSE))
"""A dense, then sparse, then sparse with ordered metadata."""

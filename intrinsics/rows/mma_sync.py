"""mma, mma.sp: multiplies of a warp, with all matrices in registers.

PTX ISA, Warp Level Matrix Multiply-Accumulate Instructions, mma.

The manual gives the instruction a syntax for each family of element types: each is a row.  Each
thread holds a part of every matrix; LLVM takes and gives its registers one by one.  LLVM's names
are

    llvm.nvvm.mma[.and.popc|.xor.popc].<shape>.<layouts>[.satfinite].<types>
    llvm.nvvm.mma.sp[.ordered.metadata].<shape>.row.col[.satfinite].<types>
    llvm.nvvm.mma[.sp.ordered.metadata].<shape>.row.col.kind.f8f6f4.<types>
    llvm.nvvm.mma[.sp.ordered.metadata].block.scale.<shape>.row.col.<kind>[.scale.<n>x].<types>

with the types of D and C for f16, of all four matrices for e4m3 and e5m2, else of A, and of B where
it differs.  Those of e4m3 and e5m2 with a sparse A and sums in f16 are nvgen's own,
and so are four scale factors in ue8m0.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from intrinsics.mma_sync import MmaLayout, MmaShape
from intrinsics.modifiers import Modifier, SatFinite, ScalarType, ScaleVec
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
    VectorNumbers,
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


_ANY = Numbers()


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
    kind: str = ""  # where a modifier says which types there are: `f8f6f4`
    scales: tuple[Modifier, ...] = ()  # the types of scale factors, where blocks have some
    vectors: tuple[ScaleVec, ...] = ()
    default: bool = False  # whether the number of scale factors may be left out
    ids: By[Numbers] | Numbers = _ANY  # bytes of a register that hold scale factors


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
_CONSUMER = named("120af 121af")
_NEWEST = since("8.7", _CONSUMER)
_SCALED = "multiplies with scale factors run on sm_120a/f and sm_121a/f"
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

_NARROW = (M.E2M1, M.E2M3, M.E3M2, M.E4M3, M.E5M2)
_NARROWEST = (M.E2M1, M.E2M3, M.E3M2)
_KIND = named("100af 101af 103af 107af 110af 120af 121af")
_KIND_RULES = (
    *_TYPES,
    when(atype=_NARROWEST).needs("narrow-target", _NEWEST),
    when(btype=_NARROWEST).needs("narrow-target", _NEWEST),
)
_FACTORS_RULES = (
    when(scale_vec=ScaleVec.X2).must("scale-type", "two factors are .ue8m0", stype=M.UE8M0),
    when(stype=M.UE8M0, scale_vec=ScaleVec.X4).needs("scale-version", since("9.1", _CONSUMER)),
)
_EVEN, _FIRST = Numbers(0, 2, multiple=2), Numbers(0, 0)
_BYTES = By("scale_vec", {ScaleVec.X2: _EVEN}, _FIRST)


def _kinds(sparse: str) -> Iterator[_Family]:
    """The families with a kind: narrow types, with scale factors or without."""
    deep, deeper = (S.M16N8K64, S.M16N8K128) if sparse else (S.M16N8K32, S.M16N8K64)
    halves = since("8.7", _KIND)
    f16 = when(dtype=T.F16).needs("f16-target", _NEWEST if sparse else halves)
    fours = since("8.7", named("120a 121a")) if sparse else _NEWEST
    families = (
        _Family("f8f6f4", (deep,), (T.F16, T.F32), _NARROW, 8, needs=since("8.6", _KIND),
                needs_text="kind::f8f6f4 runs on targets of an architecture or family",
                rules=(*_KIND_RULES, f16), kind="f8f6f4"),
        _Family("mxf8f6f4", (deep,), (T.F32,), _NARROW, 8, needs=_NEWEST, needs_text=_SCALED,
                kind="mxf8f6f4", scales=(M.UE8M0,), vectors=(ScaleVec.X1,), default=True,
                ids=Numbers(0, 3)),
        _Family("mxf4", (deeper,), (T.F32,), (M.E2M1,), 4, needs=fours, needs_text=_SCALED,
                kind="mxf4", scales=(M.UE8M0,), vectors=(ScaleVec.X2,), default=True, ids=_EVEN),
        _Family("mxf4nvf4", (deeper,), (T.F32,), (M.E2M1,), 4, needs=fours, needs_text=_SCALED,
                rules=_FACTORS_RULES, kind="mxf4nvf4", scales=(M.UE8M0, M.UE4M3),
                vectors=(ScaleVec.X2, ScaleVec.X4), ids=_BYTES),
    )
    for family in families:
        selectors: dict[Fact, Numbers] = dict.fromkeys(family.shapes, _ONE) if sparse else {}
        yield replace(family, sparse=sparse, selectors=selectors)


_KINDS = (*_kinds(""), *_kinds(".sp::ordered_metadata"))
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
    found = [_sums("d", family), a, b, _sums("c", family)]
    if family.sparse:
        selector = By("shape", family.selectors, _ONE)
        found += [
            register("sp_meta", T.U32 if family.name == "fp8" else T.B32),
            number("sp_sel", selector),
        ]
    if family.scales:
        for name in ("sfa", "sfb"):
            found += [register(name, T.B32), _place(f"{name}_place", family)]
    return tuple(found)


def _place(name: str, family: _Family) -> Operand:
    """Which byte of a register holds the first factor, and which of some threads has it."""
    each = (family.ids, _TWO if name == "sfa_place" else _FOUR)
    pair: dict[Fact, int] = dict.fromkeys(family.shapes, 2)
    return vector(name, T.U16, per(shape=pair), numbers=VectorNumbers.ALL, each=each)


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
    if family.scales:
        yield from _scaled_spellings(family, f"{sparse}.block.scale", meta)
        return
    kind = f".kind.{family.kind}" if family.kind else ""
    for stated in _stated(family):
        c, d = _LLVM_TYPES[stated.facts["ctype"]], _LLVM_TYPES[stated.facts["dtype"]]
        head = stated.head or sparse
        for saturating in (False, True)[: 1 + family.saturates]:
            extra: Facts = {"satfinite": SatFinite.SATFINITE} if saturating else {}
            yield Llvm(
                f"mma{head}.{{shape}}.{{layouts}}{'.satfinite' * saturating}{kind}.{{types}}",
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


def _scaled_spellings(family: _Family, head: str, meta: str) -> Iterator[Llvm]:
    """The number of scale factors and their type are in the name."""
    places = "i32:sfa, n*i16:sfa_place, i32:sfb, n*i16:sfb_place"
    stated = next(_stated(family))
    for scale, count in itertools.product(family.scales, (None, *family.vectors)):
        if count is None and not family.default:
            continue
        if scale is M.UE4M3 and count is not ScaleVec.X4:
            continue
        text = f".scale.{count.value[-2:].lower()}" if count else ""
        yield Llvm(
            f"mma{head}.{{shape}}.{{layouts}}.{family.kind}{text}.{{types}}.{scale.value}",
            f"n*i32:a, n*i32:b, n*float:c{meta}, {places}",
            "n*float:d",
            given={**stated.facts, "stype": scale, "scale_vec": count},
            holes={
                "shape": {s.value: s for s in stated.shapes},
                "layouts": stated.layouts,
                "types": stated.types,
            },
            own=scale is M.UE8M0 and count is ScaleVec.X4,
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
        if family.name == "fp8" or family.kind:
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
    vector_size = ""
    if family.scales:
        axes |= {"scale_vec": family.vectors, "stype": family.scales}
        vector_size = ".block_scale" + ("{.scale_vec}" if family.default else ".scale_vec")
    operands = _operands(family)
    kind_name = f"{family.kind.upper()}_" if family.kind else ""
    kind = f".kind::{family.kind}{vector_size}" if family.kind else ""
    head = f"mma{family.sparse}"
    return Row(
        head,
        f".sync.aligned.shape.alayout.blayout{satfinite}{kind}.dtype.atype.btype.ctype"
        f"{'.op.sum' * family.operations}{'.stype' * bool(family.scales)}",
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
        opcode=f"MMA{re.sub(r'[^A-Z]+', '_', family.sparse.upper())}_SYNC_{kind_name}*",
        late={} if family.sparse else _LATE,
    )


ROWS = tuple(_row(family) for family in (*_FAMILIES, *_SPARSE, *_KINDS))
"""A dense, then sparse, then sparse with ordered metadata, then those with a kind."""

"""mma, mma.sp: which shapes, types, operands and targets there are.

PTX ISA, mma; mma.sp.  Each family is a syntax of the manual, and becomes a row in
`intrinsics.rows.mma_sync`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import Modifier, ScalarType, ScaleVec
from intrinsics.modifiers.mma_sync import MmaLayout, MmaShape
from intrinsics.modifiers.wgmma import BitOperation, MatrixType
from intrinsics.row import Attribute, By, Numbers, Rule, when
from intrinsics.rows.requirements import SM80
from intrinsics.targets import EVERYWHERE, Capability, Feature, at_least, since, with_feature

T, S, M = ScalarType, MmaShape, MatrixType

_ANY = Numbers()


@dataclass(frozen=True, slots=True)
class Family:
    """One syntax of the manual: shapes, the types of D and C, of A and B, and what goes with them.

    `bits` is what an element of A takes in a register of type `held`; ptxas takes any register of
    32 bits for a .b32, and only .b32 for a packed type.
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
    selectors: Mapping[Attribute, Numbers] = field(default_factory=dict)  # by shape
    kind: str = ""  # where a modifier says which types there are: `f8f6f4`
    scales: tuple[Modifier, ...] = ()  # the types of scale factors, where blocks have some
    vectors: tuple[ScaleVec, ...] = ()
    default: bool = False  # whether the number of scale factors may be left out
    ids: By[Numbers] | Numbers = _ANY  # bytes of a register that hold scale factors


SMALL = (S.M8N8K4, S.M8N8K16, S.M8N8K32, S.M8N8K128)
LARGE = tuple(shape for shape in S if shape not in SMALL)
"""Shapes with M = 8, and those with M = 16."""

# fmt: off
_SAME = "D and C are of one type"
_HALF_RULES = (
    when(ctype=T.F32).must("accumulator-type", "sums of .f32 stay .f32", dtype=T.F32),
    when(shape=LARGE, ctype=T.F16).must("accumulator-type", _SAME, dtype=T.F16),
    when(shape=LARGE).must("layout", "A is row-major, and B column-major", alayout=MmaLayout.ROW),
    when(shape=LARGE).must("layout", "A is row-major, and B column-major", blayout=MmaLayout.COL),
    when(shape=S.M16N8K16).needs("shape-target", SM80),
)
_TYPES = (
    when(dtype=T.F16).must("accumulator-type", _SAME, ctype=T.F16),
    when(dtype=T.F32).must("accumulator-type", _SAME, ctype=T.F32),
)
_ADA = with_feature(Feature.HAS_FP8)
_BYTE_RULES = (
    *_TYPES,
    when(dtype=T.F16).needs("f16-version", since("8.7", _ADA)),
    when(shape=S.M16N8K16).needs("shape-version", since("8.7", _ADA)),
)
_LARGER = (when(shape=LARGE).needs("shape-target", SM80),)
_BIT_RULES = (
    *_LARGER,
    when(op=BitOperation.AND).needs("operation-target", since("7.1", at_least(80))),
)
_DOUBLE_RULES = (when(shape=LARGE).needs("shape-target", since("7.8", at_least(90))),)

DENSE = (
    Family("f16", (S.M8N8K4, S.M16N8K8, S.M16N8K16), (T.F16, T.F32), (T.F16,), 16, T.F16X2,
            layouts=tuple(MmaLayout), rules=_HALF_RULES),
    Family("bf16", (S.M16N8K8, S.M16N8K16), (T.F32,), (T.BF16,), 16, T.BF16X2, SM80,
            "multiplies of bf16 run on sm_80 and later"),
    Family("tf32", (S.M16N8K4, S.M16N8K8), (T.F32,), (T.TF32,), 32, T.TF32, SM80,
            "multiplies of tf32 run on sm_80 and later"),
    Family("f64", (S.M8N8K4, S.M16N8K4, S.M16N8K8, S.M16N8K16), (T.F64,), (T.F64,), 64, T.F64,
            SM80, "multiplies of f64 run on sm_80 and later", rules=_DOUBLE_RULES),
    Family("fp8", (S.M16N8K16, S.M16N8K32), (T.F16, T.F32), (M.E4M3, M.E5M2), 8, T.B32,
            since("8.4", _ADA), "multiplies of e4m3 and e5m2 run on sm_89 and later",
            rules=_BYTE_RULES),
    Family("int8", (S.M8N8K16, S.M16N8K16, S.M16N8K32), (T.S32,), (T.S8, T.U8), 8,
            saturates=True, rules=_LARGER),
    Family("int4", (S.M8N8K32, S.M16N8K32, S.M16N8K64), (T.S32,), (M.S4, M.U4), 4,
            saturates=True, rules=_LARGER),
    Family("b1", (S.M8N8K128, S.M16N8K128, S.M16N8K256), (T.S32,), (M.B1,), 1,
            operations=True, rules=_BIT_RULES),
)
"""All matrices dense."""

FOUR, TWO, ONE = Numbers(0, 3), Numbers(0, 1), Numbers(0, 0)
"""The selectors among four threads, two pairs of them, and none."""
_CONSUMER = with_feature(Feature.HAS_MMA_BLOCK_SCALE)
_NEWEST = since("8.7", _CONSUMER)
_SCALED = "multiplies with scale factors run on sm_120a/f and sm_121a/f"
_SPARSE_TEXT = "multiplies of a sparse matrix run on sm_80 and later"


def _sparse(head: str, version: str) -> tuple[Family, ...]:
    """The families with a sparse A.  Only ordered metadata go with sums of bytes in f16."""
    ampere, ada = since(version, at_least(80)), since(max(version, "8.4"), _ADA)
    bytes_ = Family("fp8", (S.M16N8K64,), (T.F32,), (M.E4M3, M.E5M2), 8, T.B32, ada,
                     "multiplies of e4m3 and e5m2 run on sm_89 and later",
                     selectors={S.M16N8K64: ONE})
    if head == ".sp::ordered_metadata":
        rules = (*_TYPES, when(dtype=T.F16).needs("f16-target", _NEWEST))
        bytes_ = replace(bytes_, d=(T.F16, T.F32), rules=rules)
    families = (
        Family("f16", (S.M16N8K16, S.M16N8K32), (T.F16, T.F32), (T.F16,), 16, T.F16X2,
                rules=_TYPES, selectors={S.M16N8K16: FOUR, S.M16N8K32: TWO}),
        Family("bf16", (S.M16N8K16, S.M16N8K32), (T.F32,), (T.BF16,), 16, T.BF16X2,
                selectors={S.M16N8K16: FOUR, S.M16N8K32: TWO}),
        Family("tf32", (S.M16N8K8, S.M16N8K16), (T.F32,), (T.TF32,), 32, T.TF32,
                selectors={S.M16N8K8: FOUR, S.M16N8K16: TWO}),
        Family("int8", (S.M16N8K32, S.M16N8K64), (T.S32,), (T.S8, T.U8), 8, saturates=True,
                selectors={S.M16N8K32: TWO, S.M16N8K64: ONE}),
        Family("int4", (S.M16N8K64, S.M16N8K128), (T.S32,), (M.S4, M.U4), 4, saturates=True,
                selectors={S.M16N8K64: TWO, S.M16N8K128: ONE}),
    )
    ready = (replace(f, needs=ampere, needs_text=_SPARSE_TEXT) for f in families)
    return tuple(replace(f, sparse=head) for f in (*ready, bytes_))


SPARSE = (*_sparse(".sp", "7.1"), *_sparse(".sp::ordered_metadata", "8.5"))
"""A sparse A, with metadata in any order and in order."""

_NARROW = (M.E2M1, M.E2M3, M.E3M2, M.E4M3, M.E5M2)
_NARROWEST = (M.E2M1, M.E2M3, M.E3M2)
_KIND = with_feature(Feature.HAS_MMA_KINDS)
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


def _kinds(sparse: str) -> Iterator[Family]:
    """The families with a kind: narrow types, with scale factors or without."""
    deep, deeper = (S.M16N8K64, S.M16N8K128) if sparse else (S.M16N8K32, S.M16N8K64)
    halves = since("8.7", _KIND)
    f16 = when(dtype=T.F16).needs("f16-target", _NEWEST if sparse else halves)
    fours = since("8.7", Feature.HAS_MMA_SPARSE_FP4) if sparse else _NEWEST
    families = (
        Family("f8f6f4", (deep,), (T.F16, T.F32), _NARROW, 8, needs=since("8.6", _KIND),
                needs_text="kind::f8f6f4 runs on targets of an architecture or family",
                rules=(*_KIND_RULES, f16), kind="f8f6f4"),
        Family("mxf8f6f4", (deep,), (T.F32,), _NARROW, 8, T.U8X4, needs=_NEWEST, needs_text=_SCALED,
                kind="mxf8f6f4", scales=(M.UE8M0,), vectors=(ScaleVec.X1,), default=True,
                ids=Numbers(0, 3)),
        Family("mxf4", (deeper,), (T.F32,), (M.E2M1,), 4, T.U8X4, needs=fours, needs_text=_SCALED,
                kind="mxf4", scales=(M.UE8M0,), vectors=(ScaleVec.X2,), default=True, ids=_EVEN),
        Family("mxf4nvf4", (deeper,), (T.F32,), (M.E2M1,), 4, T.U8X4, needs=fours,
                needs_text=_SCALED, rules=_FACTORS_RULES, kind="mxf4nvf4",
                scales=(M.UE8M0, M.UE4M3), vectors=(ScaleVec.X2, ScaleVec.X4), ids=_BYTES),
    )
    for family in families:
        selectors: dict[Attribute, Numbers] = dict.fromkeys(family.shapes, ONE) if sparse else {}
        yield replace(family, sparse=sparse, selectors=selectors)


KINDS = (*_kinds(""), *_kinds(".sp::ordered_metadata"))
"""Narrow types and scale factors, with a dense A and a sparse one."""
# fmt: on

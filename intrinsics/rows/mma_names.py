"""mma, mma.sp: LLVM's names.

PTX ISA, mma; mma.sp.  Each thread holds a part of every matrix; LLVM takes and gives its registers
one by one.  LLVM's names are

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

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import Modifier, SatFinite, ScalarType, ScaleVec
from intrinsics.modifiers.mma_sync import MmaLayout, MmaShape
from intrinsics.modifiers.wgmma import BitOperation, MatrixType
from intrinsics.row import Attribute, Attributes, Llvm
from intrinsics.rows.mma_families import LARGE, SMALL, Family

T, M = ScalarType, MatrixType

_LLVM_TYPES: dict[Attribute, str] = {T.F16: "v2f16", T.F32: "float", T.S32: "i32", T.F64: "double"}


def spellings(family: Family) -> Iterator[Llvm]:
    """One pattern for each pair of types of D and C that LLVM's names may state."""
    factors = _LLVM_TYPES.get(family.a[0], "i32")
    meta = ", i32:sp_meta, i32:sp_sel" if family.sparse else ""
    sparse = re.sub(r"\W+", ".", family.sparse).replace("_", ".")
    if family.scales:
        yield from _scaled_spellings(family, f"{sparse}.block.scale", meta)
        return
    kind = f".kind.{family.kind}" if family.kind else ""
    for stated in _stated(family):
        c, d = _LLVM_TYPES[stated.attributes["ctype"]], _LLVM_TYPES[stated.attributes["dtype"]]
        head = stated.head or sparse
        for saturating in (False, True)[: 1 + family.saturates]:
            extra: Attributes = {"satfinite": SatFinite.SATFINITE} if saturating else {}
            yield Llvm(
                f"mma{head}.{{shape}}.{{layouts}}{'.satfinite' * saturating}{kind}.{{types}}",
                f"n*{factors}:a, n*{factors}:b, n*{c}:c{meta}",
                f"n*{d}:d",
                given={**stated.attributes, **extra},
                holes={
                    "shape": {s.value: s for s in stated.shapes},
                    "layouts": stated.layouts,
                    "types": stated.types,
                },
                own=family.sparse != "" and family.name == "fp8" and d == "v2f16",
            )


def _scaled_spellings(family: Family, head: str, meta: str) -> Iterator[Llvm]:
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
            given={**stated.attributes, "stype": scale, "scale_vec": count},
            holes={
                "shape": {s.value: s for s in stated.shapes},
                "layouts": stated.layouts,
                "types": stated.types,
            },
            own=scale is M.UE8M0 and count is ScaleVec.X4,
        )


@dataclass(frozen=True, slots=True)
class _Stated:
    """What names of one signature say: attributes that all state, and the texts of the rest."""

    shapes: tuple[MmaShape, ...]
    layouts: Mapping[str, Attributes]
    types: Mapping[str, Attributes]
    attributes: Attributes
    head: str = ""


_ROW_COL: Mapping[str, Attributes] = {
    "row.col": {"alayout": MmaLayout.ROW, "blayout": MmaLayout.COL}
}


def _stated(family: Family) -> Iterator[_Stated]:
    pairs: dict[tuple[Modifier, Modifier], Attributes] = {
        (a, b): {"atype": a, "btype": b} for a in family.a for b in family.a
    }
    if family.name == "f16":
        yield from _stated_halves(family)
        return
    for d in family.d:
        attributes: dict[str, Attribute] = {"dtype": d, "ctype": d}
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
            more: Attributes = {"op": op, "sum": BitOperation.POPC} if op else {}
            head = f".{op.value}.popc" if op else ""
            yield _Stated(family.shapes, _ROW_COL, types, {**attributes, **more}, head)


def _stated_halves(family: Family) -> Iterator[_Stated]:
    """The types of A and B are not in the name; K = 4 has free layouts and types."""
    free: dict[str, Attributes] = {
        f"{a.value}.{b.value}": {"alayout": a, "blayout": b} for a in MmaLayout for b in MmaLayout
    }
    small = tuple(shape for shape in family.shapes if shape in SMALL)
    large = tuple(shape for shape in family.shapes if shape in LARGE)
    for d, c in ((T.F16, T.F16), (T.F32, T.F16), (T.F32, T.F32)):
        types: dict[str, Attributes] = {f"{d.value}.{c.value}": {}}
        attributes: Attributes = {"dtype": d, "atype": T.F16, "btype": T.F16, "ctype": c}
        if small:
            yield _Stated(small, free, types, attributes)
        if d is c:
            yield _Stated(large, _ROW_COL, types, attributes)

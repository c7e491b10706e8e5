"""mma, mma.sp: multiplies of a warp, with all matrices in registers.

PTX ISA, Warp Level Matrix Multiply-Accumulate Instructions, mma.

The manual gives the instruction a syntax for each family of element types: each is a row.  The
families are in `intrinsics.rows.mma_families`, LLVM's names in `intrinsics.rows.mma_names`.
"""

from __future__ import annotations

import re

from intrinsics.modifiers import Modifier, SatFinite, ScalarType
from intrinsics.modifiers.mma_sync import MmaLayout, MmaShape
from intrinsics.modifiers.wgmma import BitOperation
from intrinsics.row import (
    Access,
    Attribute,
    By,
    Count,
    Effect,
    Effects,
    IssueScope,
    Operand,
    Row,
    VectorNumbers,
    number,
    per,
    register,
    vector,
)
from intrinsics.rows.mma_families import DENSE, FOUR, KINDS, ONE, SPARSE, TWO, Family
from intrinsics.rows.mma_names import spellings

T, S = ScalarType, MmaShape
_MULTIPLIES = Effects(Effect.CONVERGENT | Effect.ALIGNED, IssueScope.WARP)

# ---- operands --------------------------------------------------------------------------------

_REGISTERS: dict[Attribute, ScalarType] = {T.F16: T.F16X2, T.F32: T.F32, T.S32: T.S32, T.F64: T.F64}


def _factor(name: str, family: Family) -> Operand:
    """A or B: its share of a thread, in registers of 32 bits, or numbers of f64."""
    counts: dict[Attribute, int] = {s: _share(s, name, family.bits) for s in family.shapes}
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


def _operands(family: Family) -> tuple[Operand, ...]:
    a, b = _factor("a", family), _factor("b", family)
    found = [_sums("d", family), a, b, _sums("c", family)]
    if family.sparse:
        selector = By("shape", family.selectors, ONE)
        found += [
            register("sp_meta", T.U32 if family.name == "fp8" else T.B32),
            number("sp_sel", selector),
        ]
    if family.scales:
        for name in ("sfa", "sfb"):
            found += [register(name, T.B32), _place(f"{name}_place", family)]
    return tuple(found)


def _place(name: str, family: Family) -> Operand:
    """Which byte of a register holds the first factor, and which of some threads has it."""
    each = (family.ids, TWO if name == "sfa_place" else FOUR)
    pair: dict[Attribute, int] = dict.fromkeys(family.shapes, 2)
    return vector(name, T.U16, per(shape=pair), numbers=VectorNumbers.ALL, each=each)


def _sums(name: str, family: Family) -> Operand:
    """D or C: two f16 or one number of another type in a register."""
    qualifier = f"{name}type"
    found: dict[Attribute, ScalarType] = {t: _REGISTERS[t] for t in family.d}
    kind = By(qualifier, found, found[family.d[0]])
    if name == "d":
        sink = family.name not in ("f64", "fp8", "f8f6f4")  # some targets take no `_` there
        return vector(
            name, kind, _sum_count(family, qualifier), Access.WRITE, distinct=True, sink=sink
        )
    return vector(name, kind, _sum_count(family, qualifier))


def _sum_count(family: Family, qualifier: str) -> Count:
    pairs: dict[Attribute, int] = {s: s.m * s.n // 64 for s in family.shapes}
    if family.bits == 16 and S.M8N8K4 in pairs:
        pairs[S.M8N8K4] *= 4  # eight threads hold a matrix of their own
    each: dict[Attribute, int] = {t: 1 if t is T.F16 else 2 for t in family.d}
    return Count((("shape", pairs), (qualifier, each)))


# ---- the rows --------------------------------------------------------------------------------


_LATE = {word: f"mma.{word}" for word in ("sp", "sp::ordered_metadata")}


def _row(family: Family) -> Row:
    layouts = family.layouts
    satfinite = "{.satfinite}" * family.saturates
    qualifiers: dict[str, tuple[Modifier, ...]] = {
        "shape": family.shapes,
        "alayout": layouts or (MmaLayout.ROW,),
        "blayout": layouts or (MmaLayout.COL,),
        "dtype": family.d,
        "atype": family.a,
        "btype": family.a,
        "ctype": family.d,
    }
    if family.saturates:
        qualifiers["satfinite"] = tuple(SatFinite)
    if family.operations:
        qualifiers |= {"op": (BitOperation.XOR, BitOperation.AND), "sum": (BitOperation.POPC,)}
    vector_size = ""
    if family.scales:
        qualifiers |= {"scale_vec": family.vectors, "stype": family.scales}
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
        qualifiers=qualifiers,
        operands=operands,
        section=head,
        needs=family.needs,
        needs_text=family.needs_text,
        rules=family.rules,
        effects=_MULTIPLIES,
        llvm=tuple(spellings(family)),
        opcode=f"MMA{re.sub(r'[^A-Z]+', '_', family.sparse.upper())}_SYNC_{kind_name}*",
        late={} if family.sparse else _LATE,
    )


ROWS = tuple(_row(family) for family in (*DENSE, *SPARSE, *KINDS))
"""A dense, then sparse, then sparse with ordered metadata, then those with a kind."""

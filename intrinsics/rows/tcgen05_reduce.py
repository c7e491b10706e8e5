"""tcgen05.ld that computes while it loads: the smallest or largest number, two numbers of four.

PTX ISA, tcgen05.ld (`.red`); `.spcompress` since PTX 9.4.  LLVM 22 has none of them.  The names
of ld.red are those of later versions of LLVM, where `.i32` means .u32; `.s32`, and the names of the
compressing loads, follow them.  Their numbers: min 0, max 1.
"""

from __future__ import annotations

from intrinsics.modifiers import (
    Compress,
    LdStNum,
    LdStShape,
    Magnitude,
    NanResult,
    ScalarType,
    WarpReduce,
)
from intrinsics.row import (
    Access,
    Attribute,
    Code,
    Completion,
    Effect,
    Effects,
    IssueScope,
    Llvm,
    Row,
    number,
    per,
    result,
    tensor_address,
    vector,
    when,
)
from intrinsics.rows.tcgen05 import HALF_SPLIT
from intrinsics.targets import Feature, since, with_feature

_REDUCE = (WarpReduce.MIN, WarpReduce.MAX)
_SHAPES = (LdStShape.S32X32B, LdStShape.S16X32BX2)
_FROM_X2 = tuple(n for n in LdStNum if n.times >= 2)
_FROM_X4 = tuple(n for n in LdStNum if n.times >= 4)

LD_RED_TARGETS = with_feature(Feature.HAS_TCGEN05_LD_RED)
"""Targets with tcgen05.ld.red: those with tensor memory, but for sm_100."""

_EFFECTS = Effects(
    Effect.CONVERGENT | Effect.ALIGNED | Effect.READS_MEMORY, IssueScope.WARP, Completion.WAIT_LD
)
_CODES: dict[str, Code] = {
    "op": dict(enumerate(_REDUCE)),
    "abs": {0: None, 1: Magnitude.ABS},
    "nan": {0: None, 1: NanResult.NAN},
}
_TIMES: dict[Attribute, int] = {n: n.times for n in LdStNum}
_HALVES: dict[Attribute, int] = {n: n.times // 2 for n in _FROM_X4}
_INDEX_WORDS: dict[Attribute, int] = {n: -(-n.times // 32) for n in _FROM_X4}
"""Registers with the places of the numbers kept: 2 bits for each."""

_NAMED_TYPES = (("f32", "float", ScalarType.F32), ("i32", "i32", ScalarType.U32),
                ("s32", "i32", ScalarType.S32))  # fmt: skip


def _spellings() -> tuple[Llvm, ...]:
    """`tcgen05.ld.red.<shape>.<num>.{i32,s32,f32}`; only floats have signs and NaNs to choose."""
    return tuple(
        Llvm(
            f"tcgen05.ld.red.{shape.value}.{{num}}.{name}",
            "p6:taddr"
            + (", i64:half_split" if shape is LdStShape.S16X32BX2 else "")
            + ", i32#op"
            + (", i1#abs, i1#nan" if type_ is ScalarType.F32 else ""),
            f"{{v*{llvm}:r, {llvm}:redval}}",
            given={"shape": shape, "type": type_},
            codes=_CODES,
            own=True,
        )
        for shape in _SHAPES
        for name, llvm, type_ in _NAMED_TYPES
    )


# ptxas takes any register of 32 bits for a result, whatever its type.
# fmt: off
LD_RED = Row(
    "tcgen05.ld.red", ".sync.aligned.shape.num.op{.abs}{.nan}.type",
    "r, redval, [taddr] {, half_split}",
    qualifiers={"shape": _SHAPES, "num": _FROM_X2, "op": _REDUCE, "abs": Magnitude,
                "nan": NanResult, "type": (ScalarType.F32, ScalarType.U32, ScalarType.S32)},
    operands=(
        vector("r", ScalarType.B32, per(num=_TIMES), Access.WRITE, distinct=True),
        result("redval", ScalarType.B32, distinct=True),
        tensor_address("taddr"),
        number("half_split"),
    ),
    section="tcgen05.ld",
    needs=since("8.8", LD_RED_TARGETS),
    needs_text="tcgen05.ld.red is not supported on this architecture",
    rules=(
        *HALF_SPLIT,
        when(abs=Magnitude.ABS).must("abs-type", ".abs is for floating point", type=ScalarType.F32),
        when(nan=NanResult.NAN).must("nan-type", ".NaN is for floating point", type=ScalarType.F32),
    ),
    effects=_EFFECTS,
    llvm=_spellings(),
)

LD_SPCOMPRESS = Row(
    "tcgen05.ld.spcompress", ".sync.aligned.shape.num.op.keep{.abs}.f32.b2",
    "mdata, cdata, [taddr]",
    qualifiers={"shape": (LdStShape.S32X32B,), "num": _FROM_X4, "op": _REDUCE, "keep": Compress,
                "abs": Magnitude},
    operands=(
        vector("mdata", ScalarType.B32, per(num=_INDEX_WORDS), Access.WRITE, distinct=True),
        vector("cdata", ScalarType.B32, per(num=_HALVES), Access.WRITE, distinct=True),
        tensor_address("taddr"),
    ),
    section="tcgen05.ld",
    needs=since("9.4", Feature.HAS_TCGEN05_SPCOMPRESS),
    needs_text="tcgen05.ld.spcompress is not supported on this architecture",
    effects=_EFFECTS,
    llvm=(
        Llvm("tcgen05.ld.spcompress.32x32b.{num}.f32", "p6:taddr, i32#op, i1#abs",
             "{v*i32:mdata, v*float:cdata}",
             given={"shape": LdStShape.S32X32B, "keep": Compress.TWO_OF_FOUR}, codes=_CODES,
             own=True),
    ),
)

LD_RED_SPCOMPRESS = Row(
    "tcgen05.ld.red.spcompress", ".sync.aligned.shape.num.op.keep{.abs}{.nan}.f32.b2",
    "mdata, cdata, redval, [taddr]",
    qualifiers={"shape": (LdStShape.S32X32B,), "num": _FROM_X4, "op": _REDUCE, "keep": Compress,
                "abs": Magnitude, "nan": NanResult},
    operands=(
        vector("mdata", ScalarType.B32, per(num=_INDEX_WORDS), Access.WRITE, distinct=True),
        vector("cdata", ScalarType.B32, per(num=_HALVES), Access.WRITE, distinct=True),
        result("redval", ScalarType.B32, distinct=True),
        tensor_address("taddr"),
    ),
    section="tcgen05.ld",
    needs=since("9.4", Feature.HAS_TCGEN05_SPCOMPRESS),
    needs_text="tcgen05.ld.red.spcompress is not supported on this architecture",
    effects=_EFFECTS,
    llvm=(
        Llvm("tcgen05.ld.red.spcompress.32x32b.{num}.f32", "p6:taddr, i32#op, i1#abs, i1#nan",
             "{v*i32:mdata, v*float:cdata, float:redval}",
             given={"shape": LdStShape.S32X32B, "keep": Compress.TWO_OF_FOUR}, codes=_CODES,
             own=True),
    ),
)
# fmt: on

ROWS = (LD_RED, LD_SPCOMPRESS, LD_RED_SPCOMPRESS)

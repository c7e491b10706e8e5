"""Matrices that a warp loads from shared memory, stores there, or transposes in registers.

PTX ISA, Warp Level Matrix Multiply-Accumulate Instructions: ldmatrix, stmatrix, movmatrix.

Each line of a matrix has an address of its own, which one of the threads gives.  LLVM's names end
in the address space of the addresses; movmatrix has none in LLVM 22, so that its name is nvgen's.
"""

from __future__ import annotations

from collections.abc import Iterator

from intrinsics.limits import MATRIX_ROW_BYTES
from intrinsics.modifiers import SHARED_OF_CTA, CopyFormat, ScalarType, Space
from intrinsics.modifiers.matrix import MatrixNum, MatrixShape, Transposed
from intrinsics.row import (
    Access,
    Attribute,
    Attributes,
    Effect,
    Effects,
    IssueScope,
    Llvm,
    Row,
    VectorNumbers,
    address,
    per,
    vector,
    when,
)
from intrinsics.rows.requirements import CTA_SPACE
from intrinsics.targets import Capability, Feature, at_least, since

T = ScalarType
_M8N8, _M8N16 = MatrixShape.M8N8, MatrixShape.M8N16
_M16N16, _M16N8 = MatrixShape.M16N16, MatrixShape.M16N8
_TRANS = Transposed.TRANS
_NARROW = (CopyFormat.B6X16_P32, CopyFormat.B4X16_P64)
_BYTES: Capability = since("8.6", Feature.HAS_BYTE_MATRICES)
_TOGETHER = Effect.CONVERGENT | Effect.ALIGNED

_NUMS: dict[Attribute, int] = {num: num.count for num in MatrixNum}
_REGISTERS = per(shape={shape: shape.registers for shape in MatrixShape}, num=_NUMS)
_ALONE = per(shape={_M8N8: 0})
"""One register without braces."""

# ---- LLVM's names ----------------------------------------------------------------------------

_POINTERS: tuple[tuple[str, Attributes], ...] = (("p3", {"space": Space.SHARED}), ("p0", {}))
_TRANSPOSED: dict[str, Attribute | Attributes] = {"": None, ".trans": _TRANS}
_FORMATS: dict[str, Attribute | Attributes] = {
    f"b8x16.{source.value}": {"dst_fmt": CopyFormat.B8X16, "src_fmt": source} for source in _NARROW
}
_BYTE: dict[str, Attribute | Attributes] = {"b8": {"type": T.B8}}
_NUM_NAMES: dict[str, Attribute | Attributes] = {num.value: num for num in MatrixNum}


def _loads() -> Iterator[Llvm]:
    for pointer, space in _POINTERS:
        yield Llvm(
            f"ldmatrix.sync.aligned.m8n8.{{num}}{{trans}}.b16.{pointer}",
            f"{pointer.replace('p0', 'p')}:a",
            "n*i32:d",
            given={"shape": _M8N8, "type": T.B16, **space},
            holes={"trans": _TRANSPOSED},
        )
        yield Llvm(
            f"ldmatrix.sync.aligned.m16n16.{{num}}.trans.{{format}}.{pointer}",
            f"{pointer.replace('p0', 'p')}:a",
            "n*i32:d",
            given={"shape": _M16N16, "trans": _TRANS, **space},
            holes={
                "num": {name: _NUM_NAMES[name] for name in ("x1", "x2")},
                "format": _BYTE | _FORMATS,
            },
        )
        yield Llvm(
            f"ldmatrix.sync.aligned.m8n16.{{num}}.{{format}}.{pointer}",
            f"{pointer.replace('p0', 'p')}:a",
            "n*i32:d",
            given={"shape": _M8N16, **space},
            holes={"format": _FORMATS},
        )


def _stores() -> Iterator[Llvm]:
    for pointer, space in _POINTERS:
        yield Llvm(
            f"stmatrix.sync.aligned.m8n8.{{num}}{{trans}}.b16.{pointer}",
            f"{pointer.replace('p0', 'p')}:a, n*i32:r",
            given={"shape": _M8N8, "type": T.B16, **space},
            holes={"trans": _TRANSPOSED},
        )
        yield Llvm(
            f"stmatrix.sync.aligned.m16n8.{{num}}.trans.b8.{pointer}",
            f"{pointer.replace('p0', 'p')}:a, n*i32:r",
            given={"shape": _M16N8, "trans": _TRANS, "type": T.B8, **space},
        )


# ---- the rows --------------------------------------------------------------------------------

# fmt: off
LDMATRIX = Row(
    "ldmatrix", ".sync.aligned.shape.num{.trans}{.space}{.type}{.dst_fmt}{.src_fmt}", "d, [a]",
    qualifiers={"shape": (_M8N8, _M8N16, _M16N16), "num": MatrixNum, "trans": Transposed,
                "space": SHARED_OF_CTA, "type": (T.B16, T.B8), "dst_fmt": (CopyFormat.B8X16,),
                "src_fmt": _NARROW},
    operands=(
        vector("d", T.B32, _REGISTERS, Access.WRITE, sink=True),
        address("a", "space", wide=True, within=Space.SHARED),
    ),
    aligned={"a": MATRIX_ROW_BYTES},
    section="Warp-level matrix load instruction: ldmatrix",
    rules=(
        when(shape=_M8N8).must("elements", "a matrix of m8n8 has elements of 16 bits", type=T.B16),
        when(type=T.B16).must("elements", "elements of 16 bits are those of m8n8", shape=_M8N8),
        when(type=T.B8).must("elements", "elements of 8 bits are those of m16n16", shape=_M16N16),
        when(type=None).must(
            "elements", "a load says what its elements are", dst_fmt=CopyFormat.B8X16),
        when(dst_fmt=CopyFormat.B8X16).must(
            "formats", "the formats of a conversion stand where a type does", type=None,
            src_fmt=_NARROW),
        when(src_fmt=_NARROW).must(
            "formats", "the formats of a conversion come together", dst_fmt=CopyFormat.B8X16),
        when(shape=_M16N16).must(
            "transposition", "a matrix of m16n16 is transposed", trans=_TRANS),
        when(shape=_M8N16).must(
            "transposition", "a matrix of m8n16 is not transposed", trans=None),
        when(shape=_M16N16).must(
            "number", "one or two matrices of m16n16 are loaded at once",
            num=(MatrixNum.X1, MatrixNum.X2)),
        when(shape=(_M8N16, _M16N16)).needs("bytes-target", _BYTES),
        CTA_SPACE,
    ),
    effects=Effects(Effect.READS_MEMORY | _TOGETHER, IssueScope.WARP),
    llvm=tuple(_loads()),
)

STMATRIX = Row(
    "stmatrix", ".sync.aligned.shape.num{.trans}{.space}.type", "[a], r",
    qualifiers={"shape": (_M8N8, _M16N8), "num": MatrixNum, "trans": Transposed,
                "space": SHARED_OF_CTA, "type": (T.B16, T.B8)},
    operands=(
        address("a", "space", wide=True, within=Space.SHARED, stored=True),
        vector("r", T.B32, _REGISTERS, numbers=VectorNumbers.SOME),
    ),
    aligned={"a": MATRIX_ROW_BYTES},
    section="Warp-level matrix store instruction: stmatrix",
    needs=since("7.8", at_least(90)),
    rules=(
        when(shape=_M8N8).must("elements", "a matrix of m8n8 has elements of 16 bits", type=T.B16),
        when(shape=_M16N8).must("elements", "a matrix of m16n8 has elements of 8 bits", type=T.B8),
        when(shape=_M16N8).must(
            "transposition", "a matrix of m16n8 is transposed", trans=_TRANS),
        when(shape=_M16N8).needs("bytes-target", _BYTES),
    ),
    effects=Effects(Effect.WRITES_MEMORY | _TOGETHER, IssueScope.WARP),
    llvm=tuple(_stores()),
)

MOVMATRIX = Row(
    "movmatrix", ".sync.aligned.shape.trans.b16", "d, a",
    qualifiers={"shape": (_M8N8,)},
    operands=(vector("d", T.B32, _ALONE, Access.WRITE), vector("a", T.B32, _ALONE)),
    section="Warp-level matrix transpose instruction: movmatrix",
    needs=since("7.8"),
    effects=Effects(_TOGETHER, IssueScope.WARP),
    llvm=(Llvm("movmatrix.sync.aligned.{shape}.trans.b16", "i32:a", "i32:d", own=True),),
)
# fmt: on

ROWS = (LDMATRIX, STMATRIX, MOVMATRIX)

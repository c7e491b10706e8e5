"""The rows of mma and wgmma calls, with their modifiers and operands.

Layer: nvgen.instructions.  Matrices are registers, laid out as in `intrinsics.layouts`.
Accumulators of warpgroups are registers that change in place: a variable of a loop.  PTX ISA, mma;
mma.sp; Asynchronous Warpgroup Level Matrix Instructions.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import replace

from llvmlite import ir

from intrinsics import catalog
from intrinsics.descriptors.wgmma_desc import WgmmaDescriptor
from intrinsics.layouts.register_layout import warpgroup_layout
from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import MmaKind, Modifier, ScalarType, ScaleVec
from intrinsics.modifiers.wgmma import MatrixType, WgmmaShape, shapes
from intrinsics.rows.mma_families import DENSE, KINDS, SPARSE
from intrinsics.rows.wgmma_families import FAMILY_OF, INT
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import described, index_of, refuse
from nvgen.instructions.base import BuilderBase
from nvgen.instructions.rules import Draft, following
from nvgen.values.numbers import Int, IntLike
from nvgen.values.pointers import Pointer, descriptor_at
from nvgen.values.regions import Changing, Host
from nvgen.values.vectors import Vector

T = ScalarType

_refuse = functools.partial(refuse, rule="mma-sync")
_refuse_wgmma = functools.partial(refuse, rule="wgmma")


def _names(words: Iterable[Modifier]) -> str:
    return ", ".join(word.ptx for word in words)


def _name(given: object) -> str:
    return given.ptx if isinstance(given, Modifier) else described(given)


# ---- warps -------------------------------------------------------------------------------------

_FAMILIES = {type_: family for family in DENSE for type_ in family.a}
"""The family of a type of A, where there is no kind."""

_KINDS = {MmaKind(f"kind::{family.kind}"): family for family in KINDS if not family.sparse}
_SCALED = tuple(kind for kind, family in _KINDS.items() if family.scales)
_NARROW = _KINDS[MmaKind.F8F6F4].a
_SPARSE = tuple(family.name for family in (*SPARSE, *KINDS) if family.sparse)


@guarded
@dataclass(frozen=True, slots=True)
class WarpScales:
    """Scale factors of blocks of A and B, four bytes in a register of each thread.

    `vector` is how many factors a row has (only kind::mxf4nvf4 must be told); `a_place` and
    `b_place` select the byte of the first factor and the threads that give factors, see
    `intrinsics.layouts.fragments_mma_factors`.
    """

    a: Int
    b: Int
    type: MatrixType = MatrixType.UE8M0
    vector: ScaleVec | None = None
    a_place: tuple[IntLike, IntLike] = (0, 0)
    b_place: tuple[IntLike, IntLike] = (0, 0)

    def join(self, draft: Draft) -> None:
        """Add them to a multiply's operands."""
        draft.attributes |= {"stype": self.type, "scale_vec": self.vector}
        draft.operands |= {"sfa": self.a, "sfa_place": self.a_place}
        draft.operands |= {"sfb": self.b, "sfb_place": self.b_place}


@following()
def by_a_warp(draft: Draft) -> None:
    """The row by A's type and kind; D's type and the others, as the rows have them."""
    attributes, given = draft.attributes, draft.given
    atype, kind, scales = attributes["atype"], given["kind"], given["scales"]
    family, usual = _family(atype, kind, scales)
    attributes["btype"] = attributes["btype"] or atype
    attributes["dtype"] = attributes["dtype"] or usual
    attributes["ctype"] = attributes.get("ctype") or attributes["dtype"]
    if isinstance(scales, WarpScales):
        scales.join(draft)
    draft.row = f"mma.{family}" if "ordered" not in given else _sparse_row(draft, family)


def _family(atype: object, kind: object, scales: object) -> tuple[str, ScalarType]:
    """The row's last name, and the usual type of sums."""
    if kind is not None and kind not in _KINDS:
        raise _refuse("mma has no such kind", got=described(kind), expected=_names(_KINDS))
    known = _KINDS[kind] if isinstance(kind, MmaKind) else None
    types = tuple(_FAMILIES) if known is None else known.a
    if not isinstance(atype, Modifier) or atype not in types:
        hint = "types of 4 and 6 bits need a kind" if kind is None and atype in _NARROW else ""
        raise _refuse("A has no such type", got=_name(atype), expected=_names(types), hint=hint)
    if (scales is not None) is not (kind in _SCALED):
        wanted = "scale factors" if kind in _SCALED else f"a kind of {_names(_SCALED)}"
        got = "none" if scales is None else f"kind::{known.kind}" if known else "no kind"
        raise _refuse("scale factors belong to block-scaled kinds", got=got, expected=wanted)
    family = known or _FAMILIES[atype]
    return family.name, T.F32 if T.F32 in family.d else family.d[0]


def _sparse_row(draft: Draft, family: str) -> str:
    """The row of a sparse A."""
    ordered, kind = draft.given["ordered"], draft.given["kind"]
    head = "mma.sp::ordered_metadata" if ordered else "mma.sp"
    if family not in _SPARSE or (kind is not None and not ordered):
        wanted = "ordered=True" if family in _SPARSE else "a type with a sparse A"
        got = _name(draft.attributes["atype"] if kind is None else kind)
        raise _refuse(f"{head} has no such multiply", got=got, expected=wanted)
    return f"{head}.{family}"


@following()
def bits(draft: Draft) -> None:
    """How single bits are multiplied is said of them alone."""
    op, is_bits = draft.attributes["op"], draft.attributes["atype"] is MatrixType.B1
    if (op is not None) is not is_bits:
        wanted = "and or xor" if is_bits else "no operation"
        raise _refuse("op is how bits are multiplied", got=str(op), expected=wanted)


# ---- warpgroups --------------------------------------------------------------------------------


@guarded
class Accumulator(Changing):
    """A thread's registers of D: 64 rows of a warpgroup's, 16 of a warp's, by `n` columns of `type`
    (f32, f16 or s32).

    Multiplies change it in place; its registers are valid after a wait for their group.
    """

    def __init__(self, builder: Host, n: int, type: ScalarType, raw: ir.Value) -> None:
        super().__init__(builder, raw)
        self.n = n
        self.type = type

    def __repr__(self) -> str:
        layout = warpgroup_layout(64, self.n, 16 if self.type is ScalarType.F16 else 32)
        return f"<D of one multiply of a warpgroup: {self.type.value}; layout {layout}>"

    @property
    def registers(self) -> Vector:
        """The 32-bit registers: each an `F32`, or an integer that holds two f16 or an s32."""
        count: int = self.raw.type.count
        words = ir.VectorType(ir.IntType(32), count)
        raw = self.builder.at_caller().bitcast(self.raw, words)
        held = ScalarType.F16X2 if self.type is ScalarType.F16 else self.type
        return Vector(self.builder, raw, count, held)


def wgmma_accumulator(b: BuilderBase, n: int, type: ScalarType = T.F32) -> Accumulator:
    """A zeroed D of 64 rows by `n` columns.

    Raises: InputError when no wgmma has such a D.
    """
    widths = [shape.n for shape in shapes(INT.k, integers=type is T.S32)]
    if index_of(n) not in widths or type not in (T.F32, T.F16, T.S32):
        got = f"64 by {described(n)} of {_name(type)}"
        expected = f"f32, f16 or s32; n: {', '.join(map(str, widths))}"
        raise _refuse_wgmma("no multiply of a warpgroup has such a D", got=got, expected=expected)
    element = ir.FloatType() if type is T.F32 else ir.IntType(32)
    vector = ir.VectorType(element, n // 4 if type is T.F16 else n // 2)
    made = Accumulator(b, n, type, ir.Constant(vector, None))
    b.changing(made)
    return made


def wgmma_descriptor(b: BuilderBase, pointer: Pointer, layout: WgmmaDescriptor) -> Int:
    """The wgmma descriptor of `layout` at a shared address that is known when the kernel runs."""
    return descriptor_at(b, pointer, replace(layout, address=0).encode())


_USUAL = {"scale_a": 1, "scale_b": 1, "trans_a": 0, "trans_b": 0, "sp_sel": 0}
"""Operands that not all rows have, and what is so where there is none."""


@following()
def by_a_warpgroup(draft: Draft) -> None:
    """The row by A's type and place, the shape by D's width; what D holds is read and written."""
    d, atype = draft.given["d"], draft.attributes["atype"]
    if not isinstance(d, Accumulator):
        expected = "b.wgmma_accumulator(n, type)"
        raise _refuse_wgmma("D is no accumulator", got=described(d), expected=expected)
    if not isinstance(atype, Modifier) or atype not in FAMILY_OF:
        raise _refuse_wgmma("A has no such type", got=_name(atype), expected=_names(FAMILY_OF))
    sparse, held = "sp_meta" in draft.operands, isinstance(draft.operands["a"], Vector)
    head = f"wgmma.mma_async{'.sp' * sparse}.{FAMILY_OF[atype].name}"
    draft.row = head + ".registers" * held
    row = catalog.row(draft.row)
    draft.attributes |= {"shape": _shape(d.n, row.qualifier["shape"].values), "dtype": d.type}
    draft.attributes["btype"] = draft.attributes["btype"] or atype
    draft.operands["d"] = Vector(d.builder, d.raw, d.raw.type.count)
    for name, usual in _USUAL.items():
        if name not in row.operand and (number := draft.operands.pop(name)) != usual:
            what = f"this multiply of {atype.ptx} has no {name}"
            raise _refuse_wgmma(what, got=str(number), expected=str(usual))


def _shape(n: int, able: Iterable[Modifier]) -> WgmmaShape:
    found = {shape.n: shape for shape in able if isinstance(shape, WgmmaShape)}
    if n not in found:
        widths = ", ".join(map(str, found))
        raise _refuse_wgmma(f"no such multiply has n = {n}", got=str(n), expected=widths)
    return found[n]

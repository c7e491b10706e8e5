"""The builder's verbs for matrix multiplies of warps and warpgroups, which choose among many rows.

Layer: nvgen.builder.  Matrices are registers: which element of a matrix each thread holds,
`intrinsics.layouts` says.  Accumulators of warpgroups are registers that change in place: a loop
carries them on.  PTX ISA, mma; mma.sp; Asynchronous Warpgroup Level Matrix Instructions.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from llvmlite import ir

from intrinsics.descriptors.wgmma_desc import WgmmaDescriptor
from intrinsics.findings import InputError, input_error
from intrinsics.layouts.register_layout import warpgroup_layout
from intrinsics.modifiers import MmaKind, Modifier, SatFinite, ScalarType, ScaleVec
from intrinsics.multiplies.mma_sync import MmaLayout, MmaShape
from intrinsics.multiplies.wgmma import BitOperation, MatrixType, WgmmaShape, shapes
from intrinsics.multiplies.wgmma_families import FAMILY_OF, INT
from intrinsics.row import Fact
from intrinsics.rows.mma_families import DENSE, KINDS, SPARSE
from nvgen.builder.atomics import Atomics
from nvgen.builder.calls import spelled
from nvgen.builder.llvm_ext import vector_value
from nvgen.builder.numbers import Int, IntLike, Number
from nvgen.builder.pointers import Pointer
from nvgen.builder.regions import Changing, Host
from nvgen.builder.vectors import Vector
from nvgen.builder.verb import Operand

T = ScalarType
Registers: TypeAlias = Vector | Sequence[Number]
"""The registers of one matrix in a thread; a sequence may have one."""

_FAMILIES = {type_: family for family in DENSE for type_ in family.a}
"""The family of a type of A, where there is no kind."""

_KINDS = {MmaKind(f"kind::{family.kind}"): family for family in KINDS if not family.sparse}
_SCALED = tuple(kind for kind, family in _KINDS.items() if family.scales)
_NARROW = _KINDS[MmaKind.F8F6F4].a
_SPARSE = tuple(family.name for family in (*SPARSE, *KINDS) if family.sparse)


def _refuse(
    text: str, *, got: str, expected: str, hint: str = "", rule: str = "mma-sync"
) -> InputError:
    return input_error(f"builder/{rule}", text, got=got, expected=expected, hint=hint)


def _family(
    atype: Modifier, kind: MmaKind | None, scales: WarpScales | None
) -> tuple[str, ScalarType]:
    """The row's last name, and the usual type of sums.

    Raises: InputError.
    """
    if kind is not None and kind not in _KINDS:
        raise _refuse("mma has no such kind", got=str(kind), expected=_names(_KINDS))
    types = tuple(_FAMILIES) if kind is None else _KINDS[kind].a
    if atype not in types:
        hint = "types of 4 and 6 bits need a kind" if kind is None and atype in _NARROW else ""
        raise _refuse("A has no such type", got=atype.ptx, expected=_names(types), hint=hint)
    if (scales is not None) is not (kind in _SCALED):
        wanted = "scale factors" if kind in _SCALED else f"a kind of {_names(_SCALED)}"
        got = "none" if scales is None else kind.ptx if kind else "no kind"
        raise _refuse("scale factors belong to block-scaled kinds", got=got, expected=wanted)
    family = _FAMILIES[atype] if kind is None else _KINDS[kind]
    return family.name, T.F32 if T.F32 in family.d else family.d[0]


def _facts(
    shape: MmaShape,
    atype: Modifier,
    btype: Modifier | None,
    dtype: ScalarType,
    *,
    satfinite: bool,
) -> dict[str, Fact]:
    """The modifiers of a multiply of a row-major A and a column-major B, C of D's type."""
    return {
        "shape": shape,
        "alayout": MmaLayout.ROW,
        "blayout": MmaLayout.COL,
        "dtype": dtype,
        "atype": atype,
        "btype": atype if btype is None else btype,
        "ctype": dtype,
        "satfinite": SatFinite.SATFINITE if satfinite else None,
    }


def _names(words: Iterable[Modifier]) -> str:
    return ", ".join(word.ptx for word in words)


def _length(registers: Vector | Sequence[object]) -> int:
    return registers.count if isinstance(registers, Vector) else len(registers)


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

    @property
    def operands(self) -> dict[str, Operand]:
        """What the instruction takes."""
        return {
            "sfa": self.a,
            "sfa_place": self.a_place,
            "sfb": self.b,
            "sfb_place": self.b_place,
        }


# ---- warpgroups --------------------------------------------------------------------------------

_refuse_wgmma = functools.partial(_refuse, rule="wgmma")


class Accumulator(Changing):
    """A thread's part of D, 64 rows by `n` columns of `type` (f32, f16 or s32).

    Multiplies change it in place; its registers mean something behind a wait for their group.
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
        """The registers, 32 bits each: an `F32`, or without arithmetic two f16 or an s32."""
        count: int = self.raw.type.count
        words = ir.VectorType(ir.IntType(32), count)
        raw = self.raw
        if raw.type != words:
            raw = self.builder.at_caller().bitcast(raw, words)
        held = ScalarType.F16X2 if self.type is ScalarType.F16 else self.type
        return Vector(self.builder, raw, count, held)


# ---- the verbs ---------------------------------------------------------------------------------


class Multiplies(Atomics):
    """Calls of the mma and wgmma intrinsics, by all threads of a warp or of a warpgroup."""

    def mma_sync(
        self,
        a: Registers,
        b: Registers,
        c: Registers,
        *,
        shape: MmaShape,
        atype: Modifier,
        btype: Modifier | None = None,
        dtype: ScalarType | None = None,
        ctype: ScalarType | None = None,
        alayout: MmaLayout = MmaLayout.ROW,
        blayout: MmaLayout = MmaLayout.COL,
        op: BitOperation | None = None,
        satfinite: bool = False,
        kind: MmaKind | None = None,
        scales: WarpScales | None = None,
    ) -> Vector:
        """A·B + C: the registers of D.

        All registers are integers of 32 bits that hold the bits of their elements, the first ones
        lowest; of f64 they have 64 bits.  `btype` is A's type unless it is given, `dtype` f32, of
        integers s32 and of f64 that, `ctype` D's type; `op` is how single bits are multiplied.
        Types of 4 and 6 bits need a `kind`, and block-scaled kinds `scales`.

        Raises: InputError for what the instruction does not have.
        """
        family, usual = _family(atype, kind, scales)
        dtype = usual if dtype is None else dtype
        if (op is not None) is not (atype is MatrixType.B1):
            wanted = "and or xor" if atype is MatrixType.B1 else "no operation"
            raise _refuse("op is how bits are multiplied", got=str(op), expected=wanted)
        facts = _facts(shape, atype, btype, dtype, satfinite=satfinite)
        facts |= {"alayout": alayout, "blayout": blayout}
        facts["ctype"] = dtype if ctype is None else ctype
        if op is not None:
            facts |= {"op": op, "sum": BitOperation.POPC}
        return self._multiply_registers(f"mma.{family}", facts, {"a": a, "b": b, "c": c}, scales)

    def mma_sp(
        self,
        a: Registers,
        b: Registers,
        c: Registers,
        metadata: Int,
        *,
        shape: MmaShape,
        atype: Modifier,
        btype: Modifier | None = None,
        dtype: ScalarType | None = None,
        selector: int = 0,
        ordered: bool = True,
        satfinite: bool = False,
        kind: MmaKind | None = None,
        scales: WarpScales | None = None,
    ) -> Vector:
        """A·B + C, where half of each row of A is zeros and is not stored: the registers of D.

        K is that of B; `metadata` are the indices of what is stored, in the threads that `selector`
        names: see `intrinsics.layouts.fragments_mma_sparse`.  With `ordered` they ascend, as all
        kinds want it.  C has D's type; the rest is as in `mma_sync`.

        Raises: InputError for what the instruction does not have.
        """
        family, usual = _family(atype, kind, scales)
        dtype = usual if dtype is None else dtype
        head = "mma.sp::ordered_metadata" if ordered else "mma.sp"
        if family not in _SPARSE or (kind is not None and not ordered):
            got = kind.ptx if kind else atype.ptx
            wanted = "ordered=True" if family in _SPARSE else "a type with a sparse A"
            raise _refuse(f"{head} has no such multiply", got=got, expected=wanted)
        facts = _facts(shape, atype, btype, dtype, satfinite=satfinite)
        operands: dict[str, Operand] = {"a": a, "b": b, "c": c}
        operands |= {"sp_meta": metadata, "sp_sel": selector}
        return self._multiply_registers(f"{head}.{family}", facts, operands, scales)

    def _multiply_registers(
        self,
        row: str,
        facts: dict[str, Fact],
        operands: dict[str, Operand],
        scales: WarpScales | None,
    ) -> Vector:
        if scales is not None:
            facts |= {"stype": scales.type, "scale_vec": scales.vector}
            operands |= scales.operands
        self._check_counts(row, facts, operands)
        type_ = facts["dtype"]
        assert isinstance(type_, ScalarType)
        return self._registers(self._call(row, facts, operands), type_)

    def _check_counts(self, row: str, facts: dict[str, Fact], operands: dict[str, Operand]) -> None:
        """Refuse matrices of another number of registers.

        Raises: InputError.
        """
        spelling = spelled(row, {n: f for n, f in facts.items() if f is not None}, operands)
        for name in "abc":
            given = operands[name]
            count = spelling.row.operand[name].count
            assert count is not None
            assert isinstance(given, (Vector, Sequence))
            found, wanted = _length(given), count.of(facts)
            if found != wanted:
                raise _refuse(
                    f"{name.upper()} of {spelling.name} has another number of registers",
                    got=str(found),
                    expected=str(wanted),
                )

    def _registers(self, structure: ir.Value, held: ScalarType) -> Vector:
        """The elements of a structure, of which a register holds one, or two of f16."""
        builder, count = self.at_caller(), len(structure.type.elements)
        word = ir.IntType(64 if held is T.F64 else 32)
        words = (builder.bitcast(builder.extract_value(structure, i), word) for i in range(count))
        found = vector_value(builder, word, count, words)
        return Vector(self, found, count, T.F16X2 if held is T.F16 else held)

    def wgmma_accumulator(self, n: int, type: ScalarType = ScalarType.F32) -> Accumulator:
        """Zeros for D of 64 rows by `n` columns.

        Raises: InputError when no multiply has such a D.
        """
        widths = [shape.n for shape in shapes(INT.k, integers=type is T.S32)]
        if n not in widths or type not in (T.F32, T.F16, T.S32):
            raise _refuse_wgmma(
                "no multiply of a warpgroup has such a D",
                got=f"64 by {n} of {type.ptx}",
                expected=f"f32, f16 or s32; n: {', '.join(map(str, widths))}",
            )
        element = ir.FloatType() if type is T.F32 else self.int_type(32)
        zeros = ir.Constant(ir.VectorType(element, n // 4 if type is T.F16 else n // 2), None)
        made = Accumulator(self, n, type, zeros)
        self.changing(made)
        return made

    def wgmma_descriptor(self, pointer: Pointer, layout: WgmmaDescriptor) -> Int:
        """A descriptor of `layout`, with an address in shared memory that the kernel knows."""
        address = self.at_caller().ptrtoint(pointer.value, self.int_type(32))
        low = (Int(self, address) & 0x3FFFF) >> 4
        return self.zext(low, 64) | replace(layout, address=0).encode()

    def wgmma_mma_async(
        self,
        d: Accumulator,
        a: Int | Vector,
        b: Int,
        scale_d: IntLike = 1,
        *,
        atype: Modifier,
        btype: Modifier | None = None,
        scale_a: int = 1,
        scale_b: int = 1,
        trans_a: int = 0,
        trans_b: int = 0,
        satfinite: bool = False,
        sp_meta: Int | None = None,
        sp_sel: int = 0,
    ) -> None:
        """Add A·B to D, or with `scale_d` 0 put it there.

        A is a descriptor or four registers, B a descriptor; `btype` is A's type unless it is given.
        With metadata A is sparse, and K twice as much.

        Raises: InputError for types, signs or transpositions that the instruction does not have.
        """
        family = FAMILY_OF.get(atype)
        if family is None:
            known = ", ".join(t.ptx for t in FAMILY_OF)
            raise _refuse_wgmma("A has no such type", got=atype.ptx, expected=known)
        sparse, held = sp_meta is not None, isinstance(a, Vector)
        signs = {"scale_a": scale_a, "scale_b": scale_b}
        majors = {"trans_b": trans_b} if held else {"trans_a": trans_a, "trans_b": trans_b}
        _check_defaults(signs, family.scaled, 1, atype)
        _check_defaults({"trans_a": trans_a}, family.transposed and not held, 0, atype)
        _check_defaults({"trans_b": trans_b}, family.transposed, 0, atype)
        operands: dict[str, Operand] = {
            "d": Vector(self, d.raw, d.raw.type.count),
            "a": a,
            "b": b,
            "scale_d": scale_d,
        }
        operands |= signs if family.scaled else {}
        operands |= majors if family.transposed else {}
        if sp_meta is not None:
            operands |= {"sp_meta": sp_meta, "sp_sel": sp_sel}
        facts: dict[str, Fact] = {
            "shape": _shape(d.n, family.k * 2 if sparse else family.k),
            "dtype": d.type,
            "atype": atype,
            "btype": atype if btype is None else btype,
            "satfinite": SatFinite.SATFINITE if satfinite else None,
        }
        if family.name == "b1":
            facts |= {"op": BitOperation.AND, "sum": BitOperation.POPC}
        head = "wgmma.mma_async.sp" if sparse else "wgmma.mma_async"
        d.raw = self._call(f"{head}.{family.name}{'.registers' * held}", facts, operands)


def _shape(n: int, k: int) -> WgmmaShape:
    found = {shape.n: shape for shape in shapes(k)}
    if n not in found:
        widths = ", ".join(map(str, found)) or "none"
        raise _refuse_wgmma(f"no multiply has n = {n} with k = {k}", got=str(n), expected=widths)
    return found[n]


def _check_defaults(given: dict[str, int], possible: bool, usual: int, atype: Modifier) -> None:
    """Refuse what an instruction has no operand for, unless it says what is so anyway."""
    for name, number in given.items():
        if not possible and number != usual:
            raise _refuse_wgmma(
                f"this multiply of {atype.ptx} has no {name}", got=str(number), expected=str(usual)
            )

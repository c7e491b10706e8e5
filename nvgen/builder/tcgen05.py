"""The builder's verbs for the tensor core: one method for each tcgen05 instruction.

Layer: nvgen.builder.  Methods are named as the instructions are, operands come first, modifiers are
keyword arguments.  What LLVM 22 has no intrinsic for has one of nvgen's, under a name of its kind
(`intrinsics/rows/tcgen05_mma_names.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from llvmlite import ir

from intrinsics.modifiers import (
    AShift,
    BlockScale,
    CollectorA,
    CollectorB,
    CollectorWs,
    Compress,
    CopyFormat,
    CopyMulticast,
    CopyShape,
    CtaGroup,
    Decompress,
    Exclusive,
    LdStNum,
    LdStShape,
    Magnitude,
    MmaKind,
    Multicast,
    NanResult,
    Pack,
    ScalarType,
    ScaleVec,
    Space,
    SyncRestrict,
    ThreadSync,
    Unpack,
    WaitOp,
    WarpReduce,
)
from intrinsics.row import Fact, Residency
from nvgen.builder.intrinsics import IntrinsicCalls, Operand
from nvgen.builder.registers import Vector
from nvgen.builder.values import Barrier, Int, IntLike, Pointer, pointer_of, refuse


class TensorCoreCalls(IntrinsicCalls):
    """Calls of the tcgen05 intrinsics."""

    # ---- allocation --------------------------------------------------------------------------

    def tcgen05_alloc(
        self,
        dst: Pointer,
        ncols: IntLike,
        *,
        cta_group: CtaGroup = CtaGroup.ONE,
        exclusive: bool = False,
    ) -> None:
        """Allocate columns of tensor memory; their address is written to shared `dst`."""
        facts = {
            "cta_group": cta_group,
            "space": Space.SHARED_CTA,
            "exclusive": Exclusive.EXCLUSIVE if exclusive else None,
        }
        self._call("tcgen05.alloc", facts, {"dst": dst, "ncols": ncols})

    def tcgen05_dealloc(
        self,
        taddr: Pointer,
        ncols: IntLike,
        *,
        cta_group: CtaGroup = CtaGroup.ONE,
        exclusive: bool = False,
    ) -> None:
        """Give columns of tensor memory back."""
        facts = {
            "cta_group": cta_group,
            "exclusive": Exclusive.EXCLUSIVE if exclusive else None,
        }
        self._call("tcgen05.dealloc", facts, {"taddr": taddr, "ncols": ncols})

    def tcgen05_relinq_alloc_permit(self, *, cta_group: CtaGroup = CtaGroup.ONE) -> None:
        """Give up the right to allocate tensor memory."""
        self._call("tcgen05.relinquish_alloc_permit", {"cta_group": cta_group}, {})

    # ---- multiplies --------------------------------------------------------------------------

    def tcgen05_mma(
        self,
        d: Pointer,
        a: Int | Pointer,
        b: Int,
        idesc: IntLike,
        enable_d: IntLike,
        *,
        kind: MmaKind,
        cta_group: CtaGroup = CtaGroup.ONE,
        collector_a: CollectorA = CollectorA.DISCARD,
        collector_b: CollectorB | None = None,
        ashift: bool = False,
        mask: Vector | None = None,
        scale_d: int | None = None,
        scale_vec: ScaleVec | None = None,
        sfa: Pointer | None = None,
        sfb: Pointer | None = None,
        sp_meta: Pointer | None = None,
        lut: Pointer | None = None,
    ) -> None:
        """D = A·B (+ D): `a` a descriptor or a tensor memory address, `b` a descriptor.

        With `sfa` and `sfb` the matrices are block-scaled; `mask` disables lanes of D, `scale_d`
        divides it by a power of two.  With `sp_meta`, the place of its metadata, A is sparse; with
        `lut`, the place of the table that says what its numbers are, B is compressed.
        """
        facts: dict[str, Fact] = {
            "kind": kind,
            "cta_group": cta_group,
            "collector_a": collector_a,
            "collector_b": collector_b,
            "ashift": AShift.ASHIFT if ashift else None,
            "scale_vec": scale_vec,
            "block_scale": BlockScale.BLOCK_SCALE if sfa is not None else None,
            "decompress": Decompress.LUT_B if lut is not None else None,
            "a": _residency(a),
        }
        operands = _given(
            {"d": d, "a": a, "b": b, "idesc": idesc, "enable_d": enable_d},
            {"mask": mask, "scale_d": scale_d, "sfa": sfa, "sfb": sfb},
            {"sp_meta": sp_meta, "lut": lut},
        )
        self._call("tcgen05.mma" if sp_meta is None else "tcgen05.mma.sp", facts, operands)

    def tcgen05_mma_ws(
        self,
        d: Pointer,
        a: Int | Pointer,
        b: Int,
        idesc: IntLike,
        enable_d: IntLike,
        *,
        kind: MmaKind,
        collector: CollectorWs = CollectorWs.B0_DISCARD,
        zero_mask: IntLike | None = None,
        sp_meta: Pointer | None = None,
    ) -> None:
        """D = A·B (+ D), weight-stationary: B may stay in one of four collectors.

        `zero_mask` describes the columns of B that are taken for zeros; `sp_meta` is the place of a
        sparse A's metadata.
        """
        facts: dict[str, Fact] = {
            "kind": kind,
            "cta_group": CtaGroup.ONE,
            "collector_ws": collector,
            "a": _residency(a),
        }
        operands = _given(
            {"d": d, "a": a, "b": b, "idesc": idesc, "enable_d": enable_d},
            {"zero_mask": zero_mask, "sp_meta": sp_meta},
        )
        self._call("tcgen05.mma.ws" if sp_meta is None else "tcgen05.mma.ws.sp", facts, operands)

    def tcgen05_commit(
        self,
        mbar: Barrier,
        *,
        cta_group: CtaGroup = CtaGroup.ONE,
        cta_mask: IntLike | None = None,
        multicast: Multicast = Multicast.CLUSTER,
        restrict: SyncRestrict | None = None,
    ) -> None:
        """Arrive on `mbar` once this thread's earlier MMAs, copies and shifts are complete.

        `cta_mask` has a bit for each CTA of the cluster that is told, `multicast` its width;
        `restrict` waits for less.
        """
        facts: dict[str, Fact] = {
            "cta_group": cta_group,
            "space": Space.SHARED_CLUSTER,
            "restrict": restrict,
            "multicast": multicast if cta_mask is not None else None,
        }
        operands = _given({"mbar": pointer_of(mbar)}, {"cta_mask": cta_mask})
        self._call("tcgen05.commit", facts, operands)

    # ---- copies ------------------------------------------------------------------------------

    def tcgen05_cp(
        self,
        taddr: Pointer,
        s_desc: Int,
        *,
        shape: CopyShape,
        multicast: CopyMulticast | None = None,
        source: CopyFormat | None = None,
        cta_group: CtaGroup = CtaGroup.ONE,
    ) -> None:
        """Copy a matrix from shared to tensor memory, complete when a commit says so.

        Elements of the format `source` become bytes; `s_desc` describes the matrix as that of an
        MMA.
        """
        facts: dict[str, Fact] = {
            "cta_group": cta_group,
            "shape": shape,
            "multicast": multicast,
            "dst_fmt": CopyFormat.B8X16 if source is not None else None,
            "src_fmt": source,
        }
        self._call("tcgen05.cp", facts, {"taddr": taddr, "s_desc": s_desc})

    def tcgen05_shift(self, taddr: Pointer, *, cta_group: CtaGroup = CtaGroup.ONE) -> None:
        """Move rows of 32 bytes down by one row, complete when a commit says so."""
        self._call("tcgen05.shift", {"cta_group": cta_group}, {"taddr": taddr})

    def tcgen05_ld(
        self,
        taddr: Pointer,
        *,
        num: LdStNum,
        shape: LdStShape = LdStShape.S32X32B,
        pack: bool = False,
        half_split: int | None = None,
    ) -> Vector:
        """Load registers from tensor memory; they may be used after `tcgen05_wait_ld`."""
        facts: dict[str, Fact] = {
            "shape": shape,
            "num": num,
            "pack": Pack.PACK_16B if pack else None,
        }
        count = _register_count(shape, num)
        operands = _given({"taddr": taddr}, {"half_split": half_split})
        return Vector(self, self._call("tcgen05.ld", facts, operands), count)

    def tcgen05_ld_red(
        self,
        taddr: Pointer,
        *,
        op: WarpReduce,
        type: ScalarType,
        num: LdStNum,
        shape: LdStShape = LdStShape.S32X32B,
        abs: bool = False,
        nan: bool = False,
        half_split: int | None = None,
    ) -> tuple[Vector, Int]:
        """Load registers from tensor memory, and the smallest or largest of them, as bits.

        `abs` compares floats without their signs, `nan` makes a NaN of them the result.
        """
        facts: dict[str, Fact] = {"shape": shape, "num": num, "type": type, "op": op}
        facts |= _float_facts(abs=abs, nan=nan)
        count = _register_count(shape, num)
        operands = _given({"taddr": taddr}, {"half_split": half_split})
        value = self._call("tcgen05.ld.red", facts, operands)
        return Vector(self, self._bits(value, 0), count), Int(self, self._bits(value, 1))

    def tcgen05_ld_spcompress(
        self, taddr: Pointer, *, op: WarpReduce, num: LdStNum, abs: bool = False
    ) -> tuple[Vector, Vector]:
        """Load floats from tensor memory, of each four the two smallest or largest.

        Gives 2 bits for the place of each one kept, 16 in a register, and their bits.
        """
        facts = _compressed(op, num) | _float_facts(abs=abs, nan=False)
        value = self._call("tcgen05.ld.spcompress", facts, {"taddr": taddr})
        return self._compressed_values(value, num)

    def tcgen05_ld_red_spcompress(
        self, taddr: Pointer, *, op: WarpReduce, num: LdStNum, abs: bool = False, nan: bool = False
    ) -> tuple[Vector, Vector, Int]:
        """`tcgen05_ld_spcompress`, and the smallest or largest of all, as bits."""
        facts = _compressed(op, num) | _float_facts(abs=abs, nan=nan)
        value = self._call("tcgen05.ld.red.spcompress", facts, {"taddr": taddr})
        return *self._compressed_values(value, num), Int(self, self._bits(value, 2))

    def _compressed_values(self, value: ir.Value, num: LdStNum) -> tuple[Vector, Vector]:
        words = -(-num.times // 32)
        return (
            Vector(self, self._bits(value, 0), words),
            Vector(self, self._bits(value, 1), num.times // 2),
        )

    def _bits(self, results: ir.Value, index: int) -> ir.Value:
        """One of several results; floats as the integers that have their bits."""
        value = self.at_caller().extract_value(results, index)
        wanted = ir.IntType(32)
        if isinstance(value.type, ir.VectorType):
            wanted = ir.VectorType(wanted, value.type.count)
        return value if value.type == wanted else self.at_caller().bitcast(value, wanted)

    def tcgen05_st(
        self,
        taddr: Pointer,
        r: Vector,
        *,
        num: LdStNum,
        shape: LdStShape = LdStShape.S32X32B,
        unpack: bool = False,
        half_split: int | None = None,
    ) -> None:
        """Store registers to tensor memory; they are there after `tcgen05_wait_st`."""
        facts: dict[str, Fact] = {
            "shape": shape,
            "num": num,
            "unpack": Unpack.UNPACK_16B if unpack else None,
        }
        operands = _given({"taddr": taddr, "r": r}, {"half_split": half_split})
        self._call("tcgen05.st", facts, operands)

    # ---- waits and fences --------------------------------------------------------------------

    def tcgen05_wait_ld(self) -> None:
        """Wait for this thread's tensor memory loads."""
        self._call("tcgen05.wait", {"op": WaitOp.LD}, {})

    def tcgen05_wait_st(self) -> None:
        """Wait for this thread's tensor memory stores."""
        self._call("tcgen05.wait", {"op": WaitOp.ST}, {})

    def tcgen05_fence_before_thread_sync(self) -> None:
        """Order earlier tcgen05 operations before a following synchronisation."""
        self._call("tcgen05.fence", {"side": ThreadSync.BEFORE}, {})

    def tcgen05_fence_after_thread_sync(self) -> None:
        """Order later tcgen05 operations after a preceding synchronisation."""
        self._call("tcgen05.fence", {"side": ThreadSync.AFTER}, {})


def _residency(a: Int | Pointer) -> Residency:
    return Residency.TENSOR if isinstance(a, Pointer) else Residency.SHARED


def _given(*operands: Mapping[str, Operand | None]) -> dict[str, Operand]:
    """The operands that are there."""
    return {n: o for some in operands for n, o in some.items() if o is not None}


def _float_facts(*, abs: bool, nan: bool) -> dict[str, Fact]:
    return {"abs": Magnitude.ABS if abs else None, "nan": NanResult.NAN if nan else None}


def _compressed(op: WarpReduce, num: LdStNum) -> dict[str, Fact]:
    return {"shape": LdStShape.S32X32B, "num": num, "op": op, "keep": Compress.TWO_OF_FOUR}


def _register_count(shape: LdStShape, num: LdStNum) -> int:
    from intrinsics.rows.tcgen05 import REGISTERS

    count = REGISTERS.of({"shape": shape, "num": num})
    if count > 128:
        raise refuse(
            f".{shape.value} repeated {num.times} times takes more than 128 registers",
            got=f"{count} registers",
            expected="at most 128",
        )
    return count

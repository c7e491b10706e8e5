"""The builder's verbs for bulk reductions, and for single values that arrive in the background.

Layer: nvgen.builder.  LLVM has no intrinsics for these: nvgen's own names follow its scheme.  PTX
ISA, cp.reduce.async.bulk; st.async; red.async.
"""

from __future__ import annotations

from collections.abc import Sequence

from intrinsics.modifiers import AtomicOp, NoFtz, ScalarType, Space, Vec
from intrinsics.row import Fact
from nvgen.builder.bulk import BulkVerbs, given
from nvgen.builder.intrinsics import Operand
from nvgen.builder.values import Barrier, IntLike, Pointer, pointer_of, refuse

_VECTORS = {1: None, 2: Vec.V2, 4: Vec.V4}
_HALVES = (ScalarType.F16, ScalarType.BF16)


class AsyncVerbs(BulkVerbs):
    """Operations on memory of the cluster, or on global memory, that nobody waits for at once."""

    def cp_async_bulk_reduce_shared_cta_to_cluster(
        self,
        op: AtomicOp,
        type: ScalarType,
        dst: Pointer,
        mbar: Barrier,
        src: Pointer,
        size: IntLike,
    ) -> None:
        """Combine another CTA's shared memory with bytes of the own one; its `mbar` counts them.

        `dst` and `mbar` are what `mapa_shared_cluster` and `of_cta` give.
        """
        operands: dict[str, Operand] = {"dst": dst, "src": src, "size": size}
        operands["mbar"] = self._in_window(mbar)
        self._call("cp.reduce.async.bulk.to_cluster", {"op": op, "type": type}, operands)

    def cp_async_bulk_reduce_shared_cta_to_global(
        self,
        op: AtomicOp,
        type: ScalarType,
        dst: Pointer,
        src: Pointer,
        size: IntLike,
        *,
        cache_policy: IntLike | None = None,
    ) -> None:
        """Combine global memory with bytes of shared memory, as a part of a bulk group."""
        facts: dict[str, Fact] = {"op": op, "type": type}
        if op is AtomicOp.ADD and type in _HALVES:
            facts["noftz"] = NoFtz.NOFTZ
        operands: dict[str, Operand] = {"dst": dst, "src": src, "size": size}
        optional = given({"cache_policy": cache_policy})
        self._call("cp.reduce.async.bulk.store", facts, {**operands, **optional})

    def st_async_shared_cluster(
        self, type: ScalarType, address: Pointer, values: Sequence[IntLike], mbar: Barrier
    ) -> None:
        """Store one, two or four values (.b32, .b64) in a CTA of the cluster, whose `mbar` counts.

        Raises: InputError for another number of values.
        """
        if len(values) not in _VECTORS:
            raise refuse("st.async stores 1, 2 or 4 values", got=str(len(values)))
        facts: dict[str, Fact] = {
            "space": Space.SHARED_CLUSTER,
            "vec": _VECTORS[len(values)],
            "type": type,
        }
        self._call("st.async", facts, {"a": address, "b": values, "mbar": pointer_of(mbar)})

    def red_async_shared_cluster(
        self, op: AtomicOp, type: ScalarType, address: Pointer, value: IntLike, mbar: Barrier
    ) -> None:
        """Combine a value in the shared memory of another CTA, whose `mbar` counts it."""
        facts: dict[str, Fact] = {"space": Space.SHARED_CLUSTER, "op": op, "type": type}
        self._call("red.async", facts, {"a": address, "b": value, "mbar": pointer_of(mbar)})

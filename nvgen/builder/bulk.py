"""The builder's verbs for bulk copies of bytes in a row.

Layer: nvgen.builder.  Sizes are bytes; sizes and addresses are multiples of 16.  PTX ISA,
cp.async.bulk; cp.async.bulk.prefetch.
"""

from __future__ import annotations

from llvmlite import ir

from intrinsics.modifiers import ByteMask, Space
from intrinsics.row import Fact
from nvgen.builder.intrinsics import IntrinsicCalls, Operand
from nvgen.builder.values import Barrier, IntLike, Pointer, pointer_of

_SHARED = 3


class BulkVerbs(IntrinsicCalls):
    """Copies by the async proxy of as many bytes as one thread says."""

    def cp_async_bulk_global_to_shared_cluster(
        self,
        dst: Pointer,
        mbar: Barrier,
        src: Pointer,
        size: IntLike,
        *,
        cta_mask: IntLike | None = None,
        cache_policy: IntLike | None = None,
    ) -> None:
        """Bring bytes into shared memory; `mbar`, in the same CTA, counts them.

        With `cta_mask` they go to the same place of each of these CTAs, and are counted there.
        """
        facts: dict[str, Fact] = {"dst_space": Space.SHARED_CLUSTER}
        optional = {"cta_mask": cta_mask, "cache_policy": cache_policy}
        operands: dict[str, Operand] = {"dst": dst, "src": src, "size": size}
        operands["mbar"] = self._in_window(mbar)
        self._call("cp.async.bulk.load", facts, {**operands, **given(optional)})

    def cp_async_bulk_global_to_shared_cta(
        self,
        dst: Pointer,
        mbar: Barrier,
        src: Pointer,
        size: IntLike,
        *,
        ignore_left: IntLike | None = None,
        ignore_right: IntLike | None = None,
        cache_policy: IntLike | None = None,
    ) -> None:
        """Bring bytes into the CTA's own shared memory (PTX 8.6).

        The first `ignore_left` and the last `ignore_right` may lie outside of an allocation, and
        what comes in their place is not known (PTX 9.2).
        """
        operands: dict[str, Operand] = {
            "dst": dst,
            "mbar": pointer_of(mbar),
            "src": src,
            "size": size,
            **given({"cache_policy": cache_policy}),
        }
        if ignore_left is None and ignore_right is None:
            self._call("cp.async.bulk.load", {"dst_space": Space.SHARED_CTA}, operands)
            return
        operands["ignore_left"] = 0 if ignore_left is None else ignore_left
        operands["ignore_right"] = 0 if ignore_right is None else ignore_right
        self._call("cp.async.bulk.load.ignore_oob", {}, operands)

    def cp_async_bulk_shared_cta_to_cluster(
        self, dst: Pointer, mbar: Barrier, src: Pointer, size: IntLike
    ) -> None:
        """Send bytes of the own shared memory to another CTA's, whose `mbar` counts them.

        `dst` and `mbar` are what `mapa_shared_cluster` and `of_cta` give.
        """
        operands: dict[str, Operand] = {"dst": dst, "src": src, "size": size}
        operands["mbar"] = self._in_window(mbar)
        self._call("cp.async.bulk.to_cluster", {}, operands)

    def cp_async_bulk_shared_cta_to_global(
        self,
        dst: Pointer,
        src: Pointer,
        size: IntLike,
        *,
        byte_mask: IntLike | None = None,
        cache_policy: IntLike | None = None,
    ) -> None:
        """Store bytes of shared memory; of each 16 those that `byte_mask` names (sm_100).

        What threads wrote there needs `fence_proxy_async` before; the store is complete when a
        `cp_async_bulk_wait_group` of this thread covers the group that it was committed to.
        """
        facts: dict[str, Fact] = {} if byte_mask is None else {"cp_mask": ByteMask.CP_MASK}
        optional = {"byte_mask": byte_mask, "cache_policy": cache_policy}
        operands: dict[str, Operand] = {"dst": dst, "src": src, "size": size}
        self._call("cp.async.bulk.store", facts, {**operands, **given(optional)})

    def cp_async_bulk_prefetch_l2(
        self, src: Pointer, size: IntLike, *, cache_policy: IntLike | None = None
    ) -> None:
        """Bring bytes of global memory into L2."""
        operands: dict[str, Operand] = {"src": src, "size": size}
        optional = given({"cache_policy": cache_policy})
        self._call("cp.async.bulk.prefetch", {}, {**operands, **optional})

    def _in_window(self, mbar: Barrier) -> Pointer:
        """The mbarrier's address as one of shared memory, which is what LLVM's intrinsics take.

        The number is the same: the window of the cluster holds that of the CTA.
        """
        pointer = pointer_of(mbar)
        if pointer.space == _SHARED:
            return pointer
        number = self.at_caller().ptrtoint(pointer.value, ir.IntType(64))
        return Pointer(self, self.at_caller().inttoptr(number, ir.PointerType(addrspace=_SHARED)))


def given(optional: dict[str, IntLike | None]) -> dict[str, Operand]:
    """The operands that are there."""
    return {name: value for name, value in optional.items() if value is not None}

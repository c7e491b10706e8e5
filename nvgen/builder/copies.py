"""The builder's verbs for asynchronous copies of a few bytes by each thread, and prefetches.

Layer: nvgen.builder.  PTX ISA, cp.async; cp.async.mbarrier.arrive; prefetch, prefetchu.
"""

from __future__ import annotations

from intrinsics.modifiers import CacheOp, NoIncrement, PrefetchSize, Space
from intrinsics.row import Fact
from nvgen.builder.intrinsics import IntrinsicCalls, Operand
from nvgen.builder.values import Barrier, Int, IntLike, Pointer, pointer_of


class CopyVerbs(IntrinsicCalls):
    """Copies from global to shared memory, and waits for them."""

    def cp_async_ca_shared_global(
        self,
        dst: Pointer,
        src: Pointer,
        size: int,
        *,
        src_size: IntLike | None = None,
        ignore_src: Int | None = None,
        cache_policy: IntLike | None = None,
        prefetch: PrefetchSize | None = None,
    ) -> None:
        """Copy `size` bytes (4, 8 or 16) for each thread, cached in L1 and L2.

        Of the source `src_size` bytes are read, or none where `ignore_src` holds; zeros follow.
        """
        given = {"src_size": src_size, "ignore_src": ignore_src, "cache_policy": cache_policy}
        self._cp_async(CacheOp.CA, dst, src, size, given, prefetch)

    def cp_async_cg_shared_global(
        self,
        dst: Pointer,
        src: Pointer,
        *,
        src_size: IntLike | None = None,
        ignore_src: Int | None = None,
        cache_policy: IntLike | None = None,
        prefetch: PrefetchSize | None = None,
    ) -> None:
        """Copy 16 bytes for each thread, cached in L2 only; the rest as above."""
        given = {"src_size": src_size, "ignore_src": ignore_src, "cache_policy": cache_policy}
        self._cp_async(CacheOp.CG, dst, src, 16, given, prefetch)

    def _cp_async(
        self,
        cache: CacheOp,
        dst: Pointer,
        src: Pointer,
        size: int,
        given: dict[str, IntLike | None],
        prefetch: PrefetchSize | None,
    ) -> None:
        facts: dict[str, Fact] = {"cache": cache, "space": Space.SHARED, "prefetch": prefetch}
        operands: dict[str, Operand] = {"dst": dst, "src": src, "size": size}
        operands.update((name, value) for name, value in given.items() if value is not None)
        row = "cp.async.ignore_src" if "ignore_src" in operands else "cp.async"
        self._call(row, facts, operands)

    def cp_async_commit_group(self) -> None:
        """Make a group of this thread's copies since the last one."""
        self._call("cp.async.commit_group", {}, {})

    def cp_async_wait_group(self, n: int) -> None:
        """Wait until all but the `n` latest groups of this thread are complete."""
        self._call("cp.async.wait_group", {}, {"n": n})

    def cp_async_wait_all(self) -> None:
        """Wait until all copies of this thread are complete."""
        self._call("cp.async.wait_all", {}, {})

    def cp_async_mbarrier_arrive(self, mbar: Barrier, *, noinc: bool = False) -> None:
        """Arrive at an mbarrier when all copies that this thread has issued are complete.

        With `noinc` the arrival is one of those that the phase expects, else one more.
        """
        facts: dict[str, Fact] = {"space": Space.SHARED}
        if noinc:
            facts["noinc"] = NoIncrement.NO_INCREMENT
        self._call("cp.async.mbarrier.arrive", facts, {"mbar": pointer_of(mbar)})

    def prefetch_tensormap(self, tmap: Pointer) -> None:
        """Bring a tensor map near, which copies by TMA will use; any one thread does."""
        self._call("prefetch.tensormap", {}, {"a": tmap})

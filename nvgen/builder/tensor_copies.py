"""The builder's verbs for tensor copies that are no tiles: images, four rows, reductions, L2.

Layer: nvgen.builder.  Coordinates are elements, the innermost dimension first; offsets are those
within an im2col filter, W first, or the halo and the offset of a wide copy.  PTX ISA,
cp.async.bulk.tensor; cp.reduce.async.bulk.tensor; cp.async.bulk.prefetch.tensor.
"""

from __future__ import annotations

from collections.abc import Sequence

from intrinsics.modifiers import AtomicOp, CtaGroup, Dim, LoadMode, Space, StoreMode
from intrinsics.row import Fact
from nvgen.builder.intrinsics import IntrinsicCalls, Operand, rank_of
from nvgen.builder.values import Barrier, IntLike, Pointer, pointer_of


class TensorCopyVerbs(IntrinsicCalls):
    """Tensor copies by one thread each; what completes them is as with tiles."""

    def cp_async_bulk_tensor_g2s_im2col(
        self,
        dst: Pointer,
        mbar: Barrier,
        tmap: Pointer,
        coords: Sequence[IntLike],
        offsets: Sequence[IntLike],
        *,
        mode: LoadMode = LoadMode.IM2COL,
        cta_mask: IntLike | None = None,
        cache_policy: IntLike | None = None,
        cta_group: CtaGroup | None = None,
    ) -> None:
        """Bring pixels of images into shared memory, of this CTA or of those in `cta_mask`."""
        facts: dict[str, Fact] = {
            "dim": rank_of(coords),
            "dst_space": Space.SHARED_CLUSTER,
            "mode": mode,
            "cta_group": cta_group,
        }
        given = _given(cta_mask=cta_mask, cache_policy=cache_policy)
        operands: dict[str, Operand] = {"dst": dst, "mbar": pointer_of(mbar), "tmap": tmap}
        operands.update({"coords": coords, "offsets": offsets, **given})
        self._call("cp.async.bulk.tensor.load.im2col", facts, operands)

    def cp_async_bulk_tensor_g2s_cta_im2col(
        self,
        dst: Pointer,
        mbar: Barrier,
        tmap: Pointer,
        coords: Sequence[IntLike],
        offsets: Sequence[IntLike],
        *,
        mode: LoadMode = LoadMode.IM2COL,
        cache_policy: IntLike | None = None,
    ) -> None:
        """Bring pixels of images into the CTA's own shared memory (PTX 8.6)."""
        facts: dict[str, Fact] = {
            "dim": rank_of(coords),
            "dst_space": Space.SHARED_CTA,
            "mode": mode,
        }
        operands: dict[str, Operand] = {"dst": dst, "mbar": pointer_of(mbar), "tmap": tmap}
        operands.update({"coords": coords, "offsets": offsets})
        operands.update(_given(cache_policy=cache_policy))
        self._call("cp.async.bulk.tensor.load.im2col", facts, operands)

    def cp_async_bulk_tensor_g2s_tile_gather4(
        self,
        dst: Pointer,
        mbar: Barrier,
        tmap: Pointer,
        column: IntLike,
        rows: Sequence[IntLike],
        *,
        cta_mask: IntLike | None = None,
        cache_policy: IntLike | None = None,
        cta_group: CtaGroup | None = None,
    ) -> None:
        """Bring four rows, from `column` on, into shared memory; boxes of the map are one row."""
        facts: dict[str, Fact] = {
            "dim": Dim.D2,
            "dst_space": Space.SHARED_CLUSTER,
            "mode": LoadMode.GATHER4,
            "cta_group": cta_group,
        }
        given = _given(cta_mask=cta_mask, cache_policy=cache_policy)
        operands: dict[str, Operand] = {"dst": dst, "mbar": pointer_of(mbar), "tmap": tmap}
        operands.update({"coords": (column, *rows), **given})
        self._call("cp.async.bulk.tensor.load", facts, operands)

    def cp_async_bulk_tensor_g2s_cta_tile_gather4(
        self,
        dst: Pointer,
        mbar: Barrier,
        tmap: Pointer,
        column: IntLike,
        rows: Sequence[IntLike],
        *,
        cache_policy: IntLike | None = None,
    ) -> None:
        """Bring four rows into the CTA's own shared memory (PTX 8.6)."""
        facts: dict[str, Fact] = {
            "dim": Dim.D2,
            "dst_space": Space.SHARED_CTA,
            "mode": LoadMode.GATHER4,
        }
        operands: dict[str, Operand] = {"dst": dst, "mbar": pointer_of(mbar), "tmap": tmap}
        operands.update({"coords": (column, *rows), **_given(cache_policy=cache_policy)})
        self._call("cp.async.bulk.tensor.load", facts, operands)

    # ---- to global memory --------------------------------------------------------------------

    def cp_async_bulk_tensor_s2g_im2col(
        self,
        tmap: Pointer,
        coords: Sequence[IntLike],
        src: Pointer,
        *,
        cache_policy: IntLike | None = None,
    ) -> None:
        """Store pixels of images from shared memory, from the pixel at `coords` on."""
        self._to_tensor(
            "store", {"mode": StoreMode.IM2COL_NO_OFFS}, tmap, coords, src, cache_policy
        )

    def cp_async_bulk_tensor_s2g_tile_scatter4(
        self,
        tmap: Pointer,
        column: IntLike,
        rows: Sequence[IntLike],
        src: Pointer,
        *,
        cache_policy: IntLike | None = None,
    ) -> None:
        """Store four rows, from `column` on; boxes of the map are one row."""
        facts: dict[str, Fact] = {"mode": StoreMode.SCATTER4, "dim": Dim.D2}
        self._to_tensor("store", facts, tmap, (column, *rows), src, cache_policy)

    def cp_async_bulk_tensor_reduce_tile(
        self,
        op: AtomicOp,
        tmap: Pointer,
        coords: Sequence[IntLike],
        src: Pointer,
        *,
        cache_policy: IntLike | None = None,
    ) -> None:
        """Combine a tile in shared memory with the tensor, in elements of the map's type."""
        facts: dict[str, Fact] = {"mode": StoreMode.TILE, "op": op}
        self._to_tensor("reduce", facts, tmap, coords, src, cache_policy)

    def cp_async_bulk_tensor_reduce_im2col(
        self,
        op: AtomicOp,
        tmap: Pointer,
        coords: Sequence[IntLike],
        src: Pointer,
        *,
        cache_policy: IntLike | None = None,
    ) -> None:
        """Combine pixels in shared memory with those of images, from the one at `coords` on."""
        facts: dict[str, Fact] = {"mode": StoreMode.IM2COL_NO_OFFS, "op": op}
        self._to_tensor("reduce", facts, tmap, coords, src, cache_policy)

    def cp_async_bulk_tensor_reduce_tile_scatter4(
        self,
        op: AtomicOp,
        tmap: Pointer,
        column: IntLike,
        rows: Sequence[IntLike],
        src: Pointer,
        *,
        cache_policy: IntLike | None = None,
    ) -> None:
        """Combine four rows in shared memory with those of the tensor."""
        facts: dict[str, Fact] = {"mode": StoreMode.SCATTER4, "op": op, "dim": Dim.D2}
        self._to_tensor("reduce", facts, tmap, (column, *rows), src, cache_policy)

    def _to_tensor(
        self,
        what: str,
        facts: dict[str, Fact],
        tmap: Pointer,
        coords: Sequence[IntLike],
        src: Pointer,
        cache_policy: IntLike | None,
    ) -> None:
        row = {"store": "cp.async.bulk.tensor.store", "reduce": "cp.reduce.async.bulk.tensor"}[what]
        operands: dict[str, Operand] = {"tmap": tmap, "coords": coords, "src": src}
        operands.update(_given(cache_policy=cache_policy))
        dim = facts.get("dim") or rank_of(coords)
        self._call(row, {**facts, "dim": dim}, operands)

    # ---- prefetches --------------------------------------------------------------------------

    def cp_async_bulk_tensor_prefetch_tile(
        self, tmap: Pointer, coords: Sequence[IntLike], *, cache_policy: IntLike | None = None
    ) -> None:
        """Bring a tile into L2."""
        facts: dict[str, Fact] = {"dim": rank_of(coords), "mode": LoadMode.TILE}
        operands: dict[str, Operand] = {"tmap": tmap, "coords": coords}
        operands.update(_given(cache_policy=cache_policy))
        self._call("cp.async.bulk.prefetch.tensor", facts, operands)

    def cp_async_bulk_tensor_prefetch_tile_gather4(
        self,
        tmap: Pointer,
        column: IntLike,
        rows: Sequence[IntLike],
        *,
        cache_policy: IntLike | None = None,
    ) -> None:
        """Bring four rows into L2."""
        facts: dict[str, Fact] = {"dim": Dim.D2, "mode": LoadMode.GATHER4}
        operands: dict[str, Operand] = {"tmap": tmap, "coords": (column, *rows)}
        operands.update(_given(cache_policy=cache_policy))
        self._call("cp.async.bulk.prefetch.tensor", facts, operands)

    def cp_async_bulk_tensor_prefetch_im2col(
        self,
        tmap: Pointer,
        coords: Sequence[IntLike],
        offsets: Sequence[IntLike],
        *,
        mode: LoadMode = LoadMode.IM2COL,
        cache_policy: IntLike | None = None,
    ) -> None:
        """Bring pixels of images into L2."""
        facts: dict[str, Fact] = {"dim": rank_of(coords), "mode": mode}
        operands: dict[str, Operand] = {"tmap": tmap, "coords": coords, "offsets": offsets}
        operands.update(_given(cache_policy=cache_policy))
        self._call("cp.async.bulk.prefetch.tensor.im2col", facts, operands)


def _given(**operands: IntLike | None) -> dict[str, Operand]:
    return {name: value for name, value in operands.items() if value is not None}

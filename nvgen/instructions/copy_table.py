"""The verbs of copies: of bytes, of tensors, and what describes these.

Layer: nvgen.instructions.  A part of `table`.  PTX ISA, Data Movement and Conversion Instructions:
Asynchronous copy; Tensor copy; tensormap.replace; createpolicy.
"""

from __future__ import annotations

from collections.abc import Mapping

from intrinsics.modifiers import CacheOp, LoadMode, ReadOnly, Space, StoreMode
from intrinsics.row import Attributes
from nvgen.instructions import rules
from nvgen.instructions.verb import Verb

_NEAR: Attributes = {"space": Space.SHARED}
_CLUSTER = Space.SHARED_CLUSTER
_CTA_COPY: Attributes = {"dst_space": Space.SHARED_CTA}
_CLUSTER_COPY: Attributes = {"dst_space": _CLUSTER}
_GATHER: Attributes = {"mode": LoadMode.GATHER4}
_SCATTER: Attributes = {"mode": StoreMode.SCATTER4}
_PIXELS: Attributes = {"mode": StoreMode.IM2COL_NO_OFFS}
_LOAD, _LOAD_PIXELS = "cp.async.bulk.tensor.load", "cp.async.bulk.tensor.load.im2col"
_STORE, _REDUCE = "cp.async.bulk.tensor.store", "cp.reduce.async.bulk.tensor"
_PREFETCH = "cp.async.bulk.prefetch.tensor"
_TO_ROWS = "column: 'IntLike', rows: 'Sequence[IntLike]'"
_BACK = "*, cache_policy=None"
_CP_ASYNC = "src_size=None, ignore_src=None, cache_policy=None, prefetch=None"

# fmt: off
COPIES: Mapping[str, tuple[Verb, ...]] = {
    "copies of bytes": (
        Verb(f"cp_async_ca_shared_global(dst, src, size, *, {_CP_ASYNC})",
             "cp.async cp.async.ignore_src",
             "Copy `size` bytes (4, 8 or 16) for each thread, cached in L1 and L2.\n\n"
             "Of the source `src_size` bytes are read, or none where `ignore_src` holds; zeros "
             "follow.", {"cache": CacheOp.CA, **_NEAR}),
        Verb(f"cp_async_cg_shared_global(dst, src, *, {_CP_ASYNC})",
             "cp.async cp.async.ignore_src",
             "Copy 16 bytes for each thread, cached in L2 only; the rest as above.",
             {"cache": CacheOp.CG, **_NEAR}, (rules.sixteen_bytes,)),
        Verb("cp_async_commit_group", "cp.async.commit_group",
             "Commit this thread's copies since the last commit, as one group."),
        Verb("cp_async_wait_group", "cp.async.wait_group",
             "Wait until all but the `n` latest groups of this thread are complete.",
             follows=(rules.groups_left,)),
        Verb("cp_async_wait_all", "cp.async.wait_all",
             "Wait until all copies of this thread are complete."),
        Verb("cp_async_mbarrier_arrive", "cp.async.mbarrier.arrive",
             "Arrive at an mbarrier when all copies that this thread has issued are complete.\n\n"
             "With `noinc` the arrival is one of those that the phase expects, else one more.",
             _NEAR),
        Verb("cp_async_bulk_global_to_shared_cluster", "cp.async.bulk.load",
             "Copy bytes to shared memory; they are completed on `mbar`, in the same CTA.\n\n"
             "With `cta_mask` they go to the same place of each of these CTAs, and are counted "
             "there.", _CLUSTER_COPY, (rules.in_window,)),
        Verb("cp_async_bulk_global_to_shared_cta(dst, mbar, src, size, *, ignore_left=None, "
             "ignore_right=None, cache_policy=None)",
             "cp.async.bulk.load cp.async.bulk.load.ignore_oob",
             "Copy bytes to the CTA's own shared memory (PTX 8.6).\n\n"
             "The first `ignore_left` and the last `ignore_right` may lie outside of an "
             "allocation, and\nwhat comes in their place is not known (PTX 9.2).",
             _CTA_COPY, (rules.both_ends,)),
        Verb("cp_async_bulk_shared_cta_to_cluster", "cp.async.bulk.to_cluster",
             "Copy bytes of shared memory to another CTA's, completed on its `mbar`.\n\n"
             "`dst` and `mbar` are what `mapa_shared_cluster` and `of_cta` give.",
             follows=(rules.in_window,)),
        Verb("cp_async_bulk_shared_cta_to_global", "cp.async.bulk.store",
             "Store bytes of shared memory; of each 16 those that `byte_mask` names (sm_100).\n\n"
             "What threads wrote there needs `fence_proxy_async` before; the store is complete "
             "when a\n`cp_async_bulk_wait_group` of this thread covers the group that it was "
             "committed to."),
        Verb("cp_async_bulk_prefetch_l2", "cp.async.bulk.prefetch",
             "Prefetch bytes of global memory into L2."),
        Verb("cp_async_bulk_reduce_shared_cta_to_cluster(op, type, dst, mbar, src, size)",
             "cp.reduce.async.bulk.to_cluster",
             "Reduce bytes of shared memory into another CTA's, completed on its `mbar`.\n\n"
             "`dst` and `mbar` are what `mapa_shared_cluster` and `of_cta` give.",
             follows=(rules.in_window,)),
        Verb("cp_async_bulk_reduce_shared_cta_to_global(op, type, dst, src, size, *, "
             "cache_policy=None)", "cp.reduce.async.bulk.store",
             "Combine global memory with bytes of shared memory, as a part of a bulk group.",
             follows=(rules.halves_keep_small_numbers,)),
        Verb("multimem_cp_async_bulk", "multimem.cp.async.bulk",
             "Store bytes of shared memory in the memory of all GPUs that `dst` names.\n\n"
             "As `cp_async_bulk_shared_cta_to_global`; never run on several GPUs."),
        Verb("multimem_cp_reduce_async_bulk(op, type, dst, src, size)",
             "multimem.cp.reduce.async.bulk",
             "Combine the memory of all GPUs that `dst` names with bytes of shared memory, as a "
             "part of\na bulk group.", follows=(rules.halves_keep_small_numbers,)),
        Verb("cp_async_bulk_commit_group", "cp.async.bulk.commit_group",
             "Commit this thread's bulk stores since the last commit, as one group."),
        Verb("cp_async_bulk_wait_group(n)", "cp.async.bulk.wait_group",
             "Wait until all but the `n` latest groups of this thread are complete.",
             follows=(rules.groups_left,)),
        Verb("cp_async_bulk_wait_group_read", "cp.async.bulk.wait_group",
             "Wait until all but the `n` latest groups of this thread have read shared memory.",
             {"read": ReadOnly.READ}, (rules.groups_left,)),
        Verb("st_async_shared_cluster(type, address: a, values: b, mbar)", "st.async",
             "Store one, two or four values (.b32, .b64) in a CTA of the cluster, whose `mbar` "
             "counts.\n\nRaises: InputError for another number of values.",
             {"space": _CLUSTER}, (rules.vector,)),
        Verb("red_async_shared_cluster(op, type, address: a, value: b, mbar)", "red.async",
             "Combine a value in the shared memory of another CTA, whose `mbar` counts it.",
             {"space": _CLUSTER}),
    ),
    "tensor copies": (
        Verb("cp_async_bulk_tensor_g2s_tile", _LOAD,
             "Copy a tile to shared memory; `coords` are elements, innermost dimension first.\n\n"
             "The innermost one is a multiple of 16 bytes.",
             {"mode": LoadMode.TILE, **_CLUSTER_COPY}, (rules.rank,)),
        Verb("cp_async_bulk_tensor_g2s_cta_tile", _LOAD,
             "Copy a tile to the CTA's own shared memory (PTX 8.6).",
             {"mode": LoadMode.TILE, **_CTA_COPY}, (rules.rank,)),
        Verb("cp_async_bulk_tensor_g2s_im2col(dst, mbar, tmap, coords, offsets, *, mode=IM2COL, "
             "cta_mask=None, cache_policy=None, cta_group=None)", _LOAD_PIXELS,
             "Copy pixels of images to shared memory, of this CTA or of those in `cta_mask`."
             "\n\n`offsets` are those within a filter, W first, or the halo and the offset of a "
             "wide copy.", _CLUSTER_COPY, (rules.rank,)),
        Verb("cp_async_bulk_tensor_g2s_cta_im2col(dst, mbar, tmap, coords, offsets, *, "
             "mode=IM2COL, cache_policy=None)", _LOAD_PIXELS,
             "Copy pixels of images to the CTA's own shared memory (PTX 8.6).",
             _CTA_COPY, (rules.rank,)),
        Verb(f"cp_async_bulk_tensor_g2s_tile_gather4(dst, mbar, tmap, {_TO_ROWS}, *, "
             "cta_mask=None, cache_policy=None, cta_group=None)", _LOAD,
             "Copy four rows, from `column` on, to shared memory; boxes of the map are one "
             "row.", {**_GATHER, **_CLUSTER_COPY}, (rules.four_rows,)),
        Verb(f"cp_async_bulk_tensor_g2s_cta_tile_gather4(dst, mbar, tmap, {_TO_ROWS}, {_BACK})",
             _LOAD, "Copy four rows to the CTA's own shared memory (PTX 8.6).",
             {**_GATHER, **_CTA_COPY}, (rules.four_rows,)),
        Verb(f"cp_async_bulk_tensor_s2g_tile(tmap, coords, src, {_BACK})", _STORE,
             "Store a tile from shared memory; `coords` are elements, innermost dimension first."
             "\n\nWhat threads wrote there needs `fence_proxy_async` before; the store is complete "
             "when a\n`cp_async_bulk_wait_group` of this thread covers the group that it was "
             "committed to.", {"mode": StoreMode.TILE}, (rules.rank,)),
        Verb(f"cp_async_bulk_tensor_s2g_im2col(tmap, coords, src, {_BACK})", _STORE,
             "Store pixels of images from shared memory, from the pixel at `coords` on.",
             _PIXELS, (rules.rank,)),
        Verb(f"cp_async_bulk_tensor_s2g_tile_scatter4(tmap, {_TO_ROWS}, src, {_BACK})", _STORE,
             "Store four rows, from `column` on; boxes of the map are one row.",
             _SCATTER, (rules.four_rows,)),
        Verb(f"cp_async_bulk_tensor_reduce_tile(op, tmap, coords, src, {_BACK})", _REDUCE,
             "Combine a tile in shared memory with the tensor, in elements of the map's type.",
             {"mode": StoreMode.TILE}, (rules.rank,)),
        Verb(f"cp_async_bulk_tensor_reduce_im2col(op, tmap, coords, src, {_BACK})", _REDUCE,
             "Combine pixels in shared memory with those of images, from the one at `coords` on.",
             _PIXELS, (rules.rank,)),
        Verb(f"cp_async_bulk_tensor_reduce_tile_scatter4(op, tmap, {_TO_ROWS}, src, {_BACK})",
             _REDUCE, "Combine four rows in shared memory with those of the tensor.",
             _SCATTER, (rules.four_rows,)),
        Verb("cp_async_bulk_tensor_prefetch_tile", _PREFETCH, "Prefetch a tile into L2.",
             {"mode": LoadMode.TILE}, (rules.rank,)),
        Verb(f"cp_async_bulk_tensor_prefetch_tile_gather4(tmap, {_TO_ROWS}, {_BACK})", _PREFETCH,
             "Prefetch four rows into L2.", _GATHER, (rules.four_rows,)),
        Verb("cp_async_bulk_tensor_prefetch_im2col(tmap, coords, offsets, *, mode=IM2COL, "
             "cache_policy=None)", "cp.async.bulk.prefetch.tensor.im2col",
             "Prefetch pixels of images into L2.", follows=(rules.rank,)),
    ),
    "tensor maps and cache policies": (
        Verb("tensormap_replace(tmap: a, field, new: 'IntLike | Pointer', *, dim: ord = None)",
             rules.REPLACES,
             "Replace a field of the tensor map of 128 bytes at `tmap`, in tiled mode.\n\n"
             "global_address (a pointer, or its number) and global_stride (in bytes) have 64 bits, "
             "the\nothers 32; rank is written as the rank less 1.  box_dim, global_dim, "
             "global_stride and\nelement_stride are those of dimension `dim` in 0..4; elemtype, "
             "interleave_layout,\nswizzle_mode, fill_mode and swizzle_atomicity are codes, which "
             "are numbers.\n\n"
             "Raises: InputError where `dim` is missing or too much, or a code is no number.",
             follows=(rules.map_field,)),
        Verb("tensormap_cp_fenceproxy(dst, src, scope=GPU)", "tensormap.cp_fenceproxy",
             "Copy the tensor map at `src` (shared memory) to `dst` (global memory), and hand it "
             "on.\n\nThe threads of a whole warp execute it together.", follows=(rules.whole_map,)),
        Verb("prefetch_tensormap(tmap: a)", "prefetch.tensormap",
             "Prefetch a tensor map that TMA copies will use; one thread is enough."),
        Verb("createpolicy_fractional(primary, fraction=1.0, *, secondary=None)",
             "createpolicy.fractional",
             "A policy by which L2 keeps a fraction of what is accessed so, the rest as "
             "`secondary`.\n\nWhich part that is the hardware decides.  `secondary` is `FIRST` or "
             "`UNCHANGED`, which is\nwhat None means.\n\n"
             "Raises: InputError for a fraction outside 0 < fraction <= 1, or another `secondary`.",
             follows=(rules.part_of_all,)),
        Verb("createpolicy_range(primary, address: a, primary_size, total_size, *, "
             "secondary=None)", "createpolicy.range",
             "A policy for `total_size` bytes around `address`, the first `primary_size` as "
             "`primary`.\n\nWhat lies behind these, and as many bytes before `address` as behind, "
             "are `secondary`;\nelsewhere the policy says nothing.\n\n"
             "Raises: InputError for a `secondary` that is not None, `FIRST` or `UNCHANGED`."),
        Verb("createpolicy_cvt_l2(access_property: a)", "createpolicy.cvt",
             "The policy of an access property of CUDA C++ (64 bits)."),
    ),
}
# fmt: on
"""Verbs by what they are for."""

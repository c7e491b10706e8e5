"""The verbs that are called as their rows are: what each does, in a sentence or two.

Layer: nvgen.builder.  `table` has the other verbs, with theirs.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from intrinsics import catalog
from nvgen.builder.verbs.table import NAMED
from nvgen.builder.verbs.verb import Verb

_WARP = "All threads of the warp execute it; `stride` is the elements between lines of `layout`"
_OF_ALL = "`a` is a multimem address, which names the same place in the memory of several GPUs"

SENTENCES: Mapping[str, str] = {
    "wmma_load_a": f"Load A of a warp's multiply.\n\n{_WARP}.",
    "wmma_load_b": f"Load B of a warp's multiply.\n\n{_WARP}.",
    "wmma_load_c": f"Load C of a warp's multiply.\n\n{_WARP}.",
    "wmma_store_d": f"Store D of a warp's multiply.\n\n{_WARP}.",
    "wmma_mma_f16": "D = A·B + C of f16 by a warp; returns the registers of D.",
    "wmma_mma_typed": "D = A·B + C by a warp, of the types named; returns the registers of D.",
    "wmma_mma_b1": "D = C + popcount of `op` of single bits, by a warp; returns registers of D.",
    "st_bulk": "Fill `size` bytes of shared memory, a multiple of 8, with `initval`, which is 0.",
    "membar": "Order this thread's earlier memory accesses before later ones; `fence` is newer.",
    "prefetch": "Prefetch the cache line of address `a` into the cache `level`.",
    "prefetchu": "Prefetch the cache line of the generic address `a` into the uniform cache.",
    "isspacep": "Whether the generic address `a` is one of the state space.",
    "discard": "Drop `size` (128) bytes at `a` from L2, not written back: then undefined.",
    "applypriority": "Give the `size` (128) bytes at `a` in L2 the eviction priority evict_normal.",
    "multimem_ld_reduce": f"Load from several GPUs and combine by `op`.\n\n{_OF_ALL}.",
    "multimem_st": f"Store `b` to several GPUs.\n\n{_OF_ALL}.",
    "multimem_red": f"Combine `b` with memory of several GPUs by `op`.\n\n{_OF_ALL}.",
    "mul_hi": "The upper half of the product of `a` and `b`.",
    "mul24_lo": "The low 32 bits of the product of the low 24 bits of `a` and of `b`.",
    "sad": "`c` plus the absolute difference of `a` and `b`.",
    "dp4a": "`c` plus the dot product of the four bytes of `a` and of `b`.",
    "prmt": "Four of the eight bytes of `a` (0 to 3) and `b` (4 to 7), selected by 4 bits of `c` "
    "each.",
    "bfind": "The position of the highest bit that is not a sign, 0xffffffff if there is none.\n\n"
    "With `shiftamt` the left shift that brings it to the highest position.",
    "fns": "The position of the `offset`-th set bit of `mask` from bit `base` on, or 0xffffffff.",
    "szext": "The low `b` bits of `a`, sign- or zero-extended by `type`.\n\n"
    "`mode` says what `b` beyond the width means: CLAMP or WRAP.",
    "bmsk": "A mask of `b` ones from bit `a` on.\n\n`mode` says what beyond the width means.",
    "pmevent_mask": "Trigger the performance monitor events whose bits of the 16 in `a` are set.",
    "clusterlaunchcontrol_try_cancel_async": "Ask to cancel a cluster that has not started, and "
    "take its work.\n\nThe response, 16 bytes, is written to shared memory at `a` and completed on "
    "`mbar`; with\n`multicast`, in every CTA of the cluster.",
    "clusterlaunchcontrol_query_cancel_is_canceled": "Whether the cluster asked for will not start"
    ": its work is this one's.\n\n`response` is what try_cancel has written: "
    "`b.load_words(there, 4, align=16)`.",
    "clusterlaunchcontrol_query_cancel_get_first_ctaid_dimension": "The index in the grid of the "
    "first CTA of a canceled cluster; undefined where none\nis canceled.",
}  # fmt: skip


@functools.cache
def others() -> dict[str, Verb]:
    """A verb for each row that LLVM has intrinsics for, and that has no name of its own."""
    named = {row for verb in NAMED.values() for row in verb.row_ids}
    rows = [row.id for row in catalog.rows() if row.llvm and row.id not in named]
    names = ("".join(c if c.isalnum() else "_" for c in row) for row in rows)
    made = zip(names, rows, strict=True)
    return {name: Verb(name, row, SENTENCES.get(name, "")) for name, row in made}


def verb_of(name: str) -> Verb | None:
    """The verb of a name, if there is one."""
    return NAMED.get(name) or others().get(name)

"""The verbs that have a name or a docstring of their own, by chapter, and those called as rows are.

Layer: nvgen.instructions.  Names are LLVM's or PTX's.  An entry gives the row that a verb becomes,
the attributes that its name implies, and its signature where that is not LLVM's.  `copy_table` has
those of copies.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from intrinsics import catalog
from intrinsics.modifiers import (
    Compress,
    CtaGroup,
    GridControl,
    Match,
    NoComplete,
    ScalarType,
    Scope,
    Sem,
    Space,
    ThreadSync,
    WaitOp,
)
from intrinsics.row import Attributes
from intrinsics.rows.cluster import FenceRestrict
from nvgen.instructions import mma_rows, rules
from nvgen.instructions.copy_table import COPIES
from nvgen.instructions.verb import Verb

T = ScalarType
_SHARED, _NEAR = Space.SHARED, {"space": Space.SHARED}
_CLUSTER = Space.SHARED_CLUSTER

# ---- the verbs ---------------------------------------------------------------------------------

_REMOTE: Attributes = {"scope": Scope.CLUSTER, "space": _CLUSTER}
_COUNTED = "mbar, count=1, *, scope, relaxed: 'bool' = False"
_BYTES = "mbar, tx_count, *, scope, relaxed: 'bool' = False"
_FAR = "mbar, count=1, *, relaxed: 'bool' = False"
_FAR_BYTES = "mbar, tx_count, *, relaxed: 'bool' = False"
_NO_COMPLETE: Attributes = {"no_complete": NoComplete.NO_COMPLETE, **_NEAR}
_SHUFFLED = "mode, value: a, lane: b, bounds: c = None, *, membermask=-1"
_FACTORS = "d, a, b, idesc, enable_d, *, kind"
_TYPES = "atype, btype=None"
_OF_KINDS = "satfinite=False, kind: 'MmaKind | None' = None, scales: 'WarpScales | None' = None"
_ACQUIRE: Attributes = {"sem": Sem.ACQUIRE, "restrict": FenceRestrict.SHARED_CLUSTER}
_RELEASE: Attributes = {"sem": Sem.RELEASE, "restrict": FenceRestrict.SHARED_CTA}

# fmt: off
CHAPTERS: Mapping[str, tuple[Verb, ...]] = {
    "tcgen05": (
        Verb("tcgen05_alloc", "tcgen05.alloc",
             "Allocate columns of tensor memory; their address is written to shared `dst`.",
             {"space": Space.SHARED_CTA}),
        Verb("tcgen05_dealloc", "tcgen05.dealloc", "Free columns of tensor memory."),
        Verb("tcgen05_relinq_alloc_permit", "tcgen05.relinquish_alloc_permit",
             "Give up this CTA's right to allocate tensor memory."),
        Verb(f"tcgen05_mma({_FACTORS}, cta_group=ONE, collector_a=DISCARD, collector_b=None, "
             "ashift=False, mask=None, scale_d=None, scale_vec=None, sfa=None, sfb=None, "
             "sp_meta=None, lut=None)", "tcgen05.mma tcgen05.mma.sp",
             "D = A·B (+ D): `a` a descriptor or a tensor memory address, `b` a descriptor.\n\n"
             "With `sfa` and `sfb` the matrices are block-scaled; `mask` disables lanes of D, "
             "`scale_d`\ndivides it by a power of two.  With `sp_meta`, the place of its metadata, "
             "A is sparse; with\n`lut`, the place of the table that says what its numbers are, B "
             "is compressed.", follows=(rules.multiply,)),
        Verb(f"tcgen05_mma_ws({_FACTORS}, collector: collector_ws = B0_DISCARD, zero_mask=None, "
             "sp_meta=None)", "tcgen05.mma.ws tcgen05.mma.ws.sp",
             "D = A·B (+ D), weight-stationary: B may stay in one of four collectors.\n\n"
             "`zero_mask` describes the columns of B that are taken for zeros; `sp_meta` is the "
             "place of a\nsparse A's metadata.", {"cta_group": CtaGroup.ONE}, (rules.multiply,)),
        Verb("tcgen05_commit(mbar, *, cta_group=ONE, cta_mask=None, multicast=CLUSTER, "
             "restrict=None)", "tcgen05.commit",
             "Arrive on `mbar` once this thread's earlier MMAs, copies and shifts are complete."
             "\n\n`cta_mask` has a bit for each CTA of the cluster that is told, `multicast` its "
             "width;\n`restrict` waits for less.", {"space": _CLUSTER}, (rules.to_several,)),
        Verb("tcgen05_cp(taddr, s_desc, *, shape, multicast=None, source: src_fmt = None, "
             "cta_group=ONE)", "tcgen05.cp",
             "Copy a matrix from shared to tensor memory, complete when a commit says so.\n\n"
             "Elements of the format `source` become bytes; `s_desc` describes the matrix as that "
             "of an\nMMA.", follows=(rules.unpacked,)),
        Verb("tcgen05_shift", "tcgen05.shift",
             "Move rows of 32 bytes down by one row, complete when a commit says so."),
        Verb("tcgen05_ld(taddr, *, num, shape=S32X32B, pack=False, half_split=None)", "tcgen05.ld",
             "Load registers from tensor memory; they may be used after `tcgen05_wait_ld`.",
             follows=(rules.few_registers,)),
        Verb("tcgen05_ld_red(taddr, *, op, type, num, shape=S32X32B, abs=False, nan=False, "
             "half_split=None)", "tcgen05.ld.red",
             "Load registers from tensor memory, and the smallest or largest of them, as bits.\n\n"
             "`abs` compares floats without their signs, `nan` makes a NaN of them the result.",
             follows=(rules.few_registers,)),
        Verb("tcgen05_ld_spcompress(taddr, *, op, num, abs=False)", "tcgen05.ld.spcompress",
             "Load floats from tensor memory, of each four the two smallest or largest.\n\n"
             "Gives 2 bits for the place of each one kept, 16 in a register, and their bits.",
             {"keep": Compress.TWO_OF_FOUR}),
        Verb("tcgen05_ld_red_spcompress(taddr, *, op, num, abs=False, nan=False)",
             "tcgen05.ld.red.spcompress",
             "`tcgen05_ld_spcompress`, and the smallest or largest of all, as bits.",
             {"keep": Compress.TWO_OF_FOUR}),
        Verb("tcgen05_st(taddr, r, *, num, shape=S32X32B, unpack=False, half_split=None)",
             "tcgen05.st",
             "Store registers to tensor memory; they are there after `tcgen05_wait_st`.",
             follows=(rules.few_registers,)),
        Verb("tcgen05_wait_ld", "tcgen05.wait", "Wait for this thread's tensor memory loads.",
             {"op": WaitOp.LD}),
        Verb("tcgen05_wait_st", "tcgen05.wait", "Wait for this thread's tensor memory stores.",
             {"op": WaitOp.ST}),
        Verb("tcgen05_fence_before_thread_sync", "tcgen05.fence",
             "Order earlier tcgen05 operations before a following synchronisation.",
             {"side": ThreadSync.BEFORE}),
        Verb("tcgen05_fence_after_thread_sync", "tcgen05.fence",
             "Order later tcgen05 operations after a preceding synchronisation.",
             {"side": ThreadSync.AFTER}),
    ),
    "wgmma": (
        Verb(f"wgmma_mma_async(d: 'Accumulator', a, b, scale_d=1, *, {_TYPES}, scale_a=1, "
             "scale_b=1, trans_a=0, trans_b=0, satfinite=False, sp_meta=None, sp_sel=0)",
             "wgmma.mma_async* wgmma.mma_async.sp*",
             "D = A·B + D, or with `scale_d` 0 D = A·B.\n\n"
             "A is a descriptor or four registers, B a descriptor; `btype` is A's type unless it "
             "is given.\nWith metadata A is sparse, and K twice as much; which indices a thread "
             "gives, and where in\nits register, says "
             "`intrinsics.layouts.fragments_wgmma.metadata_fragment`.\n\n"
             "Raises: InputError for types, signs or transpositions that the instruction does not "
             "have.", follows=(mma_rows.by_a_warpgroup,), keeps="d"),
        Verb("wgmma_fence", "wgmma.fence",
             "Order accesses of registers and shared memory before the multiplies that follow.\n\n"
             "The first multiply needs it, and each one into registers that another instruction "
             "wrote."),
        Verb("wgmma_commit_group", "wgmma.commit_group",
             "Commit the multiplies since the last commit, as one group."),
        Verb("wgmma_wait_group", "wgmma.wait_group",
             "Wait until all but the `n` latest groups are complete."),
    ),
    "mma": (
        Verb(f"mma_sync(a, b, c, *, shape, {_TYPES}, dtype=None, ctype=None, alayout=ROW, "
             f"blayout=COL, op=None, {_OF_KINDS})", "mma*",
             "A·B + C: the registers of D.\n\n"
             "All registers are integers of 32 bits that hold the bits of their elements, the "
             "first ones\nlowest; of f64 they have 64 bits.  `btype` is A's type unless it is "
             "given, `dtype` f32, of\nintegers s32 and of f64 that, `ctype` D's type; `op` is how "
             "single bits are multiplied.\nTypes of 4 and 6 bits need a `kind`, and block-scaled "
             "kinds `scales`.\n\n"
             "Raises: InputError for what the instruction does not have.",
             follows=(mma_rows.by_a_warp, mma_rows.bits), typed=True),
        Verb(f"mma_sp(a, b, c, metadata: sp_meta, *, shape, {_TYPES}, dtype=None, "
             f"selector: sp_sel = 0, ordered: 'bool' = True, {_OF_KINDS})",
             "mma.sp* mma.sp::ordered_metadata*",
             "A·B + C, where half of each row of A is zeros and is not stored: the registers of D."
             "\n\nK is that of B; `metadata` are the indices of what is stored, in the threads "
             "that `selector`\nnames: see `intrinsics.layouts.fragments_mma_sparse`.  With "
             "`ordered` they ascend, as all\nkinds want it.  C has D's type; the rest is as in "
             "`mma_sync`.\n\n"
             "Raises: InputError for what the instruction does not have.",
             follows=(mma_rows.by_a_warp,), typed=True),
    ),
    "ldmatrix, stmatrix, movmatrix": (
        Verb("ldmatrix(line: a, num=X4, *, shape=M8N8, trans=False, source: src_fmt = None)",
             "ldmatrix",
             "Load matrices from shared memory; returns a thread's registers, those of each matrix."
             "\n\n`line` is where 16 bytes lie: those of thread i are line i, of matrix `i // 8` "
             "(`i // 16`\nin m16n16).  A thread gets elements that follow one another in row "
             "`lane // 4` of each, or\nwith `trans` in a column.  `source` is how elements of 6 or "
             "4 bits lie in memory, of which\neach comes to a byte.\n\n"
             "Raises: InputError for what LLVM has no intrinsic for.", follows=(rules.elements,)),
        Verb("stmatrix(line: a, values: r, *, shape=M8N8, trans=False)", "stmatrix",
             "Store one, two or four matrices into shared memory, a register of a thread for each."
             "\n\nLines and elements are as in `ldmatrix`: with `trans` a thread's two elements "
             "lie in two\nlines.\n\n"
             "Raises: InputError for another number, and for what LLVM has no intrinsic for.",
             follows=(rules.matrices, rules.elements)),
        Verb("movmatrix(row: a)", "movmatrix",
             "Transpose a matrix of 8 by 8 elements of 16 bits, of which each thread has two."),
    ),
    "mbarrier": (
        Verb("mbarrier_init", "mbarrier.init",
             "Initialise an mbarrier that expects `count` arrivals per phase.", _NEAR),
        Verb("mbarrier_inval", "mbarrier.inval",
             "Invalidate an mbarrier; its memory may be reused.", _NEAR),
        Verb(f"mbarrier_arrive({_COUNTED})", "mbarrier.arrive",
             "Arrive; returns the phase's token.", _NEAR, (rules.RELEASES, rules.one_arrival)),
        Verb(f"mbarrier_arrive_expect_tx({_BYTES})", "mbarrier.arrive.expect_tx",
             "Expect bytes in this phase, and arrive; returns the phase's token.",
             _NEAR, (rules.RELEASES,)),
        Verb("mbarrier_arrive_no_complete", "mbarrier.arrive",
             "Arrive `count` times, which does not end the phase; returns the phase's token.",
             _NO_COMPLETE),
        Verb(f"mbarrier_arrive_drop({_COUNTED})", "mbarrier.arrive_drop",
             "Arrive, and expect one arrival fewer in later phases; returns the phase's token.",
             _NEAR, (rules.RELEASES, rules.one_arrival)),
        Verb("mbarrier_arrive_drop_no_complete", "mbarrier.arrive_drop",
             "As `mbarrier_arrive_drop`, where the arrivals do not end the phase.", _NO_COMPLETE),
        Verb(f"mbarrier_arrive_drop_expect_tx({_BYTES})", "mbarrier.arrive_drop.expect_tx",
             "Expect bytes in this phase, then arrive and drop out; returns the phase's token.",
             _NEAR, (rules.RELEASES,)),
        Verb("mbarrier_expect_tx(mbar, tx_count, *, scope)", "mbarrier.expect_tx",
             "Expect bytes in this phase.", {"sem": Sem.RELAXED, **_NEAR}),
        Verb("mbarrier_complete_tx(mbar, tx_count, *, scope)", "mbarrier.complete_tx",
             "Complete bytes of this phase, as a copy would; nothing is copied.",
             {"sem": Sem.RELAXED, **_NEAR}),
        Verb("mbarrier_test_wait(mbar, state)", "mbarrier.test_wait",
             "Whether the phase of a token has completed.", _NEAR),
        Verb("mbarrier_test_wait_parity(mbar, phase, *, scope, relaxed: 'bool' = False)",
             "mbarrier.test_wait.parity", "Whether the phase of a parity has completed.",
             _NEAR, (rules.ACQUIRES,)),
        Verb("mbarrier_try_wait(mbar, state, *, hint=None, scope, relaxed: 'bool' = False)",
             "mbarrier.try_wait",
             "Whether the phase of a token has completed, after waiting a while for it.\n\n"
             "`hint` is how long, in nanoseconds.", _NEAR, (rules.ACQUIRES,)),
        Verb("mbarrier_try_wait_parity(mbar, phase, *, hint=None, scope, relaxed: 'bool' = False)",
             "mbarrier.try_wait.parity",
             "Whether the phase of a parity has completed, after waiting a while for it.",
             _NEAR, (rules.ACQUIRES,)),
        Verb("mbarrier_pending_count", "mbarrier.pending_count",
             "How many arrivals were missing when a token was made."),
        Verb(f"mbarrier_arrive_space_cluster({_FAR})", "mbarrier.arrive",
             "Arrive at an mbarrier of any CTA of the cluster, at cluster scope; it gives no "
             "token.", _REMOTE, (rules.relaxed,)),
        Verb(f"mbarrier_arrive_drop_space_cluster({_FAR})", "mbarrier.arrive_drop",
             "Arrive at an mbarrier of any CTA of the cluster, and drop out of it.",
             _REMOTE, (rules.relaxed,)),
        Verb(f"mbarrier_arrive_expect_tx_space_cluster({_FAR_BYTES})", "mbarrier.arrive.expect_tx",
             "Expect bytes at an mbarrier of any CTA of the cluster, and arrive at it.",
             _REMOTE, (rules.relaxed,)),
        Verb(f"mbarrier_arrive_drop_expect_tx_space_cluster({_FAR_BYTES})",
             "mbarrier.arrive_drop.expect_tx",
             "Expect bytes at an mbarrier of any CTA of the cluster, arrive and drop out of it.",
             _REMOTE, (rules.relaxed,)),
        Verb("mbarrier_expect_tx_space_cluster", "mbarrier.expect_tx",
             "Expect bytes in this phase at an mbarrier of any CTA of the cluster.",
             {"sem": Sem.RELAXED, **_REMOTE}),
        Verb("mbarrier_complete_tx_space_cluster", "mbarrier.complete_tx",
             "Complete bytes at an mbarrier of any CTA of the cluster.",
             {"sem": Sem.RELAXED, **_REMOTE}),
    ),
    "fences and barriers": (
        Verb("fence_proxy_async(space=None)", "fence.proxy.async",
             "Order earlier generic accesses before later ones of the async proxy."),
        Verb("fence_mbarrier_init_release_cluster", "fence.mbarrier_init",
             "Make mbarrier initialisation visible to the cluster and the async proxy."),
        Verb("elect_sync", "elect.sync", "True in one thread of the warp.", gives="elected"),
        Verb("barrier_cta_sync_aligned(barrier=0, count=None)", "bar.sync",
             "Wait for all threads of the CTA (or `count` of them); whole warps only."),
        Verb("barrier_cta_sync(barrier=0, count=None)", "barrier.sync",
             "Wait for all threads of the CTA (or `count` of them)."),
        Verb("barrier_cta_arrive_aligned", "bar.arrive",
             "Arrive at a barrier of the CTA without waiting; whole warps only."),
        Verb("barrier_cta_arrive", "barrier.arrive",
             "Arrive at a barrier of the CTA without waiting."),
        Verb("barrier_cta_red(op, says: c, barrier=0, count=None, *, aligned: 'bool' = False)",
             "bar.red barrier.red",
             "Wait for the threads; returns whether all or any gave true, or how many (.popc).\n\n"
             "`aligned` is for whole warps.", follows=(rules.answer,)),
        Verb("bar_warp_sync", "bar.warp.sync", "Wait for the threads of the warp in `membermask`."),
    ),
    "clusters, registers, dependent launches": (
        Verb("barrier_cluster_arrive(*, relaxed: 'bool' = False, aligned=True)",
             "barrier.cluster.arrive",
             "Arrive at the cluster's barrier; with `relaxed` it orders no memory accesses."
             "\n\nEvery thread of the cluster that has not exited arrives, and waits before it "
             "arrives again.", follows=(rules.only_relaxed,)),
        Verb("barrier_cluster_wait(*, aligned=True)", "barrier.cluster.wait",
             "Wait until every thread of the cluster has arrived at its barrier, or has exited."),
        Verb("mapa_shared_cluster(address: a, rank: b)", "mapa",
             "The shared::cluster address of `address` in CTA `rank` of the cluster.",
             {"space": _CLUSTER}, like="address"),
        Verb("getctarank_shared_cluster(address: a)", "getctarank",
             "The rank of the CTA whose shared memory `address` is in.", {"space": _CLUSTER}),
        Verb("fence_acquire_sync_restrict", "fence.sync_restrict",
             "Acquire what other CTAs have released of the cluster's shared memory.",
             _ACQUIRE),
        Verb("fence_release_sync_restrict", "fence.sync_restrict",
             "Release this thread's accesses of its CTA's shared memory to the cluster.",
             _RELEASE),
        Verb("fence_proxy_async_generic_acquire", "fence.proxy.async::generic",
             "As `fence_acquire_sync_restrict`, between the async and the generic proxy.",
             _ACQUIRE),
        Verb("fence_proxy_async_generic_release", "fence.proxy.async::generic",
             "As `fence_release_sync_restrict`, between the async and the generic proxy.",
             _RELEASE),
        Verb("fence_proxy_alias", "fence.proxy.alias",
             "Order accesses by different virtual addresses of the same memory."),
        Verb("fence_proxy_tensormap_release(scope=GPU)", "fence.proxy.tensormap.release",
             "Release what was written to a tensor map."),
        Verb("fence_proxy_tensormap_acquire(tmap: a, scope=GPU)", "fence.proxy.tensormap.acquire",
             "See what others have written to the 128 bytes of a tensor map, before it is used.",
             follows=(rules.whole_map,)),
        Verb("setmaxnreg_inc", "setmaxnreg.inc",
             "Wait for registers, until each thread of the warpgroup has `count`.\n\n"
             "All four warps execute it, and `count` is a multiple of 8 in 24..256."),
        Verb("setmaxnreg_dec", "setmaxnreg.dec",
             "Release registers: each thread of the warpgroup keeps `count`."),
        Verb("griddepcontrol_wait", "griddepcontrol",
             "Wait until the grids that this one depends on have completed, their memory visible.",
             {"action": GridControl.WAIT}),
        Verb("griddepcontrol_launch_dependents", "griddepcontrol",
             "Allow the grids that depend on this one to start.",
             {"action": GridControl.LAUNCH_DEPENDENTS}),
    ),
    **COPIES,
    "warps": (
        Verb(f"shfl_sync({_SHUFFLED})", "shfl.sync",
             "The number of another lane, or the thread's own where that is out of `bounds`.\n\n"
             "`lane` is a distance (UP, DOWN), a mask for exclusive or with the thread's lane "
             "(BFLY),\nor a lane (IDX).  `bounds` is PTX's operand c: the clamp value, and from "
             "bit 8 on the\nmask of segments; by default the whole warp is one segment.\n\n"
             "64-bit values take two instructions, 8- and 16-bit ones one.\n\n"
             "Raises: InputError for what is no number of the kernel.",
             {"type": T.B32}, (rules.shuffle,), like="value", by_words="value"),
        Verb(f"shfl_sync_p({_SHUFFLED})", "shfl.sync",
             "As `shfl_sync`; also returns whether the source lane is within bounds.",
             {"type": T.B32, "p": True}, (rules.shuffle,), like="value", by_words="value"),
        Verb("vote_sync(mode, says: a, *, membermask=-1)", "vote.sync vote.sync.ballot",
             "Vote of the warp: whether `says` holds in all lanes, in any, or is equal in all "
             "(UNI);\nof a ballot, one bit for each lane.", follows=(rules.ballot,)),
        Verb("match_any_sync(value: a, *, membermask=-1)", "match.sync",
             "The mask of lanes with the same value, of 32 or 64 bits, as this one.",
             {"mode": Match.ANY}, (rules.match,)),
        Verb("match_all_sync(value: a, *, membermask=-1)", "match.sync",
             "The mask of members if all have one value, of 32 or 64 bits, else 0; and whether "
             "so.", {"mode": Match.ALL, "p": True}, (rules.match,)),
        Verb("redux_sync(op, type, value: a, *, abs=False, nan=False, membermask=-1)",
             "redux.sync",
             "One value of all members: .s32 or .u32 numbers, .b32 bits, or an .f32 or its bits."
             "\n\nLLVM has no sum of .u32: the bits are those of .s32.  `abs` and `nan` are for "
             ".f32, whose\nnumbers then have no sign, or are NaN as soon as one is.\n\n"
             "Raises: InputError for a Float that is not reduced as .f32.",
             follows=(rules.reduced,), like="value"),
        Verb("activemask", "activemask",
             "The mask of lanes that execute this together, by no guaranteed choice."),
        Verb("nanosleep(nanoseconds: t)", "nanosleep",
             "Sleep for up to twice as many nanoseconds, a million at most."),
    ),
}
# fmt: on
"""Verbs by what they are for, in the order of the reference."""

NAMED = {verb.name: verb for verbs in CHAPTERS.values() for verb in verbs}

# ---- called as their rows are -----------------------------------------------------------------


@functools.cache
def others() -> dict[str, Verb]:
    """A verb for each row that LLVM has intrinsics for, and that has no name of its own."""
    named = {row for verb in NAMED.values() for row in verb.row_ids}
    rows = [row.id for row in catalog.rows() if row.llvm and row.id not in named]
    names = ("".join(c if c.isalnum() else "_" for c in row) for row in rows)
    made = zip(names, rows, strict=True)
    return {name: Verb(name, row) for name, row in made}


def verb_of(name: str) -> Verb | None:
    """The verb of a name, if there is one."""
    return NAMED.get(name) or others().get(name)

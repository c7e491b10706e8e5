"""The verbs that have a name or a sentence of their own, by what they are for.

Layer: nvgen.builder.  Names are LLVM's or PTX's.  An entry says which row a verb becomes, what its
name states, and how it is called where that is not as LLVM's pattern says.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from llvmlite import ir

from intrinsics import catalog
from intrinsics.modifiers import (
    AtomicOp,
    BlockScale,
    CacheOp,
    Compress,
    CopyFormat,
    CtaGroup,
    Decompress,
    Dim,
    GridControl,
    LdStNum,
    LdStShape,
    LoadMode,
    MapField,
    Match,
    NoComplete,
    NoFtz,
    ReadOnly,
    ReduceOp,
    ScalarType,
    Scope,
    Sem,
    Shuffle,
    Space,
    StoreMode,
    ThreadSync,
    Vec,
    Vote,
    WaitOp,
    WarpReduce,
)
from intrinsics.multiplies.matrix import MatrixNum, MatrixShape
from intrinsics.row import Facts, Residency
from intrinsics.rows.cluster import FenceRestrict
from nvgen.builder.numbers import F32, Float, Int, as_float, float_of
from nvgen.builder.pointers import Pointer
from nvgen.builder.refusals import described, refuse
from nvgen.builder.vectors import Vector
from nvgen.builder.verb import Draft, Follow, Verb, verb_of_row
from nvgen.tensor_map import SIZE

T = ScalarType
_SHARED, _NEAR = Space.SHARED, {"space": Space.SHARED}
_CLUSTER = Space.SHARED_CLUSTER

# ---- what follows from the arguments -----------------------------------------------------------


def _follow(*sets: str) -> Callable[[Callable[[Draft], None]], Follow]:
    return lambda act: Follow(act, sets)


def _ordered(strong: Sem) -> Follow:
    """Scope and ordering: LLVM's names leave out the strong one at CTA scope."""

    def act(draft: Draft) -> None:
        scope, relaxed = draft.given["scope"], draft.given["relaxed"]
        assert isinstance(scope, Scope)
        said = {"sem": Sem.RELAXED if relaxed else strong, "scope": scope}
        draft.facts |= said if relaxed or scope is not Scope.CTA else dict.fromkeys(said)

    return Follow(act, ("sem", "scope"))


_RELEASES, _ACQUIRES = _ordered(Sem.RELEASE), _ordered(Sem.ACQUIRE)


@_follow("sem")
def _relaxed(draft: Draft) -> None:
    """An arrival in the cluster releases, or with `relaxed` hands nothing on."""
    draft.facts["sem"] = Sem.RELAXED if draft.given["relaxed"] else Sem.RELEASE


@_follow("sem")
def _only_relaxed(draft: Draft) -> None:
    draft.facts["sem"] = Sem.RELAXED if draft.given["relaxed"] else None


@_follow("dim")
def _rank(draft: Draft) -> None:
    draft.facts["dim"] = rank_of(draft.given["coords"])


def rank_of(coords: object) -> Dim:
    """The rank of a tensor copy with these coordinates.

    Raises: InputError.
    """
    if not isinstance(coords, Sequence):
        raise refuse("no coordinates", got=repr(coords), expected="(x, y), innermost first")
    if not 1 <= len(coords) <= 5:
        raise refuse("TMA rank must be in the range 1..5", got=str(len(coords)), expected="1..5")
    return Dim(f"{len(coords)}d")


@_follow("dim")
def _four_rows(draft: Draft) -> None:
    rows = draft.given["rows"]
    if not isinstance(rows, Sequence):
        raise refuse("no rows", got=described(rows), expected="four of them")
    draft.operands["coords"] = (draft.given["column"], *rows)  # type: ignore[arg-type]  # raw()
    draft.facts["dim"] = Dim.D2


@_follow()
def _in_window(draft: Draft) -> None:
    """The mbarrier's address as one of shared memory, which is what LLVM's intrinsics take.

    The number is the same: the window of the cluster holds that of the CTA.
    """
    b, pointer = draft.builder, draft.operands["mbar"]
    if isinstance(pointer, Pointer) and pointer.space != 3:
        number = b.at_caller().ptrtoint(pointer.value, ir.IntType(64))
        moved = b.at_caller().inttoptr(number, ir.PointerType(addrspace=3))
        draft.operands["mbar"] = Pointer(b, moved)


@_follow()
def _both_ends(draft: Draft) -> None:
    """Of the bytes that are ignored at both ends the one that is not given is 0."""
    if {"ignore_left", "ignore_right"} & draft.operands.keys():
        del draft.facts["dst_space"]
        for name in ("ignore_left", "ignore_right"):
            draft.operands.setdefault(name, 0)


@_follow("noftz")
def _halves_keep_small_numbers(draft: Draft) -> None:
    if draft.facts["op"] is AtomicOp.ADD and draft.facts["type"] in (T.F16, T.BF16):
        draft.facts["noftz"] = NoFtz.NOFTZ


@_follow("vec")
def _vector(draft: Draft) -> None:
    values, sizes = draft.given["values"], {1: None, 2: Vec.V2, 4: Vec.V4}
    count = len(values) if isinstance(values, Sequence) else 0
    if count not in sizes:
        raise refuse("st.async stores 1, 2 or 4 values", got=str(count))
    draft.facts["vec"] = sizes[count]


_ELEMENTS = {MatrixShape.M8N8: T.B16, MatrixShape.M16N16: T.B8, MatrixShape.M16N8: T.B8}


@_follow("type", "dst_fmt")
def _elements(draft: Draft) -> None:
    shape = draft.facts["shape"]
    assert isinstance(shape, MatrixShape)
    draft.facts["type"] = _ELEMENTS.get(shape)
    if draft.facts.get("src_fmt") is not None:
        draft.facts |= {"type": None, "dst_fmt": CopyFormat.B8X16}


@_follow("num")
def _matrices(draft: Draft) -> None:
    values = draft.operands["r"]
    registers = list(values) if isinstance(values, (Sequence, Vector)) else []
    num = next((n for n in MatrixNum if n.count == len(registers)), None)
    if num is None:
        raise refuse("so many matrices", got=str(len(registers)), expected="1, 2 or 4")
    draft.facts["num"], draft.operands["r"] = num, registers


@_follow("dst_fmt")
def _unpacked(draft: Draft) -> None:
    draft.facts["dst_fmt"] = CopyFormat.B8X16 if draft.facts["src_fmt"] is not None else None


@_follow("a", "block_scale", "decompress")
def _multiply(draft: Draft) -> None:
    """Where A lies, and what scale factors and a table of numbers are called."""
    is_address = isinstance(draft.operands["a"], Pointer)
    draft.facts["a"] = Residency.TENSOR if is_address else Residency.SHARED
    draft.facts["block_scale"] = BlockScale.BLOCK_SCALE if "sfa" in draft.operands else None
    draft.facts["decompress"] = Decompress.LUT_B if "lut" in draft.operands else None


@_follow()
def _to_several(draft: Draft) -> None:
    if "cta_mask" not in draft.operands:
        draft.facts["multicast"] = None


@_follow()
def _few_registers(draft: Draft) -> None:
    from intrinsics.rows.tcgen05 import REGISTERS

    shape, num = draft.facts["shape"], draft.facts["num"]
    count = REGISTERS.of({"shape": shape, "num": num})
    if isinstance(shape, LdStShape) and isinstance(num, LdStNum) and count > 128:
        raise refuse(
            f".{shape.value} repeated {num.times} times takes more than 128 registers",
            got=f"{count} registers",
            expected="at most 128",
        )


@_follow("type")
def _shuffle(draft: Draft) -> None:
    value = draft.given["value"]
    if not isinstance(value, (Int, Float)) or value.bits != 32:
        got = f"i{value.bits}" if isinstance(value, Int) else described(value)
        raise refuse("a register is shuffled", got=got, expected="i32, or an F32")
    if draft.given["bounds"] is None:
        draft.operands["c"] = 0 if draft.facts["mode"] is Shuffle.UP else 31
    draft.operands["a"] = value if isinstance(value, Int) else value.word


@_follow("type")
def _match(draft: Draft) -> None:
    value = draft.given["value"]
    if not isinstance(value, Int) or value.bits not in (32, 64):
        got = f"i{value.bits}" if isinstance(value, Int) else described(value)
        raise refuse("a register is matched", got=got, expected="i32 or i64")
    draft.facts["type"] = T.B32 if value.bits == 32 else T.B64


@_follow("type")
def _ballot(draft: Draft) -> None:
    draft.facts["type"] = T.B32 if draft.facts["mode"] is Vote.BALLOT else None


@_follow()
def _reduced(draft: Draft) -> None:
    """Sums of .u32 are those of .s32; an f32 may come as its bits."""
    type_, value = draft.facts["type"], draft.given["value"]
    if (draft.facts["op"], type_) == (WarpReduce.ADD, T.U32):
        draft.facts["type"] = T.S32
    if type_ is T.F32:
        draft.operands["a"] = F32(draft.builder, as_float(draft.builder, value, T.F32))
    elif not isinstance(value, Int):
        words = type_.value if isinstance(type_, ScalarType) else ""
        raise refuse("an f32 is reduced as one", got=f".{words}", expected=".f32")


@_follow("type")
def _answer(draft: Draft) -> None:
    draft.facts["type"] = T.U32 if draft.facts["op"] is ReduceOp.POPC else T.PRED
    draft.row = "bar.red" if draft.given["aligned"] else "barrier.red"


@_follow()
def _fraction(draft: Draft) -> None:
    fraction = draft.given["fraction"]
    if not isinstance(fraction, (int, float)) or not 0 < fraction <= 1:
        raise refuse("no fraction", got=str(fraction), expected="above 0, and 1 at most")


@_follow("type")
def _field(draft: Draft) -> None:
    """The operand of a field's new value, and its type."""
    from intrinsics.rows.tensormap import type_of

    field, new = draft.facts["field"], draft.given["new"]
    assert isinstance(field, MapField)
    draft.facts["type"] = type_of(field)
    if isinstance(new, Pointer):
        b = draft.builder
        new = Int(b, b.at_caller().ptrtoint(new.value, ir.IntType(64)))
    rows = map(catalog.row, _REPLACES.split())
    row = next(row for row in rows if field in row.axis["field"].values)
    draft.operands[row.operands[-1].name] = new  # type: ignore[assignment]  # raw() checks it
    draft.row = row.id


@_follow()
def _whole_map(draft: Draft) -> None:
    draft.operands["size"] = SIZE


@_follow()
def _sixteen_bytes(draft: Draft) -> None:
    draft.operands["size"] = 16


_REPLACES = "tensormap.replace tensormap.replace.dimension tensormap.replace.code"


def alike(found: object, given: object) -> object:
    """What an instruction gives, of the type of one of its arguments."""
    if isinstance(found, tuple):
        return (alike(found[0], given), *found[1:])
    if isinstance(given, Pointer) and isinstance(found, Pointer):
        return replace(found, dtype=given.dtype)
    if isinstance(given, Int) and isinstance(found, Float):
        return found.word
    if isinstance(given, Int) and isinstance(found, Int):
        return given.like(found.value)
    if isinstance(given, Float) and isinstance(found, Int):
        return float_of(given.builder, as_float(given.builder, found, given.type), given.type)
    return found


# ---- the verbs ---------------------------------------------------------------------------------

_REMOTE: Facts = {"scope": Scope.CLUSTER, "space": _CLUSTER}
_CTA_COPY: Facts = {"dst_space": Space.SHARED_CTA}
_CLUSTER_COPY: Facts = {"dst_space": _CLUSTER}
_GATHER: Facts = {"mode": LoadMode.GATHER4}
_SCATTER: Facts = {"mode": StoreMode.SCATTER4}
_PIXELS: Facts = {"mode": StoreMode.IM2COL_NO_OFFS}
_LOAD, _LOAD_PIXELS = "cp.async.bulk.tensor.load", "cp.async.bulk.tensor.load.im2col"
_STORE, _REDUCE = "cp.async.bulk.tensor.store", "cp.reduce.async.bulk.tensor"
_PREFETCH = "cp.async.bulk.prefetch.tensor"
_COUNTED = "mbar, count=1, *, scope, relaxed: 'bool' = False"
_BYTES = "mbar, tx_count, *, scope, relaxed: 'bool' = False"
_FAR = "mbar, count=1, *, relaxed: 'bool' = False"
_FAR_BYTES = "mbar, tx_count, *, relaxed: 'bool' = False"
_NO_COMPLETE: Facts = {"no_complete": NoComplete.NO_COMPLETE, **_NEAR}
_TO_ROWS = "column: 'IntLike', rows: 'Sequence[IntLike]'"
_BACK = "*, cache_policy=None"
_CP_ASYNC = "src_size=None, ignore_src=None, cache_policy=None, prefetch=None"
_SHUFFLED = "mode, value: a, lane: b, bounds: c = None, *, membermask=-1"
_FACTORS = "d, a, b, idesc, enable_d, *, kind"
_ACQUIRE: Facts = {"sem": Sem.ACQUIRE, "restrict": FenceRestrict.SHARED_CLUSTER}
_RELEASE: Facts = {"sem": Sem.RELEASE, "restrict": FenceRestrict.SHARED_CTA}

# fmt: off
CHAPTERS: Mapping[str, tuple[Verb, ...]] = {
    "tcgen05": (
        Verb("tcgen05_alloc", "tcgen05.alloc",
             "Allocate columns of tensor memory; their address is written to shared `dst`.",
             {"space": Space.SHARED_CTA}),
        Verb("tcgen05_dealloc", "tcgen05.dealloc", "Give columns of tensor memory back."),
        Verb("tcgen05_relinq_alloc_permit", "tcgen05.relinquish_alloc_permit",
             "Give up the right to allocate tensor memory."),
        Verb(f"tcgen05_mma({_FACTORS}, cta_group=ONE, collector_a=DISCARD, collector_b=None, "
             "ashift=False, mask=None, scale_d=None, scale_vec=None, sfa=None, sfb=None, "
             "sp_meta=None, lut=None)", "tcgen05.mma tcgen05.mma.sp",
             "D = A·B (+ D): `a` a descriptor or a tensor memory address, `b` a descriptor.\n\n"
             "With `sfa` and `sfb` the matrices are block-scaled; `mask` disables lanes of D, "
             "`scale_d`\ndivides it by a power of two.  With `sp_meta`, the place of its metadata, "
             "A is sparse; with\n`lut`, the place of the table that says what its numbers are, B "
             "is compressed.", follows=(_multiply,)),
        Verb(f"tcgen05_mma_ws({_FACTORS}, collector: collector_ws = B0_DISCARD, zero_mask=None, "
             "sp_meta=None)", "tcgen05.mma.ws tcgen05.mma.ws.sp",
             "D = A·B (+ D), weight-stationary: B may stay in one of four collectors.\n\n"
             "`zero_mask` describes the columns of B that are taken for zeros; `sp_meta` is the "
             "place of a\nsparse A's metadata.", {"cta_group": CtaGroup.ONE}, (_multiply,)),
        Verb("tcgen05_commit(mbar, *, cta_group=ONE, cta_mask=None, multicast=CLUSTER, "
             "restrict=None)", "tcgen05.commit",
             "Arrive on `mbar` once this thread's earlier MMAs, copies and shifts are complete."
             "\n\n`cta_mask` has a bit for each CTA of the cluster that is told, `multicast` its "
             "width;\n`restrict` waits for less.", {"space": _CLUSTER}, (_to_several,)),
        Verb("tcgen05_cp(taddr, s_desc, *, shape, multicast=None, source: src_fmt = None, "
             "cta_group=ONE)", "tcgen05.cp",
             "Copy a matrix from shared to tensor memory, complete when a commit says so.\n\n"
             "Elements of the format `source` become bytes; `s_desc` describes the matrix as that "
             "of an\nMMA.", follows=(_unpacked,)),
        Verb("tcgen05_shift", "tcgen05.shift",
             "Move rows of 32 bytes down by one row, complete when a commit says so."),
        Verb("tcgen05_ld(taddr, *, num, shape=S32X32B, pack=False, half_split=None)", "tcgen05.ld",
             "Load registers from tensor memory; they may be used after `tcgen05_wait_ld`.",
             follows=(_few_registers,)),
        Verb("tcgen05_ld_red(taddr, *, op, type, num, shape=S32X32B, abs=False, nan=False, "
             "half_split=None)", "tcgen05.ld.red",
             "Load registers from tensor memory, and the smallest or largest of them, as bits.\n\n"
             "`abs` compares floats without their signs, `nan` makes a NaN of them the result.",
             follows=(_few_registers,)),
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
             follows=(_few_registers,)),
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
        Verb("wgmma_fence", "wgmma.fence",
             "Order accesses of registers and shared memory before the multiplies that follow.\n\n"
             "The first multiply needs it, and every one whose registers others than multiplies "
             "wrote."),
        Verb("wgmma_commit_group", "wgmma.commit_group",
             "Make a group of the multiplies since the last one."),
        Verb("wgmma_wait_group", "wgmma.wait_group",
             "Wait until all but the `n` latest groups are complete."),
    ),
    "ldmatrix, stmatrix, movmatrix": (
        Verb("ldmatrix(line: a, num=X4, *, shape=M8N8, trans=False, source: src_fmt = None)",
             "ldmatrix",
             "Load matrices from shared memory; returns a thread's registers, those of each matrix."
             "\n\n`line` is where 16 bytes lie: those of thread i are line i, of matrix `i // 8` "
             "(`i // 16`\nin m16n16).  A thread gets elements that follow one another in row "
             "`lane // 4` of each, or\nwith `trans` in a column.  `source` is how elements of 6 or "
             "4 bits lie in memory, of which\neach comes to a byte.\n\n"
             "Raises: InputError for what LLVM has no intrinsic for.", follows=(_elements,)),
        Verb("stmatrix(line: a, values: r, *, shape=M8N8, trans=False)", "stmatrix",
             "Store one, two or four matrices into shared memory, a register of a thread for each."
             "\n\nLines and elements are as in `ldmatrix`: with `trans` a thread's two elements "
             "lie in two\nlines.\n\n"
             "Raises: InputError for another number, and for what LLVM has no intrinsic for.",
             follows=(_matrices, _elements)),
        Verb("movmatrix(row: a)", "movmatrix",
             "Transpose a matrix of 8 by 8 elements of 16 bits, of which each thread has two."),
    ),
    "mbarrier": (
        Verb("mbarrier_init", "mbarrier.init",
             "Make an mbarrier that expects `count` arrivals a phase.", _NEAR),
        Verb("mbarrier_inval", "mbarrier.inval",
             "End an mbarrier; its memory is free again.", _NEAR),
        Verb(f"mbarrier_arrive({_COUNTED})", "mbarrier.arrive",
             "Arrive; returns the phase's token.", _NEAR, (_RELEASES,)),
        Verb(f"mbarrier_arrive_expect_tx({_BYTES})", "mbarrier.arrive.expect_tx",
             "Expect bytes in this phase, and arrive; returns the phase's token.",
             _NEAR, (_RELEASES,)),
        Verb("mbarrier_arrive_no_complete", "mbarrier.arrive",
             "Arrive `count` times, which does not end the phase; returns the phase's token.",
             _NO_COMPLETE),
        Verb(f"mbarrier_arrive_drop({_COUNTED})", "mbarrier.arrive_drop",
             "Arrive, and be no longer expected in the phases behind; returns the phase's token.",
             _NEAR, (_RELEASES,)),
        Verb("mbarrier_arrive_drop_no_complete", "mbarrier.arrive_drop",
             "As `mbarrier_arrive_drop`, where the arrivals do not end the phase.", _NO_COMPLETE),
        Verb(f"mbarrier_arrive_drop_expect_tx({_BYTES})", "mbarrier.arrive_drop.expect_tx",
             "Expect bytes in this phase, then arrive and drop out; returns the phase's token.",
             _NEAR, (_RELEASES,)),
        Verb("mbarrier_expect_tx(mbar, tx_count, *, scope)", "mbarrier.expect_tx",
             "Expect bytes in this phase.", {"sem": Sem.RELAXED, **_NEAR}),
        Verb("mbarrier_complete_tx(mbar, tx_count, *, scope)", "mbarrier.complete_tx",
             "Count bytes as arrived, as a copy would; nothing is copied.",
             {"sem": Sem.RELAXED, **_NEAR}),
        Verb("mbarrier_test_wait(mbar, state)", "mbarrier.test_wait",
             "Whether the phase of a token has completed.", _NEAR),
        Verb("mbarrier_test_wait_parity(mbar, phase, *, scope, relaxed: 'bool' = False)",
             "mbarrier.test_wait.parity", "Whether the phase of a parity has completed.",
             _NEAR, (_ACQUIRES,)),
        Verb("mbarrier_try_wait(mbar, state, *, hint=None, scope, relaxed: 'bool' = False)",
             "mbarrier.try_wait",
             "Whether the phase of a token has completed, after waiting a while for it.\n\n"
             "`hint` is how long, in nanoseconds.", _NEAR, (_ACQUIRES,)),
        Verb("mbarrier_try_wait_parity(mbar, phase, *, hint=None, scope, relaxed: 'bool' = False)",
             "mbarrier.try_wait.parity",
             "Whether the phase of a parity has completed, after waiting a while for it.",
             _NEAR, (_ACQUIRES,)),
        Verb("mbarrier_pending_count", "mbarrier.pending_count",
             "How many arrivals were missing when a token was made."),
        Verb(f"mbarrier_arrive_space_cluster({_FAR})", "mbarrier.arrive",
             "Arrive at an mbarrier of any CTA of the cluster, at cluster scope; it gives no "
             "token.", _REMOTE, (_relaxed,)),
        Verb(f"mbarrier_arrive_drop_space_cluster({_FAR})", "mbarrier.arrive_drop",
             "Arrive at an mbarrier of any CTA of the cluster, and drop out of it.",
             _REMOTE, (_relaxed,)),
        Verb(f"mbarrier_arrive_expect_tx_space_cluster({_FAR_BYTES})", "mbarrier.arrive.expect_tx",
             "Expect bytes at an mbarrier of any CTA of the cluster, and arrive at it.",
             _REMOTE, (_relaxed,)),
        Verb(f"mbarrier_arrive_drop_expect_tx_space_cluster({_FAR_BYTES})",
             "mbarrier.arrive_drop.expect_tx",
             "Expect bytes at an mbarrier of any CTA of the cluster, arrive and drop out of it.",
             _REMOTE, (_relaxed,)),
        Verb("mbarrier_expect_tx_space_cluster(mbar, tx_count)", "mbarrier.expect_tx",
             "Expect bytes in this phase at an mbarrier of any CTA of the cluster.",
             {"sem": Sem.RELAXED, **_REMOTE}),
        Verb("mbarrier_complete_tx_space_cluster(mbar, tx_count)", "mbarrier.complete_tx",
             "Count bytes as arrived at an mbarrier of any CTA of the cluster.",
             {"sem": Sem.RELAXED, **_REMOTE}),
    ),
    "fences and barriers": (
        Verb("fence_proxy_async(space=None)", "fence.proxy.async",
             "Order generic accesses before those of the async proxy."),
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
             "Wait for the threads, and learn whether all or any said yes, or how many (.popc).\n\n"
             "`aligned` is for whole warps.", follows=(_answer,)),
        Verb("bar_warp_sync", "bar.warp.sync", "Wait for the threads of the warp in `membermask`."),
    ),
    "clusters, registers, dependent launches": (
        Verb("barrier_cluster_arrive(*, relaxed: 'bool' = False, aligned=True)",
             "barrier.cluster.arrive",
             "Arrive at the cluster's barrier; `relaxed` hands on nothing that was written before."
             "\n\nEvery thread of the cluster that has not exited arrives, and waits before it "
             "arrives again.", follows=(_only_relaxed,)),
        Verb("barrier_cluster_wait(*, aligned=True)", "barrier.cluster.wait",
             "Wait until every thread of the cluster has arrived at its barrier, or has exited."),
        Verb("mapa_shared_cluster(address: a, rank: b)", "mapa",
             "What is at `address` in the shared memory of CTA `rank` of the cluster.",
             {"space": _CLUSTER}, like="address"),
        Verb("getctarank_shared_cluster(address: a)", "getctarank",
             "The rank of the CTA whose shared memory `address` is in.", {"space": _CLUSTER}),
        Verb("fence_acquire_sync_restrict", "fence.sync_restrict",
             "What other CTAs have released of the cluster's shared memory is seen behind it.",
             _ACQUIRE),
        Verb("fence_release_sync_restrict", "fence.sync_restrict",
             "What this thread has done in its CTA's shared memory is handed on to the cluster.",
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
             "Hand on what was written to a tensor map."),
        Verb("fence_proxy_tensormap_acquire(tmap: a, scope=GPU)", "fence.proxy.tensormap.acquire",
             "See what others have written to the 128 bytes of a tensor map, before it is used.",
             follows=(_whole_map,)),
        Verb("setmaxnreg_inc", "setmaxnreg.inc",
             "Wait for registers, until each thread of the warpgroup has `count`.\n\n"
             "All four warps execute it, and `count` is a multiple of 8 in 24..256."),
        Verb("setmaxnreg_dec", "setmaxnreg.dec",
             "Give registers back: each thread of the warpgroup keeps `count`."),
        Verb("griddepcontrol_wait", "griddepcontrol",
             "Wait until the grids that this one depends on are through, and their memory is seen.",
             {"action": GridControl.WAIT}),
        Verb("griddepcontrol_launch_dependents", "griddepcontrol",
             "Let the grids that depend on this one start.",
             {"action": GridControl.LAUNCH_DEPENDENTS}),
    ),
    "copies of bytes": (
        Verb(f"cp_async_ca_shared_global(dst, src, size, *, {_CP_ASYNC})",
             "cp.async cp.async.ignore_src",
             "Copy `size` bytes (4, 8 or 16) for each thread, cached in L1 and L2.\n\n"
             "Of the source `src_size` bytes are read, or none where `ignore_src` holds; zeros "
             "follow.", {"cache": CacheOp.CA, **_NEAR}),
        Verb(f"cp_async_cg_shared_global(dst, src, *, {_CP_ASYNC})",
             "cp.async cp.async.ignore_src",
             "Copy 16 bytes for each thread, cached in L2 only; the rest as above.",
             {"cache": CacheOp.CG, **_NEAR}, (_sixteen_bytes,)),
        Verb("cp_async_commit_group", "cp.async.commit_group",
             "Make a group of this thread's copies since the last one."),
        Verb("cp_async_wait_group", "cp.async.wait_group",
             "Wait until all but the `n` latest groups of this thread are complete."),
        Verb("cp_async_wait_all", "cp.async.wait_all",
             "Wait until all copies of this thread are complete."),
        Verb("cp_async_mbarrier_arrive", "cp.async.mbarrier.arrive",
             "Arrive at an mbarrier when all copies that this thread has issued are complete.\n\n"
             "With `noinc` the arrival is one of those that the phase expects, else one more.",
             _NEAR),
        Verb("cp_async_bulk_global_to_shared_cluster", "cp.async.bulk.load",
             "Bring bytes into shared memory; `mbar`, in the same CTA, counts them.\n\n"
             "With `cta_mask` they go to the same place of each of these CTAs, and are counted "
             "there.", _CLUSTER_COPY, (_in_window,)),
        Verb("cp_async_bulk_global_to_shared_cta(dst, mbar, src, size, *, ignore_left=None, "
             "ignore_right=None, cache_policy=None)",
             "cp.async.bulk.load cp.async.bulk.load.ignore_oob",
             "Bring bytes into the CTA's own shared memory (PTX 8.6).\n\n"
             "The first `ignore_left` and the last `ignore_right` may lie outside of an "
             "allocation, and\nwhat comes in their place is not known (PTX 9.2).",
             _CTA_COPY, (_both_ends,)),
        Verb("cp_async_bulk_shared_cta_to_cluster", "cp.async.bulk.to_cluster",
             "Send bytes of the own shared memory to another CTA's, whose `mbar` counts them.\n\n"
             "`dst` and `mbar` are what `mapa_shared_cluster` and `of_cta` give.",
             follows=(_in_window,)),
        Verb("cp_async_bulk_shared_cta_to_global", "cp.async.bulk.store",
             "Store bytes of shared memory; of each 16 those that `byte_mask` names (sm_100).\n\n"
             "What threads wrote there needs `fence_proxy_async` before; the store is complete "
             "when a\n`cp_async_bulk_wait_group` of this thread covers the group that it was "
             "committed to."),
        Verb("cp_async_bulk_prefetch_l2", "cp.async.bulk.prefetch",
             "Bring bytes of global memory into L2."),
        Verb("cp_async_bulk_reduce_shared_cta_to_cluster(op, type, dst, mbar, src, size)",
             "cp.reduce.async.bulk.to_cluster",
             "Combine another CTA's shared memory with bytes of the own one; its `mbar` counts "
             "them.\n\n`dst` and `mbar` are what `mapa_shared_cluster` and `of_cta` give.",
             follows=(_in_window,)),
        Verb("cp_async_bulk_reduce_shared_cta_to_global(op, type, dst, src, size, *, "
             "cache_policy=None)", "cp.reduce.async.bulk.store",
             "Combine global memory with bytes of shared memory, as a part of a bulk group.",
             follows=(_halves_keep_small_numbers,)),
        Verb("cp_async_bulk_commit_group", "cp.async.bulk.commit_group",
             "Make a group of this thread's bulk stores since the last one."),
        Verb("cp_async_bulk_wait_group(n)", "cp.async.bulk.wait_group",
             "Wait until all but the `n` latest groups of this thread are complete."),
        Verb("cp_async_bulk_wait_group_read", "cp.async.bulk.wait_group",
             "Wait until all but the `n` latest groups of this thread have read shared memory.",
             {"read": ReadOnly.READ}),
        Verb("st_async_shared_cluster(type, address: a, values: b, mbar)", "st.async",
             "Store one, two or four values (.b32, .b64) in a CTA of the cluster, whose `mbar` "
             "counts.\n\nRaises: InputError for another number of values.",
             {"space": _CLUSTER}, (_vector,)),
        Verb("red_async_shared_cluster(op, type, address: a, value: b, mbar)", "red.async",
             "Combine a value in the shared memory of another CTA, whose `mbar` counts it.",
             {"space": _CLUSTER}),
    ),
    "tensor copies": (
        Verb("cp_async_bulk_tensor_g2s_tile", _LOAD,
             "Bring a tile into shared memory; `coords` are elements, innermost dimension first.",
             {"mode": LoadMode.TILE, **_CLUSTER_COPY}, (_rank,)),
        Verb("cp_async_bulk_tensor_g2s_cta_tile", _LOAD,
             "Bring a tile into the CTA's own shared memory (PTX 8.6).",
             {"mode": LoadMode.TILE, **_CTA_COPY}, (_rank,)),
        Verb("cp_async_bulk_tensor_g2s_im2col(dst, mbar, tmap, coords, offsets, *, mode=IM2COL, "
             "cta_mask=None, cache_policy=None, cta_group=None)", _LOAD_PIXELS,
             "Bring pixels of images into shared memory, of this CTA or of those in `cta_mask`."
             "\n\n`offsets` are those within a filter, W first, or the halo and the offset of a "
             "wide copy.", _CLUSTER_COPY, (_rank,)),
        Verb("cp_async_bulk_tensor_g2s_cta_im2col(dst, mbar, tmap, coords, offsets, *, "
             "mode=IM2COL, cache_policy=None)", _LOAD_PIXELS,
             "Bring pixels of images into the CTA's own shared memory (PTX 8.6).",
             _CTA_COPY, (_rank,)),
        Verb(f"cp_async_bulk_tensor_g2s_tile_gather4(dst, mbar, tmap, {_TO_ROWS}, *, "
             "cta_mask=None, cache_policy=None, cta_group=None)", _LOAD,
             "Bring four rows, from `column` on, into shared memory; boxes of the map are one "
             "row.", {**_GATHER, **_CLUSTER_COPY}, (_four_rows,)),
        Verb(f"cp_async_bulk_tensor_g2s_cta_tile_gather4(dst, mbar, tmap, {_TO_ROWS}, {_BACK})",
             _LOAD, "Bring four rows into the CTA's own shared memory (PTX 8.6).",
             {**_GATHER, **_CTA_COPY}, (_four_rows,)),
        Verb(f"cp_async_bulk_tensor_s2g_tile(tmap, coords, src, {_BACK})", _STORE,
             "Store a tile from shared memory; `coords` are elements, innermost dimension first."
             "\n\nWhat threads wrote there needs `fence_proxy_async` before; the store is complete "
             "when a\n`cp_async_bulk_wait_group` of this thread covers the group that it was "
             "committed to.", {"mode": StoreMode.TILE}, (_rank,)),
        Verb(f"cp_async_bulk_tensor_s2g_im2col(tmap, coords, src, {_BACK})", _STORE,
             "Store pixels of images from shared memory, from the pixel at `coords` on.",
             _PIXELS, (_rank,)),
        Verb(f"cp_async_bulk_tensor_s2g_tile_scatter4(tmap, {_TO_ROWS}, src, {_BACK})", _STORE,
             "Store four rows, from `column` on; boxes of the map are one row.",
             _SCATTER, (_four_rows,)),
        Verb(f"cp_async_bulk_tensor_reduce_tile(op, tmap, coords, src, {_BACK})", _REDUCE,
             "Combine a tile in shared memory with the tensor, in elements of the map's type.",
             {"mode": StoreMode.TILE}, (_rank,)),
        Verb(f"cp_async_bulk_tensor_reduce_im2col(op, tmap, coords, src, {_BACK})", _REDUCE,
             "Combine pixels in shared memory with those of images, from the one at `coords` on.",
             _PIXELS, (_rank,)),
        Verb(f"cp_async_bulk_tensor_reduce_tile_scatter4(op, tmap, {_TO_ROWS}, src, {_BACK})",
             _REDUCE, "Combine four rows in shared memory with those of the tensor.",
             _SCATTER, (_four_rows,)),
        Verb("cp_async_bulk_tensor_prefetch_tile", _PREFETCH, "Bring a tile into L2.",
             {"mode": LoadMode.TILE}, (_rank,)),
        Verb(f"cp_async_bulk_tensor_prefetch_tile_gather4(tmap, {_TO_ROWS}, {_BACK})", _PREFETCH,
             "Bring four rows into L2.", _GATHER, (_four_rows,)),
        Verb("cp_async_bulk_tensor_prefetch_im2col(tmap, coords, offsets, *, mode=IM2COL, "
             "cache_policy=None)", "cp.async.bulk.prefetch.tensor.im2col",
             "Bring pixels of images into L2.", follows=(_rank,)),
    ),
    "tensor maps and cache policies": (
        Verb("tensormap_replace(tmap: a, field, new: 'IntLike | Pointer', *, dim: ord = None)",
             _REPLACES,
             "Replace a field of the tensor map of 128 bytes at `tmap`, in tiled mode.\n\n"
             "global_address (a pointer, or its number) and global_stride (in bytes) have 64 bits, "
             "the\nothers 32; rank is written as the rank less 1.  box_dim, global_dim, "
             "global_stride and\nelement_stride are those of dimension `dim` in 0..4; elemtype, "
             "interleave_layout,\nswizzle_mode, fill_mode and swizzle_atomicity are codes, which "
             "are numbers.\n\n"
             "Raises: InputError where `dim` is missing or too much, or a code is no number.",
             follows=(_field,)),
        Verb("tensormap_cp_fenceproxy(dst, src, scope=GPU)", "tensormap.cp_fenceproxy",
             "Copy the tensor map at `src` (shared memory) to `dst` (global memory), and hand it "
             "on.\n\nThe threads of a whole warp execute it together.", follows=(_whole_map,)),
        Verb("prefetch_tensormap(tmap: a)", "prefetch.tensormap",
             "Bring a tensor map near, which copies by TMA will use; any one thread does."),
        Verb("createpolicy_fractional(primary, fraction=1.0, *, secondary=None)",
             "createpolicy.fractional",
             "A policy by which L2 keeps a fraction of what is accessed so, the rest as "
             "`secondary`.\n\nWhich part that is the hardware decides.  `secondary` is `FIRST` or "
             "`UNCHANGED`, which is\nwhat None means.\n\n"
             "Raises: InputError for a fraction outside 0 < fraction <= 1, or another `secondary`.",
             follows=(_fraction,)),
        Verb("createpolicy_range(primary, address: a, primary_size, total_size, *, "
             "secondary=None)", "createpolicy.range",
             "A policy for `total_size` bytes around `address`, the first `primary_size` as "
             "`primary`.\n\nWhat lies behind these, and as many bytes before `address` as behind, "
             "are `secondary`;\nelsewhere the policy says nothing.\n\n"
             "Raises: InputError for a `secondary` that is not None, `FIRST` or `UNCHANGED`."),
        Verb("createpolicy_cvt_l2(access_property: a)", "createpolicy.cvt",
             "The policy of an access property of CUDA C++ (64 bits)."),
    ),
    "warps": (
        Verb(f"shfl_sync({_SHUFFLED})", "shfl.sync",
             "The 32 bits that another thread gives; the own ones where it is out of `bounds`.\n\n"
             "`lane` is a number of lanes up or down, a mask to flip bits of the own number by, or "
             "the\nnumber itself.  `bounds` is PTX's operand c: the last lane, and at bit 8 the "
             "bits of a\nlane's number that say which segment of the warp it is in.  Without it "
             "the warp is one.\n\n"
             "Raises: InputError for a value of another width.",
             {"type": T.B32}, (_shuffle,), like="value"),
        Verb(f"shfl_sync_p({_SHUFFLED})", "shfl.sync",
             "As `shfl_sync`, and whether the thread that was asked is within bounds.",
             {"type": T.B32, "p": True}, (_shuffle,), like="value"),
        Verb("vote_sync(mode, says: a, *, membermask=-1)", "vote.sync vote.sync.ballot",
             "Whether all, any or equally many as none say yes; of a ballot, one bit for each "
             "lane.", follows=(_ballot,)),
        Verb("match_any_sync(value: a, *, membermask=-1)", "match.sync",
             "The lanes that have the own value, of 32 or 64 bits, as a mask.",
             {"mode": Match.ANY}, (_match,)),
        Verb("match_all_sync(value: a, *, membermask=-1)", "match.sync",
             "The mask of members if all have one value, of 32 or 64 bits, else 0; and whether "
             "so.", {"mode": Match.ALL, "p": True}, (_match,)),
        Verb("redux_sync(op, type, value: a, *, abs=False, nan=False, membermask=-1)",
             "redux.sync",
             "One value of all members: .s32 or .u32 numbers, .b32 bits, or an .f32 or its bits."
             "\n\nLLVM has no sum of .u32: the bits are those of .s32.  `abs` and `nan` are for "
             ".f32, whose\nnumbers then have no sign, or are NaN as soon as one is.\n\n"
             "Raises: InputError for an F32 that is not reduced as .f32.",
             follows=(_reduced,), like="value"),
        Verb("activemask", "activemask",
             "The lanes that execute this together, which may be any of those that could."),
        Verb("nanosleep(nanoseconds: t)", "nanosleep",
             "Sleep for up to twice as many nanoseconds, a million at most."),
    ),
}
# fmt: on
"""Verbs by what they are for, in the order of the reference."""

NAMED = {verb.name: verb for verbs in CHAPTERS.values() for verb in verbs}

MULTIPLIES = ("mma", "mma.sp", "mma.sp::ordered_metadata", "wgmma.mma_async", "wgmma.mma_async.sp")
"""Heads of many rows, each for some types, which one method of the builder's chooses from."""


@functools.cache
def others() -> dict[str, Verb]:
    """A verb for each row that LLVM has intrinsics for, and that has no name of its own."""
    named = {row for verb in NAMED.values() for row in verb.rows.split()}
    rows = (row for row in catalog.rows() if row.llvm and row.head not in MULTIPLIES)
    made = (verb_of_row(row) for row in rows if row.id not in named)
    return {verb.name: verb for verb in made}


def verb_of(name: str) -> Verb | None:
    """The verb of a name, if there is one."""
    return NAMED.get(name) or others().get(name)

"""Small kernels of one protocol each by their names, with mistakes in them and what is said."""

from __future__ import annotations

import numpy as np

from tests.isel.verifier.function.protocol_kernels import (
    ACQUIRED,
    ASYNC,
    CANCELLED,
    COPIED,
    COUNTED,
    EARLY,
    EVEN,
    FENCED,
    HANDED,
    LOOKED_UP,
    MATRIX,
    OF_PEER,
    PEER,
    REDUCE,
    RELAXED_INIT,
    REMADE,
    RING,
    SENT,
    STORED,
    SUMMED,
    SUMS,
    TESTED,
    TO_PEER,
    ZEROED,
    ZEROS,
)
from tests.isel.verifier.function.small_texts import SWAPPED, SYNC, Small, Wrong, wait, words

KERNELS: dict[str, Small] = {
    "handed on and back": Small(HANDED, np.where(np.arange(64) > 31, np.arange(64) - 32, 0), {
        "by one barrier": Wrong(
            [("bar.sync 2", "bar.sync 1"), ("bar.arrive 2", "bar.arrive 1")],
            "barrier/twice", "review", "sim/deadlock"),
        "not back": Wrong(
            [("    bar.sync 2, 64;\n", "")], "shared/race", "error", "sim/race"),
        "by two counts": Wrong(
            [("bar.sync 1, 64", "bar.sync 1, 96")], "barrier/count", "error", "sim/barrier-count"),
    }),
    "a counter": Small(COUNTED, np.where(np.arange(64) == 0, 63 * 32, 0), {
        "that releases nothing": Wrong(
            [("atom.acq_rel", "atom.acquire")], "shared/race", "error", "sim/race"),
        "that acquires nothing": Wrong(
            [("atom.acq_rel", "atom.release")], "shared/race", "error", "sim/race"),
    }),
    "tested": Small(TESTED, SWAPPED, {
        "once": Wrong(
            [("    @!%p9 bra W;\n", "")], "shared/race", "error", "sim/race"),
    }),
    "made again": Small(REMADE, SWAPPED, {
        "while it is valid": Wrong(
            [("    @%p1 mbarrier.inval.shared.b64 [bar];\n", "")],
            "mbarrier.init/again", "error", "sim/mbarrier-valid"),
        "while others may wait": Wrong(
            [("    bar.sync 0;\n    @%p1 mbarrier.inval", "    @%p1 mbarrier.inval")],
            "mbarrier.inval/in-use", "error", "sim/race"),
        "not at all": Wrong(
            [("[bar];\n    @%p1 mbarrier.init.shared.b64 [bar], 64;\n", "[bar];\n")],
            "mbarrier/uninitialized", "error", "sim/mbarrier-uninitialized"),
    }),
    "without completion": Small(EARLY, SWAPPED, {
        "though it is the last": Wrong(
            [("@!%p2 mbarrier.arrive.no", "mbarrier.arrive.no")],
            "mbarrier.arrive/completes", "error", "sim/mbarrier-no-complete"),
    }),
    "a ring": Small(RING, SUMS, {
        "of one mbarrier more": Wrong(
            [("%r11, 3", "%r11, 4")],
            "mbarrier/uninitialized", "review", "sim/mbarrier-uninitialized"),
    }),
    "copied out": Small(STORED, np.arange(64), {
        "without a wait": Wrong(
            [("    cp.async.bulk.wait_group.read 0;\n", "")],
            "cp.async.bulk/exit-pending", "review", "sim/exit-pending"),
        "behind a fence of global memory": Wrong(
            [("fence.proxy.async.shared::cta", "fence.proxy.async.global")],
            "shared/proxy-fence", "error", "sim/proxy-fence"),
        "from between": Wrong(
            [("[words], 256", "[words+8], 256")],
            "cp.async.bulk/shared-alignment", "error", "sim/bulk-alignment"),
    }),
    "copied in": Small(COPIED, SWAPPED, {
        "to between": Wrong(
            [("[words], [%x]", "[words+8], [%x]")],
            "cp.async.bulk/shared-alignment", "error", "sim/bulk-alignment"),
    }),
    "rows of a matrix": Small(MATRIX, np.tile(np.arange(32), 2), {
        "of eight bytes": Wrong(
            [("%r6, 4;", "%r6, 3;")],
            "ldmatrix/shared-alignment", "error", "sim/misaligned"),
        "in half of the room": Wrong(
            [("words[256]", "words[128]")], "st/beyond-shared", "error", "sim/out-of-bounds"),
    }),
    "looked up": Small(LOOKED_UP, np.where(np.arange(64) < 4, np.arange(64), 0), {}),
    "copied by threads": Small(ASYNC, SWAPPED, {
        "to between": Wrong(
            [("cp.async.cg.shared.global [%r6]", "cp.async.cg.shared.global [%r6+4]")],
            "cp.async/shared-alignment", "error", "sim/misaligned"),
        "by more than there is room for": Wrong(
            [(words() + words("more"), words()), ("%t, 16;", "%t, 17;")],
            "cp.async/beyond-shared", "error", "sim/out-of-bounds"),
    }),
    "zeros": Small(ZEROED, ZEROS, {
        "without a barrier": Wrong(
            [("    bar.sync 0;\n", "")], "shared/race", "error", "sim/uninitialized"),
        "of more than there is": Wrong(
            [("%rd3, 256", "%rd3, 264")], "st.bulk/beyond-shared", "error", "sim/out-of-bounds"),
    }),
    "a launch to cancel": Small(CANCELLED, ZEROS, {
        "read too early": Wrong(
            [(wait("W", "bar", "0"), "")], "ld/before-copy", "error", "sim/race"),
        "asked for by all": Wrong(
            [("    @%p1 clusterl", "    clusterl")],
            "clusterlaunchcontrol.try_cancel.async/operand-modified", "error", "sim/race"),
    }),
    "the peer's words": Small(PEER, OF_PEER, {
        "behind a relaxed barrier": Wrong(
            [(f"%r24;\n{SYNC}", f"%r24;\n{SYNC}".replace("arrive", "arrive.relaxed"))],
            "shared/race", "error", "sim/race"),
        "of a CTA that is not there": Wrong(
            [("xor.b32 %r21, %r20, 1", "add.u32 %r21, %r20, 1")],
            "ld/cluster-rank", "error", "sim/cluster-rank"),
    }, ctas=2),
    "behind fences": Small(FENCED, OF_PEER, {
        "of which the first is missing": Wrong(
            [("    fence.acq_rel.cluster;\n    barrier", "    barrier")],
            "shared/race", "error", "sim/race"),
    }, ctas=2),
    "an initialisation that is known": Small(RELAXED_INIT, OF_PEER, {
        "without its fence": Wrong(
            [("    @%p1 fence.mbarrier_init.release.cluster;\n", "")],
            "mbarrier/published", "error", ""),
        "by arrivals that release nothing": Wrong(
            [("mbarrier.arrive.release.cluster", "mbarrier.arrive.relaxed.cluster")],
            "shared/race", "error", "sim/race"),
        "for half of the arrivals": Wrong(
            [("[bar], 64", "[bar], 16")], "mbarrier/too-many-arrivals", "error", "sim/deadlock"),
    }, ctas=2),
    "summed in the cluster": Small(SUMMED, OF_PEER * 2, {
        "two copies in place of two sums": Wrong(
            [(REDUCE, TO_PEER)], f"{TO_PEER.partition('.shared')[0]}/operand-modified", "error",
            "sim/race"),
    }, ctas=2),
    "told to the even CTA": Small(EVEN, OF_PEER * (np.arange(128) < 64), {
        "more arrivals are counted than come": Wrong(
            [("[bar], 128", "[bar], 192")], "mbarrier/arrivals", "error", "sim/deadlock"),
        "without a scope": Wrong(
            [("arrive.release.cluster.shared", "arrive.shared")],
            "mbarrier/scope", "error", "sim/race"),
        "to a wait without a scope": Wrong(
            [(ACQUIRED, "try_wait.parity.shared::cta.b64")],
            "mbarrier/scope", "error", "sim/race"),
    }, ctas=2),
    "sent": Small(SENT, OF_PEER, {
        "by a CTA that has left": Wrong(
            [(f"%r7;\n{SYNC}", "%r7;\n")],
            "cp.async.bulk/exit-pending", "review", "sim/exited-cta"),
    }, ctas=2),
}  # fmt: skip

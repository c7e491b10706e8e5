"""Mistakes of synchronisation, each one edit of a right kernel; see `function_mistakes`."""

from __future__ import annotations

from tests.isel.verifier.function import function_sync_kernels as s
from tests.isel.verifier.function.condition_kernels import FLAG, TWO_PHASES, ZEROED
from tests.isel.verifier.function.function_mistakes import Mistake
from tests.isel.verifier.function.pipeline_kernels import RING_PIPELINE
from tests.isel.verifier.function.role_kernels import EARLY_EXIT, NAMED_BARRIERS, PERSISTENT
from tests.isel.verifier.function.tile_kernels import (
    A_IN_TENSOR_MEMORY,
    LOAD_THEN_MMA,
    STORE_LOAD,
    THREAD0,
    TILE,
    TWO_ISSUERS,
)

_BEFORE, _AFTER = "tcgen05/fence-before", "tcgen05/fence-after"

HANDOVER = {
    # ---- tcgen05.wait ------------------------------------------------------------------------
    "a store is loaded at once": Mistake(
        "tcgen05.st/no-wait", STORE_LOAD, "    $stored;", "", "$store"),
    "wait::ld where wait::st belongs": Mistake(
        "tcgen05.st/no-wait", STORE_LOAD, "    $stored;", "    $loaded;", "$store"),
    "A is stored and not waited for": Mistake(
        "tcgen05.st/no-wait", A_IN_TENSOR_MEMORY, "    $stored;", "", "$store"),
    "the first sum is stored and not waited for": Mistake(
        "tcgen05.st/no-wait", ZEROED, "    $stored;\n    $before;\n    bar.sync 0;",
        "    $before;\n    bar.sync 0;\n    $stored;", "$store"),
    "freed while it is loaded": Mistake(
        "tcgen05.ld/no-wait", STORE_LOAD, "    $loaded;", "", "$load"),
    "given back while it is loaded": Mistake(
        "tcgen05.ld/no-wait", LOAD_THEN_MMA, "    $loaded;\n    $before;\n    $arrive [back];",
        "    $before;\n    $arrive [back];\n    $loaded;", "$load"),
    "given back and never waited for": Mistake(
        "tcgen05.ld/no-wait", EARLY_EXIT, "    $loaded;", "", "$load"),
    "waited for behind the barrier": Mistake(
        "tcgen05.ld/no-wait", TWO_PHASES,
        "    $loaded;\n    $before;\n    bar.sync 0;\n    $after;\n    @%p2 bra WAIT2;",
        "    $before;\n    bar.sync 0;\n    $loaded;\n    $after;\n    @%p2 bra WAIT2;", "$load"),
    "the second load is not waited for": Mistake(
        "tcgen05.ld/no-wait", s.PREFETCH, "    bar.sync 1, 128;\n    $loaded;",
        "    bar.sync 1, 128;\n", "$load", at_nth=1),
    "stored over its own load": Mistake(
        "tcgen05.ld/no-wait", s.OWN_QUARTERS, "    bar.sync 1, 128;\n    $loaded;",
        "    bar.sync 1, 128;\n", "$load"),
    "some accumulator is given back": Mistake(
        "tcgen05.ld/no-wait", PERSISTENT, "    $loaded;", "", "$load"),
    "all results are used": Mistake(
        "tcgen05.ld/no-wait", s.USED_AT_ONCE, "    $loaded;", "", "$load", perhaps=True),
    # ---- order -------------------------------------------------------------------------------
    "multiplied while it is loaded": Mistake(
        "tcgen05.mma/unordered", LOAD_THEN_MMA,
        "BACK:\n    mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p4, [back], 0;\n"
        "    @!%p4 bra BACK;", "BACK:\n\n", "$mma", also=("tcgen05.st/before-completion",)),
    "multiplied while it is stored": Mistake(
        "tcgen05.mma/unordered", A_IN_TENSOR_MEMORY,
        "    bar.sync 0;\n    $after;\n    @%p2 bra WAIT;",
        "\n    $after;\n    @%p2 bra WAIT;", "$mma"),
    "nobody waits for the accumulator": Mistake(
        "tcgen05.mma/unordered", PERSISTENT,
        "TAKEN:\n    $try %p13, [%r37], %r32;\n    @!%p13 bra TAKEN;", "TAKEN:\n\n", "$mma",
        also=("tcgen05.mma/unordered",)),
    # ---- tcgen05.fence -----------------------------------------------------------------------
    "no fence before the arrival": Mistake(
        _BEFORE, LOAD_THEN_MMA, "    $before;\n    $arrive [back];", "\n    $arrive [back];",
        "$arrive [back]"),
    "no fence before a relaxed arrival": Mistake(
        _BEFORE, LOAD_THEN_MMA, "    $before;\n    $arrive [back];",
        "\n    mbarrier.arrive.relaxed.cluster.shared::cta.b64 _, [back];", "arrive.relaxed"),
    "no fence before the barrier": Mistake(
        _BEFORE, ZEROED, "    $before;\n    bar.sync 0;\n    $after;\n    @%p2 bra WAIT;",
        "\n    bar.sync 0;\n    $after;\n    @%p2 bra WAIT;", "bar.sync 0", at_nth=1, perhaps=True),
    "no fence after a relaxed wait": Mistake(
        _AFTER, LOAD_THEN_MMA, "    $after;\n    $mma", "\n    $mma", "$mma"),
    "no fence after the barrier": Mistake(
        _AFTER, ZEROED, "    bar.sync 0;\n    $after;\n    @%p2 bra WAIT;",
        "    bar.sync 0;\n\n    @%p2 bra WAIT;", "$mma", perhaps=True),
    "the fence before the wait": Mistake(
        _AFTER, s.PREFETCH,
        "BACK:\n    $try %p6, [back], 0;\n    @!%p6 bra BACK;\n    $after;",
        "    $after;\nBACK:\n    $try %p6, [back], 0;\n    @!%p6 bra BACK;", "$mma", at_nth=1,
        perhaps=True),
}  # fmt: skip

_WAIT = (
    "WAIT:\n    mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p5, [done], 0;\n"
    "    @!%p5 bra WAIT;\n"
)

COMPLETION = {
    "no fence behind a relaxed wait": Mistake(
        "tcgen05.ld/before-fence", LOAD_THEN_MMA, "    $after;\n    $load {%r24",
        "\n    $load {%r24", "$load", at_nth=1),
    "no fence in the one warp": Mistake(
        "tcgen05.ld/before-fence", s.SINGLE_WARP, "    $after;\n    $load", "\n    $load", "$load"),
    "the next tile is stored at once": Mistake(
        "tcgen05.st/before-completion", s.SINGLE_WARP,
        "    $load {%r22, %r23}, [%r3];\n    $loaded;\n    xor",
        "    $load {%r22, %r23}, [%r3];\n    $loaded; @%p1 $mma [%r3], %rd1, %rd2, $idesc, 1;"
        " @%p1 $commit [done];\n    xor", "$store",
        also=("tcgen05.dealloc/before-completion",)),
    "stored when the counter is full": Mistake(
        "tcgen05.mma/unordered", s.COUNTER,
        "    mov.u32 %r6, 0;\n    $store [%r5], {%r6, %r6};\n    $stored;\n    $before;\n"
        "    bar.warp.sync -1;\n    and.b32 %r7, %r1, 31;\n    setp.eq.u32 %p3, %r7, 0;\n"
        "    @%p3 red.release.cta.shared.add.u32 [slot2], 1;\n",
        "    mov.u32 %r6, 0;\n    and.b32 %r7, %r1, 31;\n    setp.eq.u32 %p3, %r7, 0;\n"
        "    @%p3 red.release.cta.shared.add.u32 [slot2], 1;\n"
        "    $store [%r5], {%r6, %r6};\n    $stored;\n    $before;\n    bar.warp.sync -1;\n",
        "$mma"),
    "a copy is not waited for": Mistake(
        "tcgen05.ld/before-completion", s.COPIED, _WAIT, "WAIT:\n\n\n", "$load"),
    "a copy is not committed": Mistake(
        "tcgen05.cp/no-commit", s.COPIED, "    $commit [done];", "    $arrive [done];",
        "tcgen05.cp"),
    "the commit before the copy": Mistake(
        "tcgen05.cp/no-commit", s.COPIED,
        "    tcgen05.cp.cta_group::1.128x256b [%r6], %rd1;\n    $commit [done];",
        "    $commit [done];\n    tcgen05.cp.cta_group::1.128x256b [%r6], %rd1;", "tcgen05.cp"),
}  # fmt: skip

_RELAXED = "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64"

PIPELINES = {
    "another shape at once": Mistake(
        "tcgen05.mma/not-pipelined", s.SECOND_SHAPE,
        f"TURN:\n    {_RELAXED} %p4, [full], 0;\n    @!%p4 bra TURN;\n    $after;",
        "TURN:\n\n\n", "$mma", at_nth=1),
    "another shape behind the wrong wait": Mistake(
        "tcgen05.mma/not-pipelined", s.SECOND_SHAPE, "%p4, [full], 0;", "%p4, [full], 1;", "$mma",
        at_nth=1),
    "another shape without a fence": Mistake(
        _AFTER, s.SECOND_SHAPE, "    bra TURN;\n    $after;".replace("    bra", "bra"),
        "bra TURN;\n", "$mma", at_nth=1),
    "two warps store to the same half": Mistake(
        "tcgen05.st/unordered", s.OWN_HALVES, "shl.b32 %r7, %r7, 5;", "and.b32 %r7, %r7, 0;",
        "$store"),
    "two warps store to halves that overlap": Mistake(
        "tcgen05.st/unordered", s.OWN_HALVES, "    shl.b32 %r7, %r7, 5;", "", "$store"),
    "copied while it is read": Mistake(
        "tcgen05.cp/not-pipelined", s.COPIED_AGAIN,
        "TURN:\n    $try %p4, [full], 0;\n    @!%p4 bra TURN;\n    $after;", "TURN:\n\n\n",
        "tcgen05.cp", at_nth=1),
    "copied behind the MMA": Mistake(
        "tcgen05.cp/not-pipelined", s.IN_TURN, "    $mma [%r3], [%r6], %rd2, $idesc, 0;",
        "    $mma [%r3], [%r6], %rd2, $idesc, 0;"
        " tcgen05.cp.cta_group::1.128x256b [%r6], %rd1;", "$mma"),
    "copied by one, multiplied by another, at once": Mistake(
        "tcgen05.mma/unordered", s.IN_TURN,
        f"TURN:\n    {_RELAXED} %p4, [full], 0;\n    @!%p4 bra TURN;\n    $after;",
        "TURN:\n\n\n    $after;", "$mma"),
    "two issuers at once": Mistake(
        "tcgen05.mma/unordered", TWO_ISSUERS,
        "TURN:\n    $try %p4, [full], 0;\n    @!%p4 bra TURN;", "TURN:\n\n", "$mma",
        at_nth=1),
    "two issuers without a fence before": Mistake(
        _BEFORE, TWO_ISSUERS, "    $before;\n    $arrive [full];", "\n    $arrive [full];",
        "$arrive [full]"),
    "a flag without a fence before": Mistake(
        _BEFORE, FLAG, "    $before;\n    st.relaxed", "\n    st.relaxed", "st.relaxed"),
    "a flag without a fence after": Mistake(
        _AFTER, FLAG, "bra TURN;\n    $after;", "bra TURN;\n", "$mma", at_nth=1),
    "a copy without a fence after": Mistake(
        _AFTER, s.IN_TURN, "bra TURN;\n    $after;", "bra TURN;\n", "$mma"),
    "A is stored while it is multiplied": Mistake(
        "tcgen05.st/before-completion", A_IN_TENSOR_MEMORY, "WAIT:\n",
        "WAIT: $store [%r6], {%r2, %r1}; $stored; AGAIN:\n", "WAIT: "),
}  # fmt: skip

FREEING = {
    "no barrier before freeing": Mistake(
        "tcgen05.dealloc/in-use", TILE, "    bar.sync 0;\n    @%p1 bra END;",
        "\n    @%p1 bra END;", "$dealloc"),
    "no named barrier before freeing": Mistake(
        "tcgen05.dealloc/in-use", NAMED_BARRIERS, "    bar.sync 3, 160;", "", "$dealloc"),
}  # fmt: skip

OPERANDS = {
    "A is copied again at once": Mistake(
        "cp.async.bulk.tensor/operand-modified", TILE, "    $commit [done];",
        "    $commit [done]; $copy [a_tile], [%rd2, {0, 0}], [full];", "$commit"),
    "A is stored over at once": Mistake(
        "st/operand-modified", TILE, "    $commit [done];",
        "    $commit [done]; st.shared.b32 [a_tile], 0; fence.proxy.async.shared::cta;", "$commit"),
    "B is stored over when one thread has been told too early": Mistake(
        "st/operand-modified", TILE, "    $commit [done];\nWAIT:\n    $try %p4, [done], 0;",
        "    $commit [done]; $arrive [full]; \nWAIT: st.shared.b32 [b_tile], 0;"
        " fence.proxy.async.shared::cta; AGAIN:\n    $try %p4, [done], 0;", "WAIT: "),
    "nobody waits for empty stages": Mistake(
        "cp.async.bulk.tensor/operand-modified", RING_PIPELINE,
        "EMPTY:\n    $try %p7, [%r15], %r11;\n    @!%p7 bra EMPTY;", "EMPTY:\n\n", "$copy",
        also=("cp.async.bulk.tensor/operand-modified",)),
    "an arrival where the commit belongs": Mistake(
        "cp.async.bulk.tensor/operand-modified", RING_PIPELINE, "    $commit [%r44];",
        "    $arrive [%r44];", "$copy", also=("cp.async.bulk.tensor/operand-modified",)),
}  # fmt: skip

PHASES = {
    "the producer begins with parity 0": Mistake(
        "mbarrier/deadlock", RING_PIPELINE, "    mov.u32 %r11, 1;", "    mov.u32 %r11, 0;",
        "$try %p7", also=("mbarrier/deadlock",)),
    "waited for before it is copied": Mistake(
        "mbarrier/deadlock", TILE,
        "    $expect [full], 32768;\n    $copy [a_tile], [%rd2, {0, 0}], [full];\n"
        "    $copy [b_tile], [%rd4, {0, 0}], [full];\nFULL:\n    $try %p3, [full], 0;\n"
        "    @!%p3 bra FULL;\n",
        "FULL:\n    $try %p3, [full], 0;\n    @!%p3 bra FULL;\n    $expect [full], 32768;\n"
        "    $copy [a_tile], [%rd2, {0, 0}], [full];\n"
        "    $copy [b_tile], [%rd4, {0, 0}], [full];\n", "$try %p3",
        also=("mbarrier/deadlock",)),
    "half of the threads counted": Mistake(
        "mbarrier/too-many-arrivals", EARLY_EXIT, "$init [back], 128", "$init [back], 64",
        "$init [back]"),
    "a warp counted as one": Mistake(
        "mbarrier/too-many-arrivals", LOAD_THEN_MMA, "$init [back], 128", "$init [back], 4",
        "$init [back]"),
    "all threads arrive in some stage": Mistake(
        "mbarrier/too-many-arrivals", PERSISTENT, "    @%p6 bra TOLD;", "", "$init [%r71], 4",
        also=("mbarrier/too-many-arrivals",)),
    "an arrival beside the commit": Mistake(
        "mbarrier/ends-early", LOAD_THEN_MMA, "    @%p2 bra WAIT;",
        "    setp.eq.u32 %p9, %r1, 32; @%p9 $arrive [done]; @%p2 bra WAIT;", "$init [done]"),
    "two commits counted as one": Mistake(
        "mbarrier/ends-early", s.TWO_COMMITS, "$init [done], 2", "$init [done], 1",
        "$init [done]"),
    "bytes that no copy brings": Mistake(
        "mbarrier/no-bytes", LOAD_THEN_MMA, "    $arrive [back];",
        "    $arrive [back]; @!%p2 $expect [full], 1024;", "$arrive [back]"),
    "bytes expected elsewhere": Mistake(
        "mbarrier/no-bytes", TILE, "    $expect [full], 32768;",
        "    $arrive [full]; $expect [done], 32768;", "mbarrier.arrive", also=(
            "mbarrier/not-expected",)),
    "bytes that nobody expects": Mistake(
        "mbarrier/not-expected", THREAD0, "    $expect [full], 16384;", "    $arrive [full];",
        "$copy"),
    "bytes of a stage that nobody expects": Mistake(
        "mbarrier/not-expected", RING_PIPELINE, "    $expect [%r17], 32768;",
        "    $arrive [%r17];", "$copy", also=("mbarrier/not-expected",)),
    "the first phase again": Mistake(
        "tcgen05.ld/before-completion", TWO_PHASES, "$try %p6, [done], 1", "$try %p6, [done], 0",
        "$load", at_nth=1),
    "the consumer begins with parity 1": Mistake(
        "tcgen05.mma/before-copy", RING_PIPELINE, "    mov.u32 %r31, 0;", "    mov.u32 %r31, 1;",
        "$mma", also=("mbarrier/first-parity",)),
}  # fmt: skip

MISTAKES = {**HANDOVER, **COMPLETION, **PIPELINES, **FREEING, **OPERANDS, **PHASES}

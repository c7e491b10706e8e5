"""Mistakes of synchronisation, each one edit of a right kernel; see `function_mistakes`."""

from __future__ import annotations

from tests.isel import function_kernels as k
from tests.isel import function_sync_kernels as s
from tests.isel.function_mistakes import Mistake

_BEFORE, _AFTER = "tcgen05/fence-before", "tcgen05/fence-after"

HANDOVER = {
    # ---- tcgen05.wait ------------------------------------------------------------------------
    "a store is loaded at once": Mistake(
        "tcgen05.st/no-wait", k.STORE_LOAD, "    $stored;", "", "$store"),
    "wait::ld where wait::st belongs": Mistake(
        "tcgen05.st/no-wait", k.STORE_LOAD, "    $stored;", "    $loaded;", "$store"),
    "A is stored and not waited for": Mistake(
        "tcgen05.st/no-wait", k.A_IN_TENSOR_MEMORY, "    $stored;", "", "$store"),
    "the first sum is stored and not waited for": Mistake(
        "tcgen05.st/no-wait", k.ZEROED, "    $stored;\n    $before;\n    bar.sync 0;",
        "    $before;\n    bar.sync 0;\n    $stored;", "$store"),
    "freed while it is loaded": Mistake(
        "tcgen05.ld/no-wait", k.STORE_LOAD, "    $loaded;", "", "$load"),
    "given back while it is loaded": Mistake(
        "tcgen05.ld/no-wait", k.LOAD_THEN_MMA, "    $loaded;\n    $before;\n    $arrive [back];",
        "    $before;\n    $arrive [back];\n    $loaded;", "$load"),
    "given back and never waited for": Mistake(
        "tcgen05.ld/no-wait", k.EARLY_EXIT, "    $loaded;", "", "$load"),
    "waited for behind the barrier": Mistake(
        "tcgen05.ld/no-wait", k.TWO_PHASES,
        "    $loaded;\n    $before;\n    bar.sync 0;\n    $after;\n    @%p2 bra WAIT2;",
        "    $before;\n    bar.sync 0;\n    $loaded;\n    $after;\n    @%p2 bra WAIT2;", "$load"),
    "the second load is not waited for": Mistake(
        "tcgen05.ld/no-wait", s.PREFETCH, "    bar.sync 1, 128;\n    $loaded;",
        "    bar.sync 1, 128;\n", "$load", at_nth=1),
    "stored over its own load": Mistake(
        "tcgen05.ld/no-wait", s.OWN_QUARTERS, "    bar.sync 1, 128;\n    $loaded;",
        "    bar.sync 1, 128;\n", "$load"),
    "some accumulator is given back": Mistake(
        "tcgen05.ld/no-wait", k.PERSISTENT, "    $loaded;", "", "$load", perhaps=True),
    "all results are used": Mistake(
        "tcgen05.ld/no-wait", s.USED_AT_ONCE, "    $loaded;", "", "$load", perhaps=True),
    # ---- tcgen05.fence -----------------------------------------------------------------------
    "no fence before the arrival": Mistake(
        _BEFORE, k.LOAD_THEN_MMA, "    $before;\n    $arrive [back];", "\n    $arrive [back];",
        "$arrive [back]", perhaps=True),
    "no fence before a relaxed arrival": Mistake(
        _BEFORE, k.LOAD_THEN_MMA, "    $before;\n    $arrive [back];",
        "\n    mbarrier.arrive.relaxed.cluster.shared::cta.b64 _, [back];", "arrive.relaxed"),
    "no fence before the barrier": Mistake(
        _BEFORE, k.ZEROED, "    $before;\n    bar.sync 0;\n    $after;\n    @%p2 bra WAIT;",
        "\n    bar.sync 0;\n    $after;\n    @%p2 bra WAIT;", "bar.sync 0", at_nth=1, perhaps=True),
    "no fence after a relaxed wait": Mistake(
        _AFTER, k.LOAD_THEN_MMA, "    $after;\n    $mma", "\n    $mma", "$mma"),
    "no fence after the barrier": Mistake(
        _AFTER, k.ZEROED, "    bar.sync 0;\n    $after;\n    @%p2 bra WAIT;",
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
        "tcgen05.ld/before-fence", k.LOAD_THEN_MMA, "    $after;\n    $load {%r24",
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
        "tcgen05.st/before-completion", s.COUNTER,
        "    mov.u32 %r6, 0;\n    $store [%r5], {%r6, %r6};\n    $stored;\n    $before;\n"
        "    bar.warp.sync -1;\n    and.b32 %r7, %r1, 31;\n    setp.eq.u32 %p3, %r7, 0;\n"
        "    @%p3 red.release.cta.shared.add.u32 [slot2], 1;\n",
        "    mov.u32 %r6, 0;\n    and.b32 %r7, %r1, 31;\n    setp.eq.u32 %p3, %r7, 0;\n"
        "    @%p3 red.release.cta.shared.add.u32 [slot2], 1;\n"
        "    $store [%r5], {%r6, %r6};\n    $stored;\n    $before;\n    bar.warp.sync -1;\n",
        "$store"),
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

MISTAKES = {**HANDOVER, **COMPLETION}

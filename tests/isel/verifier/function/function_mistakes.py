"""Kernels with one mistake each: a right kernel, one edit, the rule that it breaks and where.

`at` is a piece of the line that the finding points to.  `also` names findings that the same
mistake brings with it, `perhaps` says that the manual leaves no more than a doubt, `runs` that
kernels are known to do so: a warning.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import Template

from tests.isel.verifier.function.condition_kernels import ALLOC_IN_LOOP, ALLOCATED_IF, PAIR, TWICE
from tests.isel.verifier.function.kernel_text import MNEMONICS
from tests.isel.verifier.function.pipeline_kernels import RING_PIPELINE
from tests.isel.verifier.function.role_kernels import (
    BY_ROW,
    EARLY_EXIT,
    GENERIC_STORES,
    NAMED_BARRIERS,
    PERSISTENT,
    WARPGROUPS,
)
from tests.isel.verifier.function.tile_kernels import (
    COMPOSED,
    PREDICATED,
    SCOPED,
    SINGLE,
    STORE_LOAD,
    THREAD0,
    TILE,
)


@dataclass(frozen=True, slots=True)
class Mistake:
    """`text` with the `nth` occurrence of `old` replaced by `new` breaks `rule` on line `at`."""

    rule: str
    text: str
    old: str
    new: str
    at: str
    nth: int = 0
    at_nth: int = 0
    also: tuple[str, ...] = ()
    perhaps: bool = False
    runs: bool = False

    def broken(self) -> str:
        """The kernel with the mistake."""
        old, new = (Template(x).substitute(MNEMONICS) for x in (self.old, self.new))
        parts = self.text.split(old)
        assert len(parts) > self.nth + 1, f"{old!r} does not occur so often"
        left, right = old.join(parts[: self.nth + 1]), old.join(parts[self.nth + 1 :])
        assert old.count("\n") == new.count("\n"), "lines would move"
        return left + new + right

    def line(self) -> int:
        """The line of the finding, counted from 1."""
        at = Template(self.at).substitute(MNEMONICS)
        lines = [i for i, x in enumerate(self.broken().splitlines(), 1) if at in x]
        return lines[self.at_nth]


_ALLOC = "$alloc [slot]"

MISTAKES = {
    # ---- allocation --------------------------------------------------------------------------
    "never freed": Mistake(
        "tcgen05.alloc/never-freed", TILE, "    $dealloc %r3, 128;", "", _ALLOC),
    "not freed without steps": Mistake(
        "tcgen05.alloc/never-freed", SINGLE, "@%p2 bra FREE;", "@%p2 ret;", _ALLOC),
    "freed if a parameter says so": Mistake(
        "tcgen05.alloc/never-freed", STORE_LOAD, "    $dealloc %r3, 32;",
        "    ld.param.u32 %r9, [steps]; setp.ne.u32 %p9, %r9, 0; @%p9 $dealloc %r3, 32;", _ALLOC),
    "one of two not freed": Mistake(
        "tcgen05.alloc/never-freed", TWICE, "    $dealloc %r4, 32;", "", "$alloc [slot2]"),
    "freed by a warp that has left": Mistake(
        "tcgen05.alloc/never-freed", EARLY_EXIT, "    @%p3 bra ISSUER;",
        "    ld.param.u32 %r9, [steps]; setp.eq.u32 %p9, %r9, 0; @%p9 ret; @%p3 bra ISSUER;",
        _ALLOC),
    "after relinquish": Mistake(
        "tcgen05.alloc/after-relinquish", STORE_LOAD, "    $alloc [slot], 32;\n    $relinquish;",
        "    $relinquish;\n    $alloc [slot], 32;", _ALLOC),
    "second after relinquish": Mistake(
        "tcgen05.alloc/after-relinquish", TWICE, "    $alloc [slot2], 32;\n    $relinquish;",
        "    $relinquish;\n    $alloc [slot2], 32;", "$alloc [slot2]"),
    "relinquished in the loop": Mistake(
        "tcgen05.alloc/after-relinquish", ALLOC_IN_LOOP, "    $dealloc %r3, 32;",
        "    $dealloc %r3, 32; $relinquish;", _ALLOC),
    "relinquished by another warp": Mistake(
        "tcgen05.alloc/after-relinquish", BY_ROW, "    @%p1 bra ALLOCATED;",
        "    setp.ne.u32 %p9, %r2, 1; @%p9 bra OTHER; $relinquish; OTHER: bar.sync 0;"
        " @%p1 bra ALLOCATED;", _ALLOC),
    "read before the barrier": Mistake(
        "tcgen05.alloc/published", TILE,
        "    bar.sync 0;\n    $after;\n    ld.shared.b32 %r3, [slot];",
        "    ld.shared.b32 %r3, [slot];\n    bar.sync 0;\n    $after;", "ld.shared.b32 %r3"),
    "allocated behind the barrier": Mistake(
        "tcgen05.alloc/published", BY_ROW,
        "    @%p1 bra ALLOCATED;\n    $alloc [slot], 64;\nALLOCATED:\n    $before;\n"
        "    bar.sync 0;\n",
        "    $before;\n    bar.sync 0;\n    @%p1 bra ALLOCATED;\n    $alloc [slot], 64;\n"
        "ALLOCATED:\n",
        "ld.u32 %r3"),
    "another named barrier": Mistake(
        "tcgen05.alloc/published", NAMED_BARRIERS, "    bar.sync 1, 160;", "    bar.sync 4, 128;",
        "ld.shared.b32 %r3"),
    "allocated by all warps": Mistake(
        "tcgen05.alloc/warps", TILE, "    @%p1 bra ALLOCATED;", "", _ALLOC),
    "allocated by two warps": Mistake(
        "tcgen05.alloc/warps", PREDICATED, "setp.lt.u32 %p1, %r1, 32;",
        "setp.lt.u32 %p1, %r1, 64;", _ALLOC, also=("tcgen05.dealloc/warps",)),
    "allocated by an even warp": Mistake(
        "tcgen05.alloc/warps", RING_PIPELINE, "    setp.ne.u32 %p2, %r2, 1;",
        "    and.b32 %r7, %r2, 3; setp.ne.u32 %p2, %r7, 1;", _ALLOC,
        also=("tcgen05.dealloc/warps",)),
    "again": Mistake(
        "tcgen05.alloc/again", TWICE, "$alloc [slot2], 32;", "$alloc [slot], 32;",
        "$alloc [slot], 32", also=("tcgen05.dealloc/count",)),
    "again in a loop": Mistake(
        "tcgen05.alloc/again", ALLOC_IN_LOOP, "    $dealloc %r3, 32;\n", "\n", _ALLOC,
        also=("tcgen05.alloc/never-freed",)),
    "unused": Mistake(
        "tcgen05.alloc/unused", TWICE,
        "    $store [%r4], {%r1, %r1};\n    $stored;\n"
        "    $load {%r5, %r6}, [%r3];\n    $load {%r7, %r8}, [%r4];",
        "\n    $stored;\n    $load {%r5, %r6}, [%r3];\n", "$alloc [slot2]"),
    "nothing is used": Mistake(
        "tcgen05.alloc/unused", STORE_LOAD,
        "    $store [%r3], {%r1, %r4};\n    $stored;\n    $load {%r5, %r6}, [%r3];",
        "    mov.u32 %r5, 0;\n\n    mov.u32 %r6, 0;", _ALLOC),
    # ---- freeing -----------------------------------------------------------------------------
    "half of it": Mistake(
        "tcgen05.dealloc/count", TILE, "$dealloc %r3, 128", "$dealloc %r3, 64", "$dealloc"),
    "count in a register": Mistake(
        "tcgen05.dealloc/count", SCOPED, "    $dealloc %r3, %r7;",
        "    shl.b32 %r7, %r7, 1; $dealloc %r3, %r7;", "$dealloc"),
    "counts exchanged": Mistake(
        "tcgen05.dealloc/count", TWICE, "    $dealloc %r3, 64;\n    $dealloc %r4, 32;",
        "    $dealloc %r3, 64;\n    $dealloc %r4, 64;", "$dealloc %r4"),
    "a count for each thread": Mistake(
        "tcgen05.alloc/uniform-columns", STORE_LOAD, "    $alloc [slot], 32;",
        "    setp.lt.u32 %p9, %r1, 9; selp.b32 %r9, 32, 64, %p9; $alloc [slot], %r9;", _ALLOC),
    "a count of odd threads": Mistake(
        "tcgen05.alloc/uniform-columns", STORE_LOAD, "    $alloc [slot], 32;",
        "    and.b32 %r9, %r1, 1; add.u32 %r9, %r9, 1; shl.b32 %r9, %r9, 5; $alloc [slot], %r9;",
        _ALLOC),
    "a slot in a parameter": Mistake(
        "tcgen05.alloc/window", STORE_LOAD, "    $alloc [slot], 32;",
        "    ld.param.u64 %rd9, [out];"
        " tcgen05.alloc.cta_group::1.sync.aligned.b32 [%rd9], 32;", "tcgen05.alloc",
        perhaps=True),
    "a slot for each block": Mistake(
        "tcgen05.alloc/window", STORE_LOAD, "    $alloc [slot], 32;",
        "    ld.param.u64 %rd9, [out]; add.s64 %rd9, %rd9, 256;"
        " tcgen05.alloc.cta_group::1.sync.aligned.b32 [%rd9], 32;", "tcgen05.alloc",
        perhaps=True),
    "freed twice": Mistake(
        "tcgen05.dealloc/twice", STORE_LOAD, "    ld.param.u64 %rd1, [out];",
        "    $dealloc %r3, 32;", "$dealloc", at_nth=1),
    "freed early on one way": Mistake(
        "tcgen05.dealloc/twice", SINGLE, "    @%p2 bra FREE;",
        "    @%p2 $dealloc %r3, 32; @%p2 bra FREE;", "$dealloc", at_nth=1),
    "freed by two warps": Mistake(
        "tcgen05.dealloc/warps", BY_ROW, "    setp.ne.u32 %p5, %r2, 3;",
        "    setp.lt.u32 %p5, %r2, 2;", "$dealloc"),
    "an address inside": Mistake(
        "tcgen05.dealloc/address", TILE, "    $dealloc %r3, 128;",
        "    add.s32 %r40, %r3, 32; $dealloc %r40, 128;", "$dealloc"),
    "the address of the lanes": Mistake(
        "tcgen05.dealloc/address", BY_ROW, "$dealloc %r3, 64", "$dealloc %r5, 64", "$dealloc"),
    "loaded after freeing": Mistake(
        "tcgen05/freed", STORE_LOAD,
        "    $load {%r5, %r6}, [%r3];\n    $loaded;\n    $dealloc %r3, 32;",
        "    $dealloc %r3, 32;\n    $load {%r5, %r6}, [%r3];\n    $loaded;", "$load"),
    "freed on one way": Mistake(
        "tcgen05/freed", STORE_LOAD, "    mov.u32 %r4, 7;",
        "    mov.u32 %r4, 7; ld.param.u32 %r9, [steps]; setp.eq.u32 %p9, %r9, 3;"
        " @!%p9 bra ON; $dealloc %r3, 32; ON:", "$store",
        also=("tcgen05/freed", "tcgen05.dealloc/twice")),
    "freed before the loop ends": Mistake(
        "tcgen05/freed", SINGLE, "    xor.b32 %r5, %r5, 1;",
        "    xor.b32 %r5, %r5, 1; setp.eq.u32 %p9, %r4, 9; @%p9 $dealloc %r3, 32;", "$mma",
        also=("tcgen05/freed", "tcgen05.dealloc/twice")),
    "never allocated": Mistake(
        "tcgen05/unallocated", STORE_LOAD,
        "    $alloc [slot], 32;\n    $relinquish;\n    $before;\n    bar.warp.sync -1;\n    $after;"
        "\n    ld.shared.b32 %r3, [slot];\n    mov.u32 %r4, 7;\n    $store [%r3], {%r1, %r4};"
        "\n    $stored;\n    $load {%r5, %r6}, [%r3];\n    $loaded;\n    $dealloc %r3, 32;",
        "\n\n\n\n\n    mov.u32 %r3, 0;\n\n\n\n    $load {%r5, %r6}, [%r3];\n    $loaded;\n"
        "", "$load"),
    "not allocated on one way": Mistake(
        "tcgen05/unallocated", STORE_LOAD, "    $alloc [slot], 32;",
        "    ld.param.u32 %r9, [steps]; setp.eq.u32 %p9, %r9, 0; @!%p9 $alloc [slot], 32;",
        "$store", also=("tcgen05/unallocated", "tcgen05.dealloc/unallocated")),
    "free for two CTAs": Mistake(
        "tcgen05/cta-groups", TILE, "$dealloc %r3",
        "tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r3", "tcgen05.dealloc"),
    "commit for two CTAs": Mistake(
        "tcgen05/cta-groups", SCOPED, "$commit",
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64", "tcgen05.commit"),
    "relinquish for one CTA": Mistake(
        "tcgen05/cta-groups", PAIR, "tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned",
        "$relinquish", "$relinquish"),
    # ---- completion --------------------------------------------------------------------------
    "commit first": Mistake(
        "tcgen05.mma/no-commit", BY_ROW,
        "    $mma [%r3], %rd1, %rd2, $idesc, 0;\n    $commit [done];",
        "    $commit [done];\n    $mma [%r3], %rd1, %rd2, $idesc, 0;", "$mma"),
    "commit on one way": Mistake(
        "tcgen05.mma/no-commit", SCOPED, "    mov.u32 %r4, done;\n    $commit [%r4];",
        "    ld.param.u32 %r40, [steps]; setp.eq.u32 %p9, %r40, 0; mov.u32 %r4, done;\n"
        "    @%p9 $commit [%r4];", "$mma"),
    "commit by another thread": Mistake(
        "tcgen05.mma/no-commit", BY_ROW, "    $commit [done];\nWAIT:",
        "WAIT:  setp.ne.s32 %p9, %r31, 1;  @!%p9 $commit [done];\nAGAIN:", "$mma"),
    "no commit": Mistake(
        "tcgen05.mma/no-commit", EARLY_EXIT, "    $commit [done];", "    $arrive [done];",
        "$mma"),
    "no wait": Mistake(
        "tcgen05.ld/before-completion", COMPOSED,
        "REST:\n    $try %p6, [full], 0;\n    @!%p6 bra REST;", "REST:\n\n", "$load"),
    "waits for the wrong barrier": Mistake(
        "tcgen05.ld/before-completion", TILE, "$try %p4, [done], 0", "$try %p4, [full], 0",
        "$load"),
    "no wait on one way": Mistake(
        "tcgen05.ld/before-completion", WARPGROUPS,
        "WAIT:\n    $try %p4, [done], 0;\n    @!%p4 bra WAIT;\n",
        "WAIT: ld.param.u32 %r40, [steps]; setp.eq.u32 %p9, %r40, 0; @%p9 bra PAST; WAITING:\n"
        "    $try %p4, [done], 0;\n    @!%p4 bra WAITING; PAST:\n",
        "$load"),
    "asks only once": Mistake(
        "tcgen05.ld/before-completion", BY_ROW, "    @!%p4 bra WAIT;", "", "$load"),
    "leaves the loop too soon": Mistake(
        "tcgen05.ld/before-completion", BY_ROW, "    @!%p4 bra WAIT;", "    @%p4 bra WAIT;",
        "$load"),
    "the other warpgroup": Mistake(
        "tcgen05.ld/before-completion", WARPGROUPS,
        "WAIT:\n    $try %p4, [done], 0;\n    @!%p4 bra WAIT;\n",
        "WAIT: setp.eq.u32 %p9, %r4, 1; @%p9 bra PAST; WAITING:\n"
        "    $try %p4, [done], 0;\n    @!%p4 bra WAITING; PAST:\n", "$load"),
    "the old phase": Mistake(
        "tcgen05.ld/before-completion", TILE, "$try %p4, [done], 0", "$try %p4, [done], 1",
        "$load"),
    "no fence": Mistake(
        "tcgen05.ld/before-fence", TILE, "    $after;\n    shl.b32 %r20", "\n    shl.b32 %r20",
        "$load"),
    "fence before the wait": Mistake(
        "tcgen05.ld/before-fence", RING_PIPELINE,
        "EPILOGUE:\n    $try %p14, [done], 0;\n    @!%p14 bra EPILOGUE;\n    $after;",
        "EPILOGUE:\n    $after;\n    $try %p14, [done], 0;\n    @!%p14 bra EPILOGUE;", "$load"),
    "fence on one way": Mistake(
        "tcgen05.ld/before-fence", BY_ROW, "    $after;",
        "    ld.param.u32 %r40, [steps]; setp.eq.u32 %p9, %r40, 0; @%p9 $after;", "$load", nth=1),
    "the wrong fence": Mistake(
        "tcgen05.ld/before-fence", EARLY_EXIT, "    $after;\n    shl", "    $before;\n    shl",
        "$load"),
    "fence in the issuer only": Mistake(
        "tcgen05.ld/before-fence", PERSISTENT, "    $after;\n    shl.b32 %r17, %r10, 7;",
        "\n    shl.b32 %r17, %r10, 7;", "$load"),
    "read and freed at once": Mistake(
        "tcgen05.ld/before-completion", SINGLE,
        "WAIT:\n    $test %p5, [done], %r5;\n    @!%p5 bra WAIT;\n",
        "\n\n\n", "$load"),
    "freed without wait": Mistake(
        "tcgen05.dealloc/before-completion", EARLY_EXIT,
        "ISSUED:\n    $try %p7, [back], 0;\n    @!%p7 bra ISSUED;", "ISSUED:\n\n", "$dealloc"),
    "an MMA after the last wait": Mistake(
        "tcgen05.dealloc/before-completion", THREAD0, "    $loaded;",
        "    $loaded; @%p1 $mma [%r3], %rd7, %rd7, $idesc, 0; @%p1 $commit [full];", "$dealloc"),
    "freed where nothing was allocated": Mistake(
        "tcgen05.dealloc/unallocated", ALLOCATED_IF,
        "    setp.eq.s32 %p4, %r6, 0;\n    @%p4 bra END;\n    ld.shared.b32 %r3, [slot];\n"
        "    $store [%r3], {%r6, %r6};\n    $stored;\n    setp.ne.s32 %p5, %r6, 0;",
        "    setp.eq.s32 %p4, %r6, 0;\n    ld.shared.b32 %r3, [slot]; @%p4 bra PAST;\n\n"
        "    $store [%r3], {%r6, %r6}; PAST:\n    $stored;\n    setp.ge.u32 %p5, %r6, 0;",
        "$dealloc", also=("tcgen05.alloc/never-freed", "tcgen05.alloc/published")),
    "a condition that changed": Mistake(
        "tcgen05.alloc/never-freed", ALLOCATED_IF, "    setp.ne.s32 %p5, %r6, 0;",
        "    setp.gt.s32 %p5, %r6, 1;", _ALLOC),
    # ---- operands ----------------------------------------------------------------------------
    "copy not waited for": Mistake(
        "tcgen05.mma/before-copy", TILE, "FULL:\n    $try %p3, [full], 0;\n    @!%p3 bra FULL;",
        "FULL:\n\n", "$mma"),
    "copy waited for behind the MMA": Mistake(
        "tcgen05.mma/before-copy", THREAD0,
        "FULL:\n    $try %p2, [full], 0;\n    @%p2 bra GO;\n    bra.uni FULL;\nGO:\n"
        "    $mma [%r3], %rd7, %rd7, $idesc, 0;",
        "    $mma [%r3], %rd7, %rd7, $idesc, 0;\nFULL:\n    $try %p2, [full], 0;\n"
        "    @%p2 bra GO;\n"
        "    bra.uni FULL;\nGO:", "$mma"),
    "copy waited for with the wrong barrier": Mistake(
        "tcgen05.mma/before-copy", THREAD0, "$try %p2, [full], 0", "$try %p2, [done], 1", "$mma"),
    "no wait in the ring": Mistake(
        "tcgen05.mma/before-copy", RING_PIPELINE,
        "FULL:\n    $try %p10, [%r35], %r31;\n    @!%p10 bra FULL;", "FULL:\n\n", "$mma"),
    "no proxy fence": Mistake(
        "shared/proxy-fence", GENERIC_STORES, "    fence.proxy.async.shared::cta;", "",
        "[%r6+2048], {", also=("shared/proxy-fence",)),
    "proxy fence before the stores": Mistake(
        "shared/proxy-fence", GENERIC_STORES,
        "    st.shared.v4.b32 [%r6], {%r1, %r1, %r1, %r1};\n"
        "    st.shared.v4.b32 [%r6+2048], {%r1, %r1, %r1, %r1};\n"
        "    fence.proxy.async.shared::cta;",
        "    fence.proxy.async.shared::cta;\n    st.shared.v4.b32 [%r6], {%r1, %r1, %r1, %r1};\n"
        "    st.shared.v4.b32 [%r6+2048], {%r1, %r1, %r1, %r1};", "[%r6+2048], {",
        also=("shared/proxy-fence",)),
    "proxy fence between the stores": Mistake(
        "shared/proxy-fence", GENERIC_STORES,
        "    st.shared.v4.b32 [%r6+2048], {%r1, %r1, %r1, %r1};\n"
        "    fence.proxy.async.shared::cta;",
        "    fence.proxy.async.shared::cta;\n"
        "    st.shared.v4.b32 [%r6+2048], {%r1, %r1, %r1, %r1};",
        "[%r6+2048], {"),
    "proxy fence on one way": Mistake(
        "shared/proxy-fence", GENERIC_STORES, "    fence.proxy.async.shared::cta;",
        "    ld.param.u32 %r40, [steps]; setp.eq.u32 %p9, %r40, 0; @%p9 bra NO;"
        " fence.proxy.async.shared::cta; NO:", "[%r6+2048], {", also=("shared/proxy-fence",)),
    # ---- who issues --------------------------------------------------------------------------
    "an MMA by the whole warp": Mistake(
        "tcgen05.mma/threads", SINGLE, "    @!%p3 bra ISSUED;", "", "$mma",
        also=("tcgen05.commit/threads",)),
    "an MMA by a lane of each warp": Mistake(
        "tcgen05.mma/threads", WARPGROUPS, "    @%p2 bra WAIT;",
        "    and.b32 %r40, %r1, 31; setp.ne.u32 %p9, %r40, 0; @%p9 bra WAIT;", "$mma",
        also=("tcgen05.commit/threads",)),
    "an MMA by two threads": Mistake(
        "tcgen05.mma/threads", BY_ROW, "    or.b32 %r32, %r1, %r2;",
        "    shr.u32 %r40, %r1, 1; or.b32 %r32, %r40, %r2;", "$mma",
        also=("tcgen05.commit/threads",)),
    "a commit by the whole warp": Mistake(
        "tcgen05.commit/threads", SINGLE, "    $commit [done];\nISSUED:",
        "ISSUED:\n    $commit [done];", "$commit"),
    "a commit by each warp": Mistake(
        "tcgen05.commit/threads", BY_ROW, "    $commit [done];\nWAIT:",
        "WAIT:  setp.ne.s32 %p9, %r1, 0;  @!%p9 $commit [done];\nAGAIN:", "$commit"),
    "a copy by the whole warp": Mistake(
        "tcgen05.cp/threads", SINGLE, "    @!%p3 bra ISSUED;",
        "    tcgen05.cp.cta_group::1.128x256b [%r3], %rd1; @!%p3 bra ISSUED;", "tcgen05.cp"),
    "a copy by two threads": Mistake(
        "tcgen05.cp/threads", SINGLE, "    @!%p3 bra ISSUED;",
        "    setp.lt.u32 %p9, %r1, 2; @%p9 tcgen05.cp.cta_group::1.128x256b [%r3], %rd1;"
        " @!%p3 bra ISSUED;", "tcgen05.cp"),
    "a shift by two threads": Mistake(
        "tcgen05.shift/threads", SINGLE, "    @!%p3 bra ISSUED;",
        "    setp.lt.u32 %p9, %r1, 2; @%p9 tcgen05.shift.cta_group::1.down [%r3];"
        " @!%p3 bra ISSUED;", "tcgen05.shift"),
    "a shift by the whole warp": Mistake(
        "tcgen05.shift/threads", SINGLE, "    @!%p3 bra ISSUED;",
        "    tcgen05.shift.cta_group::1.down [%r3]; @!%p3 bra ISSUED;", "tcgen05.shift"),
    "a commit to a parameter": Mistake(
        "tcgen05.commit/window", SINGLE, "    $commit [done];",
        "    ld.param.u64 %rd9, [out];"
        " tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%rd9];", "tcgen05.commit",
        perhaps=True, also=("mbarrier/arrivals",)),
    "another commit to a parameter": Mistake(
        "tcgen05.commit/window", SINGLE, "    $commit [done];",
        "    ld.param.u64 %rd9, [out]; add.s64 %rd9, %rd9, 8; $commit [done];"
        " tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%rd9];", "commit.cta_group",
        perhaps=True),
    # ---- convergence -------------------------------------------------------------------------
    "half a warp loads": Mistake(
        "tcgen05.ld/aligned", STORE_LOAD, "    $load {%r5",
        "    setp.lt.u32 %p9, %r1, 16; @%p9 $load {%r5", "$load"),
    "one thread allocates": Mistake(
        "tcgen05.alloc/aligned", TILE, "    setp.ne.u32 %p1, %r2, 0;",
        "    setp.ne.u32 %p1, %r1, 0;", _ALLOC, also=("tcgen05.dealloc/aligned",
        "tcgen05.relinquish_alloc_permit/aligned")),
    "the elected thread frees": Mistake(
        "tcgen05.dealloc/aligned", EARLY_EXIT, "    $dealloc %r3, 64;\n    ret;",
        "    @%p6 $dealloc %r3, 64;\n    ret;", "$dealloc"),
    "the elected thread relinquishes": Mistake(
        "tcgen05.relinquish_alloc_permit/aligned", SCOPED, "    $commit [%r4];",
        "    $commit [%r4]; $relinquish;", "$commit"),
    "a barrier among divergent threads": Mistake(
        "bar.sync/aligned", TILE, "    $commit [done];", "    $commit [done]; bar.sync 5, 32;",
        "$commit"),
    "a barrier for odd threads": Mistake(
        "bar.sync/aligned", WARPGROUPS, "    bar.sync 0;\n    @%p1",
        "    and.b32 %r40, %r1, 1; setp.eq.u32 %p9, %r40, 0; @%p9 bar.sync 0;\n    @%p1",
        "@%p9 bar.sync", also=("tcgen05.dealloc/in-use",)),
    "a lane does not wait for its load": Mistake(
        "tcgen05.wait/aligned", STORE_LOAD, "    $loaded;",
        "    setp.ne.u32 %p9, %r1, 31; @%p9 $loaded;", "@%p9 $loaded",
        also=("tcgen05.ld/no-wait",)),
    "a lane has left": Mistake(
        "tcgen05.ld/aligned", STORE_LOAD, "    $load {%r5",
        "    setp.eq.u32 %p9, %r1, 31; @%p9 ret; $load {%r5", "$load",
        also=("tcgen05.wait/aligned", "tcgen05.dealloc/aligned")),
    "a lane has left before it stores": Mistake(
        "tcgen05.st/aligned", STORE_LOAD, "    $store [%r3]",
        "    setp.eq.u32 %p9, %r1, 31; @%p9 ret; $store [%r3]", "$store",
        also=("tcgen05.wait/aligned", "tcgen05.ld/aligned", "tcgen05.dealloc/aligned")),
    "a lane has left before it waits": Mistake(
        "tcgen05.wait/aligned", STORE_LOAD, "    $loaded;",
        "    setp.eq.u32 %p9, %r1, 31; @%p9 ret; $loaded;", "$loaded",
        also=("tcgen05.dealloc/aligned",)),
    "the data decide who stores": Mistake(
        "tcgen05.st/aligned", STORE_LOAD, "    mov.u32 %r4, 7;",
        "    ld.param.u64 %rd9, [out]; mul.wide.u32 %rd8, %r1, 4; add.s64 %rd9, %rd9, %rd8;"
        " ld.global.u32 %r4, [%rd9]; setp.eq.u32 %p9, %r4, 0; @%p9 bra NO;"
        " $store [%r3], {%r1, %r4}; $stored; NO: mov.u32 %r4, 7;", "%p9 bra NO", perhaps=True,
        also=("tcgen05.wait/aligned",)),
    # ---- addresses ---------------------------------------------------------------------------
    "all warps load lanes 0 to 31": Mistake(
        "tcgen05.ld/lane-quarter", TILE, "add.s32 %r21, %r3, %r20", "mov.b32 %r21, %r3", "$load",
        runs=True),
    "sixteen lanes a warp": Mistake(
        "tcgen05.ld/lane-quarter", BY_ROW, "shl.b32 %r4, %r2, 21", "shl.b32 %r4, %r2, 20",
        "$load"),
    "quarters counted from the first warp of the role": Mistake(
        "tcgen05.ld/lane-quarter", RING_PIPELINE, "    and.b32 %r50, %r2, 3;",
        "    sub.u32 %r50, %r2, 2;", "$load"),
    "quarters of the second warpgroup": Mistake(
        "tcgen05.ld/lane-quarter", WARPGROUPS, "    and.b32 %r5, %r2, 3;",
        "    mov.b32 %r5, %r2;", "$load"),
    "the neighbour's lanes, at a column of the turn": Mistake(
        "tcgen05.ld/lane-quarter", PERSISTENT, "    shl.b32 %r19, %r2, 21;",
        "    xor.b32 %r19, %r2, 1; shl.b32 %r19, %r19, 21;", "$load"),
    "a lane for each thread, at a column of the turn": Mistake(
        "tcgen05.ld/uniform-address", PERSISTENT, "    shl.b32 %r19, %r2, 21;",
        "    shl.b32 %r19, %r1, 16;", "$load"),
    "an address for each thread": Mistake(
        "tcgen05.ld/uniform-address", STORE_LOAD, "$load {%r5, %r6}, [%r3]",
        "shl.b32 %r9, %r1, 16; add.s32 %r9, %r3, %r9; $load {%r5, %r6}, [%r9]", "$load"),
    "stored at an address for each thread": Mistake(
        "tcgen05.st/uniform-address", STORE_LOAD, "$store [%r3], {%r1, %r4}",
        "shl.b32 %r9, %r1, 16; add.s32 %r9, %r3, %r9; $store [%r9], {%r1, %r4}", "$store"),
    "stored at a column for each thread": Mistake(
        "tcgen05.st/uniform-address", STORE_LOAD, "$store [%r3], {%r1, %r4}",
        "add.s32 %r9, %r3, %r1; $store [%r9], {%r1, %r4}", "$store"),
    "a register is written while it is loaded": Mistake(
        "tcgen05.ld/register-overwritten", STORE_LOAD, "    $loaded;",
        "    mov.u32 %r5, 1; $loaded;", "$load"),
    "a register is loaded twice at once": Mistake(
        "tcgen05.ld/register-overwritten", STORE_LOAD, "    $loaded;",
        "    $load {%r6, %r5}, [%r3]; $loaded;", "$load"),
    "a register is written behind a branch": Mistake(
        "tcgen05.ld/register-overwritten", STORE_LOAD, "    $loaded;",
        "    ld.param.u32 %r9, [steps]; setp.eq.u32 %p9, %r9, 0; @%p9 bra NO; $loaded;"
        " NO: mov.u32 %r5, 1; $loaded;", "$load", perhaps=True),
    "a column for each thread": Mistake(
        "tcgen05.ld/uniform-address", TILE, "    add.s32 %r21, %r3, %r20;",
        "    add.s32 %r21, %r3, %r20; and.b32 %r40, %r1, 1; add.s32 %r21, %r21, %r40;", "$load"),
    # ---- mbarriers ---------------------------------------------------------------------------
    "not initialised": Mistake(
        "mbarrier/uninitialized", TILE, "    $init [done], 1;", "", "$commit",
        also=("mbarrier/uninitialized",)),
    "not initialised on one way": Mistake(
        "mbarrier/uninitialized", SCOPED, "    mbarrier.init.shared::cta.b64 [%r4], %r5;",
        "    ld.param.u32 %r40, [steps]; setp.eq.u32 %p9, %r40, 0;"
        " @%p9 mbarrier.init.shared::cta.b64 [%r4], %r5;", "$commit"),
    "the wrong one initialised": Mistake(
        "mbarrier/uninitialized", EARLY_EXIT, "    $init [back], 128;",
        "    $init [full], 128;", "$arrive [back]", also=("mbarrier/uninitialized",)),
    "initialised behind the barrier": Mistake(
        "mbarrier/published", WARPGROUPS,
        "    @%p2 bra INITIALISED;\n    $init [done], 1;\nINITIALISED:\n    @%p1 bra ALLOCATED;\n"
        "    $alloc [slot], 128;\n    $relinquish;\nALLOCATED:\n    $before;\n    bar.sync 0;",
        "    @%p1 bra ALLOCATED;\n    $alloc [slot], 128;\n    $relinquish;\nALLOCATED:\n"
        "    $before;\n    bar.sync 0;\n    @%p2 bra INITIALISED;\n    $init [done], 1;\n"
        "INITIALISED:",
        "$try"),
    "initialised by a thread on its own": Mistake(
        "mbarrier/published", BY_ROW, "    ld.u32 %r3, [%rd4];",
        "    @!%p2 $init [back], 128; $arrive [back]; ld.u32 %r3, [%rd4];", "$arrive [back]"),
    "one arrival too few": Mistake(
        "mbarrier/arrivals", TILE, "$init [done], 1", "$init [done], 2", "$init [done]"),
    "a count of threads, arrivals of warps": Mistake(
        "mbarrier/arrivals", PERSISTENT, "$init [%r71], 4", "$init [%r71], 128", "$init [%r71]",
        perhaps=True),
    "all threads counted, one warpgroup arrives": Mistake(
        "mbarrier/arrivals", EARLY_EXIT, "$init [back], 128", "$init [back], 256",
        "$init [back]"),
}  # fmt: skip

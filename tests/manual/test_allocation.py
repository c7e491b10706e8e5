"""9.7.16.7.1, tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit."""

from __future__ import annotations

from tests.manual.rows import Held, Row, Told, kernels, mutants, statements

_ALLOC = "tcgen05.alloc.cta_group::{}.sync.aligned{}.b32 [{}], {};"
_ONE = _ALLOC.format(1, ".shared::cta", "smem", "{}")
_FREE = "tcgen05.dealloc.cta_group::1{}.b32 %r1, {};"
_RELINQUISH = "tcgen05.relinquish_alloc_permit{};"
_BOTH = ".cta_group::1.sync.aligned"

ROWS = (
    Row("syntax: .cta_group has to stand", _ONE.format(32),
        _ONE.format(32).replace(".cta_group::1", ""), "ptx/missing-modifier", refused=True),
    Row("syntax: there is no third group", _ALLOC.format(2, "", "smem", 32),
        _ALLOC.format(3, "", "smem", 32), "ptx/unknown-modifier", refused=True),
    Row("syntax: the address is that of a CTA", _ONE.format(64),
        _ALLOC.format(1, ".shared::cluster", "smem", 64), "ptx/state-spaces", refused=True),
    Row("syntax: the type is .b32", _ONE.format(128), _ONE.format(128).replace(".b32", ".b64"),
        "ptx/types", refused=True),
    Row("at least 32 columns", _ONE.format(256), _ONE.format(0), "tcgen05.alloc/immediate-range",
        refused=True),
    Row("at most 512 columns", _ONE.format(512), _ONE.format(1024),
        "tcgen05.alloc/immediate-range", refused=True),
    Row("at most 512 are freed", _FREE.format(".sync.aligned", 512),
        _FREE.format(".sync.aligned", 1024), "tcgen05.dealloc/immediate-range", refused=True),
    Row(".sync of alloc is mandatory", _ONE.format("%r2"),
        _ONE.format("%r2").replace(".sync", ""), "ptx/missing-modifier", refused=True),
    Row(".aligned of dealloc is mandatory", _FREE.format(".sync.aligned", "%r2"),
        _FREE.format(".sync", "%r2"), "ptx/missing-modifier", refused=True),
    Row(".sync and .aligned of relinquish are mandatory", _RELINQUISH.format(_BOTH),
        _RELINQUISH.format(".cta_group::1"), "ptx/missing-modifier", refused=True),
    Row("PTX ISA notes: 8.6 has it", _ONE.format(32), _ONE.format(32), "tcgen05.alloc/target",
        refused=True, target="sm_90a", elsewhere="sm_100a 8.6"),
    Row("target ISA notes: sm_100 has not", _ONE.format(32), _ONE.format(32),
        "tcgen05.alloc/target", refused=True, target="sm_100", elsewhere="sm_100f 8.8"),
    Row("target ISA notes: families have it from 8.8", _RELINQUISH.format(_BOTH),
        _RELINQUISH.format(_BOTH), "tcgen05.relinquish_alloc_permit/target", refused=True,
        target="sm_100f", ptx="8.6", elsewhere="sm_100f 8.8"),
    Row("target ISA notes: sm_120 has not", _FREE.format(".sync.aligned", 32),
        _FREE.format(".sync.aligned", 32), "tcgen05.dealloc/target", refused=True,
        target="sm_120a", elsewhere="sm_110a"),
)  # fmt: skip

HELD = (
    Held("what is freed is an allocation's address", "tcgen05.dealloc/address",
         ("an address inside", "the address of the lanes")),
    Held("all that is allocated is freed", "tcgen05.alloc/never-freed",
         ("not freed without steps", "freed by a warp that has left", "a condition that changed")),
    Held("as many columns as were allocated", "tcgen05.dealloc/count",
         ("half of it", "count in a register", "counts exchanged")),
    Held("alloc: all threads of the warp give one number of columns",
         "tcgen05.alloc/uniform-columns", ("a count for each thread",)),
    Held("the slot lies in shared memory", "tcgen05.alloc/window", ("a slot in a parameter",)),
    Held("no alloc behind relinquish_alloc_permit, of any thread of the CTA",
         "tcgen05.alloc/after-relinquish",
         ("after relinquish", "second after relinquish", "relinquished in the loop",
          "relinquished by another warp")),
    Held("one value of .cta_group in a kernel", "tcgen05/cta-groups",
         ("free for two CTAs", "commit for two CTAs", "relinquish for one CTA")),
    Held("alloc: all threads of the warp execute it", "tcgen05.alloc/aligned",
         ("one thread allocates",)),
    Held("dealloc: all threads of the warp execute it", "tcgen05.dealloc/aligned",
         ("the elected thread frees",)),
    Held("relinquish: all threads of the warp execute it",
         "tcgen05.relinquish_alloc_permit/aligned", ("the elected thread relinquishes",)),
    Held("its store is a weak one: others read it behind a barrier", "tcgen05.alloc/published",
         ("read before the barrier", "allocated behind the barrier", "another named barrier")),
    Held("what is freed is allocated", "tcgen05.dealloc/unallocated",
         ("freed where nothing was allocated",)),
    Held("and is freed once", "tcgen05.dealloc/twice", ("freed twice", "freed early on one way")),
    Held("what is freed is not used any more", "tcgen05/freed",
         ("loaded after freeing", "freed on one way", "freed before the loop ends")),
    Held("what is used is allocated", "tcgen05/unallocated",
         ("never allocated", "not allocated on one way")),
    Held("no warp still uses what is freed", "tcgen05.dealloc/in-use",
         ("no barrier before freeing", "no named barrier before freeing")),
)  # fmt: skip

TOLD = (
    Told("the number of columns does not increase from one allocation to the next", "9.7.16.7.1",
         ("two_allocations: more than before", "allocated_again: more than before")),
    Told("alloc blocks until as many columns are free", "9.7.16.7.1",
         ("two_allocations: more than there are",)),
    Told("what is used lies in what was allocated", "9.7.16.7.1",
         ("mma_mma: an accumulator behind the end", "cp_ld: a copy behind the end")),
)  # fmt: skip

test_a_sentence_about_a_statement = statements(ROWS)
test_a_sentence_about_a_kernel = kernels(HELD)
test_a_sentence_about_allocations = mutants(TOLD)

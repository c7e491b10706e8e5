"""What the rules about whole functions say of other people's kernels, and what the manual says.

The corpus is that of `real_ptx`, in two tables.  `JUDGED` is of FlashInfer, FlashAttention-4 and
Liger: 206 modules, of which 161 use tcgen05 and 15 wgmma; 163 of these have known blocks.
`LIBRARIES` is of quack, CUTLASS's collective builders, CUB and libcu++: 38 modules, of which 13 use
tcgen05 and 11 wgmma.  All but the one of libcu++ were counted again in the night of 29 November
2026, with every rule as it is (among them those about alignment that a variable does not declare,
numbers in registers, sums that nothing has begun, loads of what nothing writes, and lanes that
arrive for others): no error came that was not there, and those new rules do not speak of them but
for one, of libcu++.  On the afternoon of the 30th, when runs had later clusters and increasing
integers in memory, the 244 modules were counted once more: the errors and warnings are the same,
and reviews were 1,069 more, nearly all of FlashInfer's KDA kernels, which no run had come into
before; of one of these they were read.  Each rule that speaks has a row: in how many modules, how
often, and why.  Of each rule some findings were read in the PTX, not every one; an error here is
one that a reading of the manual confirms, and a review what the manual leaves open, or what only
other arguments than the made-up ones could settle.  `python -m tests.corpora.precision FOLDER`
compares a corpus with the rows of these two.

`UNSEEN` is of kernels that nothing was tuned to: 17 modules of ThunderKittens, 17 of DeepGEMM, 3 of
FlashMLA and 14 of the CuTe DSL's examples, of the heads of their repositories, which `real_ptx`
does not make; counted on 28 November 2026, with the blocks of their hosts.  Before that
day's changes 7 of them had 347 errors, of which 342 were false: 275 where a cluster's barrier took
those who had left for those still missing, 64 about cp.async and a proxy, 3 about what an exit
orders.

Eleven of them, eight of ThunderKittens, two of DeepGEMM and one of FlashMLA, were judged again on
30 November 2026 with every rule as it is: the one error is that of the row, and the reviews are of
its rules but for exit-pending, whose rows count these eleven alone.

`LATER` has the errors alone of 142 modules more, counted in the night to 29 November 2026, with
`.maxntid` as the block: 62 of FlashInfer's other generated kernels, 8 of TileLang's examples, one
of ThunderKittens, and the PTX in NPP (25), NCCL (26), XGBoost (10) and CTranslate2 (10); and of 102
large ones of those above, of flash-linear-attention and of llm.c.  Three modules had 6 errors that
are not there: one kernel is made for one size of an argument, and NPP's volatile loads wait for
nobody.
"""

from __future__ import annotations

from dataclasses import dataclass

# fmt: off


@dataclass(frozen=True, slots=True)
class Judged:
    """What a rule says of the corpus: in how many modules, how often, and why."""

    severity: str
    rule: str
    modules: int
    findings: int
    why: str


_QUARTER = ("warp i of a warpgroup accesses lanes 32 i to 32 i + 31 (tcgen05.ld, access "
            "restrictions); these give lane 0, or the lanes of another warp")
_NO_LANES = ("as the errors; with the warp's quarter added the lane were right, and such kernels "
             "run: whether hardware adds it the manual does not say")
_REGISTERS = ("all that is loaded is used before, which a true dependency orders; it implies no "
              "other order, and the manual asks for tcgen05.wait::ld before columns are handed on "
              "or overwritten (Register dependencies, same thread)")
_AFTER = ("an asynchronous operation behind a wait is ordered by tcgen05.fence::after_thread_sync "
          "alone (Non-pipelined instructions, examples)")
_MADE_UP = ("loops and sizes come from memory or from several arguments, which a run takes to be "
            "alike: other numbers do not halt, or not all of them; flags in global memory may be "
            "set by another cluster")
_GUESSED = ("as the errors, in FlashInfer's MLA: a lane of another warp's quarter, behind branches "
            "on what memory holds")
_UNKNOWN_BLOCK = "the block is not known, and the largest one is judged"

JUDGED = (
    # ---- confirmed by the manual ---------------------------------------------------------------
    Judged("error", "tcgen05.ld/lane-quarter", 9, 187, _QUARTER),
    Judged("error", "tcgen05.st/lane-quarter", 9, 127, _QUARTER),
    Judged("error", "tcgen05.st/uniform-address", 2, 8,
           "all threads of a warp give the same taddr; these add the lane of each thread"),
    Judged("error", "tcgen05.ld/beyond-allocation", 3, 3,
           "256 columns are allocated, and a 16x256b.x4 load begins at column 240: it ends at 271"),
    Judged("error", "tcgen05.alloc/peer", 1, 2,
           "the peer CTA should be active when .cta_group::2 is issued (Issue Granularity), and "
           "the cluster's barrier comes behind the allocation"),
    Judged("error", "setmaxnreg.dec/warpgroup", 2, 6,
           "all warps of a warpgroup execute the same setmaxnreg; here some of them execute none, "
           "or one with another count, in a branch of their own"),
    Judged("error", "setmaxnreg.inc/warpgroup", 1, 1, "as setmaxnreg.dec"),
    Judged("warning", "setmaxnreg.dec/warpgroup", 8, 18,
           "each warp of a warpgroup executes one, in a branch of its own: the manual asks for the "
           "same instruction"),
    Judged("warning", "tcgen05.ld/lane-quarter", 7, 28, _NO_LANES),
    Judged("warning", "tcgen05.st/lane-quarter", 1, 8, _NO_LANES),
    Judged("warning", "setmaxnreg.dec/ignored", 117, 117,
           "no .maxnreg and no .minnctapersm: ptxas says so (C7508), and leaves it out"),
    # ---- what the manual asks for, and hardware may not need -----------------------------------
    Judged("review", "tcgen05.ld/no-wait", 149, 1175, _REGISTERS),
    Judged("review", "tcgen05/fence-before", 149, 623,
           "columns are handed on by a wait::st or wait::ld and an arrival, without "
           "tcgen05.fence::before_thread_sync (Non-pipelined instructions, different thread)"),
    Judged("review", "tcgen05/fence-after", 140, 469, _AFTER),
    Judged("review", "tcgen05.ld/before-fence", 30, 54, _AFTER),
    Judged("review", "tcgen05.st/before-fence", 24, 37, _AFTER),
    Judged("review", "tcgen05.mma/overwrites-operand", 13, 208,
           "the sum of an MMA lies over the A that an earlier one reads; pipelined are MMAs with "
           "the same accumulator only (Pipelined tcgen05 Instructions)"),
    Judged("review", "tcgen05.cp/not-pipelined", 3, 472,
           "scale factors are copied over those that an MMA was given: cp behind mma is no pair"),
    Judged("review", "shared/proxy-fence", 1, 16,
           "cp.async writes through the generic proxy, tcgen05.mma reads through the async one"),
    Judged("review", "tcgen05.ld.red/register-overwritten", 1, 1,
           "the largest score is compared with another one where a branch has passed by all reads "
           "of the load and tcgen05.wait::ld"),
    Judged("review", "tcgen05.ld/register-overwritten", 6, 17,
           "scores outside of a mask are set to -inf, or the next are loaded, where a branch has "
           "passed by all reads of the last load and tcgen05.wait::ld"),
    Judged("review", "mbarrier.arrive.expect_tx/other-threads", 1, 43,
           "all threads of a warp store scale factors, and one of them arrives for all"),
    Judged("review", "mbarrier.arrive/other-threads", 59, 163,
           "the threads of a warp load or store (in FlashKDA a proxy fence follows), and one "
           "that elect.sync chooses arrives: bar.warp.sync is what orders the others' accesses"),
    Judged("review", "mbarrier.init/fence", 1, 1,
           "no fence.mbarrier_init between the initialisation and a barrier of the CTA, behind "
           "which another CTA may see it"),
    Judged("review", "tcgen05.commit/peer-exit", 12, 138,
           "commits tell both CTAs of a pair that a stage is read; nobody waits for the last ones"),
    Judged("review", "cp.reduce.async.bulk/exit-pending", 1, 1,
           "in FlashAttention-4's backward pass the last sums are in no group as the kernel ends: "
           "cp.async.bulk.wait_group waits for those that were committed"),
    # ---- what a run cannot settle --------------------------------------------------------------
    Judged("review", "mbarrier/deadlock", 12, 23, _MADE_UP),
    Judged("review", "sync/deadlock", 3, 8, _MADE_UP),
    Judged("review", "mbarrier/phase-missed", 3, 4, _MADE_UP),
    Judged("review", "cp.async.bulk.tensor/operand-modified", 2, 12,
           "how many stages are full at first stands in a table of parameters"),
    Judged("review", "wgmma.mma_async/before-copy", 2, 8,
           "how many stages are full at first stands in a table of parameters"),
    Judged("review", "wgmma.fence/warpgroup", 2, 2,
           "a condition from shared memory that each warp might decide for itself"),
    Judged("review", "shared/lanes", 4, 46,
           "lanes of a warp hand words to each other, by cp.async, and by stores behind loads of "
           "the same words, without bar.warp.sync, which alone orders them"),
    Judged("review", "shared/race", 2, 11,
           "results lie where the next turn's tile is copied to; whether each way passes a barrier "
           "between the two was not settled by reading"),
    Judged("review", "cp.async.bulk.tensor/before-copy", 1, 4,
           "FlashAttention-4's backward pass for sm_90a, where every size is 0: nothing is "
           "multiplied, and sums are stored where copies that nobody has waited for bring tiles"),
    Judged("review", "tcgen05.mma/unordered", 1, 1,
           "FlashKDA's chain of 16 multiplies over the A that another warp's multiply reads; which "
           "of the arrivals that its wait counts orders the two was not settled by reading"),
    Judged("review", "tcgen05.dealloc/twice", 1, 1,
           "a run that guesses comes to it twice; what memory holds decides whether one can"),
    Judged("review", "tcgen05.ld/aligned", 1, 32, _UNKNOWN_BLOCK),
    Judged("review", "tcgen05.ld/uniform-address", 3, 125,
           "as the errors; the block is not known, or memory decides whether a warp comes there"),
    Judged("review", "tcgen05.ld/lane-quarter", 8, 70, _GUESSED),
    Judged("review", "tcgen05.st/lane-quarter", 6, 12, _GUESSED),
    Judged("review", "tcgen05.ld.red/lane-quarter", 2, 3, _GUESSED),
)  # fmt: skip
"""By severity: what is confirmed, what the manual asks for, and what is open."""


LIBRARIES = (
    Judged("warning", "cp.async/declared-alignment", 1, 1,
           "aligned_size_t<16> promises 16 bytes of an array of float, which is declared with 4"),
    Judged("review", "tcgen05.ld/before-fence", 11, 11,
           "behind the wait for the MMA's mbarrier stands no tcgen05.fence::after_thread_sync "
           "(Canonical synchronization patterns)"),
    Judged("review", "tcgen05.cp/not-pipelined", 3, 13,
           "scale factors are copied over those that an MMA or another copy was given: cp behind "
           "mma or cp is no pair"),
    Judged("review", "tcgen05/fence-after", 3, 9, _AFTER),
    Judged("review", "tcgen05.ld/no-wait", 1, 7, _REGISTERS),
    Judged("review", "tcgen05.ld/register-overwritten", 1, 8,
           "CUTLASS's stream-K loads the next tile's sums without tcgen05.wait::ld where a branch "
           "has passed by the wait for the last; others decide whether those were read"),
    Judged("review", "mbarrier/published", 1, 1, "as mbarrier.init/fence"),
    Judged("review", "cp.async.bulk/operand-modified", 1, 1,
           "in CUB's transform, of a size of tiles in memory that no shared memory has"),
    Judged("review", "mbarrier.init/fence", 4, 7,
           "CUTLASS makes the mbarrier of a pair's deallocation behind fence.mbarrier_init, and "
           "arrives at the cluster's barrier behind it with .relaxed; CUB and libcu++ have no "
           "fence between mbarrier.init and cp.async.bulk"),
    Judged("review", "wgmma.fence/warpgroup", 2, 2,
           "what comes next stands in memory that each warp reads for itself: the sizes of groups, "
           "or what a warp that schedules tells"),
)  # fmt: skip
"""Of libraries of kernels and of the device."""

UNSEEN = (
    Judged("error", "mbarrier/phase-missed", 1, 4,
           "all warps wait by parity for a tile, and one thread goes on to the next without them"),
    Judged("error", "tcgen05.alloc/peer", 1, 1,
           "a pair's tensor memory is allocated before the cluster's first barrier"),
    Judged("warning", "setmaxnreg.dec/ignored", 2, 2, "as in FlashInfer"),
    Judged("warning", "setmaxnreg.dec/warpgroup", 1, 4, "as in FlashInfer"),
    Judged("warning", "tcgen05.ld/lane-quarter", 6, 92, _NO_LANES),
    Judged("warning", "tcgen05.st/lane-quarter", 2, 56, _NO_LANES),
    Judged("review", "cp.async.bulk.tensor/exit-pending", 5, 28,
           "nobody waits for the last stores before the CTA ends: of groups one may be left at "
           "each cp.async.bulk.wait_group.read, and none follows the loop"),
    Judged("review", "cp.async.bulk/exit-pending", 1, 2, "as cp.async.bulk.tensor/exit-pending"),
    Judged("review", "barrier.cluster.arrive/no-wait", 4, 18,
           "one thread of a warp waits for the cluster, and the others leave"),
    Judged("review", "mbarrier.arrive/other-threads", 10, 41,
           "lane 0 arrives behind loads of the whole warp, without bar.warp.sync"),
    Judged("review", "mbarrier.arrive/peer-exit", 2, 16,
           "a producer tells the other CTA that it has read what comes next; nobody there waits "
           "for the last time"),
    Judged("review", "mbarrier.init/fence", 5, 19, "no fence.mbarrier_init before the barrier"),
    Judged("review", "mbarrier/deadlock", 1, 1, _MADE_UP),
    Judged("review", "shared/proxy-fence", 1, 64,
           "cp.async writes what wgmma reads; of which proxy it is the manual does not say"),
    Judged("review", "tcgen05.cp/not-pipelined", 2, 9, "as in LIBRARIES"),
    Judged("review", "tcgen05.dealloc/before-completion", 1, 1,
           "the other warps have left, which the cluster's barrier waits for: whether an exit "
           "orders anything the manual does not say"),
    Judged("review", "tcgen05.dealloc/in-use", 1, 1, "as tcgen05.dealloc/before-completion"),
    Judged("review", "tcgen05.dealloc/peer", 1, 1, "as tcgen05.dealloc/before-completion"),
    Judged("review", "tcgen05.ld/before-fence", 17, 31, _AFTER),
    Judged("review", "tcgen05.ld/no-wait", 8, 9, _REGISTERS),
    Judged("review", "tcgen05.st/before-fence", 1, 16, _AFTER),
    Judged("review", "wgmma.fence/warpgroup", 2, 2,
           "what comes next stands in memory that each warp reads for itself"),
)  # fmt: skip
"""Of kernels that nothing was tuned to."""

LATER = (
    Judged("error", "tcgen05.ld/lane-quarter", 3, 68,
           "FlashInfer's DeepGEMM: in the second CTA of a pair the lane is 128 more than the "
           "warp's first, beyond the 128 that there are, since the rank is part of the row"),
    Judged("error", "mbarrier/phase-missed", 3, 44,
           "the four warps of TileLang's producer wait by parity for an empty stage, one of them "
           "fills it, and the others do not arrive: one that comes two phases late waits for ever"),
    Judged("error", "shared/race", 4, 75,
           "NPP's union-find reads labels that another warp writes in the same phase, and in its "
           "watershed two threads write one corner where the image ends inside of a tile; llm.c's "
           "backward attention clears sums in one warp and stores them in others"),
    Judged("error", "wgmma.mma_async/fence", 2, 8,
           "in flash-linear-attention's kernels LLVM puts the moves that fill accumulators between "
           "wgmma.fence and the multiply"),
    Judged("error", "cp.async/operand-modified", 1, 8,
           "Triton's loop copies over a matrix that a multiply reads, behind wgmma.wait_group 2 "
           "with two groups committed"),
)  # fmt: skip
"""Errors of modules that came when the rules were as they are, but for two."""

LESSONS = (
    Judged("error", "tcgen05.alloc/peer", 18, 20, "as in JUDGED"),
    Judged("error", "tcgen05.ld/lane-quarter", 3, 80, "as in LATER: the rank is part of the lane"),
    Judged("error", "wgmma.mma_async/fence", 1, 32,
           "as in LATER, in the CuTe DSL's persistent GEMM for Hopper"),
    Judged("error", "mbarrier.init/again", 1, 17,
           "for each tile the mbarriers are made again, without mbarrier.inval (mbarrier.init)"),
    Judged("error", "mbarrier/phase-missed", 4, 12, "as in UNSEEN"),
    Judged("error", "mbarrier.inval/in-use", 1, 1,
           "thread 0 invalidates what the other warps may still wait for"),
    Judged("error", "st/source-modified", 2, 4,
           "the first stores of a tile wait for no store of the tile before"),
    Judged("error", "setmaxnreg.dec/warpgroup", 2, 2, "as in JUDGED"),
    Judged("error", "tcgen05.alloc/published", 1, 1,
           "all warps read the address behind one warp's allocation, without a barrier"),
    Judged("error", "cp.async.bulk.tensor/operand-modified", 1, 1,
           "a loop over K copies over the one stage that a multiply reads"),
    Judged("error", "cp.async/operand-modified", 1, 1,
           "TileLang's loop copies over the stage that a multiply has just been given"),
    Judged("error", "ld/before-copy", 1, 1,
           "CTA 0 waits for the bytes of both, and tells CTA 1 by barrier.cluster.arrive.relaxed"),
)  # fmt: skip
"""Errors of 110 modules, counted on 30 November 2026 with `.maxntid` or `.reqntid` as the block: 59
of MatmulTutorial, learn-cuda and cuda_hgemm, 30 of the CuTe DSL's primitives and their lessons, 19
of its other examples (which of them UNSEEN has is not known), 2 of TileLang; 48 use tcgen05, 13
wgmma.  29 have these 172 errors, most of them mistakes of lessons: of each rule some were read in
source or PTX and confirmed by the manual, the rest are alike.  Before that day's changes 13 modules
had 24 false errors, of which 16 took mbarriers' addresses from local memory, and two more were
judged for ever."""

PROGRAMS = (
    Judged("error", "mbarrier/published", 1, 15,
           "CUTLASS's mixed-input GEMM for Blackwell (example 86) makes two mbarriers behind its "
           "last fence.mbarrier_init and arrives at the cluster's barrier with .relaxed: nothing "
           "orders that before the arrivals of other warps"),
    Judged("error", "shared/race", 2, 6,
           "sosfil's threads store over what the next thread reads, across warps (5); CUTLASS's "
           "FP4 GEMV (example 91) goes from one batch to the next without a barrier where K has no "
           "whole tile (1)"),
)  # fmt: skip
"""Errors of 306 modules, counted on 30 November 2026 with the block of the launch, as programs gave
it to a CUDA runtime that only notes it, or `.maxntid`: 174 of HeCBench's programs, 49 of the CUDA
samples, 47 of CUTLASS's examples, 36 of llama.cpp's kernels; 8 use tcgen05, 10 wgmma.  Before that
day's changes 17 errors more, in four modules, were false: 11 where threads leave a warp whose other
threads meet at barriers, 4 where a warp comes to either of two setmaxnreg, 2 where an argument
places what is left over of an unrolled loop.  Of mbarrier/published three were read in the PTX,
the rest are alike; of the 189 modules counted before the changes only those with errors were
counted again.  19 more of sosfil's were false: its arrays overlap where it has fewer sections than
threads, which its caller never has."""

LANGUAGES = (
    Judged("error", "wgmma.mma_async/fence", 3, 56,
           "as in LATER, in three more GEMMs of the CuTe DSL for Hopper"),
    Judged("error", "shared/race", 1, 10,
           "the CuTe DSL's HSTU attention for Ampere: without keys nobody waits for the copies of "
           "Q before the epilogue stores over them"),
    Judged("error", "mbarrier/published", 1, 10,
           "in a task-scheduling lesson of the CuTe DSL the warp that loads comes to mbarriers of "
           "another warp without a barrier"),
    Judged("error", "setmaxnreg.dec/warpgroup", 2, 8,
           "as in JUDGED: one warp of a warpgroup asks for 24 registers, the others for 96"),
    Judged("error", "tcgen05.st/uniform-address", 1, 8, "as in JUDGED"),
    Judged("error", "tcgen05.ld/uniform-address", 1, 4, "as in JUDGED"),
    Judged("error", "tcgen05.mma/idesc-k96", 1, 8,
           "K = 96 with M = 128 on one CTA, in the CuTe DSL's grouped GEMM for sm_103a: the table "
           "of shapes has it for pairs with M = 256 alone; ptxas accepts both"),
    Judged("error", "mbarrier.init/again", 5, 7,
           "tests of libcu++ make a barrier where the one before has not been invalidated"),
    Judged("error", "mbarrier.inval/in-use", 2, 2, "as in LESSONS, in tests of libcu++"),
    Judged("error", "mbarrier/phase-missed", 2, 5,
           "TileLang's producer as in LATER (4); a lesson of Gluon tells the buffer behind the one "
           "that it has read (1)"),
    Judged("error", "tcgen05.dealloc/in-use", 3, 4,
           "one warp frees without a barrier with the others, which still load: in two attentions "
           "of the CuTe DSL and in one of TileLang"),
    Judged("error", "tcgen05.dealloc/before-completion", 2, 2, "as tcgen05.dealloc/in-use"),
    Judged("error", "shared/proxy-fence", 2, 2,
           "tests of Gluon store a tile from threads and by TMA, without fence.proxy.async"),
    Judged("error", "cp.async.bulk.tensor/operand-modified", 1, 2,
           "TileLang's attention gives a stage back behind a multiply that has only been issued"),
)  # fmt: skip
"""Errors of 223 modules that are in none of the tables above, counted on 30 November 2026 with the
block that they state, or their tests: 126 of Gluon's and Triton's lessons and tests (Triton 3.6),
86 of the CuTe DSL's examples (4.8.1), 3 of TileLang's (0.1.15), 7 of libcu++'s tests, one of
nvdiffrast; 78 use tcgen05, 41 wgmma.  20 have these 128 errors: some of each rule were read in the
PTX or in the source, and none was found false.  One kind of review was wrong, and is mended: the 16
lanes that .16x32bx2 accesses were taken for 32."""

HELION = (
    Judged("error", "wgmma.mma_async/a-in-flight", 1, 1,
           "Triton leaves a multiply with A in registers in flight, and ldmatrix of the next turn "
           "loads the same registers (wgmma.wait_group); ptxas unrolls the loop and takes others"),
)  # fmt: skip
"""Errors of 48 modules of Helion 0.2.9 (Triton 3.6) as LLVM IR, counted on 30 November 2026:
add, GELU, softmax, sums, norms, cross entropy and matrix products in several configurations."""

PACKAGES = (
    Judged("error", "shared/race", 6, 23,
           "vLLM's Marlin loads the next stage of B, which is not used behind the last turn, while "
           "other warps store sums over it; Marlin 2:4 goes from one slice to the next without a "
           "barrier, and copies over what is still stored to C"),
    Judged("error", "wgmma.mma_async/fence", 2, 8, "as in LATER"),
    Judged("error", "stmatrix/source-modified", 2, 6,
           "cuDNN's frontend, GEMM with SwiGLU: a wait leaves three groups of stores, and C has "
           "two stages"),
    Judged("error", "st/source-modified", 2, 4,
           "TransformerEngine's cast_fp8_1D: one thread waits until the buffer has been read, "
           "behind the last barrier that the others pass before they write to it"),
    Judged("error", "tcgen05.dealloc/warps", 4, 4,
           "cuDNN's frontend, block-scaled GEMM with amax: four warps free the same columns"),
    Judged("error", "tcgen05.dealloc/twice", 1, 1, "as tcgen05.dealloc/warps"),
)  # fmt: skip
"""Errors of 393 modules that are in none of the tables above, counted on 30 November 2026 with
`.reqntid`, `.maxntid` or the block of the host's code: the PTX in packages (TransformerEngine 2.1
145, vLLM 0.11 with its FlashAttention-2 49, bitsandbytes 0.50 32, xformers 0.0.29 28, RAFT 22,
torchao 7), compiled 66 of cuDNN's frontend and one of FlashInfer by the CuTe DSL 4.8.1, and 43 of
flash-linear-attention 0.6 by Triton 3.6; 66 use tcgen05, 7 wgmma.  16 have these 46 errors: some of
each rule were read in the PTX or in the source, and none of these is false.  4 errors and 2
warnings of two GEMMs of cuDNN's frontend were false: what two CTAs bring to a stage was matched
with another stage in the order of time, in which the two alternate."""

GENERATED = (
    Judged("error", "tcgen05.cp/not-pipelined", 2, 14,
           "FlashInfer's GEMMs for sm_103a copy scale factors over those of an earlier copy, whose "
           "end nobody has waited for: cp behind cp is no pair"),
    Judged("error", "tcgen05.mma/idesc-k96", 1, 8, "as in LANGUAGES"),
    Judged("error", "tcgen05.ld/lane-quarter", 1, 4, "as in LATER: the rank is part of the lane"),
    Judged("error", "wgmma.mma_async/fence", 1, 3,
           "as in LATER, in a GEMM of quack's whose A is scaled in registers"),
    Judged("error", "tcgen05.alloc/peer", 2, 2, "as in UNSEEN"),
    Judged("error", "tcgen05.alloc/published", 2, 2,
           "DeepGEMM's pairs tell the address by barrier.cluster.arrive.relaxed, which orders "
           "nothing"),
    Judged("error", "tcgen05.mma/idesc-reserved", 1, 2,
           "bit 31 of the descriptor of kind::mxf8f6f4, which is reserved, is 1"),
    Judged("error", "tcgen05.mma/not-pipelined", 1, 2,
           "sums of N = 64 lie over two of N = 32 that nobody has waited for: pipelined are those "
           "with the same shape"),
)  # fmt: skip
"""Errors of 293 modules counted on 30 November 2026 with `.reqntid` or `.maxntid`: 154 of the
kernels that FlashInfer 0.7.4 has as CUDA C++, of families that are in none of the tables above, 15
of DeepGEMM (the head of June 2026, other instantiations than UNSEEN has) by nvcc 13.5, 57 of
quack's tests (0.6.4, CuTe DSL 4.8.1), and 67 out of packages: cuDSS 1.0 33, cuEquivariance 0.13 13,
cuStateVec 1.15 9, Warp 1.19 6, cuTENSOR 2.8 5, DeepSpeed's kernels one; 181 use tcgen05, 48 wgmma.
9 have these 37 errors: some of alloc/published, mma/not-pipelined and idesc-reserved were read in
PTX; of cp/not-pipelined, wgmma's fence and lane-quarter only the messages.  None is known to be
false.  Before that day's changes 54 errors more, in six modules, were false: 48 counted arrivals of
two warpgroups that take turns at the buffers of a ring, and of 6 arguments or memory decide whether
threads meet, or how many bytes come; and the PTX of 4 modules was refused, which multiplies four
FP8 numbers at once."""

TABLES: dict[tuple[str, ...], tuple[Judged, ...]] = {
    ("flashinfer", "fa4", "liger"): JUDGED,
    ("quack", "collective", "cub", "libcu"): LIBRARIES,
}
"""By producers."""

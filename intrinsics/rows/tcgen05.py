"""tcgen05 but for the matrix multiply: allocation, load, store, wait, fence, commit.

PTX ISA, TensorCore 5th Generation Family Instructions.
"""

from __future__ import annotations

from collections.abc import Mapping

from intrinsics import limits
from intrinsics.modifiers import (
    CtaGroup,
    Exclusive,
    LdStNum,
    LdStShape,
    Multicast,
    Pack,
    ScalarType,
    Space,
    SyncRestrict,
    ThreadSync,
    Unpack,
    WaitOp,
)
from intrinsics.row import (
    Access,
    Attribute,
    By,
    Code,
    Completion,
    Count,
    Effect,
    Effects,
    IssueScope,
    Llvm,
    Numbers,
    Row,
    VectorNumbers,
    address,
    number,
    per,
    tensor_address,
    value,
    vector,
    when,
)
from intrinsics.targets import Feature, since, with_feature

TCGEN05 = since("8.6", Feature.HAS_TMEM)
"""Where the family exists."""

ARCH_CONDITIONAL = with_feature(Feature.HAS_TMEM | Feature.HAS_ARCH_CONDITIONAL)
"""Targets for what only exactly one architecture has."""

EXTENDED = since("9.4", Feature.HAS_TCGEN05_EXTENSIONS)
"""Where what PTX 9.4 adds to the family exists."""


def conditional(op: str) -> str:
    """The message of back-end verifiers about a target without tensor memory."""
    return (
        f"{op} supported only on arch-conditional or family-conditional variants "
        "from SM100 onwards."
    )


CG = {"cta_group": {"cg1": CtaGroup.ONE, "cg2": CtaGroup.TWO}}
"""How LLVM's names spell .cta_group."""

COLUMNS = Numbers(limits.FEWEST_COLUMNS, limits.COLUMNS, multiple=32, power_of_two=True)
"""Columns of an allocation: a power of 2 in 32..512."""

_EXCLUSIVE_COLUMNS = Numbers(high=(1 << 32) - 1, multiple=32, nonzero=True)
_NCOLS = By("exclusive", {Exclusive.EXCLUSIVE: _EXCLUSIVE_COLUMNS}, COLUMNS)

_WARP = Effect.CONVERGENT | Effect.ALIGNED
_ALLOCATES = Effects(_WARP | Effect.WRITES_MEMORY | Effect.BARRIER, IssueScope.WARP)
_EXCLUSIVE = when(exclusive=Exclusive.EXCLUSIVE).needs(
    "exclusive-version", since("9.4", Feature.HAS_TMEM)
)

# fmt: off
ALLOC = Row(
    "tcgen05.alloc", ".cta_group.sync.aligned{.space}{.exclusive}.b32", "[dst], ncols",
    qualifiers={"cta_group": CtaGroup, "space": (Space.SHARED_CTA,), "exclusive": Exclusive},
    operands=(address("dst", "space", wide=True), value("ncols", ScalarType.U32, _NCOLS)),
    section="tcgen05.alloc",
    needs=TCGEN05, needs_text=conditional("tcgen05.alloc"),
    rules=(_EXCLUSIVE,),
    effects=_ALLOCATES,
    llvm=(
        Llvm("tcgen05.alloc.{cta_group}", "p:dst, i32:ncols", holes=CG),
        Llvm("tcgen05.alloc.shared.{cta_group}", "p3:dst, i32:ncols", holes=CG,
             given={"space": Space.SHARED_CTA}),
        Llvm("tcgen05.alloc.exclusive.{cta_group}", "p:dst, i32:ncols", holes=CG,
             given={"exclusive": Exclusive.EXCLUSIVE}, own=True),
        Llvm("tcgen05.alloc.exclusive.shared.{cta_group}", "p3:dst, i32:ncols", holes=CG,
             given={"space": Space.SHARED_CTA, "exclusive": Exclusive.EXCLUSIVE}, own=True),
    ),
)

DEALLOC = Row(
    "tcgen05.dealloc", ".cta_group.sync.aligned{.exclusive}.b32", "taddr, ncols",
    qualifiers={"cta_group": CtaGroup, "exclusive": Exclusive},
    operands=(value("taddr", ScalarType.U32), value("ncols", ScalarType.U32, _NCOLS)),
    section="tcgen05.dealloc",
    needs=TCGEN05, needs_text=conditional("tcgen05.dealloc"),
    rules=(_EXCLUSIVE,),
    effects=_ALLOCATES,
    llvm=(
        Llvm("tcgen05.dealloc.{cta_group}", "p6:taddr, i32:ncols", holes=CG),
        Llvm("tcgen05.dealloc.exclusive.{cta_group}", "p6:taddr, i32:ncols", holes=CG,
             given={"exclusive": Exclusive.EXCLUSIVE}, own=True),
    ),
)

RELINQUISH = Row(
    "tcgen05.relinquish_alloc_permit", ".cta_group.sync.aligned",
    qualifiers={"cta_group": CtaGroup},
    section="tcgen05.relinquish_alloc_permit",
    needs=TCGEN05, needs_text=conditional("tcgen05.relinquish_alloc_permit"),
    effects=_ALLOCATES,
    llvm=(Llvm("tcgen05.relinq.alloc.permit.{cta_group}", holes=CG),),
)
# fmt: on

REGISTERS_PER_REPEAT: dict[Attribute, int] = {
    LdStShape.S16X64B: 1,
    LdStShape.S32X32B: 1,
    LdStShape.S16X32BX2: 1,
    LdStShape.S16X128B: 2,
    LdStShape.S16X256B: 4,
}
"""Registers per thread that one repetition of a shape moves."""

REGISTERS: Count = per(
    shape=REGISTERS_PER_REPEAT,
    num={n: n.times for n in LdStNum},
)
"""Registers per thread of a tcgen05.ld or .st; at most 128.  PTX ISA, Table 47 and Table 48."""

_UP_TO_X64 = tuple(n for n in LdStNum if n.times <= 64)
_UP_TO_X32 = tuple(n for n in LdStNum if n.times <= 32)
HALF_SPLIT = (
    when(shape=LdStShape.S16X32BX2).must(
        "half-split", ".16x32bx2 takes the offset of its second half", half_split=True
    ),
    when(half_split=True).must(
        "half-split", "only .16x32bx2 takes a half-split offset", shape=LdStShape.S16X32BX2
    ),
)
"""The offset of the second half of a load or store of two blocks."""

_SHAPE_RULES = (
    when(shape=LdStShape.S16X128B).must("shape-num", num=_UP_TO_X64),
    when(shape=LdStShape.S16X256B).must("shape-num", num=_UP_TO_X32),
    *HALF_SPLIT,
)


def _one_access(name: str, args: str, result: str, codes: Mapping[str, Code]) -> tuple[Llvm, ...]:
    """LLVM's spellings for the shapes that access one block, each as often as it may repeat."""
    return tuple(
        Llvm(
            f"{name}.{shape.value}.{{num}}",
            args,
            result,
            given={"shape": shape},
            holes={"num": {n.value: n for n in LdStNum if n.times <= most}},
            codes=codes,
        )
        for shape, most in _MOST_REPEATS.items()
    )


_MOST_REPEATS = {
    LdStShape.S16X64B: 128,
    LdStShape.S32X32B: 128,
    LdStShape.S16X128B: 64,
    LdStShape.S16X256B: 32,
}
_PACK: dict[str, Code] = {"pack": {0: None, 1: Pack.PACK_16B}}
_UNPACK: dict[str, Code] = {"unpack": {0: None, 1: Unpack.UNPACK_16B}}

# fmt: off
LD = Row(
    "tcgen05.ld", ".sync.aligned.shape.num{.pack}.b32", "r, [taddr] {, half_split}",
    qualifiers={"shape": LdStShape, "num": LdStNum, "pack": Pack},
    operands=(
        vector("r", ScalarType.B32, REGISTERS, Access.WRITE, distinct=True),
        tensor_address("taddr"),
        number("half_split"),
    ),
    section="tcgen05.ld",
    needs=TCGEN05, needs_text=conditional("tcgen05.ld"),
    rules=_SHAPE_RULES,
    effects=Effects(_WARP | Effect.READS_MEMORY, IssueScope.WARP, Completion.WAIT_LD),
    llvm=(
        *_one_access("tcgen05.ld", "p6:taddr, i1#pack", "v*i32:r", _PACK),
        Llvm("tcgen05.ld.16x32bx2.{num}", "p6:taddr, i64:half_split, i1#pack", "v*i32:r",
             given={"shape": LdStShape.S16X32BX2}, codes=_PACK),
    ),
)

ST = Row(
    "tcgen05.st", ".sync.aligned.shape.num{.unpack}.b32", "[taddr] {, half_split}, r",
    qualifiers={"shape": LdStShape, "num": LdStNum, "unpack": Unpack},
    operands=(
        tensor_address("taddr"),
        number("half_split"),
        vector("r", ScalarType.B32, REGISTERS, numbers=VectorNumbers.SOME),
    ),
    section="tcgen05.st",
    needs=TCGEN05, needs_text=conditional("tcgen05.st"),
    rules=_SHAPE_RULES,
    effects=Effects(_WARP | Effect.WRITES_MEMORY, IssueScope.WARP, Completion.WAIT_ST),
    llvm=(
        *_one_access("tcgen05.st", "p6:taddr, v*i32:r, i1#unpack", "", _UNPACK),
        Llvm("tcgen05.st.16x32bx2.{num}", "p6:taddr, i64:half_split, v*i32:r, i1#unpack",
             given={"shape": LdStShape.S16X32BX2}, codes=_UNPACK),
    ),
)

MASK_TYPE = By("multicast", {Multicast.CLUSTER_32B: ScalarType.U32}, ScalarType.U16)
MASK_NUMBERS = By("multicast", {Multicast.CLUSTER_32B: Numbers(0, 0xFFFF_FFFF)},
                  Numbers(0, 0xFFFF))
"""One bit for each CTA of the cluster."""

WAIT = Row(
    "tcgen05.wait", "::op.sync.aligned",
    qualifiers={"op": WaitOp},
    section="tcgen05.wait",
    needs=TCGEN05, needs_text=conditional("tcgen05.wait"),
    effects=Effects(_WARP | Effect.BARRIER, IssueScope.WARP),
    llvm=(Llvm("tcgen05.wait.{op}", holes={"op": {"ld": WaitOp.LD, "st": WaitOp.ST}}),),
)

FENCE = Row(
    "tcgen05.fence", "::side",
    qualifiers={"side": ThreadSync},
    section="tcgen05.fence",
    needs=TCGEN05, needs_text=conditional("tcgen05.fence"),
    effects=Effects(Effect.BARRIER),
    llvm=(
        Llvm("tcgen05.fence.{side}.thread.sync",
             holes={"side": {"before": ThreadSync.BEFORE, "after": ThreadSync.AFTER}}),
    ),
)

_MASKS = (
    ("", "", None),
    (".mc", ", i16:cta_mask", Multicast.CLUSTER),
    (".mc.16b", ", i16:cta_mask", Multicast.CLUSTER_16B),
    (".mc.32b", ", i32:cta_mask", Multicast.CLUSTER_32B),
)
_RESTRICTIONS = (("", None), (".sync_restrict.shared.read.mma.a", SyncRestrict.READ_A))


def _commits() -> tuple[Llvm, ...]:
    """`tcgen05.commit[.mc][.shared].cgN`; LLVM 22 has no restriction and no width of the mask."""
    return tuple(
        Llvm(f"tcgen05.commit{limit}{mc}{shared}.{{cta_group}}", f"{mbar}:mbar{mask}", holes=CG,
             given={"restrict": restrict, "multicast": multicast, "space": space},
             own=restrict is not None or multicast not in (None, Multicast.CLUSTER))
        for limit, restrict in _RESTRICTIONS
        for mc, mask, multicast in _MASKS
        for shared, mbar, space in (("", "p", None), (".shared", "p3", Space.SHARED_CLUSTER))
    )


COMMIT = Row(
    "tcgen05.commit",
    ".cta_group.mbarrier::arrive::one{.restrict}{.space}{.multicast}.b64",
    "[mbar] {, cta_mask}",
    qualifiers={"cta_group": CtaGroup, "restrict": SyncRestrict, "space": (Space.SHARED_CLUSTER,),
                "multicast": Multicast},
    operands=(
        address("mbar", "space", wide=True),
        value("cta_mask", MASK_TYPE, MASK_NUMBERS, symbols=False),
    ),
    section="tcgen05.commit",
    needs=TCGEN05, needs_text=conditional("tcgen05.commit"),
    tied={"multicast": "cta_mask"},
    rules=(
        when(multicast=Multicast.CLUSTER_16B).needs("multicast-16b-version", since("9.4")),
        when(multicast=Multicast.CLUSTER_32B).needs("multicast-32b-target", EXTENDED),
        when(restrict=SyncRestrict.READ_A).needs("sync-restrict-target", EXTENDED),
        when(restrict=SyncRestrict.SHARED_CTA).is_wrong(
            "sync-restrict-fence", ".sync_restrict::shared::cta restricts fences, not commits",
            "ptxas takes it without saying what it would mean", ptxas_accepts=True),
    ),
    effects=Effects(Effect.WRITES_MEMORY | Effect.CONVERGENT | Effect.BARRIER),
    llvm=_commits(),
)
# fmt: on

ROWS = (ALLOC, DEALLOC, RELINQUISH, LD, ST, WAIT, FENCE, COMMIT)

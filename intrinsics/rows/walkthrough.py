"""The walkthrough's operations: what a whole CTA does with tensor memory, in one record each.

Layer: intrinsics.  A second spelling of tcgen05, of tile compilers: the CTA allocates, multiplies,
waits, loads and gives back as one, and a tensor memory handle is an i32.  The machine has none of
these: the records are *pseudo* (they have no PTX), and `isel.passes.walkthrough.expand` makes
threads, warps, barriers and fences of them.  The multiply alone is the machine's own record
(`TCGEN05_MMA_CTA_GROUP1_DENSE`), for which only one thread has to be chosen.  In a function with
`cta_group__2` both CTAs of a pair do all of it together.

The load is named by the rows that a CTA holds and by the bits of an element; a thread gets
`VALUES` of them, 128 where the opcode does not say.

Sizes are the walkthrough's: a column is 2 KiB, that is four columns of the hardware's; a handle is
an address in tensor memory.
"""

from __future__ import annotations

from intrinsics.modifiers import (
    BlockScale,
    CopyFormat,
    CopyMulticast,
    CopyShape,
    CtaGroup,
    Modifier,
    ScalarType,
)
from intrinsics.row import (
    Access,
    Attribute,
    By,
    Code,
    Count,
    Effect,
    Effects,
    IssueScope,
    Kind,
    Llvm,
    Numbers,
    Operand,
    Residency,
    Row,
    number,
    register,
    result,
    value,
    vector,
)
from intrinsics.rows.tcgen05 import TCGEN05, conditional

HARDWARE_COLUMNS = 4
"""Columns of tensor memory (128 lanes of 32 bits) in one of the walkthrough's, of 2 KiB."""

SWIZZLE_CODES = {0: 0, 1: 2, 2: 4, 3: 6}
"""The walkthrough's swizzle codes (wgmma's: none, 128, 64, 32 bytes) as tcgen05's."""

VALUES_OF_LD = 128
"""The values that a thread gets of a load whose opcode does not say."""


class LoadShape(Modifier):
    """The shape that a load reads: the rows of a CTA, and the bits of an element."""

    M32 = "m32n8x32b"
    M64 = "m64n8x32b"
    M128 = "m128n8x32b"
    M32_HALF = "m32n8x16b"
    M64_HALF = "m64n8x16b"
    M128_HALF = "m128n8x16b"

    @property
    def rows(self) -> int:
        """Rows of the accumulator that a CTA holds."""
        return int(self.value[1 : self.value.index("n")])

    @property
    def is_half(self) -> bool:
        """Whether the elements have 16 bits."""
        return self.value.endswith("x16b")


class LoadValues(Modifier):
    """Values of a thread, other than 128: the multiples of 8 up to 256."""

    V8, V16, V24, V32, V40, V48 = "v8", "v16", "v24", "v32", "v40", "v48"
    V56, V64, V72, V80, V88, V96 = "v56", "v64", "v72", "v80", "v88", "v96"
    V104, V112, V120, V136, V144 = "v104", "v112", "v120", "v136", "v144"
    V152, V160, V168, V176, V184 = "v152", "v160", "v168", "v176", "v184"
    V192, V200, V208, V216, V224 = "v192", "v200", "v208", "v216", "v224"
    V232, V240, V248, V256 = "v232", "v240", "v248", "v256"

    @property
    def count(self) -> int:
        """The number."""
        return int(self.value[1:])


_TOGETHER = Effects(
    Effect.CONVERGENT | Effect.ALIGNED | Effect.WRITES_MEMORY | Effect.BARRIER, IssueScope.CTA
)
_GROUPS = {"cta_group": {"1": CtaGroup.ONE, "2": CtaGroup.TWO}}
_HALVES = tuple(shape for shape in LoadShape if shape.is_half)
_NARROW = (CopyFormat.B6X16_P32, CopyFormat.B4X16_P64)
_COPY_CODES: dict[str, Code] = {
    "shape": dict(enumerate(CopyShape)),
    "multicast": dict(enumerate((None, *CopyMulticast))),
    "src_fmt": dict(enumerate((None, *_NARROW))),
}
"""How a copy's numbers spell it, in the order of MLIR's NVVM dialect; 0 is no format."""

_COLUMNS = Numbers(1, 512 // HARDWARE_COLUMNS)

# fmt: off
ALLOC = Row(
    "tcgen05.alloc.shared", "", "handle, columns", name="walkthrough.alloc",
    operands=(result("handle", ScalarType.B32), number("columns", _COLUMNS)),
    section="tcgen05.alloc", needs=TCGEN05, needs_text=conditional("tcgen05.alloc"),
    effects=_TOGETHER, llvm=(Llvm("tcgen05.alloc.shared", "i32:columns", "i32:handle"),),
    simulated=False, pseudo=True,
)

ENCODE = Row(
    "tcgen05.mma_smem_desc.encode", "", "desc, pointer, sbo, lbo, base_offset, swizzle",
    name="walkthrough.encode",
    operands=(
        result("desc", ScalarType.B64),
        Operand("pointer", Kind.REGISTER, ScalarType.B32, widened=True),
        number("sbo", Numbers(0, (1 << 18) - 16, multiple=16)),
        number("lbo", Numbers(0, (1 << 18) - 16, multiple=16)),
        number("base_offset", Numbers(0, 7)), number("swizzle", Numbers(0, 3)),
    ),
    section="Shared memory descriptor", needs=TCGEN05, needs_text=conditional("tcgen05.mma"),
    llvm=(Llvm("tcgen05.mma_smem_desc.encode",
               "p3:pointer, i32:sbo, i32:lbo, i32:base_offset, i32:swizzle", "i64:desc"),),
    simulated=False, pseudo=True,
)

WAIT = Row(
    "tcgen05.wait", ".cta_group", name="walkthrough.wait", qualifiers={"cta_group": CtaGroup},
    section="tcgen05.wait", needs=TCGEN05, needs_text=conditional("tcgen05.wait"),
    effects=_TOGETHER, llvm=(Llvm("tcgen05.wait.cta_group__{cta_group}", holes=_GROUPS),),
    simulated=False, pseudo=True,
)

LD = Row(
    "tcgen05.ld", ".shape{.values}", "acc, handle", name="walkthrough.ld",
    qualifiers={"shape": LoadShape, "values": LoadValues},
    operands=(
        vector("acc", By("shape", dict.fromkeys(_HALVES, ScalarType.B16), ScalarType.B32),
               Count((), (("values", {None: VALUES_OF_LD, **{v: v.count for v in LoadValues}}),)),
               Access.WRITE, distinct=True),
        register("handle", ScalarType.B32),
    ),
    section="tcgen05.ld", needs=TCGEN05, needs_text=conditional("tcgen05.ld"),
    effects=_TOGETHER,
    llvm=(Llvm("tcgen05.ld.{shape}", "i32:handle", "v*f32:acc",
               holes={"shape": {s.value: s for s in LoadShape if not s.is_half}}),
          Llvm("tcgen05.ld.{shape}", "i32:handle", "v*half:acc",
               holes={"shape": {s.value: s for s in _HALVES}})),
    simulated=False, pseudo=True,
)

CP = Row(
    "tcgen05.cp.smem.tmem", ".shape{.multicast}{.src_fmt}", "handle, desc", name="walkthrough.cp",
    qualifiers={"shape": CopyShape, "multicast": CopyMulticast, "src_fmt": _NARROW},
    operands=(register("handle", ScalarType.B32), value("desc", ScalarType.B64)),
    section="tcgen05.cp", needs=TCGEN05, needs_text=conditional("tcgen05.cp"),
    effects=_TOGETHER,
    llvm=(Llvm("tcgen05.cp.smem.tmem",
               "i32:handle, i64:desc, i32#shape, i32#multicast, i32#src_fmt", codes=_COPY_CODES),),
    simulated=False, pseudo=True,
)

DEALLOC = Row(
    "tcgen05.dealloc", "", "handle, columns", name="walkthrough.dealloc",
    operands=(register("handle", ScalarType.B32), number("columns", _COLUMNS)),
    section="tcgen05.dealloc", needs=TCGEN05, needs_text=conditional("tcgen05.dealloc"),
    effects=_TOGETHER, llvm=(Llvm("tcgen05.dealloc", "i32:handle, i32:columns"),),
    simulated=False, pseudo=True,
)

RELINQUISH = Row(
    "tcgen05.relinquish_alloc_permit", name="walkthrough.relinquish",
    section="tcgen05.relinquish_alloc_permit", needs=TCGEN05,
    needs_text=conditional("tcgen05.relinquish_alloc_permit"),
    effects=_TOGETHER, llvm=(Llvm("tcgen05.relinquish_alloc_permit"),),
    simulated=False, pseudo=True,
)
# fmt: on

ROWS = (ALLOC, ENCODE, WAIT, LD, CP, DEALLOC, RELINQUISH)


# ---- the multiply ----------------------------------------------------------------------------


def _multiply(*, sparse: bool, scaled: bool, tensor: bool, stationary: bool) -> Llvm:
    """The spelling of one variant; its words stand as they are, its shape is the atom's."""
    words = [
        word
        for word, there in (
            ("ws", stationary), ("sp", sparse), ("block_scale", scaled), ("tensor", tensor)
        )
        if there
    ]  # fmt: skip
    operands = ["i32:d", "i32:a" if tensor else "i64:a", "i64:b"]
    operands += ["i32:sp_meta"] * sparse + ["i32:sfa", "i32:sfb"] * scaled
    given: dict[str, Attribute] = {"a": Residency.TENSOR if tensor else Residency.SHARED}
    if scaled:
        given |= {"block_scale": BlockScale.BLOCK_SCALE, "sfa": True, "sfb": True}
    groups = {"1": CtaGroup.ONE} if stationary else _GROUPS["cta_group"]
    return Llvm(
        ".".join(("tcgen05.mma", *words, "cta_group__{cta_group}")),
        ", ".join((*operands, "i32=ctrl", "i32=collector", "i1:enable_d")),
        given=given,
        holes={"cta_group": groups},
    )


MULTIPLIES: dict[str, tuple[Llvm, ...]] = {
    head: tuple(
        _multiply(sparse=head.endswith(".sp"), scaled=scaled, tensor=tensor, stationary=stationary)
        for scaled in ((False,) if stationary else (False, True))
        for tensor in (False, True)
    )
    for head, stationary in (
        ("tcgen05.mma", False),
        ("tcgen05.mma.sp", False),
        ("tcgen05.mma.ws", True),
        ("tcgen05.mma.ws.sp", True),
    )
}
"""The spellings of the multiplies, by the machine's row: [.ws][.sp][.block_scale][.tensor]."""

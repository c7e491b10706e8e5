"""Where nvgen's PTX differs from LLVM's on purpose, and which intrinsics it cannot select yet.

A deviation names the cases it covers, one example with what either compiler prints (in the normal
form of :mod:`tests.oracle.llvm_forms`), and why both are right.  The proof is one of two, or both:

* ``rewrite``: a regular expression and its replacement that turn LLVM's normal form into nvgen's,
  letter by letter.  The reason then rests on the PTX manual;
* ``same_sass``: ptxas makes the same machine code of both texts, byte for byte.

Every case that a row covers must deviate, and every example must be printed as the row says, so a
row that is no longer needed fails its test.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal


def matches(pattern: str, label: str) -> bool:
    """Whether a label is one of those that a pattern stands for."""
    return re.fullmatch(pattern, label) is not None


@dataclass(frozen=True, slots=True)
class Deviation:
    """One deliberate difference; ``cases`` matches the labels of the cases it covers."""

    name: str
    cases: str
    example: str
    llvm: tuple[str, ...]
    nvgen: tuple[str, ...]
    why: str
    rewrite: tuple[str, str] | None = None
    same_sass: bool = False

    def covers(self, label: str) -> bool:
        return matches(self.cases, label)

    def rewritten(self, lines: list[str]) -> list[str]:
        """LLVM's normal form as nvgen prints it; unchanged without a rule."""
        if self.rewrite is None:
            return lines
        return re.sub(*self.rewrite, "\n".join(lines), flags=re.MULTILINE).split("\n")


INTRINSICS = (
    Deviation(
        name="the size of a warp",
        cases=r"read\.ptx\.sreg\.warpsize\(\)",
        example="read.ptx.sreg.warpsize()",
        llvm=("st.global.b32 [p0:b64], WARP_SZ", "ret"),
        nvgen=("st.global.b32 [p0:b64], 32", "ret"),
        why=(
            "PTX ISA, Predefined Constants: WARP_SZ is the number of threads in a warp, 32 on "
            "every target, and a number is folded into what it is computed with."
        ),
        rewrite=(r"WARP_SZ", "32"),
        same_sass=True,
    ),
    Deviation(
        name="commit to a generic address",
        cases=r"tcgen05\.commit(\.mc)?\.cg[12]\(.*",
        example="tcgen05.commit.cg1(_)",
        llvm=(
            "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [p0:b64]",
            "ret",
        ),
        nvgen=("tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [p0:b64]", "ret"),
        why=(
            "The intrinsic takes a generic pointer.  PTX ISA, tcgen05.commit: without a state "
            "space the address is generic and must lie in the window of .shared::cluster.  LLVM "
            "prints the state space all the same and relies on the hardware using the low 32 bits."
        ),
        rewrite=(r"^(tcgen05\.commit.*)\.shared::cluster(\.b64 )", r"\1\2"),
    ),
    Deviation(
        name="type of an environment register",
        cases=r"read\.ptx\.sreg\.envreg\d+\(\)",
        example="read.ptx.sreg.envreg7()",
        llvm=("st.global.b32 [p0:b64], mov.b32(%envreg7)", "ret"),
        nvgen=("st.global.b32 [p0:b64], mov.u32(%envreg7)", "ret"),
        why="PTX ISA, %envreg: .b32; mov reads a register of 32 bits as .b32 and as .u32.",
        rewrite=(r"mov\.b32\(%envreg", "mov.u32(%envreg"),
        same_sass=True,
    ),
)
"""Deviations in the selection of intrinsics."""

_EXTENDED = (
    "PTX computes with 16 bits at least.  LLVM knows that ld.param.b8 and ld.param.s8 extend what "
    "they load; nvgen extends a register of eight bits wherever the upper half counts."
)

_ELEMENTS = (
    "LLVM moves pairs of 32-bit elements through 64-bit registers; nvgen moves each element, with "
    "one load and one store of a vector (.v2.b32, .v4.b32).  The bytes are the same."
)

SCALAR = (
    Deviation(
        name="a constant predicate",
        cases=r"(and|or|mul) i1 r,1|icmp (u[gl]e|s[gl]e|ugt|slt) i1 r,1",
        example="and i1 r,1",
        llvm=("st.global.b32 [p1:b64], selp.b32(1, 0, setp.gt.u32(p0:b32, 10))", "ret"),
        nvgen=("st.global.b32 [p1:b64], selp.b32(1, 0, and.pred(setp.gt.u32(p0:b32, 10), 1))",
               "ret"),
        why="LLVM folds logic with a constant before it selects; ptxas does it for nvgen.",
        same_sass=True,
    ),
    Deviation(
        name="a constant predicate, negated",
        cases=r"icmp (ult|sgt) i1 r,1",
        example="icmp ult i1 r,1",
        llvm=("st.global.b32 [p1:b64], selp.b32(1, 0, setp.lt.u32(p0:b32, 11))", "ret"),
        nvgen=("st.global.b32 [p1:b64], selp.b32(1, 0, and.pred(setp.lt.u32(p0:b32, 11), 1))",
               "ret"),
        why="What is true and true is true: the second is the constant.",
        rewrite=(r"(setp\.lt\.u32\(p0:b32, 11\))", r"and.pred(\1, 1)"),
    ),
    Deviation(
        name="a constant of eight bits",
        cases=r"(and|or|xor) i8 -5,r",
        example="and i8 -5,r",
        llvm=("st.global.b8 [p1:b64], and.b16(p0:b8, 251)", "ret"),
        nvgen=("st.global.b8 [p1:b64], and.b16(p0:b8, -5)", "ret"),
        why="Only the lower half of the result is stored: no bit of the upper half reaches it.",
        rewrite=(r", 251\)", ", -5)"),
    ),
    Deviation(
        name="eight bits divided",
        cases=r"u(div|rem) i8 .*",
        example="udiv i8 r,r",
        llvm=("st.global.b8 [p2:b64], div.u16(p0:b8, p1:b8)", "ret"),
        nvgen=("st.global.b8 [p2:b64], div.u16(cvt.u16.u8(p0:b8), cvt.u16.u8(p1:b8))", "ret"),
        why=_EXTENDED,
        rewrite=(r"(p\d:b8)", r"cvt.u16.u8(\1)"),
    ),
    Deviation(
        name="eight bits with a sign divided",
        cases=r"s(div|rem) i8 .*",
        example="sdiv i8 r,r",
        llvm=("st.global.b8 [p2:b64], div.s16(p0:s8, p1:s8)", "ret"),
        nvgen=("st.global.b8 [p2:b64], div.s16(cvt.s16.s8(p0:b8), cvt.s16.s8(p1:b8))", "ret"),
        why=_EXTENDED,
        rewrite=(r"p(\d):s8", r"cvt.s16.s8(p\1:b8)"),
    ),
    Deviation(
        name="eight bits compared",
        cases=r"icmp (eq|ne|u\w\w) i8 .*",
        example="icmp eq i8 r,5",
        llvm=("st.global.b32 [p1:b64], selp.b32(1, 0, setp.eq.b16(p0:b8, 5))", "ret"),
        nvgen=("st.global.b32 [p1:b64], selp.b32(1, 0, setp.eq.b16(cvt.u16.u8(p0:b8), 5))", "ret"),
        why=_EXTENDED,
        rewrite=(r"(p\d:b8)", r"cvt.u16.u8(\1)"),
    ),
    Deviation(
        name="eight bits with a sign compared",
        cases=r"icmp s\w\w i8 .*",
        example="icmp slt i8 r,5",
        llvm=("st.global.b32 [p1:b64], selp.b32(1, 0, setp.lt.s16(p0:s8, 5))", "ret"),
        nvgen=("st.global.b32 [p1:b64], selp.b32(1, 0, setp.lt.s16(cvt.s16.s8(p0:b8), 5))", "ret"),
        why=_EXTENDED,
        rewrite=(r"p(\d):s8", r"cvt.s16.s8(p\1:b8)"),
    ),
    Deviation(
        name="eight bits shifted",
        cases=r"lshr i8 .*|shl i8 (r|-5),r|ashr i8 -5,r",
        example="lshr i8 r,5",
        llvm=("st.global.b8 [p1:b64], shr.u16(p0:b8, 5)", "ret"),
        nvgen=("st.global.b8 [p1:b64], shr.u16(cvt.u16.u8(p0:b8), 5)", "ret"),
        why=_EXTENDED,
        same_sass=True,
    ),
    Deviation(
        name="eight bits with a sign shifted",
        cases=r"ashr i8 r,r",
        example="ashr i8 r,r",
        llvm=("st.global.b8 [p2:b64], shr.s16(p0:s8, cvt.u32.u16(p1:b8))", "ret"),
        nvgen=("st.global.b8 [p2:b64], shr.s16(cvt.s16.s8(p0:b8), "
               "cvt.u32.u16(cvt.u16.u8(p1:b8)))", "ret"),
        why=_EXTENDED,
        rewrite=(r"p0:s8, cvt\.u32\.u16\(p1:b8\)",
                 "cvt.s16.s8(p0:b8), cvt.u32.u16(cvt.u16.u8(p1:b8))"),
    ),
    Deviation(
        name="eight bits with a sign shifted by a constant",
        cases=r"ashr i8 r,5",
        example="ashr i8 r,5",
        llvm=("st.global.b8 [p1:b64], shr.u16(p0:s8, 5)", "ret"),
        nvgen=("st.global.b8 [p1:b64], shr.s16(cvt.s16.s8(p0:b8), 5)", "ret"),
        why=_EXTENDED + "  Of the 16 bits that are shifted the upper ones are not stored.",
        rewrite=(r"shr\.u16\(p0:s8, 5\)", "shr.s16(cvt.s16.s8(p0:b8), 5)"),
    ),
    Deviation(
        name="conversion in a load or store",
        cases=(
            r"zext i\d+ to i\d+, loaded|[sz]ext i8 to i\d+, parameter|sext i32 to i64, loaded"
            r"|trunc i(32|64) to i8, \w+|trunc i\d+ to i(16|32), \w+"
            r"|ptrtoint as[^6] to i32|inttoptr i64 to as6"
        ),
        example="trunc i64 to i32, computed",
        llvm=("st.global.b32 [p2:b64], mul.lo.s64(p0:b64, p1:b64)", "ret"),
        nvgen=("st.global.b32 [p2:b64], cvt.u32.u64(mul.lo.s64(p0:b64, p1:b64))", "ret"),
        why=(
            "PTX ISA, Operand Size Exceeding Instruction-Type Size: a register may be wider than "
            "what is loaded or stored, and is then extended or cut.  LLVM makes use of that; nvgen "
            "converts, and ptxas merges the conversion into the access."
        ),
        same_sass=True,
    ),
    Deviation(
        name="own shared memory as the cluster's",
        cases=r"addrspacecast as3 to as7",
        example="addrspacecast as3 to as7",
        llvm=(
            "st.global.b64 [p1:b64], cvta.shared::cluster.to.u64(cvta.shared.u64(p0:b64))",
            "ret",
        ),
        nvgen=("st.global.b64 [p1:b64], p0:b64", "ret"),
        why=(
            "PTX ISA, State Spaces, Shared State Space: the window of .shared::cta lies in that of "
            ".shared::cluster, so an address of the one is an address of the other."
        ),
        rewrite=(r"cvta\.shared::cluster\.to\.u64\(cvta\.shared\.u64\((.*)\)\)", r"\1"),
    ),
    Deviation(
        name="half as a parameter",
        cases=r"param half",
        example="param half",
        llvm=(
            ".entry k( .param .align 2 .b8 k_param_0[2], .param .u64 .ptr .global .align 1 "
            "k_param_1 )",
            "st.global.b16 [p1:b64], p0:b16",
            "ret",
        ),
        nvgen=(
            ".entry k( .param .b16 k_param_0, .param .u64 .ptr .global .align 1 k_param_1 )",
            "st.global.b16 [p1:b64], p0:b16",
            "ret",
        ),
        why="Two bytes, aligned to two, at the same place among the parameters, either way.",
        rewrite=(r"\.param \.align 2 \.b8 (\w+)\[2\]", r".param .b16 \1"),
        same_sass=True,
    ),
    Deviation(
        name="remainder of one bit",
        cases=r"[us]rem i1 .*",
        example="urem i1 r,r",
        llvm=("st.global.b32 [p2:b64], 0", "ret"),
        nvgen=("st.global.b32 [p2:b64], selp.b32(1, 0, 0)", "ret"),
        why="The only divisor is 1: nothing is left, which is a false predicate in nvgen.",
        rewrite=(r"^st\.global\.b32 \[p2:b64\], 0$", "st.global.b32 [p2:b64], selp.b32(1, 0, 0)"),
    ),
    Deviation(
        name="one bit as a parameter",
        cases=r"param i1",
        example="param i1",
        llvm=(
            ".entry k( .param .u8 k_param_0, .param .u64 .ptr .global .align 1 k_param_1 )",
            "st.global.b8 [p1:b64], and.b16(p0:b8, 1)",
            "ret",
        ),
        nvgen=(
            ".entry k( .param .u8 k_param_0, .param .u64 .ptr .global .align 1 k_param_1 )",
            "st.global.b8 [p1:b64], selp.b16(1, 0, setp.ne.b16(and.b16(p0:b8, 1), 0))",
            "ret",
        ),
        why="A bit that is loaded is a predicate in nvgen, and is stored as what that selects.",
        rewrite=(r"(and\.b16\(p0:b8, 1\))", r"selp.b16(1, 0, setp.ne.b16(\1, 0))"),
    ),
    Deviation(
        name="two numbers as a parameter",
        cases=r"param <2 x i32>",
        example="param <2 x i32>",
        llvm=(
            ".entry k( .param .align 8 .b8 k_param_0[8], .param .u64 .ptr .global .align 1 "
            "k_param_1 )",
            "st.global.b64 [p1:b64], p0:b64",
            "ret",
        ),
        nvgen=(
            ".entry k( .param .align 8 .b8 k_param_0[8], .param .u64 .ptr .global .align 1 "
            "k_param_1 )",
            "st.global.b32 [p1:b64], p0:b32",
            "st.global.b32 [p1:b64+4], p0+4:b32",
            "ret",
        ),
        why=_ELEMENTS,
        rewrite=(
            r"^st\.global\.b64 \[p1:b64\], p0:b64$",
            "st.global.b32 [p1:b64], p0:b32\nst.global.b32 [p1:b64+4], p0+4:b32",
        ),
        same_sass=True,
    ),
    Deviation(
        name="four numbers as a parameter",
        cases=r"param <4 x i32>",
        example="param <4 x i32>",
        llvm=(
            ".entry k( .param .align 16 .b8 k_param_0[16], .param .u64 .ptr .global .align 1 "
            "k_param_1 )",
            "st.global.b64 [p1:b64], p0:b64",
            "st.global.b64 [p1:b64+8], p0+8:b64",
            "ret",
        ),
        nvgen=(
            ".entry k( .param .align 16 .b8 k_param_0[16], .param .u64 .ptr .global .align 1 "
            "k_param_1 )",
            "st.global.b32 [p1:b64], p0:b32",
            *(f"st.global.b32 [p1:b64+{n}], p0+{n}:b32" for n in (4, 8, 12)),
            "ret",
        ),
        why=_ELEMENTS,
        rewrite=(
            r"^st\.global\.b64 \[p1:b64\], p0:b64\nst\.global\.b64 \[p1:b64\+8\], p0\+8:b64$",
            "\n".join(
                [
                    "st.global.b32 [p1:b64], p0:b32",
                    *(f"st.global.b32 [p1:b64+{n}], p0+{n}:b32" for n in (4, 8, 12)),
                ]
            ),
        ),
        same_sass=True,
    ),
)  # fmt: skip
"""Deviations in the selection of LLVM's ordinary instructions."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A target and version at which one compiler selects what the other refuses.

    ``by`` is who refuses: "nvgen" (then ptxas must refuse LLVM's text), or "LLVM" (then ptxas must
    take nvgen's).
    """

    name: str
    cases: str
    target: str
    ptx: str
    by: Literal["nvgen", "LLVM"]
    why: str

    def covers(self, label: str) -> bool:
        return matches(self.cases, label)


REFUSALS = (
    Refusal(
        name="sparse .block32 before PTX 8.8",
        cases=r"tcgen05\.mma\.sp\.(shared|tensor)\.mxf4\.block_scale\.block32\(.*",
        target="sm_100a",
        ptx="8.6",
        by="nvgen",
        why="PTX ISA, tcgen05.mma.sp: .block32 came with PTX 8.8; LLVM checks it for dense ones.",
    ),
    Refusal(
        name="count of an arrive at PTX 7.8",
        cases=r"mbarrier\.arrive(\.drop)?\.scope\.cta\.space\.cta\(.*",
        target="sm_90",
        ptx="7.8",
        by="LLVM",
        why=(
            "PTX ISA, mbarrier.arrive: a count without .noComplete came with PTX 7.8 and sm_90; "
            "LLVM asks for 8.0, which only the explicit .release.cta needs."
        ),
    ),
    *(
        Refusal(
            name=f"tensor reductions on {target} at PTX {ptx}",
            cases=r"cp\.async\.bulk\.tensor\.reduce\..*",
            target=target,
            ptx=ptx,
            by="nvgen",
            why=(
                "PTX ISA, cp.reduce.async.bulk.tensor: it came with PTX 8.0 and sm_90; LLVM asks "
                "for nothing."
            ),
        )
        for target, ptx in (("sm_80", "7.0"), ("sm_90", "7.8"))
    ),
    *(
        Refusal(
            name=f"prefetches on {target} at PTX {ptx}",
            cases=rf"prefetchu?\.(global\.|local\.)?{levels}\(.*",
            target=target,
            ptx=ptx,
            by="LLVM",
            why=(
                "PTX ISA, prefetch: it came with PTX 2.0, and eviction priorities with PTX 7.4 and "
                "sm_80; LLVM asks for PTX 8.0."
            ),
        )
        for target, ptx, levels in (("sm_80", "7.0", "L[12]"), ("sm_90", "7.8", r"L[12].*"))
    ),
)
"""Disagreements about which target and version has an instruction, settled by ptxas."""

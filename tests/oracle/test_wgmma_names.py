"""The LLVM names of wgmma: each says what is printed, and ptxas takes that.

LLVM 22 has intrinsics for the fence and the groups; `wgmma.mma_async` has names of nvgen's own,
which are written here from the PTX manual's syntax and not from the rows.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

import nvgen
from intrinsics.catalog import spellings
from intrinsics.findings import NvgenError
from tests.oracle import llvm, llvm_signatures, ptxas
from tests.oracle.ptxas_modules import report
from tests.turns import has_turn

WIDTHS = [*range(8, 257, 8)]
INTEGER_WIDTHS = [8, 16, 24, *range(32, 257, 16)]
BYTES = [f"{a}.{b}" for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
SIGNS = [f"{a}.{b}" for a in ("s8", "u8") for b in ("s8", "u8")]


class Family(NamedTuple):
    """Names with the same types: their K, the widths, and the numbers behind scale-d."""

    types: str
    k: int
    widths: list[int]
    numbers: int  # signs, then transpositions


FAMILIES = [
    *(Family(t, 16, WIDTHS, 4) for t in ("f32.f16.f16", "f16.f16.f16", "f32.bf16.bf16")),
    Family("f32.tf32.tf32", 8, WIDTHS, 2),
    *(Family(f"{d}.{t}", 32, WIDTHS, 2) for d in ("f16", "f32") for t in BYTES),
    *(Family(f"s32.{t}{s}", 32, INTEGER_WIDTHS, 0) for t in SIGNS for s in ("", ".satfinite")),
    Family("s32.b1.b1.and.popc", 256, INTEGER_WIDTHS, 0),
]
BIT = FAMILIES[-1]


class Name(NamedTuple):
    """One of the names, with what it says."""

    family: Family
    n: int
    sparse: bool
    held: bool  # A in registers

    @property
    def shape(self) -> str:
        return f"m64n{self.n}k{self.family.k * 2 if self.sparse else self.family.k}"

    @property
    def text(self) -> str:
        head = "wgmma.mma_async.sp" if self.sparse else "wgmma.mma_async"
        return f"{head}.{self.shape}.{self.family.types}{'.registers' * self.held}"

    @property
    def ptx(self) -> str:
        """The instruction as the manual spells it."""
        head = "wgmma.mma_async.sp" if self.sparse else "wgmma.mma_async"
        types, _, satfinite = self.family.types.partition(".satfinite")
        saturating = ".satfinite" if self.family.types.endswith("satfinite") else satfinite
        return f"{head}.sync.aligned.{self.shape}{saturating}.{types}"

    @property
    def count(self) -> int:  # type: ignore[override]
        """Registers of D: N columns of 64 rows among 128 threads, two f16 in a register."""
        return self.n // 4 if self.family.types.startswith("f16") else self.n // 2

    @property
    def element(self) -> str:
        return "float" if self.family.types.startswith("f32") else "i32"

    @property
    def arguments(self) -> list[str]:
        d = f"<{self.count} x {self.element}>"
        a = "<4 x i32> %v" if self.held else "i64 %a"
        meta = ["i32 %m", "i32 0"] if self.sparse else []
        numbers = ["i32 1", "i32 -1", "i32 0", "i32 1"][: self.family.numbers]
        if self.held and self.family.numbers == 4:
            numbers.pop()
        return [f"{d} zeroinitializer", a, "i64 %b", *meta, "i1 %c", *numbers]

    @property
    def function(self) -> str:
        result = f"<{self.count} x {self.element}>"
        types = ", ".join(a.rpartition(" ")[0] for a in self.arguments)
        return f"""
declare {result} @llvm.nvvm.{self.text}({types})
define ptx_kernel void @k_{self.text.replace(".", "_")}(i64 %a, i64 %b, i32 %m, <4 x i32> %v) {{
  %c = icmp ne i32 %m, 0
  %d = call {result} @llvm.nvvm.{self.text}({", ".join(self.arguments)})
  ret void
}}
"""


NAMES = [
    Name(family, n, sparse, held)
    for family in FAMILIES
    for n in family.widths
    for sparse in (False, True)
    for held in (False, True)
    if not (sparse and family is BIT)
]


def test_these_are_all_the_names() -> None:
    """Of the dense and the sparse, A by descriptor and in registers."""
    ours = {name for name, s in spellings().items() if s.pattern.own and name.startswith("wgmma.")}
    assert ours == {name.text for name in NAMES}
    assert len(ours) == 12 * 32 * 4 + 8 * 18 * 4 + 18 * 2


DAILY = (8, 64, 256)
"""Numbers of columns whose names are read every day; the others take turns."""


@pytest.mark.turns(4)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.types)
def test_a_name_says_what_is_printed_and_ptxas_takes_it(
    family: Family, request: pytest.FixtureRequest
) -> None:
    """Some shapes of a family each day, with operands in the manual's order."""
    names = [
        name
        for name in NAMES
        if name.family is family and (name.n in DAILY or has_turn(request, name.text, 4))
    ]
    text = nvgen.compile("".join(name.function for name in names), target="sm_90a").ptx
    lines = re.findall(r"^\s*(wgmma.*)$", text, re.MULTILINE)
    assert len(lines) == len(names)
    for name, line in zip(names, lines, strict=True):
        found, _, operands = line.partition(" ")
        assert found == name.ptx
        d = re.match(r"\{(%r\d+(?:, %r\d+)*)\}, ", operands)
        assert d is not None
        assert len(set(d[1].split(", "))) == name.count
        numbers = ", 1, -1, 0, 1"[: {0: 0, 2: 7, 4: 10 if name.held else 13}[family.numbers]]
        a = r"\{%r\d+, %r\d+, %r\d+, %r\d+\}" if name.held else r"%rd\d+"
        meta = r"%r\d+, 0, " if name.sparse else ""
        assert re.fullmatch(rf"{a}, %rd\d+, {meta}%p\d+{numbers};", operands[d.end() :]), line
    assert not any(ptxas.judge(lines, "sm_90a", "9.5"))


ORDERS = {
    "wgmma.fence.sync.aligned": "wgmma.fence.sync.aligned;",
    "wgmma.commit_group.sync.aligned": "wgmma.commit_group.sync.aligned;",
    "wgmma.wait_group.sync.aligned": "wgmma.wait_group.sync.aligned 3;",
}


def test_llvm_has_the_others() -> None:
    llvms = {name for name in llvm_signatures.all_names() if name.startswith("wgmma.")}
    assert llvms == set(ORDERS)


@pytest.mark.parametrize("name", ORDERS)
def test_the_others_are_printed_as_by_llvm(name: str) -> None:
    number = "i64" if "wait" in name else ""
    text = f"""declare void @llvm.nvvm.{name}({number})
    define ptx_kernel void @k() {{
      call void @llvm.nvvm.{name}({number}{" 3" if number else ""})
      ret void
    }}"""
    (theirs,) = llvm.compile_all([text], "sm_90a", "8.3")
    assert ORDERS[name] in " ".join(theirs.ptx.split())
    assert ORDERS[name] in nvgen.compile(text, target="sm_90a").ptx


# ---- accumulators ----------------------------------------------------------------------------

MULTIPLY = "llvm.nvvm.wgmma.mma_async.m64n64k16.f32.f16.f16"
DECLARATIONS = f"""
declare <32 x float> @{MULTIPLY}(<32 x float>, i64, i64, i1, i32, i32, i32, i32)
"""


def two_stages(early: str = "") -> str:
    """A loop of two multiplies a turn, one group of which is left running; `early` comes before
    the groups are waited for."""
    numbers = "i1 true, i32 1, i32 1, i32 0, i32 0"
    return f"""{DECLARATIONS}
    define ptx_kernel void @k(i64 %a, i64 %b, i32 %n, ptr addrspace(1) %out) {{
    entry:
      br label %loop
    loop:
      %i = phi i32 [ 0, %entry ], [ %next, %loop ]
      %acc = phi <32 x float> [ zeroinitializer, %entry ], [ %second, %loop ]
      %at = phi i64 [ %a, %entry ], [ %following, %loop ]
      call void @llvm.nvvm.wgmma.fence.sync.aligned()
      %first = call <32 x float> @{MULTIPLY}(<32 x float> %acc, i64 %at, i64 %b, {numbers})
      %second = call <32 x float> @{MULTIPLY}(<32 x float> %first, i64 %at, i64 %b, {numbers})
      call void @llvm.nvvm.wgmma.commit_group.sync.aligned()
      {early}
      call void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 1)
      %following = add i64 %at, 64
      %next = add i32 %i, 1
      %more = icmp slt i32 %next, %n
      br i1 %more, label %loop, label %done
    done:
      call void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 0)
      store <32 x float> %second, ptr addrspace(1) %out, align 16
      ret void
    }}"""


SERIALIZED = re.compile(r"C75\d\d")
"""What ptxas says where it cannot leave multiplies running: C7510 to C7515."""


@pytest.mark.parametrize("opt", [0, 3])
def test_accumulators_stay_in_place_around_a_loop(opt: int) -> None:
    ptx = nvgen.compile(two_stages(), target="sm_90a", opt=opt).ptx
    before, _, behind = ptx.partition("wgmma.fence")
    loop, _, _ = behind.partition("bra")
    assert "mov" not in loop
    assert len(set(re.findall(r"\{[^}]*\}", loop))) == 1
    assert before.count("mov.b32") >= 32
    said = report(ptx, "sm_90a")
    assert "Compiling entry function" in said
    assert not SERIALIZED.search(said)


@pytest.mark.wrong_kernel
def test_ptxas_says_when_accumulators_are_touched_too_early() -> None:
    """What the test above would see."""
    early = "store volatile <32 x float> %second, ptr addrspace(1) %out, align 16"
    ptx = nvgen.compile(two_stages(early), target="sm_90a").ptx
    assert SERIALIZED.search(report(ptx, "sm_90a"))


def multiplies(body: str) -> list[str]:
    """The records of moves and multiplies that a kernel with `body` becomes."""
    text = f"""{DECLARATIONS}
    define ptx_kernel void @k(i64 %a, i64 %b, ptr addrspace(1) %out) {{
      {body}
      ret void
    }}"""
    return nvgen.compile(text, target="sm_90a").ptx.splitlines()


def test_an_old_accumulator_that_is_still_needed_is_copied() -> None:
    """Two multiplies that begin with the same sums have registers of their own."""
    numbers = "i1 true, i32 1, i32 1, i32 0, i32 0"
    lines = multiplies(f"""
      %x = load <32 x float>, ptr addrspace(1) %out, align 16
      %p = call <32 x float> @{MULTIPLY}(<32 x float> %x, i64 %a, i64 %b, {numbers})
      %q = call <32 x float> @{MULTIPLY}(<32 x float> %x, i64 %a, i64 %b, {numbers})
      store <32 x float> %p, ptr addrspace(1) %out, align 16
      store <32 x float> %q, ptr addrspace(1) %out, align 16""")
    first, second = (re.findall(r"%r\d+", line) for line in lines if "wgmma.mma_async" in line)
    assert len({*first, *second}) == 64
    assert sum("mov.b32" in line for line in lines) == 32


def test_accumulators_that_nobody_reads_are_apart() -> None:
    """And they begin with one and the same register."""
    zeros = "insertelement <32 x float> poison, float %z, i32 0"
    lines = multiplies(f"""
      %z = load float, ptr addrspace(1) %out
      %one = {zeros}
      %all = shufflevector <32 x float> %one, <32 x float> poison, <32 x i32> zeroinitializer
      %p = call <32 x float> @{MULTIPLY}(<32 x float> %all, i64 %a, i64 %b,
        i1 false, i32 1, i32 1, i32 0, i32 0)""")
    (multiply,) = (re.findall(r"%r\d+", line) for line in lines if "wgmma.mma_async" in line)
    assert len(set(multiply)) == 32


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<32 x float>", "<16 x float>", r"gives <32 x float>"),
        ("i32 1, i32 1, i32 0, i32 0)", "i32 1, i32 0, i32 0, i32 0)", r"out of range"),
        ("i32 1, i32 1, i32 0, i32 0)", "i32 1, i32 1, i32 0, i32 2)", r"out of range"),
        ("m64n64k16", "m64n60k16", r"nvgen selects no intrinsic"),
    ],
)
def test_what_is_wrong_is_said(old: str, new: str, message: str) -> None:
    with pytest.raises(NvgenError, match=message):
        nvgen.compile(two_stages().replace(old, new), target="sm_90a")

"""The calls that a kernel makes, and what memory holds at each, are the same at every level.

Random programs of tensor-core calls among integer code, in straight lines, branches and loops, run
on the host before and after LLVM's passes (:mod:`tests.nvgen.optimizer.host`): every path must make
the same calls with the same arguments in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.nvgen.optimizer.host import WORDS, run
from tests.nvgen.optimizer.passes import LEVELS, shielded, unshielded
from tests.turns import examples

VOID = (
    "tcgen05.mma.shared(ptr addrspace(6) %d, i64 WIDE, i64 1, i32 0, i1 true, i32 0, i32 1, i32 0)",
    "tcgen05.mma.shared(ptr addrspace(6) %d, i64 WIDE, i64 1, i32 0, i1 true, i32 0, i32 1, i32 0)",
    "tcgen05.commit.shared.cg1(ptr addrspace(3) @bar)",
    "tcgen05.st.32x32b.x1(ptr addrspace(6) %d, i32 VALUE, i1 false)",
    "tcgen05.wait.ld()",
    "tcgen05.wait.st()",
    "tcgen05.fence.before.thread.sync()",
    "tcgen05.fence.after.thread.sync()",
    "tcgen05.dealloc.cg1(ptr addrspace(6) %d, i32 32)",
    "tcgen05.relinq.alloc.permit.cg1()",
    "fence.proxy.async()",
    "mbarrier.inval.shared(ptr addrspace(3) @bar)",
    "barrier.cta.sync.aligned.all(i32 VALUE)",
    "griddepcontrol.wait()",
)
RESULTS = {
    "i32": "tcgen05.ld.32x32b.x1(ptr addrspace(6) %d, i1 false)",
    "i64": "mbarrier.arrive.shared(ptr addrspace(3) @bar)",
    "i1": "mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3) @bar, i32 0)",
}
HEADER = f"""\
@tile = internal addrspace(3) global [{WORDS} x i32] undef, align 16
@bar = internal addrspace(3) global i64 undef, align 8
define ptx_kernel void @k(ptr addrspace(1) %out, i32 %x, i32 %y) {{
entry:
  %d = inttoptr i32 %x to ptr addrspace(6)
  call void @llvm.nvvm.tcgen05.wait.ld()
"""


@dataclass
class Writer:
    """A kernel under construction, and the values that may be used where it stands."""

    lines: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=lambda: ["%x", "%y"])
    block: str = "entry"
    count: int = 0

    def name(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def line(self, text: str) -> str:
        result = "%" + self.name("v")
        self.lines.append(f"  {result} = {text}")
        return result

    def do(self, text: str) -> None:
        self.lines.append("  " + text)

    def begin(self, block: str) -> None:
        self.lines.append(f"{block}:")
        self.block = block


def value(draw: st.DrawFn, writer: Writer) -> str:
    return draw(st.sampled_from([*writer.values[-6:], "0", "7", "-1"]))


def statement(draw: st.DrawFn, writer: Writer, depth: int) -> None:
    kinds = ["void", "void", "void", "result", "store", "load", "integer"]
    match draw(st.sampled_from([*kinds, *(["if", "if", "loop"] if depth else [])])):
        case "void":
            text = draw(st.sampled_from(VOID)).replace("VALUE", value(draw, writer))
            if "WIDE" in text:
                wide = writer.line(f"zext i32 {value(draw, writer)} to i64")
                text = text.replace("WIDE", wide)
            writer.do(f"call void @llvm.nvvm.{text}")
        case "result":
            type_ = draw(st.sampled_from(sorted(RESULTS)))
            found = writer.line(f"call {type_} @llvm.nvvm.{RESULTS[type_]}")
            if type_ != "i32":
                cast = "trunc" if type_ == "i64" else "zext"
                found = writer.line(f"{cast} {type_} {found} to i32")
            writer.values.append(found)
        case "store":
            at = draw(st.integers(0, WORDS - 1))
            pointer = f"getelementptr (i32, ptr addrspace(3) @tile, i32 {at})"
            writer.do(f"store i32 {value(draw, writer)}, ptr addrspace(3) {pointer}")
        case "load":
            at = draw(st.integers(0, WORDS - 1))
            pointer = f"getelementptr (i32, ptr addrspace(3) @tile, i32 {at})"
            writer.values.append(writer.line(f"load i32, ptr addrspace(3) {pointer}"))
        case "integer":
            name = draw(st.sampled_from(("add", "xor", "and", "mul")))
            a, b = value(draw, writer), value(draw, writer)
            writer.values.append(writer.line(f"{name} i32 {a}, {b}"))
        case "if":
            choose(draw, writer, depth)
        case "loop":
            loop(draw, writer, depth)


def inside(draw: st.DrawFn, writer: Writer, depth: int) -> None:
    """Statements whose values are not used behind them."""
    known = list(writer.values)
    for _ in range(draw(st.integers(0, 4))):
        statement(draw, writer, depth - 1)
    writer.values = known


def choose(draw: st.DrawFn, writer: Writer, depth: int) -> None:
    yes, no, after = (writer.name(stem) for stem in ("yes", "no", "after"))
    test = writer.line(f"icmp ugt i32 {value(draw, writer)}, {value(draw, writer)}")
    writer.do(f"br i1 {test}, label %{yes}, label %{no}")
    for block in (yes, no):
        writer.begin(block)
        inside(draw, writer, depth)
        writer.do(f"br label %{after}")
    writer.begin(after)


def loop(draw: st.DrawFn, writer: Writer, depth: int) -> None:
    head, after, before = writer.name("head"), writer.name("done"), writer.block
    rounds = draw(st.sampled_from(("2", "3", writer.line(f"and i32 {value(draw, writer)}, 3"))))
    writer.do(f"br label %{head}")
    writer.begin(head)
    at = len(writer.lines)
    counter = "%" + writer.name("i")
    inside(draw, writer, depth)
    following = writer.line(f"add i32 {counter}, 1")
    writer.lines.insert(
        at, f"  {counter} = phi i32 [ 0, %{before} ], [ {following}, %{writer.block} ]"
    )
    more = writer.line(f"icmp ult i32 {following}, {rounds}")
    writer.do(f"br i1 {more}, label %{head}, label %{after}")
    writer.begin(after)


@st.composite
def programs(draw: st.DrawFn) -> str:
    writer = Writer()
    for _ in range(draw(st.integers(3, 8))):
        statement(draw, writer, depth=2)
    result = value(draw, writer)
    body = "\n".join(writer.lines)
    return f"{HEADER}{body}\n  store i32 {result}, ptr addrspace(1) %out\n  ret void\n}}\n"


INPUTS = ((0, 0), (1, 7), (0xFFFF_FFFF, 3), (12345, 0x8000_0001))


@pytest.mark.turns(6)
@pytest.mark.parametrize("level", LEVELS)
@examples(60)
@given(programs())
def test_every_path_makes_the_same_calls(level: int, program: str) -> None:
    optimised = shielded(program, level)
    for inputs in INPUTS:
        assert run(optimised, inputs) == run(program, inputs), program + optimised


def test_the_comparison_sees_what_llvm_breaks() -> None:
    """Without the shield one of two equal MMAs is gone, and the store that the first would see."""
    mma = f"call void @llvm.nvvm.{VOID[0].replace('WIDE', '9')}"
    program = f"""{HEADER}\
  store i32 5, ptr addrspace(3) @tile
  {mma}
  {mma}
  store i32 6, ptr addrspace(3) @tile
  ret void
}}
""".replace("internal ", "")
    plain = run(program, (0, 0))
    assert run(shielded(program, 2), (0, 0)) == plain
    broken = run(unshielded(program, 2), (0, 0))
    assert [name for name, _, _ in plain].count("tcgen05.mma.shared") == 2
    assert [name for name, _, _ in broken].count("tcgen05.mma.shared") == 1
    assert broken[1] != plain[1]

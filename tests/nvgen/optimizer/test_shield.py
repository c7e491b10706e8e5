"""Behind the shield nothing happens to a call: it stays, where it is, with all that it says."""

from __future__ import annotations

import re

import pytest
from llvmlite import binding

from nvgen.llvm.reading import parse
from tests.each import each
from tests.isel.llvm.llvm_corpus import CASES
from tests.nvgen.optimizer.passes import LEVELS, body, calls, shielded
from tests.oracle import llvm, llvm_intrinsics, llvm_signatures

NEVER_CHANGE = re.compile(
    r"is_explicit_cluster|read\.ptx\.sreg\.(laneid|lanemask\.\w\w|warpsize|cluster\.n?ctarank"
    r"|(n?tid|n?ctaid|n?clusterid|cluster\.n?ctaid)\.[wxyz])"
)
"""PTX ISA, Special Registers: what is the same whenever a thread reads it."""


def is_llvm_ir(text: str) -> bool:
    """Whether LLVM reads a text and finds nothing wrong with it; it dies if it does."""
    return llvm.verify(text) != ""


# ---- the calls -------------------------------------------------------------------------------


def each_twice(names: list[str]) -> str:
    """A kernel that calls every intrinsic twice with the same arguments; nobody uses a result."""
    types: dict[str, str] = {}
    lines = []
    for name in names:
        signature = llvm_signatures.signature(name)
        numbers = llvm_intrinsics.plain(name).numbers
        given = []
        for place, arg in enumerate(signature.args):
            known = types.setdefault(arg.type, f"%p{len(types)}")
            value = str(numbers[place]) if place in numbers else known
            if arg.type == "i1" and place in numbers:
                value = "true" if numbers[place] else "false"
            given.append(f"{arg.type} {value}")
        lines += [f"call {signature.result} @llvm.nvvm.{name}({', '.join(given)})"] * 2
    parameters = ", ".join(f"{type_} {name}" for type_, name in types.items())
    text = "".join(
        f"  {'' if line.startswith('call void') else f'%r{n} = '}{line}\n"
        for n, line in enumerate(lines)
    )
    return f"define ptx_kernel void @k({parameters}) {{\n{text}  ret void\n}}\n"


def called(text: str) -> list[str]:
    """The calls of a kernel, without what LLVM adds for readers or for itself."""
    found = re.findall(r"\bcall (.*@llvm\.nvvm\..*?\))(?: #\d+)?$", body(text), re.MULTILINE)
    return [re.sub(r"/\*.*?\*/ ", "", line) for line in found]


@pytest.mark.parametrize("family", llvm_signatures.FAMILIES)
def test_every_intrinsic_of_the_tensor_core_and_its_company_stays(family: str) -> None:
    names = list(llvm_signatures.names(family))
    text = each_twice(names)
    done = called(shielded(text, 3))
    wanted = called(parse(text))
    assert len(wanted) == 2 * len(names)
    assert done == [line for line in wanted if not NEVER_CHANGE.search(line)]


OTHERS = (
    "void @llvm.nvvm.cp.async.commit.group()",
    "void @llvm.nvvm.cp.async.wait.group(i32 1)",
    "void @llvm.nvvm.cp.async.bulk.commit.group()",
    "void @llvm.nvvm.wgmma.fence.sync.aligned()",
    "void @llvm.nvvm.wgmma.commit_group.sync.aligned()",
    "void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 1)",
    "void @llvm.nvvm.setmaxnreg.inc.sync.aligned.u32(i32 40)",
    "void @llvm.nvvm.griddepcontrol.wait()",
    "void @llvm.nvvm.griddepcontrol.launch.dependents()",
    "ptr addrspace(7) @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3) %s, i32 %i)",
    "i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %i, i32 1, i32 31)",
    "i1 @llvm.nvvm.vote.all.sync(i32 -1, i1 true)",
    "i32 @llvm.nvvm.activemask()",
    "void @llvm.nvvm.membar.cta()",
    # names that this LLVM does not know, and two that it would know with other arguments
    "i32 @llvm.nvvm.tcgen05.alloc.shared(i32 32)",
    "void @llvm.nvvm.tcgen05.mma.cta_group__1(i32 %i, i64 %l, i64 %l, i32 193, i32 1, i1 true)",
    "void @llvm.nvvm.tcgen06.mma.someday(<2 x i32> <i32 1, i32 2>, [1 x i8] zeroinitializer)",
)


@pytest.mark.parametrize("level", LEVELS)
@each("call", OTHERS)
def test_every_other_call_stays_too(call: str, level: int) -> None:
    line = "call " + call
    declared = "declare " + re.sub(r" (%\w+|-?\d+|true|<i32.*?>|zeroinitializer)(?=[,)])", "", call)
    results = ["", ""] if call.startswith("void") else ["%a = ", "%b = "]
    text = (
        "define ptx_kernel void @k(ptr addrspace(3) %s, i32 %i, i64 %l) {\n"
        f"  {results[0]}{line}\n  {results[1]}{line}\n  ret void\n}}\n{declared}\n"
    )
    assert called(shielded(text, level)) == [call, call]


ARITHMETIC = (
    "float @llvm.nvvm.sqrt.approx.f(float %x)",
    "float @llvm.nvvm.ex2.approx.ftz.f32(float %x)",
    "i32 @llvm.nvvm.f2i.rn(float %x)",
    "i32 @llvm.nvvm.prmt(i32 %i, i32 7, i32 %i)",
    "i32 @llvm.nvvm.mulhi.i(i32 %i, i32 %i)",
)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("call", ARITHMETIC)
def test_arithmetic_is_done_once_and_only_where_it_is_wanted(call: str, level: int) -> None:
    """What is loaded before it need not be loaded again: it changes no memory."""
    type_ = call.partition(" ")[0]
    declared = "declare " + re.sub(r" (%\w+|\d+)(?=[,)])", "", call)
    text = (
        "define ptx_kernel void @k(ptr addrspace(1) %p, i32 %i, float %x) {\n"
        f"  %old = load {type_}, ptr addrspace(1) %p\n"
        f"  %a = call {call}\n  %b = call {call}\n  %unused = call {call}\n"
        f"  %new = load {type_}, ptr addrspace(1) %p\n"
        f"  %pair = insertvalue [4 x {type_}] poison, {type_} %a, 0\n"
        f"  %three = insertvalue [4 x {type_}] %pair, {type_} %b, 1\n"
        f"  %four = insertvalue [4 x {type_}] %three, {type_} %old, 2\n"
        f"  %all = insertvalue [4 x {type_}] %four, {type_} %new, 3\n"
        f"  store [4 x {type_}] %all, ptr addrspace(1) %p\n  ret void\n}}\n{declared}\n"
    )
    done = shielded(text, level)
    assert called(done) == [call]
    assert body(done).count(" load ") == 1


def test_what_never_changes_is_read_once() -> None:
    text = (
        "define ptx_kernel void @k(ptr addrspace(1) %p) {\n"
        "  %a = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
        "  %b = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
        "  %c = call i32 @llvm.nvvm.read.ptx.sreg.clock()\n"
        "  %d = call i32 @llvm.nvvm.read.ptx.sreg.clock()\n"
        "  %e = add i32 %a, %b\n  %f = sub i32 %d, %c\n  %g = mul i32 %e, %f\n"
        "  store i32 %g, ptr addrspace(1) %p\n  ret void\n}\n"
    )
    clock = "read.ptx.sreg.clock"
    assert sorted(calls(shielded(text, 2))) == [clock, clock, "read.ptx.sreg.tid.x"]


@pytest.mark.parametrize("level", LEVELS)
def test_elected_threads_are_elected_where_the_program_says(level: int) -> None:
    """Once in each branch, not before, not behind, and not once for both."""
    elect = "{{ i32, i1 }} @llvm.nvvm.elect.sync(i32 -1)".replace("{{", "{").replace("}}", "}")
    arm = "  %e{0} = call " + elect + "\n  %v{0} = extractvalue {{ i32, i1 }} %e{0}, 0\n"
    arms = [arm.replace("{0}", n).replace("{{", "{").replace("}}", "}") for n in "12"]
    text = (
        "define ptx_kernel void @k(ptr addrspace(1) %p, i32 %i) {\n"
        "  %c = icmp eq i32 %i, 0\n  br i1 %c, label %yes, label %no\nyes:\n"
        f"{arms[0]}  br label %end\nno:\n{arms[1]}  br label %end\nend:\n"
        "  %r = phi i32 [ %v1, %yes ], [ %v2, %no ]\n"
        "  store i32 %r, ptr addrspace(1) %p\n  ret void\n}\n"
    )
    blocks = re.split(r"^\w+:.*$", body(shielded(text, level)), flags=re.MULTILINE)
    assert [block.count("elect.sync") for block in blocks] == [0, 1, 1, 0]


@pytest.mark.parametrize("level", LEVELS)
def test_calls_with_different_immediates_stay_two(level: int) -> None:
    """An immediate that became a choice of two would be no immediate any more."""
    call = "call void @llvm.nvvm.tcgen05.wait.group(ptr addrspace(3) %s, i32 {})"
    text = (
        "define ptx_kernel void @k(ptr addrspace(3) %s, i32 %i) {\n"
        "  %c = icmp eq i32 %i, 0\n  br i1 %c, label %yes, label %no\n"
        f"yes:\n  {call.format(1)}\n  br label %end\nno:\n  {call.format(2)}\n  br label %end\n"
        "end:\n  ret void\n}\n"
        "declare void @llvm.nvvm.tcgen05.wait.group(ptr addrspace(3), i32)\n"
    )
    done = called(shielded(text, level))
    assert [line[-3:] for line in done] == [" 1)", " 2)"]


# ---- what a call says beside its arguments ---------------------------------------------------

SAYS = """\
@tile = internal addrspace(3) global [4 x i32] undef, align 16
define ptx_kernel void @k(ptr addrspace(6) %d, i64 %a, i1 %p) {
  call void @llvm.nvvm.tcgen05.mma.cta_group__1(i64 noundef %a, ptr addrspace(3) writeonly align 4 captures(none) @tile) #0, !nvgen.atom !0, !noalias !1
  call void @llvm.nvvm.tcgen05.mma.cta_group__1(i64 %a, ptr addrspace(3) @tile), !nvgen.atom !3
  ret void
}
declare void @llvm.nvvm.tcgen05.mma.cta_group__1(i64, ptr addrspace(3) readnone) #1
attributes #0 = { memory(none) "says"="so, !dbg !7" }
attributes #1 = { nosync willreturn memory(none) "keeps" }
!0 = !{!"sm100_umma_m64n128k16_f32_bf16_bf16", !"MN", !"K"}
!1 = !{!2}
!2 = distinct !{!2, !4}
!3 = !{!"another"}
!4 = distinct !{!4}
"""  # noqa: E501


@pytest.mark.parametrize("level", LEVELS)
def test_attributes_and_metadata_survive_and_mean_nothing_meanwhile(level: int) -> None:
    """LLVM may drop a call that touches no memory: it must not hear that this one does not."""
    done = shielded(SAYS, level)
    first, second = (line for line in body(done).split("\n") if "call" in line)
    assert "(i64 noundef %a, ptr addrspace(3) writeonly align 4 captures(none) @tile) #" in first
    assert "(i64 %a, ptr addrspace(3) @tile), !nvgen.atom" in second
    (group,) = re.findall(r"\) (#\d+)", first)
    assert f'attributes {group} = {{ memory(none) "says"="so, !dbg !7" }}' in done
    atoms = [re.search(r"!nvgen\.atom (!\d+)", line) for line in (first, second)]
    nodes = [re.search(rf"^{atom[1]} = (.*)$", done, re.MULTILINE) for atom in atoms if atom]
    assert [node[1] for node in nodes if node] == [
        '!{!"sm100_umma_m64n128k16_f32_bf16_bf16", !"MN", !"K"}', '!{!"another"}',
    ]  # fmt: skip
    (declared,) = (line for line in done.split("\n") if line.startswith("declare"))
    assert declared.startswith(
        "declare void @llvm.nvvm.tcgen05.mma.cta_group__1(i64, ptr addrspace(3) readnone) #"
    )
    assert is_llvm_ir(done)


def test_types_and_symbols_of_any_name() -> None:
    """Names that look like types, linkages, attributes or calls."""
    text = (
        '%"a type" = type { i32, i8 }\n@internal = internal addrspace(3) global i32 undef\n'
        '@"internal = x" = internal addrspace(3) global i32 undef\n'
        'define internal ptx_kernel void @"internal @f("(%"a type" %x, i32 %align) {\n'
        '  call void @"llvm.nvvm.tcgen05.new-thing"(%"a type" noundef %x, i32 noundef %align, '
        "ptr addrspace(3) align 8 @internal, i1 true, float undef, "
        "<{ i8, i8 }> <{ i8 1, i8 2 }>)\n"
        '  call void @"llvm.nvvm.tcgen05.new-thing"(%"a type" { i32 1, i8 2 }, i32 7, '
        'ptr addrspace(3) @"internal = x", i1 false, float 1.0, <{ i8, i8 }> zeroinitializer)\n'
        "  ret void\n}\n"
        'declare void @"llvm.nvvm.tcgen05.new-thing"(%"a type", i32, ptr addrspace(3), i1, float, '
        "<{ i8, i8 }>)\n"
    )
    before, after = parse(text), shielded(text, 2)
    assert [line for line in before.split("\n") if line.startswith("@")] == [
        line for line in after.split("\n") if line.startswith("@")
    ]
    wanted, found = (
        re.findall(r"call (void @.*?\))$", body(t), re.MULTILINE) for t in (before, after)
    )
    assert found == wanted
    assert len(found) == 2
    assert is_llvm_ir(after)


def test_no_trace_of_the_shield_is_left() -> None:
    for level in LEVELS:
        assert "nvgen." not in shielded(SAYS.replace("nvgen.atom", "atom"), level)


def test_a_name_of_the_shields_own_is_left_alone() -> None:
    text = (
        "define ptx_kernel void @k() {\n  call void @nvgen.shielded.0()\n"
        "  call void @llvm.nvvm.tcgen05.wait.ld()\n  ret void\n}\n"
        "declare void @nvgen.shielded.0()\n"
    )
    done = shielded(text, 3)
    assert "call void @nvgen.shielded.0()" in done
    assert calls(done) == ["tcgen05.wait.ld"]


# ---- symbols ---------------------------------------------------------------------------------


@pytest.mark.parametrize("linkage", ["internal", "private", "linkonce_odr", "weak", ""])
@pytest.mark.parametrize("level", LEVELS)
def test_symbols_keep_their_linkage_and_stay(linkage: str, level: int) -> None:
    """A kernel that nobody calls, a variable that nobody loads: both are used from outside."""
    symbols = (
        '@used = {} addrspace(3) global i32 undef\n@"not = used" = {} addrspace(3) global i32 undef'
    )
    text = (
        symbols.format(linkage, linkage).replace("=  ", "= ")
        + f"\ndefine {linkage} ptx_kernel void @k(i32 %i) {{\n"
        "  store i32 %i, ptr addrspace(3) @used\n  ret void\n}\n"
    )
    before, after = parse(text), shielded(text, level).replace("local_unnamed_addr ", "")
    for pattern in (r"^(@.*? = \w*).*addrspace\(3\)", r"^(define.*?)@k\("):
        assert re.findall(pattern, after, re.M) == re.findall(pattern, before, re.M)
    assert "store i32 %i, ptr addrspace(3) @used" in after


def test_unused_values_are_removed() -> None:
    text = (
        "@table = internal constant [2 x i32] [i32 1, i32 2]\n"
        "define ptx_kernel void @k(ptr addrspace(1) %p) {\n"
        "  %v = load i32, ptr @table\n  %w = call i32 @twice(i32 %v)\n"
        "  store i32 %w, ptr addrspace(1) %p\n  ret void\n}\n"
        "define internal i32 @twice(i32 %x) {\n  %y = shl i32 %x, 1\n  ret i32 %y\n}\n"
    )
    done = shielded(text, 2)
    assert "@table" not in done
    assert "@twice" not in done
    assert "store i32 2," in done


# ---- anything else that LLVM reads -----------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
@each("name", CASES)
def test_every_kind_of_module_goes_through(name: str, level: int) -> None:
    """Whatever LLVM can print: the shield's text is LLVM IR, and so is what comes back."""
    assert is_llvm_ir(shielded(CASES[name], level))


def test_llvm_is_the_one_whose_attributes_are_feared() -> None:
    """What makes the shield necessary: LLVM believes that an MMA only writes its accumulator."""
    mma = llvm_signatures.signature("tcgen05.mma.shared")
    text = mma.declaration("llvm.nvvm.tcgen05.mma.shared")
    printed = str(binding.parse_assembly(text, binding.create_context()))
    assert "@llvm.nvvm.tcgen05.mma.shared(ptr addrspace(6) writeonly," in printed
    assert "memory(argmem: readwrite)" in printed
    assert "convergent" not in printed

"""What of LLVM IR is not selected: each is named, at its line, with what to write instead.

The programs are ones that LLVM's own verifier accepts.  That PTX has nothing for them is the
manual's word: no exceptions, no tail calls, no floating point beyond 64 bits, no plain access to
tensor memory, no variable of one thread, no initialiser of shared memory.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

import nvgen
from intrinsics.findings import SelectionError, Severity
from tests.each import each


class Refused(NamedTuple):
    """A program; the line, rule, and what the first finding says and hints."""

    text: str
    line: int
    rule: str
    names: str
    hint: str = ""


HEAD = "define ptx_kernel void @k(ptr addrspace(1) %out, i32 %n) {\n"


def body(instructions: str, declarations: str = "", before: str = "") -> str:
    """A kernel, behind `before`."""
    return f"{before}{HEAD}{instructions}\n  ret void\n}}\n{declarations}"


def call(name: str, result: str, arguments: str, types: str) -> str:
    """A kernel that calls `name` in line 2."""
    assign = "" if result == "void" else "%x = "
    return body(
        f"  {assign}call {result} @{name}({arguments})", f"declare {result} @{name}({types})\n"
    )


RESUME = """\
define ptx_kernel void @k() personality ptr @p {
  resume { ptr, i32 } undef
}
declare i32 @p(...)
"""
TENSOR = "  %p = inttoptr i32 %n to ptr addrspace(6)\n"
CONSTRUCTOR = (
    "@llvm.global_ctors = appending global [1 x {i32, ptr, ptr}] "
    "[{i32, ptr, ptr} {i32 1, ptr @c, ptr null}]\ndefine void @c() {\n  ret void\n}\n"
)
IFUNC = "@f = ifunc void (), ptr @r\ndefine ptr @r() {\n  ret ptr @g\n}\n"
GLOBAL = "define void @g() {\n  ret void\n}\n"
ALIAS = "@v = addrspace(1) global i32 0\n@f = weak alias i32, ptr addrspace(1) @v\n"

INSTRUCTIONS = "select/unsupported-instruction"
REFUSED = {
    "inline assembly that is no PTX": Refused(
        body('  call void asm sideeffect "mov.b32 %r9, 1;", ""()'), 2, "select/inline-asm", "%r9",
    ),
    "a comma that is missing in inline assembly": Refused(
        body('  %a = call i32 asm "selp.b32 $0, 1, 2 $1;", "=r,b"(i1 true)'),
        2, "select/inline-asm", "expected ','", "line 1",
    ),
    "an operand too many in inline assembly": Refused(
        body('  %a = call i32 asm "add.u32 $0, $1, $1, $1;", "=r,r"(i32 %n)'),
        2, "select/inline-asm", "operands do not fit add",
    ),
    "a comma that is missing in an instruction that nobody knows": Refused(
        body('  %a = call i32 asm "frob.b32 $0, 1 $1;", "=r,r"(i32 %n)'),
        2, "select/inline-asm", "expected ',', got '$1'", "line 1",
    ),
    "a bracket that is open in an instruction that is not modelled": Refused(
        body('  %a = call i32 asm '
             '"tex.1d.v4.s32.s32 {$0,_,_,_}, [$1, {$2};", "=r,l,r"(i64 1, i32 1)'),
        2, "select/inline-asm", "expected ']'", "line 1",
    ),
    "callbr": Refused(
        f'{HEAD}  callbr void asm sideeffect "", "!i"() to label %a [label %b]\n'
        "a:\n  ret void\nb:\n  ret void\n}\n",
        2, INSTRUCTIONS, "callbr", "branch",
    ),
    "an exception": Refused(RESUME, 2, INSTRUCTIONS, "resume", "-fno-exceptions"),
    "what throws an exception": Refused(
        "declare void @__cxa_throw(ptr, ptr, ptr)\ndefine void @f(ptr %x) {\n"
        "  call void @__cxa_throw(ptr %x, ptr null, ptr null)\n  unreachable\n}\n",
        3, "select/exceptions", "@__cxa_throw",
    ),
    "musttail": Refused(
        "declare void @g(i32, ...)\ndefine void @f(i32 %n, ...) {\n"
        "  musttail call void (i32, ...) @g(i32 %n, ...)\n  ret void\n}\n",
        3, "select/musttail", "@g",
    ),
    "a scalable vector": Refused(
        body("  %x = load <vscale x 4 x i32>, ptr addrspace(1) %out"), 2, "select/type", "vscale"
    ),
    **{
        type_: Refused(
            body(f"  %x = load {type_}, ptr addrspace(1) %out"), 2, "select/type", type_
        )
        for type_ in ("x86_fp80", "fp128", "ppc_fp128")
    },
    "a parameter of fp128": Refused(
        "define ptx_kernel void @k(fp128 %x) {\n  ret void\n}\n", 1, "select/type", "fp128"
    ),
    "a load of tensor memory": Refused(
        body(f"{TENSOR}  %x = load i32, ptr addrspace(6) %p"), 3, "select/tensor-memory", "load",
        "llvm.nvvm.tcgen05.ld",
    ),
    "a store to tensor memory": Refused(
        body(f"{TENSOR}  store i32 1, ptr addrspace(6) %p"), 3, "select/tensor-memory", "store",
        "llvm.nvvm.tcgen05.st",
    ),
    "an atomic of tensor memory": Refused(
        body(f"{TENSOR}  %x = atomicrmw add ptr addrspace(6) %p, i32 1 monotonic"), 3,
        "select/tensor-memory", "atomicrmw",
    ),
    "a target's type": Refused(
        body('  %x = freeze target("nv.thing") poison'), 2, "select/type", 'target("nv.thing")'
    ),
    "a token": Refused(
        call("llvm.experimental.convergence.anchor", "token", "", ""), 2,
        "select/unknown-intrinsic", "convergence.anchor",
    ),
    "module assembly that defines what LLVM IR does": Refused(
        "; first\n@x = addrspace(1) global i32 0\nmodule asm \".global .b32 x;\"\n" + body(""), 0,
        "select/module-asm", "defined in LLVM IR",
    ),
    "an ifunc": Refused(
        body("  call void @f()", before=IFUNC + GLOBAL), 9, "select/address-of", "@f", "ifunc"
    ),
    "a weak alias": Refused(
        body("  store i32 1, ptr addrspace(1) @f", before=ALIAS), 4, "select/address-of", "@f",
        "alias",
    ),
    "an unknown intrinsic": Refused(
        call("llvm.nvvm.shfl.sync.bffly.i32", "i32", "i32 -1, i32 %n, i32 1, i32 31",
             "i32, i32, i32, i32"),
        2, "select/unknown-intrinsic", "@llvm.nvvm.shfl.sync.bffly.i32",
        "llvm.nvvm.shfl.sync.bfly.i32",
    ),
    "another machine's intrinsic": Refused(
        call("llvm.x86.sse2.pause", "void", "", ""), 2, "select/unknown-intrinsic", "x86.sse2.pause"
    ),
    "a shuffle without its threads": Refused(
        call("llvm.nvvm.shfl.up.i32", "i32", "i32 %n, i32 1, i32 0", "i32, i32, i32"), 2,
        "select/unknown-intrinsic", ".sync since sm_70",
    ),
    "a variable of a thread": Refused(
        body("", before="@t = thread_local addrspace(1) global i32 0\n"), 1, "select/thread-local",
        "@t", "alloca",
    ),
    "a shared initialiser": Refused(
        body("", before="@s = addrspace(3) global i32 7\n"), 1, "select/initializer", "@s", "store"
    ),
    "a variable in local memory": Refused(
        body("", before="@q = addrspace(5) global i32 0\n"), 1, "select/address-space", "@q"
    ),
    "a variable in the shared memory of a cluster": Refused(
        body("", before="@q = addrspace(7) global i32 0\n"), 1, "select/address-space", "@q"
    ),
    "a variable in tensor memory": Refused(
        body("", before="@q = addrspace(6) global i32 0\n"), 1, "select/address-space", "@q",
        "llvm.nvvm.tcgen05.alloc",
    ),
    "a constructor": Refused(
        CONSTRUCTOR + body(""), 1, "select/constructors", "@llvm.global_ctors", "kernel"
    ),
}  # fmt: skip


@each("refused", REFUSED.values(), ids=REFUSED)
def test_what_is_not_selected_is_named_at_its_line(refused: Refused) -> None:
    with pytest.raises(SelectionError) as caught:
        nvgen.compile(refused.text, target="sm_100a")
    first = caught.value.findings[0]
    assert (first.rule, first.place.line) == (refused.rule, refused.line)
    assert refused.names in f"{first.message} {first.op}"
    assert refused.hint in first.hint


def test_a_function_of_libdevice_is_told_how_to_link_where_there_is_no_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another module may bring it: a note, no error."""
    monkeypatch.setattr("nvgen.llvm.reading.find_libdevice", lambda: None)
    module = nvgen.compile(
        call("__nv_expf", "float", "float 1.0", "float"), target="sm_100a"
    ).module
    (note,) = module.notes
    assert (note.rule, note.severity) == ("select/extern-function", Severity.NOTE)
    assert "@__nv_expf" in note.message
    assert "libdevice" in note.hint

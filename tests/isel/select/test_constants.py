"""Constant expressions of every shape, as operands and in initial values, beside LLVM's code."""

from __future__ import annotations

import pytest

import nvgen
from intrinsics.findings import SelectionError
from tests.oracle.side_by_side import compare

GLOBALS = """
@g = internal addrspace(1) global [8 x i32] [i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 16, i32 17], align 8
@c = internal addrspace(4) constant [4 x i32] [i32 20, i32 21, i32 22, i32 23], align 8
@s = internal addrspace(3) global [8 x i32] undef, align 8
@z = internal global [4 x i32] [i32 30, i32 31, i32 32, i32 33], align 8
"""  # noqa: E501 - one declaration a line
G = "ptr addrspacecast (ptr addrspace(1) @g to ptr)"
C = "ptr addrspacecast (ptr addrspace(4) @c to ptr)"
S = "ptr addrspacecast (ptr addrspace(3) @s to ptr)"


def loads(*pointers: str) -> str:
    """A kernel that writes the words of 32 bits at some addresses."""
    lines = []
    for n, pointer in enumerate(pointers):
        lines += [
            f"%a{n} = load i32, {pointer}, align 1",
            f"%w{n} = zext i32 %a{n} to i64",
            f"%p{n} = getelementptr i64, ptr addrspace(1) %out, i64 {n}",
            f"store i64 %w{n}, ptr addrspace(1) %p{n}",
        ]
    return kernel(*lines)


def kernel(*lines: str) -> str:
    body = "\n  ".join(lines)
    return (
        f"{GLOBALS}define ptx_kernel void @k(ptr addrspace(1) %out) {{\n  {body}\n  ret void\n}}\n"
    )


def stored(*numbers: str) -> str:
    """A kernel that writes constants of 64 bits."""
    lines = []
    for n, number in enumerate(numbers):
        lines += [f"%p{n} = getelementptr i64, ptr addrspace(1) %out, i64 {n}"]
        lines += [f"store i64 {number}, ptr addrspace(1) %p{n}"]
    return kernel(*lines)


def behind(pointer: str, index: int) -> str:
    return f"ptr getelementptr ([8 x i32], {pointer}, i64 0, i64 {index})"


G_INT = "i64 ptrtoint (ptr addrspace(1) @g to i64)"
G8_INT = "i64 ptrtoint (ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @g, i64 8) to i64)"
OPERANDS = {
    "an address behind a conversion": loads(
        behind(G, 3),
        behind(C, 2),
        "ptr getelementptr (i8, ptr addrspacecast (ptr addrspace(1) getelementptr"
        " (i8, ptr addrspace(1) @g, i64 16) to ptr), i64 -4)",
        "ptr getelementptr (i8, ptr @z, i64 8)",
        "ptr addrspace(1) getelementptr (i8, ptr addrspace(1) addrspacecast"
        " (ptr @z to ptr addrspace(1)), i64 4)",
    ),
    "shared memory by its generic address": kernel(
        f"store i32 77, {behind(S, 5)}",
        f"%a = load i32, ptr getelementptr (i8, {S}, i64 20)",
        "%b = load i32, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @s, i64 20)",
        "%t = add i32 %a, %b",
        "%w = zext i32 %t to i64",
        "store i64 %w, ptr addrspace(1) %out",
    ),
    "an integer that is an address": loads(
        f"ptr inttoptr (i64 add ({G_INT}, i64 8) to ptr)",
        f"ptr addrspace(1) inttoptr (i64 sub ({G8_INT}, i64 -4) to ptr addrspace(1))",
        "ptr addrspace(1) inttoptr (i64 add (i64 4,"
        " i64 ptrtoint (ptr addrspace(1) @g to i64)) to ptr addrspace(1))",
    ),
    "differences": stored(
        f"sub ({G8_INT}, {G_INT})",
        f"sub ({G_INT}, {G8_INT})",
        f"sub (i64 sub ({G8_INT}, i64 5), {G_INT})",
        f"xor (i64 sub ({G8_INT}, {G_INT}), i64 -1)",
        f"xor (i64 xor ({G_INT}, i64 -1), i64 xor ({G_INT}, i64 -1))",
    ),
    "narrower and wider": kernel(
        f"%d = zext i32 trunc (i64 sub ({G8_INT}, {G_INT}) to i32) to i64",
        "store i64 %d, ptr addrspace(1) %out",
        "%low = sub i32 ptrtoint (ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @g, i64 6)"
        " to i32), ptrtoint (ptr addrspace(1) @g to i32)",
        "%e = zext i32 %low to i64",
        "%p = getelementptr i64, ptr addrspace(1) %out, i64 1",
        "store i64 %e, ptr addrspace(1) %p",
    ),
    "vectors": kernel(
        f"%v = getelementptr i8, <2 x ptr> <{G}, {C}>, <2 x i64> <i64 4, i64 8>",
        "%x = extractelement <2 x ptr> %v, i32 0",
        f"%y = extractelement <2 x ptr> getelementptr (i8, <2 x ptr> <{G}, {S}>,"
        " <2 x i64> <i64 12, i64 8>), i32 0",
        "%a = load i32, ptr %x",
        "%b = load i32, ptr %y",
        "%aw = zext i32 %a to i64",
        "%bw = zext i32 %b to i64",
        "%p = getelementptr i64, ptr addrspace(1) %out, i64 1",
        "store i64 %aw, ptr addrspace(1) %out",
        "store i64 %bw, ptr addrspace(1) %p",
    ),
    "one of two ways": kernel(
        "%t = load i64, ptr addrspace(1) %out",
        "%c = icmp eq i64 %t, 0",
        "br i1 %c, label %b, label %a",
        "a:",
        "br label %b",
        "b:",
        f"%p = phi ptr [ {behind(G, 2)[4:]}, %a ], [ {behind(C, 1)[4:]}, %0 ]",
        "%v = load i32, ptr %p",
        "%w = zext i32 %v to i64",
        "store i64 %w, ptr addrspace(1) %out",
    ),
}


@pytest.mark.parametrize("opt", [0, 2])
def test_operands_are_what_they_are_to_llvm(opt: int):
    compare(OPERANDS, opt=opt)


def initial(type_: str, value: str, at: int = 0) -> str:
    """A kernel that follows the address in a variable."""
    place = f"ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @v, i64 {at})"
    return f"@v = internal addrspace(1) global {type_} {value}, align 8\n" + kernel(
        f"%i = load i64, {place}, align 1",
        "%p = inttoptr i64 %i to ptr",
        "%a = load i32, ptr %p",
        "%w = zext i32 %a to i64",
        "store i64 %w, ptr addrspace(1) %out",
    )


INITIAL = {
    "behind a conversion": initial("ptr", behind(G, 3)[4:]),
    "twice": initial(
        "ptr",
        "getelementptr (i8, ptr addrspacecast (ptr addrspace(1) getelementptr"
        " (i8, ptr addrspace(1) @g, i64 4) to ptr), i64 -4)",
    ),
    "an integer": initial("i64", f"add (i64 ptrtoint ({G} to i64), i64 8)"),
    "of the generic address space": initial("ptr", "getelementptr (i8, ptr @z, i64 4)"),
    "addresses of narrow and wide numbers": (
        "@v = internal addrspace(1) global [3 x ptr] [ptr inttoptr (i16 -2 to ptr),"
        f" ptr inttoptr (i128 {(1 << 64) + 9} to ptr), ptr inttoptr (i8 5 to ptr)]\n"
        + kernel(
            "%x = load <3 x i64>, ptr addrspace(1) @v",
            "store <3 x i64> %x, ptr addrspace(1) %out",
        )
    ),
    "in a packed struct": initial("<{ i8, ptr }>", f"<{{ i8 1, {G} }}>", 1),
    "in a vector": initial("<2 x ptr>", f"<ptr null, {behind(C, 2)}>", 8),
    "a difference": f"@v = internal addrspace(1) global i64 sub ({G8_INT}, {G_INT}), align 8\n"
    + kernel(
        "%i = load i64, ptr addrspace(1) @v",
        "store i64 %i, ptr addrspace(1) %out",
    ),
}


def test_initial_values_are_what_they_are_to_llvm():
    compare(INITIAL)


REFUSED = {
    "of two variables": "i64 sub (i64 ptrtoint (ptr addrspace(1) @g to i64),"
    " i64 ptrtoint (ptr @z to i64))",
    "a part of an address": "i32 ptrtoint (ptr addrspace(1) @g to i32)",
    "bits turned round": "i64 xor (i64 ptrtoint (ptr addrspace(1) @g to i64), i64 -1)",
    "shared memory": "ptr addrspace(3) @s",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_linker_computes_is_reported(name: str):
    """LLVM ends the process over three of these, and writes the whole address for a part of one."""
    text = (
        f"@v = addrspace(1) global {REFUSED[name]}\n{kernel('store i64 1, ptr addrspace(1) %out')}"
    )
    with pytest.raises(SelectionError) as error:
        nvgen.compile(text, target="sm_90a")
    (finding,) = error.value.findings
    assert finding.rule == "select/initializer"
    assert finding.place.line == 1


def test_variables_that_name_each_other_are_reported_once():
    """LLVM ends the process over them."""
    text = (
        "@z = addrspace(1) global i32 1\n"
        "@a = addrspace(1) global ptr addrspacecast (ptr addrspace(1) @b to ptr)\n"
        "@b = addrspace(1) global ptr addrspacecast (ptr addrspace(1) @c to ptr)\n"
        "@c = addrspace(1) global ptr addrspacecast (ptr addrspace(1) @a to ptr)\n"
        "@own = addrspace(1) global ptr addrspacecast (ptr addrspace(1) @own to ptr)\n"
    )
    with pytest.raises(SelectionError) as error:
        nvgen.compile(text, target="sm_90a")
    (finding,) = error.value.findings
    assert (finding.rule, finding.got, finding.place.line) == ("select/initializer", "a circle", 2)


G64 = "i64 ptrtoint (ptr addrspace(1) @g to i64)"
ADDRESS = f"double bitcast ({G64} to double)"
NEGATED = f"double bitcast (i64 sub (i64 0, {G64}) to double)"
OF_AN_ADDRESS = {
    "fneg": (f"%x = fneg {ADDRESS}", "%bits = bitcast double %x to i64", f"sub {G64}, %bits"),
    "copysign": (
        f"%x = call double @llvm.copysign.f64({ADDRESS}, double -1.0)",
        "%bits = bitcast double %x to i64",
        f"sub {G64}, %bits",
    ),
    "a choice": (
        f"%x = select i1 %some, {ADDRESS}, double 1.0",
        "%far = bitcast double %x to i64",
        "%bits = sub i64 %far, 7",
        f"sub {G64}, %bits",
    ),
    "a comparison": (
        f"%less = fcmp olt {ADDRESS}, 1.0",
        "%bits = zext i1 %less to i64",
        "add i64 5, %bits",
    ),
    "a difference": (
        f"%x = fneg {NEGATED}",
        "%bits = bitcast double %x to i64",
        f"add {G64}, %bits",
    ),
}


def test_an_address_is_a_number_of_floating_point():
    """LLVM's optimiser makes that of unions.  What is stored is the same wherever @g lies."""
    texts = {
        name: kernel(
            "%word = load i64, ptr addrspace(1) %out",
            "%some = icmp eq i64 %word, 0",
            *lines,
            f"%stored = {last}",
            "store i64 %stored, ptr addrspace(1) %out",
        )
        + "declare double @llvm.copysign.f64(double, double)\n"
        for name, (*lines, last) in OF_AN_ADDRESS.items()
    }
    compare(texts)

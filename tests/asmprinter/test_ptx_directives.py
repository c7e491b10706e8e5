"""The directives of PTX, each as ptxas takes it: understood or kept, printed again, never lost.

PTX ISA, Directives; State Spaces, Types, and Variables.
"""

from __future__ import annotations

import re

import pytest

from asmprinter.ptx.printer import print_ptx
from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Finding, Severity
from intrinsics.mir import Launch, Linkage, Module
from tests.asmprinter.ptx_kernels import assembles
from tests.each import each
from tests.oracle.ptxas_modules import report

HEADER = ".version 9.0\n.target sm_90a\n.address_size 64\n"
KERNEL = ".visible .entry k() { ret; }\n"


def read(text: str) -> tuple[Module, list[Finding]]:
    """A module that ptxas takes, read without an error, and printed so that it reads the same."""
    assembles(text)
    reading = read_ptx(text, "d.ptx")
    assert [f for f in reading.findings if f.severity is Severity.ERROR] == []
    printed = printed_of(reading.module)
    assembles(printed)
    assert printed_of(read_ptx(printed, "d.ptx").module) == printed
    return reading.module, reading.findings


def printed_of(module: Module) -> str:
    assert module.ptx is not None
    return print_ptx(module, module.ptx).text


UNDERSTOOD = {
    ".global .v4 .f32 v;": ".global .align 16 .b8 v[16];",
    ".global .v2 .u32 v[3];": ".global .align 8 .b8 v[24];",
    ".global .u32 a = 1, b[2] = {2, 3}, c;": ".align 4 .b8 b[8] = {2, 0, 0, 0, 3};",
    ".shared.b32 s;": ".shared .align 4 .b8 s[4];",
    ".global .attribute(.managed) .align 4 .s32 g;": ".attribute(.managed) .align 4 .b8 g[4];",
    ".global .align 8 .attribute(.managed) .s32 g;": ".attribute(.managed) .align 8 .b8 g[4];",
    ".attribute(.managed) .global .b32 g;": ".global .attribute(.managed) .align 4 .b8 g[4];",
    ".common .global .b32 c;": ".common .global .align 4 .b8 c[4];",
    ".weak .shared .align 4 .b8 w[4];": ".weak .shared .align 4 .b8 w[4];",
    ".visible .const .f32 pi = 0f40490FDB;": ".const .align 4 .b8 pi[4] = {219, 15, 73, 64};",
    ".extern .global .b32 e;": ".extern .global .align 4 .b8 e[4];",
    ".global .b8 x[] = {1, 2};": ".b8 x[2] = {1, 2};",
    ".func h(); .global .u64 y[2] = {h, 0}; .func h() { ret; }": ".u64 y[2] = {h, 0};",
    ".entry e(); .global .u64 y = e; .entry e() { ret; }": ".u64 y[1] = {e};",
    ".func g() { ret; } .visible .func f(); .alias f, g;": ".alias f, g;",
    '.pragma "nounroll";': '.pragma "nounroll";',
    '.file 1 "x.cu", 1, 2': '.file 1 "x.cu", 1, 2',
    ".section .debug_str\n{\n.b8 1,2\n}": ".section .debug_str\n{\n.b8 1,2\n}",
    ".entry e() .explicitcluster { ret; }": ".explicitcluster",
    ".entry e() .maxclusterrank 8 { ret; }": ".maxclusterrank 8",
    '.entry e() .pragma "a;b"; { ret; }': '.pragma "a;b";',
    ".func f() .abi_preserve 4 { ret; }": ".abi_preserve 4",
    ".func f() .noreturn { trap; }": ".noreturn",
    ".func f { ret; }": ".func f()",
    ".entry e { ret; }": ".entry e()",
    ".func (.param .b32 o) f(.param .b32 i[4]) { ret; }": ".param .align 4 .b8 i[16]",
    ".entry e(.param .b64 .ptr .const .align 8 q) { ret; }": ".ptr .const .align 8 q",
    ".weak .entry e() { ret; }": ".weak .entry e()",
}
"""What nvgen understands, or keeps without a word, and a part of what it prints of it."""


@each("text, shown", UNDERSTOOD.items())
def test_what_is_understood(text: str, shown: str):
    module, findings = read(f"{HEADER}{text}\n{KERNEL}")
    assert findings == []
    assert shown in printed_of(module)


KEPT = {
    ".global .texref t;": ".global .texref t;",
    ".global .surfref s, u;": ".global .surfref s, u;",
    ".func .attribute(.unified(1, 2)) f() { ret; }": ".func .attribute(.unified(1, 2)) f()",
    ".func (.reg .b32 o) f(.reg .b32 i) { mov.b32 o, i; ret; }": "{ mov.b32 o, i; ret; }",
}
"""What stands in the output as it stood, with a finding that says so."""


@pytest.mark.parametrize(("text", "shown"), KEPT.items())
def test_what_is_kept(text: str, shown: str):
    module, findings = read(f"{HEADER}{text}\n{KERNEL}")
    (finding,) = findings
    assert (finding.severity, finding.incomplete) == (Severity.REVIEW, True)
    assert finding.place.line == 4
    assert shown in printed_of(module)


def test_options_of_the_target():
    module, _ = read(HEADER.replace("sm_90a", "sm_90a,texmode_independent") + KERNEL)
    assert module.options == ("texmode_independent",)
    assert ".target sm_90a, texmode_independent\n" in printed_of(module)


def test_a_cluster_that_a_launch_need_not_say():
    text = "{}.entry e() .reqnctapercluster 2 {} {{ ret; }}\n"
    implicit, _ = read(text.format(HEADER, ""))
    explicit, _ = read(text.format(HEADER, ".explicitcluster"))
    assert implicit.functions[0].launch == Launch(cluster=(2,), implicit_cluster=True)
    assert explicit.functions[0].launch == Launch(cluster=(2,))
    assert ".explicitcluster" not in printed_of(implicit)


def test_linkage_of_functions():
    module, _ = read(f"{HEADER}.weak .func f() {{ ret; }}\n.func g() {{ ret; }}\n{KERNEL}")
    assert [f.linkage for f in module.functions] == [
        Linkage.WEAK, Linkage.INTERNAL, Linkage.VISIBLE,
    ]  # fmt: skip


def test_calls_by_tables():
    """A call through a register that lists its callees, and one that gives a prototype."""
    calls = (
        ".reg .b64 %rd<3>; mov.b64 %rd1, f;\n"
        "fs: .calltargets f;\ncall %rd1, fs;\np: .callprototype _ ();\ncall %rd1, p;"
    )
    module, findings = read(f"{HEADER}.func f() {{ ret; }}\n.entry k() {{ {calls} ret; }}\n")
    assert {f.rule for f in findings} <= {"ptx/directive", "ptx/not-modelled"}
    assert "fs: .calltargets f;" in printed_of(module)


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("1 ? 2 : 3", 2),
        ("(0 ? 2 : 4-1) + 1", 4),
        ("(.s64)5", 5),
        ("(.u64)(-1) >> 32", 0xFFFF_FFFF),
        ("(.s64)0xFFFFFFFFFFFFFFFF", -1),
    ],
)
def test_rare_constant_expressions(number: str, value: int):
    text = f"{HEADER}.entry k() {{ .reg .b64 %rd<3>; mov.b64 %rd1, {number}; ret; }}\n"
    module, findings = read(text)
    assert findings == []
    assert f"mov.b64 %rd1, {value};" in printed_of(module)


@pytest.mark.parametrize(
    "statement",
    ["ld.shared.b32 %r1, s[4];", "mov.pred %p1, !%p2;", "vadd.s32.s32.s32 %r1, %r2.b0, %r1.h1;"],
)
def test_operands_that_are_kept(statement: str):
    registers = ".reg .b32 %r<3>; .reg .pred %p<3>; .shared .b32 s[8];"
    text = f"{HEADER}.entry k() {{ {registers} {statement} ret; }}\n"
    module, (finding,) = read(text)
    assert finding.rule == "ptx/not-modelled"
    assert statement in printed_of(module)


def test_a_comma_that_is_missing_is_no_element_of_an_array():
    text = f"{HEADER}.entry k(.param .b64 p) {{ .reg .b64 %rd<3>; ld.param.b64 %rd1 [p]; ret; }}\n"
    (finding,) = read_ptx(text).findings
    assert (finding.rule, finding.severity) == ("ptx/operands", Severity.ERROR)


def test_a_kept_call_keeps_its_guard():
    """A call whose parameters are registers is kept as it stands."""
    registers = ".reg .b32 %r<3>; .reg .pred %p<3>;"
    call = "@!%p1 call (%r1), f, (%r2);"
    function = ".func (.reg .b32 o) f(.reg .b32 i) { mov.b32 o, i; ret; }"
    module, _ = read(f"{HEADER}{function}\n.entry k() {{ {registers} {call} ret; }}\n")
    assert call in printed_of(module)


def test_debug_lines_of_what_was_inlined():
    loc = ".loc 1 7 3, function_name $L_name, inlined_at 1 20 5"
    text = (
        f'{HEADER}.file 1 "/src/a.cu"\n.entry k()\n{{\n.loc 1 20 5\n{loc}\nbar.sync 0;\nret;\n}}\n'
        ".section .debug_str\n{\n$L_name:\n.b8 102\n.b8 0\n}\n"
    )
    module, findings = read(text)
    assert findings == []
    barrier, _ = module.functions[0].instructions()
    location = module.locations[barrier.loc]
    assert location.directives == f".loc 1 20 5\n{loc}"
    assert (location.python_file, location.python_line) == ("/src/a.cu", 7)
    assert f"{loc}\n\tbar.sync 0;" in printed_of(module)


@each(
    "text, rule",
    [
        (".loc 1;", "ptx/syntax"),
        (".file x", "ptx/syntax"),
        (".section .debug_str {", "ptx/syntax"),
        (".b32 %r<3>;", "ptx/syntax"),
        (".global .b33 x;", "ptx/declaration"),
        (".global .b8 x[2] = {1, 2, 3};", "ptx/declaration"),
        (".entry e() nonsense { ret; }", "ptx/declaration"),
        (".func (.reg .b32 o) f(.reg .b32 i) { ret;", "ptx/syntax"),
    ],
)
def test_a_mistake_hides_no_other(text: str, rule: str):
    """What follows is read: the kernel behind it, and the mistake in that kernel."""
    wrong = ".visible .entry k()\n{\nfrobnicate;\nret;\n}\n"
    found = read_ptx(f"{HEADER}{text}\n{wrong}", "d.ptx")
    rules = {f.rule for f in found.findings}
    assert rule in rules
    if "{" not in text or text.count("{") == text.count("}"):
        assert "ptx/unknown-instruction" in rules
        assert "k" in [f.name for f in found.module.functions]


@pytest.mark.parametrize(
    "statement",
    [
        "ld.global.b32 {%r1}, [%rd1];",
        "st.global.b32 [%rd1], {%r1};",
        "st.global.b32 [%rd1], {5};",
        "ld.param.b64 {%rd1}, [p];",
        "ld.volatile.global.b32 {%r1}, [%rd1];",
    ],
)
def test_braces_of_one(statement: str):
    """Triton writes every load and store of one value so."""
    registers = ".reg .b32 %r<3>; .reg .b64 %rd<3>;"
    module, _ = read(f"{HEADER}.entry k(.param .b64 p) {{ {registers} {statement} ret; }}\n")
    bare = re.sub(r"[{}]", "", statement)
    assert bare in printed_of(module)


BOUNDS = [
    *(f".{name} {said}" for name in ("maxntid", "reqntid") for said in ("0", "32, 0", "1,2,3,4")),
    *(f".{name} 4294967296" for name in ("maxntid", "maxnreg", "minnctapersm", "maxclusterrank")),
    *(".minnctapersm 0", ".maxnreg 0", ".maxnreg 1, 2", ".minnctapersm 1, 2"),
    ".reqntid 1 .maxntid 2",
    ".maxclusterrank 8 .reqnctapercluster 2",
]


@each("bound", BOUNDS)
def test_a_bound_of_launches_that_ptxas_refuses(bound: str) -> None:
    text = f"{HEADER}.entry k() {bound} {{ ret; }}\n{KERNEL.replace('k', 'l')}"
    assert "error" in report(text, "sm_90a")
    reading = read_ptx(text, "d.ptx")
    assert reading.findings[0].rule == "ptx/declaration"
    assert "l" in [f.name for f in reading.module.functions]


@each("bound", [".reqnctapercluster 0", ".maxclusterrank 0", ".maxnreg 300", ".maxntid 2048"])
def test_a_bound_of_launches_that_ptxas_takes(bound: str) -> None:
    read(f"{HEADER}.entry k() {bound} {{ ret; }}\n")

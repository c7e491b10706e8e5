"""Declarations of PTX: the reader refuses what ptxas refuses, and nothing else.

Each module is put to ptxas in the same test.  PTX ISA, State Spaces, Types, and Variables; Linking
Directives; Performance-Tuning Directives.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import errors
from nvgen.compilation.options import Options
from nvgen.loading import load
from tests.each import each
from tests.oracle import ptxas
from tests.oracle.ptxas_modules import report

HEADER = ".version 8.7\n.target sm_90\n.address_size 64\n"


def module(
    top: str = "", body: str = "", params: str = "", bounds: str = "", header: str = HEADER
) -> str:
    """A module of one kernel."""
    return f"{header}{top}\n.visible .entry k({params})\n{bounds}\n{{\n{body}\nret;\n}}\n"


def ptxas_takes(text: str) -> bool:
    with tempfile.TemporaryDirectory(prefix="nvgen-") as folder:
        Path(folder, "m.ptx").write_text(text)
        done = subprocess.run(
            [ptxas.find_ptxas(), "-arch=sm_90", "--compile-only", "m.ptx"],
            cwd=folder, capture_output=True, check=False, timeout=60,
        )  # fmt: skip
    return done.returncode == 0


def agree(text: str) -> None:
    """The reader and ptxas take a module, or both refuse it."""
    assert (not errors(read_ptx(text).findings)) is ptxas_takes(text), text


TYPES = [
    "pred",
    "b8",
    "u8",
    "s8",
    "b16",
    "u16",
    "s16",
    "f16",
    "bf16",
    "b32",
    "u32",
    "s32",
    "f32",
    "tf32",
    "f16x2",
    "b64",
    "u64",
    "s64",
    "f64",
    "b128",
    "e4m3",
    "u8x4",
]

VALUES = [
    "1",
    "-1",
    "1.5",
    "0f3F800000",
    "0d3FF0000000000000",
    "h",
    "generic(h)",
    "h+4",
    "0xFF(h)",
    "{1}",
    "{}",
    "{1.5}",
]

LISTS = [
    "{1,2}",
    "{1.5,2}",
    "{0f3F800000,1}",
    "{h,h}",
    "{0xFF(h),1}",
    "{{1},{2}}",
    "{}",
    "1",
    "{1,{2}}",
]


def typed() -> Iterator[str]:
    """Variables, registers and parameters of each type, alone and as vectors."""
    for type_ in TYPES:
        yield module(f".global .{type_} g;")
        yield module("", f".reg .{type_} g;")
        yield module("", "", f".param .{type_} g")
        for width in (2, 4):
            yield module(f".shared .v{width} .{type_} g;")
            yield module("", f".reg .v{width} .{type_} g;")


def initialised() -> Iterator[str]:
    """Variables with numbers, addresses and braces."""
    for type_ in ("b8", "u8", "s16", "f16", "b32", "u32", "s32", "f32", "b64", "u64", "f64"):
        for value in VALUES:
            yield module(f".global .b32 h; .const .{type_} g = {value};")
        for value in LISTS:
            yield module(f".global .b32 h; .global .{type_} g[2] = {value};")
    for value in ("{{1,2},{3}}", "{1,2,3,4}", "{{1,2},3}", "{{1},{2},{3}}", "{{{1}}}"):
        yield module(f".global .b32 g[2][2] = {value};")
    for value in ("{1,2}", "1", "{{1,2}}", "{}", "{1}"):
        yield module(f".global .v2 .b32 g = {value};")


TOPS = """\
.shared .b32 g = 1;
.shared .b32 g[2] = {1, 2};
.extern .global .b32 g = 1;
.extern .const .b32 g[] = {1};
.weak .global .b32 g = 1;
.local .b32 g;
.global .u64 g = g;
.global .u64 g = nothing;
.global .u64 g[1] = {later}; .global .b32 later;
.func f() { ret; } .global .u64 g = f;
.func f(); .global .u64 g = f; .func f() { ret; }
.global .u64 g = k;
.shared .b32 s; .global .u64 g = generic(s);
.const .b32 c; .global .u64 g = generic(c);
.global .texref t; .global .u64 g = t;
.global .b32 g; .global .b32 g;
.shared .b32 g; .global .b32 g;
.extern .global .b32 g; .global .b32 g;
.extern .global .b32 g; .visible .global .b32 g;
.global .b32 g; .extern .global .b32 g;
.extern .global .b64 g; .visible .global .b32 g;
.extern .shared .b8 s[]; .extern .shared .b8 s[];
.common .global .b32 g; .common .global .b32 g;
.extern .shared .align 16 .b8 s[]; .extern .shared .align 4 .b32 s[];
.weak .global .b32 g; .global .b32 g;
.visible .weak .global .b32 g;
.visible .extern .global .b32 g;
.global .b32 k;
.func f() { ret; } .global .b32 f;
.global .b32 f; .func f() { ret; }
.func f(); .func f(); .func f() { ret; }
.func f() { ret; } .func f();
.func f() { ret; } .func f() { ret; }
.extern .func f(); .func f() { ret; }
.extern .func f() { ret; }
.extern .entry e() { ret; }
.visible .weak .entry e() { ret; }
.visible .visible .func f() { ret; }
.common .func f() { ret; }
.func f(.param .b32 a, .param .b32 a) { ret; }
.func (.param .b32 a) f(.param .b32 a) { ret; }
.func (.param .b32 r, .param .b32 q) f() { ret; }
.entry e(.param .b32 a, .param .b64 a) { ret; }
.func f() .noreturn { trap; }
.func (.param .b32 r) f() .noreturn { trap; }
.func f() .maxntid 3 { ret; }
.func f() .maxnreg 3 { ret; }
.func f(.param .b8 p[5000]) { ret; }
.func f(.param .f16x2 p) { ret; }
;
.global .b32 g;;
.func f() { ret; };
.version 8.7
.target sm_90
.address_size 64
.entry e(.reg .b32 p) { ret; }
.entry (.param .b32 r) e() { ret; }
.alias a, k;
.func f() { ret; } .alias a, f;
.func a(); .func f() { ret; } .alias a, f;
.extern .func a(); .func f() { ret; } .alias a, f;
.func a(); .alias a, nothing;
.func a(); .alias a, f; .func f() { ret; }
.func a(); .alias a, k;
.func f() { ret; } .func g() { ret; } .alias f, g;
.weak .func f() { ret; } .func a(); .alias a, f;
.func a(); .func f() { ret; } .alias a;
.func a(); .func f() { ret; } .alias a, f; .alias a, f;
.func a(.param .b32 x); .func f() { ret; } .alias a, f;
.func a(); .alias a, a;
.global .b32 a; .global .b32 f; .alias a, f;
.tex .u32 t;
.surf .u32 t;
.sreg .b32 %foo;
.ident "x";
.nonsense;
.nonsense x;
.maxnreg 3;
.global .attribute(.managed) .b32 g;
.global .attribute(.managed, .managed) .b32 g;
.global .attribute(.unified(1, 2)) .b32 g;
.global .attribute(.unified(1)) .b32 g;
.global .attribute(.nonsense) .b32 g;
.global .attribute() .b32 g;
.const .attribute(.managed) .b32 g;
.shared .attribute(.unified(1, 2)) .b32 g;
.func .attribute(.unified(1, 2)) f() { ret; }
.func .attribute(.managed) f() { ret; }
.entry .attribute(.unified(1, 2)) f() { ret; }
""".splitlines()

SPACES = (
    "\v",
    "\f",
    "\r",
    "\x1c",
    "\x1d",
    "\x1e",
    "\x1f",
    "\v .global .b32 g;",
    ".global\f.b32 g;",
)
"""What may be white space."""

BODIES = """\
.reg .b32 a, a;
.reg .b32 a; .local .b32 a;
.reg .pred a; .reg .b32 a;
.local .b32 a; .local .b32 a;
.reg .b32 k;
.local .b32 k;
.reg .b32 a; a:
a: .reg .b32 a;
.reg .b32 %r<4>; .reg .b64 %r<2>;
.reg .b32 %r<4>; .reg .b32 %r;
.reg .b32 %r<4>; .reg .b32 %r3;
.reg .b32 %r<4>; .reg .b32 %r4;
.reg .b32 %r0; .reg .b32 %r<4>;
.reg .b32 %r<4>; .reg .b32 %r2<1>;
.reg .v2 .b32 a; .reg .b32 a;
{ .local .b32 a; } { .local .b32 a; }
{ .reg .b32 a; } .reg .b32 a;
.reg .b32 a; { .reg .b64 a; }
.reg .b32 g;
.local .b32 g;
g:
.reg .b32 p;
.local .b32 p;
p:
{ .reg .b32 p; }
.global .b32 z = 1;
.visible .global .b32 z;
.extern .shared .b8 z[];
.weak .shared .b32 z;
.local .b32 z = 1;
.shared .b32 z = 1;
.param .b32 z = 1;
.param .f16x2 z;
.param .f16x2 z[2];
.param .v2 .b32 z;
.local .f16x2 z;
.reg .b32 %r<4294967296>;
;
ret;;
{ ; }
L:;
.reg .b32 a;;
.target sm_90
.version 8.7
.address_size 64
.callprototype _ ();
.calltargets k;
.branchtargets a;
p: .callprototype _ ();
.noreturn;
.nonsense;
.tex .u32 t;
""".splitlines()

BOUNDS = """\
.maxntid 0x20
.maxntid 32, 0x2
.maxntid 040
.maxntid -1
.maxntid 1.5
.maxntid 32U
.maxntid 2*3
.maxntid (4)
.maxntid
.maxnreg 0x20
.noreturn
.minnctapersm 2
.maxnctapersm 2
.maxntid 1 .maxntid 2
.maxntid 1,,2
.maxntid 1 2
.reqntid 0x20U
.blocksareclusters
""".splitlines()

NEWER = """\
.global .b128 g;
.extern .shared .b128 g;
.func f(.param .b128 p) { ret; }
.func f() { .reg .b128 r; ret; }
.func f() { .local .b128 r; ret; }
.func f() { p: .callprototype _ (.param .b128 _); ret; }
.entry e() .reqntid 32 .reqnctapercluster 2 .blocksareclusters { ret; }
.entry e() .reqntid 32 .blocksareclusters { ret; }
.entry e() .reqnctapercluster 2 .blocksareclusters { ret; }
.func f() .abi_preserve 8 { ret; }
.entry e() .abi_preserve 8 { ret; }
""".splitlines()
"""What versions of PTX have in turn."""

HEADERS = (
    ".version 8.7\n.version 8.7\n.target sm_90\n",
    ".version 8.7\n.target sm_90\n.target sm_90\n",
    ".version 8.7\n.target sm_90\n.address_size 64\n.address_size 64\n",
    ".target sm_90\n.version 8.7\n",
    ".version 8.7\n.address_size 64\n.target sm_90\n",
    "/* x */\n.version 8.7\n.target sm_90\n",
    ".version 8.7\n.target sm_90\n.global .b32 g;\n.address_size 64\n",
    ".version 8.7\n.global .b32 g;\n.target sm_90\n",
    ".global .b32 g;\n.version 8.7\n.target sm_90\n",
    ".version 8.7\n.target sm_90, map_f64_to_f32\n",
    ".version 8.7\n.target sm_90, texmode_unified\n",
    ".version 8.7\n.target sm_90, nonsense\n",
    ".version 8.7\n.target sm_90, debug\n",
    ".version 8.7\n.target sm_90, debug\n.section .debug_str { .b8 0 }\n",
    ".version\n8.7\n.target sm_90\n",
    ".version\f8.7\f.target sm_90\n",
    "\v.version 8.7\n.target sm_90\n",
    "\f.version 8.7\n.target sm_90\n",
)


EIGHTS = module(
    '.global .align 8 .b8 g[8] = {8, 0x08};\n.file 8 "x.cu", 8, 8',
    ".reg .b32 r<8>; .reg .f64 d; mov.u32 r1, 8; mov.f64 d, 8.8; .loc 8 8 8\n",
    ".param .align 8 .b8 p[8]",
    bounds=".maxntid 8",
)


def with_other_digits() -> Iterator[str]:
    """An eight of another script in place of each."""
    yield EIGHTS
    for found in re.finditer("8", EIGHTS):
        yield f"{EIGHTS[: found.start()]}\u0668{EIGHTS[found.end() :]}"


def modules() -> Iterator[str]:
    """All of them."""
    yield from with_other_digits()
    yield from typed()
    yield from initialised()
    yield from map(module, (*TOPS, *SPACES))
    yield from (module(body=space) for space in SPACES)
    yield from (module(".global .b32 g;", body, ".param .b32 p") for body in BODIES)
    yield from (module(bounds=bounds) for bounds in BOUNDS)
    yield from (module(header=header) for header in HEADERS)
    for version in ("8.2", "8.3", "9.0"):
        yield from (module(top, header=HEADER.replace("8.7", version)) for top in NEWER)
    for version in ("8.0", "8.1"):
        header = HEADER.replace("8.7", version)
        for size in (4352, 4353, 32764, 32765):
            yield module(params=f".param .b8 p[{size}]", header=header)
        yield module(params=".param .b8 p[4345], .param .b64 q", header=header)
        yield module(params=".param .b8 p[4337], .param .b64 q", header=header)


@each("text", modules, turns=8)
def test_the_reader_refuses_what_ptxas_refuses(text: str) -> None:
    agree(text)


@pytest.mark.parametrize(
    "variables",
    [
        ".const .b8 c[65536];",
        ".const .b8 c[65537];",
        ".const .b8 c[65536]; .const .b8 d;",
        ".visible .const .b8 c[40000]; .visible .const .b8 d[40000];",
        ".const .b8 c[65529]; .const .align 8 .b8 d;",
        ".const .align 8 .b8 d; .const .b8 c[65529];",
        ".const .b8 a; .const .b64 d; .const .b8 b; .const .b8 c[65526];",
    ],
)
def test_a_module_has_64_kib_of_constants(variables: str) -> None:
    """What aligns them counts; of one that is linked only ptxas without --compile-only says so."""
    text = module(variables)
    found = errors(load("m.ptx", text).findings)
    assert {f.rule for f in found} <= {"variable/constant-memory"}
    assert bool(found) is ("too much global constant data" in report(text, "sm_90"))


@pytest.mark.parametrize("byte", [0, 15, 16, 1000, -1])
@pytest.mark.parametrize("variable", ["a", "r", "passed", "result"])
def test_accesses_to_parameters_of_calls_begin_in_them(variable: str, byte: int) -> None:
    """They are registers to ptxas, which takes some that begin behind the end, dies of others and
    does not end with others (13.5); those of kernels are constant memory, behind whose end is more.
    """

    def place(name: str) -> str:
        return f"[{name}+{byte}]" if name == variable else f"[{name}+1]"

    text = f"""{HEADER}
    .func (.param .align 4 .b8 r[16]) f(.param .align 4 .b8 a[16]) {{
      .reg .b16 %h;
      ld.param.b8 %h, {place("a")};
      st.param.b8 {place("r")}, %h;
      ret;
    }}
    .entry k(.param .align 4 .b8 v[16], .param .u64 out) {{
      .reg .b16 %h;
      .reg .b64 %d;
      ld.param.b8 %h, [v+20];
      {{ .param .align 4 .b8 passed[16];
        .param .align 4 .b8 result[16];
        st.param.b8 {place("passed")}, %h;
        call (result), f, (passed);
        ld.param.b8 %h, {place("result")}; }}
      ld.param.b64 %d, [out];
      st.global.b8 [%d], %h;
      ret;
    }}"""
    rules = [f.rule for f in errors(load("m.ptx", text).findings)]
    assert rules == ([] if 0 <= byte < 16 else ["variable/outside"])
    assert rules or ptxas_takes(text)


def test_shared_variables_of_a_kernel_count_even_if_nothing_names_them() -> None:
    for top, body in (("", ".shared .b8 s[49153];"), (".shared .b8 s[49153];", "")):
        text = module(top, body)
        found = errors(load("m.ptx", text, Options(level="all")).findings)
        assert {f.rule for f in found} <= {"launch/shared-memory"}
        assert bool(found) is ("too much shared data" in report(text, "sm_90"))


@pytest.mark.parametrize(
    ("type_", "value", "data"),
    [
        ("b8", "0f3FC12345", "45"),
        ("b16", "0f3F812345", "4523"),
        ("b32", "1.5", "0000c03f"),
        ("b32", "0d3FF8000012345678", "0100c03f"),
        ("b64", "0f3FC00000", "0000c03f00000000"),
        ("b64", "1.5", "000000000000f83f"),
        ("b128", "1.5", "000000000000f83f0000000000000000"),
    ],
)
def test_floats_in_the_place_of_bits(type_: str, value: str, data: str) -> None:
    """Those of 32 bits are rounded, others cut or filled with zeros: as in ptxas 13.5's cubins."""
    loaded = load("m.ptx", module(f".visible .global .{type_} g = {value};"))
    (variable,) = loaded.module.variables
    assert variable.data == bytes.fromhex(data)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (module(body=".reg .b32 a, a;"), "ptx/duplicate-name"),
        (module(".global .b32 g; .global .b32 g;"), "ptx/duplicate-name"),
        (
            module(params=".param .b8 p[4353]", header=HEADER.replace("8.7", "8.0")),
            "ptx/parameters",
        ),
        (module(".extern .func f() { ret; }"), "ptx/external-body"),
        (module(".global .u64 g = nothing;"), "ptx/initial-address"),
        (module(".version 8.7"), "ptx/header-order"),
        (module(header=HEADER.replace("sm_90", "sm_90, nonsense")), "ptx/target-option"),
        (module(header=HEADER.replace("sm_90", "sm_90, debug")), "ptx/target-option"),
        (module(".nonsense x;"), "ptx/syntax"),
        (module(".alias a, k;"), "ptx/alias"),
        (module(".global .b128 g;", header=HEADER.replace("8.7", "8.2")), "ptx/directive-version"),
    ],
)
def test_each_is_told_once_at_its_line(text: str, rule: str) -> None:
    (finding,) = errors(read_ptx(text, "m.ptx").findings)
    assert finding.rule == rule
    assert finding.got
    assert finding.place.line == {"ptx/target-option": 2, "ptx/parameters": 5}.get(
        rule, 8 if "a, a" in text else 4
    )

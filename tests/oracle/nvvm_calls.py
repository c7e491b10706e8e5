"""Calls of LLVM's nvvm intrinsics that no row describes, written down from LLVM's own rejections.

What an intrinsic takes and gives is told by its name; LLVM's verifier refuses a declaration that
differs from its own.  Operands are parameters of a kernel, results are stored behind a pointer.
"""

from __future__ import annotations

import re

_TYPES = {
    "f": "float", "d": "double", "i": "i32", "ui": "i32", "ll": "i64", "ull": "i64", "h": "i16",
    "f16": "half", "bf16": "bfloat", "f16x2": "<2 x half>", "bf16x2": "<2 x bfloat>",
}  # fmt: skip
_ARGUMENTS = {"fma": 3, **dict.fromkeys(("fmin", "fmax", "add", "mul", "div"), 2)}
_ARITHMETIC = re.compile(
    r"(fma|fmin|fmax|add|mul|div|sqrt|rcp|rsqrt|sin|cos|lg2|ex2|ceil|floor|trunc|round|saturate"
    r"|neg|fabs)\b"
)
_CONVERSION = re.compile(r"(f|d|i|ui|ll|ull)2(f|d|i|ui|ll|ull)(\.(?!hi|lo)\w+)*")
_FETCH = re.compile(r"tex(\.unified)?\.(\w+?)(\.array)?(\.level|\.grad)?\.v4([fsu])32\.([fs])32")
_SURFACE = re.compile(r"(suld|sust\.[bp])\.(\dd)(\.array)?\.(?:v(\d))?i(\d+)\.\w+")
_DIMENSIONS = {"1d": 1, "2d": 2, "3d": 3, "cube": 3}
_GLOBAL, _SHARED = "ptr addrspace(1)", "ptr addrspace(3)"
_FIXED = {
    "d2i.hi": "i32 double", "d2i.lo": "i32 double", "lohi.i2d": "double i32 i32",
    "applypriority.L2.evict.normal": "void ptr i64=128",
    "applypriority.global.L2.evict.normal": "void G i64=128",
    "discard.L2": "void ptr i64=128", "discard.global.L2": "void G i64=128",
    "st.bulk": "void ptr i64 i64=0", "st.bulk.shared.cta": "void S i64 i64=0",
    "clusterlaunchcontrol.query_cancel.is_canceled": "i1 i128",
    "clusterlaunchcontrol.try_cancel.async.shared": "void S S",
    "clusterlaunchcontrol.try_cancel.async.multicast.shared": "void S S",
    "fshl.clamp": "i32 i32 i32 i32", "fshr.clamp": "i32 i32 i32 i32",
    "move.float": "float float", "move.double": "double double", "move.i16": "i16 i16",
    "move.i32": "i32 i32", "move.i64": "i64 i64", "neg.bf16": "bfloat bfloat", "exit": "void",
    "read.ptx.sreg.warpsize": "i32",
}  # fmt: skip
_PATTERNS = (
    (r"clusterlaunchcontrol\.query_cancel\.get_first_ctaid\.\w", "i32 i128"),
    (r"f32x4\.to\.e2m1x4\..*", "i16 <4xfloat> i32"),
    (r"f32x4\.to\..*", "<4xi8> <4xfloat> i32"),
    (r"istypep\.\w+", "i1 i64"),
    (r"idp2a\..*", "i32 i32 i32 i1=1 i32"),
    (r"prmt\..*", "i32 i32 i32"),
    (r"(suq|txq)\..*", "i32 i64"),
    (r"ff\.to\..*", "i16 float float"),
    (r"ff2bf16x2\.rs.*", "<2xbfloat> float float i32"),
    (r"ff2f16x2\.rs.*", "<2xhalf> float float i32"),
    (r"ff2bf16x2\..*", "<2xbfloat> float float"),
    (r"ff2f16x2\..*", "<2xhalf> float float"),
    (r"f2bf16\..*", "bfloat float"),
    (r"f2f16\..*", "half float"),
    (r"f2tf32\..*", "i32 float"),
    (r"f2h\..*", "i16 float"),
    (r"atomic\.add\.gen\.f\.(cta|sys)", "float ptr float"),
    (r"atomic\.cas\.gen\.i\.(cta|sys)", "i32 ptr i32 i32"),
    (r"atomic\.\w+\.gen\.i\.(cta|sys)", "i32 ptr i32"),
    (r"ldu\.global\.f", "float G i32=4"),
    (r"ldu\.global\.i", "i32 G i32=4"),
    (r"ldu\.global\.p", "ptr G i32=8"),
    (r"(e\dm\dx2|ue8m0x2)\.to\.f16x2.*", "<2xhalf> i16"),
    (r"ue8m0x2\.to\.bf16x2.*", "<2xbfloat> i16"),
    (r"f16x2\.to\..*", "i16 <2xhalf>"),
    (r"bf16x2\.to\..*", "i16 <2xbfloat>"),
    (r"tld4\.unified\.\w\.2d\.v4f32\.f32", "{float,float,float,float} i64 float float"),
    (r"tld4\.unified\.\w\.2d\.v4[su]32\.f32", "{i32,i32,i32,i32} i64 float float"),
    (r"tld4\.\w\.2d\.v4f32\.f32", "{float,float,float,float} i64 i64 float float"),
    (r"tld4\.\w\.2d\.v4[su]32\.f32", "{i32,i32,i32,i32} i64 i64 float float"),
)
OVERLOADS = {
    r"fsh[lr]\.clamp": ".i32",
    r"ldu\.global\.f": ".f32.p1",
    r"ldu\.global\.i": ".i32.p1",
    r"ldu\.global\.p": ".p0.p1",
    r"atomic\.add\.gen\.f\..*": ".f32.p0",
    r"atomic\..*": ".i32.p0",
}
"""What LLVM appends to overloaded names."""


def called(name: str) -> str:
    """The name as a module has it, with the types that it is called for."""
    return name + next((end for p, end in OVERLOADS.items() if re.fullmatch(p, name)), "")


def signature(name: str) -> tuple[str, list[str]] | None:
    """The result and the arguments of an intrinsic (`i64=128` is a constant); None: not known."""
    text = _FIXED.get(name) or next((t for p, t in _PATTERNS if re.fullmatch(p, name)), None)
    if text is not None:
        result, *arguments = (_spelled(word) for word in text.split())
        return result, arguments
    if match := _ARITHMETIC.match(name):
        words = [_TYPES[part] for part in name.split(".")[1:] if part in _TYPES]
        one = words[-1] if words else "float"
        return one, [one] * _ARGUMENTS.get(match[1], 1)
    if match := _CONVERSION.fullmatch(name):
        return _TYPES[match[2]], [_TYPES[match[1]]]
    return _fetch(name) or _surface(name)


def _spelled(word: str) -> str:
    pointers = {"G": _GLOBAL, "S": _SHARED}
    return (
        pointers.get(word) or word.replace("x", " x ")
        if word[0] == "<"
        else pointers.get(word, word.replace(",", ", "))
    )


def _fetch(name: str) -> tuple[str, list[str]] | None:
    match = _FETCH.fullmatch(name)
    if match is None:
        return None
    texel = "float" if match[5] == "f" else "i32"
    one = "float" if match[6] == "f" else "i32"
    dimensions = _DIMENSIONS[match[2]]
    found = ["i64"] * (1 if match[1] else 2) + ["i32"] * bool(match[3]) + [one] * dimensions
    more = {".level": 1, ".grad": 2 * dimensions}.get(match[4] or "", 0)
    return f"{{ {', '.join([texel] * 4)} }}", found + ["float"] * more


def _surface(name: str) -> tuple[str, list[str]] | None:
    match = _SURFACE.fullmatch(name)
    if match is None:
        return None
    count, one = int(match[4] or 1), f"i{max(int(match[5]), 16)}"
    where = ["i64", *["i32"] * (bool(match[3]) + _DIMENSIONS[match[2]])]
    if match[1] == "suld":
        return (one if count == 1 else f"{{ {', '.join([one] * count)} }}"), where
    return "void", where + [one] * count


def module(names: list[str]) -> str:
    """A module with a kernel for each intrinsic, which calls it."""
    return "".join(_kernel(number, name) for number, name in enumerate(names))


def _kernel(number: int, name: str) -> str:
    known = signature(name)
    assert known is not None, name
    result, given = known
    types = [word.partition("=")[0] for word in given]
    parameters = [f"{t} %a{n}" for n, t in enumerate(given) if "=" not in t]
    passed = [t.replace("=", " ") if "=" in t else f"{t} %a{n}" for n, t in enumerate(given)]
    full = f"llvm.nvvm.{called(name)}"
    assign = "" if result == "void" else "%r = "
    stored = "" if result == "void" else f"  store {result} %r, ptr %out\n"
    return (
        f"define ptx_kernel void @k{number}({', '.join(['ptr %out', *parameters])}) {{\n"
        f"  {assign}call {result} @{full}({', '.join(passed)})\n{stored}  ret void\n}}\n"
        f"declare {result} @{full}({', '.join(types)})\n"
    )

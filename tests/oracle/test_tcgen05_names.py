"""Every tcgen05 intrinsic of LLVM 22 is selected; what it does not have has a name of nvgen's.

The list of LLVM's intrinsics is LLVM's own.  A name of nvgen's own promises PTX by its words: the
table below says which, written from the PTX manual, and ptxas must take what is printed.
"""

from __future__ import annotations

import functools
import re

import pytest

import nvgen
from intrinsics.catalog import spellings
from intrinsics.findings import NvgenError
from tests.oracle import llvm, llvm_intrinsics, llvm_signatures, ptxas
from tests.oracle.llvm_sass import refused


def llvms() -> list[str]:
    """LLVM's names of tcgen05."""
    return [name for name in llvm_signatures.all_names() if name.startswith("tcgen05.")]


def ours() -> list[str]:
    """The names of nvgen's own."""
    theirs = set(llvms())
    return [n for n in spellings() if n.startswith("tcgen05.") and n not in theirs]


WORDS: dict[str, str] = {
    r"\.exclusive\b": r"\.exclusive\b",
    r"commit.*\.mc\.16b\b": r"\.multicast::cluster::16b\.b64 \[\S+\], %(rs|h)\d+;",
    r"commit.*\.mc\.32b\b": r"\.multicast::cluster::32b\.b64 \[\S+\], %r\d+;",
    r"commit.*\.mc(?!\.(16|32)b)\b": r"\.multicast::cluster\.b64 \[\S+\], %(rs|h)\d+;",
    r"\.sync_restrict\.": r"\.sync_restrict::shared::read::mma::a\b",
    r"commit.*\.shared\.cg": r"\.shared::cluster\b",
    r"alloc.*\.shared\.cg": r"\.shared::cta\b",
    r"\bcg2\b": r"\.cta_group::2\b",
    r"\.ld\.red\..*\.f32$": r"\.f32(\.b2)? ",
    r"\.ld\.red\..*\.i32$": r"\.u32 \{",
    r"\.ld\.red\..*\.s32$": r"\.s32 \{",
    r"\.ld\.red\.32x32b\.": r"\.ld\.red\.sync\.aligned\.32x32b\.x\d+\.min\S* \{[^}]*\}, %r\d+, \[",
    r"\.ld\.red\.16x32bx2\.": r"\.16x32bx2\.x\d+\.min\S* \{[^}]*\}, %r\d+, \[%r\d+\], 0;",
    r"\.ld\.spcompress\.": r"\.ld\.spcompress\.\S*\.min\.sp::2:4\.f32\.b2 \{[^}]*\}, \{[^}]*\}, \[",
    r"\.ld\.red\.spcompress\.": (
        r"\.ld\.red\.spcompress\.\S*\.min\.sp::2:4\.f32\.b2 \{[^}]*\}, \{[^}]*\}, %r\d+, \["
    ),
    r"\.mma\.sp\.": r"\.mma\.sp\.\S* \[%r\d+\], \S+, %rd\d+, \[%r\d+\], %r\d+, ",
    r"\.mma\.ws\.sp\.": r"\.mma\.ws\.sp\.\S* \[%r\d+\], \S+, %rd\d+, \[%r\d+\], %r\d+, ",
    r"\.mma(\.ws)?(\.sp)?\.shared\b": r"\.mma\S* \[%r\d+\], %rd\d+, ",
    r"\.mma(\.ws)?(\.sp)?\.tensor\b": r"\.mma\S* \[%r\d+\], \[%r\d+\], ",
    r"\.ti16\b": r"\.kind::ti16\b",
    r"\.f8f6f4\b": r"\.kind::f8f6f4\b",
    r"\.mxf4nvf4\b": r"\.kind::mxf4nvf4\.block_scale\b",
    r"\.mxf4\b": r"\.kind::mxf4\.block_scale\b",
    r"\.mxf8f6f4\b": r"\.kind::mxf8f6f4\.block_scale\b",
    r"\.scale_vec_1x\b": r"\.scale_vec::1X\b",
    r"\.scale_vec_2x\b": r"\.scale_vec::2X\b",
    r"\.scale_vec_4x\b": r"\.scale_vec::4X\b",
    r"\.block16\b": r"\.block16\b",
    r"\.block32\b": r"\.block32\b",
    r"\.ashift\b": r"\.ashift\b",
    r"\.scale_d\b": r", 0;",
    r"\.disable_output_lane\.cg1": r"\{(%r\d+, ){3}%r\d+\}",
    r"\.disable_output_lane\.cg2": r"\{(%r\d+, ){7}%r\d+\}",
    r"\.zero_col_mask\b": r", %p\d+, %rd\d+;",
    r"\.collector_b\b": r"\.collector::a::discard\.collector::b::discard\b",
    r"\.decompress_lut_b\b": r"\.decompress::lut::b\S* \[%r\d+\], \S+, %rd\d+, \[%r\d+\], %r\d+, ",
}
"""What a word in a name of nvgen's says in PTX; two regular expressions."""


def test_llvm_has_two_hundred() -> None:
    """LLVM 22.1's NVPTX back end; what the other tests go through is not empty."""
    assert len(llvms()) == 200
    assert all(llvm_signatures.signature(name) for name in llvms())


def test_each_of_llvms_is_selected_and_printed_as_by_llvm() -> None:
    """LLVM's text in full: `test_ptx_text` compares the operands, here it is the instruction."""
    names = llvms()
    assert set(names) <= set(spellings())
    modules = [llvm_intrinsics.plain(name).module() for name in names]
    outcomes = llvm.compile_all(modules, "sm_100a", "9.0")
    for name, module, theirs in zip(names, modules, outcomes, strict=True):
        ptx = nvgen.compile(module, target="sm_100a", ptx="9.0").ptx
        assert _tcgen05(ptx, name) == _tcgen05(theirs.ptx, name), name


def _tcgen05(ptx: str, name: str) -> list[list[str]]:
    """The tcgen05 instructions of a text, modifiers sorted; `test_ptx_text` has the deviation."""
    found = [sorted(op.split(".")) for op in re.findall(r"^\s*(tcgen05\S*)", ptx, re.MULTILINE)]
    assert len(found) == 1, ptx
    if re.fullmatch(r"tcgen05\.commit(\.mc)?\.cg[12]", name):
        found = [[word for word in found[0] if word != "shared::cluster"]]
    return found


# ---- nvgen's own -----------------------------------------------------------------------------


def module_of(name: str) -> str:
    """A kernel that calls one of nvgen's own intrinsics: declared as its documentation says."""
    result, args = declaration(name)
    types = [text.partition("=")[0] for text in args]
    params = [f"{type_} %p{n}" for n, type_ in enumerate(types) if type_ in POINTERS]
    params += ["ptr addrspace(1) %v", "i32 %w", "i64 %x", "i16 %y"]
    passed = ", ".join(_passed(text, n) for n, text in enumerate(args))
    return f"""
declare {result} @llvm.nvvm.{name}({", ".join(types)})
define ptx_kernel void @k({", ".join(params)}) {{
  %c = icmp ne i32 %w, 0
  %v4 = load <4 x i32>, ptr addrspace(1) %v
  %v8 = load <8 x i32>, ptr addrspace(1) %v
  %r = call {result} @llvm.nvvm.{name}({passed})
  ret void
}}
""".replace("%r = call void", "call void")


TENSOR, SHARED, GENERIC = "ptr addrspace(6)", "ptr addrspace(3)", "ptr"
POINTERS = (TENSOR, SHARED, GENERIC)


def _passed(text: str, place: int) -> str:
    """An argument: a number where the type has one behind it."""
    type_, _, number = text.partition("=")
    values = {
        "i1": "%c", "i16": "%y", "i32": "%w", "i64": "%x", "<4 x i32>": "%v4", "<8 x i32>": "%v8",
    }  # fmt: skip
    return f"{type_} {number or values.get(type_, f'%p{place}')}"


def declaration(name: str) -> tuple[str, list[str]]:
    """The result and the arguments of one of nvgen's own names, from its words."""
    if "commit" in name:
        mask = ["i32" if ".32b" in name else "i16"] if ".mc" in name else []
        return "void", [SHARED if ".shared.cg" in name else GENERIC, *mask]
    if "dealloc" in name:
        return "void", [TENSOR, "i32"]
    if "alloc" in name:
        return "void", [SHARED if ".shared." in name else GENERIC, "i32"]
    return _load(name) if ".ld." in name else ("void", _multiply(name))


def _load(name: str) -> tuple[str, list[str]]:
    times = int(name.rpartition(".x")[2].split(".")[0])
    element = "float" if name.endswith(".f32") else "i32"
    split = ["i64=0"] if "16x32bx2" in name else []
    flags = ["i1=false"] * (0 if element == "i32" else 2 if ".red." in name else 1)
    if "spcompress" in name:
        words = -(-times // 32)
        indices = "i32" if words == 1 else f"<{words} x i32>"
        parts = [indices, f"<{times // 2} x float>", *(["float"] if ".red." in name else [])]
    else:
        parts = [f"<{times} x {element}>", element]
    return f"{{ {', '.join(parts)} }}", [TENSOR, *split, "i32=0", *flags]


def _multiply(name: str) -> list[str]:
    args = [TENSOR, "i64" if ".shared" in name else TENSOR, "i64", "i32", "i1"]
    args += [TENSOR] * (".sp." in name or "lut" in name)
    if ".block_scale" in name:
        args += [TENSOR, TENSOR, "i32=1"]
    elif ".ws." in name:
        args += ["i64"] * ("zero_col_mask" in name)
        args += [] if ".ti16" in name else ["i32=0"]
        return [*args, "i32=0", "i32=0"]
    else:
        args += ["i64=0"] * ("scale_d" in name)
        lanes = re.search(r"output_lane\.cg([12])", name)
        args += [f"<{4 * int(lanes[1])} x i32>"] if lanes else []
        args += [] if re.search(r"\.(ti16|f8f6f4)\b", name) else ["i32=0"]
        args += [] if lanes else ["i32=1"]
    return [*args, "i32=0", *(["i32=0"] if name.endswith("collector_b") else [])]


@functools.cache
def compiled() -> dict[str, str]:
    """The PTX of a call of each of nvgen's own names, for the first target that has all of them."""
    texts = {name: module_of(name) for name in ours()}
    return {n: nvgen.compile(text, target="sm_107a", ptx="9.5").ptx for n, text in texts.items()}


PLAIN = (1 + 2) * 3 * 2  # A shared, in tensor memory, shifted; scale_d or ti16; collector_b
LANES = 3  # no mask, one for each CTA group
SCALED = 2 * 10 * 2  # place of A; kinds with vectors; collector_b
LUT = 2 * 2 * LANES + 2 * 3 * 2  # f8f6f4 with masks; mxf8f6f4 with three spellings of its vector

COUNTED: dict[str, int] = {
    r"tcgen05\.(de)?alloc\.": 3 * 2,  # alloc, alloc.shared, dealloc; two groups
    r"tcgen05\.commit\.": (2 + 4) * 2 * 2,  # widths, masks beside a restriction; spaces; groups
    r"tcgen05\.ld\.red\.(32|16)": 2 * 7 * 3,  # shapes, x2 to x128, types
    r"tcgen05\.ld\.(red\.)?spcompress\.": 2 * 6,  # x4 to x128
    r"tcgen05\.mma\.(shared|tensor)\b": PLAIN * LANES + SCALED + LUT - (18 + 12),
    r"tcgen05\.mma\.sp\.": PLAIN * LANES + SCALED - (18 + 12),
    r"tcgen05\.mma\.ws\.": 2 * 2 * 2,  # ti16: place of A, sparse, masks of columns
}
"""Products of words, by hand, less LLVM's own names: who adds one says here what it is."""


@pytest.mark.parametrize("pattern", COUNTED)
def test_the_names_of_nvgens_own_are_counted(pattern: str) -> None:
    assert len([name for name in ours() if re.match(pattern, name)]) == COUNTED[pattern]


def test_the_rows_say_which_names_are_nvgens_own() -> None:
    own = {name for name, s in spellings().items() if s.pattern.own}
    assert {name for name in own if name.startswith("tcgen05.")} == set(ours())


def test_every_name_of_nvgens_own_is_counted() -> None:
    assert sum(COUNTED.values()) == len(ours())


def test_a_name_of_nvgens_own_says_what_is_printed() -> None:
    for name, text in compiled().items():
        (line,) = re.findall(r"^\s*(tcgen05.*)$", text, re.MULTILINE)
        promised = [ptx for word, ptx in WORDS.items() if re.search(word, name)]
        assert promised, name
        assert [ptx for ptx in promised if not re.search(ptx, line)] == [], line


def test_ptxas_takes_what_nvgens_own_names_become() -> None:
    ptxas.required_ptxas()
    assert refused(compiled(), "sm_107a", "9.5") == {}


def test_a_wrong_result_of_a_name_that_llvm_does_not_know_is_refused() -> None:
    text = module_of("tcgen05.ld.red.32x32b.x2.f32").replace("<2 x float>, float", "<2 x i32>, i32")
    with pytest.raises(NvgenError, match=r"gives \{ <2 x float>, float \}"):
        nvgen.compile(text, target="sm_103a")

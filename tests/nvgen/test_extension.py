"""What a compiler built on nvgen adds: own passes, own rules, contraction, lines in the PTX."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import nvgen
from intrinsics.mir import FloatImm, Module
from intrinsics.modifiers import ScalarType
from nvgen.machine_code.instruction_count import instructions
from tests.oracle import sass
from tests.oracle.ptxas import find_ptxas

SUM = """
define ptx_kernel void @k(ptr addrspace(1) %x) !dbg !4 {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !6
  %p = getelementptr float, ptr addrspace(1) %x, i32 %t, !dbg !7
  %a = load float, ptr addrspace(1) %p, !dbg !7
  %m = fmul float %a, %a, !dbg !8
  %s = fadd float %m, -1.0, !dbg !8
  store float %s, ptr addrspace(1) %p, !dbg !9
  ret void, !dbg !9
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "k.py", directory: "/src")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "k", scope: !1, file: !1, line: 3, type: !5, unit: !0)
!5 = !DISubroutineType(types: !{})
!6 = !DILocation(line: 4, column: 1, scope: !4)
!7 = !DILocation(line: 5, column: 1, scope: !4)
!8 = !DILocation(line: 6, column: 1, scope: !4)
!9 = !DILocation(line: 7, column: 1, scope: !4)
"""
WITH_PTXAS = pytest.mark.skipif(find_ptxas() is None, reason="ptxas is not installed")
X = (np.arange(32) * 2**-13 + 1).astype(np.float32)


def subtract_two(module: Module) -> None:
    """A pass: -1.0 becomes -2.0, wherever it stands."""
    one, two = (
        FloatImm(struct.unpack("<I", struct.pack("<f", x))[0], ScalarType.F32) for x in (-1.0, -2.0)
    )
    for function in module.functions:
        for mi in function.instructions():
            mi.ops = tuple(two if op == one else op for op in mi.ops)


def no_adds(module: Module) -> Iterator[nvgen.Finding]:
    """A rule: additions of floating point are errors."""
    for function in module.functions:
        for mi in function.instructions():
            if mi.opcode == "ADD_RN_F32":
                place = nvgen.place_of(module, mi, function)
                yield nvgen.Finding("house/add", nvgen.Severity.ERROR, "no additions here", place)


def test_a_pass_changes_the_records_that_selection_made() -> None:
    compiled = nvgen.compile(SUM, target="sm_90a", passes=[subtract_two])
    x = X.copy()
    compiled.run(x, block=32, device="sim")
    assert np.array_equal(x, X * X - np.float32(2))
    assert list(compiled.stages)[:3] == ["select", "subtract_two", "dead-code"]
    assert nvgen.compile(SUM, target="sm_90a", keep_stages=False).stages == {}


def test_a_rule_finds_at_the_line_and_its_errors_are_raised() -> None:
    with pytest.raises(nvgen.VerificationError) as caught:
        nvgen.compile(SUM, target="sm_90a", rules=[no_adds])
    (finding,) = caught.value.findings
    assert (finding.rule, finding.place.line, finding.place.function) == ("house/add", 7, "k")
    assert finding.place.python_line == 6
    ptx = nvgen.compile(SUM, target="sm_90a").ptx
    with pytest.raises(nvgen.VerificationError):
        nvgen.compile(ptx, rules=[no_adds])


def test_what_is_no_pass_or_rule_is_reported() -> None:
    for options in ({"passes": ["x"]}, {"rules": [1]}, {"rules": [lambda module: [module.source]]}):
        with pytest.raises(nvgen.InputError, match="compile/"):
            nvgen.compile(SUM, target="sm_90a", **options)
    ptx = nvgen.compile(SUM, target="sm_90a").ptx
    with pytest.raises(nvgen.InputError, match="only LLVM IR goes through passes"):
        nvgen.compile(ptx, passes=[subtract_two])


@pytest.mark.parametrize("opt", [None, 2])
def test_contraction_rounds_once(opt: int | None) -> None:
    twice, once = X.copy(), X.copy()
    nvgen.compile(SUM, target="sm_90a", opt=opt).run(twice, block=32, device="sim")
    nvgen.compile(SUM, target="sm_90a", opt=opt, contract=True).run(once, block=32, device="sim")
    exact = X.astype(np.float64) ** 2 - 1
    assert np.array_equal(once, exact.astype(np.float32))
    assert np.array_equal(twice, X * X - np.float32(1))
    assert not np.array_equal(once, twice)


def test_lines_of_the_source_stand_in_the_ptx() -> None:
    ptx = nvgen.compile(SUM, target="sm_90a", lineinfo=True).ptx
    assert '.file 1 "/src/k.py"' in ptx
    assert re.findall(r"\.loc 1 (\d+) 0  // k\.py:\1\n\t(\w+)", ptx) == [
        ("4", "mov"), ("5", "mul"), ("6", "mul"), ("7", "st"),
    ]  # fmt: skip
    plain = "\n".join(line for line in ptx.split("\n") if not re.match(r"\s*\.(loc|file)\b", line))
    assert plain == nvgen.compile(SUM, target="sm_90a").ptx
    assert nvgen.compile(ptx).ptx.count(".loc") == 4


@WITH_PTXAS
def test_lines_reach_the_cubin_and_instructions_are_counted() -> None:
    compiled = nvgen.compile(SUM, target="sm_90a", lineinfo=True)
    cubin = compiled.cubin()
    assert b"k.py" in cubin
    assert b"k.py" not in nvgen.compile(SUM, target="sm_90a").cubin()
    if sass.find_nvdisasm() is None:
        pytest.skip("nvdisasm is not installed")
    listed = [name for name in sass.listing(cubin).mnemonics if name != "NOP"]
    assert instructions(cubin) == {"k": len(listed)}
    with pytest.raises(ValueError, match="no cubin"):
        instructions(b"text")


def test_threads_compile_at_once() -> None:
    """With passes of their own, each of which sees its own module."""
    expected = nvgen.compile(SUM, target="sm_90a", passes=[subtract_two]).ptx
    with ThreadPoolExecutor(4) as pool:
        made = pool.map(
            lambda n: nvgen.compile(SUM, target="sm_90a", passes=[subtract_two] * (n % 2)).ptx,
            range(8),
        )
        assert [text == expected for text in made] == [bool(n % 2) for n in range(8)]


ATOMICS = """
define ptx_kernel void @k(ptr addrspace(1) %p, ptr addrspace(3) %q) {
  %a = atomicrmw add ptr addrspace(1) %p, i32 1 seq_cst, align 4
  %b = atomicrmw add ptr addrspace(3) %q, i32 1 syncscope("block") seq_cst, align 4
  %c = atomicrmw add ptr addrspace(1) %p, i32 1 syncscope("device") acq_rel, align 4
  ret void
}
"""


@pytest.mark.parametrize("opt", [None, 3])
def test_cudas_atomics_are_relaxed_and_of_the_device(opt: int | None) -> None:
    """CUDA C++ Programming Guide, Atomic Functions; what says acquire or release means it."""
    ordered = nvgen.compile(ATOMICS, target="sm_90a", opt=opt).ptx
    assert re.findall(r"(?:fence|atom)[.\w:]*", ordered) == [
        "fence.sc.sys", "atom.acquire.sys.global.add.u32",
        "fence.sc.cta", "atom.acquire.cta.shared.add.u32",
        "atom.acq_rel.gpu.global.add.u32",
    ]  # fmt: skip
    relaxed = nvgen.compile(ATOMICS, target="sm_90a", opt=opt, cuda_atomics=True).ptx
    assert re.findall(r"(?:fence|atom)[.\w:]*", relaxed) == [
        "atom.relaxed.gpu.global.add.u32", "atom.relaxed.cta.shared.add.u32",
        "atom.acq_rel.gpu.global.add.u32",
    ]  # fmt: skip

"""Bitcode, and several modules: read, linked and refused in LLVM's own process."""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path

import numpy as np
import pytest
from llvmlite import binding

import nvgen
from intrinsics.findings import Finding, NvgenError
from tests.nvgen.conftest import Nvgen

TARGET = "sm_90a"
KERNEL = """\
declare i64 @g(i64)
@table = external addrspace(1) global [2 x i64]
define ptx_kernel void @k(ptr addrspace(1) %out) {
  %t = load i64, ptr addrspace(1) getelementptr (i64, ptr addrspace(1) @table, i64 1)
  %r = call i64 @g(i64 %t)
  store i64 %r, ptr addrspace(1) %out
  ret void
}
"""
CALLEE = """\
@table = addrspace(1) global [2 x i64] [i64 30, i64 38]
define i64 @g(i64 %a) {
  %r = add i64 %a, 4
  ret i64 %r
}
"""
TRIPLE = 'target triple = "nvptx64-nvidia-cuda"\n'
CLANGS = TRIPLE + 'target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"\n'


def bitcode(text: str) -> bytes:
    return binding.parse_assembly(text, context=binding.create_context()).as_bitcode()


def result(compiled: nvgen.Compiled) -> int:
    out = np.zeros(1, np.int64)
    compiled.run(out, block=1)
    return int(out[0])


def refused(given: object) -> Finding:
    with pytest.raises(NvgenError) as caught:
        nvgen.compile(given, target=TARGET)
    (finding,) = caught.value.findings
    return finding


@pytest.mark.parametrize("opt", [0, 3])
def test_modules_are_linked_whatever_they_come_as(opt: int):
    parts = [KERNEL, CALLEE]
    modules = [binding.parse_assembly(text, context=binding.create_context()) for text in parts]
    for given in (
        parts,
        parts[::-1],
        (bitcode(KERNEL), bytearray(bitcode(CALLEE))),
        [modules[0], CLANGS + CALLEE],
        [bitcode(CLANGS + KERNEL + CALLEE.replace("@table = addrspace(1)", "@t2 = addrspace(1)")
                 .replace("@g(i64 %a)", "@g2(i64 %a)")), CALLEE],
    ):  # fmt: skip
        assert result(nvgen.compile(given, target=TARGET, opt=opt)) == 42


def test_bitcode_is_the_module_that_it_holds():
    whole = KERNEL.replace(
        "declare i64 @g(i64)\n@table = external addrspace(1) global [2 x i64]\n", ""
    )
    whole = CLANGS + whole + CALLEE  # bitcode says the alignments that its layout gives
    compiled = nvgen.compile(bitcode(whole), target=TARGET)
    assert compiled.ptx == nvgen.compile(whole, target=TARGET).ptx
    assert result(compiled) == 42


def test_what_is_defined_twice_is_told_with_its_owners():
    finding = refused([KERNEL, CALLEE, bitcode(CALLEE.replace("@table", "@other"))])
    assert (finding.rule, finding.place.file) == ("link/twice", "module 3")
    assert finding.got == "module 2, module 3"
    assert "@g" in finding.message


@pytest.mark.parametrize(
    ("head", "word"),
    [
        ('target triple = "x86_64-unknown-linux-gnu"\n', "triple"),
        (CLANGS.replace("-n16", "-p3:32:32-n16"), "datalayout"),
        (CLANGS.replace("e-i64", "E-i64"), "datalayout"),
    ],
)
def test_modules_for_other_machines_are_not_linked(head: str, word: str):
    finding = refused([CLANGS + KERNEL, head + CALLEE])
    assert (finding.rule, finding.place.file) == ("link/target", "module 2")
    assert word in finding.message


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (b"", "llvm/bitcode"),
        (b"; text", "llvm/bitcode"),
        (bitcode(CALLEE)[:60], "llvm/bitcode"),
        ([], "link/nothing"),
        ([KERNEL, 3], "compile/module"),
        ([KERNEL, b"BC\xc0\xde1234"], "llvm/bitcode"),
        ([KERNEL, "define void"], "llvm/syntax"),
        ([KERNEL, CALLEE.replace("i64 %a)", "i32 %a)")], "llvm/syntax"),
        ([KERNEL, CALLEE.replace("addrspace(1)", "addrspace(4)")], "select/addrspacecast"),
    ],
    ids=repr,
)
def test_what_is_no_module_is_reported(given: object, rule: str):
    assert refused(given).rule == rule


def test_spoilt_bitcode_ends_nothing():
    """Every byte in turn: an error of the input, or a module that LLVM takes; never LLVM's end."""
    good = bitcode(KERNEL)
    for at in range(4, len(good), 97):
        spoilt = bytearray(good)
        spoilt[at] ^= 0x55
        with contextlib.suppress(NvgenError):
            nvgen.compile(bytes(spoilt), target=TARGET)
    assert result(nvgen.compile([KERNEL, CALLEE], target=TARGET)) == 42


# ---- the command line ------------------------------------------------------------------------

PYTHON = """\
import nvgen


def build():
    b = nvgen.KernelBuilder("fill", block=32, target="sm_90a")
    b.pointer("out", output=True)
    out = b.begin()["out"]
    b.store(b.tid_x + 1, out + b.tid_x * 4)
    return b.finish()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "k.ll").write_text(KERNEL)
    (tmp_path / "g.ll").write_text(CALLEE)
    (tmp_path / "g.bc").write_bytes(bitcode(CALLEE))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_files_are_linked(nvgen: Nvgen, folder: Path):
    for other in ("g.ll", "g.bc"):
        done = nvgen("compile", "k.ll", other, "--target", TARGET)
        assert done.status == 0, done.text
        assert "call.uni" in done.out
        ran = nvgen(
            "run", "k.ll", other, "--target", TARGET, "--block", "1", "--arg", "out:i64[1]:o.npy"
        )
        assert ran.status == 0, ran.text
        assert np.load("o.npy").tolist() == [42]
        assert nvgen("check", "k.ll", other, "--target", TARGET).status == 0
    twice = nvgen("compile", "g.ll", "k.ll", "g.bc", "--target", TARGET)
    assert twice.status == 2
    assert "error[link/twice]" in twice.text
    assert "--> g.bc" in twice.text
    (folder / "x.ptx").write_text(".version 8.0\n.target sm_90a\n.address_size 64\n")
    assert "link/language" in nvgen("compile", "k.ll", "x.ptx", "--target", TARGET).text


@pytest.mark.parametrize("source", ["k.ll", "g.bc", "k.mir"])
def test_standard_input_is_a_file(
    nvgen: Nvgen, folder: Path, monkeypatch: pytest.MonkeyPatch, source: str
):
    nvgen("compile", "k.ll", "g.bc", "--target", TARGET, "-o", "k.mir")
    data = Path(source).read_bytes()
    for command in ("compile", "check"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        done = nvgen(command, "-", "--target", TARGET)
        assert done.status == 0, done.text
    if source == "k.mir":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert nvgen("run", "-", "--block", "1", "--arg", "out:i64[1]:o.npy").status == 0
        assert np.load("o.npy").tolist() == [42]


def test_a_python_file_builds_a_kernel(nvgen: Nvgen, folder: Path):
    Path("fill.py").write_text(PYTHON)
    done = nvgen("compile", "fill.py")
    assert done.status == 0, done.text
    assert ".target sm_90a" in done.out
    assert nvgen("check", "fill.py", "--target", "sm_100a").status == 0
    ran = nvgen("run", "fill.py", "--arg", "out:u32[32]:o.npy")
    assert ran.status == 0, ran.text
    assert np.load("o.npy").tolist() == list(range(1, 33))


@pytest.mark.parametrize(
    ("text", "rule", "line"),
    [
        ("x = 1\n", "python/build", 0),
        ("def build():\n    return 3\n", "python/build", 0),
        ("def build():\n    return 1 // 0\n", "python/raised", 2),
        ("import sys\nsys.exit(0)\n", "python/raised", 2),
        ("def build():\n    raise SystemExit\n", "python/raised", 2),
        ("def build(:\n", "python/file", 0),
    ],
)
def test_a_python_file_without_a_kernel_is_reported(
    nvgen: Nvgen, folder: Path, text: str, rule: str, line: int
):
    Path("f.py").write_text(text)
    for command in ("compile", "check", "run"):
        done = nvgen(command, "f.py", "--target", TARGET)
        assert done.status == 2
        assert f"error[{rule}]" in done.text
        assert not line or f"f.py:{line}" in done.text
    assert "python/file" in nvgen("compile", "missing.py").text

"""1 by an approximate square root is one instruction wherever it is one in LLVM's text."""

from __future__ import annotations

import itertools
import re

import pytest

import nvgen
from tests.oracle import llvm
from tests.oracle.side_by_side import PTX, TARGET

ROOTS = (
    *("llvm.sqrt.f32", "llvm.nvvm.sqrt.f", "llvm.nvvm.sqrt.rn.f"),
    *("llvm.nvvm.sqrt.approx.f", "llvm.nvvm.sqrt.approx.ftz.f"),
)
FLAGS = ("", "contract", "arcp", "afn", "fast")
KERNEL = """
define ptx_kernel void @k(ptr addrspace(1) %p) {{
  %x = load float, ptr addrspace(1) %p
  %s = call {of_root} float @{root}(float %x)
  %d = fdiv {of_division} float {dividend}, %s
  store float %d, ptr addrspace(1) %p
  ret void
}}
declare float @{root}(float)
"""


@pytest.mark.parametrize("dividend", ["1.0", "2.0"])
@pytest.mark.parametrize("root", ROOTS)
def test_roots_and_divisions_are_llvms(root: str, dividend: str) -> None:
    texts = [
        KERNEL.format(root=root, of_root=one, of_division=two, dividend=dividend)
        for one, two in itertools.product(FLAGS, FLAGS)
        if root in ROOTS[:2] or not one
    ]
    by_llvm = llvm.compile_all(texts, TARGET, PTX, opt=3)
    for text, theirs in zip(texts, by_llvm, strict=True):
        ours = nvgen.compile(text, target=TARGET).ptx
        assert operations(ours) == operations(theirs.ptx), text


def operations(ptx: str) -> list[str]:
    """The roots, reciprocals and divisions of a text."""
    return re.findall(r"^\t((?:r?sqrt|rcp|div)\.\S+)", ptx, re.MULTILINE)

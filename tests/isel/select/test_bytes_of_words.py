"""A byte of a word that is filled up to 32 or 64 bits comes from the word at once.

What answers for values is numpy.  IREE's and Halide's products of bytes consist of these.
"""

from __future__ import annotations

import numpy as np
import pytest

import nvgen

THREADS = 64
WIDTHS = {16: np.uint16, 32: np.uint32, 64: np.uint64}


def kernel(opcode: str, count: int, bits: int) -> str:
    """Every byte of a vector, extended and multiplied by itself."""
    bytes_, words = f"<{count} x i8>", f"<{count} x i{bits}>"
    return f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr {bytes_}, ptr addrspace(1) %in, i32 %t
  %x = load {bytes_}, ptr addrspace(1) %p
  %y = {opcode} {bytes_} %x to {words}
  %z = mul {words} %y, %y
  %w = xor {words} %z, %y
  %q = getelementptr {words}, ptr addrspace(1) %out, i32 %t
  store {words} %w, ptr addrspace(1) %q
  ret void
}}
"""


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("count", [2, 4, 8, 16])
@pytest.mark.parametrize("opcode", ["sext", "zext"])
def test_every_byte_is_numpys(opcode: str, count: int, bits: int) -> None:
    given = np.random.default_rng(0).integers(0, 256, THREADS * count, np.uint8)
    given[:4] = 0, 0x7F, 0x80, 0xFF
    number = given.view(np.int8) if opcode == "sext" else given
    wide = number.astype(np.int64).astype(WIDTHS[bits])
    out = np.zeros(len(given), WIDTHS[bits])
    compiled = nvgen.compile(kernel(opcode, count, bits), target="sm_90a")
    compiled.run(given, out, block=THREADS, device="sim")
    assert out.tolist() == (wide * wide ^ wide).tolist()


@pytest.mark.parametrize("opcode", ["sext", "zext"])
def test_it_is_one_instruction_each(opcode: str) -> None:
    ptx = nvgen.compile(kernel(opcode, 4, 32), target="sm_90a").ptx
    assert ptx.count("prmt.b32") == 3
    assert ptx.count("32.u8" if opcode == "zext" else "32.s8") == 1
    assert "shr" not in ptx


@pytest.mark.parametrize(
    ("opcode", "product"), [("sext", "mul.wide.s32"), ("zext", "mul.wide.u32")]
)
def test_products_of_64_bits_are_of_the_32_that_count(opcode: str, product: str) -> None:
    ptx = nvgen.compile(kernel(opcode, 4, 64), target="sm_90a").ptx
    assert ptx.count(product) >= 4
    assert "mul.lo.s64" not in ptx


@pytest.mark.parametrize("words", [1, 2])
def test_the_low_bytes_of_the_halves_of_a_word(words: int) -> None:
    """Four halves of 64 bits are in as many registers as the four bytes that are left of them."""
    count = 4 * words
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr <{words} x i64>, ptr addrspace(1) %in, i32 %t
  %w = load <{words} x i64>, ptr addrspace(1) %p
  %x = bitcast <{words} x i64> %w to <{count} x i16>
  %y = trunc <{count} x i16> %x to <{count} x i8>
  %q = getelementptr <{count} x i8>, ptr addrspace(1) %out, i32 %t
  store <{count} x i8> %y, ptr addrspace(1) %q
  ret void
}}
"""
    given = np.random.default_rng(1).integers(0, 1 << 63, THREADS * words, np.uint64)
    out = np.zeros(THREADS * count, np.uint8)
    nvgen.compile(text, target="sm_90a").run(given, out, block=THREADS, device="sim")
    assert out.tolist() == given.view(np.uint16).astype(np.uint8).tolist()

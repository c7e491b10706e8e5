"""Division of integers beyond 64 bits, beside Python's."""

from __future__ import annotations

import numpy as np
import pytest

import nvgen

THREADS = 32


def operands(bits: int) -> list[tuple[int, int]]:
    """Numbers of every size, the ends of the range and small divisors among them."""
    draw = np.random.default_rng(bits)
    found = []
    for _ in range(THREADS - 7):
        a, b = (int.from_bytes(draw.bytes(32), "little") for _ in range(2))
        found.append((a >> int(draw.integers(0, 255)), (b >> int(draw.integers(0, 255))) | 1))
    last = (1 << bits) - 1
    found += [(last, 1), (last, last), (1 << bits - 1, 3), (last >> 1, 1 << bits - 1)]
    found += [(0, 5), (3, last), ((1 << 64) - 1, 1 << 64)]
    return [(a & last, (b & last) or 1) for a, b in found]


def expected(opcode: str, a: int, b: int, bits: int) -> int:
    if opcode[0] == "s":
        a, b = (n - (1 << bits) if n >> bits - 1 else n for n in (a, b))
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return (quotient if "div" in opcode else a - quotient * b) & ((1 << bits) - 1)


@pytest.mark.turns(4)
@pytest.mark.parametrize("bits", [65, 93, 128, 192])
@pytest.mark.parametrize("opcode", ["udiv", "sdiv", "urem", "srem"])
def test_it_is_pythons(opcode: str, bits: int):
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %out) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr [2 x i256], ptr addrspace(1) %x, i32 %t, i32 0
  %q = getelementptr [2 x i256], ptr addrspace(1) %x, i32 %t, i32 1
  %o = getelementptr i256, ptr addrspace(1) %out, i32 %t
  %a = load i{bits}, ptr addrspace(1) %p, align 32
  %b = load i{bits}, ptr addrspace(1) %q, align 32
  %r = {opcode} i{bits} %a, %b
  %w = zext i{bits} %r to i256
  store i256 %w, ptr addrspace(1) %o, align 32
  ret void
}}
"""
    pairs = operands(bits)
    given = np.frombuffer(b"".join(n.to_bytes(32, "little") for p in pairs for n in p), np.uint8)
    out = np.zeros(32 * THREADS, np.uint8)
    nvgen.compile(text, target="sm_90a").run(given.copy(), out, block=THREADS)
    found = [int.from_bytes(out[32 * n : 32 * n + 32].tobytes(), "little") for n in range(THREADS)]
    assert found == [expected(opcode, a, b, bits) for a, b in pairs]


def test_a_division_by_zero_ends():
    """Its value is nobody's; the thread goes on."""
    text = """
define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %out) {
  %a = load i128, ptr addrspace(1) %x
  %q = udiv i128 %a, 0
  %b = load i128, ptr addrspace(1) %out
  %r = urem i128 %a, %b
  store i32 1, ptr addrspace(1) %out
  ret void
}
"""
    out = np.zeros(4, np.uint32)
    nvgen.compile(text, target="sm_90a").run(np.full(4, 2**32 - 1, np.uint32), out, block=1)
    assert out[0] == 1

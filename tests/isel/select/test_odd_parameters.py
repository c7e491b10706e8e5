"""Vectors of odd widths and lengths as parameters and results, their values kept.

Each value is loaded, sent through a function that turns its elements round, and stored: numpy has
the same bits in memory.  LLVM declares too few bytes for such vectors, so its text is no oracle;
where it reads elements in a parameter is: there nvgen reads them, too.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import nvgen
from tests.oracle import llvm

VECTORS = [(1, 1), (2, 1), (3, 1), (8, 1), (9, 1), (33, 1), (3, 7), (5, 8), (3, 16), (3, 24),
           (7, 4), (2, 128), (3, 65)]  # fmt: skip


def functions(count: int, bits: int, wrapped: str) -> str:
    """A kernel that turns a vector round in a function; `wrapped`: how it is passed."""
    vector = f"<{count} x i{bits}>"
    mask = ", ".join(f"i32 {n}" for n in reversed(range(count)))
    passed = wrapped.replace("V", vector)
    takes, gives = f"%v = freeze {vector} %a", f"ret {vector} %r"
    makes, wants = f"%a = freeze {vector} %x", f"%r = freeze {vector} %b"
    if passed != vector:
        at = wrapped.count(",", 0, wrapped.index("V"))
        takes = f"%v = extractvalue {passed} %a, {at}"
        gives = f"%q = insertvalue {passed} %a, {vector} %r, {at}\n  ret {passed} %q"
        makes = f"%a = insertvalue {passed} zeroinitializer, {vector} %x, {at}"
        wants = f"%r = extractvalue {passed} %b, {at}"
    name = f"{count}_{bits}_{len(wrapped)}"
    return f"""
define internal {passed} @turn_{name}({passed} %a) noinline {{
  {takes}
  %r = shufflevector {vector} %v, {vector} poison, <{count} x i32> <{mask}>
  {gives}
}}
define ptx_kernel void @k_{name}(ptr addrspace(1) %in, ptr addrspace(1) %out) {{
  %x = load {vector}, ptr addrspace(1) %in
  {makes}
  %b = call {passed} @turn_{name}({passed} %a)
  {wants}
  store {vector} %r, ptr addrspace(1) %out
  ret void
}}
"""


WRAPPED = ("V", "{ V, i8 }", "{ i32, V, i16 }")


def turned(data: bytes, count: int, bits: int) -> int:
    whole = int.from_bytes(data, "little")
    parts = [whole >> n * bits & (1 << bits) - 1 for n in range(count)]
    return sum(part << n * bits for n, part in enumerate(reversed(parts)))


def test_vectors_go_through_calls():
    text = "".join(functions(*v, w) for v in VECTORS for w in WRAPPED)
    compiled = nvgen.compile(text, target="sm_90a")
    assert compiled.cubin()
    given = np.frombuffer(np.random.default_rng(0).bytes(64), np.uint8).copy()
    for count, bits in VECTORS:
        for wrapped in WRAPPED:
            if bits in (65, 24) and wrapped != "V":
                continue  # the bytes of these lie apart in memory
            out = np.zeros(64, np.uint8)
            kernel = f"k_{count}_{bits}_{len(wrapped)}"
            compiled.run(given.copy(), out, block=1, kernel=kernel)
            size = -(-count * bits // 8)
            wanted = turned(given.tobytes(), count, bits)
            assert int.from_bytes(out[:size].tobytes(), "little") == wanted & (1 << 8 * size) - 1


@pytest.mark.parametrize("count", [2, 3, 8])
def test_a_kernel_takes_a_byte_for_each_bit(count: int):
    vector = f"<{count} x i1>"
    text = f"""
define ptx_kernel void @k({vector} %v, i32 %n, ptr addrspace(1) %out) {{
  store {vector} %v, ptr addrspace(1) %out
  %p = getelementptr i32, ptr addrspace(1) %out, i32 1
  store i32 %n, ptr addrspace(1) %p
  ret void
}}
"""
    compiled = nvgen.compile(text, target="sm_90a")
    assert f"k_param_0[{count}]" in compiled.ptx
    if llvm.VERSION == 22:
        (of_llvm,) = llvm.compile_all([llvm.HEADER + text], "sm_90a", "8.6")
        places = [sorted(set(re.findall(r"ld\.param\.b8 .*\[k_param_0(\+?\d*)\]", ptx)))
                  for ptx in (compiled.ptx, of_llvm.ptx)]  # fmt: skip
        assert places[0] == places[1]

"""bfe against the manual's words, bit by bit: where the field ends, and where the value does."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sim.ptx import rule, run

POSITIONS = (0, 1, 4, 14, 31, 32, 33, 63, 64, 100, 255)
LENGTHS = (0, 1, 14, 31, 32, 33, 63, 64, 200, 255)
VALUES = (0, 1, 0x8000_0000_0000_0000, 0xFFFF_FFFF_FFFF_FFFF, 0x0123_4567_89AB_CDEF, 0x9000_0001)


def field(value: int, position: int, length: int, *, bits: int, signed: bool) -> int:
    """PTX ISA, bfe: bit i of the field is bit position + i of the value, or the sign beyond it."""
    top = bits - 1
    value &= (1 << bits) - 1
    sign = value >> min(position + length - 1, top) & 1 if signed and length else 0
    found = 0
    for i in range(bits):
        inside = i < length and position + i <= top
        found |= (value >> (position + i) & 1 if inside else sign) << i
    return found


@pytest.mark.gpu
@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("type_", ["u32", "s32", "u64", "s64"])
def test_every_field_is_what_the_manual_says(type_: str, position: int):
    """Each thread extracts from one value the fields of one length."""
    cases = [(value, length) for value in VALUES for length in LENGTHS]
    values = np.array([value for value, _ in cases], np.uint64)
    lengths = np.array([length for _, length in cases], np.uint32)
    found = np.zeros(len(cases), np.uint64)
    bits, signed = int(type_[1:]), type_[0] == "s"
    source, result = ("%rd5", "%rd6") if bits == 64 else ("%r5", "%r6")
    body = f"""
    mad.wide.u32 %rd1, %tx, 8, %a0;
    mad.wide.u32 %rd2, %tx, 4, %a1;
    mad.wide.u32 %rd3, %tx, 8, %a2;
    ld.global.b{bits} {source}, [%rd1];
    ld.global.b32 %r7, [%rd2];
    mov.b32 %r8, {position};
    bfe.{type_} {result}, {source}, %r8, %r7;
    st.global.b{bits} [%rd3], {result};"""
    run(body, values, lengths, found, threads=len(cases))
    wanted = [field(v, position, n, bits=bits, signed=signed) for v, n in cases]
    assert found.tolist() == wanted


@pytest.mark.parametrize(("position", "length"), [(256, 1), (0, 256), (-1, 8), (4, 1 << 31)])
def test_a_field_beyond_255_is_a_fault(position: int, length: int):
    """The manual takes the low byte; an H200 does not."""
    numbers = f"mov.b32 %r1, {position}; mov.b32 %r2, {length};"
    assert rule(f"{numbers} bfe.u32 %r3, %tx, %r1, %r2;") == "bit-field"


@pytest.mark.gpu
def test_only_the_threads_that_extract_are_asked():
    body = """
    mov.b32 %r1, 300;
    setp.gt.u32 %p1, %tx, 99;
    @%p1 bfe.u32 %r3, %tx, %r1, %r1;"""
    assert rule(body) == ""

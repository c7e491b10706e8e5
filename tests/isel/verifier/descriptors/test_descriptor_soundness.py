"""What is said to be known of registers, against what the simulator computes.

Random straight programs of integer instructions, some of them guarded, in branches and a loop: of
every register that is stored at the end, the bits that are known must be those of the number that
comes out.  The simulator is tested against ptxas and numpy elsewhere, and shares nothing with the
analysis but the reader.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from asmprinter.ptx.reading.reader import read_ptx
from isel.verifier.descriptors.constants import Constants
from tests.sim.ptx import kernel, run
from tests.turns import examples

REGISTERS = 8
TELLING = (0, 1, 4, 14, 16, 31, 32, 33, 64, 0x3FFFF, 1 << 24)
NUMBERS = st.one_of(st.integers(0, 0xFFFF_FFFF), st.sampled_from(TELLING))
REGISTER = st.integers(0, REGISTERS - 1).map(lambda n: f"%r{n}")
OPERAND = st.one_of(REGISTER, REGISTER, NUMBERS.map(str))
SMALL = st.integers(0, 40).map(str)
PLAIN = (
    "add.u32 {d}, {a}, {b};", "sub.s32 {d}, {a}, {b};", "mul.lo.u32 {d}, {a}, {b};",
    "mad.lo.u32 {d}, {a}, {b}, {c};", "and.b32 {d}, {a}, {b};", "or.b32 {d}, {a}, {b};",
    "xor.b32 {d}, {a}, {b};", "not.b32 {d}, {a};", "shl.b32 {d}, {a}, {n};",
    "shr.u32 {d}, {a}, {n};", "shr.s32 {d}, {a}, {n};", "bfe.u32 {d}, {a}, {n}, {m};",
    "bfi.b32 {d}, {a}, {b}, {n}, {m};", "lop3.b32 {d}, {a}, {b}, {c}, {n};",
    "selp.b32 {d}, {a}, {b}, %p1;", "mov.b32 {d}, {a};",
    "mul.wide.u32 %rd8, {a}, {b}; mov.b64 {{_, {d}}}, %rd8;",
    "mul.wide.s32 %rd8, {a}, {b}; cvt.u32.u64 {d}, %rd8;",
    "mov.b64 %rd8, {{{a}, {b}}}; shr.u64 %rd9, %rd8, {n}; cvt.u32.u64 {d}, %rd9;",
    "mad.wide.u32 %rd8, {a}, {b}, 12345; mov.b64 {{{d}, _}}, %rd8;",
    "cvt.s64.s32 %rd8, {a}; shr.u64 %rd9, %rd8, 8; cvt.u32.u64 {d}, %rd9;",
    "cvt.u16.u32 %rs1, {a}; cvt.s32.s16 {d}, %rs1;",
    "sub.s64 %rd9, %rd8, 7; cvt.u32.u64 {d}, %rd9;",
)  # fmt: skip


@st.composite
def statements(draw: st.DrawFn) -> str:
    """One instruction, with a register's name for each operand that may not be a number."""
    text = draw(st.sampled_from(PLAIN))
    first = REGISTER if "%rd8" in text or "cvt" in text else OPERAND
    line = text.format(
        d=draw(REGISTER), a=draw(first), b=draw(OPERAND), c=draw(OPERAND), n=draw(SMALL),
        m=draw(SMALL),
    )  # fmt: skip
    if ";" in line[:-1] or draw(st.integers(0, 4)):
        return line
    return f"@%p1 {line}"


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A start for each register, then straight runs, one of them in a branch and one in a loop."""
    lines = ["mov.b64 %rd8, 99;", "setp.ne.u32 %p1, %a0, 0;"]
    starts = [draw(st.one_of(NUMBERS.map(str), st.just("%a0"))) for _ in range(REGISTERS)]
    lines += [f"mov.b32 %r{n}, {start};" for n, start in enumerate(starts)]
    runs = st.lists(statements(), min_size=1, max_size=6)
    lines += draw(runs)
    lines += ["@%p1 bra OVER;", *draw(runs), "OVER:", *draw(runs)]
    lines += ["mov.b32 %r20, 0;", "AGAIN:", *draw(runs), "add.u32 %r20, %r20, 1;"]
    lines += ["setp.lt.u32 %p2, %r20, 3;", "@%p2 bra AGAIN;", *draw(runs)]
    return "\n".join(lines)


@examples(240)
@given(program=programs(), value=st.one_of(st.just(0), NUMBERS))
def test_the_known_bits_are_those_that_come_out(program: str, value: int) -> None:
    stores = "\n".join(f"st.global.b32 [%a1+{4 * n}], %r{n};" for n in range(REGISTERS))
    out = np.zeros(REGISTERS, np.uint32)
    body = f"{program}\n{stores}"
    run(body, value, out, threads=1)
    (function,) = read_ptx(kernel(body, (value, out))).module.functions
    constants = Constants(function, lambda name: 1)
    block = len(function.blocks) - 1
    last = function.blocks[block].instrs
    found = 0
    for at, mi in enumerate(last):
        if mi.row.id == "st":
            known = constants.operand(mi["b"], block, at)
            assert (int(out[found]) ^ known.value) & known.mask == 0, (found, hex(known.mask))
            found += 1
    assert found == REGISTERS

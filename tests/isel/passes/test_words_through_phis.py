"""Elements of 8 and 16 bits whose word is known on every way into a block go through phis as it."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nvgen
from nvgen import Compiled

LOOP = """
define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %out, i32 %n) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr i32, ptr addrspace(1) %x, i32 %t
  %first = load i32, ptr addrspace(1) %p
  %before = bitcast i32 %first to {vector}
  br label %loop
loop:
  %i = phi i32 [ 0, %0 ], [ %j, %loop ]
  %old = phi {vector} [ %before, %0 ], [ %new, %loop ]
  %older = phi {vector} [ {start}, %0 ], [ %old, %loop ]
  %j = add i32 %i, 1
  %at = shl i32 %j, 5
  %there = add i32 %at, %t
  %q = getelementptr i32, ptr addrspace(1) %x, i32 %there
  %word = load i32, ptr addrspace(1) %q
  %new = {step}
  %more = icmp ult i32 %j, %n
  br i1 %more, label %loop, label %done
done:
  {end}
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store {vector} %result, ptr addrspace(1) %o
  ret void
}}
"""
KINDS = {"<2 x i16>": np.uint16, "<4 x i8>": np.uint8}


SUM = "%result = add {vector} %old, %older"
OLDER = "%result = bitcast {vector} %older to {vector}"


def compiled(vector: str, step: str, *, start: str = "zeroinitializer", end: str = SUM) -> Compiled:
    end = end.format(vector=vector)
    text = LOOP.format(vector=vector, step=step, start=start, end=end)
    return nvgen.compile(text, target="sm_90a", opt=0)


def inputs(rounds: int) -> np.ndarray:
    return np.random.default_rng(3).integers(0, 1 << 32, (rounds + 1, 32), np.uint32)


def loop_of(ptx: str) -> str:
    """The instructions between the label of the loop and the branch back to it."""
    found = re.search(r"(\$L_loop:.*?)bra \$L_loop;", ptx, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("vector", KINDS)
def test_words_of_memory_stay_words(vector: str) -> None:
    """The word before the last one, which two phis have held: none of its parts is wanted."""
    c = compiled(vector, f"bitcast i32 %word to {vector}", end=OLDER)
    assert not re.search(r"\{%|prmt|cvt", c.ptx)
    x, out = inputs(4), np.zeros(32, np.uint32)
    c.run(x, out, np.uint32(4), block=32, device="sim")
    assert (out == x[2]).all()


@pytest.mark.parametrize("vector", KINDS)
@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_parts_of_words_are_numpys(vector: str, rounds: int) -> None:
    c = compiled(vector, f"bitcast i32 %word to {vector}")
    x, out = inputs(rounds), np.zeros(32, np.uint32)
    c.run(x, out, np.uint32(rounds), block=32, device="sim")
    kind = KINDS[vector]
    last = x[rounds - 1].view(kind)
    before = x[rounds - 2].view(kind) if rounds > 1 else np.zeros_like(last)
    assert (out.view(kind) == last + before).all()


@pytest.mark.parametrize("start", ["<i16 -1, i16 7>", "<i16 0, i16 poison>"])
def test_a_constant_is_a_word(start: str) -> None:
    c = compiled("<2 x i16>", "bitcast i32 %word to <2 x i16>", start=start)
    x, out = inputs(1), np.zeros(32, np.uint32)
    c.run(x, out, np.uint32(1), block=32, device="sim")
    found = out.view(np.uint16).reshape(32, 2) - x[0].view(np.uint16).reshape(32, 2)
    assert (found[:, 0] == (0xFFFF if "-1" in start else 0)).all()
    assert "poison" in start or (found[:, 1] == 7).all()


@pytest.mark.parametrize("rounds", [1, 3])
def test_elements_that_are_computed_go_alone(rounds: int) -> None:
    """One element of the new vector is the sum of two: there is no word of it."""
    step = "insertelement <2 x i16> %old, i16 %both, i32 0"
    made = "  %e = extractelement <2 x i16> %old, i32 0\n  %w = trunc i32 %word to i16\n"
    made += "  %both = add i16 %e, %w\n"
    c = nvgen.compile(
        LOOP.replace("  %new =", f"{made}  %new =").format(
            vector="<2 x i16>",
            step=step,
            start="zeroinitializer",
            end=SUM.format(vector="<2 x i16>"),
        ),
        target="sm_90a",
        opt=0,
    )
    x, out = inputs(rounds), np.zeros(32, np.uint32)
    c.run(x, out, np.uint32(rounds), block=32, device="sim")
    parts = x.view(np.uint16).reshape(rounds + 1, 32, 2)
    last = parts[0].copy()
    before = np.zeros_like(last)
    for n in range(1, rounds):
        before = last.copy()
        last[:, 0] += parts[n][:, 0]
    assert (out.view(np.uint16).reshape(32, 2) == last + before).all()


def test_a_word_that_a_loop_leaves_alone() -> None:
    """A phi that is one of its own values."""
    text = LOOP.replace(
        "%older = phi", "%same = phi {vector} [ %before, %0 ], [ %same, %loop ]\n  %older = phi"
    )
    end = "%result = add <2 x i16> %same, %old"
    step = "bitcast i32 %word to <2 x i16>"
    given = text.format(vector="<2 x i16>", step=step, start="zeroinitializer", end=end)
    x, out = inputs(3), np.zeros(32, np.uint32)
    c = nvgen.compile(given, target="sm_90a", opt=0)
    c.run(x, out, np.uint32(3), block=32, device="sim")
    assert (out.view(np.uint16) == x[0].view(np.uint16) + x[2].view(np.uint16)).all()

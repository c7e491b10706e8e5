"""Kernels in which the threads of a warp work together, and what numpy says that they give.

Each program is LLVM IR of a kernel ``k(ptr x, ptr out)`` for 64 threads: thread ``t`` reads the
32-bit word ``x[t]`` and writes ``out[t]``.  The model of each works on one warp's 32 words and
follows the manual's own words; it does not know the simulator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]
THREADS = 64
WARP = 32


@dataclass(frozen=True)
class Program:
    """A kernel's text, the model of one warp, and the targets that it needs more than the rest."""

    name: str
    text: str
    model: Callable[[Words], Words]
    since: int = 80
    suffix: str = ""


HEADER = 'target triple = "nvptx64-nvidia-cuda"\n'


def kernel(body: str, declarations: str) -> str:
    """A kernel around a body that makes %r of %v; %lane and %t are there too."""
    return f"""{HEADER}declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
{declarations}
define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %out) "nvvm.reqntid"="64" {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = and i32 %t, 31
  %px = getelementptr i32, ptr addrspace(1) %x, i32 %t
  %v = load i32, ptr addrspace(1) %px
{body}
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %r, ptr addrspace(1) %po
  ret void
}}
"""


# ---- shuffles --------------------------------------------------------------------------------


def shuffle(mode: str, b: int | None, c: int) -> Program:
    """One shuffle; b None is the thread's own word."""

    def model(words: Words) -> Words:
        out = np.zeros(WARP, np.uint32)
        for lane in range(WARP):
            step = (int(words[lane]) if b is None else b) & 31
            segment, clamp = c >> 8 & 31, c & 31
            first = lane & segment
            last = first | (clamp & ~segment & 31)
            source = {
                "up": lane - step,
                "down": lane + step,
                "bfly": lane ^ step,
                "idx": first | (step & ~segment & 31),
            }[mode]
            inside = source >= last if mode == "up" else source <= last
            value = int(words[source if inside else lane])
            out[lane] = (value * 2 + inside) & 0xFFFFFFFF
        return out

    name = f"llvm.nvvm.shfl.sync.{mode}.i32p"
    given = "%v" if b is None else str(b)
    body = f"""  %p = call {{i32, i1}} @{name}(i32 -1, i32 %v, i32 {given}, i32 {c})
  %w = extractvalue {{i32, i1}} %p, 0
  %b = extractvalue {{i32, i1}} %p, 1
  %z = zext i1 %b to i32
  %d = shl i32 %w, 1
  %r = add i32 %d, %z"""
    return Program(
        f"shfl {mode} {given} {c}",
        kernel(body, f"declare {{i32, i1}} @{name}(i32, i32, i32, i32)"),
        model,
    )


def _butterfly() -> Program:
    """A sum over the warp, in five steps of a float."""
    steps = []
    for n, step in enumerate((16, 8, 4, 2, 1)):
        steps.append(f"""  %s{n} = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %f{n}, \
i32 {step}, i32 31)
  %i{n}a = bitcast float %f{n} to i32
  %i{n}b = bitcast float %s{n} to i32
  %i{n + 1} = add i32 %i{n}a, %i{n}b
  %f{n + 1} = bitcast i32 %i{n + 1} to float""")
    body = "  %f0 = bitcast i32 %v to float\n" + "\n".join(steps) + "\n  %r = add i32 %i5, 0"
    return Program(
        "shfl butterfly sum",
        kernel(body, "declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)"),
        lambda words: np.full(WARP, words.sum(dtype=np.uint32), np.uint32),
    )


# ---- votes, matches, reductions --------------------------------------------------------------


def vote(mode: str) -> Program:
    """Half of each warp votes at a time, in divergent code, by its own mask."""

    def model(words: Words) -> Words:
        out = np.zeros(WARP, np.uint32)
        for half in (range(16), range(16, 32)):
            says = [bool(words[lane] & 1) for lane in half]
            answer = {
                "all": all(says),
                "any": any(says),
                "uni": len(set(says)) == 1,
                "ballot": sum(1 << lane for lane, yes in zip(half, says, strict=True) if yes),
            }[mode]
            out[list(half)] = int(answer)
        return out

    wide = mode == "ballot"
    type_ = "i32" if wide else "i1"
    cast = "add i32 {}, 0" if wide else "zext i1 {} to i32"
    body = f"""  %bit = trunc i32 %v to i1
  %low = icmp ult i32 %lane, 16
  br i1 %low, label %first, label %second
first:
  %a = call {type_} @llvm.nvvm.vote.{mode}.sync(i32 65535, i1 %bit)
  %a32 = {cast.format("%a")}
  br label %done
second:
  %b = call {type_} @llvm.nvvm.vote.{mode}.sync(i32 -65536, i1 %bit)
  %b32 = {cast.format("%b")}
  br label %done
done:
  %r = phi i32 [ %a32, %first ], [ %b32, %second ]"""
    declared = f"declare {type_} @llvm.nvvm.vote.{mode}.sync(i32, i1)"
    return Program(f"vote {mode}", kernel(body, declared), model)


def _match_any(bits: int) -> Program:
    def model(words: Words) -> Words:
        low = words & 3
        return np.array(
            [sum(1 << lane for lane in range(WARP) if low[lane] == one) for one in low], np.uint32
        )

    name = f"llvm.nvvm.match.any.sync.i{bits}"
    wide = "" if bits == 32 else "  %w64 = zext i32 %low to i64\n"
    given = "%low" if bits == 32 else "%w64"
    body = f"  %low = and i32 %v, 3\n{wide}  %r = call i32 @{name}(i32 -1, i{bits} {given})"
    return Program(f"match any {bits}", kernel(body, f"declare i32 @{name}(i32, i{bits})"), model)


def _match_all(mask: int) -> Program:
    """Whether all have the same bits under a mask."""

    def model(words: Words) -> Words:
        agree = len(set((words & np.uint32(mask)).tolist())) == 1
        return np.full(WARP, 0xFFFFFFFE + agree if agree else 0, np.uint32)

    body = f"""  %low = and i32 %v, {mask}
  %p = call {{i32, i1}} @llvm.nvvm.match.all.sync.i32p(i32 -1, i32 %low)
  %m = extractvalue {{i32, i1}} %p, 0
  %b = extractvalue {{i32, i1}} %p, 1
  %z = zext i1 %b to i32
  %one = xor i32 %z, 1
  %e = sub i32 0, %z
  %k = and i32 %m, %e
  %nz = and i32 %k, -1
  %r = sub i32 %nz, 0"""
    declared = "declare {i32, i1} @llvm.nvvm.match.all.sync.i32p(i32, i32)"
    return Program(f"match all {mask}", kernel(body, declared), model)


_REDUCTIONS: dict[str, Callable[[Words], int]] = {
    "add": lambda w: int(w.sum(dtype=np.uint32)),
    "min": lambda w: int(w.view(np.int32).min()),
    "max": lambda w: int(w.view(np.int32).max()),
    "umin": lambda w: int(w.min()),
    "umax": lambda w: int(w.max()),
    "and": lambda w: int(np.bitwise_and.reduce(w)),
    "or": lambda w: int(np.bitwise_or.reduce(w)),
    "xor": lambda w: int(np.bitwise_xor.reduce(w)),
}


def _reduction(op: str) -> Program:
    def model(words: Words) -> Words:
        return np.full(WARP, _REDUCTIONS[op](words) & 0xFFFFFFFF, np.uint32)

    body = f"  %r = call i32 @llvm.nvvm.redux.sync.{op}(i32 %v, i32 -1)"
    declared = f"declare i32 @llvm.nvvm.redux.sync.{op}(i32, i32)"
    return Program(f"redux {op}", kernel(body, declared), model)


def _float_reduction(op: str, magnitude: bool, nan: bool) -> Program:
    def model(words: Words) -> Words:
        numbers = (words & np.uint32(0x7FFFFFFF) if magnitude else words).view(np.float32)
        good = numbers[~np.isnan(numbers)]
        if not good.size or (nan and good.size < WARP):
            return np.full(WARP, 0x7FFFFFFF, np.uint32)
        pick = min if op == "min" else max
        best = pick(good.tolist(), key=lambda x: (x, np.copysign(1, x)))
        return np.full(WARP, np.float32(best).view(np.uint32), np.uint32)

    name = f"llvm.nvvm.redux.sync.f{op}{'.abs' * magnitude}{'.NaN' * nan}"
    body = f"""  %f = bitcast i32 %v to float
  %m = call float @{name}(float %f, i32 -1)
  %r = bitcast float %m to i32"""
    return Program(
        name.removeprefix("llvm.nvvm."),
        kernel(body, f"declare float @{name}(float, i32)"),
        model,
        since=100,
        suffix="a",
    )


def programs() -> Iterator[Program]:
    """Every program."""
    for mode in ("up", "down", "bfly", "idx"):
        for b, c in ((1, 31), (None, 31), (3, 0x181F), (None, 0x1C07), (31, 0), (None, 0)):
            yield shuffle(mode, b, c)
    yield _butterfly()
    for mode in ("all", "any", "uni", "ballot"):
        yield vote(mode)
    yield _match_any(32)
    yield _match_any(64)
    yield _match_all(0)
    yield _match_all(1)
    for op in _REDUCTIONS:
        yield _reduction(op)
    for op in ("min", "max"):
        for magnitude in (False, True):
            for nan in (False, True):
                yield _float_reduction(op, magnitude, nan)


def inputs(seed: int) -> Words:
    """Words for all threads: numbers, extremes, floats with both zeros and NaNs."""
    rng = np.random.default_rng(seed)
    found = rng.integers(0, 1 << 32, THREADS, dtype=np.uint32)
    special = np.array([0, 0x80000000, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F800000, 0xFF800000], np.uint32)
    places = rng.integers(0, THREADS, 6)
    if seed % 2:
        found[places] = special
    if seed % 3 == 0:  # no bit pattern that is a NaN
        found &= np.uint32(0xBFFFFFFF)
    return found

"""Attention for Hopper and Blackwell, written once: O = softmax(Q·Kᵀ·scale)·V, causal or not.

What lies between two multiplies is the same text on both machines; the target decides where it is:

                         sm_90a                          sm_100a, sm_103a, sm_110a
    rows of a warpgroup  64                              128: one in each thread
    s, o                 registers                       tensor memory, allocated and freed
    gemm(s, q, k)        all threads: wgmma.mma_async    one thread: tcgen05.mma
    s.fragment           the registers                   tcgen05.ld
    row_max, row_sum     shuffles of four lanes          within a thread
    gemm(o, p, v)        P as A in registers             tcgen05.st of P, which is A there
    o.set(…)             the registers                   tcgen05.st
    s.wait(1)            wgmma.wait_group 1              an mbarrier that the commit of S arrives at

A CTA has a head and the rows of two warpgroups; a ninth warp brings Q, and blocks of K and V.  On
Hopper with d = 128 it is one of a third warpgroup, which gives its registers to the others.

    tensor cores    S₁ = Q·K₁ᵀ   O += P₀·V₀   S₂ = Q·K₂ᵀ   O += P₁·V₁   …
    registers                    P₁                        P₂

O is scaled only where a row of the warp has a new maximum.  Sample 14, for Hopper alone, and
samples/attention/sm100.py keep CTAs for item after item, and look for no maximum in the loop.
Runs on the simulator for every target, never run on a real Blackwell GPU yet; on an H200 it has
0.87 to 1.01 times the speed of cuDNN, 0.76 to 0.83 times that of sample 14 (docs/attention.md).
"""

from __future__ import annotations

import functools
import math
import operator
from contextlib import nullcontext

import numpy as np

from nvgen import Kernel, KernelBuilder, Major, Vote, bf16

STAGES, GROUPS = 2, 2  # buffers; warpgroups that multiply
TARGETS = ("sm_90a", "sm_100a", "sm_103a", "sm_110a")


def shape(target: str) -> tuple[int, int]:
    """The rows of a warpgroup, and the keys of a block."""
    return (64, 128) if target == "sm_90a" else (128, 64)


def build(target: str = "sm_90a", d: int = 64, *, causal: bool = True) -> Kernel:
    """The kernel for one target, as LLVM IR, for heads of `d` columns, 64 or 128."""
    rows, keys = shape(target)
    gives = target == "sm_90a" and d == 128  # whether a thread needs more than 224 registers
    threads = 384 if gives else 288
    b = KernelBuilder("attention", block=threads, dynamic_shared=True, target=target)
    b.tile_map("q", bf16, (GROUPS * rows, d), rank=3)
    b.tile_map("k", bf16, (keys, d), rank=3)
    b.tile_map("v", bf16, (d, keys), rank=3, major=Major.MN)
    b.tile_map("o", bf16, (rows, d), rank=3, output=True)
    b.u32("length"), b.f32("scale")
    args = b.begin()
    length, head = args["length"], b.ctaid_y
    row = (b.nctaid_x - 1 - b.ctaid_x) * (GROUPS * rows)  # the longest ones first
    last = length.min(row + GROUPS * rows) if causal else length
    blocks = ((last + (keys - 1)) // keys).max(1)
    q_tile, q_full = b.shared_tile("q_tile", bf16, (GROUPS * rows, d)), b.mbarrier("q_full")
    k_tiles = b.shared_tiles("k_tiles", bf16, (keys, d), STAGES)
    v_tiles = b.shared_tiles("v_tiles", bf16, (d, keys), STAGES, major=Major.MN)
    k_ring = b.tile_ring("k_ring", k_tiles, consumers=GROUPS, warps=4)
    v_ring = b.tile_ring("v_ring", v_tiles, consumers=GROUPS, warps=4)
    b.make_mbarriers((q_full, 1), *k_ring.mbarriers, *v_ring.mbarriers)
    if not gives:
        s, o = b.warpgroup_tile(rows, keys), b.warpgroup_tile(rows, d)

    with b.if_warpgroup(GROUPS) if gives else nullcontext():
        if gives:
            b.setmaxnreg_dec(24)
        with b.if_warp(GROUPS * 4), b.elect():
            b.arrive_expecting(q_full, q_tile)
            b.load_tile(q_tile, args["q"], (0, row, head), q_full)
            producers = (k_ring.producer(), "k"), (v_ring.producer(), "v")
            with b.range(blocks) as block:
                for end, name in producers:
                    with end.fill() as slot:
                        b.load_tile(slot.tile, args[name], (0, block * keys, head), slot.full)

    with b.if_warpgroup(0, GROUPS):
        if gives:  # 128 · 24 + 256 · 240 = 384 · 168, what a CTA begins with
            b.setmaxnreg_inc(240)
            s, o = b.warpgroup_tile(rows, keys), b.warpgroup_tile(rows, d)
        of_k, of_v = k_ring.consumer(), v_ring.consumer()
        first, q = row + b.warpgroup * rows, q_tile.part(b.warpgroup * rows, rows)
        m, sums = b.variable(s.rows(-math.inf)), b.variable(s.rows(0.0))

        def powers(block):
            """P of a block, with new maxima and sums of its rows, and the factors of old ones."""
            x, key = b.variable(s.fragment * (args["scale"] * math.log2(math.e))), block * keys
            with b.if_(key + keys > (first + 1 if causal else length)):
                ends = s.rows(lambda r: first + r + 1 if causal else length)
                x.set(x.value.where(lambda end, c: key + c < end, -math.inf, of=ends))
            greatest = m.value.max(x.value.row_max())
            shrink, p = (m.value - greatest).ex2(ftz=True), (x.value - greatest).ex2(ftz=True)
            m.set(greatest), sums.set(sums.value * shrink + p.row_sum(whole=False))
            return p.to(bf16), shrink

        b.wait(q_full, 0)
        with of_k.use() as slot:
            b.gemm(s, q, slot.tile)
        p = b.variable(powers(b.const(0))[0])
        with b.range(blocks, start=1) as block:
            k, v = of_k.take(), of_v.take()
            b.gemm(s, q, k.tile, wait=False)
            b.gemm(o, p.value, v.tile, accumulate=True, wait=False)
            s.wait(1)
            of_k.release(k)
            following, shrink = powers(block)
            o.wait()
            of_v.release(v)
            grown = functools.reduce(operator.or_, [factor < 1 for _, factor in shrink.items()])
            with b.if_(b.vote_sync(Vote.ANY, grown)):
                o.apply(lambda part: part.scale_rows(shrink))
            p.set(following)
        b.gemm(o, p.value, of_v.take().tile, accumulate=True)
        factors = sums.value.whole(operator.add).rcp()
        o.scale_rows(factors).store_through(q, args["o"], (0, first, head), barrier=1 + b.warpgroup)
        b.cp_async_bulk_wait_group(0)
    return b.finish()


def operands(heads: int, length: int, d: int) -> tuple[np.ndarray, ...]:
    """Random Q, K and V."""
    rng = np.random.default_rng(0)
    return tuple(rng.standard_normal((heads, length, d)).astype(bf16.numpy) for _ in range(3))


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, *, causal: bool) -> np.ndarray:
    """O in f64."""
    q, k, v = (array.astype(np.float64) for array in (q, k, v))
    s = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
    if causal:
        s = np.where(np.tril(np.ones(s.shape[1:], bool)), s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True) @ v


def grid(target: str, heads: int, length: int) -> tuple[int, int]:
    """The CTAs of a launch."""
    return -(-length // (GROUPS * shape(target)[0])), heads


def main() -> None:
    """Run a head of 200 rows on the simulator, for each target, and compare with numpy."""
    for target, causal in ((target, causal) for target in TARGETS for causal in (True, False)):
        q, k, v = operands(1, 200, 64)
        o = np.zeros_like(q)
        kernel, ctas = build(target, causal=causal), grid(target, 1, 200)
        kernel.compile().run(q, k, v, o, 200, 64**-0.5, grid=ctas, device="sim")
        apart = np.abs(o.astype(np.float64) - attention(q, k, v, causal=causal)).max()
        assert apart < np.abs(v.astype(np.float32)).max() / 128, "the result differs from numpy"
        print(f"{target}, {causal=}: equal to numpy within {apart:.4f}")


if __name__ == "__main__":
    main()

"""Attention backward for Hopper: dQ, dK and dV in one kernel, causal or not, d = 128.

    S = Q·Kᵀ·scale    P = exp(S - lse)    dV = Pᵀ·dO    dS = P ∘ (dO·Vᵀ - delta)
    dQ = dS·K·scale   dK = dSᵀ·Q·scale

A CTA has 128 keys of a head, 64 for each of two warpgroups, and goes over blocks of 64 queries.
Everything is transposed, keys × queries, so that P and dS leave a multiply as the A of the next:

    tensor cores   Sᵀ = K·Qᵀ   dPᵀ = V·dOᵀ      dV += Pᵀ·dO     dK += dSᵀ·Q    dQ = dS·K
    registers                  P = 2^(S - lse)  dS = P·(dP - delta)
    shared memory                               dSᵀ, once for both warpgroups ──┘    │
    memory                                                dQ by TMA, added to what is there

For dQ each warpgroup multiplies dS of all 128 keys by half of the columns of K.  `lse` is the
logarithm of the sums of exp(S) of a row, which the forward pass leaves; `delta` is the sum of
dO ∘ O of a row.  Arrays are heads × length × d, the length a multiple of 128; dQ is f32, zeros
before the launch, and its sums come in no fixed order.  Dao, FlashAttention-2 (2023), algorithm 2.

It has run on an H200 (30 November 2026): docs/attention.md has figures.
"""

from __future__ import annotations

import numpy as np

from nvgen import AtomicOp, Kernel, KernelBuilder, bf16, f32

KEYS, QUERIES, D = 128, 64, 128
STAGES = 2
ROWS = 64  # keys of a warpgroup
HALF = D // 2  # columns of dQ of a warpgroup
LOG2E = 1.4426950408889634

TARGETS = ("sm_90a",)


def build(causal: bool = False) -> Kernel:
    """The kernel, as LLVM IR: a CTA for 128 keys, a row of the grid for each head."""
    b = KernelBuilder(
        "attention_backward", block=384, dynamic_shared=True, target="sm_90a", minctasm=1
    )
    for name, rows in (("k", KEYS), ("v", KEYS), ("q", QUERIES), ("do", QUERIES)):
        b.tile_map(name, bf16, (rows, D), rank=3)
    for name in ("lse", "delta"):
        b.pointer(name, f32)
    b.tile_map("dq", f32, (QUERIES, HALF), rank=3)
    for name in ("dk", "dv"):
        b.pointer(name, bf16, output=True)
    b.u32("length")
    b.f32("scale")
    args = b.begin()
    head, first, length = b.ctaid_y, b.ctaid_x * KEYS, args["length"]
    blocks = length // QUERIES
    start = b.ctaid_x * (KEYS // QUERIES) if causal else 0

    k, v = (b.shared_tile(f"{name}_tile", bf16, (KEYS, D)) for name in "kv")
    q_tiles = b.shared_tiles("q_tiles", bf16, (QUERIES, D), STAGES)
    do_tiles = b.shared_tiles("do_tiles", bf16, (QUERIES, D), STAGES)
    ds_tiles = b.shared_tiles("ds_tiles", bf16, (KEYS, QUERIES), 2)
    dq_tiles = b.shared_tiles("dq_tiles", f32, (QUERIES, HALF), 2)
    ring = b.tile_ring("ring", q_tiles, do_tiles, consumers=2)
    full = b.mbarrier("full")  # K and V
    b.make_mbarriers((full, 1), *ring.mbarriers)

    with b.if_warpgroup(2):  # one thread brings tiles
        b.setmaxnreg_dec(24)
        with b.if_warp(8), b.elect():
            b.arrive_expecting(full, k, v)
            b.load_tile(k, args["k"], (0, first, head), full)
            b.load_tile(v, args["v"], (0, first, head), full)
            producer = ring.producer()
            with b.range(blocks, start=start) as block, producer.fill() as slot:
                for tile, name in zip(slot.tiles, ("q", "do"), strict=True):
                    b.load_tile(tile, args[name], (0, block * QUERIES, head), slot.full)

    with b.if_warpgroup(0, 2):
        b.setmaxnreg_inc(240)
        rows, own = b.warpgroup * ROWS, b.warpgroup * HALF
        dk, dv = b.warpgroup_tile(ROWS, D), b.warpgroup_tile(ROWS, D)
        s, dp = b.warpgroup_tile(ROWS, QUERIES), b.warpgroup_tile(ROWS, QUERIES)
        dq = b.warpgroup_tile(QUERIES, HALF)
        consumer, turn = ring.consumer(), b.ring(2)
        b.wait(full, 0)
        with b.range(blocks, start=start) as block, consumer.use() as slot:
            q, do = slot.tiles
            here = head * length + block * QUERIES
            lse = s.columns(lambda query, at=here: args["lse"][at + query] * -LOG2E)
            delta = s.columns(lambda query, at=here: args["delta"][at + query])
            b.gemm(s, k.part(rows, ROWS), q, in_flight=1)
            b.gemm(dp, v.part(rows, ROWS), do)
            p = s.fma(args["scale"] * LOG2E, lse).ex2()
            if causal:
                key, query = first + rows, block * QUERIES
                p = p.where(lambda i, j, k=key, q=query: k + i <= q + j, 0.0)
            b.gemm(dv, p.as_a_operand(bf16), do.transposed, accumulate=True)
            ds, ds_tile = (p * (dp - delta)).to(bf16), ds_tiles[turn.stage]
            ds.as_tile(ds_tile.part(rows, ROWS))
            b.fence_proxy_async()
            b.barrier_cta_sync_aligned(1, 256)  # dS of both warpgroups is there
            b.gemm(dk, ds.as_a_operand(), q.transposed, accumulate=True, in_flight=1)
            b.gemm(dq, ds_tile.transposed, k.transposed.part(own, HALF))
            (dq * args["scale"]).store_through(
                dq_tiles[b.warpgroup],
                args["dq"],
                (own, block * QUERIES, head),
                barrier=2 + b.warpgroup,
                op=AtomicOp.ADD,
            )
            turn.advance()
        corner = (head * length + first + rows) * D
        (dk * args["scale"]).to(bf16).store(args["dk"].at(corner), D, align=16)
        dv.to(bf16).store(args["dv"].at(corner), D, align=16)
        b.cp_async_bulk_wait_group(0)
    return b.finish()


def operands(heads: int, length: int) -> tuple[np.ndarray, ...]:
    """K, V, Q and dO, normally distributed."""
    rng = np.random.default_rng(0)
    return tuple(rng.standard_normal((4, heads, length, D)).astype(bf16.numpy))


def attention_backward(
    k: np.ndarray, v: np.ndarray, q: np.ndarray, do: np.ndarray, *, causal: bool
) -> dict[str, np.ndarray]:
    """What numpy gives in f64, by name: lse and delta, then P, dS, dQ, dK and dV."""
    k, v, q, do = (x.astype(np.float64) for x in (k, v, q, do))
    scale = D**-0.5
    s = q @ k.swapaxes(1, 2) * scale
    s = np.where(np.tril(np.ones(s.shape[1:], bool)), s, -np.inf) if causal else s
    lse = np.log(np.exp(s - s.max(2, keepdims=True)).sum(2)) + s.max(2)
    p = np.exp(s - lse[..., None])
    delta = (do * (p @ v)).sum(2)
    ds = p * (do @ v.swapaxes(1, 2) - delta[..., None])
    return {
        "lse": lse.astype(np.float32), "delta": delta.astype(np.float32), "p": p, "ds": ds,
        "dq": ds @ k * scale, "dk": ds.swapaxes(1, 2) @ q * scale, "dv": p.swapaxes(1, 2) @ do,
    }  # fmt: skip


def grid(heads: int, length: int) -> tuple[int, int]:
    """CTAs of a launch."""
    return length // KEYS, heads


def main() -> None:
    """Run two heads, causal and not, on the simulator, and compare with numpy."""
    heads, length = 2, 256
    for causal in (False, True):
        given = operands(heads, length)
        expected = attention_backward(*given, causal=causal)
        dq = np.zeros((heads, length, D), np.float32)
        dk, dv = (np.zeros_like(given[0]) for _ in range(2))
        build(causal).compile().run(
            *given, expected["lse"], expected["delta"], dq, dk, dv, length, D**-0.5,
            grid=grid(heads, length), device="sim",
        )  # fmt: skip
        for name, found in (("dq", dq), ("dk", dk), ("dv", dv)):
            error = np.abs(found.astype(np.float64) - expected[name]).max()
            assert error < 2**-7 * np.abs(expected[name]).max(), f"{name} differs from numpy"
        print(f"causal {causal}: dQ, dK and dV equal to numpy, within the rounding of P and dS")


if __name__ == "__main__":
    main()

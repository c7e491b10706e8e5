"""Kernels of language models, written from the pages of docs alone; each beside numpy.

Cross-entropy with its gradient, in place; Mamba-2's scan of a chunk; attention of int8 with a scale
for each block; sampling among the most likely tokens.
"""

from __future__ import annotations

import operator

import numpy as np
import pytest

from nvgen import Kernel, KernelBuilder, Major, bf16, f16, f32, i8, i32, u32, u64
from nvgen.testing import Launch, assert_exact, kernel_test
from nvgen.values.numbers import Int

TARGET, LOG2_E = "sm_90a", 1.4426950408889634
pytestmark = [
    pytest.mark.filterwarnings("error::nvgen.FindingWarning"),
    pytest.mark.turns(2),
    pytest.mark.seldom(3),
]


def cross_entropy(vocabulary: int, threads: int) -> Kernel:
    """A CTA for each row of logits, which its gradient replaces; maximum and sum in one pass."""
    b = KernelBuilder("cross_entropy", block=threads, target=TARGET)
    b.pointer("logits", bf16)
    b.pointer("labels", i32)
    b.pointer("loss", f32, output=True)
    b.f32("weight")
    args = b.begin()
    row = args["logits"].at(b.ctaid_x.to(u64) * vocabulary)

    def merge(x: tuple, y: tuple) -> tuple:
        most = x[0].max(y[0])
        return most, x[1] * (x[0] - most).exp() + y[1] * (y[0] - most).exp()

    most, total = b.variable(-1e30), b.variable(0.0)
    with b.range(vocabulary, start=b.thread * 8, step=threads * 8) as i:
        values = b.load(row.at(i), bf16, 8, align=16).to(f32)
        greatest = most.value.max(values.largest())
        total.set(total.value * (most.value - greatest).exp() + (values - greatest).exp().sum())
        most.set(greatest)
    whole, sum_ = b.cta_reduce((most.value, total.value), merge)
    label = args["labels"][b.ctaid_x].to(u32)
    with b.if_thread(0):
        args["loss"][b.ctaid_x] = whole + sum_.log() - row[label].to(f32)
    b.barrier_cta_sync_aligned()
    weight = args["weight"]
    with b.range(vocabulary, start=b.thread * 8, step=threads * 8) as i:
        values = b.load(row.at(i), bf16, 8, align=16).to(f32)
        chances = (values - whole).exp() * (weight / sum_)
        made = [x - b.select(i + j == label, weight, 0.0) for j, x in enumerate(chances)]
        b.store(b.vector(made).to(bf16), row.at(i), align=16)
    return b.finish()


@kernel_test(schedules=["early", "random:1"], targets=TARGET)
def test_cross_entropy_and_its_gradient(launch: Launch) -> None:
    rows, vocabulary, rng = 3, 5000, np.random.default_rng(0)
    x = (rng.standard_normal((rows, vocabulary)) * 3).astype(bf16.numpy)
    labels = rng.integers(0, vocabulary, rows).astype(np.int32)
    powers = np.exp(x.astype(np.float64))
    sums, chosen = powers.sum(1), (np.arange(rows), labels)
    losses = np.log(sums) - x[chosen].astype(np.float64)
    gradient = powers / sums[:, None]
    gradient[chosen] -= 1
    loss = np.zeros(rows, np.float32)
    launch(cross_entropy(vocabulary, 128), x, labels, loss, 1 / rows, grid=rows)
    assert np.allclose(loss, losses, rtol=1e-5)
    assert np.allclose(x.astype(np.float64), gradient / rows, rtol=6e-3, atol=1e-7)


CHUNK, P, N = 128, 64, 128


def chunk_scan() -> Kernel:
    """y = ((C Bᵀ) ∘ L ∘ dt) x + exp(decay) C stateᵀ: a CTA for each chunk and head."""
    b = KernelBuilder("chunk_scan", block=256, dynamic_shared=True, target=TARGET)
    for name in "cb":
        b.tile_map(name, bf16, (CHUNK, N))
    b.tile_map("x", bf16, (P, CHUNK), major=Major.MN, rank=3)  # heads, length, P
    b.tile_map("state", bf16, (P, N), rank=3)  # heads by chunks, P, N
    for name in ("dt", "decay"):
        b.pointer(name, f32)
    b.pointer("y", bf16, output=True)
    a = b.begin()
    number = b.ctaid_y * b.nctaid_x + b.ctaid_x
    line = number * CHUNK
    c, k = (b.shared_tile(f"{name}_tile", bf16, (CHUNK, N)) for name in "cb")
    x = b.shared_tile("x_tile", bf16, (P, CHUNK), major=Major.MN)
    state, full = b.shared_tile("state_tile", bf16, (P, N)), b.mbarrier("full")
    decay, dt = (b.shared_array(name, f32, CHUNK) for name in ("decays", "dts"))
    b.make_mbarriers((full, 1))
    with b.if_thread(0):
        b.arrive_expecting(full, c, k, x, state)
        b.load_tile(c, a["c"], (0, b.ctaid_x * CHUNK), full)
        b.load_tile(k, a["b"], (0, b.ctaid_x * CHUNK), full)
        b.load_tile(x, a["x"], (0, b.ctaid_x * CHUNK, b.ctaid_y), full)
        b.load_tile(state, a["state"], (0, 0, number), full)
    with b.if_(b.thread < CHUNK):
        decay[b.thread] = a["decay"][line + b.thread] * LOG2_E
        dt[b.thread] = a["dt"][line + b.thread]
    b.barrier_cta_sync_aligned()
    b.wait(full, 0)
    with b.if_warpgroup(0, 2):
        first = b.warpgroup * 64
        s, o, before = b.warpgroup_tile(64, CHUNK), b.warpgroup_tile(64, P), b.warpgroup_tile(64, P)
        b.gemm(s, c.part(first, 64), k)
        past = s.where(lambda row, column: column <= first + row, 0.0)
        rows = past.rows(lambda row: decay[first + row])
        gate = (past * 0 + rows - past.columns(lambda column: decay[column])).min(0.0).ex2()
        scores = past * gate * past.columns(lambda column: dt[column])
        b.gemm(before, c.part(first, 64), state)
        b.gemm(o, scores.to(bf16).as_a_operand(), x)
        scaled = before.scale_rows(before.rows(lambda row: decay[first + row]).ex2())
        (o.fragment + scaled).to(bf16).store(a["y"].at((line + first) * P), P, align=16)
    return b.finish()


@kernel_test(schedules=["early", "late"], targets=TARGET)
def test_a_chunk_of_mamba(launch: Launch) -> None:
    heads, chunks, rng = 2, 2, np.random.default_rng(0)
    length = chunks * CHUNK
    c, k = ((rng.standard_normal((length, N)) / 8).astype(bf16.numpy) for _ in "cb")
    x = rng.standard_normal((heads, length, P)).astype(bf16.numpy)
    state = (rng.standard_normal((heads * chunks, P, N)) / 4).astype(bf16.numpy)
    dt = rng.uniform(0.1, 1, (heads, chunks, CHUNK)).astype(np.float32)
    decay = -np.cumsum(dt / 10, -1).astype(np.float32)
    y = np.zeros_like(x)
    launch(chunk_scan(), c, k, x, state, dt, decay, y, grid=(chunks, heads))
    wide = [one.astype(np.float64) for one in (c, k)]
    cs, ks = (one.reshape(chunks, CHUNK, N) for one in wide)
    xs = x.astype(np.float64).reshape(heads, chunks, CHUNK, P)
    states = state.astype(np.float64).reshape(heads, chunks, P, N)
    gate = np.tril(np.exp(np.minimum(decay[..., None] - decay[..., None, :], 0.0)))
    scores = cs @ ks.swapaxes(1, 2) * gate * dt[..., None, :]
    expected = scores @ xs + np.exp(decay)[..., None] * (cs @ states.swapaxes(2, 3))
    error = np.abs(y.astype(np.float64).reshape(expected.shape) - expected).max()
    assert error < 0.01 * np.abs(expected).max()  # S and y are rounded to 8 bits


D = KEYS = 128


def int8_attention() -> Kernel:
    """Q and K in int8, a scale for each 128 rows of either; V in f16; a CTA for 128 rows of Q."""
    b = KernelBuilder("attention", block=384, dynamic_shared=True, target=TARGET)
    b.tile_map("q", i8, (128, D))
    b.tile_map("k", i8, (KEYS, D))
    b.tile_map("v", f16, (D, KEYS), major=Major.MN)
    b.pointer("q_scales", f32)
    b.pointer("k_scales", f32)
    b.pointer("o", f32, output=True)
    b.u32("blocks")
    a = b.begin()
    q, blocks = b.shared_tile("q_tile", i8, (128, D)), a["blocks"]
    k = b.shared_tiles("k_tiles", i8, (KEYS, D), 2)
    v = b.shared_tiles("v_tiles", f16, (D, KEYS), 2, major=Major.MN)
    ring, full = b.tile_ring("ring", k, v, consumers=2), b.mbarrier("q_full")
    b.make_mbarriers((full, 1), *ring.mbarriers)
    with b.if_warp(8), b.elect():
        b.arrive_expecting(full, q)
        b.load_tile(q, a["q"], (0, b.ctaid_x * 128), full)
        producer = ring.producer()
        with b.range(blocks) as j, producer.fill() as slot:
            b.load_tile(slot.tiles[0], a["k"], (0, j * KEYS), slot.full)
            b.load_tile(slot.tiles[1], a["v"], (0, j * KEYS), slot.full)
    with b.if_warpgroup(0, 2):
        consumer, mine = ring.consumer(), q.part(b.warpgroup * 64, 64)
        s, o = b.warpgroup_tile(64, KEYS, i32), b.warpgroup_tile(64, D)
        scale = a["q_scales"][b.ctaid_x] * (LOG2_E * D**-0.5)
        most, sums = b.variable(o.rows(-1e30)), b.variable(o.rows(0.0))
        b.wait(full, 0)
        with b.range(blocks) as j, consumer.use() as slot:
            b.gemm(s, mine, slot.tiles[0])
            scores = s.to(f32) * (scale * a["k_scales"][j])
            greatest = most.value.max(scores.row_max())
            powers, shrink = (scores - greatest).ex2(), (most.value - greatest).ex2()
            most.set(greatest)
            sums.set(sums.value * shrink + powers.row_sum(whole=False))
            o.set(o.scale_rows(shrink))
            b.gemm(o, powers.to(f16).as_a_operand(), slot.tiles[1], accumulate=True)
        divisor = sums.value.whole(operator.add).rcp()
        row = b.ctaid_x * 128 + b.warpgroup * 64
        o.scale_rows(divisor).store(a["o"].at(row * D), D, align=16)
    return b.finish()


@kernel_test(schedules=["early", "late"], targets=TARGET)
def test_attention_of_int8_with_scales_of_blocks(launch: Launch) -> None:
    blocks, rng = 3, np.random.default_rng(0)
    q, k = (rng.integers(-127, 128, (rows, D)) for rows in (128, blocks * KEYS))
    v = rng.standard_normal((blocks * KEYS, D)).astype(np.float16)
    q_scales = np.array([0.02], np.float32)
    k_scales = np.array([0.01, 0.02, 0.03], np.float32)
    o = np.zeros((128, D), np.float32)
    given = q.astype(np.int8), k.astype(np.int8), v, q_scales, k_scales
    launch(int8_attention(), *given, o, blocks)
    scores = q @ (k * np.repeat(k_scales, KEYS)[:, None]).T * q_scales * D**-0.5
    p = np.exp(scores - scores.max(1, keepdims=True))
    expected = p @ v.astype(np.float64) / p.sum(1, keepdims=True)
    assert np.abs(o - expected).max() < 2e-3 * np.abs(expected).max()  # P is rounded to f16


def sampling(vocabulary: int, threads: int) -> Kernel:
    """A token of the `k` most likely: a CTA holds its row; the least of them is sought by bits."""
    b = KernelBuilder("sampling", block=threads, dynamic_shared=True, target=TARGET)
    b.pointer("logits", f32)
    b.pointer("tokens", u32, output=True)
    b.u32("k"), b.u32("seed")
    logits, tokens, k, seed = b.begin().values()
    held = b.shared_array("held", f32, vocabulary)
    row, most = logits.at(b.ctaid_x * vocabulary), b.variable(-1e30)
    with b.range(vocabulary, start=b.thread, step=threads) as i:
        held[i] = row[i]
        most.set(most.value.max(row[i]))
    greatest = b.cta_reduce(most.value, b.max)
    with b.range(vocabulary, start=b.thread, step=threads) as i:
        held[i] = (held[i] - greatest).exp()

    def above(bits: Int) -> tuple:
        """How many are at least the number of these bits, and their sum."""
        count, mass = b.variable(0), b.variable(0.0)
        with b.range(vocabulary, start=b.thread, step=threads) as i, b.if_(held[i] >= b.f32(bits)):
            count.set(count.value + 1)
            mass.set(mass.value + held[i])
        pair = count.value, mass.value
        return b.cta_reduce(pair, lambda x, y: (x[0] + y[0], x[1] + y[1]))

    low, high = b.variable(0), b.variable(0x3F800001)  # what is above 1
    with b.while_(lambda: high.value - low.value > 1):
        middle = (low.value + high.value) >> 1
        enough = above(middle)[0] >= k
        low.set(b.select(enough, middle, low.value))
        high.set(b.select(enough, high.value, middle))
    goal = (b.philox((b.ctaid_x,), (seed,))[0] >> 8).to(f32) * 2.0**-24 * above(low.value)[1]
    before, place = b.variable(0.0), b.variable(0)
    with b.while_(lambda: (place.value < vocabulary) & (before.value <= goal)):
        i, mine = place.value + b.thread, b.variable(0.0)
        with b.if_(i < vocabulary), b.if_(held[i] >= b.f32(low.value)):
            mine.set(held[i])
        scanned, whole = b.cta_scan(mine.value, operator.add, initial=0.0)
        begin = before.value + scanned
        with b.if_((mine.value > 0) & (begin <= goal) & (begin + mine.value > goal)):
            tokens[b.ctaid_x] = i
        before.set(before.value + whole)
        place.set(place.value + threads)
    return b.finish()


@kernel_test(schedules=["early"], targets=TARGET)
def test_a_token_of_the_most_likely(launch: Launch) -> None:
    """Forty have the same chance: the random number says which of them, in their order."""
    rows, vocabulary, k, seed = 3, 600, 40, 7
    rng = np.random.default_rng(0)
    x = rng.permuted(np.tile(-(np.arange(vocabulary) // k), (rows, 1)), axis=1)
    tokens = np.zeros(rows, np.uint32)
    launch(sampling(vocabulary, 128), x.astype(np.float32), tokens, k, seed, grid=rows)
    goals = [(philox(row, seed) >> 8) * 2.0**-24 * k for row in range(rows)]
    chosen = [np.flatnonzero(x[row] == 0)[int(goal)] for row, goal in enumerate(goals)]
    assert_exact(tokens, np.array(chosen, np.uint32))


def philox(counter: int, key: int) -> int:
    """The first word of Philox 4x32 with ten rounds."""
    words, keys = [counter, 0, 0, 0], [key, 0]
    for _ in range(10):
        a, c = words[0] * 0xD2511F53, words[2] * 0xCD9E8D57
        words = [c >> 32 ^ words[1] ^ keys[0], c, a >> 32 ^ words[3] ^ keys[1], a]
        words = [word % 2**32 for word in words]
        keys = [(keys[0] + 0x9E3779B9) % 2**32, (keys[1] + 0xBB67AE85) % 2**32]
    return words[0]

"""What is built on the Hopper attention, or beside it: pages, packed sequences, fp8.

numpy computes in f64 what is expected; behind a sequence's end there is no number in a page.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nvgen import bf16, e4m3, f16
from nvgen.testing import Launch, kernel_test
from tests.each import each
from tests.oracle.gpu import on_gpu
from tests.samples.modules import FOLDER, named

pytestmark = [
    pytest.mark.filterwarnings("error::nvgen.FindingWarning"),
    pytest.mark.seldom(3),
]
TARGET = "sm_90a"

PAGES = {
    "pages of 16, three CTAs a sequence, one without keys": (
        {"d": 64, "page": 16}, (300, 0, 129), 8, 8, 16, 3, 0),
    "a page for all keys, two CTAs": ({"d": 64, "page": 128}, (300,), 4, 4, 512, 2, 0),
    "two tokens, a window, more parts than CTAs": (
        {"d": 64, "page": 32, "window": True}, (400, 40), 8, 4, 32, 2, 130),
    "d 128": ({"d": 128, "page": 64}, (130,), 4, 4, 64, 2, 0),
    "d 256, f16": ({"d": 256, "page": 32, "dtype": f16}, (70,), 4, 4, 32, 2, 0),
}  # fmt: skip


@pytest.mark.turns(16)
@kernel_test(schedules=["late", "random:1"], targets=TARGET)
@pytest.mark.parametrize("case", PAGES)
def test_pages(launch: Launch, case: str) -> None:
    """P and O are rounded once each, and parts of O are joined in f32."""
    sample = named("attention/decode")
    cut, lengths, rows, heads, page, ctas, window = PAGES[case]
    config = sample.Config(**cut)
    q, k, v, table = sample.operands(lengths, 1, rows, config, page)
    o = np.full_like(q, np.nan)
    room = sample.workspace(len(lengths), ctas, rows, config.d)
    numbers = rows, heads, table.shape[1], page, 1, window, config.d**-0.5
    made = sample.build(config).compile(opt=launch.opt)
    known = np.array(lengths, np.int32)
    launch(made, q, k, v, o, table, known, *room, *numbers, grid=(ctas, 1, len(lengths)))
    expected = sample.attention(q, k, v, table, lengths, config.d**-0.5, heads, window)
    bound = 4.0 * (2.0**-8 + 2.0**-8) + 1e-5  # no element of V is greater
    assert (np.abs(o.astype(np.float64) - expected) <= bound).all()
    assert not room[2].any()


def test_how_keys_are_cut() -> None:
    """Every block is somebody's, and CTAs have as many as each other, but for the last."""
    sample = named("attention/decode_plan")
    for items in (1, 8, 300):
        for keys in (0, 1, 1000, 100_000):
            parts, most = sample.cut(sample.Config(), items, keys)
            blocks = max(1, -(-keys // 64))
            assert (parts - 1) * most < blocks <= parts * most


PACKED = {
    "causal, a window": (True, True, (3, 130), (90, 200), 100, 2),
    "causal, rows that see no key": (True, False, (130,), (70,), 0, 1),
    "all keys": (False, False, (65, 1), (130, 64), 0, 1),
}


@pytest.mark.turns(16)
@kernel_test(schedules=["late"], targets=TARGET)
@pytest.mark.parametrize("case", PACKED)
def test_sequences_side_by_side(launch: Launch, case: str) -> None:
    sample = named("attention/varlen")
    causal, windowed, lengths, keys, window, ratio = PACKED[case]
    config = sample.Config(64, causal=causal, window=windowed, block=64)
    *given, begins, begins_keys = sample.operands(lengths, keys, 2, ratio, config)
    o, counter = np.full_like(given[0], np.nan), np.zeros(1, np.uint32)
    arrays = [x.reshape(len(x), -1) for x in (*given, o)]
    numbers = sample.packed_numbers(config, 2, ratio, lengths, keys)
    behind = begins, begins_keys, arrays[3], window
    grid = sample.grid(config, 2 * len(lengths), max(lengths), 2)
    made = sample.build(config).compile(opt=launch.opt)
    launch(made, *arrays, counter, *numbers, *behind, grid=grid)
    expected = sample.expected(*given, begins, begins_keys, config, window)
    bound = np.abs(given[2].astype(np.float64)).max() * (2.0**-8 + 2.0**-8) + 1e-5
    assert (np.abs(o.astype(np.float64) - expected) <= bound).all()


FP8 = [
    (128, True, (140, 140), 1, 1.0), (64, False, (130, 300), 2, 6.0), (256, True, (70, 140), 1, 1.0)
]  # fmt: skip


@pytest.mark.turns(12)
@kernel_test(schedules=["late"], targets=TARGET)
@pytest.mark.parametrize("number", range(len(FP8)))
def test_fp8(launch: Launch, number: int) -> None:
    """P is rounded to 4 bits: by a sixteenth of itself at most, or by 2^-10 of its greatest."""
    sample, (d, causal, (length, keys), ratio, huge) = named("attention/fp8"), FP8[number]
    rng = np.random.default_rng(0)
    wide = [rng.standard_normal((heads, n, d)) for heads, n in
            ((ratio, length), (1, keys), (1, keys))]  # fmt: skip
    wide[1][:, keys // 5] *= huge
    (q, of_q), (k, of_k), (v, of_v) = map(sample.quantised, wide)
    config = sample.choose(d, length, causal=causal, dtype=e4m3)
    o, counter = np.full(q.shape, np.nan, bf16.numpy), np.zeros(1, np.uint32)
    numbers = sample.numbers(config, ratio, ratio, length, keys)
    made = sample.build(config).compile(opt=launch.opt)
    grid = sample.grid(config, ratio, length, 2)
    launch(made, q, k, v, o, counter, of_q, of_k, of_v, *numbers, grid=grid)
    exact = [x.astype(np.float64) * s[:, None, None] for x, s in ((q, of_q), (k, of_k), (v, of_v))]
    expected = sample.attention(*exact, d**-0.5, causal=causal)
    bound = np.abs(exact[2]).max() * (2.0**-4 + 2.0**-8)
    assert (np.abs(o.astype(np.float64) - expected) <= bound).all()


@each("name", ("attention/decode", "attention/varlen", "attention/fp8"), turns=3)
def test_ptxas_has_nothing_to_say(name: str) -> None:
    """No spilled registers in loops, no multiplies one after the other."""
    sample = named(name)
    config = sample.Config(128) if name != "attention/fp8" else sample.Config(128, dtype=e4m3)
    made = sample.build(config).compile(level="all")
    rules = {f.rule for f in made.findings}
    assert rules <= {"verify/level", "verify/turns", "verify/unreached"}
    assembled = made.assembled()
    assert "serialized" not in assembled.log
    assert made.resources.spill_stores <= (200 if name == "attention/fp8" else 24)


@pytest.mark.gpu
@pytest.mark.skipif(not on_gpu(), reason="needs a GPU: --device cuda")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch.compile's own
@pytest.mark.parametrize(
    "name", ["attention/pytorch", "attention/decode_pytorch", "attention/family_pytorch"]
)
def test_the_operators_of_torch(name: str) -> None:
    """Forward, backward, torch.compile and a CUDA graph, beside torch's own attention."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    named(name).main()


FIRST_CALL = """
import sys
sys.path[:0] = [{root!r}, {samples!r}]
import torch
from attention.pytorch import attention
x = torch.randn(3, 1, 2, 300, 64, device="cuda", dtype=torch.bfloat16)
theirs = torch.nn.functional.scaled_dot_product_attention(*x)
torch.testing.assert_close(attention(*x), theirs, rtol=2e-2, atol=2e-2)
print(*sys.modules)
"""


@pytest.mark.gpu
@pytest.mark.skipif(not on_gpu(), reason="needs a GPU: --device cuda")
def test_a_first_call_imports_what_it_needs(tmp_path: Path) -> None:
    """Never torch's compiler, and nvgen's only where nobody has compiled the kernel before."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    text = FIRST_CALL.format(root=str(FOLDER.parent), samples=str(FOLDER))
    environment = {**os.environ, "NVGEN_CACHE": str(tmp_path)}
    command = [sys.executable, "-W", "ignore", "-c", text]
    for is_kept in (False, True):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        imported = done.stdout.split()
        assert "torch._dynamo" not in imported
        assert ("isel.pipeline" not in imported) == is_kept

"""What is built on the Hopper GEMM: block-scaled, grouped and masked products, and epilogues.

numpy gives the expected products.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from intrinsics.element import ElementType
from nvgen import Kernel, f32
from nvgen.testing import Launch, assert_exact, kernel_test
from tests.oracle.gpu import on_gpu
from tests.samples.modules import named

pytestmark = pytest.mark.seldom(3)

TARGET = "sm_90a"
SCALED = [
    ({"m": 64, "n": 64}, (72, 136, 400), 2),
    ({"m": 64, "n": 32, "split": 2, "swap": True}, (40, 200, 384), 2),
    ({"m": 64, "n": 64, "cluster": 2}, (130, 136, 144), 2),
    (
        {"m": 128, "n": 32, "consumers": 2, "stages": 4, "cluster": 2, "swap": True},
        (40, 264, 400),
        4,
    ),
    ({"m": 128, "n": 64, "consumers": 2, "stages": 4}, (130, 72, 400), 2),
    ({"m": 128, "n": 64, "consumers": 2, "stages": 3, "cluster": 2}, (300, 72, 528), 2),
    ({"m": 128, "n": 64, "consumers": 2, "stages": 4, "tail": 2}, (130, 72, 656), 3),
    ({"m": 64, "n": 64, "tail": 3}, (72, 200, 784), 5),
]
"""Configurations, of one consumer if they do not say it, sizes, and how many CTAs multiply."""


def built(kernel: Kernel):
    made = kernel.compile(target=TARGET)
    assert made.findings == []
    return made


@pytest.mark.turns(2 * len(SCALED))
@kernel_test(schedules=["early", "late"], targets=TARGET)
@pytest.mark.parametrize("number", range(len(SCALED)))
def test_scales_of_blocks(launch: Launch, number: int) -> None:
    """Of A's rows in columns of D too, of a block that K ends in, of a part of K."""
    sample, (cut, (m, n, k), grid) = named("gemm/block_scaled"), SCALED[number]
    config = sample.Config(**{"consumers": 1, "stages": 2} | cut)
    a, b, scale_a, scale_b, expected = sample.operands(m, n, k)
    d = np.full_like(expected, np.nan)
    made, room = built(sample.build(config)), list[np.ndarray]()
    if config.tail > 1:
        room = [np.zeros(1 << 16, np.float32), np.zeros(64, np.uint32)]
    launch(made, a, b, d, scale_b, m, n, k, *room, scale_a, grid=grid, cluster=config.ctas)
    assert_exact(d, expected)


GROUPED = [
    {"m": 64, "n": 64, "consumers": 1, "stages": 2},
    {"m": 128, "n": 64, "consumers": 2, "stages": 3, "pingpong": True},
]


@pytest.mark.turns(2 * len(GROUPED))
@kernel_test(schedules=["early", "late"], targets=TARGET)
@pytest.mark.parametrize("number", range(len(GROUPED)))
def test_blocks_of_experts(launch: Launch, number: int) -> None:
    """In any order; rows of none are left as they are, at the beginning, between others, behind."""
    sample, experts = named("gemm/grouped"), np.array([-1, 2, -1, -1, 0, -1], np.int32)
    a, b, expected = sample.operands(experts, 72, 136, 3)
    d = np.zeros_like(expected)
    made = built(sample.build(sample.Config(**GROUPED[number])))
    launch(made, a, b, d, len(a), 72, 136, experts, grid=2)
    assert_exact(d, expected)


@pytest.mark.turns(len(GROUPED))
@kernel_test(schedules=["early", "late"], targets=TARGET)
@pytest.mark.parametrize("number", range(len(GROUPED)))
def test_rows_that_count(launch: Launch, number: int) -> None:
    sample, counts = named("gemm/grouped"), np.array([70, 0, 130], np.int32)
    rng, dtype = np.random.default_rng(0), ElementType.BF16.numpy
    a, b = (rng.integers(-4, 5, (3, rows, 136)).astype(dtype) for rows in (130, 72))
    expected = (a.astype(np.float32) @ b.astype(np.float32).transpose(0, 2, 1)).astype(dtype)
    d = np.zeros_like(expected)
    made = built(sample.build(sample.Config(**GROUPED[number]), masked=True))
    launch(made, a, b, d, 130, 72, 136, counts, 3, grid=3)
    for expert, count in enumerate(counts):
        assert_exact(d[expert, :count], expected[expert, :count])
    assert not d[1].any()


def bias_and_relu(args, value, row, column):
    return (value + args["bias"][column] + args["rest"][row * args["n"] + column]).max(0.0)


@pytest.mark.turns(3)
@kernel_test(schedules=["late"], targets=TARGET)
@pytest.mark.parametrize("swap", [False, True])
def test_an_epilogue_knows_its_place_in_d(launch: Launch, swap: bool) -> None:
    """At the edges too, where what lies beyond is not read."""
    sample, (m, n, k) = named("10_gemm_sm90"), (70, 72, 72)
    kind = sample.Kind(epilogue=bias_and_relu, reads=(("bias", f32), ("rest", f32)))
    config = sample.Config(m=64, n=32, consumers=1, stages=2, swap=swap)
    rng = np.random.default_rng(1)
    bias, rest = (rng.integers(-9, 9, shape).astype(np.float32) for shape in (n, (m, n)))
    a, b, _ = sample.operands(m, n, k)
    sums = a.astype(np.float32) @ b.astype(np.float32).T + bias + rest
    d = np.full((m, n), np.nan, a.dtype)
    launch(built(sample.build(config, kind)), a, b, d, bias, rest, m, n, k, grid=2)
    assert_exact(d, np.maximum(sums, 0).astype(a.dtype))


GATED = [
    ({"m": 64, "n": 32}, (70, 72, 72), 2),
    ({"m": 64, "n": 24, "swap": True}, (20, 104, 136), 2),
    ({"m": 64, "n": 32, "split": 2}, (40, 40, 136), 4),
    ({"m": 64, "n": 32, "consumers": 2, "stages": 3, "pingpong": True}, (200, 40, 136), 2),
]
"""Configurations, of one consumer if they do not say it, rows, columns of D and K, and how many
CTAs multiply."""


@pytest.mark.turns(len(GATED))
@kernel_test(schedules=["late"], targets=TARGET)
@pytest.mark.parametrize("number", range(len(GATED)))
def test_two_products_are_joined_in_registers(launch: Launch, number: int) -> None:
    sample, (cut, (m, n, k), grid) = named("gemm/gate_up"), GATED[number]
    config = sample.Config(**{"consumers": 1, "stages": 2} | cut)
    assert named("gemm/family_plan").can_gate(config)
    x, gate, up, of_gate, of_up = sample.operands(m, n, k)
    d = np.full((m, n), np.nan, x.dtype)
    made = built(sample.build(config, activation=lambda gate: gate.max(0.0)))
    b = sample.interleaved(gate, up)
    launch(made, x, b, d, m, 2 * n, k, grid=grid, cluster=config.ctas)
    assert_exact(d, (np.maximum(of_gate, 0) * of_up).astype(x.dtype))


QUANTISED = [
    ({"n": 128}, (70, 256, 72), 2),
    ({"m": 128, "n": 24, "consumers": 2, "swap": True}, (20, 256, 136), 2),
    ({"m": 128, "n": 32, "consumers": 2, "swap": True, "split": 2}, (40, 256, 136), 4),
    (
        {"m": 128, "n": 64, "consumers": 2, "swap": True, "cluster": 2, "stages": 3},
        (70, 384, 72),
        2,
    ),
    (
        {"m": 128, "n": 40, "consumers": 2, "swap": True, "pingpong": True, "stages": 3},
        (90, 384, 72),
        2,
    ),
]
"""As above."""


@pytest.mark.turns(2 * len(QUANTISED))
@pytest.mark.seldom(3)
@kernel_test(schedules=["early", "late"], targets=TARGET)
@pytest.mark.parametrize("number", range(len(QUANTISED)))
def test_rows_in_fp8_have_scales(launch: Launch, number: int) -> None:
    """Behind an epilogue; a row of zeros has the scale 1, and the greatest is exact."""
    sample, (cut, (m, n, k), grid) = named("gemm/quantised"), QUANTISED[number]
    kind = replace(sample.FP8, epilogue=lambda args, value, row, column: value.max(0.0))
    a, b, sums = sample.gemm.operands(m, n, k, sample.Kind(ElementType.BF16, ElementType.F32))
    a[3] = 0
    sums = np.maximum(a.astype(np.float32) @ b.astype(np.float32).T, 0)
    d, scales = np.zeros((m, n), ElementType.E4M3.numpy), np.zeros((m, n // 128), np.float32)
    amax = np.zeros(1, np.uint32)
    config = sample.Config(**{"m": 64, "consumers": 1, "stages": 2} | cut)
    assert named("gemm/family_plan").can_quantise(config)
    made = built(sample.build(config, kind))
    launch(made, a, b, d, scales, amax, m, n, k, grid=grid, cluster=config.ctas)
    bare, without = np.zeros_like(d), np.zeros_like(scales)
    made = built(sample.build(config, replace(kind, reads=kind.reads[:1])))
    launch(made, a, b, bare, without, m, n, k, grid=grid, cluster=config.ctas)
    assert bare.tobytes() == d.tobytes()
    assert_exact(without, scales)
    of_rows = np.abs(sums.reshape(m, -1, 128)).max(2) / 448
    np.testing.assert_allclose(scales, np.where(of_rows > 0, of_rows, 1), rtol=1e-6)
    assert (scales[3] == 1).all()
    assert amax.view(np.float32)[0] == sums.max()
    back = d.astype(np.float32).reshape(m, -1, 128) * scales[:, :, None]
    np.testing.assert_allclose(back.reshape(m, n), sums, rtol=2.0**-4, atol=scales.max() * 2.0**-7)


PLANS = {
    "gemm/gate_up": ("plan_gated", "BF16"),
    "gemm/grouped": ("plan_grouped", "BF16"),
    "gemm/quantised": ("plan_quantised", "QUANTISED"),
    "gemm/block_scaled": ("plan_scaled", "BLOCK_SCALED"),
}


@pytest.mark.turns(6)
@pytest.mark.parametrize("name", PLANS)
def test_what_is_chosen_is_right(name: str) -> None:
    """Each kernel has no findings in any configuration that is chosen for these sizes."""
    plans, (plan, kind) = named("gemm/family_plan"), PLANS[name]
    sizes = [(16, 4096, 7168), (300, 7168, 2048), (512, 4096, 7168), (4096, 4096, 7168)]
    chosen = {getattr(plans, plan)(*size) for size in sizes}
    assert len(chosen) > 2
    for config in chosen:
        built(named(name).build(config, getattr(plans, kind)))


@pytest.mark.gpu
@pytest.mark.skipif(not on_gpu(), reason="needs a GPU: --device cuda")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch.compile's own
@pytest.mark.parametrize("name", ["gemm/pytorch", "gemm/family_pytorch"])
def test_the_operators_of_torch(name: str) -> None:
    """Forward, backward, torch.compile and a CUDA graph, beside torch's own products."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    named(name).main()

"""Sample 19, attention backward: within the bound of the roundings of P, dS and what is stored.

numpy computes in f64 what is expected.  P and dS become bf16 once, each with an error of at most
2**-8 of itself; dK and dV are rounded once more.  The rest is f32: the exponent of P errs by what
S, its scale and lse are rounded by, which is far less.
"""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.findings import Verdict, verdict
from nvgen import VerificationError
from nvgen.testing import Launch, kernel_test
from tests.samples.modules import edited, named

pytestmark = [
    pytest.mark.filterwarnings("error::nvgen.FindingWarning"),
    pytest.mark.seldom(3),
]
SAMPLE = "19_attention_backward"
ROUNDING = 2.0**-8
REST = 2.0**-16


@pytest.mark.turns(12)
@kernel_test(schedules=["late", "random:1"], targets="sm_90a")
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("heads", "length"), [(2, 128), (1, 384)])
def test_backward(launch: Launch, heads: int, length: int, causal: bool) -> None:
    """One block of keys, and several whose parts of dQ are added."""
    sample = named(SAMPLE)
    given = sample.operands(heads, length)
    known = sample.attention_backward(*given, causal=causal)
    dq = np.zeros((heads, length, sample.D), np.float32)
    dk, dv = (np.full_like(given[0], np.nan) for _ in range(2))
    numbers = length, sample.D**-0.5
    made = sample.build(causal).compile(opt=launch.opt)
    launch(made, *given, known["lse"], known["delta"], dq, dk, dv, *numbers,
           grid=sample.grid(heads, length))  # fmt: skip
    k, v, q, do = (np.abs(x.astype(np.float64)) for x in given)
    p, ds, scale = known["p"], np.abs(known["ds"]), numbers[1]
    # dS is P times a difference, of which each term is rounded in f32
    parts = p * (do @ v.swapaxes(1, 2) + np.abs(known["delta"])[..., None])
    ds_error, p_error = ds * ROUNDING + parts * REST, p * (ROUNDING + REST)
    bounds = {
        "dq": ds_error @ k * scale,
        "dk": ds_error.swapaxes(1, 2) @ q * scale + np.abs(known["dk"]) * ROUNDING,
        "dv": p_error.swapaxes(1, 2) @ do + np.abs(known["dv"]) * ROUNDING,
    }
    for name, found in (("dq", dq), ("dk", dk), ("dv", dv)):
        wrong = np.abs(found.astype(np.float64) - known[name]) > bounds[name] * 1.01 + 1e-6
        assert not wrong.any(), f"{name}: {wrong.sum()} of {wrong.size}"


MISTAKES = {
    "K and V are not waited for": (
        "        b.wait(full, 0)\n", "", "wgmma.mma_async/before-copy"),
    "no fence between dS and the tensor core": (
        "            b.fence_proxy_async()\n", "", "shared/proxy-fence"),
    "a warpgroup does not wait for the other's dS": (
        "barrier_cta_sync_aligned(1, 256)", "barrier_cta_sync_aligned(6 + b.warpgroup, 128)",
        "shared/barrier"),
    "one tile of dS for all turns": ("ds_tiles[turn.stage]", "ds_tiles[0]",
        "stmatrix/operand-modified"),
    "dQ is stored while it is multiplied": (
        "k.transposed.part(own, HALF))", "k.transposed.part(own, HALF), in_flight=1)",
        "wgmma.mma_async/in-flight"),
    "a consumer too few": ("consumers=2", "consumers=1",
        "cp.async.bulk.tensor/operand-modified"),
    "more bytes than come": ("expecting(full, k, v)", "expecting(full, k, k, v)",
        "mbarrier/bytes"),
    "both warpgroups store one tile of dQ": ("dq_tiles[b.warpgroup],", "dq_tiles[0],",
        "shared/race"),
}  # fmt: skip


@pytest.mark.turns(8)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_found_by_the_rules(mistake: str) -> None:
    """Each by the rule that is about it."""
    old, new, rule = MISTAKES[mistake]
    kernel = edited(SAMPLE, old, new).build()
    with pytest.raises(VerificationError) as caught:
        kernel.compile(level="function")
    assert rule in {found.rule for found in caught.value.findings}


def test_it_is_clean() -> None:
    made = named(SAMPLE).build(causal=True).compile(level="function")
    assert verdict(made.findings) is Verdict.CLEAN

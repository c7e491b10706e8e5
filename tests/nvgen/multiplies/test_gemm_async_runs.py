"""gemm_async on the simulator, in forms that no sample has: equal to numpy in every element."""

from __future__ import annotations

import pytest

from intrinsics.element import ElementType as E
from intrinsics.element import Major
from tests.nvgen.gemm_runs import Form, run

K, MN = Major.K, Major.MN
BOTH = (True, True)
FORMS = {
    "bf16": Form(types=(E.BF16, E.BF16)),
    "tf32": Form(types=(E.TF32, E.TF32), k=32),
    "N in pieces": Form(n=320, k=64, m=64),
    "two spans of K": Form(k=128),
    "64 rows": Form(m=64, n=24),
    "MN-major A": Form(majors=(MN, K)),
    "MN-major B": Form(majors=(K, MN)),
    "both MN-major": Form(majors=(MN, MN), k=32),
    "both MN-major, 64-byte swizzle": Form(majors=(MN, MN), swizzle=64, k=32),
    "both MN-major, 32-byte swizzle": Form(majors=(MN, MN), swizzle=32, k=16),
    "MN-major B in pieces": Form(majors=(MN, MN), n=320, k=32),
    "bytes, MN-major": Form(types=(E.E4M3, E.E5M2), majors=(MN, MN), k=64),
    "fp8 x fp6": Form(types=(E.E4M3, E.E3M2), k=128),
    "fp6 x fp4": Form(types=(E.E2M3, E.E2M1), padded=(False, True), k=128),
    "fp4 x fp4, padded": Form(types=(E.E2M1, E.E2M1), padded=BOTH, k=128),
    "A in tensor memory, f16": Form(in_tensor_memory=True),
    "A in tensor memory, tf32": Form(types=(E.TF32, E.TF32), k=32, in_tensor_memory=True),
    "A in tensor memory, fp8": Form(types=(E.E5M2, E.E4M3), k=128, in_tensor_memory=True),
    "A in tensor memory, fp6": Form(types=(E.E3M2, E.E4M3), k=128, in_tensor_memory=True),
    "A in tensor memory, fp4": Form(
        types=(E.E2M1, E.E4M3), padded=(True, False), k=128, in_tensor_memory=True
    ),
    "mxfp8": Form(types=(E.E4M3, E.E5M2), k=256, size=32),
    "mxfp8, N 256": Form(types=(E.E4M3, E.E4M3), k=128, n=256, size=32),
    "mxfp8, N 320": Form(types=(E.E4M3, E.E4M3), k=128, n=320, size=32),
    "mxfp8, N 24": Form(types=(E.E4M3, E.E4M3), k=128, n=24, size=32),
    "mxfp8, half a word of factors": Form(types=(E.E4M3, E.E4M3), k=64, size=32, swizzle=64),
    "mxfp6 x mxfp4": Form(types=(E.E2M3, E.E2M1), padded=(False, True), k=128, size=32),
    "mxfp4": Form(types=(E.E2M1, E.E2M1), k=512, size=32),
    "nvfp4": Form(types=(E.E2M1, E.E2M1), k=256, size=16, factor=E.UE4M3),
    "nvfp4 with UE8M0": Form(types=(E.E2M1, E.E2M1), k=256, size=16),
    "mxfp8, A in tensor memory": Form(
        types=(E.E4M3, E.E4M3), k=128, size=32, in_tensor_memory=True
    ),
    "mxfp4, A in tensor memory": Form(
        types=(E.E2M1, E.E2M1), k=256, size=32, in_tensor_memory=True
    ),
    "a loop": Form(k=128, loop=True),
    "a loop, MN-major": Form(majors=(MN, MN), loop=True),
    "a loop, A in tensor memory": Form(in_tensor_memory=True, loop=True),
    "a loop, mxfp8": Form(types=(E.E4M3, E.E4M3), k=256, size=32, loop=True),
    "a loop, mxfp4": Form(types=(E.E2M1, E.E2M1), k=512, size=32, loop=True),
    "a loop, nvfp4": Form(types=(E.E2M1, E.E2M1), k=512, size=16, factor=E.UE4M3, loop=True),
    "weight-stationary, 32 rows": Form(m=32, n=256, stationary=True),
    "weight-stationary, 64 rows": Form(m=64, n=128, stationary=True),
    "weight-stationary, 128 rows": Form(m=128, n=64, stationary=True),
    "sparse": Form(k=128, sparse=True),
    "sparse, bytes": Form(types=(E.E4M3, E.E5M2), k=256, sparse=True),
    "sparse, bytes in a loop": Form(types=(E.E4M3, E.E5M2), k=256, sparse=True, loop=True),
    "sparse in a loop": Form(k=256, sparse=True, loop=True),
    "sparse in tensor memory": Form(k=256, sparse=True, in_tensor_memory=True),
    "sparse bytes in tensor memory": Form(
        types=(E.E5M2, E.E5M2), k=256, sparse=True, in_tensor_memory=True, loop=True
    ),
    "sparse, weight-stationary": Form(k=128, sparse=True, stationary=True),
    "a pair": Form(m=256, n=128, pair=True),
    "a pair of 64 rows each": Form(m=128, n=64, pair=True),
    "a pair, MN-major": Form(m=256, n=256, majors=(MN, MN), pair=True, k=32),
    "a pair, tf32 in a loop": Form(m=256, n=32, types=(E.TF32, E.TF32), k=32, pair=True, loop=True),
    "a pair, mxfp8": Form(m=256, n=256, types=(E.E4M3, E.E5M2), k=256, size=32, pair=True),
    "a pair, nvfp4": Form(
        m=256, n=128, types=(E.E2M1, E.E2M1), k=256, size=16, factor=E.UE4M3, pair=True
    ),
    "weight-stationary in a loop": Form(m=64, n=64, stationary=True, loop=True),
    "M in pieces": Form(m=256, n=64),
    "M in pieces of 128 and 64": Form(m=192, n=40),
    "M and N in pieces": Form(m=384, n=320, pair=True, k=32, swizzle=64),
    "M in pieces, MN-major in a loop": Form(m=384, n=64, majors=(MN, MN), k=32, loop=True),
    "M in pieces, A in tensor memory": Form(m=256, n=64, in_tensor_memory=True),
    "M in pieces, sparse": Form(m=256, n=64, k=128, sparse=True),
    "M in pieces, sparse in tensor memory": Form(
        m=256, n=64, k=128, sparse=True, in_tensor_memory=True
    ),
    "M in pieces, sparse bytes": Form(
        m=256, n=32, k=256, types=(E.E4M3, E.E4M3), sparse=True, loop=True
    ),
    "M in pieces, weight-stationary": Form(m=192, n=64, stationary=True),
    "M in pieces, mxfp8": Form(m=256, n=64, types=(E.E4M3, E.E4M3), k=256, size=32),
    "M in pieces, mxfp4": Form(m=256, n=128, types=(E.E2M1, E.E2M1), k=256, size=32),
    "a pair, M in pieces": Form(m=512, n=64, pair=True),
    "a pair, M in pieces of 256 and 128": Form(m=384, n=64, pair=True),
    "a pair, N in pieces": Form(m=256, n=320, pair=True, k=32, swizzle=64),
    "a pair of 64 rows each, N in pieces": Form(m=128, n=400, pair=True, k=32, swizzle=64),
    "a pair, N in pieces, MN-major": Form(
        m=256, n=384, majors=(MN, MN), pair=True, k=32, loop=True
    ),
    "a pair, A in tensor memory": Form(m=256, n=64, pair=True, in_tensor_memory=True),
    "a pair, mxfp8, M in pieces": Form(
        m=512, n=64, types=(E.E4M3, E.E5M2), k=128, size=32, pair=True
    ),
    "a pair of 64 rows each, mxfp8": Form(
        m=128, n=64, types=(E.E4M3, E.E5M2), k=256, size=32, pair=True
    ),
    "a pair of 64 rows each, nvfp4 in pieces": Form(
        m=128, n=320, types=(E.E2M1, E.E2M1), k=256, size=16, factor=E.UE4M3, pair=True
    ),
    "a pair of 64 rows each, mxfp4 in a loop": Form(
        m=128, n=256, types=(E.E2M1, E.E2M1), k=512, size=32, pair=True, loop=True
    ),
    "s8 x u8": Form(types=(E.S8, E.U8), k=128),
    "u8, M and N in pieces": Form(m=192, n=40, types=(E.U8, E.U8), k=32, swizzle=32),
    "s8, MN-major": Form(types=(E.S8, E.S8), majors=(MN, MN), k=64),
    "s8, a pair": Form(m=256, n=64, types=(E.S8, E.S8), k=128, pair=True),
    "s8, weight-stationary": Form(n=64, types=(E.S8, E.S8), k=128, stationary=True),
    "f16 x bf16": Form(types=(E.F16, E.BF16)),
    "bf16 x f16, a pair": Form(m=256, types=(E.BF16, E.F16), pair=True),
    "f16 sums": Form(half=True, n=264, k=32, swizzle=64),
    "f16 sums of fp8": Form(half=True, types=(E.E4M3, E.E5M2), k=128),
    "unswizzled": Form(swizzle=0),
    "unswizzled, MN-major": Form(swizzle=0, majors=(MN, MN), n=64),
    "unswizzled bytes, pieces": Form(
        m=256, n=120, types=(E.E4M3, E.E4M3), k=64, swizzle=0, loop=True
    ),
    "unswizzled, a pair": Form(m=256, n=64, swizzle=0, majors=(K, MN), pair=True),
    "tf32, MN-major": Form(types=(E.TF32, E.TF32), majors=(MN, MN), atoms=(32, 32), k=32, n=64),
    "tf32, MN-major B in pieces": Form(
        types=(E.TF32, E.TF32), majors=(K, MN), atoms=(16, 32), k=32, n=320, loop=True
    ),
    "A negated": Form(options=(("negate_a", True),)),
    "fp8, both negated": Form(
        types=(E.E4M3, E.E5M2), k=128, options=(("negate_a", True), ("negate_b", True))
    ),
    "mxfp4, B negated": Form(types=(E.E2M1, E.E2M1), k=256, size=32, options=(("negate_b", True),)),
    "D scaled": Form(before=96.0, options=(("scale_d", 4),)),
    "D scaled, in pieces": Form(n=264, k=32, swizzle=64, before=96.0, options=(("scale_d", 4),)),
    "lanes masked": Form(before=5.0, masked=(0, 3, 32, 64, 127)),
    "lanes masked, a pair in pieces": Form(m=512, n=32, before=5.0, masked=(1, 99), pair=True),
    "A reused": Form(m=384, n=320, k=32, swizzle=64, pair=True, options=(("reuse_a", True),)),
    "A reused by three pieces of a pair": Form(
        m=128, n=640, k=32, swizzle=64, pair=True, options=(("reuse_a", True),)
    ),
    "A reused, mxfp8 in a loop": Form(
        types=(E.E4M3, E.E4M3), k=128, n=320, size=32, loop=True, options=(("reuse_a", True),)
    ),
}


_FP4 = (E.E2M1, E.E2M1)
_K96 = (("k96", True),)
K96 = {
    "mxfp4": Form(m=256, n=64, k=768, types=_FP4, size=32, pair=True, options=_K96),
    "mxfp4 in a loop": Form(
        m=256, n=64, k=768, types=_FP4, size=32, pair=True, options=_K96, loop=True
    ),
    "nvfp4, N 256": Form(
        m=256, n=256, k=768, types=_FP4, size=16, factor=E.UE4M3, pair=True, options=_K96
    ),
    "mxfp4, unswizzled": Form(
        m=256, n=48, k=288, types=_FP4, size=32, pair=True, options=_K96, swizzle=0
    ),
    "nvfp4, A in tensor memory": Form(
        m=256, n=32, k=768, types=_FP4, size=16, pair=True, options=_K96, in_tensor_memory=True
    ),
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", K96)
def test_k_of_96(name: str) -> None:
    """Three steps of 48 bytes are more than a span of 128: every third lies in two of them."""
    run(K96[name], target="sm_103a")


@pytest.mark.turns(48)
@pytest.mark.parametrize("name", FORMS)
def test_it_is_the_product(name: str) -> None:
    run(FORMS[name], target="sm_100a")


@pytest.mark.turns(24)
@pytest.mark.parametrize("schedule", ["late", "random:3"])
@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize(
    "name",
    [
        "a loop, mxfp8",
        "a loop, mxfp4",
        "weight-stationary in a loop",
        "a pair, mxfp8",
        "M and N in pieces",
        "A reused by three pieces of a pair",
        "A reused, mxfp8 in a loop",
        "a pair of 64 rows each, mxfp4 in a loop",
        "unswizzled bytes, pieces",
    ],
)
def test_loops_optimised_and_late(name: str, opt: int, schedule: str) -> None:
    run(FORMS[name], target="sm_103a", schedule=schedule, opt=opt, seed=1)

"""Multiplies of a warp from the builder: what is printed, what comes out, what is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

from intrinsics.findings import InputError
from intrinsics.modifiers import Modifier
from intrinsics.modifiers import ScalarType as T
from intrinsics.modifiers.mma_sync import MmaLayout, MmaShape
from intrinsics.modifiers.wgmma import BitOperation, MatrixType
from nvgen import Kernel, KernelBuilder, u32
from nvgen.values.numbers import Int
from tests.each import each
from tests.intrinsics.published.mma_fragments import FACTORS, SUMS
from tests.oracle import gpu, ptxas
from tests.sim.warp.mma_sync_case import pack, unpack

M = MatrixType
S = MmaShape


def build(counts: tuple[int, int, int], bits: int = 32, **more: object) -> Kernel:
    """A kernel that multiplies what it makes of the thread's number, and stores D."""
    b = KernelBuilder("k", block=32)
    b.begin()
    x = b.tid_x if bits == 32 else b.tid_x.zext(64)
    a, c, d = ([x + n for n in range(count)] for count in counts)
    found = b.mma_sync(a, c, d, **more)
    b.store(found, b.shared_word("out") + 0)
    return b.finish()


FORMS: list[tuple[S, Modifier, tuple[int, int, int], dict[str, object], str, str]] = [
    (S.M16N8K16, T.F16, (4, 2, 4), {}, "sm_80", "m16n8k16.row.col.f32.f16.f16.f32"),
    (S.M16N8K16, T.F16, (4, 2, 2), {"dtype": T.F16}, "sm_80", "m16n8k16.row.col.f16.f16.f16.f16"),
    (S.M8N8K4, T.F16, (2, 2, 4), {"ctype": T.F16, "alayout": MmaLayout.COL}, "sm_75",
     "m8n8k4.col.col.f32.f16.f16.f16"),
    (S.M16N8K8, T.BF16, (2, 1, 4), {}, "sm_80", "m16n8k8.row.col.f32.bf16.bf16.f32"),
    (S.M16N8K4, T.TF32, (2, 1, 4), {}, "sm_80", "m16n8k4.row.col.f32.tf32.tf32.f32"),
    (S.M16N8K32, M.E4M3, (4, 2, 4), {"btype": M.E5M2}, "sm_89",
     "m16n8k32.row.col.f32.e4m3.e5m2.f32"),
    (S.M16N8K32, T.S8, (4, 2, 4), {"btype": T.U8, "satfinite": True}, "sm_80",
     "m16n8k32.row.col.satfinite.s32.s8.u8.s32"),
    (S.M8N8K32, M.U4, (1, 1, 2), {}, "sm_75", "m8n8k32.row.col.s32.u4.u4.s32"),
    (S.M16N8K256, M.B1, (4, 2, 4), {"op": BitOperation.AND}, "sm_80",
     "m16n8k256.row.col.s32.b1.b1.s32.and.popc"),
]  # fmt: skip
"""Shape, A's type, registers of A, B and C, what is said besides, a target, the manual's text."""


@each("shape, atype, counts, more, target, expected", FORMS)
def test_a_multiply_is_printed_as_the_manual_has_it(
    shape: S,
    atype: Modifier,
    counts: tuple[int, int, int],
    more: dict[str, object],
    target: str,
    expected: str,
) -> None:
    ptx = build(counts, shape=shape, atype=atype, **more).compile(target=target).ptx
    (line,) = re.findall(r"^\s*(mma\..*)$", ptx, re.MULTILINE)
    name, _, operands = line.partition(" ")
    assert name == f"mma.sync.aligned.{expected}"
    assert [v.count("%") for v in re.findall(r"\{[^}]*\}", operands)][1:] == [*counts]
    assert ptxas.judge([line], target, "9.5") == [[]]


def test_f64() -> None:
    ptx = build((4, 2, 4), 64, shape=S.M16N8K8, atype=T.F64).compile(target="sm_90").ptx
    (line,) = re.findall(r"^\s*(mma\..*)$", ptx, re.MULTILINE)
    assert line.startswith("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%rd")


@pytest.mark.gpu
@pytest.mark.parametrize("opt", [0, 3])
def test_a_chain_of_multiplies(opt: int) -> None:
    """D of one is C of the next; A and B are bf16."""
    b = KernelBuilder("k", block=32)
    b.pointer("a")
    b.pointer("b")
    b.pointer("d", output=True)
    left, right, out = b.begin().values()
    a = b.load(left + (b.tid_x * 16).zext(64), u32, 4, align=16)
    c = b.load(right + (b.tid_x * 8).zext(64), u32, 2, align=8)
    zero = b.const(0)
    d = b.mma_sync(a, c, [zero] * 4, shape=S.M16N8K16, atype=T.BF16)
    d = b.mma_sync(a, [c[0], c[1]], d, shape=S.M16N8K16, atype=T.BF16)
    b.store(d, out + (b.tid_x * 16).zext(64), align=16)
    rng = np.random.default_rng(3)
    x, y = rng.integers(-4, 5, (16, 16)), rng.integers(-4, 5, (8, 16))
    layout_a, layout_b = FACTORS[16, 8, 16, 16]
    given = [
        pack((m.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16), layout, 16)
        for m, layout in ((x, layout_a), (y, layout_b))
    ]
    found = np.zeros((32, 4), np.float32)
    compiled = b.finish().compile(target="sm_90a", opt=opt)
    gpu.launch(compiled, *(g.view(np.float32) for g in given), found, block=(32, 1, 1))
    words = unpack(found.view(np.uint32), SUMS[16], 16, 8, 32)
    assert np.array_equal(words.astype(np.uint32).view(np.float32), 2 * x @ y.T)


@pytest.mark.parametrize(
    ("counts", "more", "message"),
    [
        ((4, 2, 4), {"atype": T.S32}, "no such type"),
        ((4, 2, 3), {"atype": T.F16}, "another length"),
        ((4, 1, 4), {"atype": T.F16}, "another length"),
        ((4, 2, 4), {"atype": T.F16, "op": BitOperation.AND}, "how bits are multiplied"),
        ((4, 2, 4), {"atype": M.B1}, "how bits are multiplied"),
        ((4, 2, 4), {"atype": T.F16, "blayout": MmaLayout.ROW}, "B column-major"),
        ((4, 2, 4), {"atype": T.F16, "btype": T.BF16}, "no intrinsic"),
    ],
)
def test_what_is_wrong_is_refused(
    counts: tuple[int, int, int], more: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        build(counts, shape=S.M16N8K16, **more)


def test_a_register_of_another_width_is_refused() -> None:
    b = KernelBuilder("k", block=32)
    b.begin()
    wide: Int = b.tid_x.zext(64)
    with pytest.raises(InputError, match="another type"):
        b.mma_sync([wide] * 4, [b.tid_x] * 2, [b.tid_x] * 4, shape=S.M16N8K16, atype=T.F16)

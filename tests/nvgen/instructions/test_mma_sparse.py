"""Sparse, narrow and block-scaled multiplies of a warp from the builder."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
import pytest

from intrinsics.findings import InputError
from intrinsics.modifiers import MmaKind, Modifier, ScaleVec
from intrinsics.modifiers import ScalarType as T
from intrinsics.modifiers.mma_sync import MmaShape
from intrinsics.modifiers.wgmma import MatrixType
from nvgen import Kernel, KernelBuilder, u16, u32
from nvgen.instructions.mma_rows import WarpScales
from tests.each import each
from tests.intrinsics.published.mma_fragments import FACTORS, SUMS
from tests.intrinsics.published.mma_sparse import DEEP_B
from tests.oracle import gpu, ptxas
from tests.sim.warp.mma_sync_case import pack, unpack

M = MatrixType
S = MmaShape
K = MmaKind


@dataclass(frozen=True)
class Form:
    """A multiply: what the builder is told, how many registers A and B have, and its PTX."""

    shape: S
    atype: Modifier
    counts: tuple[int, int, int]
    text: str
    more: dict[str, object] = field(default_factory=dict)
    target: str = "sm_120a"
    scales: dict[str, object] | None = None
    rest: str = ""


def build(form: Form, *, sparse: bool) -> Kernel:
    """A kernel that multiplies what it makes of the thread's number, and stores D."""
    b = KernelBuilder("k", block=32)
    b.begin()
    a, c, d = ([b.tid_x + n for n in range(count)] for count in form.counts)
    more = dict(form.more)
    if form.scales is not None:
        more["scales"] = WarpScales(b.tid_x, b.tid_x + 7, **form.scales)
    types = {"shape": form.shape, "atype": form.atype}
    if sparse:
        found = b.mma_sp(a, c, d, b.tid_x + 9, **types, **more)
    else:
        found = b.mma_sync(a, c, d, **types, **more)
    b.store(found, b.shared_word("out") + 0)
    return b.finish()


DENSE = [
    Form(S.M16N8K32, M.E2M1, (4, 2, 4), "kind::f8f6f4.f32.e2m1.e3m2.f32",
         {"btype": M.E3M2, "kind": K.F8F6F4}),
    Form(S.M16N8K32, M.E4M3, (4, 2, 2), "kind::f8f6f4.f16.e4m3.e4m3.f16",
         {"dtype": T.F16, "kind": K.F8F6F4}),
    Form(S.M16N8K32, M.E5M2, (4, 2, 4), "kind::mxf8f6f4.block_scale.f32.e5m2.e2m3.f32.ue8m0",
         {"btype": M.E2M3, "kind": K.MXF8F6F4}, scales={"a_place": (3, 1), "b_place": (1, 2)},
         rest="{3,1} {1,2}"),
    Form(S.M16N8K64, M.E2M1, (4, 2, 4),
         "kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
         {"kind": K.MXF4}, scales={"vector": ScaleVec.X2, "a_place": (2, 0)}, rest="{2,0} {0,0}"),
    Form(S.M16N8K64, M.E2M1, (4, 2, 4),
         "kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", {"kind": K.MXF4NVF4},
         scales={"vector": ScaleVec.X4, "type": M.UE4M3}, rest="{0,0} {0,0}"),
]  # fmt: skip
SPARSE = [
    Form(S.M16N8K32, T.F16, (4, 4, 4), "f32.f16.f16.f32", {"selector": 1}, "sm_80", rest="1"),
    Form(S.M16N8K16, T.BF16, (2, 2, 4), "f32.bf16.bf16.f32", {"selector": 3}, "sm_80", rest="3"),
    Form(S.M16N8K8, T.TF32, (2, 2, 4), "f32.tf32.tf32.f32", {"ordered": False}, "sm_80", rest="0"),
    Form(S.M16N8K64, T.S8, (4, 4, 4), "satfinite.s32.s8.u8.s32",
         {"btype": T.U8, "satfinite": True}, "sm_80", rest="0"),
    Form(S.M16N8K128, M.U4, (4, 4, 4), "s32.u4.u4.s32", {}, "sm_80", rest="0"),
    Form(S.M16N8K64, M.E5M2, (4, 4, 2), "f16.e5m2.e5m2.f16", {"dtype": T.F16}, rest="0"),
    Form(S.M16N8K64, M.E3M2, (4, 4, 4), "kind::f8f6f4.f32.e3m2.e4m3.f32",
         {"kind": K.F8F6F4, "btype": M.E4M3}, rest="0"),
    Form(S.M16N8K128, M.E2M1, (4, 4, 4), "kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
         {"kind": K.MXF4}, scales={"b_place": (2, 3)}, rest="0 {0,0} {2,3}"),
]  # fmt: skip


@pytest.mark.parametrize("sparse", [False, True])
def test_multiplies_are_printed_as_the_manual_has_them(sparse: bool) -> None:
    for form in SPARSE if sparse else DENSE:
        ptx = build(form, sparse=sparse).compile(target=form.target, ptx="9.0").ptx
        (line,) = re.findall(r"^\s*(mma\..*)$", ptx, re.MULTILINE)
        name, _, operands = line.partition(" ")
        order = "::ordered_metadata" * bool(form.more.get("ordered", True))
        head = f"mma.sp{order}" if sparse else "mma"
        assert name == f"{head}.sync.aligned.{form.shape.value}.row.col.{form.text}"
        parts = re.findall(r"\{[^}]*\}|[^,\s;]+", operands)
        assert [part.count("%") for part in parts[1:4]] == [*form.counts]
        assert [re.sub(r"\s", "", p) for p in parts[4:] if "%" not in p] == form.rest.split()
        assert ptxas.judge([line], form.target, "9.0") == [[]]


def test_a_scale_selector_may_be_a_register_of_16_bits() -> None:
    b = KernelBuilder("k", block=32)
    b.begin()
    byte, none = (b.tid_x & 2).to(u16), b.const(0).to(u16)
    scales = WarpScales(b.tid_x, b.tid_x, a_place=(byte, none))
    registers = ([b.tid_x] * 4, [b.tid_x] * 2, [b.tid_x] * 4)
    found = b.mma_sync(*registers, shape=S.M16N8K64, atype=M.E2M1, kind=K.MXF4, scales=scales)
    b.store(found, b.shared_word("out") + 0)
    ptx = b.finish().compile(target="sm_120a").ptx
    (line,) = re.findall(r"^\s*(mma\..*)$", ptx, re.MULTILINE)
    assert re.search(r", \{%rs\d+, %rs\d+\}, %r\d+, \{0, 0\};$", line), line


# ---- values ----------------------------------------------------------------------------------


@pytest.mark.gpu
@pytest.mark.parametrize("opt", [0, 3])
def test_a_sparse_multiply(opt: int) -> None:
    """bf16, K = 32: of four elements of A the first and the last are stored, index 0b1100."""
    b = KernelBuilder("k", block=32)
    for name in ("a", "b"):
        b.pointer(name)
    b.pointer("d", output=True)
    left, right, out = b.begin().values()
    a = b.load(left + (b.tid_x * 16).zext(64), u32, 4, align=16)
    c = b.load(right + (b.tid_x * 16).zext(64), u32, 4, align=16)
    metadata = b.const(0xCCCCCCCC)
    zeros = [b.const(0)] * 4
    d = b.mma_sp(a, c, zeros, metadata, shape=S.M16N8K32, atype=T.BF16, selector=1)
    b.store(d, out + (b.tid_x * 16).zext(64), align=16)
    rng = np.random.default_rng(5)
    x, y = rng.integers(-4, 5, (16, 16)), rng.integers(-4, 5, (8, 32))
    dense = np.zeros((16, 32), np.int64)
    dense[:, 0::4], dense[:, 3::4] = x[:, ::2], x[:, 1::2]
    layouts = FACTORS[16, 8, 16, 16][0], DEEP_B[32, 16]
    given = [
        pack(m.astype(ml_dtypes.bfloat16).view(np.uint16), layout, 16)
        for m, layout in zip((x, y), layouts, strict=True)
    ]
    found = np.zeros((32, 4), np.float32)
    compiled = b.finish().compile(target="sm_90a", opt=opt)
    gpu.launch(compiled, *(g.view(np.float32) for g in given), found, block=(32, 1, 1))
    words = unpack(found.view(np.uint32), SUMS[16], 16, 8, 32)
    assert np.array_equal(words.astype(np.uint32).view(np.float32), dense @ y.T)


def test_a_scaled_multiply() -> None:
    """NVFP4: ones under factors of each block of 16, of A 1, 2, 4 and 8, of B 0.5."""
    b = KernelBuilder("k", block=32)
    b.pointer("d", output=True)
    (out,) = b.begin().values()
    ones = b.const(0x22222222)
    codes = np.array([1, 2, 4, 8, 0.5], ml_dtypes.float8_e4m3fn).view(np.uint8).tolist()
    sfa = sum(code << 8 * at for at, code in enumerate(codes[:4]))
    scales = WarpScales(
        b.const(sfa), b.const(codes[4] * 0x01010101), M.UE4M3, ScaleVec.X4, (0, 1), (0, 3)
    )
    d = b.mma_sync([ones] * 4, [ones] * 2, [b.const(0)] * 4, shape=S.M16N8K64, atype=M.E2M1,
                   kind=K.MXF4NVF4, scales=scales)  # fmt: skip
    b.store(d, out + (b.tid_x * 16).zext(64), align=16)
    found = np.zeros((32, 4), np.float32)
    b.finish().compile(target="sm_120a").run(found, block=32, device="sim")
    assert np.array_equal(found, np.full((32, 4), 16 * 0.5 * (1 + 2 + 4 + 8)))


# ---- what is refused -------------------------------------------------------------------------

NO_SCALES = Form(S.M16N8K64, M.E2M1, (4, 2, 4), "", {"kind": K.MXF4})
WRONG = [
    (NO_SCALES, False, "scale factors belong to"),
    (Form(S.M16N8K32, M.E4M3, (4, 2, 4), "", {"kind": K.F8F6F4}, scales={}), False,
     "scale factors belong to"),
    (Form(S.M16N8K32, M.E4M3, (4, 2, 4), "", scales={}), False, "scale factors belong to"),
    (Form(S.M16N8K32, T.F16, (4, 2, 4), "", {"kind": K.F8F6F4}), False, "no such type"),
    (Form(S.M16N8K32, M.E2M1, (4, 2, 4), ""), False, "no such type"),
    (Form(S.M16N8K32, M.E4M3, (4, 2, 4), "", {"kind": K.I8}), False, "no such kind"),
    (Form(S.M16N8K64, M.E2M1, (4, 2, 4), "", {"kind": K.MXF4NVF4}, scales={}), False,
     "no intrinsic"),
    (Form(S.M16N8K64, M.E2M1, (4, 2, 4), "", {"kind": K.MXF4}, scales={"a_place": (0,)}), False,
     "another length"),
    (Form(S.M16N8K32, T.F16, (4, 2, 4), ""), True, "another length"),
    (Form(S.M16N8K16, T.F64, (4, 2, 4), ""), True, "no such multiply"),
    (Form(S.M16N8K64, M.E2M1, (4, 4, 4), "", {"kind": K.F8F6F4, "ordered": False}), True,
     "no such multiply"),
]  # fmt: skip


@each("form, sparse, message", WRONG)
def test_what_is_wrong_is_refused(form: Form, sparse: bool, message: str) -> None:
    with pytest.raises(InputError, match=message):
        build(form, sparse=sparse)


def test_a_narrow_type_without_a_kind_says_so() -> None:
    with pytest.raises(InputError) as caught:
        build(Form(S.M16N8K32, M.E2M1, (4, 2, 4), ""), sparse=False)
    assert "kind" in caught.value.findings[0].hint

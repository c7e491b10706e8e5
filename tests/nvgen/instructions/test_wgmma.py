"""Warpgroup multiplies from the builder: what is printed, what ptxas says, what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from intrinsics.descriptors.wgmma_desc import WgmmaDescriptor
from intrinsics.findings import InputError
from intrinsics.modifiers import Modifier
from intrinsics.modifiers import ScalarType as T
from intrinsics.modifiers.wgmma import MatrixType
from nvgen import KernelBuilder
from tests.each import each
from tests.oracle.ptxas_modules import report

M = MatrixType


def ptx_of(build: Callable[[KernelBuilder], None]) -> str:
    b = KernelBuilder("k", block=128)
    b.pointer("out")
    b.begin()
    build(b)
    return b.finish().compile(target="sm_90a").ptx


def multiply_of(build: Callable[[KernelBuilder], None]) -> str:
    (line,) = re.findall(r"^\s*(wgmma\.mma.*)$", ptx_of(build), re.MULTILINE)
    return re.sub(r"\{[^}]*\}", "{…}", re.sub(r"%(rd|r|p)\d+", r"%\1", line))


FORMS: list[tuple[int, T, Modifier, Modifier | None, dict[str, int], str]] = [
    (128, T.F32, T.F16, None, {"scale_b": -1, "trans_b": 1},
     "m64n128k16.f32.f16.f16 {…}, %rd, %rd, 1, 1, -1, 0, 1;"),
    (8, T.F16, T.F16, None, {"trans_a": 1}, "m64n8k16.f16.f16.f16 {…}, %rd, %rd, 1, 1, 1, 1, 0;"),
    (24, T.F32, T.BF16, None, {}, "m64n24k16.f32.bf16.bf16 {…}, %rd, %rd, 1, 1, 1, 0, 0;"),
    (256, T.F32, T.TF32, None, {"scale_a": -1},
     "m64n256k8.f32.tf32.tf32 {…}, %rd, %rd, 1, -1, 1;"),
    (64, T.F32, M.E4M3, M.E5M2, {}, "m64n64k32.f32.e4m3.e5m2 {…}, %rd, %rd, 1, 1, 1;"),
    (64, T.S32, T.U8, T.S8, {}, "m64n64k32.s32.u8.s8 {…}, %rd, %rd, 1;"),
    (64, T.S32, T.S8, None, {"satfinite": 1},
     "m64n64k32.satfinite.s32.s8.s8 {…}, %rd, %rd, 1;"),
    (64, T.S32, M.B1, None, {}, "m64n64k256.s32.b1.b1.and.popc {…}, %rd, %rd, 1;"),
]  # fmt: skip
"""N, types of D, A and B (None: A's), what is said besides, and the manual's text."""


@each("n, dtype, atype, btype, more, expected", FORMS)
def test_a_multiply_is_printed_as_the_manual_has_it(
    n: int, dtype: T, atype: Modifier, btype: Modifier | None, more: dict[str, int], expected: str
) -> None:
    def build(b: KernelBuilder) -> None:
        a, c = b.tid_x.zext(64), b.ctaid_x.zext(64)
        b.wgmma_mma_async(b.wgmma_accumulator(n, dtype), a, c, atype=atype, btype=btype, **more)

    assert multiply_of(build) == f"wgmma.mma_async.sync.aligned.{expected}"


def test_a_in_registers_and_sparse() -> None:
    def build(b: KernelBuilder) -> None:
        d, x = b.wgmma_accumulator(16), b.tid_x
        registers = b.words([x, x + 1, x + 2, x + 3])
        descriptor = x.zext(64)
        b.wgmma_mma_async(
            d, registers, descriptor, x == 0, atype=T.F16, trans_b=1, sp_meta=x, sp_sel=1
        )

    assert multiply_of(build) == (
        "wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16 {…}, {…}, %rd, %r, 1, %p, 1, 1, 1;"
    )


def loop(b: KernelBuilder) -> None:
    """Eight turns of two multiplies; the sums are stored at the end."""
    x = b.tid_x
    layout = WgmmaDescriptor(0)
    tile = b.shared_word("tile")
    d = b.wgmma_accumulator(64)
    with b.range(8) as i:
        a = b.wgmma_descriptor(tile + i * 32, layout)
        b.wgmma_fence()
        b.wgmma_mma_async(d, a, a, i != 0, atype=T.F16)
        b.wgmma_mma_async(d, a, a, atype=T.F16)
        b.wgmma_commit_group()
        b.wgmma_wait_group(0)
    b.store(d.registers, tile + x * 0)


@pytest.mark.wrong_kernel
def test_a_loop_carries_accumulators_in_place() -> None:
    ptx = ptx_of(loop)
    turns = re.findall(r"wgmma\.mma_async\S* (\{[^}]*\})", ptx)
    assert len(turns) == 2
    assert len(set(turns)) == 1
    behind = ptx[ptx.index("wgmma.fence") : ptx.index("wgmma.wait_group")]
    assert "mov" not in behind
    said = report(ptx, "sm_90a")
    assert "Compiling entry function" in said
    assert not re.search(r"C75\d\d", said)


def test_a_descriptor_holds_the_address_and_the_layout() -> None:
    """All but the address is a constant of the layout, as its encoder says."""

    def build(b: KernelBuilder) -> None:
        d = b.wgmma_accumulator(8)
        a = b.wgmma_descriptor(b.shared_word("tile"), WgmmaDescriptor(0x40, 16, 512))
        b.wgmma_mma_async(d, a, a, atype=T.F16)

    constant = 1 << 62 | 512 >> 4 << 32 | 1 << 16
    assert re.search(rf"or\.b64\s+%rd\d+, %rd\d+, {constant};", ptx_of(build))


REFUSED: list[tuple[Callable[[KernelBuilder], object], str]] = [
    (lambda b: b.wgmma_accumulator(12), "no multiply of a warpgroup has such a D"),
    (lambda b: b.wgmma_accumulator(40, T.S32), "no multiply of a warpgroup has such a D"),
    (lambda b: b.wgmma_accumulator(8, T.BF16), "no multiply of a warpgroup has such a D"),
    (lambda b: product(b, T.F32), "A has no such type"),
    (lambda b: product(b, T.TF32, trans_b=1), "has no trans_b"),
    (lambda b: product(b, T.S8, scale_a=-1), "has no scale_a"),
    (lambda b: product(b, T.F16, btype=T.BF16), "both of type .bf16"),
    (lambda b: product(b, T.F16, satfinite=True), "no intrinsic"),
]


def product(b: KernelBuilder, atype: Modifier, **more: Modifier | int) -> None:
    x = b.tid_x.zext(64)
    dtype = T.S32 if atype is T.S8 else T.F32
    b.wgmma_mma_async(b.wgmma_accumulator(8, dtype), x, x, atype=atype, **more)


@each("build, message", REFUSED)
def test_nonsense_is_refused(build: Callable[[KernelBuilder], object], message: str) -> None:
    b = KernelBuilder("k", block=128)
    b.begin()
    with pytest.raises(InputError, match=message):
        build(b)

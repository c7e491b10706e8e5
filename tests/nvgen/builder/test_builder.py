"""The builder: thin, typed, named after the intrinsics, with Python lines, refusing nonsense."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

import numpy as np
import pytest
from llvmlite import binding, ir

from intrinsics import catalog
from intrinsics.element import ElementType
from intrinsics.findings import InputError
from intrinsics.modifiers import (
    AtomicOp,
    CollectorA,
    CollectorB,
    CollectorWs,
    CopyFormat,
    CopyMulticast,
    CopyShape,
    CtaGroup,
    FunnelMode,
    LdStNum,
    LdStShape,
    LoadMode,
    MapField,
    MembarLevel,
    MmaKind,
    Multicast,
    PermuteMode,
    PrefetchSize,
    ScalarType,
    ScaleVec,
    Scope,
    Space,
    SyncRestrict,
    WarpReduce,
)
from intrinsics.modifiers.matrix import MatrixNum, MatrixShape
from intrinsics.patterns import arguments
from intrinsics.row import Kind
from nvgen import KernelBuilder
from nvgen.instructions.calls import llvm_type
from nvgen.instructions.roles import ExecutionScope
from nvgen.instructions.table import NAMED, others
from nvgen.llvm.ir_text import BFloatType
from nvgen.values.numbers import Int
from tests.each import each


def kernel(body: Callable[[KernelBuilder, dict], object]) -> str:
    """The LLVM IR of a kernel with a pointer, tensor maps of 2, 1 and 5 dimensions, and `body`."""
    b = KernelBuilder("k", block=128)
    b.pointer("out")
    b.tensor_map("map", dtype=ElementType.F16, box=(8, 64), swizzle=128)
    b.tensor_map("line", dtype=ElementType.F16, box=(64,), swizzle=128)
    b.tensor_map("five", dtype=ElementType.F16, box=(1, 1, 1, 1, 64), swizzle=128)
    body(b, b.begin())
    return b.finish().llvm


def calls(text: str) -> list[str]:
    """The intrinsics that a kernel calls, in order."""
    return re.findall(r"call .*?@llvm\.nvvm\.([\w.]+)\(", text)


# ---- calls -----------------------------------------------------------------------------------

VERBS: dict[str, Callable[[KernelBuilder, dict], object]] = {
    "tcgen05.alloc.shared.cg1": lambda b, a: b.tcgen05_alloc(b.shared_word("s"), 32),
    "tcgen05.alloc.shared.cg2": lambda b, a: b.tcgen05_alloc(
        b.shared_word("s"), 32, cta_group=CtaGroup.TWO
    ),
    "tcgen05.dealloc.cg1": lambda b, a: b.tcgen05_dealloc(taddr(b), 32),
    "tcgen05.relinq.alloc.permit.cg1": lambda b, a: b.tcgen05_relinq_alloc_permit(),
    "tcgen05.commit.shared.cg1": lambda b, a: b.tcgen05_commit(b.mbarrier("m")),
    "tcgen05.commit.mc.shared.cg2": lambda b, a: b.tcgen05_commit(
        b.mbarrier("m"), cta_group=CtaGroup.TWO, cta_mask=3
    ),
    "tcgen05.ld.32x32b.x8": lambda b, a: b.tcgen05_ld(taddr(b), num=LdStNum.X8),
    "tcgen05.ld.16x256b.x2": lambda b, a: b.tcgen05_ld(
        taddr(b), num=LdStNum.X2, shape=LdStShape.S16X256B
    ),
    "tcgen05.ld.16x32bx2.x4": lambda b, a: b.tcgen05_ld(
        taddr(b), num=LdStNum.X4, shape=LdStShape.S16X32BX2, half_split=8
    ),
    "tcgen05.wait.ld": lambda b, a: b.tcgen05_wait_ld(),
    "tcgen05.wait.st": lambda b, a: b.tcgen05_wait_st(),
    "tcgen05.fence.before.thread.sync": lambda b, a: b.tcgen05_fence_before_thread_sync(),
    "tcgen05.fence.after.thread.sync": lambda b, a: b.tcgen05_fence_after_thread_sync(),
    "tcgen05.mma.shared": lambda b, a: b.tcgen05_mma(
        taddr(b), b.const(1, 64), b.const(2, 64), 3, 1, kind=MmaKind.TF32
    ),
    "tcgen05.mma.tensor": lambda b, a: b.tcgen05_mma(
        taddr(b), taddr(b), b.const(2, 64), 3, 1, kind=MmaKind.F16,
        collector_a=CollectorA.FILL,
    ),
    "tcgen05.mma.shared.scale_d": lambda b, a: b.tcgen05_mma(
        taddr(b), b.const(1, 64), b.const(2, 64), 3, 1, kind=MmaKind.F16, scale_d=2
    ),
    "tcgen05.mma.tensor.ashift": lambda b, a: b.tcgen05_mma(
        taddr(b), taddr(b), b.const(2, 64), 3, 1, kind=MmaKind.F16, ashift=True
    ),
    "tcgen05.mma.shared.scale_d.collector_b": lambda b, a: b.tcgen05_mma(
        taddr(b), b.const(1, 64), b.const(2, 64), 3, 1, kind=MmaKind.F16, scale_d=2,
        collector_b=CollectorB.USE,
    ),
    "tcgen05.mma.shared.ti16": lambda b, a: b.tcgen05_mma(
        taddr(b), b.const(1, 64), b.const(2, 64), 3, 1, kind=MmaKind.TI16
    ),
    "tcgen05.mma.tensor.f8f6f4.decompress_lut_b": lambda b, a: b.tcgen05_mma(
        taddr(b), taddr(b), b.const(2, 64), 3, 1, kind=MmaKind.F8F6F4, lut=taddr(b)
    ),
    "tcgen05.mma.shared.mxf4nvf4.block_scale.scale_vec_4x": lambda b, a: b.tcgen05_mma(
        taddr(b), b.const(1, 64), b.const(2, 64), 3, 1, kind=MmaKind.MXF4NVF4,
        scale_vec=ScaleVec.X4, sfa=taddr(b), sfb=taddr(b),
    ),
    "tcgen05.mma.sp.shared": lambda b, a: b.tcgen05_mma(
        taddr(b), b.const(1, 64), b.const(2, 64), 3, 1, kind=MmaKind.F16, sp_meta=taddr(b)
    ),
    "tcgen05.mma.ws.shared.zero_col_mask": lambda b, a: b.tcgen05_mma_ws(
        taddr(b), b.const(1, 64), b.const(2, 64), 3, 1, kind=MmaKind.F16,
        collector=CollectorWs.B2_FILL, zero_mask=b.const(0, 64),
    ),
    "tcgen05.mma.ws.sp.tensor": lambda b, a: b.tcgen05_mma_ws(
        taddr(b), taddr(b), b.const(2, 64), 3, 1, kind=MmaKind.TF32, sp_meta=taddr(b)
    ),
    "tcgen05.alloc.exclusive.shared.cg1": lambda b, a: b.tcgen05_alloc(
        b.shared_word("s"), 96, exclusive=True
    ),
    "tcgen05.dealloc.exclusive.cg1": lambda b, a: b.tcgen05_dealloc(taddr(b), 96, exclusive=True),
    "tcgen05.commit.mc.32b.shared.cg1": lambda b, a: b.tcgen05_commit(
        b.mbarrier("m"), cta_mask=3, multicast=Multicast.CLUSTER_32B
    ),
    "tcgen05.commit.sync_restrict.shared.read.mma.a.shared.cg1": lambda b, a: b.tcgen05_commit(
        b.mbarrier("m"), restrict=SyncRestrict.READ_A
    ),
    "tcgen05.cp.128x256b.cg1": lambda b, a: b.tcgen05_cp(
        taddr(b), b.const(1, 64), shape=CopyShape.S128X256B
    ),
    "tcgen05.cp.64x128b_warpx2_01_23.b4x16_p64.cg2": lambda b, a: b.tcgen05_cp(
        taddr(b), b.const(1, 64), shape=CopyShape.S64X128B,
        multicast=CopyMulticast.WARPX2_01_23, source=CopyFormat.B4X16_P64,
        cta_group=CtaGroup.TWO,
    ),
    "tcgen05.shift.down.cg1": lambda b, a: b.tcgen05_shift(taddr(b)),
    "tcgen05.ld.red.32x32b.x4.f32": lambda b, a: b.tcgen05_ld_red(
        taddr(b), op=WarpReduce.MIN, type=ScalarType.F32, num=LdStNum.X4, abs=True, nan=True
    ),
    "tcgen05.ld.red.16x32bx2.x2.s32": lambda b, a: b.tcgen05_ld_red(
        taddr(b), op=WarpReduce.MAX, type=ScalarType.S32, num=LdStNum.X2,
        shape=LdStShape.S16X32BX2, half_split=8,
    ),
    "tcgen05.ld.spcompress.32x32b.x64.f32": lambda b, a: b.tcgen05_ld_spcompress(
        taddr(b), op=WarpReduce.MAX, num=LdStNum.X64
    ),
    "tcgen05.ld.red.spcompress.32x32b.x4.f32": lambda b, a: b.tcgen05_ld_red_spcompress(
        taddr(b), op=WarpReduce.MAX, num=LdStNum.X4, nan=True
    ),
    "mbarrier.init.shared": lambda b, a: b.mbarrier_init(b.mbarrier("m"), 1),
    "mbarrier.inval.shared": lambda b, a: b.mbarrier_inval(b.mbarrier("m")),
    "mbarrier.arrive.scope.cta.space.cta": lambda b, a: b.mbarrier_arrive(b.mbarrier("m")),
    "mbarrier.arrive.relaxed.scope.cluster.space.cta": lambda b, a: b.mbarrier_arrive(
        b.mbarrier("m"), scope=Scope.CLUSTER, relaxed=True
    ),
    "mbarrier.arrive.expect.tx.scope.cta.space.cta": lambda b, a: b.mbarrier_arrive_expect_tx(
        b.mbarrier("m"), 64
    ),
    "mbarrier.expect.tx.scope.cta.space.cta": lambda b, a: b.mbarrier_expect_tx(
        b.mbarrier("m"), 64
    ),
    "mbarrier.test.wait.parity.scope.cta.space.cta": lambda b, a: b.mbarrier_test_wait_parity(
        b.mbarrier("m"), 0
    ),
    "mbarrier.try.wait.parity.scope.cta.space.cta": lambda b, a: b.mbarrier_try_wait_parity(
        b.mbarrier("m"), 0
    ),
    "mbarrier.try.wait.parity.tl.scope.cta.space.cta": lambda b, a: b.mbarrier_try_wait_parity(
        b.mbarrier("m"), 0, hint=1000
    ),
    "cp.async.bulk.tensor.g2s.tile.2d": lambda b, a: b.cp_async_bulk_tensor_g2s_tile(
        smem(b), b.mbarrier("m"), a["map"], (0, 0)
    ),
    "cp.async.bulk.tensor.g2s.cta.tile.1d": lambda b, a: b.cp_async_bulk_tensor_g2s_cta_tile(
        smem(b), b.mbarrier("m"), a["line"], (0,)
    ),
    "cp.async.bulk.tensor.s2g.tile.2d": lambda b, a: b.cp_async_bulk_tensor_s2g_tile(
        a["map"], (0, 0), smem(b)
    ),
    "cp.async.bulk.tensor.s2g.tile.5d": lambda b, a: b.cp_async_bulk_tensor_s2g_tile(
        a["five"], (0,) * 5, smem(b), cache_policy=b.const(1, 64)
    ),
    "cp.async.bulk.tensor.g2s.im2col.4d": lambda b, a: b.cp_async_bulk_tensor_g2s_im2col(
        smem(b), b.mbarrier("m"), a["map"], (0, 1, 2, 3), (4, 5), cta_mask=3
    ),
    "cp.async.bulk.tensor.g2s.im2col.w.128.5d": lambda b, a: b.cp_async_bulk_tensor_g2s_im2col(
        smem(b), b.mbarrier("m"), a["map"], (0, 1, 2, 3, 4), (5, 6), mode=LoadMode.IM2COL_W128,
        cta_group=CtaGroup.TWO,
    ),
    "cp.async.bulk.tensor.g2s.cta.im2col.3d": lambda b, a: b.cp_async_bulk_tensor_g2s_cta_im2col(
        smem(b), b.mbarrier("m"), a["map"], (0, 1, 2), (4,)
    ),
    "cp.async.bulk.tensor.g2s.tile.gather4.2d": (
        lambda b, a: b.cp_async_bulk_tensor_g2s_tile_gather4(
            smem(b), b.mbarrier("m"), a["map"], 0, (1, 2, 3, 4)
        )
    ),
    "cp.async.bulk.tensor.g2s.cta.tile.gather4.2d": (
        lambda b, a: b.cp_async_bulk_tensor_g2s_cta_tile_gather4(
            smem(b), b.mbarrier("m"), a["map"], 0, (1, 2, 3, 4)
        )
    ),
    "cp.async.bulk.tensor.s2g.im2col.4d": lambda b, a: b.cp_async_bulk_tensor_s2g_im2col(
        a["map"], (0, 1, 2, 3), smem(b)
    ),
    "cp.async.bulk.tensor.s2g.tile.scatter4.2d": (
        lambda b, a: b.cp_async_bulk_tensor_s2g_tile_scatter4(a["map"], 0, (1, 2, 3, 4), smem(b))
    ),
    "cp.async.bulk.tensor.reduce.max.tile.1d": lambda b, a: b.cp_async_bulk_tensor_reduce_tile(
        AtomicOp.MAX, a["line"], (0,), smem(b)
    ),
    "cp.async.bulk.tensor.reduce.xor.im2col.5d": (
        lambda b, a: b.cp_async_bulk_tensor_reduce_im2col(
            AtomicOp.XOR, a["five"], (0, 1, 2, 3, 4), smem(b), cache_policy=b.const(0, 64)
        )
    ),
    "cp.async.bulk.tensor.reduce.add.tile.scatter4.2d": (
        lambda b, a: b.cp_async_bulk_tensor_reduce_tile_scatter4(
            AtomicOp.ADD, a["map"], 0, (1, 2, 3, 4), smem(b)
        )
    ),
    "cp.async.bulk.tensor.prefetch.tile.2d": lambda b, a: b.cp_async_bulk_tensor_prefetch_tile(
        a["map"], (0, 1)
    ),
    "cp.async.bulk.tensor.prefetch.tile.gather4.2d": (
        lambda b, a: b.cp_async_bulk_tensor_prefetch_tile_gather4(a["map"], 0, (1, 2, 3, 4))
    ),
    "cp.async.bulk.tensor.prefetch.im2col.w.3d": (
        lambda b, a: b.cp_async_bulk_tensor_prefetch_im2col(
            a["map"], (0, 1, 2), (3, 4), mode=LoadMode.IM2COL_W
        )
    ),
    "cp.async.bulk.commit.group": lambda b, a: b.cp_async_bulk_commit_group(),
    "cp.async.bulk.wait.group": lambda b, a: b.cp_async_bulk_wait_group(0),
    "cp.async.bulk.wait.group.read": lambda b, a: b.cp_async_bulk_wait_group_read(1),
    "cp.async.bulk.global.to.shared.cluster": lambda b, a: (
        b.cp_async_bulk_global_to_shared_cluster(
            b.shared_word("s"), b.mbarrier("m"), a["out"], 16, cta_mask=3,
            cache_policy=b.const(1, 64))
    ),
    "cp.async.bulk.global.to.shared.cta": lambda b, a: b.cp_async_bulk_global_to_shared_cta(
        b.shared_word("s"), b.mbarrier("m"), a["out"], b.const(16)
    ),
    "cp.async.bulk.global.to.shared.cta.ignore_oob": lambda b, a: (
        b.cp_async_bulk_global_to_shared_cta(
            b.shared_word("s"), b.mbarrier("m"), a["out"], 16, ignore_right=3)
    ),
    "cp.async.bulk.shared.cta.to.cluster": lambda b, a: b.cp_async_bulk_shared_cta_to_cluster(
        b.mapa_shared_cluster(b.shared_word("s"), 1), b.of_cta(b.mbarrier("m"), 1),
        b.shared_word("t"), 16,
    ),
    "cp.async.bulk.shared.cta.to.global": lambda b, a: b.cp_async_bulk_shared_cta_to_global(
        a["out"], b.shared_word("s"), 16, cache_policy=b.const(1, 64)
    ),
    "cp.async.bulk.shared.cta.to.global.bytemask": lambda b, a: (
        b.cp_async_bulk_shared_cta_to_global(a["out"], b.shared_word("s"), 16, byte_mask=0xFF)
    ),
    "cp.async.bulk.prefetch.L2": lambda b, a: b.cp_async_bulk_prefetch_l2(a["out"], 64),
    "cp.async.bulk.reduce.shared.cta.to.cluster.min.s32": lambda b, a: (
        b.cp_async_bulk_reduce_shared_cta_to_cluster(
            AtomicOp.MIN, ScalarType.S32, b.mapa_shared_cluster(b.shared_word("s"), 1),
            b.of_cta(b.mbarrier("m"), 1), b.shared_word("t"), 16)
    ),
    "cp.async.bulk.reduce.shared.cta.to.global.add.f16": lambda b, a: (
        b.cp_async_bulk_reduce_shared_cta_to_global(
            AtomicOp.ADD, ScalarType.F16, a["out"], b.shared_word("t"), b.const(32))
    ),
    "st.async.shared.cluster.b64": lambda b, a: b.st_async_shared_cluster(
        ScalarType.B64, b.mapa_shared_cluster(b.shared_word("s"), 1), [b.const(5, 64)],
        b.of_cta(b.mbarrier("m"), 1),
    ),
    "st.async.shared.cluster.v4.b32": lambda b, a: b.st_async_shared_cluster(
        ScalarType.B32, b.mapa_shared_cluster(b.shared_word("s"), 1), [1, 2, b.const(3), 4],
        b.of_cta(b.mbarrier("m"), 1),
    ),
    "red.async.shared.cluster.add.u64": lambda b, a: b.red_async_shared_cluster(
        AtomicOp.ADD, ScalarType.U64, b.mapa_shared_cluster(b.shared_word("s"), 1), 5,
        b.of_cta(b.mbarrier("m"), 1),
    ),
    "cp.async.ca.shared.global.8": lambda b, a: b.cp_async_ca_shared_global(
        b.shared_word("s"), a["out"], 8
    ),
    "cp.async.cg.shared.global.16.s": lambda b, a: b.cp_async_cg_shared_global(
        b.shared_word("s"), a["out"], src_size=4
    ),
    "cp.async.ca.shared.global.4.ignore_src.L2": lambda b, a: b.cp_async_ca_shared_global(
        b.shared_word("s"), a["out"], 4, ignore_src=b.const(1, 1),
        cache_policy=b.const(1, 64), prefetch=PrefetchSize.B128,
    ),
    "cp.async.commit.group": lambda b, a: b.cp_async_commit_group(),
    "cp.async.wait.group": lambda b, a: b.cp_async_wait_group(1),
    "cp.async.wait.all": lambda b, a: b.cp_async_wait_all(),
    "cp.async.mbarrier.arrive.shared": lambda b, a: b.cp_async_mbarrier_arrive(b.mbarrier("m")),
    "cp.async.mbarrier.arrive.noinc.shared": lambda b, a: b.cp_async_mbarrier_arrive(
        b.mbarrier("m"), noinc=True
    ),
    "ldmatrix.sync.aligned.m8n8.x4.b16.p3": lambda b, a: b.ldmatrix(b.shared_word("s")),
    "ldmatrix.sync.aligned.m8n8.x1.trans.b16.p0": lambda b, a: b.ldmatrix(
        a["map"], MatrixNum.X1, trans=True
    ),
    "ldmatrix.sync.aligned.m16n16.x2.trans.b8.p3": lambda b, a: b.ldmatrix(
        b.shared_word("s"), MatrixNum.X2, shape=MatrixShape.M16N16, trans=True
    ),
    "ldmatrix.sync.aligned.m8n16.x4.b8x16.b6x16_p32.p3": lambda b, a: b.ldmatrix(
        b.shared_word("s"), shape=MatrixShape.M8N16, source=CopyFormat.B6X16_P32
    ),
    "stmatrix.sync.aligned.m8n8.x2.trans.b16.p3": lambda b, a: b.stmatrix(
        b.shared_word("s"), [b.tid_x, 7], trans=True
    ),
    "stmatrix.sync.aligned.m16n8.x4.trans.b8.p3": lambda b, a: b.stmatrix(
        b.shared_word("s"), b.words([1, 2, 3, 4]), shape=MatrixShape.M16N8, trans=True
    ),
    "tensormap.replace.global.address.p3": lambda b, a: b.tensormap_replace(
        b.shared_word("s"), MapField.GLOBAL_ADDRESS, b.const(1, 64)
    ),
    "tensormap.replace.rank.p0": lambda b, a: b.tensormap_replace(a["map"], MapField.RANK, 2),
    "tensormap.replace.global.stride.p3": lambda b, a: b.tensormap_replace(
        b.shared_word("s"), MapField.GLOBAL_STRIDE, b.const(64, 64), dim=1
    ),
    "tensormap.replace.box.dim.p0": lambda b, a: b.tensormap_replace(
        a["map"], MapField.BOX_DIM, b.tid_x, dim=0
    ),
    "tensormap.replace.elemtype.p3": lambda b, a: b.tensormap_replace(
        b.shared_word("s"), MapField.ELEMTYPE, 6
    ),
    "tensormap.cp_fenceproxy.global.shared_cta.tensormap_generic.release.gpu": (
        lambda b, a: b.tensormap_cp_fenceproxy(a["out"], b.shared_word("s"))
    ),
    "prefetch.tensormap.p0": lambda b, a: b.prefetch_tensormap(a["map"]),
    "ff2bf16x2.rn": lambda b, a: b.pack_bf16x2(b.tid_x, 0),
    "ff2f16x2.rn.relu": lambda b, a: b.pack_f16x2(0, b.tid_x, relu=True),
    "movmatrix.sync.aligned.m8n8.trans.b16": lambda b, a: b.movmatrix(b.tid_x),
    "fence.proxy.async": lambda b, a: b.fence_proxy_async(),
    "fence.proxy.async.shared_cta": lambda b, a: b.fence_proxy_async(Space.SHARED_CTA),
    "fence.mbarrier_init.release.cluster": lambda b, a: b.fence_mbarrier_init_release_cluster(),
    "elect.sync": lambda b, a: b.elect_sync(),
    "barrier.cta.sync.aligned.all": lambda b, a: b.barrier_cta_sync_aligned(),
    "barrier.cta.sync.aligned.count": lambda b, a: b.barrier_cta_sync_aligned(1, 64),
    "barrier.cta.sync.all": lambda b, a: b.barrier_cta_sync(),
    "barrier.cta.arrive.aligned.count": lambda b, a: b.barrier_cta_arrive_aligned(1, 64),
    "bar.warp.sync": lambda b, a: b.bar_warp_sync(),
}  # fmt: skip


def smem(b: KernelBuilder):
    """Shared memory that a tile may lie in."""
    return b.shared_tile("tile", ElementType.F16, (8, 64), swizzle=128).pointer


@pytest.mark.parametrize(
    "verb",
    [
        lambda b, a: b.cp_async_bulk_tensor_s2g_tile_scatter4(a["map"], 0, (1, 2, 3), smem(b)),
        lambda b, a: b.cp_async_bulk_tensor_prefetch_im2col(a["map"], (0, 1, 2), (3, 4)),
        lambda b, a: b.cp_async_bulk_tensor_prefetch_tile(a["map"], (0,) * 6),
    ],
)
def test_a_tensor_copy_has_as_many_coordinates_and_offsets_as_it_takes(verb) -> None:
    with pytest.raises(InputError):
        kernel(verb)


def taddr(b: KernelBuilder):
    """A tensor memory address."""
    return b.tensor_pointer(b.const(0))


@each("name", VERBS)
def test_a_verb_calls_the_intrinsic_of_its_name(name: str) -> None:
    """LLVM's own name; LLVM's verifier has accepted the call."""
    assert name in calls(kernel(VERBS[name]))


@each("name", lambda: sorted(catalog.spellings()), parts=2)
def test_llvm_accepts_the_signature_of_every_spelling(name: str) -> None:
    """A declaration with the types of the pattern, and a call with legal immediates, verify."""
    spelling = catalog.spellings()[name]
    module = ir.Module()
    types, values = [], []
    for argument in arguments(spelling.pattern.args):
        repeat = 2 if argument.type.endswith("*") else 1
        if repeat == 2:
            repeat = int(re.search(r"(\d)d$", name)[1])
        elif argument.type.startswith("n*"):
            attributes = dict.fromkeys(spelling.row.qualifier) | dict(spelling.attributes)
            repeat = spelling.row.operand[argument.name].count.of(attributes)
        for _ in range(repeat):
            text = argument.type.rstrip("*").removeprefix("n*")
            type_ = llvm_type(text, _count(spelling))
            types.append(type_)
            legal = spelling.pattern.codes.get(argument.name, {0: None})
            value = _part(argument, max(legal)) if argument.sign == "#" else None
            values.append(ir.Constant(type_, value if value is not None else ir.Undefined))
            if argument.sign == "?":
                values[-1] = ir.Constant(type_, 0)
            elif argument.sign == ":" and _is_number(spelling, argument.name):
                values[-1] = ir.Constant(type_, _least(spelling, argument.name))
    result = _result(spelling)
    callee = ir.Function(module, ir.FunctionType(result, types), "llvm.nvvm." + name)
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), []), "f")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.call(callee, values)
    builder.ret_void()
    binding.parse_assembly(str(module), context=binding.create_context()).verify()


def _is_number(spelling, name: str) -> bool:
    operand = spelling.row.operand.get(name)
    return operand is not None and operand.kind is Kind.NUMBER


def _least(spelling, name: str) -> int:
    """The least number that an operand takes; LLVM has ranges of its own for some."""
    attributes = dict.fromkeys(spelling.row.qualifier) | dict(spelling.attributes)
    return spelling.row.operand[name].numbers_under(attributes).low or 0


def _part(argument, code: int) -> int:
    sign, factor = argument.scale
    return code // factor if sign == "/" else code % factor if sign == "%" else code


def _count(spelling) -> int:
    """The length of a spelling's vector operand."""
    attributes = dict.fromkeys(spelling.row.qualifier) | dict(spelling.attributes)
    for operand in spelling.row.operands:
        if operand.count is not None and operand.name in ("r", "d", "mask"):
            return operand.count.of(attributes)
    return 1


def _result(spelling) -> ir.Type:
    text = spelling.pattern.result
    types = [llvm_type(a.type, _count(spelling)) for a in arguments(text.strip("{}"))]
    if not types:
        return ir.VoidType()
    return ir.LiteralStructType(types) if text.startswith("{") else types[0]


def test_a_row_without_a_verb_of_its_own_has_one_all_the_same() -> None:
    """Called as the row is, with the operands and modifiers of LLVM's patterns."""
    assert {row.id for row in catalog.rows() if row.llvm} == {
        row for verb in (*NAMED.values(), *others().values()) for row in verb.row_ids
    }

    def body(b: KernelBuilder, args: dict) -> None:
        x = b.prmt(b.tid_x, 7, 0x3210, mode=PermuteMode.F4E)
        b.store(b.szext(x, 5, mode=FunnelMode.WRAP, type=ScalarType.U32), args["out"])
        b.membar(level=MembarLevel.GL)

    assert calls(kernel(body))[-3:] == ["prmt.f4e", "zext.wrap", "membar.gl"]


def test_a_verb_says_what_it_takes_and_who_has_it() -> None:
    assert str(inspect.signature(KernelBuilder.mbarrier_init)) == (
        "(self, mbar: 'Barrier | Barriers', count: 'WordLike') -> 'None'"
    )
    assert KernelBuilder.wgmma_wait_group.__doc__ == (
        "Wait until all but the `n` latest groups are complete.\n\n"
        "PTX ISA, wgmma.wait_group.  sm_90a, PTX 8.0."
    )
    with pytest.raises(InputError, match="mbarrier_init: missing a required argument: 'count'"):
        kernel(lambda b, a: b.mbarrier_init(b.mbarrier("m")))  # type: ignore[call-arg]
    with pytest.raises(AttributeError, match="a KernelBuilder has no 'mbarrier_innit'"):
        kernel(lambda b, a: b.mbarrier_innit(b.mbarrier("m"), 1))  # type: ignore[attr-defined]


# ---- places ----------------------------------------------------------------------------------


def test_every_instruction_has_the_python_line_that_asked_for_it() -> None:
    def body(b: KernelBuilder, args: dict) -> None:
        b.tcgen05_wait_ld()
        b.tcgen05_wait_st()

    first = body.__code__.co_firstlineno + 1
    text = kernel(body)
    marks = re.findall(r"call void @llvm\.nvvm\.tcgen05\.wait\.\w+\(\), !dbg !(\d+)", text)
    lines = [int(re.search(rf"^!{m} = !DILocation\(line: (\d+)", text, re.M)[1]) for m in marks]
    assert lines == [first, first + 1]
    assert "test_builder.py" in text


# ---- control flow ----------------------------------------------------------------------------


def test_conditions_and_loops_are_context_managers() -> None:
    def body(b: KernelBuilder, args: dict) -> None:
        with b.range(4) as i, b.if_(i == 2):
            b.bar_warp_sync()
        with b.if_warp(1), b.elect():
            b.tcgen05_wait_st()

    text = kernel(body)
    assert text.count("phi i32") == 1
    assert calls(text).count("elect.sync") == 1


COUNT = 8
"""How often the loops of the kernels below turn, at most."""


def ran(body: Callable[[KernelBuilder, Int], Int], *, schedule: str = "early") -> list[int]:
    """What 32 threads make of the numbers 0 to COUNT - 1: lane 0's results."""
    b = KernelBuilder("k", block=32)
    b.pointer("out", output=True)
    b.integer("n")
    args = b.begin()
    b.store(body(b, args["n"]), args["out"] + b.tid_x * 4)
    compiled = b.finish().compile(target="sm_90a")
    found = []
    for n in range(COUNT):
        out = np.zeros(32, np.int32)
        compiled.run(out, n, schedule=schedule)
        found.append(int(out[0]))
    return found


def test_a_variable_keeps_what_a_loop_assigns() -> None:
    """0 + 1 + … + (n - 1), also when the loop does not turn."""

    def total(b: KernelBuilder, n: Int) -> Int:
        found = b.variable(0)
        with b.range(n) as i:
            found.set(found.value + i)
        return found.value

    assert ran(total) == [sum(range(n)) for n in range(COUNT)]


def test_a_variable_keeps_what_a_branch_in_a_loop_in_a_loop_assigns() -> None:
    def pairs(b: KernelBuilder, n: Int) -> Int:
        found, untouched = b.variable(100), b.variable(7)
        with b.range(n) as i, b.range(n, start=i) as j, b.if_((i + j) % 3 == 0):
            found.set(found.value + untouched.value)
        return found.value

    expected = [
        100 + 7 * sum((i + j) % 3 == 0 for i in range(n) for j in range(i, n)) for n in range(COUNT)
    ]
    assert ran(pairs) == expected


def test_a_loop_turns_while_a_condition_holds() -> None:
    """Collatz's steps from n to 1, with a branch inside; no turn for 0 and 1."""

    def steps(b: KernelBuilder, n: Int) -> Int:
        number, turns = b.variable(n), b.variable(0)
        with b.while_(lambda: number.value > 1):
            odd = number.value % 2 == 1
            number.set(b.select(odd, number.value * 3 + 1, number.value // 2))
            with b.if_(number.value < 1000):
                turns.set(turns.value + 1)
        return turns.value * 10 + number.value

    def collatz(n: int) -> int:
        turns = 0
        while n > 1:
            n, turns = (3 * n + 1 if n % 2 else n // 2), turns + 1
        return turns * 10 + n

    assert ran(steps) == [collatz(n) for n in range(COUNT)]


def test_the_condition_of_a_loop_may_have_branches_and_change_variables() -> None:
    """What it changes before it fails is there behind the loop; loops may be nested."""

    def asked(b: KernelBuilder, n: Int) -> Int:
        questions, left = b.variable(0), b.variable(n)

        def more() -> Int:
            with b.if_(left.value != 3):
                questions.set(questions.value + 1)
            return left.value > 0

        with b.range(2), b.while_(more):
            left.set(left.value - 1)
        return questions.value

    # n turns ask n + 1 times, the second loop once more; nothing is counted where 3 are left.
    assert ran(asked) == [n + 2 - (n >= 3) for n in range(COUNT)]


def test_a_loop_needs_a_condition_of_the_kernel() -> None:
    with pytest.raises(InputError, match="no condition"):
        ran(lambda b, n: b.while_(lambda: n).__enter__())  # type: ignore[return-value]


def test_a_loop_may_step_by_a_value_of_the_kernel() -> None:
    def steps(b: KernelBuilder, n: Int) -> Int:
        turns = b.variable(0)
        with b.range(20, start=n, step=n + 1):
            turns.set(turns.value + 1)
        return turns.value

    assert ran(steps) == [len(range(n, 20, n + 1)) for n in range(COUNT)]


def test_a_ring_counts_stages_and_the_parity_of_the_round() -> None:
    """Three stages: place n is stage n mod 3, in a round whose parity is that of n div 3."""

    def place(b: KernelBuilder, n: Int) -> Int:
        ring = b.ring(3)
        with b.range(n):
            ring.advance()
        return ring.stage * 10 + ring.parity

    assert ran(place) == [n % 3 * 10 + n // 3 % 2 for n in range(COUNT)]

    def further(b: KernelBuilder, n: Int) -> Int:
        ring = b.ring(3)
        ring.advance(n)
        ring.advance(5)
        return ring.stage * 10 + ring.parity

    assert ran(further) == [(n + 5) % 3 * 10 + (n + 5) // 3 % 2 for n in range(COUNT)]


def test_division_is_unsigned_and_select_chooses() -> None:
    def divided(b: KernelBuilder, n: Int) -> Int:
        large = b.const(0xFFFF_FFFF)
        return b.select(n % 2 == 0, large // (n + 2) & 0xFFFF, n)

    expected = [n if n % 2 else 0xFFFF_FFFF // (n + 2) & 0xFFFF for n in range(COUNT)]
    assert ran(divided) == expected


def test_warps_and_warpgroups_have_numbers_and_scopes() -> None:
    """32 and 128 threads each; the second warpgroup alone adds 1000."""
    threads = 3 * 128
    b = KernelBuilder("k", block=threads)
    b.pointer("out", output=True)
    args = b.begin()
    found = b.variable(b.warp * 10 + b.warpgroup)
    with b.if_warpgroup(1):
        assert b.scope is ExecutionScope.WARPGROUP
        found.set(found.value + 1000)
    b.store(found.value, args["out"] + b.tid_x * 4)
    out = np.zeros(threads, np.int32)
    b.finish().compile(target="sm_90a").run(out)
    thread = np.arange(threads)
    assert np.array_equal(out, thread // 32 * 10 + thread // 128 + 1000 * (thread // 128 == 1))


def test_a_variable_ends_with_the_branch_that_it_was_made_in() -> None:
    """What comes after knows nothing of it: no phi is made for it."""

    def body(b: KernelBuilder, args: dict) -> None:
        with b.if_thread(0):
            inner = b.variable(1)
            inner.set(inner.value + 1)
        with b.if_thread(1):
            b.bar_warp_sync()

    assert "phi" not in kernel(body)


def test_a_part_of_a_vector() -> None:
    """Registers 4 to 7 of 8, in order."""

    def body(b: KernelBuilder, args: dict) -> None:
        values = b.tcgen05_ld(taddr(b), num=LdStNum.X8)
        b.store(values[4:8], args["out"], align=16)

    mask = "<4 x i32> <i32 4, i32 5, i32 6, i32 7>"
    assert mask in kernel(body)


# ---- shared memory ---------------------------------------------------------------------------


@pytest.mark.parametrize("swizzle", [32, 64, 128])
def test_a_chunk_of_a_tile_lies_where_a_copy_puts_it(swizzle: int) -> None:
    """Every row's chunks of 16 bytes, written one by one, come out of a tile store in order."""
    chunks = swizzle // 16
    b = KernelBuilder("k", block=32)
    b.tensor_map("out", dtype=ElementType.S32, box=(32, 4 * chunks), swizzle=swizzle, output=True)
    args = b.begin()
    tile = b.shared_tile("tile", ElementType.S32, (32, 4 * chunks), swizzle=swizzle)
    for number in range(chunks):
        b.store(b.tid_x * 100 + number, tile.chunk(b.tid_x, number))
        for word in range(1, 4):
            b.store(b.const(0), tile.chunk(b.tid_x, number) + 4 * word)
    b.fence_proxy_async()
    b.bar_warp_sync()
    with b.elect():
        b.cp_async_bulk_tensor_s2g_tile(args["out"], (0, 0), tile.pointer)
        b.cp_async_bulk_commit_group()
        b.cp_async_bulk_wait_group(0)
    out = np.zeros((32, 4 * chunks), np.int32)
    b.finish().compile(target="sm_90a").run(out, schedule="late")
    expected = np.zeros_like(out)
    expected[:, ::4] = np.arange(32)[:, None] * 100 + np.arange(chunks)
    assert np.array_equal(out, expected)


def test_tiles_in_dynamic_shared_memory() -> None:
    """More than 48 KiB, one array from a multiple of 1024 on; the kernel says how much it needs."""
    b = KernelBuilder("k", block=32, dynamic_shared=True)
    b.begin()
    tiles = b.shared_tiles("tiles", ElementType.F16, (128, 64), 4)
    b.shared_tile("other", ElementType.U8, (8, 16), swizzle=32)
    last = b.shared_tile("last", ElementType.F16, (8, 64))
    b.mbarrier_init(b.mbarriers("m", 2)[1], 1)
    assert (tiles.nbytes, last.nbytes) == (16384, 1024)
    made = b.finish()
    assert made.dynamic_shared == 4 * 16384 + 1024 + 1024, "the last one is aligned again"
    assert "@dynamic_shared = external addrspace(3) global [0 x i8], align 1024" in made.llvm
    assert ".extern .shared .align 1024 .b8 dynamic_shared[];" in made.compile(target="sm_90a").ptx


def test_dynamic_shared_memory_ends_at_227_kib() -> None:
    b = KernelBuilder("k", block=32, dynamic_shared=True)
    b.begin()
    with pytest.raises(InputError, match="at most 232448"):
        b.shared_tiles("t", ElementType.F16, (128, 64), 15)


# ---- refusals --------------------------------------------------------------------------------


def refusal(body: Callable[[KernelBuilder, dict], object]) -> str:
    with pytest.raises(InputError) as caught:
        kernel(body)
    return str(caught.value)


def test_a_value_of_the_kernel_has_no_truth_while_it_is_built() -> None:
    assert "with b.if_(condition)" in refusal(lambda b, a: bool(b.tid_x == 0))


def test_integers_of_different_widths_do_not_mix() -> None:
    assert "x.to(u32)" in refusal(lambda b, a: b.tid_x + b.const(1, 64))


def test_a_number_that_does_not_fit_is_refused() -> None:
    assert "does not fit into 32 bits" in refusal(lambda b, a: b.tid_x + (1 << 40))


def test_a_number_is_no_address() -> None:
    assert "an address is wanted" in refusal(lambda b, a: b.tcgen05_dealloc(0, 32))


def test_a_global_address_is_no_tensor_memory_address() -> None:
    text = refusal(lambda b, a: b.tcgen05_dealloc(a["out"], 32))
    assert "got: ptr addrspace(1)" in text
    assert "expected: ptr addrspace(6)" in text


def scaled(b: KernelBuilder, **more: object) -> None:
    b.tcgen05_mma(taddr(b), taddr(b), b.const(2, 64), 3, 1, sfa=taddr(b), sfb=taddr(b), **more)


def plain(b: KernelBuilder, **more: object) -> None:
    b.tcgen05_mma(taddr(b), taddr(b), b.const(2, 64), 3, 1, **more)


LADDER = {
    "5, i8": (
        "Scale input accumulator can only be used with f16 and tf32 types",
        lambda b: plain(b, kind=MmaKind.I8, scale_d=3)),
    "5, f8f6f4": (
        "Scale input accumulator can only be used with f16 and tf32 types",
        lambda b: plain(b, kind=MmaKind.F8F6F4, scale_d=3)),
    "6": (
        "Block scale is not supported for f16, tf32, f8f6f4, and i8 types",
        lambda b: scaled(b, kind=MmaKind.F16)),
    "7": (
        "ashift is not supported with tcgen05.mma.block_scale variants",
        lambda b: scaled(b, kind=MmaKind.MXF8F6F4, ashift=True)),
    "9": (
        "Cannot use weight stationary with mxf8f6f4 and fp4 types",
        lambda b: b.tcgen05_mma_ws(
            taddr(b), b.const(1, 64), b.const(2, 64), 3, 1, kind=MmaKind.MXF4)),
    "10, fill": (
        "Cannot use collector::a::use or colletor::a::fill with ashift",
        lambda b: plain(b, kind=MmaKind.F16, ashift=True, collector_a=CollectorA.FILL)),
    "10, use": (
        "Cannot use collector::a::use or colletor::a::fill with ashift",
        lambda b: plain(b, kind=MmaKind.F16, ashift=True, collector_a=CollectorA.USE)),
    "11": (
        "scale vector size is not legal for this input family",
        lambda b: scaled(b, kind=MmaKind.MXF8F6F4, scale_vec=ScaleVec.BLOCK16)),
    "12": (
        "scale vector size is not legal for this input family",
        lambda b: scaled(b, kind=MmaKind.MXF4NVF4)),
    "13": (
        "scale vector size is not legal for this input family",
        lambda b: scaled(b, kind=MmaKind.MXF4, scale_vec=ScaleVec.BLOCK16)),
}  # fmt: skip
"""Rules of the ladder, their words, and what breaks them."""


@pytest.mark.parametrize("rule", LADDER)
def test_the_rules_of_the_ladder_speak_before_llvm_has_no_name_for_a_form(rule: str) -> None:
    text, breaks = LADDER[rule]
    assert text in refusal(lambda b, a: breaks(b))


def test_a_shift_of_rows_in_shared_memory_is_refused_by_its_rule() -> None:
    text = refusal(
        lambda b, a: b.tcgen05_mma(
            taddr(b), b.const(1, 64), b.const(2, 64), 3, 1, kind=MmaKind.F16, ashift=True
        )
    )
    assert "ashift shifts rows of A in tensor memory" in text


def test_a_load_of_more_than_128_registers_is_refused() -> None:
    text = refusal(lambda b, a: b.tcgen05_ld(taddr(b), num=LdStNum.X64, shape=LdStShape.S16X256B))
    assert "at most 128" in text


def test_static_shared_memory_ends_at_48_kib() -> None:
    text = refusal(lambda b, a: b.shared_tile("t", ElementType.F16, (256, 128)))
    assert "at most 49152" in text
    assert "dynamic_shared=True" in text


OUTSIDE: dict[str, Callable[[KernelBuilder, dict], object]] = {
    "an mbarrier": lambda b, a: b.mbarriers("m", 2)[2],
    "a tile": lambda b, a: b.shared_tiles("t", ElementType.F16, (8, 64), 2)[-1],
    "a tile that is not aligned": lambda b, a: b.shared_tiles("t", ElementType.F16, (4, 64), 2),
    "registers": lambda b, a: b.tcgen05_ld(taddr(b), num=LdStNum.X4)[2:6],
    "one register": lambda b, a: b.tcgen05_ld(taddr(b), num=LdStNum.X4)[2:3],
    "the fifth register": lambda b, a: b.tcgen05_ld(taddr(b), num=LdStNum.X4)[4],
    "a vector of nothing": lambda b, a: b.words([]),
    "one word": lambda b, a: b.load_words(b.shared_word("s"), 1),
}


@each("name", OUTSIDE)
def test_what_is_not_there_is_refused(name: str) -> None:
    assert "expected: " in refusal(OUTSIDE[name])


NONSENSE: dict[str, Callable[[KernelBuilder, dict], object]] = {
    "a name that is taken": lambda b, a: [b.shared_word("s"), b.mbarrier("s")],
    "no name": lambda b, a: b.shared_word(""),
    "no mbarriers": lambda b, a: b.mbarriers("m", 0),
    "a tile of no rows": lambda b, a: b.shared_tile("t", ElementType.F16, (0, 64)),
    "less than no rows": lambda b, a: b.shared_tile("t", ElementType.F16, (-8, 64)),
    "factors for no elements": lambda b, a: b.shared_scales("s", 128, 128, size=0),
    "factors in tensor memory": lambda b, a: b.tensor_memory("t", 32).scale_tiles(
        128, 64, 1, size=0
    ),
    "a second body": lambda b, a: b.begin(),
    "a second end": lambda b, a: [b.finish(), b.finish()],
    "a ring of nothing": lambda b, a: b.ring(0),
    "a loop that stands still": lambda b, a: b.range(4, step=0).__enter__(),
    "Python's condition": lambda b, a: b.if_(True).__enter__(),
    "a number as a condition": lambda b, a: b.if_(b.tid_x).__enter__(),
    "a float": lambda b, a: b.tid_x + 1.5,
    "a narrower extension": lambda b, a: b.tid_x.zext(16),
    "an address that is uniform": lambda b, a: b.uniform(b.shared_word("w")),
}


@each("name", NONSENSE)
def test_nonsense_is_refused(name: str) -> None:
    text = refusal(NONSENSE[name])
    assert "builder/value" in text
    assert "expected: " in text


SHAPES: dict[str, Callable[[], object]] = {
    "no name": lambda: KernelBuilder("", block=32),
    "no threads": lambda: KernelBuilder("k", block=0),
    "too many threads": lambda: KernelBuilder("k", block=(32, 32, 2)),
    "no cluster": lambda: KernelBuilder("k", block=32, cluster=0),
    "a cluster that no GPU has": lambda: KernelBuilder("k", block=32, cluster=17),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_kernel_that_cannot_be_launched_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="expected: "):
        SHAPES[name]()


@pytest.mark.parametrize("name", ["", "x"])
def test_a_parameter_has_a_name_of_its_own(name: str) -> None:
    b = KernelBuilder("k", block=32)
    b.pointer("x")
    with pytest.raises(InputError, match="a name of its own"):
        b.integer(name)


def test_arithmetic_of_numbers_with_values_and_of_registers() -> None:
    """Whatever side the number stands on, and one register by one; numpy computes it again."""
    b = KernelBuilder("k", block=32)
    b.pointer("x")
    b.pointer("y", output=True)
    args = b.begin()
    row = b.tid_x.zext(64) * 16
    values = b.load_words(args["x"] + row, 4, align=16)
    one, two, three, four = values
    found = b.words([100 - one, 3 * two, 0xF0 & three, 0xFF ^ four + values[0]])
    b.store(found, args["y"] + row, align=16)
    x = np.random.default_rng(0).integers(0, 99, (32, 4)).astype(np.uint32)
    y = np.zeros_like(x)
    b.finish().compile(target="sm_100a").run(x, y)
    wanted = [100 - x[:, 0], 3 * x[:, 1], x[:, 2] & 0xF0, (x[:, 3] + x[:, 0]) ^ 0xFF]
    np.testing.assert_array_equal(y, np.stack(wanted, axis=1))


def test_a_variable_keeps_its_width() -> None:
    assert "expected: u32" in refusal(lambda b, a: b.variable(0).set(b.const(0, 64)))


def test_a_tensor_copy_has_one_to_five_dimensions() -> None:
    text = refusal(
        lambda b, a: b.cp_async_bulk_tensor_g2s_tile(
            b.shared_word("s"), b.mbarrier("m"), a["map"], (0,) * 6
        )
    )
    assert "TMA rank must be in the range 1..5" in text


def test_parameters_come_before_the_body() -> None:
    assert "before the body" in refusal(lambda b, a: b.integer("late"))


def test_a_body_must_be_begun() -> None:
    with pytest.raises(InputError, match=r"no call of begin\(\)"):
        KernelBuilder("k", block=32).tcgen05_wait_ld()


# ---- what llvmlite.ir lacks ------------------------------------------------------------------


def test_bfloat_constants_are_llvms_bits() -> None:
    """1.5 is 0x3FC0 in bfloat; LLVM prints it the same way."""
    module = ir.Module()
    type_ = BFloatType()
    variable = ir.GlobalVariable(module, type_, "g")
    variable.initializer = ir.Constant(type_, 1.5)
    printed = str(binding.parse_assembly(str(module), context=binding.create_context()))
    assert "@g = global bfloat 0xR3FC0" in printed


def test_kernels_have_their_attributes() -> None:
    text = kernel(lambda b, a: None)
    assert 'define ptx_kernel void @k(ptr addrspace(1) %out, ptr byval([128 x i8]) align 64 ' \
        '"nvvm.grid_constant" %map, ' in text  # fmt: skip
    assert '"nvvm.reqntid"="128,1,1"' in text

"""The verbs of the builder: thin, typed, named after the intrinsics, with the lines of Python."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path

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
from nvgen.instructions.table import NAMED, others
from tests.each import each
from tests.nvgen.builder.small_kernels import calls, kernel, taddr

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


@each("name", VERBS)
def test_a_verb_calls_the_intrinsic_of_its_name(name: str) -> None:
    """LLVM's own name; LLVM's verifier has accepted the call."""
    assert name in calls(kernel(VERBS[name]))


@each("name", lambda: sorted(catalog.spellings()), parts=2, turns=3)
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


def test_a_verb_of_another_cta_says_who_has_clusters() -> None:
    """Of an instruction that older targets have, too, what the qualifiers in the name need."""
    for name, has in (
        ("mbarrier_arrive", "sm_80 and later, PTX 7.0."),
        ("mbarrier_arrive_space_cluster", "sm_90 and later, PTX 8.0."),
        ("cp_async_bulk_tensor_g2s_cta_tile_gather4", "sm_100 and later, PTX 8.6."),
    ):
        assert getattr(KernelBuilder, name).__doc__.endswith(has)


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
    assert Path(__file__).name in text

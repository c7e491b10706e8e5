"""One statement of nearly every instruction that PTX has: what ptxas takes is never called wrong.

The statements use the registers and variables of the preamble of `tests.oracle.ptxas`.  Those that
nvgen has no row for are kept with a finding that says so, and their share is bounded.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Finding, Severity
from isel.verifier.record import verify_records
from tests.oracle import ptxas

STATEMENTS = """\
add.f32x2 %rd1, %rd2, %rd3;
add.rn.ftz.f32x2 %rd1, %rd2, %rd3;
fma.rn.f32x2 %rd1, %rd2, %rd3, %rd4;
mul.f32x2 %rd1, %rd2, %rd3;
add.f16x2 %r1, %r2, %r3;
add.bf16x2 %r1, %r2, %r3;
add.rn.bf16 %h1, %h2, %h3;
fma.rn.relu.f16x2 %r1, %r2, %r3, %r4;
fma.rn.oob.f16 %h1, %h2, %h3, %h4;
add.f32.bf16 %f1, %h1, %f2;
fma.rn.f32.f16 %f1, %h1, %h2, %f2;
min.xorsign.abs.f32 %f1, %f2, %f3;
min.f32 %f1, %f2, %f3, %f4;
max.NaN.f16x2 %r1, %r2, %r3;
min.s16x2 %r1, %r2, %r3;
max.relu.s32 %r1, %r2, %r3;
max.s16x2.relu %r1, %r2, %r3;
cvt.rn.bf16x2.f32 %r1, %f1, %f2;
cvt.rn.relu.f16x2.f32 %r1, %f1, %f2;
cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;
cvt.rn.satfinite.e2m1x2.f32 %c1, %f1, %f2;
cvt.rn.f16x2.e4m3x2 %r1, %h1;
cvt.rs.f16x2.f32 %r1, %f1, %f2, %r2;
cvt.rs.satfinite.e4m3x4.f32 %r1, {%f1, %f2, %f3, %f4}, %r2;
cvt.rna.tf32.f32 %r1, %f1;
cvt.rn.tf32.f32 %r1, %f1;
cvt.rz.satfinite.ue8m0x2.f32 %h1, %f1, %f2;
cvt.rn.bf16x2.ue8m0x2 %r1, %h1;
cvt.pack.sat.s16.s32 %r1, %r2, %r3;
cvt.pack.sat.u8.s32.b32 %r1, %r2, %r3, %r4;
cvt.sat.u8.s32 %r1, %r2;
cvt.rni.f32.f32 %f1, %f2;
cvt.rzi.ftz.s64.f32 %rd1, %f1;
ld.global.L1::evict_last.L2::128B.b32 %r1, [%rd1];
ld.global.L2::cache_hint.b32 %r1, [%rd1], %rd2;
ld.global.L1::no_allocate.L2::evict_first.L2::256B.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1];
ld.global.nc.L1::no_allocate.v8.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f1}, [%rd1];
ld.global.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd1];
ld.global.b128 %q1, [%rd1];
ld.relaxed.sys.global.b128 %q1, [%rd1];
ld.volatile.shared.v2.f32 {%f1, %f2}, [%r1];
ld.mmio.relaxed.sys.global.u32 %r1, [%rd1];
ld.weak.global.ca.b32 %r1, [%rd1];
ld.global.cv.b32 %r1, [%rd1];
ld.param::entry.b64 %rd1, [kparam];
ld.shared::cluster.b32 %r1, [%r2];
ld.acquire.cluster.shared::cluster.b32 %r1, [%r2];
ld.global.unified.b32 %r1, [%rd1];
ldu.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];
st.global.wt.b32 [%rd1], %r1;
st.global.L1::evict_first.v4.f32 [%rd1], {%f1, %f2, %f3, %f4};
st.release.gpu.global.b64 [%rd1], %rd2;
st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r1], {%r2, %r3, %r4, %r5}, [%r6];
st.bulk.weak.shared::cta [%rd1], 64, 0;
st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r1], %r2, [%r3];
atom.global.add.noftz.f16x2 %r1, [%rd1], %r2;
atom.global.add.noftz.bf16 %h1, [%rd1], %h2;
atom.global.v4.f32.add {%f1, %f2, %f3, %f4}, [%rd1], {%f1, %f2, %f3, %f4};
atom.global.add.v2.f32 {%f1, %f2}, [%rd1], {%f1, %f2};
atom.acq_rel.gpu.global.cas.b128 %q1, [%rd1], %q2, %q3;
atom.global.exch.b128 %q1, [%rd1], %q2;
atom.cas.b16 %h1, [%rd1], %h2, %h3;
atom.shared::cluster.add.u32 %r1, [%r2], %r3;
atom.global.inc.u32 %r1, [%rd1], %r2;
atom.global.max.s64 %rd1, [%rd2], %rd3;
atom.global.add.L2::cache_hint.u32 %r1, [%rd1], %r2, %rd3;
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r1], %r2, [%r3];
red.global.add.noftz.v4.bf16x2 [%rd1], {%r1, %r2, %r3, %r4};
red.global.add.v4.f32 [%rd1], {%f1, %f2, %f3, %f4};
red.relaxed.sys.global.add.f64 [%rd1], %fd1;
multimem.ld_reduce.relaxed.sys.global.add.f32 %f1, [%rd1];
multimem.red.relaxed.sys.global.add.f32 [%rd1], %f1;
multimem.st.relaxed.sys.global.f32 [%rd1], %f1;
vote.sync.ballot.b32 %r1, %p1, -1;
vote.sync.all.pred %p1, %p2, -1;
match.all.sync.b32 %r1|%p1, %r2, -1;
match.any.sync.b64 %r1, %rd2, -1;
redux.sync.add.s32 %r1, %r2, -1;
redux.sync.min.abs.NaN.f32 %f1, %f2, -1;
activemask.b32 %r1;
shfl.sync.idx.b32 %r1|%p1, %r2, 0, 31, -1;
shfl.sync.up.b32 %r1, %r2, 1, 0, -1;
elect.sync %r1|%p1, -1;
bar.warp.sync -1;
bar.red.popc.u32 %r1, 0, %p1;
barrier.sync.aligned 1, 64;
barrier.cluster.arrive.relaxed;
barrier.cluster.wait.acquire.aligned;
griddepcontrol.wait;
griddepcontrol.launch_dependents;
nanosleep.u32 100;
membar.gl;
membar.sys;
fence.acq_rel.gpu;
fence.sc.cluster;
fence.proxy.async;
fence.proxy.async.global;
fence.proxy.alias;
fence.proxy.tensormap::generic.release.gpu;
fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;
fence.acquire.sync_restrict::shared::cluster.cluster;
fence.mbarrier_init.release.cluster;
setmaxnreg.inc.sync.aligned.u32 240;
mapa.u32 %r1, %r2, %r3;
mapa.shared::cluster.u32 %r1, smem, %r3;
getctarank.shared::cluster.u32 %r1, %r2;
isspacep.global %p1, %rd1;
isspacep.shared::cluster %p1, %rd1;
cvta.to.shared.u64 %rd1, %rd2;
cvta.shared.u64 %rd1, smem;
cvta.param.u64 %rd1, kparam;
cvta.const.u64 %rd1, cmem;
prefetch.global.L2 [%rd1];
prefetch.tensormap [%rd1];
prefetch.global.L2::evict_last [%rd1];
prefetchu.L1 [%rd1];
applypriority.global.L2::evict_normal [%rd1], 128;
discard.global.L2 [%rd1], 128;
createpolicy.fractional.L2::evict_last.b64 %rd1, 1.0;
createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %rd1, [%rd2], %r1, %r2;
createpolicy.cvt.L2.b64 %rd1, %rd2;
cp.async.ca.shared.global [%r1], [%rd1], 16;
cp.async.cg.shared.global.L2::128B [%r1], [%rd1], 16, %r2;
cp.async.commit_group;
cp.async.wait_group 0;
cp.async.wait_all;
cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [%r3];
cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], %r2;
cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r1], [%r2], %r3, [%r4];
cp.async.bulk.commit_group;
cp.async.bulk.wait_group.read 0;
cp.async.bulk.prefetch.L2.global [%rd1], %r1;
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd1], [%r1], %r2;
cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r1], \
[%rd1, {%r2, %r3, %r4}], [%r5], {%h1};
cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {%r1, %r2}], [%r3];
cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd1, {%r1, %r2}];
cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd1, {%r1, %r2}], [%r3];
cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%r1], \
[%rd1, {%r2, %r3, %r4, %r5, %r6}], [%r7];
clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], [%r2];
clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %q1;
tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd2;
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], \
[%r1], 128;
mbarrier.init.shared.b64 [%r1], 1;
mbarrier.inval.shared.b64 [%r1];
mbarrier.arrive.shared.b64 %rd1, [%r1];
mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];
mbarrier.arrive.noComplete.shared.b64 %rd1, [%r1], 2;
mbarrier.arrive_drop.shared.b64 %rd1, [%r1];
mbarrier.test_wait.shared.b64 %p1, [%r1], %rd1;
mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [%r1], %r2, %r3;
mbarrier.pending_count.b64 %r1, %rd1;
mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 64;
mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r1], 64;
lop3.b32 %r1, %r2, %r3, %r4, 0x96;
lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 0x96, %p2;
shf.l.wrap.b32 %r1, %r2, %r3, %r4;
prmt.b32 %r1, %r2, %r3, 0x3210;
prmt.b32.f4e %r1, %r2, %r3, %r4;
bfe.u64 %rd1, %rd2, %r1, %r2;
bfi.b32 %r1, %r2, %r3, %r4, %r5;
bfind.shiftamt.u32 %r1, %r2;
bmsk.clamp.b32 %r1, %r2, %r3;
szext.wrap.s32 %r1, %r2, %r3;
fns.b32 %r1, %r2, %r3, %r4;
dp4a.u32.s32 %r1, %r2, %r3, %r4;
dp2a.lo.u32.u32 %r1, %r2, %r3, %r4;
vadd.s32.s32.s32.sat %r1, %r2, %r3;
vadd4.s32.s32.s32 %r1, %r2, %r3, %r4;
vabsdiff.u32.u32.u32.add %r1, %r2.b0, %r3.h1, %r4;
vmad.s32.s32.u32.shr7 %r1, %r2, %r3.b0, %r4;
vset.u32.u32.lt %r1, %r2, %r3;
slct.f32.s32 %f1, %f2, %f3, %r1;
set.gt.u32.f32 %r1, %f1, %f2;
set.lt.and.f32.s32 %f1, %r1, %r2, %p1;
set.eq.f16x2.f16x2 %r1, %r2, %r3;
setp.lt.and.f32 %p1|%p2, %f1, %f2, %p3;
setp.ltu.f16x2 %p1|%p2, %r1, %r2;
setp.num.f32 %p1, %f1, %f2;
setp.ne.b64 %p1, %rd1, 0;
setp.lo.u32 %p1, %r1, %r2;
selp.f32 %f1, %f2, %f3, %p1;
selp.b16 %h1, %h2, %h3, %p1;
cnot.b32 %r1, %r2;
testp.finite.f32 %p1, %f1;
copysign.f32 %f1, %f2, %f3;
tanh.approx.f32 %f1, %f2;
tanh.approx.bf16x2 %r1, %r2;
ex2.approx.ftz.bf16 %h1, %h2;
ex2.approx.f16x2 %r1, %r2;
rcp.approx.ftz.f64 %fd1, %fd2;
rsqrt.approx.f64 %fd1, %fd2;
sqrt.rn.f64 %fd1, %fd2;
div.full.f32 %f1, %f2, %f3;
sin.approx.f32 %f1, %f2;
lg2.approx.ftz.f32 %f1, %f2;
mul24.hi.s32 %r1, %r2, %r3;
mad24.lo.u32 %r1, %r2, %r3, %r4;
sad.u16 %h1, %h2, %h3, %h4;
mad.wide.u16 %r1, %h1, %h2, %r2;
mad.hi.sat.s32 %r1, %r2, %r3, %r4;
madc.lo.cc.u32 %r1, %r2, %r3, %r4;
add.sat.s32 %r1, %r2, %r3;
add.u16x2 %r1, %r2, %r3;
sub.cc.u32 %r1, %r2, %r3;
abs.f16x2 %r1, %r2;
abs.bf16 %h1, %h2;
neg.ftz.f16 %h1, %h2;
abs.s64 %rd1, %rd2;
mov.b128 %q1, {%rd1, %rd2};
mov.b64 {%r1, %r2}, %rd1;
mov.b64 {%r1, _}, %rd1;
mov.b32 %r1, {%h1, %h2};
mov.b32 {%c1, %c2, %c3, %c4}, %r1;
mov.u64 %rd1, %clock64;
mov.u32 %r1, %clock;
mov.u64 %rd1, %globaltimer;
mov.u32 %r1, %smid;
mov.u32 %r1, %nwarpid;
mov.u32 %r1, %lanemask_lt;
mov.u32 %r1, %dynamic_smem_size;
mov.u32 %r1, %total_smem_size;
mov.u32 %r1, %cluster_ctarank;
mov.u32 %r1, %cluster_ctaid.x;
mov.u32 %r1, %is_explicit_cluster;
mov.pred %p1, %is_explicit_cluster;
mov.b32 %r1, %envreg3;
mov.u64 %rd1, %gridid;
mov.u32 %r1, %pm0;
mov.v4.u32 {%r1, %r2, %r3, %r4}, %tid;
mov.u16 %h1, %tid.x;
cvt.u16.u32 %h1, %tid.x;
add.u32 %r1, %tid.x, %ctaid.x;
mov.u32 %r1, smem;
mov.u64 %rd1, gmem+16;
mov.f16 %hf1, %hf2;
mov.b16 %h1, 0x3C00;
mov.f64 %fd1, 0d3FF0000000000000;
mov.f32 %f1, 1.5;
mov.b32 %r1, 0f3F800000;
alloca.u64 %rd1, %rd2, 16;
stacksave.u64 %rd1;
stackrestore.u64 %rd1;
pmevent 7;
trap;
brkpt;
exit;
@%p1 exit;
ret.uni;
bra.uni L0;
@!%p1 bra L0;
txq.width.b32 %r1, [%rd1];
istypep.texref %p1, %rd1;
ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r1, %r2}, [%r3];
ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r3];
stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2};
movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;
mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, \
{%r5, %r6}, {%f1, %f2, %f3, %f4};
mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, \
{%r1, %r2, %r3, %r4}, {%r5, %r6, %r7, %r8}, {%f1, %f2, %f3, %f4}, %r9, 0x0;
wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd1];
tcgen05.cp.cta_group::1.128x256b [%r1], %rd1;
tcgen05.shift.cta_group::1.down [%r1];
tcgen05.ld.sync.aligned.16x64b.x2.pack::16b.b32 {%r1, %r2}, [%r3];
tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1], {%r2};
tcgen05.mma.ws.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1;
tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block32 [%r1], %rd1, %rd2, %r2, [%r3], \
[%r4], %p1;
div.s64 %rd1, %rd2, %rd3;
rem.u16 %h1, %h2, %h3;
shr.s16 %h1, %h2, %r1;
popc.b64 %r1, %rd1;
clz.b32 %r1, %r2;
brev.b64 %rd1, %rd2;
and.pred %p1, %p2, %p3;
not.pred %p1, %p2;
xor.b16 %h1, %h2, %h3;
fma.rn.bf16x2 %r1, %r2, %r3, %r4;
mul.rn.bf16 %h1, %h2, %h3;
sub.rz.f64 %fd1, %fd2, %fd3;
fma.rm.sat.f32 %f1, %f2, %f3, %f4;
mad.rn.f32 %f1, %f2, %f3, %f4;
mad.f32 %f1, %f2, %f3, %f4;
add.f64 %fd1, %fd2, 1.0;
add.f32 %f1, %f2, 0f3F800000;
""".splitlines()
"""PTX ISA, Instruction Set, in the manual's words."""

UNKNOWN_SHARE = 0.25
"""No more of what ptxas takes is not known to nvgen."""


@pytest.mark.parametrize(
    ("target", "ptx"),
    [("sm_100a", "9.5"), ("sm_90a", "9.0"), ("sm_120a", "9.5"), ("sm_107a", "9.4")],
)
def test_what_ptxas_takes_is_not_called_wrong(target: str, ptx: str):
    verdicts = ptxas.judge(STATEMENTS, target, ptx)
    reading = read_ptx(ptxas.module_text(STATEMENTS, target, ptx))
    module = reading.module
    assert module.ptx is not None
    told: dict[int, list[Finding]] = defaultdict(list)
    for finding in [*reading.findings, *verify_records(module, module.target, module.ptx)]:
        told[finding.place.line].append(finding)
    right = [i for i, complaints in enumerate(verdicts) if not complaints]
    wrong = [
        (STATEMENTS[i], finding.message)
        for i in right
        for finding in told[ptxas.line_of(i)]
        if finding.severity is Severity.ERROR
    ]
    assert wrong == []
    missed = [s for i, s in enumerate(STATEMENTS) if verdicts[i] and not told[ptxas.line_of(i)]]
    assert missed == []
    unknown = [STATEMENTS[i] for i in right if told[ptxas.line_of(i)]]
    print(f"{target}: {len(unknown)} of {len(right)} statements are not known to nvgen")
    assert len(unknown) <= UNKNOWN_SHARE * len(right)

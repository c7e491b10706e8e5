; Counts of bytes: in shared memory first, then added to global memory; 256 threads.
@counts = internal addrspace(3) global [256 x i32] undef, align 4
define ptx_kernel void @histogram(ptr addrspace(1) noalias readonly %in, ptr addrspace(1) noalias %out, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %blocks = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %mine = getelementptr inbounds [256 x i32], ptr addrspace(3) @counts, i32 0, i32 %tid
  store i32 0, ptr addrspace(3) %mine, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %first = shl i32 %block, 8
  %start = or disjoint i32 %first, %tid
  %step = shl i32 %blocks, 8
  %some = icmp ult i32 %start, %n
  br i1 %some, label %loop, label %merge
loop:
  %i = phi i32 [ %start, %entry ], [ %next, %loop ]
  %at = zext i32 %i to i64
  %p = getelementptr inbounds i8, ptr addrspace(1) %in, i64 %at
  %v = load i8, ptr addrspace(1) %p, align 1
  %bin = zext i8 %v to i32
  %pc = getelementptr inbounds [256 x i32], ptr addrspace(3) @counts, i32 0, i32 %bin
  %old = atomicrmw add ptr addrspace(3) %pc, i32 1 monotonic, align 4
  %next = add i32 %i, %step
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %merge
merge:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %count = load i32, ptr addrspace(3) %mine, align 4
  %tat = zext i32 %tid to i64
  %pout = getelementptr inbounds i32, ptr addrspace(1) %out, i64 %tat
  %before = atomicrmw add ptr addrspace(1) %pout, i32 %count monotonic, align 4
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

; The sum of 256 numbers for each block, by a tree in shared memory.
@sums = internal addrspace(3) global [256 x i32] undef, align 4
define ptx_kernel void @reduce_shared(ptr addrspace(1) noalias readonly %in, ptr addrspace(1) noalias %out, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = shl i32 %block, 8
  %i = or disjoint i32 %first, %tid
  %inside = icmp ult i32 %i, %n
  br i1 %inside, label %read, label %keep
read:
  %at = zext i32 %i to i64
  %p = getelementptr inbounds i32, ptr addrspace(1) %in, i64 %at
  %v = load i32, ptr addrspace(1) %p, align 4
  br label %keep
keep:
  %mine = phi i32 [ %v, %read ], [ 0, %entry ]
  %slot = getelementptr inbounds [256 x i32], ptr addrspace(3) @sums, i32 0, i32 %tid
  store i32 %mine, ptr addrspace(3) %slot, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %loop
loop:
  %half = phi i32 [ 128, %keep ], [ %next, %joined ]
  %low = icmp ult i32 %tid, %half
  br i1 %low, label %add, label %joined
add:
  %other = add nuw nsw i32 %half, %tid
  %po = getelementptr inbounds [256 x i32], ptr addrspace(3) @sums, i32 0, i32 %other
  %vo = load i32, ptr addrspace(3) %po, align 4
  %old = load i32, ptr addrspace(3) %slot, align 4
  %sum = add i32 %old, %vo
  store i32 %sum, ptr addrspace(3) %slot, align 4
  br label %joined
joined:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %next = lshr i32 %half, 1
  %last = icmp ult i32 %half, 2
  br i1 %last, label %done, label %loop
done:
  %is_first = icmp eq i32 %tid, 0
  br i1 %is_first, label %write, label %end
write:
  %total = load i32, ptr addrspace(3) @sums, align 4
  %bat = zext i32 %block to i64
  %pout = getelementptr inbounds i32, ptr addrspace(1) %out, i64 %bat
  store i32 %total, ptr addrspace(1) %pout, align 4
  br label %end
end:
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

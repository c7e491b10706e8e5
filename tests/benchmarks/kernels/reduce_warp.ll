; The sum of 32 numbers for each warp, by exchanges between its lanes
define ptx_kernel void @reduce_warp(ptr addrspace(1) noalias readonly %in, ptr addrspace(1) noalias %out) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %at = zext i32 %tid to i64
  %p = getelementptr inbounds i32, ptr addrspace(1) %in, i64 %at
  %v0 = load i32, ptr addrspace(1) %p, align 4
  %o0 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %v0, i32 16, i32 31)
  %v1 = add i32 %o0, %v0
  %o1 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %v1, i32 8, i32 31)
  %v2 = add i32 %o1, %v1
  %o2 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %v2, i32 4, i32 31)
  %v3 = add i32 %o2, %v2
  %o3 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %v3, i32 2, i32 31)
  %v4 = add i32 %o3, %v3
  %o4 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %v4, i32 1, i32 31)
  %v5 = add i32 %o4, %v4
  %lane = and i32 %tid, 31
  %first = icmp eq i32 %lane, 0
  br i1 %first, label %write, label %end
write:
  %warp = lshr i32 %tid, 5
  %wat = zext nneg i32 %warp to i64
  %po = getelementptr inbounds i32, ptr addrspace(1) %out, i64 %wat
  store i32 %v5, ptr addrspace(1) %po, align 4
  br label %end
end:
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)

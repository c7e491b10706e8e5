; for (i = global id; i < n; i += threads) c[i] = a[i] + b[i]
define ptx_kernel void @add_grid_stride(ptr addrspace(1) noalias readonly %a, ptr addrspace(1) noalias readonly %b, ptr addrspace(1) noalias %c, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %blocks = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %first = mul i32 %block, %size
  %start = add i32 %first, %tid
  %step = mul i32 %blocks, %size
  %some = icmp ult i32 %start, %n
  br i1 %some, label %loop, label %end
loop:
  %i = phi i32 [ %start, %entry ], [ %next, %loop ]
  %at = zext i32 %i to i64
  %pa = getelementptr inbounds i32, ptr addrspace(1) %a, i64 %at
  %va = load i32, ptr addrspace(1) %pa, align 4
  %pb = getelementptr inbounds i32, ptr addrspace(1) %b, i64 %at
  %vb = load i32, ptr addrspace(1) %pb, align 4
  %sum = add nsw i32 %vb, %va
  %pc = getelementptr inbounds i32, ptr addrspace(1) %c, i64 %at
  store i32 %sum, ptr addrspace(1) %pc, align 4
  %next = add i32 %i, %step
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()

; c = a * b for square matrices of n rows, one element for each thread
define ptx_kernel void @matmul_float(ptr addrspace(1) noalias readonly %a, ptr addrspace(1) noalias readonly %b, ptr addrspace(1) noalias %c, i32 %n) {
entry:
  %tx = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ty = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %bx = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %by = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %x0 = shl i32 %bx, 4
  %y0 = shl i32 %by, 4
  %col = add i32 %x0, %tx
  %row = add i32 %y0, %ty
  %col.in = icmp slt i32 %col, %n
  %row.in = icmp slt i32 %row, %n
  %inside = and i1 %col.in, %row.in
  br i1 %inside, label %begin, label %end
begin:
  %line = mul nsw i32 %row, %n
  %line.at = sext i32 %line to i64
  %pa0 = getelementptr inbounds float, ptr addrspace(1) %a, i64 %line.at
  %count = zext nneg i32 %n to i64
  %col.at = sext i32 %col to i64
  br label %loop
loop:
  %k = phi i64 [ 0, %begin ], [ %k.next, %loop ]
  %acc = phi float [ 0.000000e+00, %begin ], [ %sum, %loop ]
  %pa = getelementptr inbounds float, ptr addrspace(1) %pa0, i64 %k
  %va = load float, ptr addrspace(1) %pa, align 4
  %skip = mul nuw nsw i64 %k, %count
  %at = add nsw i64 %skip, %col.at
  %pb = getelementptr inbounds float, ptr addrspace(1) %b, i64 %at
  %vb = load float, ptr addrspace(1) %pb, align 4
  %sum = call contract float @llvm.fma.f32(float %va, float %vb, float %acc)
  %k.next = add nuw nsw i64 %k, 1
  %done = icmp eq i64 %k.next, %count
  br i1 %done, label %write, label %loop
write:
  %to = add nsw i32 %line, %col
  %to.at = sext i32 %to to i64
  %pc = getelementptr inbounds float, ptr addrspace(1) %c, i64 %to.at
  store float %sum, ptr addrspace(1) %pc, align 4
  br label %end
end:
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare float @llvm.fma.f32(float, float, float)

; Five points of a grid of floats, the inner ones only.
define ptx_kernel void @stencil_float(ptr addrspace(1) noalias readonly %in, ptr addrspace(1) noalias %out, i32 %w, i32 %h) {
entry:
  %tx = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ty = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %bx = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %by = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %x0 = shl i32 %bx, 5
  %y0 = shl i32 %by, 3
  %x = or disjoint i32 %x0, %tx
  %y = or disjoint i32 %y0, %ty
  %x.low = icmp sgt i32 %x, 0
  %y.low = icmp sgt i32 %y, 0
  %low = and i1 %x.low, %y.low
  %w1 = add nsw i32 %w, -1
  %h1 = add nsw i32 %h, -1
  %x.high = icmp slt i32 %x, %w1
  %y.high = icmp slt i32 %y, %h1
  %high = and i1 %x.high, %y.high
  %inside = and i1 %low, %high
  br i1 %inside, label %then, label %end
then:
  %line = mul nsw i32 %y, %w
  %i = add nsw i32 %line, %x
  %at = sext i32 %i to i64
  %p = getelementptr inbounds float, ptr addrspace(1) %in, i64 %at
  %c = load float, ptr addrspace(1) %p, align 4
  %pl = getelementptr inbounds i8, ptr addrspace(1) %p, i64 -4
  %l = load float, ptr addrspace(1) %pl, align 4
  %pr = getelementptr inbounds i8, ptr addrspace(1) %p, i64 4
  %r = load float, ptr addrspace(1) %pr, align 4
  %iu = sub nsw i32 %i, %w
  %uat = sext i32 %iu to i64
  %pu = getelementptr inbounds float, ptr addrspace(1) %in, i64 %uat
  %u = load float, ptr addrspace(1) %pu, align 4
  %id = add nsw i32 %i, %w
  %dat = sext i32 %id to i64
  %pd = getelementptr inbounds float, ptr addrspace(1) %in, i64 %dat
  %d = load float, ptr addrspace(1) %pd, align 4
  %s1 = fadd contract float %l, %r
  %s2 = fadd contract float %s1, %u
  %s3 = fadd contract float %s2, %d
  %m = fmul contract float %c, -4.000000e+00
  %s = fadd contract float %s3, %m
  %po = getelementptr inbounds float, ptr addrspace(1) %out, i64 %at
  store float %s, ptr addrspace(1) %po, align 4
  br label %end
end:
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()

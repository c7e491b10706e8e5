; 1 / sqrt(x*x + y*y + z*z) of vectors of four floats
define ptx_kernel void @norms(ptr addrspace(1) noalias readonly %in, ptr addrspace(1) noalias %out) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %at = zext i32 %tid to i64
  %p = getelementptr inbounds <4 x float>, ptr addrspace(1) %in, i64 %at
  %v = load <4 x float>, ptr addrspace(1) %p, align 16
  %x = extractelement <4 x float> %v, i64 0
  %y = extractelement <4 x float> %v, i64 1
  %z = extractelement <4 x float> %v, i64 2
  %yy = fmul contract float %y, %y
  %xy = call contract float @llvm.fma.f32(float %x, float %x, float %yy)
  %xyz = call contract float @llvm.fma.f32(float %z, float %z, float %xy)
  %r = call contract float @llvm.nvvm.rsqrt.approx.f(float %xyz)
  %po = getelementptr inbounds float, ptr addrspace(1) %out, i64 %at
  store float %r, ptr addrspace(1) %po, align 4
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.nvvm.rsqrt.approx.f(float)

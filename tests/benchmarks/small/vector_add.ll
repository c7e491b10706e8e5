; A scaled sum of two vectors, an element a thread.

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @vadd(ptr addrspace(1) noalias readonly %x, ptr addrspace(1) noalias readonly %y, ptr addrspace(1) noalias %z, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %cta = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %first = mul i32 %cta, %size
  %i = add i32 %first, %tid
  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %work, label %done

work:
  %wide = sext i32 %i to i64
  %px = getelementptr inbounds float, ptr addrspace(1) %x, i64 %wide
  %py = getelementptr inbounds float, ptr addrspace(1) %y, i64 %wide
  %pz = getelementptr inbounds float, ptr addrspace(1) %z, i64 %wide
  %a = load float, ptr addrspace(1) %px, align 4
  %b = load float, ptr addrspace(1) %py, align 4
  %scaled = fmul float %a, 2.000000e+00
  %sum = fadd float %scaled, %b
  store float %sum, ptr addrspace(1) %pz, align 4
  br label %done

done:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()

; ASCII letters of a string of known length made large, one byte for each thread
define ptx_kernel void @upper_case(ptr addrspace(1) noalias %text, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %first = mul i32 %block, %size
  %i = add i32 %first, %tid
  %inside = icmp ult i32 %i, %n
  br i1 %inside, label %then, label %end
then:
  %at = zext i32 %i to i64
  %p = getelementptr inbounds i8, ptr addrspace(1) %text, i64 %at
  %c = load i8, ptr addrspace(1) %p, align 1
  %rank = add i8 %c, -97
  %small = icmp ult i8 %rank, 26
  %large = and i8 %c, -33
  %new = select i1 %small, i8 %large, i8 %c
  store i8 %new, ptr addrspace(1) %p, align 1
  br label %end
end:
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()

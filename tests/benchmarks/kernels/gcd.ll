; Greatest common divisors by Euclid's algorithm
define ptx_kernel void @gcd(ptr addrspace(1) noalias readonly %a, ptr addrspace(1) noalias readonly %b, ptr addrspace(1) noalias %out) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %at = zext i32 %tid to i64
  %pa = getelementptr inbounds i32, ptr addrspace(1) %a, i64 %at
  %va = load i32, ptr addrspace(1) %pa, align 4
  %pb = getelementptr inbounds i32, ptr addrspace(1) %b, i64 %at
  %vb = load i32, ptr addrspace(1) %pb, align 4
  %none = icmp eq i32 %vb, 0
  br i1 %none, label %end, label %loop
loop:
  %x = phi i32 [ %y, %loop ], [ %va, %entry ]
  %y = phi i32 [ %rest, %loop ], [ %vb, %entry ]
  %rest = urem i32 %x, %y
  %done = icmp eq i32 %rest, 0
  br i1 %done, label %end, label %loop
end:
  %r = phi i32 [ %va, %entry ], [ %y, %loop ]
  %po = getelementptr inbounds i32, ptr addrspace(1) %out, i64 %at
  store i32 %r, ptr addrspace(1) %po, align 4
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

; The first of n sorted numbers that is not below a key, for each thread's key
define ptx_kernel void @binary_search(ptr addrspace(1) noalias readonly %sorted, i32 %n, ptr addrspace(1) noalias %keys) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %at = zext i32 %tid to i64
  %pk = getelementptr inbounds i32, ptr addrspace(1) %keys, i64 %at
  %key = load i32, ptr addrspace(1) %pk, align 4
  %some = icmp sgt i32 %n, 0
  br i1 %some, label %loop, label %end
loop:
  %low = phi i32 [ %low.next, %loop ], [ 0, %entry ]
  %high = phi i32 [ %high.next, %loop ], [ %n, %entry ]
  %sum = add nsw i32 %high, %low
  %middle = sdiv i32 %sum, 2
  %mat = sext i32 %middle to i64
  %pm = getelementptr inbounds i32, ptr addrspace(1) %sorted, i64 %mat
  %vm = load i32, ptr addrspace(1) %pm, align 4
  %below = icmp slt i32 %vm, %key
  %after = add nsw i32 %middle, 1
  %low.next = select i1 %below, i32 %after, i32 %low
  %high.next = select i1 %below, i32 %high, i32 %middle
  %more = icmp slt i32 %low.next, %high.next
  br i1 %more, label %loop, label %end
end:
  %found = phi i32 [ 0, %entry ], [ %low.next, %loop ]
  store i32 %found, ptr addrspace(1) %pk, align 4
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

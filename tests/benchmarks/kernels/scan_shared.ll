; Inclusive prefix sums of a block of 256 numbers, doubling the distance each time.
@row = internal addrspace(3) global [2 x [256 x i32]] undef, align 4
define ptx_kernel void @scan_shared(ptr addrspace(1) noalias %data) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = shl i32 %block, 8
  %i = or disjoint i32 %first, %tid
  %at = zext i32 %i to i64
  %p = getelementptr inbounds i32, ptr addrspace(1) %data, i64 %at
  %v = load i32, ptr addrspace(1) %p, align 4
  %start = getelementptr inbounds [2 x [256 x i32]], ptr addrspace(3) @row, i32 0, i32 0, i32 %tid
  store i32 %v, ptr addrspace(3) %start, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %loop
loop:
  %distance = phi i32 [ 1, %entry ], [ %next, %joined ]
  %from = phi i32 [ 0, %entry ], [ %to, %joined ]
  %to = xor i32 %from, 1
  %pv = getelementptr inbounds [2 x [256 x i32]], ptr addrspace(3) @row, i32 0, i32 %from, i32 %tid
  %mine = load i32, ptr addrspace(3) %pv, align 4
  %has = icmp uge i32 %tid, %distance
  br i1 %has, label %add, label %joined
add:
  %before = sub nuw i32 %tid, %distance
  %pb = getelementptr inbounds [2 x [256 x i32]], ptr addrspace(3) @row, i32 0, i32 %from, i32 %before
  %vb = load i32, ptr addrspace(3) %pb, align 4
  %sum = add i32 %vb, %mine
  br label %joined
joined:
  %now = phi i32 [ %sum, %add ], [ %mine, %loop ]
  %pn = getelementptr inbounds [2 x [256 x i32]], ptr addrspace(3) @row, i32 0, i32 %to, i32 %tid
  store i32 %now, ptr addrspace(3) %pn, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %next = shl nuw nsw i32 %distance, 1
  %more = icmp ult i32 %distance, 128
  br i1 %more, label %loop, label %end
end:
  store i32 %now, ptr addrspace(1) %p, align 4
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

; A tile of 32 x 32 through shared memory; a block has 32 x 8 threads.
@tile = internal addrspace(3) global [32 x [33 x i32]] undef, align 4
define ptx_kernel void @transpose(ptr addrspace(1) noalias readonly %in, ptr addrspace(1) noalias %out, i32 %width, i32 %height) {
entry:
  %tx = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ty = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %bx = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %by = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %x0 = shl i32 %bx, 5
  %y0 = shl i32 %by, 5
  %x = add i32 %x0, %tx
  %y = add i32 %y0, %ty
  br label %read
read:
  %k = phi i32 [ 0, %entry ], [ %k.next, %read ]
  %row = add i32 %y, %k
  %line = mul i32 %row, %width
  %i = add i32 %line, %x
  %at = zext i32 %i to i64
  %p = getelementptr inbounds i32, ptr addrspace(1) %in, i64 %at
  %v = load i32, ptr addrspace(1) %p, align 4
  %r = add i32 %ty, %k
  %cell = getelementptr inbounds [32 x [33 x i32]], ptr addrspace(3) @tile, i32 0, i32 %r, i32 %tx
  store i32 %v, ptr addrspace(3) %cell, align 4
  %k.next = add nuw nsw i32 %k, 8
  %k.more = icmp ult i32 %k, 24
  br i1 %k.more, label %read, label %turn
turn:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %x2 = add i32 %y0, %tx
  %y2 = add i32 %x0, %ty
  br label %write
write:
  %j = phi i32 [ 0, %turn ], [ %j.next, %write ]
  %c = add i32 %ty, %j
  %cell2 = getelementptr inbounds [32 x [33 x i32]], ptr addrspace(3) @tile, i32 0, i32 %tx, i32 %c
  %w = load i32, ptr addrspace(3) %cell2, align 4
  %row2 = add i32 %y2, %j
  %line2 = mul i32 %row2, %height
  %i2 = add i32 %line2, %x2
  %at2 = zext i32 %i2 to i64
  %p2 = getelementptr inbounds i32, ptr addrspace(1) %out, i64 %at2
  store i32 %w, ptr addrspace(1) %p2, align 4
  %j.next = add nuw nsw i32 %j, 8
  %j.more = icmp ult i32 %j, 24
  br i1 %j.more, label %write, label %end
end:
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

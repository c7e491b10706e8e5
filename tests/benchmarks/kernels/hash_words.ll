; A hash of each row of words: multiply, rotate, mix, and a final avalanche
define ptx_kernel void @hash_words(ptr addrspace(1) noalias readonly %in, ptr addrspace(1) noalias %out, i32 %words) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %row = mul i32 %words, %tid
  %row.at = zext i32 %row to i64
  %base = getelementptr inbounds i32, ptr addrspace(1) %in, i64 %row.at
  %none = icmp eq i32 %words, 0
  br i1 %none, label %finish, label %begin
begin:
  %count = zext i32 %words to i64
  br label %loop
loop:
  %i = phi i64 [ 0, %begin ], [ %next, %loop ]
  %h = phi i32 [ 0, %begin ], [ %h.next, %loop ]
  %p = getelementptr inbounds i32, ptr addrspace(1) %base, i64 %i
  %v = load i32, ptr addrspace(1) %p, align 4
  %k1 = mul i32 %v, -862048943
  %k2 = call i32 @llvm.fshl.i32(i32 %k1, i32 %k1, i32 15)
  %k3 = mul i32 %k2, 461845907
  %h1 = xor i32 %k3, %h
  %h2 = call i32 @llvm.fshl.i32(i32 %h1, i32 %h1, i32 13)
  %h3 = mul i32 %h2, 5
  %h.next = add i32 %h3, -430675100
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %count
  br i1 %done, label %finish, label %loop
finish:
  %r = phi i32 [ 0, %entry ], [ %h.next, %loop ]
  %a1 = lshr i32 %r, 16
  %a2 = xor i32 %a1, %r
  %a3 = mul i32 %a2, -2048144789
  %a4 = lshr i32 %a3, 13
  %a5 = xor i32 %a4, %a3
  %a6 = mul i32 %a5, -1028477387
  %a7 = lshr i32 %a6, 16
  %a8 = xor i32 %a7, %a6
  %to = zext i32 %tid to i64
  %po = getelementptr inbounds i32, ptr addrspace(1) %out, i64 %to
  store i32 %a8, ptr addrspace(1) %po, align 4
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.fshl.i32(i32, i32, i32)

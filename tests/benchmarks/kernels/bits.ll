; Bit counts, reversals and byte swaps of 64-bit words
define ptx_kernel void @bits(ptr addrspace(1) noalias %data) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %at = zext i32 %tid to i64
  %p = getelementptr inbounds i64, ptr addrspace(1) %data, i64 %at
  %v = load i64, ptr addrspace(1) %p, align 8
  %ones = call range(i64 0, 65) i64 @llvm.ctpop.i64(i64 %v)
  %zeros = call range(i64 0, 65) i64 @llvm.ctlz.i64(i64 %v, i1 false)
  %back = call i64 @llvm.bitreverse.i64(i64 %v)
  %swapped = call i64 @llvm.bswap.i64(i64 %v)
  %m1 = xor i64 %back, %swapped
  %m2 = shl nuw nsw i64 %ones, 8
  %m3 = or i64 %m2, %zeros
  %m4 = add i64 %m1, %m3
  %low = and i64 %m4, 255
  %few = icmp samesign ult i64 %low, 100
  %neg = sub i64 0, %m4
  %r = select i1 %few, i64 %neg, i64 %m4
  store i64 %r, ptr addrspace(1) %p, align 8
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.bitreverse.i64(i64)
declare i64 @llvm.bswap.i64(i64)

; fuzz: run=1
define internal half @f0(i7 %arg0, i7 %arg1) noinline {
entry:
  %mem7 = alloca i64, align 8
  %mem16 = alloca [64 x i8], align 32
  %v1 = sext i7 %arg1 to i16
  %v6 = zext i7 %arg1 to i64
  switch i16 %v1, label %after5 [ i16 16383, label %case2 i16 -32767, label %case3 ]
case2:
  %v9 = sext i7 %arg1 to i128
  %v10 = and i128 %v9, 127
  %v11 = shl i128 18446744073709551615, %v10
  br label %after5
case3:
  br label %after5
after5:
  ret half 0xH8000
}
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %base = getelementptr [4 x i64], ptr addrspace(1) %in, i32 %tid
  %in1 = getelementptr i64, ptr addrspace(1) %base, i64 1
  %v2 = load i64, ptr addrspace(1) %in1, align 8
  %in3 = getelementptr i64, ptr addrspace(1) %base, i64 9223372036854775807
  %v4 = load i64, ptr addrspace(1) %in3, align 8
  %own = mul i32 %tid, 16
  %row = getelementptr i8, ptr addrspace(1) %out, i32 %own
  %v5 = trunc i64 %v2 to i24
  %v6 = trunc i64 %v4 to i24
  %v7 = urem i24 %v6, 24
  %v8 = shl i24 %v5, %v7
  %q11 = getelementptr i8, ptr addrspace(1) %row, i64 512
  %v12 = zext i24 %v8 to i32
  store i32 %v12, ptr addrspace(1) %q11
  ret void
}

; fuzz: ptxas=1
%pair = type { i32, float }
%nest = type { %pair, [2 x i8], <2 x half> }
define internal %pair @make(i32 %a, ptr byval(%nest) align 8 %b) noinline {
  %q = getelementptr inbounds %nest, ptr %b, i32 1025, i32 1, i32 1
  %c = load i8, ptr %q
  %d = zext i8 %c to i32
  %e = insertvalue %pair undef, i32 %d, 0
  %f = insertvalue %pair %e, float 1.0, 1
  ret %pair %f
}
define ptx_kernel void @k(ptr addrspace(1) %p, %nest %v) {
  %m = alloca %nest, align 8
  store %nest %v, ptr %m
  call void @llvm.memcpy.p0.p0.i64(ptr %m, ptr %m, i64 12, i1 false)
  call void @llvm.memset.p0.i64(ptr align 8 %m, i8 1, i64 5, i1 false)
  %r = call %pair @make(i32 4, ptr byval(%nest) align 8 %m)
  %x = extractvalue %pair %r, 0
  store i32 %x, ptr addrspace(1) %p
  ret void
}
declare void @llvm.memcpy.p0.p0.i64(ptr noalias writeonly, ptr noalias readonly, i64, i1 immarg)
declare void @llvm.memset.p0.i64(ptr writeonly, i8, i64, i1 immarg)

; fuzz: ptxas=1
%pair = type { i32, float }
%nest = type { %pair, <2 x half> }
define%pair @make(i32 %a, ptr byval(%nest) align 1048576 %b) noinline {
  %q = getelementptr inbounds %nest, ptr %b, i32 0, i32 1, i32 1
  %c = load i8, ptr %q
  %d = zext i8 %c to i32
  %e = insertvalue %pair undef, i32 %d, 0
  %f = insertvalue %pair %e, float 1.0, 1
  ret %pair %f
}
define ptx_kernel void @k(ptr addrspace(1),%nest){%m=alloca%nest,align 8%r=call%pair@make(i32 4,ptr byval(%nest)align 8%m)ret void}

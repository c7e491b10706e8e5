; fuzz: target=sm_80 opt=1 level=all
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {
  %a = load i8388607, ptr addrspace(1) %p, align 16
  %b = mul i8388607 %a, 170141183460469231731687303715884105727
  %c = lshr i8388607 %b, 65
  %d = add i8388607 %c, %a
  %e = icmp slt i8388607 %d, %a
  %f = select i1 %e, i8388607 %d, i8388607 %a
  store i8388607 %f, ptr addrspace(1) %p, align 16
  %g = load i48, ptr addrspace(1) %p, align 8
  %h = sext i48 %g to i64
  %i = trunc i64 %h to i7
  %j = zext i7 %i to i32
  store i32 %j, ptr addrspace(1) %p
  ret void
}

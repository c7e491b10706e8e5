; What is done with an element is chosen by a number, through a switch of five ways.

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @choose(ptr addrspace(1) %x, i32 %what, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr i32, ptr addrspace(1) %x, i32 %tid
  %old = load i32, ptr addrspace(1) %p, align 4
  switch i32 %what, label %other [
    i32 0, label %double
    i32 1, label %square
    i32 2, label %negate
    i32 5, label %limit
  ]

double:
  %d = shl i32 %old, 1
  br label %join

square:
  %s = mul i32 %old, %old
  br label %join

negate:
  %m = sub i32 0, %old
  br label %join

limit:
  %less = icmp slt i32 %old, %n
  %l = select i1 %less, i32 %old, i32 %n
  br label %join

other:
  %o = xor i32 %old, 255
  br label %join

join:
  %new = phi i32 [ %d, %double ], [ %s, %square ], [ %m, %negate ], [ %l, %limit ], [ %o, %other ]
  store i32 %new, ptr addrspace(1) %p, align 4
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

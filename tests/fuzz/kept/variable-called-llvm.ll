; fuzz:
@llvm.x=addrspace(3)global[256 x i32]poison,align 128define void@k(ptr,i32%n){%s=getelementptr i32,ptr addrspace(3)@llvm.x,i32%n
  store i32%n,ptr addrspace(3)%s
  ret void}
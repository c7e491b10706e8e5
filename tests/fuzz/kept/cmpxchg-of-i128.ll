; fuzz:
define void@f(ptr,ptr addrspace(3)%s,<2 x half>){%25=cmpxchg ptr addrspace(3)%s,i128 0,i128-1acq_rel acquire,align 32ret void}
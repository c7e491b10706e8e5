; fuzz:
define void@k(ptr addrspace(1)%p,i128){atomicrmw add ptr addrspace(1)%p,i128 1monotonic
  ret void}
; One thread multiplies four slices of two matrices into tensor memory; its warp waits and frees it.

target triple = "nvptx64-nvidia-cuda"

@a = internal addrspace(3) global [16384 x i8] undef, align 1024
@columns = internal addrspace(3) global i32 undef, align 4
@done = internal addrspace(3) global i64 undef, align 8

define ptx_kernel void @mma(i64 %adesc, i64 %bdesc) #0 {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp ult i32 %tid, 32
  br i1 %first, label %begin, label %after

begin:
  call void @llvm.nvvm.tcgen05.alloc.shared.cg1(ptr addrspace(3) @columns, i32 128)
  %leads = icmp eq i32 %tid, 0
  br i1 %leads, label %init, label %after

init:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @done, i32 1)
  %taken = load i32, ptr addrspace(3) @columns, align 4
  %d = inttoptr i32 %taken to ptr addrspace(6)
  br label %loop

loop:
  %k = phi i64 [ 0, %init ], [ %next, %loop ]
  %step = shl i64 %k, 1
  %da = add i64 %adesc, %step
  %db = add i64 %bdesc, %step
  %accumulate = icmp ne i64 %k, 0
  call void @llvm.nvvm.tcgen05.mma.shared(ptr addrspace(6) %d, i64 %da, i64 %db, i32 136314896, i1 %accumulate, i32 0, i32 1, i32 0)
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, 4
  br i1 %more, label %loop, label %commit

commit:
  call void @llvm.nvvm.tcgen05.commit.shared.cg1(ptr addrspace(3) @done)
  br label %after

after:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br i1 %first, label %wait, label %end

wait:
  %ready = call i1 @llvm.nvvm.mbarrier.test.wait.parity.scope.cta.space.cta(ptr addrspace(3) @done, i32 0)
  br i1 %ready, label %free, label %wait

free:
  %old = load i32, ptr addrspace(3) @columns, align 4
  %freed = inttoptr i32 %old to ptr addrspace(6)
  call void @llvm.nvvm.tcgen05.dealloc.cg1(ptr addrspace(6) %freed, i32 128)
  br label %end

end:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare void @llvm.nvvm.tcgen05.alloc.shared.cg1(ptr addrspace(3), i32)
declare void @llvm.nvvm.tcgen05.mma.shared(ptr addrspace(6), i64, i64, i32, i1, i32 immarg, i32 immarg, i32 immarg)
declare void @llvm.nvvm.tcgen05.commit.shared.cg1(ptr addrspace(3))
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare i1 @llvm.nvvm.mbarrier.test.wait.parity.scope.cta.space.cta(ptr addrspace(3), i32)
declare void @llvm.nvvm.tcgen05.dealloc.cg1(ptr addrspace(6), i32)

attributes #0 = { "nvvm.reqntid"="128" }

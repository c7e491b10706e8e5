; A sum over a grid of one block: a loop with PHIs, shuffles, an atomic addition of each warp.

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @reduce(ptr addrspace(1) readonly %x, ptr addrspace(1) %out, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %some = icmp ult i32 %tid, %n
  br i1 %some, label %loop, label %after

loop:
  %i = phi i32 [ %tid, %entry ], [ %next, %loop ]
  %sum = phi float [ 0.000000e+00, %entry ], [ %more, %loop ]
  %wide = zext i32 %i to i64
  %p = getelementptr inbounds float, ptr addrspace(1) %x, i64 %wide
  %v = load float, ptr addrspace(1) %p, align 4
  %more = fadd float %sum, %v
  %next = add nuw i32 %i, 256
  %again = icmp ult i32 %next, %n
  br i1 %again, label %loop, label %after

after:
  %mine = phi float [ 0.000000e+00, %entry ], [ %more, %loop ]
  %o1 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %mine, i32 16, i32 31)
  %s1 = fadd float %mine, %o1
  %o2 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %s1, i32 8, i32 31)
  %s2 = fadd float %s1, %o2
  %lane = and i32 %tid, 31
  %leads = icmp eq i32 %lane, 0
  br i1 %leads, label %add, label %done

add:
  %old = atomicrmw fadd ptr addrspace(1) %out, float %s2 monotonic
  br label %done

done:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)

; Softmax of rows, y[i] = exp(x[i] - max) / sum, in ordinary LLVM IR: one CTA of 128 threads a row.
;
;     nvgen compile samples/04_softmax.ll -o - --target sm_90a
;
; Device functions, shuffles within a warp, shared memory across warps, loops of a run-time length.
; Where no thread of a warp has anything to say, it says -inf and 0.  Runs on every target from
; sm_75, on the CPU simulator, and on a GPU with device="cuda".

target triple = "nvptx64-nvidia-cuda"

@partial = internal addrspace(3) global [4 x float] undef, align 16    ; one number a warp

define ptx_kernel void @softmax(ptr addrspace(1) noalias readonly %x, ptr addrspace(1) noalias %y, i32 %columns) #0 {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %row = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = mul i32 %row, %columns
  %x.row = getelementptr float, ptr addrspace(1) %x, i32 %first
  %y.row = getelementptr float, ptr addrspace(1) %y, i32 %first
  br label %max.test

; ---- the greatest of the row
max.test:
  %i = phi i32 [ %tid, %entry ], [ %i.next, %max.step ]
  %greatest = phi float [ 0xFFF0000000000000, %entry ], [ %greatest.next, %max.step ]
  %more = icmp ult i32 %i, %columns
  br i1 %more, label %max.step, label %max.done
max.step:
  %x.at = getelementptr float, ptr addrspace(1) %x.row, i32 %i
  %x.here = load float, ptr addrspace(1) %x.at
  %greatest.next = call float @llvm.maxnum.f32(float %greatest, float %x.here)
  %i.next = add i32 %i, 128
  br label %max.test
max.done:
  %max = call float @across(float %greatest, i1 false)
  br label %sum.test

; ---- the exponentials, and their sum
sum.test:
  %j = phi i32 [ %tid, %max.done ], [ %j.next, %sum.step ]
  %sum = phi float [ 0.0, %max.done ], [ %sum.next, %sum.step ]
  %more.j = icmp ult i32 %j, %columns
  br i1 %more.j, label %sum.step, label %sum.done
sum.step:
  %x.at.j = getelementptr float, ptr addrspace(1) %x.row, i32 %j
  %x.j = load float, ptr addrspace(1) %x.at.j
  %below = fsub float %x.j, %max
  %power = fmul float %below, 0x3FF7154760000000                         ; log2(e)
  %e = call float @llvm.nvvm.ex2.approx.f(float %power)
  %y.at.j = getelementptr float, ptr addrspace(1) %y.row, i32 %j
  store float %e, ptr addrspace(1) %y.at.j
  %sum.next = fadd float %sum, %e
  %j.next = add i32 %j, 128
  br label %sum.test
sum.done:
  %total = call float @across(float %sum, i1 true)
  %scale = fdiv float 1.0, %total
  br label %scale.test

; ---- each thread scales what it wrote
scale.test:
  %k = phi i32 [ %tid, %sum.done ], [ %k.next, %scale.step ]
  %more.k = icmp ult i32 %k, %columns
  br i1 %more.k, label %scale.step, label %end
scale.step:
  %y.at.k = getelementptr float, ptr addrspace(1) %y.row, i32 %k
  %y.k = load float, ptr addrspace(1) %y.at.k
  %scaled = fmul float %y.k, %scale
  store float %scaled, ptr addrspace(1) %y.at.k
  %k.next = add i32 %k, 128
  br label %scale.test
end:
  ret void
}

; The sum of all threads' numbers, or the greatest: within each warp, then over its four results.
define internal float @across(float %own, i1 %add) noinline {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %of.warp = call float @within_warp(float %own, i1 %add)
  %warp = lshr i32 %tid, 5
  %slot = getelementptr float, ptr addrspace(3) @partial, i32 %warp
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)                ; the last use is over
  store float %of.warp, ptr addrspace(3) %slot
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %four = load <4 x float>, ptr addrspace(3) @partial, align 16
  %a = extractelement <4 x float> %four, i32 0
  %b = extractelement <4 x float> %four, i32 1
  %c = extractelement <4 x float> %four, i32 2
  %d = extractelement <4 x float> %four, i32 3
  %ab = call float @combined(float %a, float %b, i1 %add)
  %cd = call float @combined(float %c, float %d, i1 %add)
  %all = call float @combined(float %ab, float %cd, i1 %add)
  ret float %all
}

define internal float @within_warp(float %own, i1 %add) noinline {
entry:
  br label %step
step:
  %distance = phi i32 [ 16, %entry ], [ %half, %step ]
  %value = phi float [ %own, %entry ], [ %next, %step ]
  %other = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %value, i32 %distance, i32 31)
  %next = call float @combined(float %value, float %other, i1 %add)
  %half = lshr i32 %distance, 1
  %again = icmp ne i32 %half, 0
  br i1 %again, label %step, label %done
done:
  ret float %next
}

define internal float @combined(float %a, float %b, i1 %add) {
  %sum = fadd float %a, %b
  %greater = call float @llvm.maxnum.f32(float %a, float %b)
  %chosen = select i1 %add, float %sum, float %greater
  ret float %chosen
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)
declare float @llvm.nvvm.ex2.approx.f(float)
declare float @llvm.maxnum.f32(float, float)

attributes #0 = { "nvvm.reqntid"="128" }

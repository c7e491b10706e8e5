; A tile of 32 x 32 through shared memory, with a column to spare against bank conflicts.

target triple = "nvptx64-nvidia-cuda"

@tile = internal addrspace(3) global [32 x [33 x float]] undef, align 16

define ptx_kernel void @transpose(ptr addrspace(1) readonly %x, ptr addrspace(1) %y, i32 %width, i32 %height) #0 {
entry:
  %tx = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ty = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %cx = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %cy = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %bx = shl i32 %cx, 5
  %by = shl i32 %cy, 5
  %col = add i32 %bx, %tx
  %row = add i32 %by, %ty
  %skip = mul i32 %row, %width
  %at = add i32 %skip, %col
  %from = getelementptr float, ptr addrspace(1) %x, i32 %at
  %v = load float, ptr addrspace(1) %from, align 4
  %in = getelementptr [32 x [33 x float]], ptr addrspace(3) @tile, i32 0, i32 %ty, i32 %tx
  store float %v, ptr addrspace(3) %in, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %ocol = add i32 %by, %tx
  %orow = add i32 %bx, %ty
  %oskip = mul i32 %orow, %height
  %oat = add i32 %oskip, %ocol
  %to = getelementptr float, ptr addrspace(1) %y, i32 %oat
  %out = getelementptr [32 x [33 x float]], ptr addrspace(3) @tile, i32 0, i32 %tx, i32 %ty
  %w = load float, ptr addrspace(3) %out, align 4
  store float %w, ptr addrspace(1) %to, align 4
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

attributes #0 = { "nvvm.reqntid"="32,32" }

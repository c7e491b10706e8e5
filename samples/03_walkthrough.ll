; One tile by one CTA, in the spelling of tile compilers: D (64x128, f32) = A (64x64) * B (64x128),
; bf16, in four steps of K = 16.  See its story with
;
;     nvgen trace samples/03_walkthrough.ll --target sm_100a
;
; Every llvm.nvvm.tcgen05 call below is made by all 128 threads together; nvgen chooses the warp or
; the thread that acts.  In global memory A lies as [k][m], B as [n][k], D as [m][n].  Numbers that
; the machine cannot have (16 columns, a stride of 512) stand as the spelling has them: nvgen says
; what it takes instead.  Runs on the CPU simulator; never run on a real Blackwell GPU yet.

target triple = "nvptx64-nvidia-cuda"

; 128-byte swizzling: rows of 128 bytes, eight to a group; a row's 16-byte pieces change places.
@smem_a = internal addrspace(3) global [8192 x i8] undef, align 1024    ; 64 rows of k, 64 m each
@smem_b = internal addrspace(3) global [32768 x i8] undef, align 1024   ; a group every 2048 bytes

define ptx_kernel void @gemm_blackwell(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %d) #0 {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %tmem_d_handle = call i32 @llvm.nvvm.tcgen05.alloc.shared(i32 16)
  br label %stage_a

; ---- 512 pieces of A and 1024 of B into shared memory, 16 bytes a thread and turn
stage_a:
  %i = phi i32 [ %tid, %entry ], [ %i.next, %stage_a ]
  %a.row = lshr i32 %i, 3
  %a.in = and i32 %a.row, 7
  %a.piece = xor i32 %i, %a.in
  %a.at = shl i32 %a.piece, 4
  %a.from = getelementptr <4 x i32>, ptr addrspace(1) %a, i32 %i
  %a.to = getelementptr i8, ptr addrspace(3) @smem_a, i32 %a.at
  %a.data = load <4 x i32>, ptr addrspace(1) %a.from, align 16
  store <4 x i32> %a.data, ptr addrspace(3) %a.to, align 16
  %i.next = add i32 %i, 128
  %a.more = icmp ult i32 %i.next, 512
  br i1 %a.more, label %stage_a, label %stage_b

stage_b:
  %j = phi i32 [ %tid, %stage_a ], [ %j.next, %stage_b ]
  %b.row = lshr i32 %j, 3
  %b.in = and i32 %b.row, 7
  %b.piece = xor i32 %j, %b.in
  %b.group = lshr i32 %b.row, 3
  %b.skip = shl i32 %b.group, 10
  %b.near = shl i32 %b.piece, 4
  %b.at = add i32 %b.near, %b.skip
  %b.from = getelementptr <4 x i32>, ptr addrspace(1) %b, i32 %j
  %b.to = getelementptr i8, ptr addrspace(3) @smem_b, i32 %b.at
  %b.data = load <4 x i32>, ptr addrspace(1) %b.from, align 16
  store <4 x i32> %b.data, ptr addrspace(3) %b.to, align 16
  %j.next = add i32 %j, 128
  %b.more = icmp ult i32 %j.next, 1024
  br i1 %b.more, label %stage_b, label %staged

staged:                                     ; the tensor core must see what the threads have stored
  call void @llvm.nvvm.fence.proxy.async.shared_cta()
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %loop

; ---- one multiply for each 16 of K: two groups of A's rows on, 32 bytes within B's
loop:
  %k = phi i32 [ 0, %staged ], [ %k.next, %loop ]
  %a.step = shl i32 %k, 7
  %b.step = shl i32 %k, 1
  %a.tile = getelementptr i8, ptr addrspace(3) @smem_a, i32 %a.step
  %b.tile = getelementptr i8, ptr addrspace(3) @smem_b, i32 %b.step
  %a_desc = call i64 @llvm.nvvm.tcgen05.mma_smem_desc.encode(ptr addrspace(3) %a.tile, i32 512, i32 16, i32 0, i32 1)
  %b_desc = call i64 @llvm.nvvm.tcgen05.mma_smem_desc.encode(ptr addrspace(3) %b.tile, i32 2048, i32 128, i32 0, i32 1)
  %accumulate = icmp ne i32 %k, 0           ; the first step overwrites what tensor memory held
  call void @llvm.nvvm.tcgen05.mma.cta_group__1(i32 %tmem_d_handle, i64 %a_desc, i64 %b_desc, i32 193, i32 1, i1 %accumulate), !nvgen.atom !0
  %k.next = add i32 %k, 16
  %more = icmp ult i32 %k.next, 64
  br i1 %more, label %loop, label %epilogue

; ---- thread 32w + l holds row 16w + l % 16; the first half of each warp stores
epilogue:
  call void @llvm.nvvm.tcgen05.wait.cta_group__1()
  %acc = call <128 x float> @llvm.nvvm.tcgen05.ld.m64n8x32b(i32 %tmem_d_handle)
  %lane = and i32 %tid, 31
  %stores = icmp ult i32 %lane, 16
  br i1 %stores, label %store, label %done

store:
  %warp = lshr i32 %tid, 5
  %first = shl i32 %warp, 4
  %row = add i32 %first, %lane
  %d.row = getelementptr [128 x float], ptr addrspace(1) %d, i32 %row
  store <128 x float> %acc, ptr addrspace(1) %d.row, align 16
  br label %done

done:
  call void @llvm.nvvm.tcgen05.dealloc(i32 %tmem_d_handle, i32 16)
  call void @llvm.nvvm.tcgen05.relinquish_alloc_permit()
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.fence.proxy.async.shared_cta()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare i32 @llvm.nvvm.tcgen05.alloc.shared(i32)
declare i64 @llvm.nvvm.tcgen05.mma_smem_desc.encode(ptr addrspace(3), i32, i32, i32, i32)
declare void @llvm.nvvm.tcgen05.mma.cta_group__1(i32, i64, i64, i32, i32, i1)
declare void @llvm.nvvm.tcgen05.wait.cta_group__1()
declare <128 x float> @llvm.nvvm.tcgen05.ld.m64n8x32b(i32)
declare void @llvm.nvvm.tcgen05.dealloc(i32, i32)
declare void @llvm.nvvm.tcgen05.relinquish_alloc_permit()

attributes #0 = { "nvvm.reqntid"="128" }

!0 = !{!"sm100_umma_m64n128k16_f32_bf16_bf16", !"MN", !"K"}

// sm_90a: a producer warpgroup with TMA, a consumer with wgmma, mbarriers between them.
#include <cuda.h>
#include <cuda_fp16.h>
extern "C" __global__ void __launch_bounds__(256) hopper(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float *d, int steps) {
  __shared__ __align__(1024) half tile_a[64 * 64], tile_b[64 * 64];
  __shared__ __align__(8) unsigned long long full, empty;
  unsigned f = __cvta_generic_to_shared(&full), e = __cvta_generic_to_shared(&empty);
  unsigned sa = __cvta_generic_to_shared(tile_a), sb = __cvta_generic_to_shared(tile_b);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(f));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 128;" :: "r"(e));
    asm volatile("fence.mbarrier_init.release.cluster;");
    asm volatile("fence.proxy.async.shared::cta;");
  }
  __syncthreads();
  auto wait = [](unsigned bar, unsigned parity) {
    asm volatile("{\n.reg .pred p;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1, 0x989680;\n@p bra.uni DONE;\nbra.uni WAIT;\nDONE:\n}" :: "r"(bar), "r"(parity) : "memory");
  };
  if (threadIdx.x >= 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 128)
      for (int k = 0; k < steps; k++) {
        wait(e, (k & 1) ^ 1);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(f), "r"(16384) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" :: "r"(sa), "l"(&a), "r"(64 * k), "r"(0), "r"(f) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" :: "r"(sb), "l"(&b), "r"(64 * k), "r"(0), "r"(f) : "memory");
      }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    float c[32] = {};
    for (int k = 0; k < steps; k++) {
      wait(f, k & 1);
      unsigned long long da = ((sa >> 4) & 0x3fff) | (1ull << 16) | (64ull << 32) | (1ull << 62);
      unsigned long long db = ((sb >> 4) & 0x3fff) | (1ull << 16) | (64ull << 32) | (1ull << 62);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\nwgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 0;\n}"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]), "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15]),
          "+f"(c[16]), "+f"(c[17]), "+f"(c[18]), "+f"(c[19]), "+f"(c[20]), "+f"(c[21]), "+f"(c[22]), "+f"(c[23]), "+f"(c[24]), "+f"(c[25]), "+f"(c[26]), "+f"(c[27]), "+f"(c[28]), "+f"(c[29]), "+f"(c[30]), "+f"(c[31])
        : "l"(da), "l"(db), "r"(1));
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(e) : "memory");
    }
    for (int j = 0; j < 32; j++) d[threadIdx.x * 32 + j] = c[j];
  }
}

// sm_100a: one tcgen05 tile, inline PTX: allocate, TMA, four MMAs, commit, load, free.
#include <cuda.h>
extern "C" __global__ void __launch_bounds__(128) blackwell(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float *d) {
  __shared__ __align__(1024) unsigned char tile_a[128 * 128], tile_b[128 * 128];
  __shared__ __align__(8) unsigned long long full, done;
  __shared__ unsigned slot;
  unsigned f = __cvta_generic_to_shared(&full), e = __cvta_generic_to_shared(&done), s = __cvta_generic_to_shared(&slot);
  unsigned sa = __cvta_generic_to_shared(tile_a), sb = __cvta_generic_to_shared(tile_b);
  if (threadIdx.x < 32) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 128;" :: "r"(s));
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  }
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(f));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(e));
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  asm volatile("tcgen05.fence::before_thread_sync;");
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;");
  unsigned accumulator = *(volatile unsigned *)&slot;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(f), "r"(32768) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%2, %2}], [%3], %4;" :: "r"(sa), "l"(&a), "r"(0), "r"(f), "l"(0x14F0000000000000ull) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %2}], [%3];" :: "r"(sb), "l"(&b), "r"(0), "r"(f) : "memory");
    asm volatile("{\n\t.reg .pred done;\n\tW: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n\t@!done bra W;\n\t}" :: "r"(f) : "memory");
    for (int k = 0; k < 4; k++) {
      unsigned long long da = 0x4000404000010000ull | ((sa + 32 * k) >> 4 & 0x3fff), db = 0x4000404000010000ull | ((sb + 32 * k) >> 4 & 0x3fff);
      asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %4, 0;\n\ttcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n\t}" :: "r"(accumulator), "l"(da), "l"(db), "r"(0x8200010), "r"(k) : "memory");
    }
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" :: "r"(e) : "memory");
  }
  asm volatile("{\n\t.reg .pred done;\n\tW: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n\t@!done bra W;\n\t}" :: "r"(e) : "memory");
  asm volatile("tcgen05.fence::after_thread_sync;");
  unsigned lane = accumulator + ((threadIdx.x / 32) << 21);
  for (int column = 0; column < 128; column += 4) {
    unsigned r[4];
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(lane + column));
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    for (int j = 0; j < 4; j++) d[threadIdx.x * 128 + column + j] = __uint_as_float(r[j]);
  }
  asm volatile("tcgen05.fence::before_thread_sync;");
  __syncthreads();
  if (threadIdx.x < 32) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 128;" :: "r"(accumulator));
}

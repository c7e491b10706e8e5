// Small kernels as people write them, for `test_mistakes.py`.
//
// nvcc -std=c++17 -arch=sm_90a -ptx kernels.cu -o kernels.ptx, without empty lines and comments

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__device__ unsigned address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

extern "C" {

__global__ void axpy(const int* x, const int* y, int* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = 3 * x[i] + y[i];
}

__global__ void reverse(const int* x, int* y) {
  __shared__ int tile[256];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = tile[255 - threadIdx.x];
}

__global__ void vectors(const int* x, int* y) {
  __shared__ int4 s[128];
  int t = threadIdx.x;
  s[t] = *reinterpret_cast<const int4*>(x + 4 * t);
  __syncthreads();
  int4 v = s[127 - t];
  y[t] = v.x + 2 * v.y + 3 * v.z + 4 * v.w;
}

__global__ void local_order(const int* x, int* y, int k) {
  int sorted[8];
  for (int i = 0; i < 8; i++) sorted[(i + k) & 7] = x[threadIdx.x * 8 + i];
  for (int i = 0; i < 8; i++) y[threadIdx.x * 8 + i] = sorted[i];
}

__global__ void heap(const int* x, int* y, int n) {
  int* list = static_cast<int*>(malloc(n * sizeof(int)));
  int t = threadIdx.x, sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; i++) list[i] = x[(t + i) & 63];
#pragma unroll 1
  for (int i = 0; i < n; i++) sum += list[i] * (i + 1);
  y[t] = sum;
  free(list);
}

__global__ void reduce_tree(const int* x, int* y) {
  __shared__ int s[256];
  unsigned t = threadIdx.x, i = blockIdx.x * 512 + t;
  s[t] = x[i] + x[i + 256];
  __syncthreads();
#pragma unroll 1
  for (unsigned w = 128; w > 0; w >>= 1) {
    if (t < w) s[t] += s[t + w];
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = s[0];
}

__global__ void reverse_in_warps(const int* x, int* y) {
  __shared__ int s[2][32];
  int lane = threadIdx.x & 31, w = threadIdx.x >> 5;
  s[w][lane] = x[threadIdx.x];
  __syncwarp();
  int v = s[w][31 - lane];
  __syncwarp();
  s[w][lane] = v + 1;
  __syncwarp();
  y[threadIdx.x] = s[w][lane ^ 1];
}

__global__ void histogram(const int* x, unsigned* bins, int n) {
  __shared__ unsigned h[64];
  if (threadIdx.x < 64) h[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&h[x[i]], 1u);
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], h[threadIdx.x]);
}

__global__ void __cluster_dims__(4, 1, 1) cluster_sum(const int* x, int* y) {
  __shared__ int part[8];
  __shared__ int total;
  auto cluster = cg::this_cluster();
  int v = __reduce_add_sync(~0u, x[blockIdx.x * 256 + threadIdx.x]);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    int s = 0;
    for (int i = 0; i < 8; i++) s += part[i];
    total = s;
  }
  cluster.sync();
  if (threadIdx.x == 0) {
    int s = 0;
    for (int r = 0; r < 4; r++) s += *cluster.map_shared_rank(&total, r);
    y[blockIdx.x] = s + blockIdx.x;
  }
  cluster.sync();
}

__global__ void through_bulk_copies(const int* x, int* y) {
  __shared__ alignas(128) int s[256];
  __shared__ alignas(8) unsigned long long bar;
  int t = threadIdx.x;
  unsigned at = address(s), full = address(&bar);
  if (t == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(full) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (t == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(full), "n"(1024) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at),
                 "l"(x + blockIdx.x * 256), "n"(1024), "r"(full)
                 : "memory");
  }
  asm volatile("{ .reg .pred p; WAIT: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra WAIT; }" ::"r"(full) : "memory");
  int v = s[255 - t];
  __syncthreads();
  s[t] = v;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (t == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(y + blockIdx.x * 256), "r"(at), "n"(1024) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  }
}

__global__ void sums_of_eight(const int* x, int* y) {
  int v = x[threadIdx.x];
  for (int d = 4; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
  y[threadIdx.x] = v;
}

__global__ void halves(const int* x, int* y) {
  __shared__ int s[128];
  int t = threadIdx.x, half = t / 64;
  s[t] = x[t];
  asm volatile("bar.sync %0, 64;" ::"r"(1 + half) : "memory");
  y[t] = s[half * 64 + 63 - t % 64] + half;
}

__global__ void through_global(const int* x, int* work, int* y) {
  int t = threadIdx.x;
  work[t] = 2 * x[t];
  __syncthreads();
  y[t] = work[255 - t] + 1;
}
}

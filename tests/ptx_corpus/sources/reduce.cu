// Sums: by warp, by block, over the grid with atomics; a histogram in shared memory.
extern "C" __global__ void sum_blocks(const int *in, int *out, int n) {
  __shared__ int partial[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  partial[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (int step = 128; step; step /= 2) {
    if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(out, partial[0]);
}

extern "C" __global__ void histogram(const unsigned char *in, unsigned *bins, int n) {
  __shared__ unsigned local[64];
  if (threadIdx.x < 64) local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&local[in[i] & 63], 1u);
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

extern "C" __global__ void mixed(unsigned long long *a, unsigned *b, double *d, float *f, int n) {
  atomicMax(a, (unsigned long long)n);
  atomicCAS(b, 1u, 2u);
  atomicExch(b + 1, 5u);
  atomicXor(b + 2, 3u);
  atomicInc(b + 3, 7u);
  atomicMin((int *)b + 4, -n);
  atomicAdd(d, 0.5);
  atomicAdd_block(f, 1.0f);
  atomicAdd_system(f + 1, 2.0f);
  if (atomicAnd(b + 5, 0xf0u) == 0) __threadfence_system();
  __threadfence();
  __threadfence_block();
  if (__reduce_add_sync(~0u, threadIdx.x) > __popc(__ballot_sync(~0u, n > (int)threadIdx.x))) b[6] = __activemask();
  b[7] = __match_any_sync(~0u, n);
  b[8] = __syncthreads_count(n > 3);
}

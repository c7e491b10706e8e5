// A row per block of 128: maximum and sum by shuffles and shared memory.
__device__ float over_block(float value, bool is_maximum, float *scratch) {
  for (int step = 16; step; step /= 2) {
    float other = __shfl_xor_sync(0xffffffff, value, step);
    value = is_maximum ? fmaxf(value, other) : value + other;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  float result = scratch[0];
  for (int warp = 1; warp < 4; warp++)
    result = is_maximum ? fmaxf(result, scratch[warp]) : result + scratch[warp];
  return result;
}

extern "C" __global__ void __launch_bounds__(128) softmax(const float *in, float *out, int columns) {
  __shared__ float scratch[4];
  const float *row = in + blockIdx.x * columns;
  float largest = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += 128) largest = fmaxf(largest, row[i]);
  largest = over_block(largest, true, scratch);
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += 128) sum += exp2f((row[i] - largest) * 1.44269504f);
  sum = over_block(sum, false, scratch);
  for (int i = threadIdx.x; i < columns; i += 128)
    out[blockIdx.x * columns + i] = exp2f((row[i] - largest) * 1.44269504f) / sum;
}

// CUB's reductions: of everything, of segments, by key, and the place of the least.
#include <cub/cub.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

cudaError_t sum(void* room, size_t& bytes, const float* from, float* to, int count) {
  return cub::DeviceReduce::Sum(room, bytes, from, to, count);
}

cudaError_t halves(void* room, size_t& bytes, const __half* from, __half* to, int count) {
  return cub::DeviceReduce::Max(room, bytes, from, to, count);
}

cudaError_t least(void* room, size_t& bytes, const long* from, long* to, long* at, long count) {
  return cub::DeviceReduce::ArgMin(room, bytes, from, to, at, count);
}

cudaError_t segments(void* room, size_t& bytes, const float* from, float* to, int many,
                     const int* begin, const int* end) {
  return cub::DeviceSegmentedReduce::Sum(room, bytes, from, to, many, begin, end);
}

cudaError_t by_key(void* room, size_t& bytes, const int* keys, int* unique, const float* from,
                   float* to, int* runs, int count) {
  return cub::DeviceReduce::ReduceByKey(room, bytes, keys, unique, from, to, runs,
                                        cuda::std::plus<>{}, count);
}

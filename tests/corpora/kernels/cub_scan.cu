// CUB's scans with decoupled look-back, over numbers and by key, and its adjacent differences.
#include <cub/cub.cuh>

cudaError_t sums(void* room, size_t& bytes, const int* from, int* to, int count) {
  return cub::DeviceScan::ExclusiveSum(room, bytes, from, to, count);
}

cudaError_t most(void* room, size_t& bytes, const double* from, double* to, int count) {
  return cub::DeviceScan::InclusiveScan(room, bytes, from, to, cuda::maximum<>{}, count);
}

cudaError_t by_key(void* room, size_t& bytes, const int* keys, const float* from, float* to,
                   int count) {
  return cub::DeviceScan::ExclusiveSumByKey(room, bytes, keys, from, to, count);
}

cudaError_t difference(void* room, size_t& bytes, const int* from, int* to, int count) {
  return cub::DeviceAdjacentDifference::SubtractLeftCopy(room, bytes, from, to, count);
}

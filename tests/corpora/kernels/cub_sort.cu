// CUB's radix sort, of keys and of pairs.
#include <cub/cub.cuh>

template cudaError_t cub::DeviceRadixSort::SortKeys<unsigned>(
    void*, size_t&, const unsigned*, unsigned*, unsigned, int, int, cudaStream_t);

cudaError_t pairs(void* room, size_t& bytes, const float* keys, float* sorted, const int* values,
                  int* moved, int count) {
  return cub::DeviceRadixSort::SortPairs(room, bytes, keys, sorted, values, moved, count);
}

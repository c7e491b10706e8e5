// CUB's radix sort: of keys, of pairs, of segments, and of blocks.
#include <cub/cub.cuh>

template cudaError_t cub::DeviceRadixSort::SortKeys<unsigned>(
    void*, size_t&, const unsigned*, unsigned*, unsigned, int, int, cudaStream_t);

cudaError_t pairs(void* room, size_t& bytes, const float* keys, float* sorted, const int* values,
                  int* moved, int count) {
  return cub::DeviceRadixSort::SortPairs(room, bytes, keys, sorted, values, moved, count);
}

cudaError_t segments(void* room, size_t& bytes, const int* keys, int* sorted, int count, int many,
                     const int* begin, const int* end) {
  return cub::DeviceSegmentedSort::SortKeys(room, bytes, keys, sorted, count, many, begin, end);
}

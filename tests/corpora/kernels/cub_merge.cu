// CUB's merges, copies of many pieces, transformations by bulk copies, and loops over elements.
#include <cub/cub.cuh>

struct Less {
  __device__ bool operator()(int one, int other) const { return one < other; }
};

struct Product {
  __device__ float operator()(float one, float other) const { return one * other; }
};

struct Doubles {
  __device__ void operator()(float& value) const { value *= 2; }
};

cudaError_t sorted(void* room, size_t& bytes, int* keys, int count) {
  return cub::DeviceMergeSort::SortKeys(room, bytes, keys, count, Less{});
}

cudaError_t merged(void* room, size_t& bytes, const int* one, int few, const int* other, int many,
                   int* to) {
  return cub::DeviceMerge::MergeKeys(room, bytes, one, few, other, many, to, Less{});
}

cudaError_t copies(void* room, size_t& bytes, void** from, void** to, int* sizes, int many) {
  return cub::DeviceMemcpy::Batched(room, bytes, from, to, sizes, many);
}

cudaError_t products(const float* one, const float* other, float* to, int count) {
  return cub::DeviceTransform::Transform(cuda::std::make_tuple(one, other), to, count, Product{});
}

cudaError_t doubled(float* values, int count) {
  return cub::DeviceFor::ForEachN(values, count, Doubles{});
}

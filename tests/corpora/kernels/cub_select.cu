// CUB's selections, partitions, runs and histograms.
#include <cub/cub.cuh>

struct Even {
  __device__ bool operator()(int value) const { return value % 2 == 0; }
};

cudaError_t flagged(void* room, size_t& bytes, const int* from, const char* flags, int* to,
                    int* many, int count) {
  return cub::DeviceSelect::Flagged(room, bytes, from, flags, to, many, count);
}

cudaError_t even(void* room, size_t& bytes, const int* from, int* to, int* many, int count) {
  return cub::DevicePartition::If(room, bytes, from, to, many, count, Even{});
}

cudaError_t unique(void* room, size_t& bytes, const double* from, double* to, int* many,
                   int count) {
  return cub::DeviceSelect::Unique(room, bytes, from, to, many, count);
}

cudaError_t runs(void* room, size_t& bytes, const int* from, int* unique, int* lengths, int* many,
                 int count) {
  return cub::DeviceRunLengthEncode::Encode(room, bytes, from, unique, lengths, many, count);
}

cudaError_t histogram(void* room, size_t& bytes, const unsigned char* pixels, int* counts,
                      int count) {
  return cub::DeviceHistogram::HistogramEven(room, bytes, pixels, counts, 257, 0, 256, count);
}

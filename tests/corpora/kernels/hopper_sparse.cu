// Hopper, A with half of its elements.
#include "collective.h"

KERNEL(cutlass::arch::Sm90, Sparse, cutlass::bfloat16_t, Rows, cutlass::bfloat16_t, Columns, float,
       Shape<_128, _128, _128>, Shape<_1, _1, _1>,
       cutlass::gemm::KernelTmaWarpSpecializedCooperative,
       cutlass::epilogue::TmaWarpSpecializedCooperative)

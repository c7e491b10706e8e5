// Hopper, A of 4-bit integers that registers widen.
#include "collective.h"

KERNEL(cutlass::arch::Sm90, Dense, cutlass::int4b_t, Rows, cutlass::bfloat16_t, Columns, float,
       Shape<_128, _128, _64>, Shape<_1, _1, _1>,
       cutlass::gemm::KernelTmaWarpSpecializedPingpong, cutlass::epilogue::TmaWarpSpecialized)

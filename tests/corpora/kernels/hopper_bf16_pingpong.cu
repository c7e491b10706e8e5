// Hopper, bf16, two warpgroups that take turns.
#include "collective.h"

KERNEL(cutlass::arch::Sm90, Dense, cutlass::bfloat16_t, Rows, cutlass::bfloat16_t, Columns,
       cutlass::bfloat16_t, Shape<_64, _128, _64>, Shape<_2, _1, _1>,
       cutlass::gemm::KernelTmaWarpSpecializedPingpong, cutlass::epilogue::TmaWarpSpecialized)

// Hopper, fp8 with fast accumulation, two warpgroups on one tile.
#include "collective.h"

KERNEL(cutlass::arch::Sm90, Dense, cutlass::float_e4m3_t, Rows, cutlass::float_e5m2_t, Columns,
       cutlass::bfloat16_t, Shape<_128, _128, _128>, Shape<_1, _2, _1>,
       cutlass::gemm::KernelTmaWarpSpecializedCooperativeFP8FastAccum,
       cutlass::epilogue::TmaWarpSpecializedCooperative)

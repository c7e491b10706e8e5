// Hopper, f16 with B in columns, and CTAs that share the K of a tile.
#include "collective.h"

KERNEL(cutlass::arch::Sm90, Dense, cutlass::half_t, Columns, cutlass::half_t, Rows, float,
       Shape<_128, _128, _64>, Shape<_2, _1, _1>,
       cutlass::gemm::KernelTmaWarpSpecializedCooperative,
       cutlass::epilogue::TmaWarpSpecializedCooperative, Alone, StreamK)

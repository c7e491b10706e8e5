// Blackwell, CTA pairs that share the K of a tile.
#include "collective.h"

KERNEL(cutlass::arch::Sm100, Dense, cutlass::half_t, Rows, cutlass::half_t, Rows, float,
       Shape<_256, _128, _64>, Shape<_2, _1, _1>, cutlass::gemm::KernelTmaWarpSpecialized2SmSm100,
       cutlass::epilogue::TmaWarpSpecialized2Sm, Alone, StreamK)

// Blackwell, bf16 by one CTA.
#include "collective.h"

KERNEL(cutlass::arch::Sm100, Dense, cutlass::bfloat16_t, Rows, cutlass::bfloat16_t, Columns,
       cutlass::bfloat16_t, Shape<_128, _128, _64>, Shape<_1, _1, _1>,
       cutlass::gemm::KernelTmaWarpSpecialized1SmSm100, cutlass::epilogue::TmaWarpSpecialized1Sm)

// Blackwell, fp8 by a CTA pair.
#include "collective.h"

KERNEL(cutlass::arch::Sm100, Dense, cutlass::float_e4m3_t, Rows, cutlass::float_e4m3_t, Columns,
       cutlass::half_t, Shape<_256, _128, _128>, Shape<_2, _2, _1>,
       cutlass::gemm::KernelTmaWarpSpecialized2SmSm100, cutlass::epilogue::TmaWarpSpecialized2Sm)

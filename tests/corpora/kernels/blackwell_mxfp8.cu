// Blackwell, MXFP8 by one CTA.
#include "collective.h"

KERNEL(cutlass::arch::Sm100, Scaled, cutlass::mx_float8_t<cutlass::float_e4m3_t>, Rows,
       cutlass::mx_float8_t<cutlass::float_e4m3_t>, Columns, cutlass::bfloat16_t,
       Shape<_128, _128, _128>, Shape<_1, _1, _1>,
       cutlass::gemm::KernelTmaWarpSpecialized1SmMxf8f6f4Sm100,
       cutlass::epilogue::TmaWarpSpecialized1Sm, Alone, void, 16)

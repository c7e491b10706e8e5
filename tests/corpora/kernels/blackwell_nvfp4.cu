// Blackwell, NVFP4 by a CTA pair.
#include "collective.h"

KERNEL(cutlass::arch::Sm100, Scaled, cutlass::nv_float4_t<cutlass::float_e2m1_t>, Rows,
       cutlass::nv_float4_t<cutlass::float_e2m1_t>, Columns, cutlass::bfloat16_t,
       Shape<_256, _128, _256>, Shape<_2, _1, _1>,
       cutlass::gemm::KernelTmaWarpSpecialized2SmNvf4Sm100,
       cutlass::epilogue::TmaWarpSpecialized2Sm, Alone, void, 32)

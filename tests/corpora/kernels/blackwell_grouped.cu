// Blackwell, many products in one launch, tensor maps that the kernel writes.
#include "collective.h"

KERNEL(cutlass::arch::Sm100, Dense, cutlass::bfloat16_t, Rows*, cutlass::bfloat16_t, Columns*,
       float, Shape<_128, _128, _64>, Shape<_1, _1, _1>,
       cutlass::gemm::KernelPtrArrayTmaWarpSpecialized1SmSm100,
       cutlass::epilogue::PtrArrayTmaWarpSpecialized1Sm, Grouped)

// Hopper, tiles that cp.async brings, for elements that are not aligned.
#include "collective.h"

KERNEL(cutlass::arch::Sm90, Dense, cutlass::half_t, Rows, cutlass::half_t, Columns, float,
       Shape<_128, _128, _64>, Shape<_1, _1, _1>, cutlass::gemm::KernelCpAsyncWarpSpecializedCooperative,
       cutlass::epilogue::NoSmemWarpSpecialized, Alone, void, 4)

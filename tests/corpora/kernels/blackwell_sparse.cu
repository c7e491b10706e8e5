// Blackwell, A with half of its elements.
#include "collective.h"

KERNEL(cutlass::arch::Sm100, Sparse, cutlass::half_t, Rows, cutlass::half_t, Columns, cutlass::half_t,
       Shape<_128, _128, _128>, Shape<_1, _1, _1>,
       cutlass::gemm::KernelSparseTmaWarpSpecialized1SmSm100,
       cutlass::epilogue::TmaWarpSpecialized1Sm)

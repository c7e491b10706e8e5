// Blackwell, tf32 with tiles at dynamic places of a cluster, by warps for a fallback cluster.
#include "collective.h"

KERNEL(cutlass::arch::Sm100, Dense, float, Rows, float, Columns, float, Shape<_128, _64, _32>,
       Shape<int, int, _1>, Auto, AutoEpilogue)

"""The words that the ids and heads of each chapter's rows begin with.

Made from the rows by `make docs`; do not edit.  By them a program is read without the chapters that
it does not use.
"""

WORDS = {
    "tcgen05": "tcgen05",
    "tcgen05_copy": "tcgen05",
    "tcgen05_reduce": "tcgen05",
    "tcgen05_mma": "tcgen05",
    "wgmma": "wgmma",
    "mma_sync": "mma",
    "wmma": "wmma",
    "mbarrier": "mbarrier",
    "tma": "cp",
    "tma_stores": "cp",
    "tensormap": "tensormap",
    "sync": "fence elect bar barrier",
    "memory": "ld st cvta",
    "stack": "alloca stacksave stackrestore",
    "atomic": "atom red",
    "caches": "membar prefetch prefetchu isspacep discard applypriority",
    "policies": "createpolicy",
    "multimem": "multimem",
    "copies": "cp",
    "bulk": "cp",
    "bulk_reduce": "cp",
    "async_stores": "st red",
    "matrix": "ldmatrix stmatrix movmatrix",
    "scalar": (
        "mov add sub mul mad div rem and or xor not shl shr bfe min max abs neg popc clz brev "
        "shf setp selp cvt"
    ),
    "integers": (
        "add addc sub subc mad madc mul24 mad24 sad dp4a dp2a prmt bfi bfind fns cnot szext "
        "bmsk lop3"
    ),
    "floats": (
        "add sub mul fma mad div rcp sqrt rsqrt sin cos lg2 ex2 tanh neg abs copysign min max "
        "testp setp"
    ),
    "narrow_arithmetic": "add sub mul fma",
    "float_conversions": "cvt",
    "control": "bra brx ret exit trap brkpt opaque ? phi",
    "calls": "call",
    "warp": (
        "shfl vote match redux activemask nanosleep pmevent griddepcontrol setmaxnreg "
        "getctarank mapa"
    ),
    "cluster": "fence membar",
    "launch_control": "clusterlaunchcontrol",
}

"""9.7.16.1, Tensor Memory: addresses and allocation, and what the instructions make of them."""

from __future__ import annotations

from tests.manual.rows import Held, Row, kernels, statements

_ALLOC = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], {};"
_IN_TILE = _ALLOC.format("%r2").replace("smem", "tile")
_FREE = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, {};"
_LD = "mov.b32 %r9, {}; tcgen05.ld.sync.aligned.32x32b.x4.b32 {{%r1, %r2, %r3, %r4}}, [%r9];"

ROWS = (
    Row("9.7.16.1: a CTA has 512 columns",
        _LD.format(508), _LD.format(510), "tcgen05.ld/tensor-bounds"),
    Row("9.7.16.1: a CTA has 128 lanes",
        _LD.format(96 << 16), _LD.format(128 << 16), "tcgen05.ld/tensor-bounds"),
    Row("9.7.16.1.1: the lane stands in bits 16 to 31, the column in bits 0 to 15",
        _LD.format(32 << 16 | 64), _LD.format(64 << 16 | 512), "tcgen05.ld/tensor-bounds"),
    Row("9.7.16.1.2: columns come in units of 32",
        _ALLOC.format(32), _ALLOC.format(16), "tcgen05.alloc/immediate-range", refused=True),
    Row("9.7.16.1.2: a power of two of them",
        _ALLOC.format(64), _ALLOC.format(96), "tcgen05.alloc/immediate-range", refused=True),
    Row("9.7.16.1.2: the same is freed",
        _FREE.format(128), _FREE.format(100), "tcgen05.dealloc/immediate-range", refused=True),
    Row("9.7.16.1.2: the same of a number in a register",
        "mov.b32 %r2, 256; " + _IN_TILE, "mov.b32 %r2, 48; " + _IN_TILE,
        "tcgen05.alloc/columns"),
)  # fmt: skip

HELD = (
    Held("9.7.16.1.2: one warp allocates", "tcgen05.alloc/warps",
         ("allocated by all warps", "allocated by two warps")),
    Held("9.7.16.1.2: all of it is freed before the kernel ends", "tcgen05.alloc/never-freed",
         ("never freed", "freed if a parameter says so", "one of two not freed")),
)  # fmt: skip

test_a_sentence_about_a_statement = statements(ROWS)
test_a_sentence_about_a_kernel = kernels(HELD)

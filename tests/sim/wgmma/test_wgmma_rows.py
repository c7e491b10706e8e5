"""K-major rows of wgmma that begin within their span of swizzling, and leave it.

The manual does not say what lies behind the end of a span.  On an H100 the
address runs on, into the next row of the pattern, and is swizzled after that.  PTX ISA,
Asynchronous Warpgroup Level Matrix Shared Memory Layout.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.sim.layouts import swizzled
from tests.sim.ptx import run
from tests.sim.wgmma.wgmma_case import SWIZZLE_CODES, Lying, from_registers

SIZE = 32768
VARIABLES = f".shared .align 1024 .b8 am[{SIZE}];\n.shared .align 1024 .b8 bm[1024];"
KERNEL = """
    shl.b32 %r1, %tx, 2;
    mov.u32 %r2, am;
    mov.u32 %r6, bm;
    cvt.u64.u32 %rd1, %r1;
    add.u64 %rd2, %rd1, %a0;
    add.u32 %r3, %r2, %r1;
    mov.u32 %r4, 0;
fill:
    ld.global.u32 %r5, [%rd2];
    st.shared.u32 [%r3], %r5;
    add.u32 %r3, %r3, 512;
    add.u64 %rd2, %rd2, 512;
    add.u32 %r4, %r4, 512;
    setp.lt.u32 %p1, %r4, {size};
    @%p1 bra fill;
    add.u32 %r3, %r6, %r1;
    add.u64 %rd2, %rd1, %a1;
    ld.global.u32 %r5, [%rd2];
    st.shared.u32 [%r3], %r5;
    fence.proxy.async;
    bar.sync 0;
    add.u32 %r2, %r2, {start};
    shr.u32 %r2, %r2, 4;
    shr.u32 %r6, %r6, 4;
    cvt.u64.u32 %rd3, %r2;
    or.b64 %rd3, %rd3, {a_desc};
    cvt.u64.u32 %rd4, %r6;
    or.b64 %rd4, %rd4, {b_desc};
    setp.ne.u32 %p2, %tx, %tx;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16
        {{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}}, %rd3, %rd4, %p2, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    shl.b32 %r1, %tx, 5;
    cvt.u64.u32 %rd1, %r1;
    add.u64 %rd1, %rd1, %a2;
    st.global.v4.f32 [%rd1], {{%f0, %f1, %f2, %f3}};
    st.global.v4.f32 [%rd1+16], {{%f4, %f5, %f6, %f7}};"""

STARTS = [(32, 16), (32, 240), (64, 48), (64, 1072), (128, 112), (128, 1008), (128, 96)]
"""Spans, and bytes from the pattern's beginning to the first row's; the last stays in its span."""


def rows(image: NDArray[np.float16], span: int, start: int) -> NDArray[np.float32]:
    """64 rows of 16 elements: groups of eight rows, a span apart."""
    found = np.zeros((64, 16), np.float32)
    for row in range(64):
        for k in range(16):
            at = start + row // 8 * 8 * span + row % 8 * span + 2 * k
            found[row, k] = image[swizzled(at, span) // 2]
    return found


@pytest.mark.gpu
@pytest.mark.parametrize(("span", "start"), STARTS)
def test_rows_run_on_into_the_next_span(span: int, start: int) -> None:
    """B is the identity, so D is A as it is read."""
    image = np.random.default_rng(span + start).integers(-2048, 2049, SIZE // 2).astype(np.float16)
    plain = Lying(span=0)
    b = plain.image(np.eye(16, dtype=np.float16).view(np.uint16))[:512]
    out = np.zeros((128, 8), np.uint32)
    text = KERNEL.format(
        size=SIZE,
        start=start,
        a_desc=1 << 16 | 8 * span >> 4 << 32 | SWIZZLE_CODES[span] << 62,
        b_desc=plain.descriptor(16, 32),
    )
    run(text, image, b, out, variables=VARIABLES, threads=128, target="sm_90a")
    d = from_registers(out, 16, 32).view(np.float32)
    assert np.array_equal(d, rows(image, span, start))

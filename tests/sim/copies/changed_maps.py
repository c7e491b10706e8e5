"""Kernels that write a tensor map and copy by it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nvgen.launching.parameters import Output
from tests.sim.layouts import tma_tile

TILE = 1024
VARIABLES = f"""\
.shared .align 1024 .b8 tile[{TILE}];
.shared .align 128 .b8 smap[128];
.shared .align 8 .b64 bar;"""
BOX = (8, 64)
"""Rows and bytes of each."""


def field(name: str, value: object, at: int | None = None, to: str = "shared::cta") -> str:
    """Replace a field of the map in shared memory (%r20) or in the workspace (%a1)."""
    width = "b64" if name in ("global_address", "global_stride") else "b32"
    place = "%r20" if to == "shared::cta" else "%a1"
    where = "" if at is None else f"{at}, "
    return f"    @%p1 tensormap.replace.tile.{name}.{to}.b1024.{width} [{place}], {where}{value};\n"


BEGIN = """
    setp.eq.u32 %p1, %lane, 0;
    mov.u32 %r20, smap;
    mov.u32 %r21, tile;
    mul.lo.u32 %r1, %lane, 4;
    cvt.u64.u32 %rd1, %r1;
    add.u32 %r2, %r20, %r1;
    @%p1 mbarrier.init.shared::cta.b64 [bar], 1;
"""
TEMPLATE = """
    add.u64 %rd2, %m0, %rd1;
    ld.u32 %r3, [%rd2];
    st.shared.u32 [%r2], %r3;
    bar.warp.sync 0xffffffff;
"""
CLEAR = """
    mov.u32 %r9, 0;
    mul.lo.u32 %r10, %lane, 32;
    add.u32 %r10, %r21, %r10;
    st.shared.v4.u32 [%r10], {%r9, %r9, %r9, %r9};
    st.shared.v4.u32 [%r10+16], {%r9, %r9, %r9, %r9};
    fence.proxy.async;
"""
RELEASE = """
    bar.warp.sync 0xffffffff;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned
        [%a1], [%r20], 128;
"""
ACQUIRE = "    fence.proxy.tensormap::generic.acquire.gpu [%a1], 128;\n"


def load(coords: tuple[int, ...], phase: int = 0, map_: str = "%a1", result: str = "%a2") -> str:
    """One thread loads a tile, and all of them show it."""
    place = ", ".join(map(str, coords))
    copy = f"cp.async.bulk.tensor.{len(coords)}d.shared::cluster.global.tile"
    return f"""
    @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {BOX[0] * BOX[1]};
    @%p1 {copy}.mbarrier::complete_tx::bytes
        [%r21], [{map_}, {{{place}}}], [bar];
    bar.warp.sync 0xffffffff;
wait{phase}:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], {phase % 2};
    @!%p2 bra wait{phase};
    mul.lo.u32 %r4, %lane, 16;
    cvt.u64.u32 %rd4, %r4;
    add.u32 %r4, %r21, %r4;
    add.u64 %rd4, {result}, %rd4;
    ld.shared.v4.u32 {{%r5, %r6, %r7, %r8}}, [%r4];
    st.global.v4.u32 [%rd4+{512 * phase}], {{%r5, %r6, %r7, %r8}};
    bar.warp.sync 0xffffffff;
"""


def numbers(rows: int, columns: int, first: int = 1) -> NDArray[np.uint16]:
    count = rows * columns
    return (np.arange(count) + first).astype(np.uint16).reshape(rows, columns)


def tile_of(array: NDArray[np.generic], start: tuple[int, ...], span: int = 0) -> NDArray[np.uint8]:
    """The tile that begins at a place of an array, its bytes as they lie in shared memory."""
    box = (BOX[0], BOX[1] // array.itemsize)
    memory, _ = tma_tile(array, box, start, span=span, base=0, size=BOX[0] * BOX[1])
    return memory


def workspace() -> Output:
    return Output(np.zeros(128, np.uint8))

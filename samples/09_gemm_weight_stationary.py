"""A convolution of 3×3: pixels stay in the tensor core's collectors while filters stream past them.

The product is D[filter, pixel] = Σ over nine taps of W[tap] · X[tap]ᵀ.  For the three taps of a row
of the filter X is the same pixels but for a shift to the side, so tcgen05.mma.ws takes them from
memory once: `collector::bN::fill` keeps them, `use` and `lastuse` find them there, and the
zero-column mask says by how many columns they are shifted, and which of them lie beside the image
and count as zero.

     B: pixels in shared memory, a row each      the three taps of a row of the filter, N = 128

      p0 - 24  ┌───────────────┐                 shift 7, fill      .xxxxxxx.xxxxxxx   dx = -1
               │ row above     │ ◄── dy = -1     shift 8, use       xxxxxxxxxxxxxxxx   dx =  0
      p0       │ 8 rows of the │ ◄── dy =  0     shift 9, lastuse   xxxxxxx.xxxxxxx.   dx = +1
               │ image         │
               │ row below     │ ◄── dy = +1     x: pixels, .: zeros at an edge of the image
      p0 + 152 └───────────────┘                 (drawn for rows of 8, here they have 16)

Each of the four collectors keeps the K = 16 channels of one step.  Above and below the image TMA
brings zeros.  A, the filters, has 64 rows, so that D lies in 128 lanes side by side: pixels 0 to 63
in the lower, 64 to 127 in the upper.

A CTA computes 8 rows of an image 16 pixels wide: 64 filters over 64 channels, in f16.
Runs on the CPU simulator; never run on a real Blackwell GPU yet.
"""

from __future__ import annotations

import numpy as np

from nvgen import CollectorWs, ElementType, Kernel, KernelBuilder, LdStNum, ZeroColumnMask

FILTERS, CHANNELS, WIDTH, ROWS = 64, 64, 16, 8
PIXELS = ROWS * WIDTH  # of a CTA: N
STEPS = CHANNELS // 16
CENTRE, MOST = 8, 16  # the shift of dx = 0; the largest shift that collectors are told of
ABOVE = WIDTH + CENTRE  # pixels that shared memory has before the first
HELD = PIXELS + 2 * WIDTH + MOST
COLUMNS = 64  # of tensor memory: half of N

THREADS = 128
TARGETS = ("sm_100a", "sm_103a", "sm_110a")

FILL, USE, LAST = (
    tuple(CollectorWs[f"B{step}_{what}"] for step in range(STEPS))
    for what in ("FILL", "USE", "LASTUSE")
)

AT_LEFT, AT_RIGHT = (
    (1, 1, 0, 0),
    (0, 0, 0, 0),
)  # which span comes first: that of zeros, or of pixels
EDGE = {"skip_span": 0, "use_span": WIDTH - 2}  # one column of zeros, 15 of pixels
TAPS = (
    (FILL, ZeroColumnMask(first=AT_LEFT, shift=CENTRE - 1, **EDGE)),
    (USE, ZeroColumnMask(nonzero=False, shift=CENTRE)),
    (LAST, ZeroColumnMask(first=AT_RIGHT, shift=CENTRE + 1, **EDGE)),
)
"""For dx = -1, 0, +1: what the collectors do, and the mask."""


def build(dtype: ElementType = ElementType.F16) -> Kernel:
    """The kernel, as LLVM IR."""
    b = KernelBuilder("convolution", block=THREADS, dynamic_shared=True)
    b.tensor_map("w", dtype=dtype, box=(FILTERS, CHANNELS), swizzle=128)
    b.tensor_map("x", dtype=dtype, box=(HELD, CHANNELS), swizzle=128)
    b.pointer("y", output=True)
    args = b.begin()

    filters = b.shared_tiles("filters", dtype, (FILTERS, CHANNELS), 9)
    pixels = b.shared_tile("pixels", dtype, (HELD, CHANNELS))
    loaded, multiplied = b.mbarrier("loaded"), b.mbarrier("multiplied")

    with b.if_thread(0):
        b.mbarrier_init(loaded, 1)
        b.mbarrier_init(multiplied, 1)
        b.fence_mbarrier_init_release_cluster()
    tmem = b.tensor_memory("tmem", COLUMNS)
    sums = tmem.tile(FILTERS, PIXELS, stationary=True)
    first = b.ctaid_x * PIXELS

    with b.if_thread(0):
        b.mbarrier_arrive_expect_tx(loaded, pixels.nbytes + 9 * filters.nbytes)
        b.cp_async_bulk_tensor_g2s_tile(pixels.pointer, loaded, args["x"], (0, first - ABOVE))
        for tap in range(9):
            place = (0, tap * FILTERS)
            b.cp_async_bulk_tensor_g2s_tile(filters[tap].pointer, loaded, args["w"], place)

    with b.if_warp(0):
        b.wait(loaded, 0)
        b.tcgen05_fence_after_thread_sync()
        with b.elect():
            for dy in range(3):
                row = pixels.part(dy * WIDTH, PIXELS)
                for dx, (collectors, mask) in enumerate(TAPS):
                    for step, collector in enumerate(collectors):
                        b.gemm_async(
                            sums,
                            filters[3 * dy + dx],
                            row,
                            step=step,
                            accumulate=(dy, dx, step) != (0, 0, 0),
                            stationary=True,
                            collector=collector,
                            zero_mask=mask,
                            max_shift=MOST,
                        )
            b.tcgen05_commit(multiplied)

    b.wait(multiplied, 0)
    b.tcgen05_fence_after_thread_sync()
    lanes = sums.pointer + (b.tid_x >> 5 << 21)
    half, filter_ = b.tid_x // FILTERS, b.tid_x % FILTERS
    at = filter_ * (b.nctaid_x * PIXELS) + first + half * COLUMNS
    target = args["y"] + at.zext(64) * 4
    for part in range(0, COLUMNS, 32):
        values = b.tcgen05_ld(lanes + part, num=LdStNum.X32)
        b.tcgen05_wait_ld()
        b.store(values, target + part * 4, align=16)
    tmem.free()
    return b.finish()


def operands(
    height: int, dtype: ElementType = ElementType.F16, *, normal: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Filters of (9 · 64, 64), an image of (pixels, 64), and what numpy makes of them.

    The result is (64, pixels).  Small integers, so that every sum is exact; normally distributed
    numbers with `normal`, and a result in float64.
    """
    rng = np.random.default_rng(0)

    def numbers(*shape: int) -> np.ndarray:
        wide = rng.standard_normal(shape) if normal else rng.integers(-4, 5, shape)
        return wide.astype(dtype.numpy)

    w, x = numbers(3, 3, FILTERS, CHANNELS), numbers(height, WIDTH, CHANNELS)
    wide = np.float64 if normal else np.float32
    bordered = np.pad(x.astype(wide), ((1, 1), (1, 1), (0, 0)))
    y = sum(
        bordered[dy : dy + height, dx : dx + WIDTH] @ w[dy, dx].astype(wide).T
        for dy in range(3)
        for dx in range(3)
    )
    flat = np.moveaxis(np.asarray(y), 2, 0).reshape(FILTERS, height * WIDTH)
    return w.reshape(-1, CHANNELS), x.reshape(-1, CHANNELS), np.ascontiguousarray(flat)


def main() -> None:
    """Run an image of 24×16 pixels by three CTAs on the simulator and compare with numpy."""
    height = 3 * ROWS
    w, x, expected = operands(height)
    y = np.zeros_like(expected)
    build().compile(target="sm_100a").run(w, x, y, grid=height // ROWS, device="sim")
    assert np.array_equal(y, expected), "the convolution differs from numpy"
    print(f"3×3 over {height}×{WIDTH} pixels: equal to numpy in all {y.size} elements")


if __name__ == "__main__":
    main()

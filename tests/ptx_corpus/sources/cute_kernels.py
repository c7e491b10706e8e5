"""A kernel in the CuTe DSL: element-wise addition over tiles."""

import cutlass
import cutlass.cute as cute


@cute.kernel
def add_tiles(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, n: cutlass.Int32):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * 128 + thread
    if i < n:
        c[i] = a[i] + b[i] * 2.0


@cute.jit
def add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, n: cutlass.Int32):
    add_tiles(a, b, c, n).launch(grid=[(n + 127) // 128, 1, 1], block=[128, 1, 1])


def main() -> None:
    """Print the PTX of a thousand elements."""
    from cutlass.cute.runtime import make_fake_compact_tensor

    a, b, c = (make_fake_compact_tensor(cutlass.Float32, (1024,)) for _ in range(3))
    print(cute.compile(add, a, b, c, cutlass.Int32(1000)).__ptx__)


if __name__ == "__main__":
    main()

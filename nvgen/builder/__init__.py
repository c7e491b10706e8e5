"""The builder: kernels written in Python, as LLVM IR."""

from nvgen.builder.kernel import Kernel, KernelBuilder
from nvgen.builder.tiles import SharedTile, TensorTile

__all__ = ["Kernel", "KernelBuilder", "SharedTile", "TensorTile"]

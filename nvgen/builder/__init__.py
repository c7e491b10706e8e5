"""The builder: kernels written in Python, as LLVM IR."""

from nvgen.builder.kernel import Kernel, KernelBuilder
from nvgen.builder.tensor_tiles import TensorTile
from nvgen.builder.tiles import SharedTile

__all__ = ["Kernel", "KernelBuilder", "SharedTile", "TensorTile"]

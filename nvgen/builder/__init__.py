"""The builder: kernels written in Python, as LLVM IR."""

from nvgen.builder.built import Kernel
from nvgen.builder.kernel import KernelBuilder
from nvgen.builder.tensor_gemm import TensorTile
from nvgen.builder.tiles import SharedTile

__all__ = ["Kernel", "KernelBuilder", "SharedTile", "TensorTile"]

"""nvgen: LLVM IR for NVIDIA's tensor-core machines to machine records, PTX and a run on the CPU.

    compiled = nvgen.compile(llvm_ir, target="sm_100a")
    print(compiled.mir, compiled.ptx)

`nvgen.KernelBuilder` writes kernels in Python.  What goes wrong is an `nvgen.NvgenError`, whose
`findings` say what, where, and what would be right.
"""

# Nothing is imported here: `python -m nvgen` still has the working directory on its path.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from intrinsics.findings import (
        AssemblerError,
        DriverError,
        Finding,
        InputError,
        NvgenError,
        SelectionError,
        SimulationError,
        VerificationError,
    )
    from intrinsics.tile_dot import TileDot, pick_dot
    from intrinsics.tile_multiply import Tile, TileMultiply
    from nvgen.api import Compiled, compile
    from nvgen.builder.built import Kernel
    from nvgen.builder.kernel import KernelBuilder
    from nvgen.judgement import FindingWarning

__version__ = "0.1.0"
__all__ = [
    "AssemblerError",
    "Compiled",
    "DriverError",
    "Finding",
    "FindingWarning",
    "InputError",
    "Kernel",
    "KernelBuilder",
    "NvgenError",
    "SelectionError",
    "SimulationError",
    "Tile",
    "TileDot",
    "TileMultiply",
    "VerificationError",
    "__version__",
    "compile",
    "pick_dot",
]

_HOMES = {
    "Compiled": "nvgen.api",
    "compile": "nvgen.api",
    "Kernel": "nvgen.builder.built",
    "KernelBuilder": "nvgen.builder.kernel",
    "FindingWarning": "nvgen.judgement",
    "Tile": "intrinsics.tile_multiply",
    "TileDot": "intrinsics.tile_dot",
    "TileMultiply": "intrinsics.tile_multiply",
    "pick_dot": "intrinsics.tile_dot",
    "AssemblerError": "intrinsics.findings",
    "DriverError": "intrinsics.findings",
    "Finding": "intrinsics.findings",
    "InputError": "intrinsics.findings",
    "NvgenError": "intrinsics.findings",
    "SelectionError": "intrinsics.findings",
    "SimulationError": "intrinsics.findings",
    "VerificationError": "intrinsics.findings",
}


def __getattr__(name: str) -> object:
    """Import what is asked for when it is asked for: the command line needs little of it."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'nvgen' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(home), name)

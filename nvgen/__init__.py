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
        Place,
        SelectionError,
        Severity,
        SimulationError,
        VerificationError,
    )
    from intrinsics.multiplies.tile_dot import TileDot, pick_dot
    from intrinsics.multiplies.tile_multiply import Tile, TileMultiply
    from nvgen.api import compile
    from nvgen.builder.built import Kernel
    from nvgen.builder.device import device_function
    from nvgen.builder.kernel import KernelBuilder
    from nvgen.builder.number_types import (
        bf16,
        bf16x2,
        e4m3,
        e5m2,
        f16,
        f16x2,
        f32,
        f32x2,
        f64,
        i8,
        i16,
        i32,
        i64,
        tf32,
        u8,
        u16,
        u32,
        u64,
    )
    from nvgen.compiled import Compiled
    from nvgen.driver.code_cache import CodeCache
    from nvgen.extension import place_of
    from nvgen.judgement import FindingWarning

__version__ = "0.1.0"
__all__ = [
    "AssemblerError",
    "CodeCache",
    "Compiled",
    "DriverError",
    "Finding",
    "FindingWarning",
    "InputError",
    "Kernel",
    "KernelBuilder",
    "NvgenError",
    "Place",
    "SelectionError",
    "Severity",
    "SimulationError",
    "Tile",
    "TileDot",
    "TileMultiply",
    "VerificationError",
    "__version__",
    "bf16",
    "bf16x2",
    "compile",
    "device_function",
    "e4m3",
    "e5m2",
    "f16",
    "f16x2",
    "f32",
    "f32x2",
    "f64",
    "i8",
    "i16",
    "i32",
    "i64",
    "pick_dot",
    "place_of",
    "tf32",
    "u8",
    "u16",
    "u32",
    "u64",
]

_HOMES = {
    "device_function": "nvgen.builder.device",
    "f16": "nvgen.builder.number_types",
    "bf16": "nvgen.builder.number_types",
    "tf32": "nvgen.builder.number_types",
    "f32": "nvgen.builder.number_types",
    "f64": "nvgen.builder.number_types",
    "f16x2": "nvgen.builder.number_types",
    "bf16x2": "nvgen.builder.number_types",
    "f32x2": "nvgen.builder.number_types",
    "e4m3": "nvgen.builder.number_types",
    "e5m2": "nvgen.builder.number_types",
    "i8": "nvgen.builder.number_types",
    "i16": "nvgen.builder.number_types",
    "i32": "nvgen.builder.number_types",
    "i64": "nvgen.builder.number_types",
    "u8": "nvgen.builder.number_types",
    "u16": "nvgen.builder.number_types",
    "u32": "nvgen.builder.number_types",
    "u64": "nvgen.builder.number_types",
    "CodeCache": "nvgen.driver.code_cache",
    "Compiled": "nvgen.compiled",
    "compile": "nvgen.api",
    "Kernel": "nvgen.builder.built",
    "KernelBuilder": "nvgen.builder.kernel",
    "FindingWarning": "nvgen.judgement",
    "Tile": "intrinsics.multiplies.tile_multiply",
    "TileDot": "intrinsics.multiplies.tile_dot",
    "TileMultiply": "intrinsics.multiplies.tile_multiply",
    "pick_dot": "intrinsics.multiplies.tile_dot",
    "AssemblerError": "intrinsics.findings",
    "DriverError": "intrinsics.findings",
    "Finding": "intrinsics.findings",
    "InputError": "intrinsics.findings",
    "NvgenError": "intrinsics.findings",
    "Place": "intrinsics.findings",
    "Severity": "intrinsics.findings",
    "place_of": "nvgen.extension",
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

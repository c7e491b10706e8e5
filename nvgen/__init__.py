"""nvgen: LLVM IR for NVIDIA's tensor-core machines to machine records, PTX and a run on the CPU.

    compiled = nvgen.compile(llvm_ir, target="sm_100a")
    print(compiled.mir, compiled.ptx)

`nvgen.KernelBuilder` writes kernels in Python.  What goes wrong is an `nvgen.NvgenError`, whose
`findings` say what, where, and what would be right.
"""

# Nothing is imported here: `python -m nvgen` still has the working directory on its path.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from intrinsics.descriptors.tensor_address import ZeroColumnMask
    from intrinsics.descriptors.wgmma_desc import WgmmaDescriptor
    from intrinsics.element import ElementType, Major
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
    from intrinsics.modifiers import (
        AccPrecision,
        AtomicOp,
        CacheLevel,
        CacheOp,
        CachePriority,
        ClusterDimension,
        CollectorA,
        CollectorB,
        CollectorWs,
        CopyFormat,
        CopyMulticast,
        CopyShape,
        CtaGroup,
        LdStNum,
        LdStShape,
        LoadMode,
        MapField,
        MmaKind,
        Multicast,
        PrefetchSize,
        ReduceOp,
        ScalarType,
        ScaleVec,
        Scope,
        Sem,
        Shuffle,
        Space,
        SyncRestrict,
        Vec,
        Vote,
        WarpReduce,
    )
    from intrinsics.modifiers.matrix import MatrixNum, MatrixShape
    from intrinsics.modifiers.mma_sync import MmaLayout, MmaShape
    from intrinsics.modifiers.wgmma import BitOperation, MatrixType
    from intrinsics.multiplies.tile_dot import TileDot, pick_dot
    from intrinsics.multiplies.tile_multiply import Tile, TileMultiply
    from intrinsics.tma.rules import Im2col
    from nvgen.api import compile
    from nvgen.builder.device_functions import device_function
    from nvgen.builder.kernel import KernelBuilder
    from nvgen.built import Kernel
    from nvgen.compilation.compiled import Compiled
    from nvgen.compilation.extension import place_of
    from nvgen.compilation.judgement import FindingWarning
    from nvgen.fragments.fragment import Columns, Fragment, Rows
    from nvgen.instructions.mma_rows import WarpScales
    from nvgen.kernel_code.cache import CodeCache
    from nvgen.launching.parameters import Output
    from nvgen.launching.tensor_map import TensorMap, im2col_map
    from nvgen.machine_code.assembler import assemble, find_ptxas
    from nvgen.multiplies.tensor_accumulator import TensorTile
    from nvgen.multiplies.warp_tile import WarpTile
    from nvgen.multiplies.warpgroup_tile import WarpgroupTile
    from nvgen.render import print_findings
    from nvgen.shared_memory.rings import Slot, TileRing
    from nvgen.shared_memory.tiles import SharedTile
    from nvgen.tuning import Candidate
    from nvgen.values.number_types import (
        NumberType,
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
    from nvgen.values.numbers import F32, Float, Int, IntLike, Number
    from nvgen.values.pointers import Barrier, Pointer
    from nvgen.values.regions import Variable
    from nvgen.values.vectors import Vector

__version__ = "0.1.0"
__all__ = [
    "F32",
    "AccPrecision",
    "AssemblerError",
    "AtomicOp",
    "Barrier",
    "BitOperation",
    "CacheLevel",
    "CacheOp",
    "CachePriority",
    "Candidate",
    "ClusterDimension",
    "CodeCache",
    "CollectorA",
    "CollectorB",
    "CollectorWs",
    "Columns",
    "Compiled",
    "CopyFormat",
    "CopyMulticast",
    "CopyShape",
    "CtaGroup",
    "DriverError",
    "ElementType",
    "Finding",
    "FindingWarning",
    "Float",
    "Fragment",
    "Im2col",
    "InputError",
    "Int",
    "IntLike",
    "Kernel",
    "KernelBuilder",
    "LdStNum",
    "LdStShape",
    "LoadMode",
    "Major",
    "MapField",
    "MatrixNum",
    "MatrixShape",
    "MatrixType",
    "MmaKind",
    "MmaLayout",
    "MmaShape",
    "Multicast",
    "Number",
    "NumberType",
    "NvgenError",
    "Output",
    "Place",
    "Pointer",
    "PrefetchSize",
    "ReduceOp",
    "Rows",
    "ScalarType",
    "ScaleVec",
    "Scope",
    "SelectionError",
    "Sem",
    "Severity",
    "SharedTile",
    "Shuffle",
    "SimulationError",
    "Slot",
    "Space",
    "SyncRestrict",
    "TensorMap",
    "TensorTile",
    "Tile",
    "TileDot",
    "TileMultiply",
    "TileRing",
    "Variable",
    "Vec",
    "Vector",
    "VerificationError",
    "Vote",
    "WarpReduce",
    "WarpScales",
    "WarpTile",
    "WarpgroupTile",
    "WgmmaDescriptor",
    "ZeroColumnMask",
    "__version__",
    "assemble",
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
    "find_ptxas",
    "i8",
    "i16",
    "i32",
    "i64",
    "im2col_map",
    "pick_dot",
    "place_of",
    "print_findings",
    "tf32",
    "u8",
    "u16",
    "u32",
    "u64",
]

_MODULES = {
    "intrinsics.descriptors.tensor_address": "ZeroColumnMask",
    "intrinsics.descriptors.wgmma_desc": "WgmmaDescriptor",
    "intrinsics.element": "ElementType Major",
    "intrinsics.findings": (
        "AssemblerError DriverError Finding InputError NvgenError Place SelectionError "
        "Severity SimulationError VerificationError"
    ),
    "intrinsics.modifiers": (
        "AccPrecision AtomicOp CacheLevel CacheOp CachePriority ClusterDimension CollectorA "
        "CollectorB CollectorWs CopyFormat CopyMulticast CopyShape CtaGroup LdStNum LdStShape "
        "LoadMode MapField MmaKind Multicast PrefetchSize ReduceOp ScalarType ScaleVec Scope Sem "
        "Shuffle Space SyncRestrict Vec Vote WarpReduce"
    ),
    "intrinsics.modifiers.matrix": "MatrixNum MatrixShape",
    "intrinsics.modifiers.mma_sync": "MmaLayout MmaShape",
    "intrinsics.multiplies.tile_dot": "TileDot pick_dot",
    "intrinsics.multiplies.tile_multiply": "Tile TileMultiply",
    "intrinsics.modifiers.wgmma": "BitOperation MatrixType",
    "intrinsics.tma.rules": "Im2col",
    "nvgen.api": "compile",
    "nvgen.machine_code.assembler": "assemble find_ptxas",
    "nvgen.built": "Kernel",
    "nvgen.builder.device_functions": "device_function",
    "nvgen.fragments.fragment": "Columns Fragment Rows",
    "nvgen.builder.kernel": "KernelBuilder",
    "nvgen.instructions.mma_rows": "WarpScales",
    "nvgen.values.number_types": (
        "NumberType bf16 bf16x2 e4m3 e5m2 f16 f16x2 f32 f32x2 f64 "
        "i16 i32 i64 i8 tf32 u16 u32 u64 u8"
    ),
    "nvgen.values.numbers": "F32 Float Int IntLike Number",
    "nvgen.values.pointers": "Barrier Pointer",
    "nvgen.values.regions": "Variable",
    "nvgen.multiplies.warp_tile": "WarpTile",
    "nvgen.multiplies.warpgroup_tile": "WarpgroupTile",
    "nvgen.multiplies.tensor_accumulator": "TensorTile",
    "nvgen.shared_memory.rings": "Slot TileRing",
    "nvgen.shared_memory.tiles": "SharedTile",
    "nvgen.values.vectors": "Vector",
    "nvgen.compilation.compiled": "Compiled",
    "nvgen.kernel_code.cache": "CodeCache",
    "nvgen.compilation.extension": "place_of",
    "nvgen.compilation.judgement": "FindingWarning",
    "nvgen.render": "print_findings",
    "nvgen.launching.parameters": "Output",
    "nvgen.launching.tensor_map": "TensorMap im2col_map",
    "nvgen.tuning": "Candidate",
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    """Import what is asked for when it is asked for: the command line needs little of it."""
    home = _HOMES.get(name)
    import importlib

    if home is None:
        message = f"module 'nvgen' has no attribute {name!r}"
        here = importlib.import_module("nvgen")
        raise AttributeError(message, name=name, obj=here)  # Python says which name is like it
    found: object = getattr(importlib.import_module(home), name)
    globals()[name] = found  # so that nobody asks for it again
    return found


def __dir__() -> list[str]:
    """What is here, imported or not."""
    return sorted({*globals(), *__all__})

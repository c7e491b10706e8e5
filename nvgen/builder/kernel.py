"""A kernel under construction, and a kernel that is built.

Layer: nvgen.builder.  `KernelBuilder` is a thin layer over llvmlite's IR builder: parameters,
shared memory, control flow as context managers, the intrinsics' verbs and tile operations.  Every
instruction carries the Python line that asked for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from llvmlite import ir

from intrinsics.element import ElementType, Major
from intrinsics.findings import input_error
from intrinsics.modifiers import CtaGroup
from nvgen.builder.clusters import ClusterVerbs
from nvgen.builder.floats import FloatOperations
from nvgen.builder.gemm import TileOperations
from nvgen.builder.llvm_ext import (
    TENSOR_MAP_ATTRIBUTES,
    DebugLines,
    TextAttributes,
    make_kernel,
)
from nvgen.builder.tensor_memory import TensorMemory, allocate
from nvgen.builder.tensor_tiles import TensorTile, container_bits
from nvgen.builder.tiles import SharedScales, SharedTile, Tiles, scale_bytes, swizzle_mode
from nvgen.builder.values import Barrier, Barriers, Int, Pointer, Vector, refuse
from nvgen.driver.views import is_device_array
from nvgen.tensor_map import TensorMap, tensor_map

if TYPE_CHECKING:
    from nvgen.api import Compiled

STATIC_SHARED_LIMIT = 48 * 1024
"""Bytes of shared memory that ptxas lets a kernel declare; more must be dynamic."""

DYNAMIC_SHARED_LIMIT = 227 * 1024
"""Bytes of shared memory that a CTA can have on the machines with tensor memory."""

_DYNAMIC_ALIGN = 1024
"""Where dynamic shared memory begins: at a multiple of what any swizzling needs."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a kernel's parameter stands for on the host."""

    name: str
    dtype: ElementType | None = None
    box: tuple[int, ...] = ()
    swizzle: int = 0
    is_output: bool = False


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that is built: LLVM IR, with what is known of its launch."""

    name: str
    llvm: str
    block: tuple[int, int, int]
    parameters: tuple[Parameter, ...] = field(default=())
    dynamic_shared: int = 0  # bytes that a launch must give it

    def compile(
        self, *, target: str, ptx: str | None = None, opt: int = 0, level: str = "record"
    ) -> Compiled:
        """Compile for a target; see `nvgen.compile`."""
        from nvgen.api import compile_text

        compiled = compile_text(
            self.llvm, target=target, ptx=ptx, opt=opt, level=level, file=f"{self.name}.ll"
        )
        compiled.kernel = self
        return compiled

    def arguments(self, arrays: Sequence[object], named: dict[str, object]) -> list[object]:
        """Launch arguments from positional arrays and named ones, tensor maps made on the way.

        Raises: InputError when one is missing, left over or does not fit.
        """
        waiting = list(arrays)
        found: list[object] = []
        for parameter in self.parameters:
            if parameter.name in named:
                value = named.pop(parameter.name)
            elif waiting:
                value = waiting.pop(0)
            else:
                raise input_error(
                    "run/arguments",
                    f"argument '{parameter.name}' is missing",
                    expected=", ".join(p.name for p in self.parameters),
                )
            found.append(_on_host(parameter, value))
        if waiting or named:
            raise input_error(
                "run/arguments",
                "too many arguments",
                got=", ".join([*map(str, named), *["…"] * len(waiting)]),
                expected=", ".join(p.name for p in self.parameters),
            )
        return found


def _on_host(parameter: Parameter, value: object) -> object:
    found = _tensor_map(parameter, value) if parameter.box else value
    if not parameter.is_output:
        return found
    from nvgen.parameters import Output

    is_array = isinstance(found, (np.ndarray, TensorMap)) or is_device_array(found)
    return Output(found) if is_array else found


def _tensor_map(parameter: Parameter, value: object) -> TensorMap:
    if isinstance(value, TensorMap):
        return value
    if is_device_array(value):
        return tensor_map(value, parameter.box, parameter.swizzle)
    if not isinstance(value, np.ndarray):
        raise input_error(
            "run/argument",
            f"'{parameter.name}' is a tensor map of an array",
            got=type(value).__name__,
            expected="a numpy array, or one that lives on a GPU",
        )
    wanted = np.dtype(parameter.dtype.numpy) if parameter.dtype else value.dtype
    if value.dtype != wanted:
        raise input_error(
            "run/argument",
            f"'{parameter.name}' has another element type",
            got=str(value.dtype),
            expected=str(wanted),
        )
    return tensor_map(value, parameter.box, parameter.swizzle)


class KernelBuilder(ClusterVerbs, FloatOperations, TileOperations):
    """Builds one kernel.

    Parameters are declared first (`pointer`, `integer`, `tensor_map`), then `begin` opens the body;
    `finish` closes it and gives the kernel.  `cluster` is how many CTAs, neighbours in x, make a
    cluster.  With `dynamic_shared` tiles lie in dynamic shared
    memory, of which a CTA has more than of static.
    """

    def __init__(
        self,
        name: str,
        *,
        block: int | tuple[int, int, int],
        cluster: int = 1,
        dynamic_shared: bool = False,
    ) -> None:
        super().__init__(name)
        self.cluster = cluster
        self.dynamic_shared = dynamic_shared
        self._dynamic: ir.GlobalVariable | None = None
        self._dynamic_size = 0
        self.block = (block, 1, 1) if isinstance(block, int) else block
        self._parameters: list[tuple[Parameter, ir.Type]] = []
        self._shared = 0
        self._tensor_columns = 0

    # ---- parameters --------------------------------------------------------------------------

    def pointer(self, name: str, *, output: bool = False) -> None:
        """A pointer to global memory; an output's contents do not count before the launch."""
        self._parameter(Parameter(name, is_output=output), ir.PointerType(addrspace=1))

    def integer(self, name: str, bits: int = 32) -> None:
        """An integer."""
        self._parameter(Parameter(name), ir.IntType(bits))

    def tensor_map(
        self,
        name: str,
        *,
        dtype: ElementType,
        box: tuple[int, ...],
        swizzle: int = 0,
        output: bool = False,
    ) -> None:
        """A tensor map of an array of `dtype`, with tiles of `box` elements (outermost first); an
        output's contents do not count before the launch.
        """
        swizzle_mode(swizzle)
        self._parameter(Parameter(name, dtype, box, swizzle, output), ir.PointerType())

    def _parameter(self, parameter: Parameter, type_: ir.Type) -> None:
        if self._ir is not None:
            raise refuse("parameters come before the body", got=parameter.name)
        self._parameters.append((parameter, type_))

    def begin(self) -> dict[str, Pointer | Int]:
        """Open the body; returns the parameters by name."""
        type_ = ir.FunctionType(ir.VoidType(), [t for _, t in self._parameters])
        function = ir.Function(self.module, type_, self.name)
        strings = {"nvvm.reqntid": ",".join(map(str, self.block))}
        if self.cluster > 1:
            strings["nvvm.cluster_dim"] = f"{self.cluster},1,1"
        make_kernel(function, strings)
        self._ir = ir.IRBuilder(function.append_basic_block("entry"))
        self._debug = DebugLines(self.module, function)
        found: dict[str, Pointer | Int] = {}
        for (parameter, type_), argument in zip(self._parameters, function.args, strict=True):
            argument.name = parameter.name
            if parameter.box:
                argument.attributes = TextAttributes(TENSOR_MAP_ATTRIBUTES)
            is_pointer = isinstance(type_, ir.PointerType)
            found[parameter.name] = Pointer(self, argument) if is_pointer else Int(self, argument)
        return found

    def finish(self) -> Kernel:
        """Close the body and give the kernel.

        Raises: InputError when LLVM's verifier rejects the module.
        """
        self.at_caller().ret_void()
        from nvgen.llvm import parse

        # llvmlite's names for values without one, `.12`, become v12; then LLVM prints it its way.
        text = re.sub(r'%"\.(\d+)"', r"%v\1", str(self.module))
        printed = parse(text, file=f"{self.name}.ll", name=self.name)
        parameters = tuple(parameter for parameter, _ in self._parameters)
        return Kernel(self.name, printed, self.block, parameters, self._dynamic_size)

    # ---- memory ------------------------------------------------------------------------------

    def _shared_variable(self, name: str, size: int, align: int) -> Pointer:
        type_ = ir.ArrayType(ir.IntType(8), size)
        variable = ir.GlobalVariable(self.module, type_, name, addrspace=3)
        variable.linkage = "internal"
        variable.align = align
        variable.initializer = ir.Constant(type_, ir.Undefined)
        variable.type = ir.PointerType(addrspace=3)  # opaque, as LLVM's pointers are
        self._shared += size
        if self._shared > STATIC_SHARED_LIMIT:
            raise refuse(
                "too much static shared memory",
                got=f"{self._shared} bytes",
                expected=f"at most {STATIC_SHARED_LIMIT}",
                hint="KernelBuilder(…, dynamic_shared=True) puts tiles into dynamic shared memory",
            )
        return Pointer(self, variable)

    def _dynamic_variable(self, size: int, align: int) -> Pointer:
        """Room in the one array of dynamic shared memory."""
        if self._dynamic is None:
            type_ = ir.ArrayType(ir.IntType(8), 0)
            self._dynamic = ir.GlobalVariable(self.module, type_, "dynamic_shared", addrspace=3)
            self._dynamic.type = ir.PointerType(addrspace=3)
            self._dynamic.align = _DYNAMIC_ALIGN
        start = -(-self._dynamic_size // align) * align
        self._dynamic_size = start + size
        if self._dynamic_size > DYNAMIC_SHARED_LIMIT:
            raise refuse(
                "too much dynamic shared memory",
                got=f"{self._dynamic_size} bytes",
                expected=f"at most {DYNAMIC_SHARED_LIMIT}",
            )
        return Pointer(self, self._dynamic) + start if start else Pointer(self, self._dynamic)

    def shared_tile(
        self,
        name: str,
        dtype: ElementType,
        shape: tuple[int, int],
        *,
        swizzle: int = 128,
        major: Major = Major.K,
        padded: bool = False,
    ) -> SharedTile:
        """A tile of `shape` (rows, K) in shared memory; see `SharedTile`."""
        tiles = self.shared_tiles(
            name, dtype, shape, 1, swizzle=swizzle, major=major, padded=padded
        )
        return tiles.first

    def shared_tiles(
        self,
        name: str,
        dtype: ElementType,
        shape: tuple[int, int],
        count: int,
        *,
        swizzle: int = 128,
        major: Major = Major.K,
        padded: bool = False,
    ) -> Tiles[SharedTile]:
        """`count` tiles of `shape` (rows, K) in shared memory, one after the other."""
        rows, k = shape
        align = swizzle_mode(swizzle).repeat
        size = rows * k * container_bits(dtype, padded=padded) // 8
        if count > 1 and size % align:
            raise refuse(
                "a tile's size keeps the next one from its alignment",
                got=f"{size} bytes",
                expected=f"a multiple of {align}",
            )
        pointer = self._tiles(name, count * size, align)
        return Tiles(SharedTile(name, pointer, dtype, rows, k, swizzle, major, padded), count)

    def shared_scales(
        self,
        name: str,
        rows: int,
        k: int,
        count: int = 1,
        *,
        dtype: ElementType = ElementType.UE8M0,
        size: int = 32,
    ) -> Tiles[SharedScales]:
        """Room for `count` times the scale factors of `rows` rows: see `SharedScales`."""
        pointer = self._tiles(name, count * scale_bytes(rows, k, size), 128)
        return Tiles(SharedScales(name, pointer, dtype, rows, k, size), count)

    def _tiles(self, name: str, size: int, align: int) -> Pointer:
        """Room for tiles, static or dynamic."""
        if self.dynamic_shared:
            return self._dynamic_variable(size, align)
        return self._shared_variable(name, size, align)

    def mbarrier(self, name: str) -> Barrier:
        """Room for an mbarrier in shared memory."""
        return Barrier(name, self._shared_variable(name, 8, 8))

    def mbarriers(self, name: str, count: int) -> Barriers:
        """Room for `count` mbarriers in shared memory."""
        return Barriers(name, self._shared_variable(name, 8 * count, 8), count)

    def shared_word(self, name: str) -> Pointer:
        """Room for 32 bits in shared memory."""
        return self._shared_variable(name, 4, 4)

    def load_word(self, pointer: Pointer) -> Int:
        """Load 32 bits."""
        return Int(self, self.at_caller().load(pointer.value, typ=ir.IntType(32), align=4))

    def store(self, value: Vector | Int, pointer: Pointer, *, align: int | None = None) -> None:
        """Store a value; `align` in bytes says how much may go at once."""
        self.at_caller().store(value.value, pointer.value, align=align)

    def tensor_memory(
        self, name: str, columns: int, *, warp: int = 0, cta_group: CtaGroup = CtaGroup.ONE
    ) -> TensorMemory:
        """Columns of tensor memory, allocated by one warp; all threads of the CTA come here.

        With `cta_group` 2 those of both CTAs of a pair do.  `name` is that of the slot in shared
        memory through which the address goes.

        Raises: InputError when there are not so many, or nobody can allocate them.
        """
        address = allocate(self, name, columns, self._tensor_columns, warp, cta_group)
        self._tensor_columns += columns
        return TensorMemory(self, address, columns, cta_group)

    def tensor_tile(self, taddr: Int, m: int, n: int) -> TensorTile:
        """The accumulator tile that begins at a tensor memory address."""
        return TensorTile(self.tensor_pointer(taddr), m, n)

    def tensor_pointer(self, taddr: Int) -> Pointer:
        """A tensor memory address as a pointer."""
        found = self.at_caller().inttoptr(taddr.value, ir.PointerType(addrspace=6))
        return Pointer(self, found)

"""A kernel under construction.

Layer: nvgen.builder.  `KernelBuilder` is a thin layer over llvmlite's IR builder: parameters,
shared memory, control flow as context managers, the intrinsics' verbs and tile operations.  Every
instruction carries the Python line that asked for it.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager

from llvmlite import ir

from intrinsics.element import ElementType, Major
from intrinsics.limits import MOST_CLUSTER, MOST_THREADS
from intrinsics.modifiers import CtaGroup, ScalarType
from intrinsics.targets import parse_target
from nvgen.builder.built import Kernel, Parameter
from nvgen.builder.device_calls import DeviceCalls
from nvgen.builder.fragments import Fragment
from nvgen.builder.llvm_ext import (
    TENSOR_MAP_ATTRIBUTES,
    DebugLines,
    TextAttributes,
    make_kernel,
)
from nvgen.builder.map_checks import DeclaredMap, check_box
from nvgen.builder.number_types import NumberType, llvm_type_of, scalar_type
from nvgen.builder.numbers import Int, Number, number_of
from nvgen.builder.orders import OrderVerbs
from nvgen.builder.pointers import Pointer
from nvgen.builder.portable_gemm import PortableGemm
from nvgen.builder.protocols import Protocols
from nvgen.builder.refusals import refuse, whole
from nvgen.builder.regions import PlacedBuilder
from nvgen.builder.shared_memory import SharedMemory, two
from nvgen.builder.tensor_fragments import load_fragment
from nvgen.builder.tensor_memory import TensorMemory, allocate
from nvgen.builder.tensor_tiles import TensorTile, check_element
from nvgen.builder.tile_copies import TileCopies
from nvgen.builder.tile_maps import box_of
from nvgen.builder.tile_rings import TileRing
from nvgen.builder.tiles import PLAIN_SPAN, SharedTile, Tiles, swizzle_mode
from nvgen.builder.turns import Turns, turns
from nvgen.callers import stack
from nvgen.launches import dim3

"""CTAs of a cluster that some GPUs can have."""


class KernelBuilder(
    DeviceCalls,
    OrderVerbs,
    Protocols,
    PortableGemm,
    SharedMemory,
    TileCopies,
):
    """Builds one kernel.

    Parameters are declared first (`pointer`, `f32` and its like, `tensor_map`), then `begin` opens
    the body; `finish` closes it and gives the kernel.  `cluster` is how many CTAs, neighbours in x,
    make a cluster.  With `dynamic_shared` tiles lie in dynamic shared memory, of which a CTA has
    more than of static.  `target` is what the kernel is for: operations that differ between targets
    ask it.
    `maxnreg` is how many registers a thread has at most, `minctasm` how many CTAs a multiprocessor
    holds at least: setmaxnreg wants to know one of the two.

    Raises: InputError for a block, a cluster or numbers of these that are not possible.
    """

    def __init__(
        self,
        name: str,
        *,
        block: int | tuple[int, int, int],
        cluster: int = 1,
        dynamic_shared: bool = False,
        target: str | None = None,
        maxnreg: int | None = None,
        minctasm: int | None = None,
    ) -> None:
        super().__init__(name)
        self.block = dim3(block, "block")
        self.cluster = whole(cluster, "number of CTAs of a cluster")
        _check_shape(name, self.block, self.cluster)
        self.target = parse_target(target) if target is not None else None
        self.dynamic_shared = dynamic_shared
        bounds = {"maxnreg": maxnreg, "minctasm": minctasm}
        self._bounds = {k: whole(n, k) for k, n in bounds.items() if n is not None}
        self._parameters: list[tuple[Parameter, ir.Type]] = []
        self._types: dict[str, ScalarType] = {}  # of parameters, where they are said
        self._tensor_columns = 0

    # ---- parameters --------------------------------------------------------------------------

    def pointer(self, name: str, dtype: NumberType | None = None, *, output: bool = False) -> None:
        """A pointer to global memory; an output's contents do not count before the launch.

        With `dtype` it is one to such numbers: `x[i]` loads one, `x[i] = y` stores one.

        Raises: InputError for what is no type of numbers.
        """
        if dtype is not None:
            self._types[name] = scalar_type(dtype)
        self._parameter(Parameter(name, is_output=output), ir.PointerType(addrspace=1))

    def integer(self, name: str, bits: int = 32) -> None:
        """An unsigned integer; `i32`, `f32` and their like declare numbers of other types."""
        bits = whole(bits, "width of an integer")
        self._parameter(Parameter(name), ir.IntType(bits))

    def declare_number(self, name: str, type_: ScalarType) -> None:
        """A number of a type; `b.f32(name)` and its like come here."""
        self._types[name] = type_
        self._parameter(Parameter(name), llvm_type_of(type_))

    def tensor_map(
        self,
        name: str,
        *,
        dtype: ElementType,
        box: tuple[int, ...],
        swizzle: int = 0,
        atom: int = PLAIN_SPAN,
        output: bool = False,
    ) -> None:
        """A tensor map of an array of `dtype`, with tiles of `box` elements (outermost first); an
        output's contents do not count before the launch.  `atom` is as a tile's.

        A launch may give a `TensorMap` of another kind in place of an array: of images, say.

        Raises: InputError for a box that no tensor map has, as far as that is known here: more than
        256 elements of a dimension, an innermost one that is not a multiple of 16 bytes or longer
        than the swizzling's span.
        """
        mode = swizzle_mode(swizzle, atom)
        check_element(dtype)
        made = Parameter(name, dtype, _box(box), mode, output)
        check_box(dtype, made.box, mode)
        self._maps[name] = DeclaredMap(len(made.box), mode, made.box_bytes, made.box, dtype)
        if made.box_bytes:
            self._box_bytes[name] = made.box_bytes
        self._parameter(made, ir.PointerType())

    def tile_map(
        self,
        name: str,
        dtype: ElementType,
        shape: tuple[int, int],
        *,
        swizzle: int = 128,
        major: Major = Major.K,
        rank: int = 2,
        output: bool = False,
    ) -> None:
        """A tensor map for tiles of `shape` (rows, K), declared as `shared_tile` declares them.

        The array has `rank` dimensions, the last of which is contiguous: K of a K-major tile, its
        rows of an MN-major one; a tile lies in the last two.  `load_tile` and `store_tile` copy
        tiles of this shape, and parts of them that its boxes make up.

        Raises: InputError where no copies make such a tile.
        """
        check_element(dtype)
        box = box_of(dtype, two(shape), swizzle, major, whole(rank, "rank"))
        self.tensor_map(name, dtype=dtype, box=box, swizzle=swizzle, output=output)

    def _parameter(self, parameter: Parameter, type_: ir.Type) -> None:
        if self._ir is not None:
            raise refuse("parameters come before the body", got=parameter.name)
        taken = [known.name for known, _ in self._parameters]
        if not parameter.name or parameter.name in taken:
            raise refuse(
                "a parameter has a name of its own",
                got=repr(parameter.name),
                expected=f"none of {', '.join(taken)}" if taken else "a name",
            )
        self._parameters.append((parameter, type_))

    def begin(self) -> dict[str, Pointer | Number]:
        """Open the body; returns the parameters by name.

        Raises: InputError when it is open already.
        """
        if self._ir is not None:
            raise refuse("the kernel has a body already", expected="one call of begin()")
        type_ = ir.FunctionType(ir.VoidType(), [t for _, t in self._parameters])
        function = ir.Function(self.module, type_, self.name)
        strings = {"nvvm.reqntid": ",".join(map(str, self.block))}
        if self.cluster > 1:
            strings["nvvm.cluster_dim"] = f"{self.cluster},1,1"
        strings |= {f"nvvm.{name}": str(number) for name, number in self._bounds.items()}
        make_kernel(function, strings)
        entry, lines = function.append_basic_block("entry"), DebugLines(self.module, function)
        self._ir = PlacedBuilder(entry, self.regions, lines, stack())
        found: dict[str, Pointer | Number] = {}
        for (parameter, type_), argument in zip(self._parameters, function.args, strict=True):
            argument.name = parameter.name
            if parameter.box:
                argument.attributes = TextAttributes(TENSOR_MAP_ATTRIBUTES)
            known = self._types.get(parameter.name)
            if isinstance(type_, ir.PointerType):
                found[parameter.name] = Pointer(self, argument, dtype=known)
            else:
                found[parameter.name] = number_of(self, argument, known)
        return found

    def finish(self) -> Kernel:
        """Close the body and give the kernel.

        Raises: InputError when LLVM's verifier rejects the module.
        """
        if self.at_caller().block.is_terminated:
            raise refuse("the kernel is finished already", expected="one call of finish()")
        self.free_accumulators()
        self.at_caller().ret_void()
        from nvgen.llvm import parse

        # llvmlite's names for values without one, `.12`, become v12; then LLVM prints it its way.
        text = re.sub(r'%"\.(\d+)"', r"%v\1", str(self.module))
        printed = parse(text, file=f"{self.name}.ll", name=self.name)
        parameters = tuple(parameter for parameter, _ in self._parameters)
        made_for = self.target.name if self.target else None
        return Kernel(self.name, printed, self.block, parameters, self._dynamic_size, made_for)

    # ---- tiles -------------------------------------------------------------------------------

    def tile_ring(self, name: str, *tiles: Tiles[SharedTile], consumers: int = 1) -> TileRing:
        """A ring of buffers, each with one of each of the `tiles`, for one producer and consumers.

        Raises: InputError where there are not as many of each.
        """
        return TileRing(self, name, tiles, consumers)

    def turns(
        self, first_barrier: int | None, warpgroups: int = 2
    ) -> AbstractContextManager[Turns]:
        """`with b.turns(3) as turns:` the first warpgroups of the CTA take turns: `turns.mine()`.

        Each has a named barrier, from that number on; with None nobody waits.

        Raises: InputError outside of a role of warpgroups, and for barriers that there are not.
        """
        return turns(self, first_barrier, warpgroups)

    # ---- tensor memory -----------------------------------------------------------------------

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

    def tensor_tile(
        self, taddr: Int, m: int, n: int, dtype: ElementType = ElementType.F32
    ) -> TensorTile:
        """The accumulator tile that begins at a tensor memory address."""
        return TensorTile(self.tensor_pointer(taddr), m, n, dtype)

    def tensor_fragment(
        self, tile: TensorTile, first: int = 0, columns: int | None = None
    ) -> Fragment:
        """Columns of an accumulator of 128 rows, in the registers of a warpgroup: 32 lanes a warp.

        The wait for the load is made; that for the multiplies is the caller's.

        Raises: InputError for another number of rows, columns that no loads bring, or a scope that
        is no warpgroup.
        """
        return load_fragment(self, tile, first, columns)

    def tensor_pointer(self, taddr: Int) -> Pointer:
        """A tensor memory address as a pointer."""
        found = self.at_caller().inttoptr(taddr.value, ir.PointerType(addrspace=6))
        return Pointer(self, found)


def _box(box: object) -> tuple[int, ...]:
    """The elements of a box of a tensor map, outermost first.

    Raises: InputError for what is no such shape.
    """
    if not isinstance(box, (tuple, list)) or not box:
        raise refuse("no box of a tensor map", got=repr(box), expected="(…, rows, columns)")
    return tuple(whole(n, "number of elements of a box") for n in box)


def _check_shape(name: str, block: tuple[int, int, int], cluster: int) -> None:
    """Whether a kernel can be called and launched so.

    Raises: InputError.
    """
    if not name:
        raise refuse("a kernel has a name", got=repr(name), expected="a name")
    x, y, z = block
    if min(x, y, z) < 1 or x * y * z > MOST_THREADS:
        raise refuse("no block of threads", got=str(block), expected=f"1 to {MOST_THREADS} threads")
    if not 1 <= cluster <= MOST_CLUSTER:
        raise refuse("no cluster", got=f"{cluster} CTAs", expected=f"1 to {MOST_CLUSTER} CTAs")

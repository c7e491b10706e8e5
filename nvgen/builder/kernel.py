"""A kernel under construction.

Layer: nvgen.builder.  `KernelBuilder` is a thin layer over llvmlite's IR builder: parameters,
shared memory, control flow as context managers, the intrinsics' verbs and tile operations.  Every
instruction carries the Python line that asked for it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from llvmlite import ir

from intrinsics.element import ElementType, Major
from intrinsics.limits import MOST_CLUSTER, MOST_THREADS
from intrinsics.modifiers import ScalarType
from intrinsics.targets import parse_target
from intrinsics.tma.rules import MOST_PIXELS
from nvgen.builder.device_functions import DeviceCalls
from nvgen.builder.tile_operations import TileOperations
from nvgen.built import Kernel
from nvgen.calling.callers import stack
from nvgen.calling.refusals import check_name, described, refuse, whole
from nvgen.calling.tracebacks import ends_at_caller
from nvgen.launching.arguments import MapKind, Parameter
from nvgen.launching.launches import dim3
from nvgen.llvm.ir_text import TENSOR_MAP_ATTRIBUTES, DebugLines, TextAttributes, make_kernel
from nvgen.shared_memory.allocations import two
from nvgen.shared_memory.copies import box_of, check_box, in_bytes, tile_box
from nvgen.shared_memory.tiles import PLAIN_SPAN, check_element, swizzle_mode
from nvgen.values.number_types import NumberType, llvm_type_of, scalar_type
from nvgen.values.numbers import Float, Int, IntLike, Number, number_of
from nvgen.values.pointers import Pointer
from nvgen.values.regions import PlacedBuilder

_WIDTHS = (8, 16, 32, 64)
"""Bits of an integer that is a parameter."""


if TYPE_CHECKING:

    class Argument(Int, Pointer, Float):  # type: ignore[misc]  # it is one of the three
        """A parameter, to a type checker whatever a kernel may have declared it as."""

        def __add__(self, other: IntLike | Float | float) -> Argument: ...

else:
    Argument: TypeAlias = Pointer | Number


class _Parameters(dict[str, Argument]):
    """The parameters of a kernel by name."""

    def __missing__(self, name: str) -> Argument:
        raise KeyError(
            f"no parameter {described(name)}: the kernel has {', '.join(self) or 'none'}"
        )

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"parameters have no {name!r}: they are args[{next(iter(self), name)!r}]"
        )

    def __setitem__(self, name: str, value: Argument) -> None:
        if isinstance(self.get(name), Pointer) and not isinstance(value, Pointer):
            raise refuse(
                "what a parameter points to is written by index",
                got=f"args[{name!r}] = {described(value)}", expected=f"args[{name!r}][i] = x",
            )  # fmt: skip
        super().__setitem__(name, value)


class KernelBuilder(TileOperations, DeviceCalls):
    """Builds one kernel.

    Parameters are declared first (`pointer`, `f32` and its like, `tensor_map`), then `begin` opens
    the body; `finish` closes it and gives the kernel.  `block` is the threads of a CTA, a number or
    x, y and z; `cluster` the CTAs of a cluster, along x.  With `dynamic_shared` tiles are in
    dynamic shared memory, which may exceed 48 KiB. `target` ("sm_90a") is needed by operations that
    differ between targets.  `maxnreg` is the most registers of a thread, `minctasm` the least CTAs
    of an SM (`.maxnreg`, `.minnctapersm`): setmaxnreg needs one of the two.

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
        switch: object = dynamic_shared
        if not isinstance(switch, bool):
            got = described(switch)
            raise refuse("dynamic_shared is neither on nor off", got=got, expected="True or False")
        self.dynamic_shared = dynamic_shared
        bounds = {"maxnreg": maxnreg, "minctasm": minctasm}
        self._bounds = {k: whole(n, k) for k, n in bounds.items() if n is not None}
        self._parameters: list[tuple[Parameter, ir.Type]] = []
        self._types: dict[str, ScalarType] = {}  # of parameters, where they are said

    def __repr__(self) -> str:
        target = f" for {self.target}" if self.target else ""
        ctas = f", clusters of {self.cluster}" if self.cluster > 1 else ""
        return f"<KernelBuilder {self.name}{target}: {self.threads} threads{ctas}>"

    # ---- parameters --------------------------------------------------------------------------

    def pointer(self, name: str, dtype: NumberType | None = None, *, output: bool = False) -> None:
        """Declare a parameter: a pointer to global memory.  An `output` is uninitialised before the
        launch.

        With `dtype` it points to such numbers: `x[i]` loads one, `x[i] = y` stores one, and a
        launch takes an array of that type, or of its bits.

        Raises: InputError for what is no number type.
        """
        number = None if dtype is None else scalar_type(dtype)
        if number is not None:
            self._types[name] = number
        made = Parameter(name, is_output=output, number=number)
        self._parameter(made, ir.PointerType(addrspace=1))

    def integer(self, name: str, bits: int = 32) -> None:
        """Declare a parameter: an unsigned integer.  `i32`, `f32` and so on declare numbers of
        other types.

        A launch may give a negative number (a coordinate, say), which is passed as the same bits;
        `u32` and `u64` refuse one.

        Raises: InputError for other `bits` than 8, 16, 32 and 64.
        """
        if bits not in _WIDTHS:
            got = described(bits)
            raise refuse("no width of an integer", got=got, expected="8, 16, 32 or 64 bits")
        self._parameter(Parameter(name), ir.IntType(bits))

    def declare_number(self, name: str, type_: ScalarType) -> None:
        """A number of a type; `b.f32(name)` and its like come here."""
        self._types[name] = type_
        self._parameter(Parameter(name, holds=type_), llvm_type_of(type_))

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
        """Declare a parameter: the tensor map of an array of `dtype`, with boxes of `box` elements
        (outermost first).  `swizzle` is 0, 32, 64 or 128 bytes, `atom` as in `SharedTile`; an
        `output` is uninitialised before the launch.

        A launch gives the array, or a `TensorMap` (of images, say).  One thread copies a box into a
        shared array, with a halo, say, by
        `b.cp_async_bulk_tensor_g2s_tile(array, barrier, args["x"], coordinates)`, innermost first;
        its bytes are those of `b.arrive_expecting(barrier, args["x"])`.

        Raises: InputError for a box that no tensor map has, as far as that is known here: more than
        256 elements of a dimension, an innermost one that is not a multiple of 16 bytes or longer
        than the swizzling's span.
        """
        mode = swizzle_mode(swizzle, atom)
        check_element(dtype)
        check_box(dtype, box_of(box), mode)
        self._map(Parameter(name, dtype, box_of(box), mode, output))

    def _map(self, made: Parameter) -> None:
        self._maps[made.name] = made
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
        """Declare a parameter: a tensor map for tiles of `shape` (rows, K), as `shared_tile`
        declares them.

        The array has `rank` dimensions, the last contiguous; a tile is in the last two: (rows, K)
        of a K-major tile, (K, rows) of an MN-major one.  `load_tile` and `store_tile` copy tiles of
        this shape, and parts of them that are whole boxes.  Elements of 4 bits are packed two to a
        byte of the array, the first in the low half; shapes and coordinates count elements.

        Raises: InputError where no copies make such a tile.
        """
        check_element(dtype)
        counted, shape = in_bytes(dtype, two(shape), major)
        box = tile_box(counted, shape, swizzle, major, whole(rank, "rank"))
        self.tensor_map(name, dtype=counted, box=box, swizzle=swizzle, output=output)

    def image_map(
        self,
        name: str,
        dtype: ElementType,
        shape: tuple[int, int],
        *,
        swizzle: int = 128,
        rank: int = 4,
        output: bool = False,
    ) -> None:
        """A tensor map of images, N x H x W x C with `rank` 4, for tiles of (pixels, channels).

        A tile's rows are the pixels under one filter tap, for consecutive filter positions
        (im2col).  A launch gives
        `im2col_map(array, Im2col(lower, upper, channels, pixels), swizzle)`, with as many pixels as
        the tile has rows and as many channels as a swizzle span.

        Raises: InputError where no copies make such a tile.
        """
        check_element(dtype)
        pixels, channels = two(shape)
        span = tile_box(dtype, (8, channels), swizzle, Major.K, whole(rank, "rank"))[-1]
        if pixels > MOST_PIXELS or rank < 3:
            got = f"{pixels} pixels, rank {rank}"
            raise refuse("no copy of images", got=got, expected=f"{MOST_PIXELS} at most, 3 to 5")
        box, mode = (*(1,) * (rank - 2), pixels, span), swizzle_mode(swizzle)
        self._map(Parameter(name, dtype, box, mode, output, MapKind.IMAGES))

    def row_map(
        self, name: str, dtype: ElementType, k: int, *, swizzle: int = 128, output: bool = False
    ) -> None:
        """A tensor map of a matrix, for tiles of `k` columns of any rows (sm_100: gather4,
        scatter4).

        `load_tile` gathers, and `store_tile` scatters, the rows whose indices they get.

        Raises: InputError where no copies make such a tile.
        """
        check_element(dtype)
        span = tile_box(dtype, (8, whole(k, "number of columns")), swizzle, Major.K, 2)[-1]
        if not swizzle:
            raise refuse("four rows of 16 bytes are no copy", got="swizzle=0", expected="32 to 128")
        mode = swizzle_mode(swizzle)
        self._map(Parameter(name, dtype, (1, span), mode, output, MapKind.ROWS))

    def _parameter(self, parameter: Parameter, type_: ir.Type) -> None:
        if self._ir is not None or self._is_finished:
            got, expected = repr(parameter.name), "before b.begin(), whose dictionary has them"
            raise refuse("parameters come before the body", got=got, expected=expected)
        taken = [known.name for known, _ in self._parameters]
        check_name("a parameter", parameter.name, taken)
        self._parameters.append((parameter, type_))

    def begin(self) -> dict[str, Argument]:
        """Open the body; returns the parameters by name: each is the Pointer, Int or Float that it
        was declared as, and to a type checker all three.

        Raises: InputError when it was called before.
        """
        if self._ir is not None or self._is_finished:
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
        found: dict[str, Pointer | Number] = _Parameters()  # type: ignore[assignment]  # as declared
        for (parameter, type_), argument in zip(self._parameters, function.args, strict=True):
            argument.name = parameter.name
            if parameter.box:
                argument.attributes = TextAttributes(TENSOR_MAP_ATTRIBUTES)
            known = self._types.get(parameter.name)
            if isinstance(type_, ir.PointerType):
                found[parameter.name] = Pointer(self, argument, dtype=known)
            else:
                found[parameter.name] = number_of(self, argument, known)
        return found  # type: ignore[return-value]  # as declared

    @ends_at_caller
    def finish(self) -> Kernel:
        """Close the body and give the kernel.

        Raises: InputError inside of a block, where a block was never entered, and when LLVM's
        verifier rejects the module.
        """
        self.at_caller()
        self.regions.check_ended()
        if self.not_entered:
            raise self.not_entered[0].never_entered
        self.free_accumulators()
        self.at_caller().ret_void()
        self._ir, self._is_finished = None, True
        from nvgen.llvm.reading import parse

        # llvmlite's names for values without one, `.12`, become v12; then LLVM prints it its way.
        text = re.sub(r'%"\.(\d+)"', r"%v\1", str(self.module))
        printed = parse(text, file=f"{self.name}.ll", name=self.name)
        parameters = tuple(parameter for parameter, _ in self._parameters)
        made_for = self.target.name if self.target else None
        dynamic = tuple(self._dynamic_parts)
        return Kernel(
            self.name, printed, self.block, parameters, self._dynamic_size, made_for, dynamic
        )


def _check_shape(name: str, block: tuple[int, int, int], cluster: int) -> None:
    """Whether a kernel can be called and launched so."""
    check_name("a kernel", name)
    if not name.isprintable():
        raise refuse("a kernel's name is one of a file, too", got=repr(name), expected="letters")
    x, y, z = block
    if min(x, y, z) < 1 or x * y * z > MOST_THREADS:
        raise refuse("no block of threads", got=str(block), expected=f"1 to {MOST_THREADS} threads")
    if not 1 <= cluster <= MOST_CLUSTER:
        raise refuse("no cluster", got=f"{cluster} CTAs", expected=f"1 to {MOST_CLUSTER} CTAs")

"""Shared memory of a kernel under construction: tiles, scale factors, mbarriers, words.

Layer: nvgen.shared_memory.  Static shared memory is a variable for each; dynamic shared memory, of
which a CTA has more, is one array that tiles are cut from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from llvmlite import ir

from intrinsics.element import ElementType, Major
from intrinsics.limits import MOST_SHARED, STATIC_SHARED
from nvgen.calling.refusals import check_name, described, refuse, whole
from nvgen.instructions.roles import Roles
from nvgen.launching.tensor_map import SIZE
from nvgen.shared_memory.tiles import (
    PLAIN_SPAN,
    SharedScales,
    SharedTile,
    Tiles,
    container_bits,
    scale_bytes,
    swizzle_mode,
)
from nvgen.values.number_types import NumberType, scalar_type
from nvgen.values.numbers import Float, Int, Number
from nvgen.values.pointers import (
    Barrier,
    Barriers,
    Pointer,
    Room,
    TileLayout,
    alike,
    check_floats,
    check_pointer,
    check_room,
    checked_align,
    load_numbers,
)
from nvgen.values.vectors import Vector

_TILE_ALIGN = 128
"""Where a tile begins, so that tensor copies may write it, swizzled or not."""

_DYNAMIC_ALIGN = 1024
"""Where dynamic shared memory begins: at a multiple of what any swizzling needs."""


class SharedMemory(Roles):
    """What lies in shared memory, and loads and stores of it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.dynamic_shared = False
        self._dynamic: ir.GlobalVariable | None = None
        self._dynamic_size = 0
        self._dynamic_parts: list[tuple[str, int]] = []  # names, and where they begin
        self._shared = 0
        self.tensor_columns = 0

    def _shared_variable(self, name: str, size: int, align: int) -> Pointer:
        self._check(name, size, self.module.globals)
        type_ = ir.ArrayType(ir.IntType(8), size)
        variable = ir.GlobalVariable(self.module, type_, name, addrspace=3)
        variable.linkage = "internal"
        variable.align = align
        variable.initializer = ir.Constant(type_, ir.Undefined)
        variable.type = ir.PointerType(addrspace=3)  # opaque, as LLVM's pointers are
        self._shared += size
        if self._shared > STATIC_SHARED:
            raise refuse(
                "too much static shared memory",
                got=f"{self._shared} bytes",
                expected=f"at most {STATIC_SHARED}",
                hint="KernelBuilder(…, dynamic_shared=True) puts tiles, and arrays that have no "
                "room here, into dynamic shared memory",
            )
        return Pointer(self, variable)

    def _check(self, name: str, size: int, taken: Iterable[str]) -> None:
        """Whether something of such a name and size can be in shared memory."""
        self._check_unfinished()
        if size <= 0:
            raise refuse(f"{name} takes no room", got=f"{size} bytes", expected="at least one byte")
        check_name("shared memory", name, [*taken, *dict(self._dynamic_parts)])

    def _dynamic_variable(self, name: str, size: int, align: int) -> Pointer:
        """Room in the one array of dynamic shared memory."""
        kernels = {function.name for function in self.module.functions}
        self._check(name, size, self.module.globals.keys() - kernels)
        if self._dynamic is None:
            type_ = ir.ArrayType(ir.IntType(8), 0)
            self._dynamic = ir.GlobalVariable(self.module, type_, "dynamic_shared", addrspace=3)
            self._dynamic.type = ir.PointerType(addrspace=3)
            self._dynamic.align = _DYNAMIC_ALIGN
        start = -(-self._dynamic_size // align) * align
        self._dynamic_size = start + size
        self._dynamic_parts.append((name, start))
        if self._dynamic_size > MOST_SHARED:
            got, expected = f"{self._dynamic_size} bytes", f"at most {MOST_SHARED}"
            raise refuse("too much dynamic shared memory", got=got, expected=expected)
        if not start:
            return Pointer(self, self._dynamic)
        offset, byte = [ir.Constant(ir.IntType(64), start)], ir.IntType(8)
        moved = self.at_caller().gep(self._dynamic, offset, source_etype=byte, name=name)
        return Pointer(self, moved)

    def shared_tile(
        self,
        name: str,
        dtype: ElementType,
        shape: tuple[int, int],
        *,
        swizzle: int = 128,
        major: Major = Major.K,
        padded: bool = False,
        atom: int = PLAIN_SPAN,
    ) -> SharedTile:
        """A tile of `shape` (rows, K) in shared memory; see `SharedTile` and `shared_tiles`."""
        tiles = self.shared_tiles(
            name, dtype, shape, 1, swizzle=swizzle, major=major, padded=padded, atom=atom
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
        atom: int = PLAIN_SPAN,
    ) -> Tiles[SharedTile]:
        """`count` tiles of `shape` (rows, K) in shared memory, one after the other.

        Raises: InputError for no shape or swizzling, a size at which the next tile is not aligned,
        and for more than fits.
        """
        rows, k = two(shape)
        count = whole(count, "number of tiles")
        mode = swizzle_mode(swizzle, atom)
        size = rows * k * container_bits(dtype, padded=padded) // 8
        align = mode.repeat
        if count > 1 and size % align:
            got, expected = f"{size} bytes", f"a multiple of {align}"
            raise refuse(
                "a tile's size keeps the next one from its alignment", got=got, expected=expected
            )
        pointer = self._tiles(name, count * size, max(align, _TILE_ALIGN))
        pointer = replace(pointer, layout=TileLayout(mode, count * size))
        first = SharedTile(name, pointer, dtype, rows, k, swizzle, major, padded, atom=atom)
        return Tiles(first, count)

    def shared_scales(
        self,
        name: str,
        rows: int,
        k: int,
        count: int = 1,
        *,
        dtype: ElementType = ElementType.UE8M0,
        size: int = 32,
        parts: int = 1,
    ) -> Tiles[SharedScales]:
        """Shared memory for `count` blocks of scale factors of `rows` rows: see `SharedScales`."""
        pointer = self._tiles(name, count * scale_bytes(rows, k, size, parts), 128)
        return Tiles(SharedScales(name, pointer, dtype, rows, k, size, parts), count)

    def _tiles(self, name: str, size: int, align: int) -> Pointer:
        """Room for tiles, static or dynamic."""
        if self.dynamic_shared:
            return self._dynamic_variable(name, size, align)
        return self._shared_variable(name, size, align)

    def mbarrier(self, name: str) -> Barrier:
        """Shared memory for an mbarrier, 8 bytes; `make_mbarriers` initialises it.

        Raises: InputError for a name that something else has; so do the others here.
        """
        return Barrier(name, self._shared_variable(name, 8, 8))

    def mbarriers(self, name: str, count: int) -> Barriers:
        """Shared memory for `count` mbarriers; `make_mbarriers` initialises them."""
        count = whole(count, "number of mbarriers")
        return Barriers(name, self._shared_variable(name, 8 * count, 8), count)

    def shared_word(self, name: str) -> Pointer:
        """32 bits of shared memory."""
        return self._shared_variable(name, 4, 4)

    def shared_array(self, name: str, dtype: NumberType, count: int, *, align: int = 16) -> Pointer:
        """`count` numbers of a type in shared memory, aligned to `align` bytes.

        What a tensor copy writes without swizzling, a tile with a halo, say, is aligned to 128.  An
        array that has no room in static shared memory is in dynamic, with `dynamic_shared`.  A load
        or a store beyond it is refused where the index is known while the kernel is built.

        Raises: InputError for what is no number type, an alignment that is no power of two, and for
        more than fits.
        """
        type_, count = scalar_type(dtype), whole(count, "number of elements")
        align = checked_align(align, 16)
        size = count * type_.bits // 8
        fits = self._shared + size <= STATIC_SHARED or not self.dynamic_shared
        pointer = self._shared_variable(name, size, align) if fits else (
            self._dynamic_variable(name, size, align)
        )  # fmt: skip
        return replace(pointer, dtype=type_, room=Room(name, size))

    def shared_tensor_map(self, name: str) -> Pointer:
        """128 bytes of shared memory for a tensor map, to change its fields there."""
        return self._shared_variable(name, SIZE, SIZE)

    def load_word(self, pointer: Pointer) -> Int:
        """Load 32 bits.

        Raises: InputError for what is not a pointer of this kernel.
        """
        check_pointer(self, pointer)
        return Int(self, self.at_caller().load(pointer.value, typ=ir.IntType(32), align=4))

    def load(
        self,
        pointer: Pointer,
        dtype: NumberType,
        count: int = 1,
        *,
        align: int | None = None,
        where: Int | None = None,
        otherwise: float = 0,
    ) -> Vector:
        """Load `count` contiguous numbers of a type; a single one is `pointer[i]`.

        `align` (bytes, 16 at most) is the known alignment, which bounds the width of a load.
        Integers may be bits of numbers of any type; floats have the pointer's, where it has one.
        Threads for which `where` does not hold load nothing, and get `otherwise` for each number.

        Raises: InputError for what is not a pointer of this kernel, for no number type or floats
        of another type than the pointer's, and for other counts, alignments and conditions.
        """
        check_pointer(self, pointer)
        if where is None:
            return load_numbers(pointer, dtype, count, align)
        found = self.variable(alike(pointer, dtype, count, otherwise))
        with self.if_(where):
            found.set(load_numbers(pointer, dtype, count, align))
        return found.value

    def store(self, value: Vector | Number, pointer: Pointer, *, align: int | None = None) -> None:
        """Store a value; `align` (bytes) is the known alignment, which bounds the width of a store.

        Integers are stored as bits, whatever type `pointer` points to; floats have that type.

        Raises: InputError for what is no value of the kernel, or no pointer of it, and for floats
        of another type than the pointer's.
        """
        check_pointer(self, pointer)
        if not isinstance(value, (Int, Float, Vector)):
            raise refuse(
                "no value of the kernel is stored", got=type(value).__name__,
                expected="an Int, a register or a Vector",
                hint="b.const(0) is a number as a value of 32 bits, b.f32(0) one in f32",
            )  # fmt: skip
        check_floats(pointer, None if isinstance(value, Int) else value.type, "stored")
        check_room(pointer, _bits(value))
        self.at_caller().store(value.value, pointer.value, align=align)


def two(shape: object) -> tuple[int, int]:
    """Rows and K of a tile."""
    if not isinstance(shape, (tuple, list)) or len(shape) != 2:
        raise refuse("no shape of a tile", got=described(shape), expected="(rows, K)")
    return whole(shape[0], "number of rows"), whole(shape[1], "number of elements along K")


def _bits(value: Vector | Number) -> int:
    """Bits that a value takes in memory."""
    if isinstance(value, Int):
        return value.bits
    count = value.count if isinstance(value, Vector) else 1
    return count * (value.type.bits if value.type else 32)

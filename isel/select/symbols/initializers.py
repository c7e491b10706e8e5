"""Initial values of variables: bytes, and the addresses of other variables among them.

Layer: isel.select.  Input: a constant of LLVM IR.  Output: an `Image`.  PTX ISA, Initializers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Address
from isel.diagnostics import Unselectable
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.constants import known
from isel.llvm.type_layout import SHARED_SPACE, TypeLayout
from isel.llvm.types import IntType, StructType, Type, VectorType
from isel.llvm.vocabulary import Opcode

_LARGEST = 1 << 28
_ADDRESS = 8
_WHOLE = (8, 16, 32, 64)
"""Bits of integers that stand side by side in a vector; others leave no gaps between them."""


@dataclass(slots=True)
class Image:
    """The bytes of a variable, zeros where an address stands, and those addresses."""

    data: bytearray
    addresses: list[Address] = field(default_factory=list)


class Initializers:
    """Lays out the initial values of a module's variables."""

    def __init__(
        self,
        layout: TypeLayout,
        variables: Mapping[str, ir.GlobalVariable],
        functions: Collection[str],
        symbols: Mapping[str, str],
    ) -> None:
        self.layout = layout
        self.variables = variables
        self.functions = functions
        self.symbols = symbols

    def image(self, variable: ir.GlobalVariable) -> Image | None:
        """The initial bytes of a variable; None for zeros, undef and poison.

        Raises: Unselectable.
        """
        initializer = variable.initializer
        if initializer is None or isinstance(initializer, (llvm.Undef, llvm.Poison)):
            return None
        if _is_zero(initializer):
            return None  # memory of a module is zero from the start; for shared see `unkept_zeros`
        if variable.address_space == SHARED_SPACE:
            raise Unselectable(
                "initializer",
                f"@{variable.name}: shared memory has no initialiser",
                expected="undef",
                hint="store to it when the kernel begins, before a barrier",
            )
        size = self.layout.size(initializer.type)
        if size > _LARGEST:
            raise Unselectable(
                "initializer",
                f"the initialiser of @{variable.name} is too large to be written out",
                got=f"{size} bytes",
                expected=f"at most {_LARGEST} bytes",
            )
        image = Image(bytearray(size))
        self._fill(image, 0, initializer, initializer.type)
        return image if image.addresses or any(image.data) else None

    def _fill(self, image: Image, at: int, value: llvm.Value, type_: Type) -> None:
        size = self.layout.size(type_)
        match value:
            case llvm.ConstInt(_, number):
                image.data[at : at + size] = number.to_bytes(size, "little")
                return
            case llvm.ConstFloat(_, bits):
                image.data[at : at + size] = bits.to_bytes(size, "little")
                return
            case llvm.ConstString(_, data):
                image.data[at : at + len(data)] = data
                return
            case llvm.Zero() | llvm.Null() | llvm.Undef() | llvm.Poison():
                return
            case llvm.GlobalRef() | llvm.ConstExpr():
                self._address(image, at, value, size)
                return
        elements = llvm.elements_of(value)
        if elements is None:
            raise _no_data(value)
        match type_:
            case StructType():
                places = self.layout.offsets(type_)
            case VectorType(IntType(bits)) if bits not in _WHOLE:
                _pack(image, at, elements, bits)
                return
            case _:
                each = self.layout.size(elements[0].type) if elements else 0
                places = [n * each for n in range(len(elements))]
        for offset, element in zip(places, elements, strict=True):
            self._fill(image, at + offset, element, element.type)

    # ---- addresses ---------------------------------------------------------------------------

    def _address(self, image: Image, at: int, value: llvm.Value, size: int) -> None:
        name, offset, generic = self._resolve(value)
        if name is None:
            image.data[at : at + size] = (offset & (1 << 8 * size) - 1).to_bytes(size, "little")
            return
        if size != _ADDRESS:
            raise _no_whole_address(size)
        image.addresses.append(Address(at, self.symbols[name], offset, generic))

    def _resolve(self, value: llvm.Value) -> tuple[str | None, int, bool]:
        """The variable (None: none), the distance from it, and whether the address is generic."""
        found = known(self.layout, value)
        if found is None and isinstance(value, llvm.ConstExpr):
            (inner, *others) = value.operands
            if value.opcode is Opcode.ADDRSPACECAST and not others:
                name, offset, generic = self._resolve(inner)
                if name is None:
                    return name, offset, generic  # LLVM keeps the number, too
        if found is None:
            size = self.layout.size(value.type)
            raise _no_data(value) if size == _ADDRESS else _no_whole_address(size)
        if found.name is None:
            return None, found.offset, False
        is_variable = self._check_variable(found.name)
        return found.name, found.offset, found.generic and is_variable

    def _check_variable(self, name: str) -> bool:
        """Whether `name` is a variable, and not a function; its address is known to the linker.

        Raises: Unselectable.
        """
        variable = self.variables.get(name)
        if variable is None and name in self.functions and name in self.symbols:
            return False
        if variable is None:
            raise Unselectable(
                "initializer",
                f"the address of @{name} in an initialiser is not selectable",
                got=f"@{name}",
                expected="a global variable or a function",
            )
        if variable.address_space == SHARED_SPACE:
            raise Unselectable(
                "initializer",
                f"@{name} is in shared memory: its address is not known before the kernel runs",
                got=f"@{name}",
                expected="a variable in global or constant memory",
            )
        return True


def unkept_zeros(variable: ir.GlobalVariable) -> bool:
    """Whether a variable in shared memory is initialised with zeros, which no hardware provides.

    LLVM takes such a variable, and leaves the zeros out.
    """
    initializer = variable.initializer
    is_shared = variable.address_space == SHARED_SPACE
    return is_shared and initializer is not None and _is_zero(initializer)


def _is_zero(value: llvm.Value) -> bool:
    match value:
        case llvm.Zero() | llvm.Null():
            return True
        case llvm.ConstInt(value=number) | llvm.ConstFloat(bits=number):
            return not number
    return False


def _pack(image: Image, at: int, elements: tuple[llvm.Value, ...], bits: int) -> None:
    """Elements of an odd width, bit by bit; what is undefined is 0."""
    numbers = (e.value if isinstance(e, llvm.ConstInt) else 0 for e in elements)
    total = sum(number << bits * n for n, number in enumerate(numbers))
    data = total.to_bytes((bits * len(elements) + 7) // 8, "little")
    image.data[at : at + len(data)] = data


def _no_whole_address(size: int) -> Unselectable:
    return Unselectable(
        "initializer",
        "an address in an initialiser is a whole one",
        got=f"{size} bytes of an address",
        expected=f"{_ADDRESS} bytes",
    )


def _no_data(value: llvm.Value) -> Unselectable:
    shown = value.opcode.value if isinstance(value, llvm.ConstExpr) else type(value).__name__
    return Unselectable(
        "initializer", "an initialiser that is no plain data is not selectable", got=shown
    )

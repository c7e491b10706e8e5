"""Declarations of a module: parameters, variables with initial values, prototypes, linkage.

Layer: intrinsics.mir.  PTX ISA, Kernel and Function Directives; Linking Directives.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import ScalarType, Space


@dataclass(slots=True, unsafe_hash=True)  # a frozen one takes three times as long to make
class Param:
    """A kernel or function parameter.

    `size` is in bytes; a struct passed by value has type B8.  `pointee` is the state space of a
    pointer (None: not a pointer), `constant` marks a grid constant.  `half` is F16 or BF16 where 16
    bits are known to be one of them, which neither PTX nor MIR has syntax for.  `called` is its
    name in the source, a comment in PTX.
    """

    name: str
    type: ScalarType
    size: int
    align: int
    pointee: Space | None = None
    is_pointer: bool = False
    pointee_align: int = 1
    constant: bool = False
    half: ScalarType | None = field(default=None, compare=False)
    called: str = field(default="", compare=False)


class Linkage(Enum):
    """The linkage of a function.  PTX ISA, Linking Directives; the values are the directives."""

    INTERNAL = ""
    VISIBLE = "visible"
    WEAK = "weak"


@dataclass(frozen=True, slots=True)
class Prototype:
    """Parameters and results of a function: of an external one, or of an indirect call.

    PTX ISA, Kernel and Function Directives: .func; Control Flow Directives: .callprototype.
    `attributes` are other directives, kept as text.
    """

    name: str
    params: tuple[Param, ...] = ()
    results: tuple[Param, ...] = ()
    noreturn: bool = False
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Address:
    """An address among initial values: 8 bytes at byte `at` of the variable.

    `offset` is added to the address of `name`, which is `generic` or one in the variable's space.
    """

    at: int
    name: str
    offset: int = 0
    generic: bool = False


class Export(Enum):
    """The linkage of a variable.  PTX ISA, Linking Directives; the values are the directives."""

    NONE = ""
    VISIBLE = "visible"
    WEAK = "weak"
    COMMON = "common"


@dataclass(frozen=True, slots=True)
class Variable:
    """A module-level variable, or one of a function.

    `size` is in bytes, 0 for the unsized array of dynamic shared memory; `data` the initial value,
    with zeros for `addresses`.  `type` is that of a call's parameter, B8 for bytes.  `attribute` is
    a directive such as `.attribute(.managed)`, kept as text.
    """

    name: str
    space: Space
    size: int
    align: int
    data: bytes | None = None
    external: bool = False
    type: ScalarType = ScalarType.B8
    export: Export = Export.NONE
    addresses: tuple[Address, ...] = ()
    attribute: str = ""

    @property
    def has_parts_of_addresses(self) -> bool:
        """Whether an address among its initial values is written byte by byte, with a mask."""
        places = (self.size, self.align, *(address.at for address in self.addresses))
        return bool(self.addresses) and any(place % 8 for place in places)

    @property
    def address_space(self) -> Space:
        """The state space of its address: for a parameter declared in a body, that of calls."""
        return Space.PARAM_FUNC if self.space is Space.PARAM else self.space

"""What a module declares: parameters, variables with initial values, prototypes, linkage.

Layer: intrinsics.mir.  PTX ISA, Kernel and Function Directives; Linking Directives.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from intrinsics.modifiers import ScalarType, Space


@dataclass(slots=True, unsafe_hash=True)  # a frozen one takes three times as long to make
class Param:
    """A kernel or function parameter.

    `size` is in bytes; a struct passed by value has type B8.  `pointee` is the state space of a
    pointer (None: not a pointer), `constant` marks a grid constant.  `half` is F16 or BF16 where 16
    bits are known to be one of them, which no text of PTX or MIR says.  `called` is its name in the
    source, which PTX has in a comment.
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
    """Who sees a function.  PTX ISA, Linking Directives; the values are the directives."""

    INTERNAL = ""
    VISIBLE = "visible"
    WEAK = "weak"


@dataclass(frozen=True, slots=True)
class Prototype:
    """What a function takes and gives: one that another module defines, or any called by pointer.

    PTX ISA, Kernel and Function Directives: .func; Control Flow Directives: .callprototype.
    `attributes` are directives that nvgen has no other place for, as they stood.
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
    """Who else sees a variable.  PTX ISA, Linking Directives; the values are the directives."""

    NONE = ""
    VISIBLE = "visible"
    WEAK = "weak"
    COMMON = "common"


@dataclass(frozen=True, slots=True)
class Variable:
    """A module-level variable.

    `size` is in bytes, 0 for the unsized array of dynamic shared memory; `data` the initialiser,
    with zeros in the place of `addresses`.  `type` is that of a call's parameter, where B8 stands
    for bytes.  `attribute` is a directive such as `.attribute(.managed)`, as it stood.
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
        """Whether an address among its initial values is written byte by byte, by a mask."""
        places = (self.size, self.align, *(address.at for address in self.addresses))
        return bool(self.addresses) and any(place % 8 for place in places)

    @property
    def address_space(self) -> Space:
        """The state space of its address: a parameter that a body declares is that of a call."""
        return Space.PARAM_FUNC if self.space is Space.PARAM else self.space

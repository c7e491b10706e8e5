"""The types of LLVM IR, interned: equal types are one object.

Layer: isel.llvm (standard library only).
Input: constructor arguments, as in `VectorType(FLOAT, 4)`.
Output: immutable objects; `==` and `is` say the same, hashing is by identity,
`str` is LLVM's spelling.
"""

# ruff: noqa: D102 (a constructor is documented by its class)

from __future__ import annotations

import re
from typing import ClassVar, NoReturn, Self, final


class Type:
    """A type of LLVM IR: compare with `is`, print with `str`."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()

    # One pool for all classes; it only grows, and a program has few types.
    _pool: ClassVar[dict[tuple[object, ...], Type]] = {}

    @classmethod
    def _intern(cls, *values: object) -> Self:
        key = (cls, *values)
        found = Type._pool.get(key)
        if found is None:
            fresh = object.__new__(cls)
            for slot, value in zip(cls.__match_args__, values, strict=True):
                object.__setattr__(fresh, slot, value)
            # setdefault is atomic, so two threads agree on one object.
            found = Type._pool.setdefault(key, fresh)
        return found  # type: ignore[return-value]  # the key begins with the class

    @property
    def scalar(self) -> Type:
        """The element type of a vector; any other type itself."""
        return self

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"types are shared and immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"types are shared and immutable: cannot delete {name!r}")

    def __reduce__(self) -> tuple[object, ...]:
        # Copies and unpickled types are the interned object again.
        return self.__class__, tuple(getattr(self, slot) for slot in self.__match_args__)

    def __repr__(self) -> str:
        return f"<{self.__class__.__name__} {self}>"


def _spelled(name: str) -> str:
    """A type's name as LLVM prints it; one that would read as a number has its quotes already."""
    if re.fullmatch(r'[-.A-Z_a-z][-.\w]*|\d+|"+\d+"+', name, re.ASCII):
        return name
    data = name.encode("utf-8", "surrogateescape")
    plain = (chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data)
    return f'"{"".join(plain)}"'


@final
class KeywordType(Type):
    """A type that is one word and no number: `void`, `label`, `token`, `metadata`, `x86_amx`."""

    __slots__ = ("keyword",)
    __match_args__ = ("keyword",)
    keyword: str

    def __new__(cls, keyword: str) -> KeywordType:
        return cls._intern(keyword)

    def __str__(self) -> str:
        return self.keyword


@final
class IntType(Type):
    """`iN`."""

    __slots__ = ("bits",)
    __match_args__ = ("bits",)
    bits: int

    def __new__(cls, bits: int) -> IntType:
        return cls._intern(bits)

    def __str__(self) -> str:
        return f"i{self.bits}"


@final
class FloatType(Type):
    """`half`, `bfloat`, `float`, `double`, `fp128`, `x86_fp80` or `ppc_fp128`, `bits` wide."""

    __slots__ = ("bits", "keyword")
    __match_args__ = ("keyword", "bits")
    keyword: str
    bits: int

    def __new__(cls, keyword: str, bits: int) -> FloatType:
        return cls._intern(keyword, bits)

    def __str__(self) -> str:
        return self.keyword


@final
class PointerType(Type):
    """`ptr` or `ptr addrspace(N)`."""

    __slots__ = ("address_space",)
    __match_args__ = ("address_space",)
    address_space: int

    def __new__(cls, address_space: int = 0) -> PointerType:
        return cls._intern(address_space)

    def __str__(self) -> str:
        return f"ptr addrspace({self.address_space})" if self.address_space else "ptr"


@final
class VectorType(Type):
    """`<N x T>`, or `<vscale x N x T>` when `scalable` (then `count` is the least count)."""

    __slots__ = ("count", "element", "scalable")
    __match_args__ = ("element", "count", "scalable")
    element: Type
    count: int
    scalable: bool

    def __new__(cls, element: Type, count: int, scalable: bool = False) -> VectorType:
        return cls._intern(element, count, scalable)

    @property
    def scalar(self) -> Type:
        """The element type."""
        return self.element

    def __str__(self) -> str:
        return f"<{'vscale x ' if self.scalable else ''}{self.count} x {self.element}>"


@final
class ArrayType(Type):
    """`[N x T]`."""

    __slots__ = ("count", "element")
    __match_args__ = ("element", "count")
    element: Type
    count: int

    def __new__(cls, element: Type, count: int) -> ArrayType:
        return cls._intern(element, count)

    def __str__(self) -> str:
        return f"[{self.count} x {self.element}]"


@final
class StructType(Type):
    """`{ T, U }`, `<{ T, U }>` when packed, or a named struct, which prints as `%name`.

    Two named structs are equal when name and body are: a type means the same in every module.
    """

    __slots__ = ("elements", "name", "packed")
    __match_args__ = ("elements", "packed", "name")
    elements: tuple[Type, ...]
    packed: bool
    name: str | None

    def __new__(
        cls, elements: tuple[Type, ...], packed: bool = False, name: str | None = None
    ) -> StructType:
        return cls._intern(elements, packed, name)

    @property
    def body(self) -> str:
        """The spelling of the body, also for a named struct."""
        text = f"{{ {', '.join(map(str, self.elements))} }}" if self.elements else "{}"
        return f"<{text}>" if self.packed else text

    def __str__(self) -> str:
        return self.body if self.name is None else f"%{_spelled(self.name)}"


@final
class OpaqueType(Type):
    """`%name = type opaque`."""

    __slots__ = ("name",)
    __match_args__ = ("name",)
    name: str

    def __new__(cls, name: str) -> OpaqueType:
        return cls._intern(name)

    @property
    def body(self) -> str:
        """The spelling of the body."""
        return "opaque"

    def __str__(self) -> str:
        return f"%{_spelled(self.name)}"


@final
class FunctionType(Type):
    """`R (A, B)` or, with `vararg`, `R (A, B, ...)`."""

    __slots__ = ("parameters", "return_type", "vararg")
    __match_args__ = ("return_type", "parameters", "vararg")
    return_type: Type
    parameters: tuple[Type, ...]
    vararg: bool

    def __new__(
        cls, return_type: Type, parameters: tuple[Type, ...], vararg: bool = False
    ) -> FunctionType:
        return cls._intern(return_type, parameters, vararg)

    def __str__(self) -> str:
        parameters = [str(p) for p in self.parameters]
        if self.vararg:
            parameters.append("...")
        return f"{self.return_type} ({', '.join(parameters)})"


@final
class TargetType(Type):
    """`target("name", T, N)`: a type that only a target knows."""

    __slots__ = ("integers", "name", "types")
    __match_args__ = ("name", "types", "integers")
    name: str
    types: tuple[Type, ...]
    integers: tuple[int, ...]

    def __new__(
        cls, name: str, types: tuple[Type, ...] = (), integers: tuple[int, ...] = ()
    ) -> TargetType:
        return cls._intern(name, types, integers)

    def __str__(self) -> str:
        items = [f'"{self.name}"', *map(str, self.types), *map(str, self.integers)]
        return f"target({', '.join(items)})"


VOID = KeywordType("void")
LABEL = KeywordType("label")
TOKEN = KeywordType("token")
METADATA = KeywordType("metadata")
X86_AMX = KeywordType("x86_amx")

I1 = IntType(1)
I8 = IntType(8)
I16 = IntType(16)
I32 = IntType(32)
I64 = IntType(64)

HALF = FloatType("half", 16)
BFLOAT = FloatType("bfloat", 16)
FLOAT = FloatType("float", 32)
DOUBLE = FloatType("double", 64)
X86_FP80 = FloatType("x86_fp80", 80)
FP128 = FloatType("fp128", 128)
PPC_FP128 = FloatType("ppc_fp128", 128)

PTR = PointerType()


def with_shape_of(element: Type, shape: Type) -> Type:
    """`element`, made a vector as long as `shape` when `shape` is a vector."""
    if isinstance(shape, VectorType):
        return VectorType(element, shape.count, shape.scalable)
    return element

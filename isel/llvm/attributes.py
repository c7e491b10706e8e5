"""A parsed set of LLVM attributes: of a function, a parameter, a result, or a call.

Layer: isel.llvm (standard library only).  Input: two mappings.  Output: `Attributes`.
"""

from __future__ import annotations

from collections.abc import Mapping

from intrinsics.lazy_dataclass import dataclass
from isel.llvm.types import Type

# What an attribute that is not a string attribute carries: True (`nounwind`), a number
# (`align 8`), a type (`byval(%T)`), or the text between its parentheses (`captures(none)`).
AttributeValue = bool | int | str | Type


@dataclass(frozen=True, slots=True)
class Attributes:
    """Attributes by name: `enums` are LLVM's own words, `strings` the quoted `"key"="value"` ones.

    A quoted attribute without a value has the value `""`.
    """

    enums: Mapping[str, AttributeValue]
    strings: Mapping[str, str]

    def __contains__(self, name: str) -> bool:
        return name in self.enums or name in self.strings

    def __bool__(self) -> bool:
        return bool(self.enums or self.strings)

    def integer(self, name: str) -> int | None:
        """The number of `align 8` or `dereferenceable(8)`; None when absent or not a number."""
        value = self.enums.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def type_of(self, name: str) -> Type | None:
        """The type of `byval(T)`, `sret(T)`, `elementtype(T)`; None when absent."""
        value = self.enums.get(name)
        return value if isinstance(value, Type) else None

    def text(self, name: str) -> str | None:
        """The text of `captures(none)` or `memory(argmem: read)`; None when absent."""
        value = self.enums.get(name)
        return value if isinstance(value, str) else None

    def string(self, name: str) -> str | None:
        """The value of `"name"="value"`; None when absent."""
        return self.strings.get(name)

    def merged(self, other: Attributes) -> Attributes:
        """Both sets; where they disagree `other` wins."""
        if not other:
            return self
        if not self:
            return other
        return Attributes({**self.enums, **other.enums}, {**self.strings, **other.strings})


NO_ATTRIBUTES = Attributes({}, {})

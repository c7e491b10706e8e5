"""Attributes: the properties in which forms of a row differ, and what depends on them.

Layer: intrinsics.row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeAlias, TypeVar

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import Modifier

Attribute: TypeAlias = Modifier | bool | None
"""The value of a qualifier (None: absent), or whether an optional operand is present."""


Attributes: TypeAlias = Mapping[str, Attribute]


T = TypeVar("T")


# ---- operands --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Count:
    """The number of registers of a vector operand: a product of one factor per qualifier.

    A qualifier value without an entry in its table counts 1; a product of 0 means a scalar without
    braces.  Where a qualifier has a value of `fixed`, that is the count.
    """

    factors: tuple[tuple[str, Mapping[Attribute, int]], ...]
    fixed: tuple[tuple[str, Mapping[Attribute, int]], ...] = ()

    def of(self, attributes: Attributes) -> int:
        """The number of registers under `attributes`; 0 for a scalar."""
        for qualifier, table in self.fixed:
            if (known := attributes.get(qualifier)) in table:
                return table[known]
        product = 1
        for qualifier, table in self.factors:
            product *= table.get(attributes.get(qualifier), 1)
        return product

    def modifiers(self, attributes: Attributes) -> str:
        """The modifiers that determine it under `attributes`, as PTX spells them: ".16x64b.x4"."""
        fixed = tuple(
            (qualifier, table)
            for qualifier, table in self.fixed
            if attributes.get(qualifier) in table
        )
        known = (
            attributes[qualifier]
            for qualifier, table in fixed or self.factors
            if attributes.get(qualifier) in table
        )
        return "".join(attribute.ptx for attribute in known if isinstance(attribute, Modifier))


@dataclass(frozen=True, slots=True)
class By(Generic[T]):
    """A property of an operand that depends on the value of a qualifier."""

    qualifier: str
    table: Mapping[Attribute, T]
    otherwise: T

    def of(self, attributes: Attributes) -> T:
        """The property under `attributes`."""
        return self.table.get(attributes.get(self.qualifier), self.otherwise)


def under(found: T | By[T], attributes: Attributes) -> T:
    """The property under these attributes: looked up where a qualifier decides it."""
    return found.of(attributes) if isinstance(found, By) else found


def per(
    fixed: Mapping[str, Mapping[Attribute, int]] | None = None, /, **tables: Mapping[Attribute, int]
) -> Count:
    """The length of a vector: a product of tables over qualifiers, or the `fixed` number of a
    value.
    """
    return Count(tuple(tables.items()), tuple((fixed or {}).items()))

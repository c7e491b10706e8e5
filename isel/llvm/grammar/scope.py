"""The symbol table of a module while it is read.

Layer: isel.llvm (standard library only). Input: the module's type definitions and attribute groups.
Output: `SymbolTable`.
"""

from __future__ import annotations

from dataclasses import field

from intrinsics.lazy_dataclass import dataclass
from isel.llvm.attributes import Attributes
from isel.llvm.types import OpaqueType, StructType


@dataclass(slots=True)
class SymbolTable:
    """The module's named types and attribute groups.

    `type_texts` holds the definitions that were not read yet: they may refer to later ones.
    """

    types: dict[str, StructType | OpaqueType] = field(default_factory=dict)
    type_texts: dict[str, str] = field(default_factory=dict)
    groups: dict[int, Attributes] = field(default_factory=dict)

"""LLVM's intrinsics for a row: name pattern, arguments and results.

Layer: intrinsics.row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TypeAlias

from intrinsics.lazy_dataclass import dataclass
from intrinsics.row.attributes import Attribute, Attributes

Code: TypeAlias = Mapping[int, Attribute]
"""The attributes that the values of an immediate encode."""


@dataclass(frozen=True, slots=True)
class Llvm:
    """One of LLVM's intrinsics for a row.

    `name` follows `llvm.nvvm.`; `{hole}` in it spells a qualifier, as its value or as `holes` says
    (where one text may stand for several attributes).  `args` lists, in order, `type:operand`,
    `type#qualifier` (an immediate that encodes a qualifier), `type?operand` (an i1 that says
    whether the operand counts) and `type=number` (ignored).  What an instruction updates is among
    the arguments and the results.  Types are i1…i128, float, double, `p` and `pN` for pointers to
    address space N, `vNi32` and `v*i32` for vectors as long as the operand, and `n*T` for as many
    values of type T (`v2f16` is a pair in one register) as it has registers: arguments, or a
    structure's elements in a result, where one alone stands for itself.  `numbers` are operands
    that the name states. `own` names are nvgen's, for forms that LLVM 22 does not have.
    """

    name: str
    args: str = ""
    result: str = ""
    given: Attributes = field(default_factory=dict)
    holes: Mapping[str, Mapping[str, Attribute | Attributes]] = field(default_factory=dict)
    codes: Mapping[str, Code] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)
    own: bool = False

"""Values that the examples of the reader share."""

from __future__ import annotations

from isel.llvm.types import (
    FLOAT,
    I32,
    PTR,
)
from isel.llvm.values import (
    ConstFloat,
    Local,
)

A = Local("i", I32)
X = Local("x", FLOAT)
P = Local("p", PTR)
ONE = ConstFloat(FLOAT, 0x3F800000)

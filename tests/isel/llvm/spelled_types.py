"""How LLVM spells types, and how many bits its kinds of floats have."""

from __future__ import annotations

import re

from isel.llvm.types import (
    Type,
)


def spelled(type: Type) -> str:
    """A type as LLVM spells it, which puts quotes around some of the names."""
    return re.sub(r'%("7"|odd type, { i32 })', lambda m: f'%"{m[1].strip(chr(34))}"', str(type))


WIDTHS = {"half": 16, "bfloat": 16, "float": 32, "double": 64, "x86_fp80": 80}
WIDTHS |= {"fp128": 128, "ppc_fp128": 128}

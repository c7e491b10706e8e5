"""Integer operations of LLVM IR by name, and the numbers at which they go wrong."""

from __future__ import annotations

WIDTHS = (1, 8, 16, 32, 64)
ARITHMETIC = ("add", "sub", "mul", "and", "or", "xor")
SHIFTS = ("shl", "lshr", "ashr")
PREDICATES = ("eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle")


def edges(width: int) -> list[int]:
    """The numbers of a width where arithmetic goes wrong: 0, -1, the extremes, powers of two."""
    if width == 1:
        return [0, 1]
    half = 1 << (width - 1)
    powers = [1 << n for n in (3, width // 2 - 1, width // 2, width - 2)]
    extremes = [0, 1, 2, -1, -2, half - 1, -half, half - 2, -half + 1]
    return list(dict.fromkeys([*extremes, *powers, *(p - 1 for p in powers)]))


def constant(number: int, width: int) -> str:
    """LLVM's spelling of a constant."""
    return ("true" if number & 1 else "false") if width == 1 else str(number)

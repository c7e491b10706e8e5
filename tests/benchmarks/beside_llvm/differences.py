"""Whether two runs leave the same bytes, and how far apart they are where they do not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def difference(
    ours: Sequence[NDArray[np.generic]], llvm: Sequence[NDArray[np.generic]], types: Sequence[str]
) -> str | None:
    """How many elements differ in their bytes, and how far they are apart at most."""
    for number, (mine, other, type_) in enumerate(zip(ours, llvm, types, strict=True)):
        bits = np.dtype(f"u{mine.itemsize}")
        places = np.flatnonzero(mine.view(bits) != other.view(bits))
        if not places.size:
            continue
        a, b = (_wide(one[places], type_) for one in (mine, other))
        with np.errstate(all="ignore"):
            apart = np.nanmax(np.abs(a - b)) / max(np.nanmax(np.abs(_wide(other, type_))), 1e-300)
        return f"array {number}, {places.size} of {mine.size}, by {apart:.1e} of the largest"
    return None


def _wide(values: NDArray[np.generic], type_: str) -> NDArray[np.float64]:
    if type_ == "bf16":
        values = (values.astype(np.uint32) << 16).view(np.float32)
    return values.astype(np.float64)

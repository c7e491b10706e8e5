"""The values of a register in the 32 lanes of a warp, as arrays of numpy.

Layer: nvgen.sim.
"""

from __future__ import annotations

import numpy as np

from nvgen.sim.faults import not_simulated
from nvgen.sim.threads.machine import Lanes, Values

_UNSIGNED = {1: np.bool_, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


LONG = np.dtype([("low", np.uint64), ("high", np.uint64)])
"""128-bit registers, which are only moved, loaded, stored and unpacked."""


def unsigned(bits: int) -> type[np.generic]:
    """The numpy type of `bits` untyped bits.

    Raises: NotSimulatedError for 128 bits, which no numpy type computes with.
    """
    if bits not in _UNSIGNED:
        raise not_simulated(f"a {bits}-bit register")
    return _UNSIGNED[bits]


def held(bits: int) -> np.dtype[np.generic]:
    """The numpy type of a register, `LONG` for 128 bits."""
    return LONG if bits == LONG.itemsize * 8 else np.dtype(unsigned(bits))


def words_of(values: Values) -> tuple[Values, Values]:
    """The lower and the upper 64 bits of registers of 128."""
    words = np.ascontiguousarray(values).view(np.uint64).reshape(-1, 2)
    return words[:, 0], words[:, 1]


def flags(values: Values) -> Lanes:
    """Predicate values as flags."""
    return values.astype(np.bool_, copy=False)

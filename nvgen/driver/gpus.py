"""Which GPU is here, and what code it runs.

Layer: nvgen.driver.  The driver's library is asked directly, so that the answer costs no import of
cuda.core.  CUDA driver API, cuDeviceGetAttribute; PTX ISA, PTX Module Directives: .target.
"""

from __future__ import annotations

import ctypes
import functools
import sys

from intrinsics.targets import TARGETS, Target

_CAPABILITY_MAJOR, _CAPABILITY_MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_…


@functools.cache
def gpu() -> tuple[int, str]:
    """The first GPU's architecture, such as 90, and ""; or 0 and why there is none."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        driver = ctypes.CDLL(name)
    except OSError:
        return 0, f"no NVIDIA driver here (no {name})"
    device = ctypes.c_int()
    if status := driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(device), 0):
        return 0, f"no GPU here (CUDA driver error {status})"
    found = []
    for attribute in (_CAPABILITY_MAJOR, _CAPABILITY_MINOR):
        value = ctypes.c_int()
        if status := driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, device):
            return 0, f"the GPU does not say what it is (CUDA driver error {status})"
        found.append(value.value)
    return 10 * found[0] + found[1], ""


def unfit(target: Target, number: int) -> str:
    """Why a GPU of architecture `number` cannot run code for `target`; "" if it can.

    Plain code runs on its own and every later architecture, `a` code on its own only, `f` code on
    its own and the later ones of its family.
    """
    own = int(target.renamed_to.removeprefix("sm_").rstrip("af"))
    if target.suffix == "a":
        fits = number == own
    elif target.suffix == "f":
        fits = number >= own and _family(number) == target.family
    else:
        fits = number >= own
    return "" if fits else f"the GPU is sm_{number}, which does not run code for {target}"


def _family(number: int) -> int:
    known = TARGETS.get(f"sm_{number}")
    return known.family if known is not None else number


def architecture(target: Target, number: int) -> str:
    """The architecture that ptxas assembles `target` for, so that a GPU of architecture `number`
    loads it.

    Machine code runs on the architecture that it is made for, PTX on later ones too.
    """
    return target.renamed_to if target.suffix == "a" else f"sm_{number}{target.suffix}"

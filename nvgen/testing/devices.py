"""What keeps a kernel from running on a device.

Layer: nvgen.testing.  The CUDA driver is asked what the GPU is; nothing is launched here.
CUDA driver API, cuDeviceGetAttribute; PTX ISA, PTX Module Directives: .target.
"""

from __future__ import annotations

import ctypes
import functools
import sys

from intrinsics.findings import InputError
from intrinsics.targets import TARGETS, Target

DEVICES = ("sim", "cuda")

_CAPABILITY_MAJOR, _CAPABILITY_MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_…


def obstacle(device: str, target: Target | None) -> str:
    """Why `device` cannot run kernels for `target` (None: not known yet); "" if it can."""
    if device == "sim":
        return ""
    reasons = [_not_launched(device), _no_gpu(target)]
    return f"device {device}: " + "; ".join(filter(None, reasons)) if any(reasons) else ""


def _not_launched(device: str) -> str:
    """Why this version of nvgen launches nothing there."""
    from nvgen.api import check_device

    try:
        check_device(device)
    except InputError as error:
        return error.findings[0].hint or error.findings[0].message
    return ""


def _no_gpu(target: Target | None) -> str:
    number, reason = gpu()
    return reason or (unfit(target, number) if target is not None else "")


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

"""Reasons why a device cannot run a kernel.

Layer: nvgen.testing.  The CUDA driver is asked what the GPU is; nothing is launched here.
"""

from __future__ import annotations

import importlib.util

from intrinsics.targets import Target
from nvgen.driver.gpus import gpu, unfit
from nvgen.launching.launches import DEVICES

__all__ = ["DEVICES", "obstacle"]


def obstacle(device: str, target: Target | None) -> str:
    """Why `device` cannot run kernels for `target` (None: not known yet); "" if it can."""
    if device == "sim":
        return ""
    number, reason = gpu()
    if not reason and target is not None:
        reason = unfit(target, number)
    if not reason and not _installed():
        reason = "cuda.core is not installed: pip install 'nvgen[cuda]'"
    return f"device {device}: {reason}" if reason else ""


def _installed() -> bool:
    try:
        return importlib.util.find_spec("cuda.core") is not None
    except ModuleNotFoundError:
        return False

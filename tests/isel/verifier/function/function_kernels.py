"""Kernels in PTX for tests of the function level by their names: all of them are right."""

from __future__ import annotations

from tests.isel.verifier.function import (
    condition_kernels,
    pipeline_kernels,
    role_kernels,
    tile_kernels,
)

CLEAN: dict[str, str] = {
    name.lower(): text
    for module in (tile_kernels, pipeline_kernels, role_kernels, condition_kernels)
    for name, text in vars(module).items()
    if isinstance(text, str) and ".visible .entry k(" in text and name != "HEAD"
}

"""Mistakes planted in the Hopper GEMM, or in how its CTAs and warpgroups share tiles.

Input: what stands in samples/10_gemm_sm90.py, gemm/sharing.py or gemm/overlay.py, and what instead
of it.  Output: the rules of the verifier, else those of a run in the simulator.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np

from nvgen.compilation.compiled import Compiled
from tests.samples.found_mistakes import found_by
from tests.samples.modules import FOLDER, edited, named

GEMM, TARGET = "10_gemm_sm90", "sm_90a"
WAYS = {"gemm/sharing": "PingPong", "gemm/overlay": "Overlay"}
"""The classes of other files that the sample is built with."""

_ANY = "class Gemm:\n"


def with_edit(old: str, new: str) -> ModuleType:
    """The sample with one edit, of itself or of a way to share tiles."""
    named(GEMM)
    for stem, name in WAYS.items():
        if old in (FOLDER / f"{stem}.py").read_text(encoding="utf-8"):
            sample = edited(GEMM, _ANY, _ANY)
            setattr(sample, name, getattr(edited(stem, old, new), name))
            return sample
    return edited(GEMM, old, new)


def found_in(
    cut: dict[str, int], size: tuple[int, int, int], old: str, new: str, schedule: str = "late"
) -> set[str]:
    """The rules that find a mistake in a configuration whose CTAs are one cluster, or `numbers`
    where only the product is wrong."""
    sample = with_edit(old, new)
    config = sample.Config(**cut)

    def is_right(made: Compiled) -> bool:
        a, b, expected = sample.operands(*size)
        d = np.full_like(expected, np.nan)
        place = {"grid": config.ctas, "cluster": config.ctas}
        made.run(a, b, d, *size, **place, device="sim", schedule=schedule)
        return np.array_equal(d, expected)

    return found_by(lambda: sample.build(config).compile(target=TARGET, opt=3), is_right)

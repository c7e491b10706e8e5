"""Which configurations of the Hopper GEMM are worth a thought: tiles, and how CTAs share them.

gemm_model.py predicts the time of each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from gemm_plan import Config, Kind


def shapes() -> Iterator[tuple[int, int, int, bool]]:
    """Rows and columns of tiles, warpgroups, and whether A and B change sides.

    Columns of few rows of A are as narrow as they come: what lies beyond M costs.
    """
    for m, warpgroups, widest in ((64, 1, 256), (128, 2, 256), (192, 3, 192), (256, 2, 160)):
        for n in range(64, widest + 1, 16):
            yield m, n, warpgroups, False
        for n in range(64, widest + 1, 8 if m <= 128 else 16):
            yield m, n, warpgroups, True
    for m, n in product((64, 128), range(8, 64, 8)):
        yield m, n, m // 64, True


def cuts(m: int, n: int) -> Iterator[dict[str, int]]:
    """How tiles of a shape may be shared, and how a CTA may bring them."""
    for cluster in (1, 2, 4):
        if n % (8 * cluster) or (cluster == 4 and n < 64):
            continue
        for split in range(1, 8 // cluster + 1 if m <= 128 else 2):
            yield {"cluster": cluster, "split": split}
            if n <= 64 and m <= 128 and cluster < 4:
                yield {"cluster": cluster, "split": split, "depth": 2}
            if cluster == 1 and n <= 112 and m == 64:
                yield from ({"split": split, "resident": many} for many in (2, 3))
        if n >= 64 and cluster < 4:
            yield from ({"cluster": cluster, "tail": parts} for parts in (2, 3, 4))
        elif cluster == 1 and m == 64:
            yield from ({"tail": parts, "depth": 2} for parts in (2, 3, 4))


def configurations(kind: Kind) -> list[Config]:
    """All of them, each with as many buffers as fit."""
    found = []
    for m, n, warpgroups, swap in shapes():
        for cut in cuts(m, n):
            config = Config(m, n, warpgroups, 1, swap=swap, **cut)
            stages = min(config.most_stages(kind), 12)
            if stages >= 3 and (config.resident < 3 or n < 104):  # which need more registers
                found.append(replace(config, stages=stages))
    return found

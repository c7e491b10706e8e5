"""Which configurations of the Hopper GEMM are worth a thought: tiles, and how CTAs share them.

gemm/model.py predicts the time of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, product

from gemm.plan import ROW, ROWS, Config, Kind
from nvgen import Major


def shapes() -> Iterator[tuple[int, int, int, bool]]:
    """Rows and columns of tiles, warpgroups, and whether A and B change sides.

    Columns of few rows of A are as narrow as they come: what lies beyond M costs.
    """
    for m, warpgroups, widest in ((64, 1, 256), (128, 2, 256), (192, 3, 192), (256, 2, 160)):
        for n in range(64, widest + 1, 16):
            yield m, n, warpgroups, False
        for n in range(64, widest + 1, 8):
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
    found = (
        Config(m, n, warpgroups, 1, swap=swap, **cut)
        for m, n, warpgroups, swap in shapes()
        for cut in cuts(m, n)
        if cut.get("resident", 1) < 3 or n < 104  # which need more registers
    )
    every = chain(found, pingpong(), overlays())
    some = (c for c in every if not is_never_fastest(c) and lies_in_spans(c, kind))
    return with_stages(some, kind)


def lies_in_spans(config: Config, kind: Kind) -> bool:
    """Whether columns of a tile that lie MN-major fill spans of 128 bytes, or of few rows of A of
    32.  Narrower copies of wide tiles took 1.1 to 1.6 times as long; spans of 16 wgmma refuses.
    """
    if (kind.a_major if config.swap else kind.b_major) is Major.K:
        return True
    nbytes = config.n // config.cluster * kind.dtype.bits // 8
    return nbytes % (ROW if config.n >= ROWS else 32) == 0


def is_never_fastest(config: Config) -> bool:
    """Whether copies are waited for, longer than the model thinks: of 127 such configurations none
    was the fastest of its product by more than 0.2 %.  Or K is cut into more parts than a wide tile
    or CTAs beside each other gain by: of 1,600 products the model takes such for none.
    """
    deep = config.depth == 2 and config.m * config.n == 128 * 64
    flat = config.swap and config.m == 64 and config.n > 96
    cut = config.split > 4 and (config.n > 128 or config.resident > 1 or config.overlay)
    return deep or cut or (config.cluster > 1 and config.split == 1 and flat)


def serves(config: Config, *, few: bool) -> bool:
    """Whether a configuration is one for few rows of A, up to 128, or for more.

    256 rows of B by few of A took 6 to 11 % longer than the model thinks.
    """
    if few:
        return config.n <= 128 and config.m < 256 if config.swap else config.m <= 128
    return config.n >= 64 and config.split < 6


def pingpong() -> Iterator[Config]:
    """Warpgroups in turn, whose sums leave a thread 32 registers and more of 240.

    64 rows of B by many of A took up to 1.2 times as long as the model thinks.
    """
    for m, widest, swap in ((64, 256, False), (128, 208, False), (128, 208, True)):
        for n, cluster in product(range(64, widest + 1, 8 if m > 64 else 16), (1, 2)):
            if n % (8 * cluster) == 0:
                yield Config(m, n, 2, 1, cluster=cluster, swap=swap, pingpong=True)


def overlays() -> Iterator[Config]:
    """CTAs that share a tile without room of its own for what they send, each with as wide a slice.

    Tiles of 64 rows have room as it is.
    """
    for m, n, warpgroups, swap in shapes():
        for cluster, split in product((1, 2), range(2, 9)):
            even = n // 8 % split == 0 and n % (8 * cluster) == 0
            if even and m > 64 and n >= 64 and cluster * split <= 8:
                yield Config(
                    m, n, warpgroups, 1, cluster=cluster, split=split, swap=swap, overlay=True
                )


def with_stages(configs: Iterable[Config], kind: Kind) -> list[Config]:
    """Of configurations those of which three buffers fit, with as many as do."""
    most = (full(config, kind) for config in configs)
    found = [config for config in most if config.stages >= 3]
    return [config for config in found if config.overlays or not config.overlay]


def full(config: Config, kind: Kind) -> Config:
    """With as many buffers as fit; of the widest with one for what a warp stores, if one more does.

    Tiles of 192 rows and more, and those of 64 in turn, wait for what is brought, not for stores.
    """
    less = replace(config, staged=1)
    both = [replace(c, stages=min(c.most_stages(kind), 12)) for c in (config, less)]
    few = config.m > 128 or (config.pingpong and config.m == 64)
    return both[few and both[1].stages > both[0].stages]

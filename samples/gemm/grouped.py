"""Grouped GEMM for Hopper: each expert of a mixture multiplies its own rows of A.

B is experts × N × K.  Rows of A lie in one of two ways:

    contiguous   A and D are rows × K and rows × N; each 128 rows belong to one expert, whose number
                 `experts` holds, or to none (-1): these rows of D are not written
    masked       A and D are experts × M × K and experts × M × N, of which `counts` rows count; what
                 lies behind them in the last tile of an expert is written, and means nothing

The rest is sample 10: a tile asks for its expert, and TMA goes by three dimensions.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from nvgen import ElementType, Kernel, i32

if (FOLDER := str(Path(__file__).parents[1])) not in sys.path:
    sys.path.append(FOLDER)
from gemm.family_plan import BLOCK
from gemm.plan import BF16, Config, Kind, grid
from gemm.sharing import Work

gemm = importlib.import_module("10_gemm_sm90")


class GroupedGemm(gemm.Gemm):
    """Tiles have an expert each, and some nothing to multiply."""

    @contextmanager
    def tiles(self) -> Iterator[Work]:
        """Those with something to multiply."""
        with super().tiles() as work:
            self.expert = self.expert_of(work)
            with self.b.if_(self.is_wanted(work, self.expert)):
                yield work

    @contextmanager
    def own_tiles(self) -> Iterator[Work]:
        """The same; a warpgroup with nothing to multiply lets the other one have its turn."""
        with super().own_tiles() as work:
            self.expert = self.expert_of(work)
            with self.b.if_(self.is_wanted(work, self.expert)):
                yield work
            with self.b.else_(), self.sharing.turn(work):
                pass

    def steps_before(self, work: Work):
        """None of a tile with nothing to multiply."""
        other = self.work(work.number - self.b.nctaid_x, work.first, work.end, work.is_last)
        is_wanted = self.is_wanted(other, self.expert_of(other))
        return self.b.select(is_wanted, super().steps_before(work), 0)

    def expert_of(self, work: Work):
        """Whose rows these are."""
        raise NotImplementedError

    def is_wanted(self, work: Work, expert):
        """Whether some of them count."""
        raise NotImplementedError


class ContiguousGemm(GroupedGemm):
    """Rows of all experts, one behind the other."""

    ranks = {"a": 2, "b": 3, "d": 2}  # noqa: RUF012

    def declare(self) -> None:
        """The numbers stand behind the sizes."""
        super().declare()
        self.b.pointer("experts", i32)

    def expert_of(self, work: Work):
        """As the numbers say."""
        row = work.column if self.config.swap else work.row
        return self.args["experts"][row // BLOCK]

    def is_wanted(self, work: Work, expert):
        """Unless they are nobody's."""
        return expert >= 0

    def at(self, name: str, row, step) -> tuple:
        """B's coordinates have the expert."""
        place = super().at(name, row, step)
        return (*place, self.b.u32(self.expert)) if name == "b" else place


class MaskedGemm(GroupedGemm):
    """As many rows for each expert, of which some count."""

    ranks = {"a": 3, "b": 3, "d": 3}  # noqa: RUF012

    def declare(self) -> None:
        """The numbers stand behind the sizes."""
        super().declare()
        self.b.pointer("counts", i32)
        self.b.integer("experts")

    def tile_count(self):
        """The tiles of all experts, one after the other."""
        return super().tile_count() * self.args["experts"]

    def place(self, number) -> tuple:
        """Where a tile lies among its expert's."""
        return super().place(number % super().tile_count())

    def expert_of(self, work: Work):
        """As its number says."""
        return work.number // super().tile_count()

    def is_wanted(self, work: Work, expert):
        """If the first row of a tile does, or of those of all CTAs that share B's rows."""
        first = work.left if self.config.swap else work.top
        if self.config.cluster > 1 and not self.config.swap:
            first = first - self.rank * self.config.m
        return first < self.b.u32(self.args["counts"][expert])

    def at(self, name: str, row, step) -> tuple:
        """All coordinates have the expert."""
        return (*super().at(name, row, step), self.expert)

    def at_d(self, column, row) -> tuple:
        """D's too."""
        return column, row, self.expert


def build(config: Config, kind: Kind = BF16, masked: bool = False) -> Kernel:
    """The kernel; its arguments are A, B, D, M, N, K and the numbers: of M rows in all with the
    expert of each 128, or with `masked` of M rows an expert with their counts and the experts.

    Which weights a tile needs the numbers say, so that none come early."""
    config = replace(config, early=False)
    return (MaskedGemm if masked else ContiguousGemm)(config, kind).finish()


def operands(
    experts: np.ndarray, n: int, k: int, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Small integers as A of the blocks of these `experts` and B of `count`, and their products."""
    rng, rows = np.random.default_rng(0), len(experts) * BLOCK
    dtype = ElementType.BF16.numpy
    a, b = rng.integers(-4, 5, (rows, k)), rng.integers(-4, 5, (count, n, k))
    d = np.zeros((rows, n))
    for block, expert in enumerate(experts):
        part = slice(block * BLOCK, block * BLOCK + BLOCK)
        d[part] = a[part] @ b[expert].T if expert >= 0 else 0
    return a.astype(dtype), b.astype(dtype), d.astype(dtype)


def main() -> None:
    """Run four blocks of three experts, one without any, on the simulator; compare with numpy."""
    experts, (n, k) = np.array([2, -1, 0, 1], np.int32), (72, 136)
    a, b, expected = operands(experts, n, k, 3)
    d, config = np.zeros_like(expected), Config(m=64, n=64, consumers=1, stages=2)
    kernel = build(config).compile(target=gemm.TARGET)
    kernel.run(a, b, d, len(a), n, k, experts, grid=grid(config, len(a), n, 3), device="sim")
    assert np.array_equal(d, expected), "the products differ from numpy"
    print(f"grouped D, 4 blocks of 3 experts, {n}x{k}: equal to numpy in all {d.size} elements")


if __name__ == "__main__":
    main()

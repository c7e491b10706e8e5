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

if (FOLDER := str(Path(__file__).parent)) not in sys.path:
    sys.path.append(FOLDER)
from gemm_model import H100, Machine
from gemm_model import choose as best
from gemm_plan import BF16, Config, Kind, grid
from gemm_sharing import Work

gemm = importlib.import_module("10_gemm_sm90")

BLOCK = 128  # rows that belong to one expert


class ContiguousGemm(gemm.Gemm):
    """Rows of all experts, one behind the other."""

    ranks = {"a": 2, "b": 3, "d": 2}  # noqa: RUF012
    numbers = "experts"

    def declare(self) -> None:
        """The numbers stand behind the sizes."""
        super().declare()
        self.b.pointer(self.numbers, i32)

    @contextmanager
    def tiles(self) -> Iterator[Work]:
        """The tiles that belong to an expert."""
        with super().tiles() as work:
            row = work.column if self.config.swap else work.row
            self.expert = self.args["experts"][row // BLOCK]
            with self.b.if_(self.expert >= 0):
                yield work

    def at(self, name: str, row, step) -> tuple:
        """B's coordinates have the expert."""
        place = super().at(name, row, step)
        return (*place, self.b.u32(self.expert)) if name == "b" else place


class MaskedGemm(gemm.Gemm):
    """As many rows for each expert, of which some count."""

    ranks = {"a": 3, "b": 3, "d": 3}  # noqa: RUF012

    def declare(self) -> None:
        """The numbers stand behind the sizes."""
        super().declare()
        self.b.pointer("counts", i32)
        self.b.integer("experts")

    @contextmanager
    def tiles(self) -> Iterator[Work]:
        """The tiles of all experts one after the other, but for those without a row that counts."""
        b, each = self.b, self.down * self.across
        with self.sharing.tiles(each * self.args["experts"]) as (number, first, end, is_last):
            self.expert = number // each
            place = self.place(number % each)
            with b.if_(self.first(place) < b.u32(self.args["counts"][self.expert])):
                yield Work(*place, first, end, number, is_last)

    def first(self, place: tuple):
        """The first row of A of a tile, or of those of all CTAs that share B's rows."""
        if self.config.swap:
            return place[3]
        return place[2] - self.rank * self.config.m if self.config.cluster > 1 else place[2]

    def at(self, name: str, row, step) -> tuple:
        """All coordinates have the expert."""
        return (*super().at(name, row, step), self.expert)

    def at_d(self, column, row) -> tuple:
        """D's too."""
        return column, row, self.expert


def build(config: Config, kind: Kind = BF16, *, masked: bool = False) -> Kernel:
    """The kernel; its arguments are A, B, D, M, N, K and the numbers: of M rows in all with the
    expert of each 128, or with `masked` of M rows an expert with their counts and the experts.

    Which weights a tile needs the numbers say, so that none come early."""
    config = replace(config, early=False)
    return (MaskedGemm if masked else ContiguousGemm)(config, kind).finish()


def is_possible(config: Config) -> bool:
    """Whether tiles of such a configuration have one expert each."""
    alone = config.cluster == config.split == config.tail == 1 and not config.swap
    return alone and BLOCK % config.m == 0


def choose(m: int, n: int, k: int, kind: Kind = BF16, machine: Machine = H100) -> Config:
    """The configuration for as many rows in all, of those that are possible."""
    return best(m, n, k, kind, machine, is_possible)


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

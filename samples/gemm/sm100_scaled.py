"""Block-scaled products on Blackwell: MXFP8, MXFP4 and NVFP4, by one CTA or a pair.

    D = (A·scales)·(B·scales)ᵀ: a factor for each 32 elements along K (a power of two), or 16 (e4m3)

The kernel is gemm/sm100.py: its tiles, ring, pairs, accumulators and stores.  Factors come beside
the tiles, as cuDNN and CUTLASS have them in memory, in blocks of 128 rows by four; the thread that
multiplies copies those of a step into tensor memory, into columns of each buffer of the ring:

    memory: blocks of 512 bytes ─ TMA ─► shared memory ─ tcgen05.cp ─► columns behind the sums ─►
                                                              tcgen05.mma.block_scale, K = 32 or 64

Its copies and multiplies are a pipeline.  Of a pair each CTA has the factors of its rows, and those
of all n columns.  What one f32 scales as a whole, as NVFP4 has it, is an epilogue.
Runs on the CPU simulator; never run on a real Blackwell GPU yet.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np

from nvgen import ElementType, Kernel, f32

if (FOLDER := str(Path(__file__).parents[1])) not in sys.path:
    sys.path.append(FOLDER)
from gemm.output import Output
from gemm.plan import Config, Kind
from gemm.sharing import Work

blackwell = importlib.import_module("gemm.sm100")
gemm = blackwell.gemm
TARGETS, LANES, COLUMNS = blackwell.TARGETS, blackwell.LANES, blackwell.COLUMNS
FOUR = 4  # factors of a row in a block


@dataclass(frozen=True, slots=True)
class Factors:
    """What factors are: their type, and how many elements along K share one."""

    dtype: ElementType
    size: int


MX = Factors(ElementType.UE8M0, 32)
NV = Factors(ElementType.UE4M3, 16)


def times_alpha(args, value, row, column):
    """The epilogue of NVFP4: one f32 for the whole."""
    return value * args["alpha"][0]


MXFP8 = Kind(ElementType.E4M3)
MXFP4 = Kind(ElementType.E2M1)
NVFP4 = Kind(ElementType.E2M1, epilogue=times_alpha, reads=(("alpha", f32),))


class ScaledGemm(blackwell.BlackwellGemm):
    """The kernel under construction."""

    factors = MX
    overlaps = False  # blocks of factors begin at multiples of 128 rows

    def declare(self) -> None:
        """The factors of A and B stand behind the sizes, as blocks of 128 words."""
        super().declare()
        self.words = self.k // (self.factors.size * FOUR)  # blocks along K of a step
        self.scaled = {self.left: self.config.m, self.right: self.config.n}
        for name in ("a", "b"):
            box = self.scaled[name] // LANES, self.words, LANES
            experts = (1,) * (self.ranks[name] - 2)
            self.b.tensor_map(f"scale_{name}", dtype=ElementType.S32, box=(*experts, *box))

    def allocate(self) -> None:
        """Room for the factors of each step; columns of them lie behind the sums."""
        kinds = {"dtype": self.factors.dtype, "size": self.factors.size}
        self.shared_factors = {
            name: self.b.shared_scales(f"sf{name}", rows, self.k, self.config.stages, **kinds)
            for name, rows in self.scaled.items()
        }
        self.more_bytes = sum(ring.nbytes for ring in self.shared_factors.values())
        super().allocate()

    def columns_beside(self) -> int:
        """Four for each block, in each buffer."""
        return scale_columns(self.config, self.words)

    def prepare(self, producer: int) -> None:
        """The columns, when the sums have theirs."""
        super().prepare(producer)
        kinds = {"dtype": self.factors.dtype, "size": self.factors.size}
        self.tensor_factors = {
            name: self.tensor.scale_tiles(rows, self.k, self.config.stages, **kinds)
            for name, rows in self.scaled.items()
        }

    def bring_more(self, stage, work: Work, step) -> None:
        """The factors of a step: of a pair each CTA has its rows' and all columns'."""
        for name, ring in self.shared_factors.items():
            first = (work.row if name == self.left else work.column) // LANES
            _, _, *expert = self.at(name, first, step)
            self.b.cp_async_bulk_tensor_g2s_tile(
                ring[stage].pointer, self.counted(stage), self.args[f"scale_{name}"],
                (0, step * self.words, first, *expert), cta_group=self.of_pair,
            )  # fmt: skip

    def multiply_step(self, d, stage, accumulate) -> None:
        """Copy the factors, and start the multiplies of one step of K."""
        b = self.b
        sfx, sfy = (self.tensor_factors[name][stage] for name in (self.left, self.right))
        for name, target in ((self.left, sfx), (self.right, sfy)):
            b.copy_scales(target, self.shared_factors[name][stage], cta_group=self.pair)
        x, y = self.x_ring[stage], self.y_ring[stage]
        b.gemm_async(d, x, y, accumulate=accumulate, cta_group=self.pair, sfa=sfx, sfb=sfy)


def scale_columns(config: Config, words: int) -> int:
    """Columns of tensor memory that factors take."""
    return (config.m + config.n) // LANES * FOUR * words * config.stages


def is_possible(config: Config, kind: Kind, factors: Factors) -> bool:
    """Whether tiles have whole blocks of factors, and these fit beside the sums."""
    words = blackwell.step_of(kind) // (factors.size * FOUR)
    rest = COLUMNS - config.m // LANES * config.n - scale_columns(config, words)
    return blackwell.has_tiles(config) and config.n % LANES == 0 and rest >= 0


def build(
    config: Config,
    kind: Kind = MXFP8,
    factors: Factors = MX,
    output: type[Output] = Output,
    family: type[gemm.Gemm] = gemm.Gemm,
) -> Kernel:
    """The kernel, as LLVM IR; its arguments are A, B, D, M, N, K and the factors of A and B.

    Raises: ValueError for a configuration that is not possible.
    """
    if not is_possible(config, kind, factors):
        raise ValueError(f"no such tiles with factors: {config}")
    return blackwell.joined(ScaledGemm, output, family, factors=factors)(config, kind).finish()


def blocked(factors: np.ndarray) -> np.ndarray:
    """Factors of (rows, K / size) as blocks of 128 rows by four: rows / 128 × K / … × 128 words.

    In a block those of row r are the four bytes at 16 (r mod 32) + 4 (r div 32); what is beyond
    the edges is zeros.
    """
    rows, count = (-(-n // d) * d for n, d in zip(factors.shape, (LANES, FOUR), strict=True))
    whole = np.zeros((rows, count), np.uint8)
    whole[: factors.shape[0], : factors.shape[1]] = factors.view(np.uint8)
    parts = whole.reshape(rows // LANES, 4, 32, count // FOUR, FOUR).transpose(0, 3, 2, 1, 4)
    words = np.ascontiguousarray(parts).reshape(rows // LANES, count // FOUR, 4 * LANES)
    return words.view(np.int32)


def matrix(
    rng: np.random.Generator, rows: int, k: int, kind: Kind = MXFP8, factors: Factors = MX
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A matrix as the kernel takes it, its blocked factors, and the numbers that they stand for."""
    numbers = rng.integers(-4, 5, (rows, k)).astype(np.float32).astype(kind.dtype.numpy)
    chosen = [0.25, 0.5, 1, 2, 4] if factors is MX else [0.5, 0.75, 1, 1.5, 2]
    scales = rng.choice(chosen, (rows, -(-k // factors.size)))
    stored = scales.astype(ml_dtypes.float8_e8m0fnu if factors is MX else ml_dtypes.float8_e4m3fn)
    meant = numbers.astype(np.float64) * scales.repeat(factors.size, 1)[:, :k]
    bits = numbers.view(np.uint8)
    given = bits[:, ::2] | bits[:, 1::2] << 4 if kind.dtype.bits == FOUR else numbers
    return given, blocked(stored), meant


def operands(
    m: int, n: int, k: int, kind: Kind = MXFP8, factors: Factors = MX
) -> tuple[np.ndarray, ...]:
    """A, B, D of numpy, and the blocked factors: numbers whose sums are exact."""
    rng = np.random.default_rng(0)
    (a, scale_a, of_a), (b, scale_b, of_b) = (matrix(rng, x, k, kind, factors) for x in (m, n))
    return a, b, (of_a @ of_b.T).astype(np.float32).astype(kind.out.numpy), scale_a, scale_b


def main() -> None:
    """Run 200×136×288 in MXFP8, and in NVFP4 by a pair, on the simulator; compare with numpy."""
    m, n, k, alpha = 200, 136, 288, np.ones(1, np.float32)
    for kind, factors, cluster in ((MXFP8, MX, 1), (NVFP4, NV, 2)):
        a, b, expected, *scales = operands(m, n, k, kind, factors)
        d, config = np.zeros_like(expected), Config(128, 128, 1, stages=2, cluster=cluster)
        made = build(config, kind, factors).compile(target=TARGETS[0])
        reads = [alpha] * len(kind.reads)
        made.run(a, b, d, *reads, m, n, k, *scales, grid=2, cluster=cluster, device="sim")
        assert np.array_equal(d, expected), "the product differs from numpy"
        print(f"{kind.dtype.value} D, {m}x{n}x{k}, {cluster=}: equal to numpy in all {d.size}")


if __name__ == "__main__":
    main()

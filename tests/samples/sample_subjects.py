"""The samples as kernels to break: each with arguments for which its waits matter.

Input: a sample's name.  Output: its PTX, the arguments of a launch, and what numpy gives for them.
A kernel with a ring of four buffers goes one and a half times round it, so that its mbarriers are
waited for in both parities; one with two accumulators makes three tiles.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from nvgen import Kernel
from nvgen.compilation.compile_text import compile_text
from nvgen.compilation.compiled import Compiled
from nvgen.compilation.options import Options
from nvgen.launching.parameters import Output
from tests.samples.modules import WALKTHROUGH, named

Array = NDArray[np.generic]

TARGET = "sm_100a"


@dataclass(frozen=True, slots=True)
class Subject:
    """A sample with its arguments.

    `arguments` makes, of an array for the output, what a launch takes; `expected` is what numpy
    gives, up to `within`.  `also` are other arguments, by which other parts of the kernel run.
    """

    name: str
    compiled: Compiled
    arguments: Callable[[Array], list[object]]
    expected: Array
    grid: int = 1
    cluster: int = 1
    within: float = 0.0
    also: tuple[Subject, ...] = ()

    @property
    def smem(self) -> int:
        """The dynamic shared memory of a launch, in bytes."""
        return self.compiled.kernel.dynamic_shared if self.compiled.kernel else 0

    def run(self, compiled: Compiled, schedule: str, *, races: bool = True) -> bool:
        """Whether a kernel gives what this one should.

        Raises: SimulationError for what the simulator finds.
        """
        output = np.full_like(self.expected, np.nan)
        compiled.run(
            *self.arguments(output),
            grid=self.grid,
            cluster=self.cluster,
            smem=self.smem,
            schedule=schedule,
            races=races,
        )
        with np.errstate(invalid="ignore"):  # what is not a number is not near one
            right = np.abs(output.astype(np.float64) - self.expected) <= self.within
        others = (other.run(compiled, schedule, races=races) for other in self.also)
        return bool(right.all()) and all(others)


@functools.cache
def subject(name: str) -> Subject:
    """The sample called `name` in `SUBJECTS`."""
    return SUBJECTS[name](name)


def _built(
    file: str,
    shape: tuple[int, ...],
    sizes: tuple[int, ...] = (),
    *,
    grid: int = 1,
    cluster: int = 1,
) -> Callable[[str], Subject]:
    """A sample that a builder writes: `shape` is what operands() takes, `sizes` the kernel."""

    def make(name: str) -> Subject:
        sample: ModuleType = named(file)
        kernel: Kernel = sample.build()
        *inputs, expected = sample.operands(*shape)

        def arguments(output: Array) -> list[object]:
            return kernel.arguments([*inputs, output, *sizes], {})

        compiled = kernel.compile(target=TARGET)
        return Subject(name, compiled, arguments, expected, grid, cluster)

    return make


def _hopper(cluster: int) -> Callable[[str], Subject]:
    """The Hopper GEMM: three tiles for a CTA, five steps of K, a ring of two buffers."""

    def make(name: str) -> Subject:
        sample = named("10_gemm_sm90")
        config = sample.Config(m=64, n=64, consumers=1, stages=2, cluster=cluster, group=2)
        kernel: Kernel = sample.build(config)
        m, n, k = 64 * cluster, 192, 320
        a, b, expected = sample.operands(m, n, k)

        def arguments(output: Array) -> list[object]:
            return kernel.arguments([a, b, output, m, n, k], {})

        compiled = kernel.compile(target=sample.TARGET)
        return Subject(name, compiled, arguments, expected, cluster, cluster)

    return make


def _rows(file: str, within: float, *last: float) -> Callable[[str], Subject]:
    """Softmax or layer norm of one row, of 16 bytes at once and of single elements."""

    def make(name: str) -> Subject:
        sample = named(file)
        kernel: Kernel = sample.build()
        compiled = kernel.compile(target="sm_90a")

        def of(columns: int) -> Subject:
            *inputs, expected = sample.operands(1, columns)

            def arguments(output: Array) -> list[object]:
                return kernel.arguments([*inputs, output, columns, *last], {})

            return Subject(name, compiled, arguments, expected.astype(np.float32), within=within)

        return replace(of(264), also=(of(261),))

    return make


def _walkthrough(name: str) -> Subject:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, (n, 64)).astype(ml_dtypes.bfloat16) for n in (64, 128))
    expected = a.astype(np.float32).T @ b.astype(np.float32).T

    def arguments(output: Array) -> list[object]:
        return [a, b, Output(output)]

    compiled = compile_text(WALKTHROUGH.read_text(), Options(target=TARGET))
    return Subject(name, compiled, arguments, expected)


SUBJECTS: dict[str, Callable[[str], Subject]] = {
    "tile": _built("01_gemm_tile", ()),
    "warps": _built("02_gemm_warp_specialized", (128, 384, 128), (128, 384, 128)),
    "walkthrough": _walkthrough,
    "pair": _built("05_gemm_two_ctas", (256, 256, 384), (256, 384), grid=2, cluster=2),
    "mxfp8": _built("06_gemm_mxfp8", (128, 128, 768), (128, 768)),
    "nvfp4": _built("07_gemm_nvfp4", (128, 128, 1536), (128, 1536)),
    "sparse": _built("08_gemm_sparse", (128, 128, 768), (128, 768)),
    "stationary": _built("09_gemm_weight_stationary", (8,)),
    "hopper": _hopper(1),
    "cluster": _hopper(2),
    "softmax": _rows("12_softmax", 2**-18),
    "layer norm": _rows("13_layer_norm", 2**-15, 1e-5),
}

"""numba-cuda with nvgen in the place of libNVVM: the same LLVM IR, PTX by nvgen.

    python samples/16_numba_backend.py                  # no GPU: both compile, ptxas counts
    python samples/16_numba_backend.py --device cuda    # both run, are compared and timed

`with nvgen_backend():` is all that a program of numba's needs.  The kernels are those of
samples/compilers/numba_kernels.py.  Needs numba-cuda: pip install 'nvgen[tools,ptxas]'.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numba import cuda
from numba.cuda.cudadrv import nvvm

import nvgen

sys.path.append(str(Path(__file__).parent))
from compilers.numba_kernels import KERNELS, Case
from compilers.side_by_side import Pair, Timed, code, main

TARGET = "sm_90"


def by_nvgen(texts: str | list[str], **options: object) -> bytes:
    """What `numba.cuda.cudadrv.nvvm.compile_ir` does: PTX of one or several modules."""
    given = [texts] if isinstance(texts, str) else texts
    modules = [nvvm.llvm_replace(text) for text in given]  # numba's own atomic operations
    return nvgen.compile(
        modules if len(modules) > 1 else modules[0],
        target=str(options["arch"]).replace("compute_", "sm_"),
        opt=int(str(options.get("opt", 3))),
        contract=bool(options.get("fma", True)),
        lineinfo="generate-line-info" in options,
    ).ptx.encode()


@contextlib.contextmanager
def nvgen_backend() -> Iterator[None]:
    """Compile with nvgen what numba compiles in here."""
    before = nvvm.compile_ir
    nvvm.compile_ir = by_nvgen
    try:
        yield
    finally:
        nvvm.compile_ir = before


def pairs() -> Iterator[Pair]:
    """Every kernel by both, without a GPU."""
    for case in KERNELS:
        theirs, _ = cuda.compile_ptx(case.function, case.signature, cc=(9, 0))
        with nvgen_backend():
            ours, _ = cuda.compile_ptx(case.function, case.signature, cc=(9, 0))
        yield Pair(case.function.__name__, code(ours, TARGET), code(theirs, TARGET))


def timed(case: Case, arguments: list) -> tuple[object, list]:
    """The kernel, compiled now, with what one launch of it makes of the arguments."""
    kernel = cuda.jit(case.signature)(case.function)
    on_device = [cuda.to_device(x) if isinstance(x, np.ndarray) else x for x in arguments]
    kernel[case.grid, case.block](*on_device)
    made = [x.copy_to_host() for x in on_device if hasattr(x, "copy_to_host")]

    def measure(launches: int = 20) -> float:
        begin, end = cuda.event(), cuda.event()
        begin.record()
        for _ in range(launches):
            kernel[case.grid, case.block](*on_device)
        end.record()
        end.synchronize()
        return cuda.event_elapsed_time(begin, end) / launches

    return measure, made


def on_gpu() -> Iterator[Timed]:
    """Run both, compare, and give what times them."""
    for case in KERNELS:
        arguments = case.arguments()
        theirs, expected = timed(case, arguments)
        with nvgen_backend():
            ours, found = timed(case, arguments)
        for a, b in zip(found, expected, strict=True):
            assert np.allclose(a, b, rtol=1e-4, atol=1e-4), case.function.__name__
        yield case.function.__name__, ours, theirs


if __name__ == "__main__":
    main(pairs, on_gpu, "libNVVM")

"""Run a compiled kernel on a real GPU through the CUDA driver, where `NVGEN_TEST_DEVICE=cuda`.

The same test body then judges the hardware instead of the simulator:

    export NVGEN_TEST_DEVICE=cuda
    python -m pytest tests/oracle/test_scalar_values.py
    python -m pytest tests/sim/test_layouts_independent.py -k "box and not fault"
    python -m pytest tests/sim/test_tma.py -k formula
    python -m pytest tests/sim/test_tma_store.py -k "formula or twice or half"

need a GPU of the tests' target (sm_90a) and the package cuda-bindings.  The driver gets PTX, and
its own compiler assembles it.  Tensor maps are encoded by the driver.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence

import numpy as np

from intrinsics.mir import MachineFunction
from nvgen import Compiled
from nvgen.parameters import Output
from nvgen.tensor_map import TensorMap

ON_GPU = os.environ.get("NVGEN_TEST_DEVICE", "sim") == "cuda"

Dim3 = tuple[int, int, int]


def launch(
    compiled: Compiled,
    *arguments: object,
    grid: Dim3 = (1, 1, 1),
    block: Dim3,
    schedule: str = "early",
) -> None:
    """Run the only kernel on the device that is being tested; arrays are written in place."""
    if not ON_GPU:
        compiled.run(*arguments, grid=grid, block=block, schedule=schedule)
        return
    given = compiled.kernel.arguments(arguments, {}) if compiled.kernel else [*arguments]
    (kernel,) = (f for f in compiled.module.functions if f.is_kernel)
    run_ptx(compiled.ptx, kernel, given, grid, block)


def _ok(result):
    """What a driver call gives back; a failed call is an error of the test."""
    from cuda.bindings import driver

    status, *values = result
    if status != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"CUDA driver: {status}")
    return values[0] if len(values) == 1 else None


@functools.cache
def _context():
    from cuda.bindings import driver

    _ok(driver.cuInit(0))
    context = _ok(driver.cuDevicePrimaryCtxRetain(_ok(driver.cuDeviceGet(0))))
    _ok(driver.cuCtxSetCurrent(context))
    return context


def run_ptx(
    text: str,
    kernel: MachineFunction,
    arguments: Sequence[object],
    grid: Dim3 = (1, 1, 1),
    block: Dim3 = (32, 1, 1),
    smem: int = 0,
) -> None:
    """Have the driver assemble PTX, and run one of its kernels."""
    from cuda.bindings import driver

    _context()
    module = _ok(driver.cuModuleLoadData(text.encode() + b"\0"))
    function = _ok(driver.cuModuleGetFunction(module, kernel.name.encode()))
    memory = _Memory()
    images = [memory.image(a, p.size) for a, p in zip(arguments, kernel.params, strict=True)]
    pointers = np.array([image.ctypes.data for image in images], np.uint64)
    _ok(driver.cuLaunchKernel(function, *grid, *block, smem, 0, pointers.ctypes.data, 0))
    _ok(driver.cuCtxSynchronize())
    memory.fetch()
    _ok(driver.cuModuleUnload(module))


class _Memory:
    """Device copies of the arrays of one launch; an array given twice is one memory."""

    def __init__(self) -> None:
        self._copies: dict[int, tuple[np.ndarray, int]] = {}

    def image(self, argument: object, size: int) -> np.ndarray:
        """The bytes of one kernel parameter."""
        if isinstance(argument, Output):
            argument = argument.array
        if isinstance(argument, TensorMap):
            return _encoded(argument, self.address(argument.array))
        if isinstance(argument, np.ndarray):
            return np.array([self.address(argument)], np.uint64)
        assert isinstance(argument, int | np.integer)
        number = int(argument) & ((1 << 8 * size) - 1)
        return np.frombuffer(number.to_bytes(size, "little"), np.uint8).copy()

    def address(self, array: np.ndarray) -> int:
        """Where the device's copy begins; a view has its place in the copy of the whole."""
        from cuda.bindings import driver

        if not array.flags.c_contiguous:
            assert isinstance(array.base, np.ndarray)
            return self.address(array.base) + array.ctypes.data - array.base.ctypes.data
        if id(array) not in self._copies:
            pointer = int(_ok(driver.cuMemAlloc(max(array.nbytes, 1))))
            _ok(driver.cuMemcpyHtoD(pointer, array.ctypes.data, array.nbytes))
            self._copies[id(array)] = array, pointer
        return self._copies[id(array)][1]

    def fetch(self) -> None:
        """Bring the arrays back."""
        from cuda.bindings import driver

        for array, pointer in self._copies.values():
            if array.flags.writeable:
                _ok(driver.cuMemcpyDtoH(array.ctypes.data, pointer, array.nbytes))
            _ok(driver.cuMemFree(pointer))


def _encoded(tmap: TensorMap, address: int) -> np.ndarray:
    from cuda.bindings import driver

    types = driver.CUtensorMapDataType
    by_size = {
        1: types.CU_TENSOR_MAP_DATA_TYPE_UINT8,
        2: types.CU_TENSOR_MAP_DATA_TYPE_UINT16,
        4: types.CU_TENSOR_MAP_DATA_TYPE_UINT32,
        8: types.CU_TENSOR_MAP_DATA_TYPE_UINT64,
    }
    swizzle = getattr(
        driver.CUtensorMapSwizzle, f"CU_TENSOR_MAP_SWIZZLE_{_SWIZZLES[tmap.swizzle.name]}"
    )
    rank = len(tmap.dims)
    encoded = _ok(
        driver.cuTensorMapEncodeTiled(
            by_size[tmap.item_size],
            rank,
            address,
            [driver.cuuint64_t(n) for n in tmap.dims],
            [driver.cuuint64_t(n) for n in tmap.strides or (16,)],  # no strides: not looked at
            [driver.cuuint32_t(n) for n in tmap.box],
            [driver.cuuint32_t(1)] * rank,
            driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
            swizzle,
            driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_NONE,
            driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
    )
    words = np.array([int(word) for word in encoded.opaque], np.uint64)
    return words.view(np.uint8)


_SWIZZLES = {"NONE": "NONE", "B32": "32B", "B64": "64B", "B128": "128B"}

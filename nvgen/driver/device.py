"""A GPU in this process: code is loaded, kernels are launched, waited for and timed.

Layer: nvgen.driver.  cuda.core gives the device, its streams, events and loaded code.  Launches go
to the driver itself, because a parameter may be a struct or a tensor map, which cuda.core's
`launch` does not take.  CUDA driver API, cuLaunchKernelEx, cuTensorMapEncodeTiled.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from intrinsics.findings import InputError, input_error
from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import PORTABLE_CLUSTER, STATIC_SHARED
from intrinsics.tma.rules import Request, findings
from nvgen.driver.errors import driver_error
from nvgen.driver.images import Image
from nvgen.driver.jobs import LaunchConfig, MapOf, Pointer, Value
from nvgen.driver.maps import encode, function_of, words_of

if TYPE_CHECKING:
    from cuda.bindings import driver
    from cuda.core import Device, Event, Kernel, ObjectCode, Stream
    from cuda.core.graph import Graph

_SHORTEST_NAP, _LONGEST_NAP = 20e-6, 2e-3


def ok(result: tuple[object, ...], doing: str) -> object:
    """The results of a driver call.

    Raises: DriverError when it failed.
    """
    from cuda.bindings import driver

    status, *values = result
    if status == driver.CUresult.CUDA_SUCCESS:
        return values[0] if len(values) == 1 else None
    raise _error(status, doing)


def _error(status: object, doing: str) -> Exception:
    from cuda.bindings import driver

    _, text = driver.cuGetErrorString(status)
    message = text.decode() if isinstance(text, bytes) else "unknown error"
    return driver_error(str(getattr(status, "name", status)), message, doing)


@functools.cache
def open_device(ordinal: int = 0) -> Device:
    """A GPU, made the current one of this thread.

    Raises: InputError when cuda.core is not installed, DriverError when there is no GPU.
    """
    try:
        from cuda.core import Device
    except (ImportError, RuntimeError) as error:  # RuntimeError: no library of the driver's
        raise input_error(
            "run/device",
            "launching on a GPU needs cuda.core and a driver",
            got=str(error),
            hint="pip install 'nvgen[cuda]'",
        ) from None
    from cuda.bindings import driver

    ok(driver.cuInit(0), "the CUDA driver cannot be used")
    device = Device(ordinal)
    device.set_current()
    return device


@dataclass(slots=True)
class Code:
    """A loaded kernel, and the code that it is part of."""

    device: Device
    kernel: Kernel
    kind: str
    library: ObjectCode

    @property
    def handle(self) -> driver.CUfunction:
        """The kernel as the driver's launch takes it."""
        from cuda.bindings import driver

        return driver.CUfunction(int(self.kernel.handle))

    @property
    def static_shared(self) -> int:
        """Bytes of static shared memory of a CTA."""
        return int(self.kernel.attributes.shared_size_bytes)

    def prepare(self, shape: LaunchConfig) -> None:
        """Allow the kernel what a launch of this shape needs.

        Raises: DriverError.
        """
        from cuda.bindings import driver

        limits = driver.CUfunction_attribute
        wanted = []
        if shape.smem + self.static_shared > STATIC_SHARED:
            wanted.append((limits.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shape.smem))
        if _product(shape.cluster) > PORTABLE_CLUSTER:
            wanted.append((limits.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1))
        kernel, device = driver.CUkernel(int(self.kernel.handle)), self.device.device_id
        for attribute, value in wanted:
            ok(
                driver.cuKernelSetAttribute(attribute, value, kernel, driver.CUdevice(device)),
                f"the kernel cannot be launched with {value} bytes of shared memory"
                if value > 1
                else "the kernel cannot be launched with such a cluster",
            )

    def launch(self, shape: LaunchConfig, values: Sequence[np.ndarray], stream: Stream) -> None:
        """Launch, without waiting; `values` are the bytes of each parameter.

        Raises: DriverError.
        """
        from cuda.bindings import driver

        config = driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = shape.grid
        config.blockDimX, config.blockDimY, config.blockDimZ = shape.block
        config.sharedMemBytes = shape.smem
        config.hStream = driver.CUstream(int(stream.handle))
        attributes = _attributes(shape)
        config.numAttrs, config.attrs = len(attributes), attributes
        pointers = np.array([value.ctypes.data for value in values], np.uint64)
        given = pointers.ctypes.data if len(values) else 0
        ok(driver.cuLaunchKernelEx(config, self.handle, given, 0), "the kernel was not launched")

    def repeated(self, shape: LaunchConfig, values: Sequence[np.ndarray], count: int) -> Graph:
        """`count` launches, one after the other, as a graph.

        Raises: DriverError.
        """
        building = self.device.create_graph_builder().begin_building()
        try:
            for _ in range(count):
                self.launch(shape, values, building.stream)
            return building.end_building().complete()
        finally:
            building.close()


def _attributes(shape: LaunchConfig) -> list[driver.CUlaunchAttribute]:
    from cuda.bindings import driver

    found = []
    if shape.cluster != (1, 1, 1):
        cluster = driver.CUlaunchAttribute()
        cluster.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        size = cluster.value.clusterDim
        size.x, size.y, size.z = shape.cluster
        found.append(cluster)
    if shape.dependent:
        early = driver.CUlaunchAttribute()
        names = driver.CUlaunchAttributeID
        early.id = names.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        early.value.programmaticStreamSerializationAllowed = 1
        found.append(early)
    return found


def _product(size: tuple[int, int, int]) -> int:
    return size[0] * size[1] * size[2]


def load(device: Device, images: Sequence[Image], kernel: str) -> Code:
    """Load the first image that the driver takes.

    Raises: DriverError with the driver's word on each.
    """
    from cuda.core import ObjectCode

    makers = {"cubin": ObjectCode.from_cubin, "ptx": ObjectCode.from_ptx}
    refused = []
    for image in images:
        try:
            library = makers[image.kind](image.data)
            return Code(device, library.get_kernel(kernel), image.kind, library)
        except Exception as error:
            refused.append(f"{image.kind}: {str(error).splitlines()[0]}")
    status = next((w for w in " ".join(refused).split() if w.startswith("CUDA_ERROR_")), "")
    raise driver_error(
        status.rstrip(":,.") or "CUDA_ERROR_INVALID_IMAGE",
        "the driver takes none of the code",
        f"kernel {kernel} was not loaded",
        got="; ".join(refused),
    )


# ---- parameters ------------------------------------------------------------------------------


def parameter(value: Value, addresses: Sequence[int]) -> np.ndarray:
    """The bytes of one parameter; `addresses` are where the memories begin on the device.

    Raises: InputError or DriverError for a tensor map of memory that it cannot be of.
    """
    match value:
        case bytes():
            return np.frombuffer(value, np.uint8).copy()
        case Pointer(memory, size):
            number = addresses[memory] & ((1 << 8 * size) - 1)
            return np.frombuffer(number.to_bytes(size, "little"), np.uint8).copy()
        case MapOf():
            found = np.zeros(value.size, np.uint8)
            words = encoded_map(replace(value.request, address=addresses[value.memory]))
            found[: words.size] = words
            return found


@functools.lru_cache(maxsize=4096)
def encoded_map(request: Request) -> np.ndarray:
    """The bytes of a tensor map: made once for each address, shape, strides and element type.

    Raises: InputError or DriverError where there is no such map.
    """
    major, minor = open_device().compute_capability
    here = 10 * int(major) + int(minor)
    wrong = findings(replace(request, capability=here))  # as where the memory begins
    if wrong:
        raise InputError(wrong)
    return words_of(ok(encode(request), f"{function_of(request.im2col)} made no tensor map"))


# ---- waiting ---------------------------------------------------------------------------------


def wait(event: Event, seconds: float | None, still_wanted: Callable[[], bool]) -> bool:
    """Whether what was recorded ended within `seconds` (None: any time).

    Raises: DriverError when the kernel failed.
    """
    from cuda.bindings import driver

    handle = driver.CUevent(int(event.handle))
    end = None if seconds is None else time.monotonic() + seconds
    nap = _SHORTEST_NAP
    while True:
        (status,) = driver.cuEventQuery(handle)
        if status == driver.CUresult.CUDA_SUCCESS:
            return True
        if status != driver.CUresult.CUDA_ERROR_NOT_READY:
            raise _error(status, "the kernel failed")
        if (end is not None and time.monotonic() > end) or not still_wanted():
            return False
        time.sleep(nap)
        nap = min(nap * 1.5, _LONGEST_NAP)

"""A kernel loaded on the GPU of this process, for arrays that live there.

Layer: nvgen.driver.  Arrays are whatever speaks DLPack or `__cuda_array_interface__` (torch, CuPy,
JAX, numba); nothing is copied.  Launches go to the user's stream and are not waited for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from intrinsics.findings import DriverError, input_error
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Param
from nvgen.driver.bounded_waits import WaitTable, reporting_waits
from nvgen.driver.device import Code, parameter, wait
from nvgen.driver.errors import timed_out
from nvgen.driver.jobs import LaunchConfig, Value, map_value, pointer_value
from nvgen.launching.arguments import Parameter, arguments, on_host
from nvgen.launching.launches import Dim3, dim3
from nvgen.launching.parameters import (
    Output,
    bytes_by_value,
    check_count,
    is_by_value,
    number_value,
)
from nvgen.launching.tensor_map import TensorMap
from nvgen.launching.views import LEGACY, is_device_array, view_of

if TYPE_CHECKING:
    from cuda.core import Device, Stream

_OCCUPIED = (
    "it still occupies the GPU, until this process ends; arrays of the host are launched in a "
    "process that is ended instead"
)


@dataclass(slots=True)
class LoadedKernel:
    """A kernel that can be launched again and again.

    `code` says what the driver took: "cubin" or "ptx".
    """

    name: str
    params: Sequence[Param]
    block: Dim3 | None
    dynamic_shared: int
    _code: Code
    _table: WaitTable | None = None
    parameters: Sequence[Parameter] = ()

    def arguments(self, *arrays: object, **named: object) -> list[object]:
        """The converter from `launch` arguments to kernel arguments: `Kernel.arguments` of a built
        kernel.

        Raises: InputError when one is missing, left over or does not fit.
        """
        return arguments(self.parameters, arrays, named)

    @property
    def code(self) -> str:
        """The kind of code that the driver loaded: "cubin" or "ptx"."""
        return self._code.kind

    @property
    def registers(self) -> int:
        """Registers of a thread."""
        return int(self._code.kernel.attributes.num_regs)

    @property
    def local_bytes(self) -> int:
        """Bytes of local memory of a thread: its stack and what was spilled."""
        return int(self._code.kernel.attributes.local_size_bytes)

    @property
    def shared_bytes(self) -> int:
        """Bytes of static shared memory of a CTA."""
        return self._code.static_shared

    def launch(
        self,
        *arguments: object,
        grid: Dim3 | int = 1,
        block: Dim3 | int | None = None,
        cluster: Dim3 | int = 1,
        smem: int | None = None,
        stream: object = None,
        dependent: bool = False,
        **named: object,
    ) -> None:
        """Launch without waiting; arrays become tensor maps where a built kernel takes these, and
        arguments may be given by the names of its parameters.

        That takes longer than launching what `arguments` has made of them once.

        With `dependent` the launch may begin before the one before it in the stream has ended: a
        kernel that executes griddepcontrol.wait before it touches memory can prepare meanwhile.

        `stream` is a stream of cuda.core, whatever has `__cuda_stream__`, a handle as a number, or
        None for the default stream, with which other libraries' default streams are in order.

        Raises: InputError for arguments that do not fit, DriverError.
        """
        shape = self._shape(grid, block, cluster, smem, dependent)
        there = as_stream(self._code.device, stream)
        self._code.prepare(shape)
        images = self._images(self._given(arguments, named), there)
        try:
            self._code.launch(shape, images, there)
        except DriverError as error:
            raise self._explained(error, shape) from None

    def _explained(self, error: DriverError, shape: LaunchConfig) -> DriverError:
        """What the driver says of a launch, with the block that the kernel was compiled for."""
        first, *others = error.findings
        if self.block is None or shape.block == self.block or first.hint:
            return error
        hint = f"the kernel was compiled for blocks of {self.block}, and is launched with "
        return DriverError([replace(first, hint=f"{hint}{shape.block}"), *others])

    def time(
        self,
        *arguments: object,
        grid: Dim3 | int = 1,
        block: Dim3 | int | None = None,
        cluster: Dim3 | int = 1,
        smem: int | None = None,
        stream: object = None,
        dependent: bool = False,
        launches: int = 1,
        timeout: float | None = 60.0,
        **named: object,
    ) -> float:
        """Milliseconds of one launch: `launches` of them between two events, divided.

        They are a CUDA graph, and follow one another as fast as the GPU begins them.

        Raises: InputError, DriverError; also when they do not end within `timeout` seconds, or a
        wait within its bound.
        """
        shape = self._shape(grid, block, cluster, smem, dependent)
        device = self._code.device
        there = as_stream(device, stream)
        images = self._images(self._given(arguments, named), there)
        self._code.prepare(shape)
        graph = self._code.repeated(shape, images, launches)
        timing = {"timing_enabled": True}
        first, last = device.create_event(timing), device.create_event(timing)
        graph.upload(there)
        there.record(first)
        graph.launch(there)
        there.record(last)
        with reporting_waits(self._table):
            ended = wait(last, timeout, lambda: True)
        if not ended:
            raise timed_out(self.name, timeout or 0, _OCCUPIED)
        graph.close()
        return float(last - first) / launches

    def _shape(
        self,
        grid: Dim3 | int,
        block: Dim3 | int | None,
        cluster: Dim3 | int,
        smem: int | None,
        dependent: bool,
    ) -> LaunchConfig:
        chosen = block if block is not None else self.block
        if chosen is None:
            raise input_error(
                "run/block", f"kernel {self.name} does not say its block size", expected="block=…"
            )
        dynamic = self.dynamic_shared if smem is None else smem
        return LaunchConfig(
            dim3(grid), dim3(chosen, "block"), dim3(cluster, "cluster"), dynamic, dependent
        )

    def _given(self, arrays: Sequence[object], named: dict[str, object]) -> Sequence[object]:
        """The arguments of a launch in their order."""
        return arguments(self.parameters, arrays, named) if named else arrays

    def _images(self, arguments: Sequence[object], stream: Stream) -> list[np.ndarray]:
        check_count(self.name, self.params, arguments)
        if self.parameters:
            arguments = [_mapped(*pair) for pair in zip(self.parameters, arguments, strict=True)]
        addresses: list[int] = []
        values = [
            self._value(p, a, addresses, stream)
            for p, a in zip(self.params, arguments, strict=True)
        ]
        return [parameter(value, addresses) for value in values]

    def _value(self, param: Param, argument: object, addresses: list[int], stream: Stream) -> Value:
        given = argument.array if isinstance(argument, Output) else argument
        if isinstance(given, TensorMap):
            addresses.append(_address(param, given.source, self._code.device, stream))
            return map_value(param, given, len(addresses) - 1)
        if isinstance(given, np.ndarray) and is_by_value(param):
            return bytes_by_value(param, given)
        if isinstance(given, np.ndarray) or is_device_array(given):
            addresses.append(_address(param, given, self._code.device, stream))
            return pointer_value(param, len(addresses) - 1)
        return number_value(param, given)


def _mapped(parameter: Parameter, argument: object) -> object:
    """An array as the tensor map that a kernel takes; whatever else is given as it is."""
    given = argument.array if isinstance(argument, Output) else argument
    return on_host(parameter, given) if parameter.box and is_device_array(given) else argument


def as_stream(device: Device, stream: object) -> Stream:
    """A user's stream object as a stream of cuda.core.

    Raises: InputError.
    """
    from cuda.core import Stream

    match stream:
        case None:
            return device.default_stream
        case Stream():
            return stream
        case int():
            return Stream.from_handle(stream)
    if hasattr(stream, "__cuda_stream__"):
        return device.create_stream(stream)
    handle = getattr(stream, "cuda_stream", getattr(stream, "ptr", None))
    if isinstance(handle, int):
        return Stream.from_handle(handle)
    raise input_error(
        "run/stream",
        "this is no CUDA stream",
        got=type(stream).__name__,
        expected="a stream of cuda.core, torch or CuPy, or its handle as a number",
    )


def _address(param: Param, array: object, device: Device, stream: Stream) -> int:
    """Where a device array begins, ordered after what its library has under way.

    Raises: InputError when it is not on this GPU.
    """
    if isinstance(array, np.ndarray):
        raise input_error(
            "run/argument",
            f"the array for {param.name} is not on the GPU",
            got="a numpy array",
            expected="an array of torch, CuPy, JAX or numba that is there",
            hint='Compiled.run(device="cuda") copies arrays of the host',
        )
    view = view_of(array, int(stream.handle) or LEGACY)
    if view.device != device.device_id:
        raise input_error(
            "run/argument",
            f"the array for {param.name} is not on this GPU",
            got=f"device {view.device}" if view.device >= 0 else "an array of the host",
            expected=f"device {device.device_id}",
        )
    return view.address

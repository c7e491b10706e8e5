"""A compiled kernel on the GPU: what `Compiled.run` and `Compiled.load` do there.

Layer: nvgen.driver.  Input: a module of machine records and a kernel of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from intrinsics.findings import input_error
from intrinsics.mir import MachineFunction, Module
from intrinsics.targets import Ptx, Target
from isel.wait_bounds import WaitBounds
from nvgen.driver.gpus import gpu, unfit
from nvgen.driver.images import Image, images
from nvgen.driver.jobs import Job, LaunchConfig, bind_host
from nvgen.driver.loaded import LoadedKernel
from nvgen.launching.arguments import Parameter
from nvgen.launching.parameters import Output, check_count
from nvgen.launching.tensor_map import TensorMap
from nvgen.launching.views import is_device_array


def on_device(arguments: Sequence[object]) -> bool:
    """Whether some of the arguments are arrays that live on a GPU."""
    return any(is_device_array(_array(argument)) for argument in arguments)


def _array(argument: object) -> object:
    given = argument.array if isinstance(argument, Output) else argument
    return given.source if isinstance(given, TensorMap) else given


def launch_host(
    module: Module,
    ptx: Ptx,
    target: Target,
    function: MachineFunction,
    arguments: Sequence[object],
    shape: LaunchConfig,
    timeout: float,
    bounds: WaitBounds | None = None,
) -> float:
    """Run a kernel on copies of the host's arrays, and give the milliseconds that it took.

    Raises: InputError, AssemblerError, DriverError.
    """
    from nvgen.driver.client import launcher

    check_count(function.name, function.params, arguments)
    values, memory = bind_host(function.params, arguments)
    job = Job(tuple(code_for(module, ptx, target)), function.name, shape, values, bounds)
    ran, contents = launcher().run(job, memory.contents(), timeout)
    memory.deliver(contents)
    return ran.milliseconds


def load_kernel(
    module: Module,
    ptx: Ptx,
    target: Target,
    function: MachineFunction,
    block: tuple[int, int, int] | None,
    smem: int,
    bounds: WaitBounds | None = None,
    parameters: Sequence[Parameter] = (),
) -> LoadedKernel:
    """Load a kernel on the GPU of this process; `parameters` are as the builder has them.

    Raises: InputError, AssemblerError, DriverError.
    """
    from nvgen.driver.bounded_waits import open_table
    from nvgen.driver.device import load, open_device

    code_images = code_for(module, ptx, target)
    code = load(open_device(), code_images, function.name)
    table = open_table(code, bounds)
    return LoadedKernel(function.name, function.params, block, smem, code, table, parameters)


def code_for(module: Module, ptx: Ptx, target: Target) -> list[Image]:
    """The code to try on the GPU that is here.

    Raises: InputError when there is none or it does not run such code, AssemblerError.
    """
    number, why = gpu()
    why = why or unfit(target, number)
    if why:
        raise input_error(
            "run/device",
            "the kernel cannot run on the GPU",
            got=why,
            expected=f"a GPU that runs code for {target}",
            hint='device="sim" (--device sim) runs it on the CPU',
        )
    return images(module, ptx, target, number)

"""One kernel as machine code with its launch parameters: plain data that can be pickled.

Layer: nvgen.kernel_code.  Between processes it goes by pickle, to files as `files` writes it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from threading import Thread
from typing import TYPE_CHECKING

from intrinsics.findings import Finding
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Param
from nvgen.launching.arguments import Parameter
from nvgen.machine_code.ptxas_log import Resources

if TYPE_CHECKING:
    from nvgen.built import Kernel
    from nvgen.driver.loaded import LoadedKernel


@dataclass(frozen=True, slots=True)
class MachineCode:
    """A kernel that is assembled."""

    name: str
    cubin: bytes
    params: tuple[Param, ...]
    block: tuple[int, int, int]
    dynamic_shared: int
    resources: Resources
    warnings: tuple[Finding, ...] = ()
    parameters: tuple[Parameter, ...] = ()  # as the builder has them, for `LoadedKernel.arguments`

    def load(self) -> LoadedKernel:
        """The kernel on the GPU of this process.

        Raises: InputError when there is none, DriverError.
        """
        from nvgen.driver.device import load, open_device
        from nvgen.driver.images import Image
        from nvgen.driver.loaded import LoadedKernel

        code = load(open_device(), [Image("cubin", self.cubin)], self.name)
        known = self.block, self.dynamic_shared, code
        return LoadedKernel(self.name, self.params, *known, parameters=self.parameters)


def machine_code(
    kernel: Kernel, target: str | None = None, opt: int | None = None, *, judged: bool = True,
    loads: bool = False,
) -> MachineCode:  # fmt: skip
    """Compile and assemble a kernel; without rules about whole functions, if it is not `judged`.

    If this process `loads` it, what that imports is imported while the assembler runs.

    Raises: what `Kernel.compile` does; AssemblerError.
    """
    from nvgen.compilation.options import Options

    compiled = kernel.compile_for(Options(target, opt=opt), judged=judged)
    with _cuda_imported() if loads else contextlib.nullcontext():
        assembled = compiled.assembled()
    function = compiled.module.function(kernel.name)
    assert function is not None
    return MachineCode(
        kernel.name,
        assembled.cubin,
        tuple(function.params),
        kernel.block,
        kernel.dynamic_shared,
        assembled.resources[kernel.name],
        assembled.findings,
        kernel.parameters,
    )


@contextlib.contextmanager
def _cuda_imported() -> Iterator[None]:
    """Import meanwhile what a GPU is opened with; whoever opens it says if it is not there."""
    thread = Thread(target=_import_cuda)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _import_cuda() -> None:
    with contextlib.suppress(ImportError, RuntimeError):  # RuntimeError: no library of the driver's
        from cuda.bindings import driver  # noqa: F401
        from cuda.core import Device  # noqa: F401

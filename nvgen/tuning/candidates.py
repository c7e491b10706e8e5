"""Kernels of configurations, as machine code that travels between processes.

Layer: nvgen.tuning.  `compile_kernel` is what an executor runs: its argument and its result are
plain data, and what cannot be compiled is an answer, not an exception.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeAlias

from intrinsics.findings import Finding, NvgenError
from intrinsics.mir import Param
from nvgen.builder.built import Kernel
from nvgen.ptxas_log import Resources
from nvgen.tuning.config import ConfigT

if TYPE_CHECKING:
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

    def load(self) -> LoadedKernel:
        """The kernel on the GPU of this process.

        Raises: InputError when there is none, DriverError.
        """
        from nvgen.driver.device import load, open_device
        from nvgen.driver.images import Image
        from nvgen.driver.loaded import LoadedKernel

        code = load(open_device(), [Image("cubin", self.cubin)], self.name)
        return LoadedKernel(self.name, self.params, self.block, self.dynamic_shared, code)


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a configuration has no machine code."""

    findings: tuple[Finding, ...]


Outcome: TypeAlias = MachineCode | Refused


@dataclass(frozen=True, slots=True)
class Candidate(Generic[ConfigT]):
    """A configuration, its kernel and the machine code of that."""

    config: ConfigT
    kernel: Kernel
    code: MachineCode


def compile_kernel(kernel: Kernel, target: str, opt: int) -> Outcome:
    """Compile and assemble a kernel; in a process of an executor, or here."""
    try:
        compiled = kernel.compile(target=target, opt=opt)
        assembled = compiled.assembled()
    except NvgenError as error:
        return Refused(tuple(error.findings))
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
    )

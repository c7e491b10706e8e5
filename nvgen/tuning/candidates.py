"""Kernels of configurations, as machine code that travels between processes.

Layer: nvgen.tuning.  `compile_kernel` is what an executor runs: its argument and its result are
plain data, and what cannot be compiled is an answer, not an exception.
"""

from __future__ import annotations

from typing import Generic, TypeAlias

from intrinsics.findings import Finding, NvgenError
from intrinsics.lazy_dataclass import dataclass
from nvgen.built import Kernel
from nvgen.kernel_code.code import MachineCode, machine_code
from nvgen.tuning.config import ConfigT


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a configuration has no machine code."""

    findings: tuple[Finding, ...]


Outcome: TypeAlias = MachineCode | Refused


@dataclass(frozen=True, slots=True)
class Candidate(Generic[ConfigT]):
    """A configuration, its kernel and the kernel's machine code."""

    config: ConfigT
    kernel: Kernel
    code: MachineCode


def compile_kernel(kernel: Kernel, target: str, opt: int) -> Outcome:
    """Compile and assemble a kernel; in a process of an executor, or here."""
    try:
        return machine_code(kernel, target, opt)
    except NvgenError as error:
        return Refused(tuple(error.findings))

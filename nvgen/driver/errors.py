"""Errors of the CUDA driver, as findings.

Layer: nvgen.driver.  CUDA driver API, CUresult.
"""

from __future__ import annotations

from intrinsics.findings import DriverError, Finding, Severity

TIMEOUT = "cuda/timeout"

WAIT_BOUND = "run/wait-bound"
"""The rule of a wait that was not over in time."""

SIMULATE = 'device="sim" runs the same kernel on the CPU and says where it goes wrong'

_HINTS = {
    "ILLEGAL_ADDRESS": SIMULATE,
    "MISALIGNED_ADDRESS": SIMULATE,
    "INVALID_ADDRESS_SPACE": SIMULATE,
    "INVALID_PC": SIMULATE,
    "LAUNCH_FAILED": SIMULATE,
    "ILLEGAL_INSTRUCTION": "a trap, an unreachable instruction, or code for another GPU; "
    + SIMULATE,
    "HARDWARE_STACK_ERROR": "recursion or local memory beyond the stack's limit",
    "LAUNCH_OUT_OF_RESOURCES": "the block needs more registers or shared memory than there are",
    "INVALID_CLUSTER_SIZE": "the grid is a multiple of the cluster, of at most 8 CTAs (16 on some)",
    "UNSUPPORTED_PTX_VERSION": "pip install 'nvgen[ptxas]': a cubin loads on older drivers",
    "NO_BINARY_FOR_GPU": "compile for the GPU that is here",
    "OUT_OF_MEMORY": "the arrays do not fit the GPU's memory",
}


def driver_error(status: str, message: str, doing: str, *, got: str = "") -> DriverError:
    """The error of a driver call; `status` is the name of its CUresult."""
    short = status.removeprefix("CUDA_ERROR_")
    return DriverError(
        [
            Finding(
                "cuda/" + short.lower().replace("_", "-"),
                Severity.ERROR,
                f"{doing}: {message}",
                got=got or status,
                hint=_HINTS.get(short, ""),
                section="CUDA driver API, CUresult",
            )
        ]
    )


def timed_out(kernel: str, seconds: float, hint: str) -> DriverError:
    """The error of a kernel that did not end in time."""
    return DriverError(
        [
            Finding(
                TIMEOUT,
                Severity.ERROR,
                f"kernel {kernel} did not end",
                got=f"still running after {seconds:g} s",
                expected="an end; timeout=… allows more time",
                hint=hint,
            )
        ]
    )

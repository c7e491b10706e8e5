"""The table that a kernel with bounded waits fills when one is not over in time.

Layer: nvgen.driver.  The table lies in memory of the host, which stays readable when a trap has put
an end to the GPU's context.  CUDA driver API, cuMemHostAlloc, cuLibraryGetGlobal.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, SupportsInt

from intrinsics.findings import DriverError
from intrinsics.lazy_dataclass import dataclass
from isel.wait_bounds import REPORT, WaitBounds
from nvgen.driver.wait_report import overdue

if TYPE_CHECKING:
    from nvgen.driver.device import Code


@dataclass(frozen=True, slots=True)
class WaitTable:
    """A table at an address of this process, for waits with these bounds."""

    bounds: WaitBounds
    address: int

    def read(self) -> bytes:
        """What is in it."""
        return ctypes.string_at(self.address, self.bounds.size)


def open_table(code: Code, bounds: WaitBounds | None) -> WaitTable | None:
    """Give loaded code a table, if it has waits that are bounded.

    The table is never given back: the code may write to it as long as the process lives.

    Raises: DriverError.
    """
    if bounds is None or not bounds.sites:
        return None
    from cuda.bindings import driver

    from nvgen.driver.device import ok

    doing = "no memory for the report of waits"
    here = ok(driver.cuMemHostAlloc(bounds.size, driver.CU_MEMHOSTALLOC_DEVICEMAP), doing)
    assert isinstance(here, SupportsInt)
    ctypes.memset(int(here), 0, bounds.size)
    there = ok(driver.cuMemHostGetDevicePointer(int(here), 0), doing)
    assert isinstance(there, SupportsInt)
    library = driver.CUlibrary(int(code.library.handle))
    status, variable, _ = driver.cuLibraryGetGlobal(library, REPORT.encode())
    ok((status,), f"the variable {REPORT} was not found")
    pointer = int(there).to_bytes(8, "little")
    ok(driver.cuMemcpyHtoD(variable, pointer, len(pointer)), f"{REPORT} was not set")
    ok(driver.cuCtxSynchronize(), f"{REPORT} was not set")  # the copy may still be under way
    return WaitTable(bounds, int(here))


@contextmanager
def told(table: WaitTable | None) -> Iterator[None]:
    """Say what the table says where a kernel fails.

    Raises: DriverError, what was raised inside if no wait is overdue.
    """
    try:
        yield
    except DriverError:
        found = overdue(table.bounds, table.read()) if table is not None else []
        if found:
            raise DriverError(found) from None
        raise

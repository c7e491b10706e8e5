"""Waits that were not over in time: the table that a kernel with bounded waits fills, as findings.

Layer: nvgen.driver.  The table lies in memory of the host, which stays readable when a trap has put
an end to the GPU's context; `isel.wait_bounds` says how it is laid out.  CUDA driver API,
cuMemHostAlloc, cuLibraryGetGlobal.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, SupportsInt

from intrinsics.findings import DriverError, Finding, Severity
from intrinsics.lazy_dataclass import dataclass
from isel import wait_bounds as entry
from isel.wait_bounds import REPORT, WaitBounds, WaitSite
from nvgen.driver.errors import SIMULATE, WAIT_BOUND
from nvgen.launching.launches import lanes_in_words

if TYPE_CHECKING:
    from nvgen.driver.device import Code

_WARP = 32
_MBARRIER = 8
_RANK = 1 << 24  # above it, an address of shared memory has the CTA's rank


@dataclass(frozen=True, slots=True)
class WaitTable:
    """A table at an address of this process, for waits with these bounds."""

    bounds: WaitBounds
    address: int

    def read(self) -> bytes:
        """The bytes of the table."""
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
def reporting_waits(table: WaitTable | None) -> Iterator[None]:
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


# ---- findings ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry of the table."""

    site: WaitSite
    lanes: int
    address: int
    phase: int
    waited: int
    special_registers: dict[str, int]
    variables: dict[str, int]  # addresses, by name

    @property
    def threads(self) -> str:
        """The threads, in the simulator's words."""
        at = self.special_registers
        rows = at["ctaid.y"] + at["nctaid.y"] * at["ctaid.z"]
        cta = f"CTA {at['ctaid.x'] + at['nctaid.x'] * rows}"
        if at["cluster_nctarank"] > 1:
            cta += f" (rank {at['cluster_ctarank']} of its cluster)"
        thread = at["tid.x"] + at["ntid.x"] * (at["tid.y"] + at["ntid.y"] * at["tid.z"])
        return f"{cta}, warp {thread // _WARP}, {lanes_in_words(self.lanes)}"

    @property
    def what(self) -> str:
        """The mbarrier and its phase, in the simulator's words."""
        phase = f"parity {self.phase & 1}" if self.site.parity else f"token {self.phase:#x}"
        return f"{self._barrier()}, {phase}"

    def _barrier(self) -> str:
        """The variable that the mbarrier lies in, and which of several it is there."""
        here = self.address % _RANK
        behind = {name: here - at % _RANK for name, at in self.variables.items()}
        for name, size in self.site.variables:
            if 0 <= behind[name] < size:
                return name if size == _MBARRIER else f"{name}[{behind[name] // _MBARRIER}]"
        dynamic = [n for n, size in self.site.variables if not size and behind[n] >= 0]
        if dynamic:
            return f"mbarrier {dynamic[0]}+{behind[dynamic[0]]:#x}"
        return f"mbarrier {self.address:#x}"


def overdue(bounds: WaitBounds, table: bytes) -> list[Finding]:
    """One finding for each group of threads whose wait was not over in time."""
    found = [_finding(bounds, one) for one in _entries(bounds, table)]
    return sorted(found, key=lambda f: f.message)


def _entries(bounds: WaitBounds, table: bytes) -> Iterator[_Entry]:
    size = bounds.entry_size
    for start in range(0, len(table), size):
        data = table[start : start + size]
        (number,) = struct.unpack_from("<I", data, entry.SITE)
        if not 1 <= number <= len(bounds.sites):
            continue
        site = bounds.sites[number - 1]
        (lanes,) = struct.unpack_from("<I", data, entry.LANES)
        address, phase = struct.unpack_from("<QQ", data, entry.ADDRESS)
        (waited,) = struct.unpack_from("<Q", data, entry.WAITED)
        numbers = struct.unpack_from(f"<{len(entry.SPECIALS)}I", data, entry.PLACES)
        places = dict(zip(entry.SPECIALS, numbers, strict=True))
        addresses = struct.unpack_from(f"<{len(site.variables)}Q", data, entry.ENTRY)
        names = [name for name, _ in site.variables]
        variables = dict(zip(names, addresses, strict=True))
        yield _Entry(site, lanes, address, phase, waited, places, variables)


def _finding(bounds: WaitBounds, one: _Entry) -> Finding:
    return Finding(
        WAIT_BOUND,
        Severity.ERROR,
        f"overdue: {one.threads} wait for {one.what}",
        one.site.place,
        op=one.site.op,
        got=f"the phase is not complete after {one.waited / 1e9:.3g} s",
        expected=f"the arrivals and bytes that it expects, within {bounds.limit / 1e9:g} s",
        hint=SIMULATE,
        section="PTX ISA, mbarrier.try_wait",
    )

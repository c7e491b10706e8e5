"""The record that a kernel with bounded waits writes when a wait times out.

Layer: isel.  The kernel looks for the address of a table in `REPORT`, 0 for none; each group of
threads of a warp whose time is up fills one entry, and then ends the launch with a trap.  An entry
has `ENTRY` bytes, little-endian, and behind them 8 for the address of each shared variable that the
site's function names:

    0   u32      the number of the site, from 1; written last
    4   u32      the lanes of the warp that wait
    8   u64      the address of the mbarrier in shared memory
    16  u64      the parity, or the token, that is waited with
    24  3 × u32  %ctaid
    36  2 × u32  %nctaid, x and y
    44  3 × u32  %tid of the lowest lane
    56  2 × u32  %ntid, x and y
    64  2 × u32  %cluster_ctarank and %cluster_nctarank, 0 on targets without clusters
    72  u64      nanoseconds since the first look in vain
"""

from __future__ import annotations

from intrinsics.findings import Place
from intrinsics.lazy_dataclass import dataclass

REPORT = "nvgen_wait_report"
"""A variable in global memory: the address of the table, for the host to set."""

COUNT = "nvgen_wait_count"
"""A variable in global memory: entries that are taken."""

MOST_SECONDS = 1e6
"""The longest limit of a wait."""

ENTRIES = 64
"""Entries of the table."""

ENTRY = 80
"""Bytes of an entry, without the addresses behind it."""

SITE, LANES, ADDRESS, PHASE, PLACES, WAITED = 0, 4, 8, 16, 24, 72
"""Where the parts of an entry begin."""

SPECIALS = (
    *("ctaid.x", "ctaid.y", "ctaid.z", "nctaid.x", "nctaid.y"),
    *("tid.x", "tid.y", "tid.z", "ntid.x", "ntid.y"),
    *("cluster_ctarank", "cluster_nctarank"),
)
"""The special registers that stand in an entry, from `PLACES` on."""


@dataclass(frozen=True, slots=True)
class WaitSite:
    """A wait that is bounded: where it stands, whether its phase is a parity or a token.

    `variables` are the shared ones whose addresses its entries have: names, and sizes in bytes.
    """

    place: Place
    op: str
    parity: bool
    variables: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class WaitBounds:
    """The bounded waits of a module, and how long each may take, in nanoseconds."""

    limit: int
    sites: tuple[WaitSite, ...]

    @property
    def entry_size(self) -> int:
        """Bytes of one entry of the table, the same for all sites."""
        return ENTRY + 8 * max((len(site.variables) for site in self.sites), default=0)

    @property
    def size(self) -> int:
        """Bytes of the table."""
        return ENTRIES * self.entry_size

    @property
    def grace(self) -> int:
        """Nanoseconds from an entry to the trap, in which other waits may run out."""
        return min(self.limit // 4, 250_000_000)

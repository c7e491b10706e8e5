"""PTX statements of asynchronous copies, legal and illegal, enumerated from the PTX manual.

As in :mod:`tests.oracle.legality_forms`: nothing here says which statement is legal, ptxas does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from tests.oracle.statements import SOME, shuffle, spoil, statement, unique

_SPACES = ("", ".shared", ".shared::cta", ".shared::cluster", ".local")
_NUMBERS = (
    "-1", "0", "1", "2", "3", "4", "5", "8", "9", "12", "15", "16", "17", "32", "0x10U", "8+8",
    "4294967296", "4294967300", "1.0", "WARP_SZ", "smem", "smem+4", "%tid.x", "%c1", "%h1", "%r1",
    "%s1", "%u1", "%rd1", "%f1", "%hx1", "%p1", "!%p1", "!%r1", "{%r1}", "[%r1]",
)  # fmt: skip
_POLICIES = (
    "%rd1", "%ud1", "%sd1", "%fd1", "%r1", "%p1", "1", "-1", "1.0", "smem", "smem+4", "%clock64",
)  # fmt: skip


def small_copies() -> list[str]:
    """cp.async ("cp.async"): who reads how much, with which hints.

    Full products: cache operator x both state spaces x size; of size x source size (numbers and
    registers of every kind); of hint x prefetch x the operands behind the size.
    """
    out = []
    caches = ("", ".ca", ".cg", ".cs", ".ca.cg")
    for cache, to, source, size in itertools.product(
        caches, _SPACES, ("", ".global", ".shared", ".const"), ("4", "8", "16")
    ):
        out.append(f"cp.async{cache}{to}{source} [%r1], [%rd1], {size};")
    for cache, size in itertools.product((".ca", ".cg"), _NUMBERS):
        out.append(f"cp.async{cache}.shared.global [%r1], [%rd1], {size};")
    for cache, size, of_source in itertools.product((".ca", ".cg"), ("4", "8", "16"), _NUMBERS):
        out.append(f"cp.async{cache}.shared.global [%r1], [%rd1], {size}, {of_source};")
    hints = ("", ".L2::cache_hint")
    sizes = ("", ".L2::64B", ".L2::128B", ".L2::256B", ".L1::128B", ".L2::128B.L2::64B")
    behind = ("", "%r1", "%p1", "!%p1", "4", "17", "%f1")
    for cache, hint, prefetch, third, policy in itertools.product(
        (".ca", ".cg"), hints, sizes, behind, ("", *_POLICIES)
    ):
        name = f"cp.async{cache}.shared.global{hint}{prefetch}"
        out.append(statement(name, "[%r1]", "[%rd1]", "16", third, policy))
    mods = [".ca", ".shared", ".global"]
    out += spoil("cp.async.ca.shared.global", ("[%r1]", "[%rd1]", "4"))
    out += spoil("cp.async.ca.shared::cta.global", ("[%r1]", "[%rd1]", "4", "%r2"), SOME)
    out += spoil("cp.async.ca.shared.global.L2::cache_hint", ("[%r1]", "[%rd1]", "4", "%rd2"), SOME)
    out += shuffle("cp.async", mods, "[%r1]", "[%rd1]", "4")
    out += shuffle("cp.async", [*mods, ".L2::cache_hint"], "[%r1]", "[%rd1]", "4", "%rd2")
    out += shuffle("cp.async", [".cg", *mods[1:], ".L2::128B"], "[%r1]", "[%rd1]", "16")
    return unique(out)


def small_copy_groups() -> list[str]:
    """Groups of copies, and arrivals ("cp.async.commit_group", "cp.async.mbarrier.arrive")."""
    out = []
    for head in ("commit_group", "wait_all", "wait_group", "commit_group.wait_all", "wait"):
        out += [statement(f"cp.async.{head}", given) for given in ("", *_NUMBERS)]
        out += shuffle(f"cp.async.{head}", [])
    out += spoil("cp.async.wait_group", ("0",), SOME)
    addresses = (
        "[%r1]", "[%rd1]", "[%rd1+8]", "[mbar]", "[mbar+8]", "[gmem]", "[smem]", "[lmem]",
        "[kparam]", "[16]", "%r1",
    )  # fmt: skip
    for mode, space, type_, given in itertools.product(
        ("", ".noinc", ".noComplete"), _SPACES, ("", ".b64", ".b32", ".u64"), addresses
    ):
        out.append(f"cp.async.mbarrier.arrive{mode}{space}{type_} {given};")
    out += spoil("cp.async.mbarrier.arrive.noinc.shared.b64", ("[%r1]",), SOME)
    out += shuffle("cp.async.mbarrier.arrive", [".noinc", ".shared", ".b64"], "[%r1]")
    out += shuffle("cp.async", [".mbarrier", ".arrive", ".noinc", ".b64"], "[%rd1]")
    return unique(out)


FAMILIES: dict[str, Callable[[], list[str]]] = {
    "small copies": small_copies,
    "small copy groups": small_copy_groups,
}

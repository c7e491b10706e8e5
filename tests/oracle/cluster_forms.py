"""PTX statements about clusters, legal and illegal, enumerated from the PTX manual.

As in :mod:`tests.oracle.legality_forms`: nothing here says which statement is legal, ptxas does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from tests.oracle.statements import SOME, shuffle, spoil, statement, unique

_SEMS = ("", ".acquire", ".release", ".acq_rel", ".relaxed", ".sc")
_SCOPES = ("", ".cta", ".cluster", ".gpu", ".sys", ".warp")


def cluster_fences() -> list[str]:
    """One-way fences of one state space, and fences of the other proxies ("membar / fence").

    Full product of semantics x restriction x scope for both heads; of semantics x scope x operands
    for the tensor map's; perturbations of each.
    """
    out = []
    restricts = (
        ".sync_restrict::shared::cta", ".sync_restrict::shared::cluster", "",
        ".sync_restrict::shared", ".sync_restrict::global", ".sync_restrict",
        ".sync_restrict::shared::read::mma::a",
    )  # fmt: skip
    for head in ("fence", "fence.proxy.async::generic"):
        for sem, restrict, scope in itertools.product(_SEMS, restricts, _SCOPES):
            out.append(f"{head}{sem}{restrict}{scope};")
    right = {
        ".acquire": ".sync_restrict::shared::cluster", ".release": ".sync_restrict::shared::cta",
    }  # fmt: skip
    for sem, restrict in right.items():
        out += shuffle("fence", [sem, restrict, ".cluster"])
        out += shuffle("fence.proxy.async::generic", [sem, restrict, ".cluster"])
        out += shuffle("fence", [".proxy", ".async::generic", sem, restrict, ".cluster"])
        out += spoil(f"fence{sem}{restrict}.cluster", ())
    for word, tail in itertools.product(
        ("fence", "membar"), ("", *_SEMS[1:], *_SCOPES[1:], ".release.gpu", ".global")
    ):
        out.append(f"{word}.proxy.alias{tail};")
    operands = ("", " [%rd1]", " [%rd1], 128", " [gmem], 128", " [%rd1], 64", " [%rd1], %r1")
    for sem, scope, given in itertools.product(_SEMS, _SCOPES, operands):
        out.append(f"fence.proxy.tensormap::generic{sem}{scope}{given};")
    acquire = "fence.proxy.tensormap::generic.acquire.gpu"
    out += spoil(acquire, ("[%rd1]", "128"))
    out += spoil("fence.proxy.tensormap::generic.release.gpu", ())
    out += shuffle("fence", [".proxy", ".tensormap::generic", ".acquire", ".gpu"], "[%rd1]", "128")
    return unique(out)


def cluster_addresses() -> list[str]:
    """mapa and getctarank: space x type x operands of every kind."""
    out = []
    spaces = ("", ".shared::cluster", ".shared::cta", ".shared", ".global")
    types = (".u32", ".u64", ".s32", ".s64", ".b32", ".b64", ".u16", ".f32", "")
    for space, type_, given in itertools.product(
        spaces, types, ("%r1, %r2, %r3", "%rd1, %rd2, %r3", "%r1, smem, 1", "%rd1, smem+4, %r3")
    ):
        out.append(f"mapa{space}{type_} {given};")
    for space, type_, given in itertools.product(
        spaces, types, ("%r1, %r2", "%r1, %rd2", "%r1, smem", "%rd1, %rd2")
    ):
        out.append(f"getctarank{space}{type_} {given};")
    out += spoil("mapa.shared::cluster.u32", ("%r1", "%r2", "%r3"), SOME)
    out += spoil("getctarank.shared::cluster.u32", ("%r1", "%r2"), SOME)
    return unique(out)


def cluster_control() -> list[str]:
    """setmaxnreg, griddepcontrol, and the cluster's barrier."""
    out = []
    numbers = (
        "0", "8", "16", "23", "24", "25", "28", "32", "100", "104", "232", "240", "248", "255",
        "256", "257", "264", "-8", "4294967320", "%r1", "1.0", "smem",
    )  # fmt: skip
    for action, tail, count in itertools.product(
        (".inc", ".dec", "", ".set"), (".sync.aligned.u32", ".sync.aligned", ".u32", ""), numbers
    ):
        out.append(statement(f"setmaxnreg{action}{tail}", count))
    out += spoil("setmaxnreg.inc.sync.aligned.u32", ("64",), SOME)
    out += shuffle("setmaxnreg", [".inc", ".sync", ".aligned", ".u32"], "64")
    for action in (".wait", ".launch_dependents", "", ".launch", ".arrive"):
        out += [f"griddepcontrol{action};", f"griddepcontrol{action} %r1;"]
    out += spoil("griddepcontrol.wait", ())
    for action, sem, aligned, scope in itertools.product(
        (".arrive", ".wait", ".sync", ""), _SEMS, ("", ".aligned"), ("", ".cta", ".cluster")
    ):
        out.append(f"barrier.cluster{action}{sem}{aligned}{scope};")
    out += spoil("barrier.cluster.arrive", ())
    out += shuffle("barrier.cluster", [".arrive", ".release", ".aligned"])
    return unique(out)


FAMILIES: dict[str, Callable[[], list[str]]] = {
    "cluster fences": cluster_fences,
    "cluster addresses": cluster_addresses,
    "cluster control": cluster_control,
}

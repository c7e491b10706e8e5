"""Fences between the CTAs of a cluster, and between proxies, that order one thing only.

PTX ISA, membar / fence: .sync_restrict, .proxy.async::generic, .proxy.tensormap::generic,
.proxy.alias.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from intrinsics.modifiers import Modifier, Scope, Sem
from intrinsics.row import (
    Attributes,
    Effect,
    Effects,
    Llvm,
    Numbers,
    Row,
    address,
    number,
    when,
)
from intrinsics.targets import at_least, since


class FenceRestrict(Modifier):
    """The shared memory that a one-way fence orders: the own CTA's, or the cluster's."""

    SHARED_CTA = "sync_restrict::shared::cta"
    SHARED_CLUSTER = "sync_restrict::shared::cluster"


_FENCES = Effects(Effect.BARRIER)
_SECTION = "membar / fence"
_QUALIFIERS: Mapping[str, Iterable[Modifier]] = {
    "sem": (Sem.ACQUIRE, Sem.RELEASE),
    "restrict": FenceRestrict,
}
_RULES = (
    when(sem=Sem.ACQUIRE).must(
        "restrict", "an acquire is restricted to .shared::cluster, a release to .shared::cta",
        restrict=FenceRestrict.SHARED_CLUSTER),
    when(sem=Sem.RELEASE).must(
        "restrict", "an acquire is restricted to .shared::cluster, a release to .shared::cta",
        restrict=FenceRestrict.SHARED_CTA),
)  # fmt: skip
_ACQUIRE: Attributes = {"sem": Sem.ACQUIRE, "restrict": FenceRestrict.SHARED_CLUSTER}
_RELEASE: Attributes = {"sem": Sem.RELEASE, "restrict": FenceRestrict.SHARED_CTA}
_SM90 = at_least(90)

# fmt: off
FENCE_RESTRICT = Row(
    "fence", ".sem.restrict.cluster", name="fence.sync_restrict", opcode="FENCE_ONE_WAY",
    qualifiers=_QUALIFIERS, section=_SECTION, needs=since("8.6", _SM90), effects=_FENCES,
    rules=_RULES,
    llvm=(
        Llvm("fence.acquire.sync_restrict.space.cluster.scope.cluster", given=_ACQUIRE),
        Llvm("fence.release.sync_restrict.space.cta.scope.cluster", given=_RELEASE),
    ),
)

FENCE_ASYNC_GENERIC = Row(
    "fence.proxy.async::generic", ".sem.restrict.cluster",
    qualifiers=_QUALIFIERS, section=_SECTION, needs=since("8.6", _SM90), effects=_FENCES,
    rules=_RULES,
    llvm=(
        Llvm("fence.proxy.async_generic.acquire.sync_restrict.space.cluster.scope.cluster",
             given=_ACQUIRE),
        Llvm("fence.proxy.async_generic.release.sync_restrict.space.cta.scope.cluster",
             given=_RELEASE),
    ),
)

FENCE_ALIAS = Row(
    "fence.proxy.alias", aliases=("membar.proxy.alias",), section=_SECTION, needs=since("7.5"),
    effects=_FENCES,
    llvm=(Llvm("fence.proxy.alias"),),
)

_SCOPES = {"scope": {s.value: s for s in (Scope.CTA, Scope.CLUSTER, Scope.GPU, Scope.SYS)}}
_TENSOR_MAP_BYTES = 128

_TENSORMAP = "fence.proxy.tensormap::generic"

FENCE_TENSORMAP_RELEASE = Row(
    _TENSORMAP, ".sem.scope", name="fence.proxy.tensormap.release",
    qualifiers={"sem": (Sem.RELEASE,), "scope": Scope},
    section=_SECTION, needs=since("8.3", _SM90), effects=_FENCES,
    llvm=(Llvm("fence.proxy.tensormap_generic.release.{scope}", given={"sem": Sem.RELEASE},
               holes=_SCOPES),),
)

FENCE_TENSORMAP_ACQUIRE = Row(
    _TENSORMAP, ".sem.scope", "[a], size", name="fence.proxy.tensormap.acquire",
    qualifiers={"sem": (Sem.ACQUIRE,), "scope": Scope},
    operands=(address("a"), number("size", Numbers(_TENSOR_MAP_BYTES, _TENSOR_MAP_BYTES))),
    section=_SECTION, needs=since("8.3", _SM90), effects=_FENCES,
    llvm=(Llvm("fence.proxy.tensormap_generic.acquire.{scope}", "p:a, i32:size",
               given={"sem": Sem.ACQUIRE}, holes=_SCOPES),),
)
# fmt: on

ROWS = (
    FENCE_RESTRICT,
    FENCE_ASYNC_GENERIC,
    FENCE_ALIAS,
    FENCE_TENSORMAP_RELEASE,
    FENCE_TENSORMAP_ACQUIRE,
)

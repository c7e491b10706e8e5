"""The launch level of the verifier: whether a kernel can be launched with a shape.

Layer: isel.verifier.  Input: a module, its target, and what is known of the launch.  Output:
findings; unknown sizes are not checked, and a note says so.  PTX ISA, Cluster Dimension Directives,
Performance-Tuning Directives; the limits are those of the CUDA Programming Guide, Compute
Capabilities, and of ptxas.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from intrinsics.findings import Finding, Place, Severity
from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import MOST_CLUSTER, MOST_THREADS, PORTABLE_CLUSTER, STATIC_SHARED
from intrinsics.mir import MachineFunction, Module, Variable
from intrinsics.modifiers import Space
from intrinsics.targets import Feature, Target
from isel.variables import aligned_offsets, named_shared
from isel.verifier.locations import place_of
from isel.verifier.rule import VerifierRule

Size = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """The shape of a launch: CTAs of the grid, threads of a CTA, CTAs of a cluster, dynamic shared
    bytes.

    () and None say that a size is not known.  `boxes` are the bytes of a box of each tensor map
    that is known, with the parameter that it is given for; `parts` where the named parts of dynamic
    shared memory begin.
    """

    grid: Size = ()
    block: Size = ()
    cluster: Size = ()
    smem: int | None = None
    boxes: tuple[tuple[str, int], ...] = ()
    parts: tuple[tuple[str, int], ...] = ()


UNKNOWN_SHAPE = LaunchShape()

_MOST_BLOCK = (1024, 1024, 64)
_MOST_GRID = ((1 << 31) - 1, 65535, 65535)

_CLUSTER, _LIMITS = "Cluster Dimension Directives", "Performance-Tuning Directives"

GRID_SIZE = VerifierRule(
    "launch/grid-size",
    "no GPU has such a grid",
    "Cooperative Thread Arrays",
    expected=f"1 to {_MOST_GRID[0]} CTAs in x, 1 to 65535 in y and z",
)
BLOCK_SIZE = VerifierRule(
    "launch/block-size",
    "no GPU has such a CTA",
    "Cooperative Thread Arrays",
    expected=f"1 to {MOST_THREADS} threads, and no more than 64 in z",
)
BLOCK = VerifierRule("launch/block", "the kernel is made for another block", _LIMITS)
CLUSTER_TARGET = VerifierRule(
    "launch/cluster-target",
    "the target has no clusters",
    _CLUSTER,
    expected="sm_90 and later, or a cluster of 1",
)
CLUSTER_SIZE = VerifierRule(
    "launch/cluster-size",
    "no GPU has such a cluster",
    _CLUSTER,
    expected=f"1 to {PORTABLE_CLUSTER} CTAs, on some GPUs to {MOST_CLUSTER}",
)
NOTPORTABLE_CLUSTER = VerifierRule(
    "launch/cluster-portable",
    "not every GPU with clusters has one of this size",
    _CLUSTER,
    Severity.REVIEW,
    expected=f"up to {PORTABLE_CLUSTER} CTAs",
    hint="the launch must allow it: cudaFuncAttributeNonPortableClusterSizeAllowed",
)
CLUSTER = VerifierRule("launch/cluster", "the kernel is made for another cluster", _CLUSTER)
CLUSTER_GRID = VerifierRule(
    "launch/cluster-grid",
    "the grid is not made of whole clusters",
    _CLUSTER,
    expected="a multiple of the cluster in every dimension",
    hint="round the grid up, and let the CTAs that have nothing to do leave together",
)
SHARED = VerifierRule(
    "launch/shared-memory",
    "no CTA of the target can have this much shared memory",
    "Shared State Space",
)
RULES = (
    GRID_SIZE, BLOCK_SIZE, BLOCK, CLUSTER_TARGET, CLUSTER_SIZE, NOTPORTABLE_CLUSTER, CLUSTER,
    CLUSTER_GRID, SHARED,
)  # fmt: skip


def verify_launch(module: Module, target: Target, shape: LaunchShape) -> list[Finding]:
    """The findings of the launch level about every kernel of `module`, and notes on what is not
    known.

    With several kernels, a size that one of them fixes is not checked against the others.
    """
    kernels = [f for f in module.functions if f.is_kernel]
    found: list[Finding] = []
    for kernel in kernels:
        own = kernel.launch
        meant = shape
        if len(kernels) > 1:
            meant = LaunchShape(
                shape.grid,
                () if own.reqntid or own.maxntid else shape.block,
                () if own.cluster else shape.cluster,
                shape.smem,
            )
        found += [*judge_launch(module, kernel, target, meant), *_unknown(module, kernel, shape)]
    return found


def judge_launch(
    module: Module, kernel: MachineFunction, target: Target, shape: LaunchShape
) -> list[Finding]:
    """The findings about a launch of `kernel` with this shape."""
    return [
        *_grid(kernel, shape.grid),
        *_block(kernel, shape.block),
        *_cluster(kernel, target, shape),
        *_shared(module, kernel, target, shape.smem or 0),
    ]


def without_peers(module: Module, kernel: MachineFunction, cluster: Size) -> list[Finding]:
    """The finding for a kernel for CTA pairs that is launched in clusters without pairs.

    The function level has a rule of its own; this is for a launch that was not checked there.
    """
    from isel.verifier.function.barriers.clusters import PAIR, cluster_size, pair_records

    size = cluster_size(kernel, cluster)
    first = next(pair_records(kernel), None)
    if first is None or size is None or size % 2 == 0:
        return []
    found = _finding(PAIR, kernel, f"a cluster of {size} CTA{'s' if size > 1 else ''}")
    return [found.at(place_of(module.locations[first.loc], kernel.name))]


def _finding(rule: VerifierRule, kernel: MachineFunction, got: str, expected: str = "") -> Finding:
    return rule.finding(Place(function=kernel.name), got=got, expected=expected)


def _text(size: Size) -> str:
    return " x ".join(map(str, size)) or "nothing"


def _three(size: Size) -> Size:
    return (*size, 1, 1)[:3]


# ---- the grid and the block ------------------------------------------------------------------


def _grid(kernel: MachineFunction, grid: Size) -> Iterator[Finding]:
    if not all(1 <= n <= most for n, most in zip(grid, _MOST_GRID, strict=False)):
        yield _finding(GRID_SIZE, kernel, f"a grid of {_text(grid)}")


def _block(kernel: MachineFunction, block: Size) -> Iterator[Finding]:
    own = kernel.launch
    for size in dict.fromkeys((block, own.reqntid, own.maxntid)):
        fits = all(1 <= n <= most for n, most in zip(size, _MOST_BLOCK, strict=False))
        if size and not (fits and math.prod(size) <= MOST_THREADS):
            yield _finding(BLOCK_SIZE, kernel, f"a block of {_text(size)}")
    if not block:
        return
    if own.reqntid and _three(block) != _three(own.reqntid):
        yield _finding(
            BLOCK, kernel, f"a block of {_text(block)}", f".reqntid {_text(own.reqntid)}"
        )
    if own.maxntid and math.prod(block) > math.prod(own.maxntid):
        yield _finding(
            BLOCK,
            kernel,
            f"{math.prod(block)} threads",
            f"at most {math.prod(own.maxntid)}, as .maxntid says",
        )


# ---- clusters --------------------------------------------------------------------------------


def _cluster(kernel: MachineFunction, target: Target, shape: LaunchShape) -> Iterator[Finding]:
    own = kernel.launch
    size = shape.cluster or own.cluster
    if not size:
        return
    count = math.prod(size)
    said = f"a cluster of {_text(size)}"
    if Feature.HAS_CLUSTERS not in target.features:
        if count > 1:
            yield _finding(CLUSTER_TARGET, kernel, f"{said} on {target}")
        return
    if not 1 <= count <= MOST_CLUSTER or min(size) < 1:
        yield _finding(CLUSTER_SIZE, kernel, f"{said}, of {count} CTAs")
    elif count > PORTABLE_CLUSTER:
        yield _finding(NOTPORTABLE_CLUSTER, kernel, f"{said}, of {count} CTAs")
    if own.cluster and _three(size) != _three(own.cluster):
        yield _finding(CLUSTER, kernel, said, f".reqnctapercluster {_text(own.cluster)}")
    if own.maxclusterrank and count > own.maxclusterrank:
        yield _finding(CLUSTER, kernel, said, f".maxclusterrank {own.maxclusterrank}")
    if not shape.grid or own.blocks_are_clusters:
        return
    if any(n % m for n, m in zip(_three(shape.grid), _three(size), strict=True) if m):
        yield _finding(CLUSTER_GRID, kernel, f"a grid of {_text(shape.grid)}, {said}")


# ---- shared memory ---------------------------------------------------------------------------


_REST = ", the rest as dynamic shared memory"


def static_limit(target: Target) -> int:
    """The most bytes that the shared variables of a kernel may have."""
    return target.shared_limit if target.suffix == "a" else STATIC_SHARED


def _shared(
    module: Module, kernel: MachineFunction, target: Target, dynamic: int
) -> Iterator[Finding]:
    static, most = static_bytes(module, kernel), static_limit(target)
    if static > most:
        yield _finding(
            SHARED,
            kernel,
            f"{static} bytes of variables",
            f"at most {most} on {target}" + (_REST if most < target.shared_limit else ""),
        )
    elif dynamic < 0 or static + dynamic > target.shared_limit:
        yield _finding(
            SHARED,
            kernel,
            f"{static} bytes of variables and {dynamic} dynamic ones",
            f"at most {target.shared_limit} in all on {target}",
        )


def static_bytes(module: Module, kernel: MachineFunction) -> int:
    """The bytes of the shared variables of a kernel, and of others that it or its callees name."""
    return aligned_offsets(_shared_variables(module, kernel))[1]


def _shared_variables(module: Module, kernel: MachineFunction) -> list[Variable]:
    own = [v for v in kernel.variables if v.space is Space.SHARED]
    named = named_shared(module, [kernel, *(f for f in module.functions if not f.is_kernel)])
    return [*own, *(v for v in named if v not in own)]


# ---- what is not known -----------------------------------------------------------------------


def _unknown(module: Module, kernel: MachineFunction, shape: LaunchShape) -> Iterator[Finding]:
    """One note on the sizes that the rules would need.

    A block that the kernel bounds is known well enough, and so is any grid that the kernel's
    cluster divides: a missing --grid alone leaves nothing open.
    """
    own = kernel.launch
    missing = [] if shape.grid else ["--grid"]
    decided = missing
    if not (shape.block or own.reqntid or own.maxntid):
        missing = [*missing, "--block"]
    if shape.smem is None and any(not v.size for v in _shared_variables(module, kernel)):
        missing = [*missing, "--smem"]
    if missing:
        yield Finding(
            "verify/level",
            Severity.NOTE,
            "the launch is not known: the kernel is judged by the bounds that it sets itself"
            if missing == decided
            else "not checked: whether the kernel can be launched as it is meant to be",
            Place(function=kernel.name),
            got="no " + ", no ".join(missing),
            expected=", ".join(f"{word} …" for word in missing),
            incomplete=missing != decided,
        )

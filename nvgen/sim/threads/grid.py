"""The CTAs of a launch: how many, in which clusters, with which threads.

Layer: nvgen.sim.  PTX ISA, Cluster of Cooperative Thread Arrays; Cluster Dimension Directives.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from intrinsics.findings import input_error
from intrinsics.limits import MOST_CLUSTER
from intrinsics.mir import MachineFunction
from nvgen.launching.launches import Dim3, three
from nvgen.sim.faults import not_simulated
from nvgen.sim.memory.layout import LocalLayout, check_size
from nvgen.sim.memory.local import LocalMemory
from nvgen.sim.memory.regions import Region
from nvgen.sim.threads.machine import FULL, WARP, Cluster, Code, Cta, Machine, Strand, Warp
from nvgen.sim.threads.run import check_limits

MAX_CTAS = 1 << 16


def cluster_of(function: MachineFunction, asked: Dim3) -> Dim3:
    """The size of a cluster: that of the kernel, or of the launch.

    Raises: InputError when they differ, or no GPU has such a cluster.
    """
    own = three(function.launch.cluster) if function.launch.cluster else asked
    if asked not in ((1, 1, 1), own):
        raise input_error(
            "run/cluster",
            f"kernel {function.name} requires another cluster",
            got=str(asked),
            expected=str(own),
        )
    if min(own) < 1 or math.prod(own) > MOST_CLUSTER:
        raise input_error(
            "run/cluster",
            "no GPU has such a cluster",
            got=str(own),
            expected=f"1 to {MOST_CLUSTER} CTAs",
        )
    return own


def grid_of(function: MachineFunction, asked: Dim3, cluster: Dim3) -> Dim3:
    """The CTAs of the grid; a launch of a kernel with .blocksareclusters counts clusters.

    Raises: InputError when they are not whole clusters, NotSimulatedError for too many.
    """
    if function.launch.blocks_are_clusters:
        x, y, z = (n * m for n, m in zip(asked, cluster, strict=True))
        asked = x, y, z
    if any(n % m for n, m in zip(asked, cluster, strict=True)):
        raise input_error(
            "run/cluster-grid",
            "the grid is not made of whole clusters",
            got=f"grid {asked}, cluster {cluster}",
            expected="a multiple of the cluster in every dimension",
        )
    if math.prod(asked) > MAX_CTAS:
        raise not_simulated(f"grids of more than {MAX_CTAS} CTAs")
    return asked


def populate(
    machine: Machine, code: Code, params: bytes, static: int, dynamic: int, everywhere: LocalLayout
) -> None:
    """Create the CTAs of a launch, each with its threads at the kernel's first record.

    `static` and `dynamic` are bytes of shared memory, `everywhere` the local variables that all
    functions share.

    Raises: InputError for more shared memory than a CTA can have.
    """
    check_size(static, dynamic)
    threads = machine.block[0] * machine.block[1] * machine.block[2]
    counts = itertools.product(*(range(n) for n in machine.grid[::-1]))
    for number, (z, y, x) in enumerate(counts):
        shared = Region.shared(static + dynamic)
        bound = Region.params(np.frombuffer(params, np.uint8).copy())
        cta = Cta(machine, (x, y, z), number, 0, shared, bound, dynamic)
        for first in range(0, threads, WARP):
            mask = (1 << min(WARP, threads - first)) - 1 & FULL
            own = LocalMemory(WARP)
            own.new_frame(everywhere)
            frame = code.frame(0, own)
            warp = Warp(cta, first // WARP, frame, own, mask, mask)
            warp.strands.append(Strand(warp, mask, frame))
            cta.warps.append(warp)
        machine.ctas.append(cta)
        check_limits(machine)
    _join(machine)


def _join(machine: Machine) -> None:
    """Form clusters of the CTAs: ranks count x first, then y, then z, as those of the CTAs do."""
    width, height, depth = machine.cluster
    across, down, _ = (n // m for n, m in zip(machine.grid, machine.cluster, strict=True))
    clusters: dict[tuple[int, int, int], Cluster] = {}
    for cta in machine.ctas:
        x, y, z = cta.index
        where = x // width, y // height, z // depth
        number = where[0] + (where[1] + where[2] * down) * across
        cta.cluster = clusters.setdefault(where, Cluster(number, where))
        cta.rank = len(cta.cluster.ctas)
        cta.cluster.ctas.append(cta)
        if math.prod(machine.cluster) > 1:
            cta.shared.name = f"shared memory of CTA {cta.number}"

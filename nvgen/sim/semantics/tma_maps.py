"""The tensor map that a copy names, and what of tensor maps is simulated.

Layer: nvgen.sim.semantics.  PTX ISA, Tensors.
"""

from __future__ import annotations

import numpy as np

from nvgen.sim.faults import fault, not_simulated
from nvgen.sim.machine import Cta
from nvgen.sim.memory import Access, BoundMap, Proxy, gather
from nvgen.sim.semantics.memory import find
from nvgen.sim.semantics.tma_targets import SECTION
from nvgen.tensor_fields import Interleave
from nvgen.tensor_map import SIZE, TensorMap


def tensor_map_at(cta: Cta, address: int, rank: int, *, images: bool) -> BoundMap:
    """The tensor map whose 128 bytes lie at a generic address; of images, or of tiles.

    Raises: Fault when there is none, or it is of another kind or rank.
    """
    addresses = np.array([address], np.int64)
    agent = "cp.async.bulk.tensor"
    region, where, _ = next(find(cta, addresses, None, agent, Access.READ))
    offsets = cta.machine.memory.access(
        region, where, SIZE, Access.READ, Proxy.ASYNC, agent, align=64
    )
    found = cta.machine.tensor_maps.get(gather(region, offsets, SIZE).tobytes())
    if found is None:
        raise fault(
            "tensor-map",
            "cp.async.bulk.tensor: there is no tensor map",
            got=f"address {address:#x}",
            expected="a tensor map passed to the kernel",
            section=SECTION,
        )
    if len(found.map.dims) != rank:
        raise fault(
            "tensor-map-rank",
            "the copy has another rank than its tensor map",
            got=f"{rank}d",
            expected=f"{len(found.map.dims)}d",
            section=SECTION,
        )
    kinds = {True: "a tensor map of images (im2col)", False: "a tensor map of tiles"}
    if images != (found.map.im2col is not None):
        raise fault(
            "tensor-map-mode",
            "the copy is of another mode than its tensor map",
            got=kinds[not images],
            expected=kinds[images],
            section=SECTION,
        )
    _check_simulated(found.map)
    return found


def _check_simulated(map_: TensorMap) -> None:
    if map_.interleave is not Interleave.NONE:
        raise not_simulated("interleaved tensor maps")
    if map_.element.is_packed:
        raise not_simulated(f"tensor maps of {map_.element.bits}-bit elements")
    if map_.im2col is not None and map_.im2col.wide is not None:
        raise not_simulated("wide im2col tensor maps")

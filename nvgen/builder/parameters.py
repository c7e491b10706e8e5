"""Whether copies fit the tensor maps among a kernel's parameters.

Layer: nvgen.builder.  A tensor map's rank and swizzling are those that its parameter was declared
with; a tile's is kept by the addresses within it.  PTX ISA, Tensors; Swizzling Modes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from intrinsics.descriptors.smem_desc import Swizzle
from intrinsics.element import ElementType
from intrinsics.findings import InputError
from intrinsics.tma.fields import element_of
from intrinsics.tma.rules import box_findings
from nvgen.builder.arguments import Parameter
from nvgen.builder.pointers import Pointer
from nvgen.builder.refusals import refuse
from nvgen.callers import place_of_caller


def check_box(dtype: ElementType, box: tuple[int, ...], swizzle: Swizzle) -> None:
    """Whether there are tensor maps with such a box (outermost first), whatever the tensor is.

    Elements of a part of a byte are not judged: how they lie is the launch's.

    Raises: InputError with every requirement that is not met.
    """
    size = np.dtype(dtype.numpy).itemsize
    element = element_of(np.dtype(dtype.numpy), size)
    if dtype.bits % 8 or element is None:
        return
    wrong = box_findings(element, box[::-1], swizzle)
    if wrong:
        raise InputError([found.at(place_of_caller()) for found in wrong])


def check_copy(maps: Mapping[str, Parameter], operands: Mapping[str, object]) -> None:
    """Whether a copy of a tile fits its tensor map, where that is a parameter of the kernel.

    Raises: InputError for other coordinates than the map has dimensions, a box that is larger than
    the shared memory of the tile, or a tile whose elements are sought where another swizzling than
    the map's puts them.
    """
    tmap = operands.get("tmap")
    if not isinstance(tmap, Pointer) or tmap.value.name not in maps:
        return
    name: str = tmap.value.name
    declared = maps[name]
    coords = operands.get("coords")
    if isinstance(coords, Sequence) and len(coords) != declared.rank:
        raise refuse(
            f"a copy through {name} has other coordinates than the tensor has dimensions",
            rule="map-rank",
            got=f"{len(coords)} coordinates",
            expected=f"{declared.rank}, as the box of {name}",
            hint="the innermost dimension comes first",
            section="Tensors",
        )
    near = operands.get("dst", operands.get("src"))
    if isinstance(near, Pointer) and near.layout is not None:
        if declared.box_bytes > near.layout.room:
            raise refuse(
                f"a box of {name} is larger than the shared memory that it is copied to or from",
                rule="map-size",
                got=f"{declared.box_bytes} bytes",
                expected=f"at most {near.layout.room}, which the tile has",
                hint="a smaller box, or a larger tile; of several copies each has its part of the "
                "tile",
                section="Tensors",
            )
        near.layout.copy(name, declared.swizzle)

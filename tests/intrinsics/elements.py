"""Where the elements of a matrix in shared memory lie, from where its pieces of 16 bytes do."""

from __future__ import annotations

import numpy as np

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor
from intrinsics.element import Major
from intrinsics.layouts.packing import PIECE
from intrinsics.layouts.shared_memory import piece_addresses
from intrinsics.layouts.swizzling import Addresses


def matrix_addresses(
    descriptor: SharedMemoryDescriptor, rows: int, k: int, size: int, major: Major
) -> Addresses:
    """Byte addresses of the elements of a rows x k matrix, as an array of that shape.

    `size` is bytes an element; see `piece_addresses`, also for what is raised.
    """
    per_piece = PIECE // size
    pieces = piece_addresses(descriptor, rows, k, per_piece, major)
    axis, length = (1, k) if major is Major.K else (0, rows)
    index = np.arange(length, dtype=np.int64)
    within = index % per_piece * size
    starts = np.take(pieces, index // per_piece, axis=axis)
    return starts + (within[None, :] if axis else within[:, None])

"""Launches of tensor copies."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from nvgen.launching.tensor_map import TensorMap
from tests.sim.copies import test_tma, test_tma_store
from tests.sim.layouts import tma_tile
from tests.sim.ptx import run

SIZE, FILLER = test_tma.SIZE, test_tma.FILLER


def loading(name: str, coords: tuple[int, ...], behind: str, nbytes: int) -> str:
    """The kernel that fills shared memory, loads with one statement, and shows it."""
    place = ", ".join(map(str, coords))
    statement = f"cp.async.bulk.tensor.{name} [tile], [%m0, {{{place}}}], [bar]{behind};"
    text = re.sub(r"cp\.async\.bulk\.tensor.*?\[bar\];", "COPY", test_tma.KERNEL, flags=re.DOTALL)
    return text.format(count=nbytes).replace("COPY", statement)


def loaded(body: str, map_: TensorMap, schedule: str = "early") -> NDArray[np.uint8]:
    seen = np.zeros(SIZE, np.uint8)
    run(body, map_, seen, variables=test_tma.VARIABLES, schedule=schedule)
    return seen


def in_shared(rows: NDArray[np.generic], span: int) -> NDArray[np.uint8]:
    """Shared memory when it holds these rows and the filler."""
    memory, written = tma_tile(rows, rows.shape, (0, 0), span=span, base=0, size=SIZE)
    return np.where(written, memory, np.uint8(FILLER))


COMPLETE = ".mbarrier::complete_tx::bytes"


def image(shape: tuple[int, ...]) -> NDArray[np.uint16]:
    return (np.arange(int(np.prod(shape))) % 60000 + 1).astype(np.uint16).reshape(shape)


def storing(statement: str) -> str:
    """The kernel that fills shared memory and stores with one statement."""
    pattern = r"cp\.async\.bulk\.tensor.*?\[tile\+\{offset\}\];"
    text = re.sub(pattern, "COPY", test_tma_store.KERNEL, flags=re.DOTALL).format()
    return text.replace("COPY", statement)


def stored(statement: str, map_: TensorMap, values: NDArray[np.generic], schedule: str) -> None:
    image_ = np.zeros(SIZE, np.uint8)
    raw = np.ascontiguousarray(values).view(np.uint8).reshape(-1)
    image_[: raw.size] = raw
    run(storing(statement), map_, image_, variables=test_tma_store.VARIABLES, schedule=schedule)

"""What the pictures of `nvgen draw` say, and where the manual has the rows of D."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from xml.etree import ElementTree

from tests.nvgen.conftest import Nvgen

SVG = "{http://www.w3.org/2000/svg}"


def titles(svg: str) -> list[str]:
    """What the cells of a picture say; every one has a rectangle."""
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    assert len(svg.encode()) < 1_000_000
    groups = root.findall(f"{SVG}g/{SVG}g")
    assert all(group.find(f"{SVG}rect") is not None for group in groups)
    return [group.findtext(f"{SVG}title") or "" for group in groups]


def drawn(nvgen: Nvgen, *arguments: str) -> list[str]:
    """The cells of a picture, each once."""
    found = nvgen("draw", *arguments, "--format", "svg")
    assert (found.status, found.err) == (0, ""), found.err
    names = titles(found.out)
    assert names
    assert max(Counter(names).values()) == 1
    return names


def halves(row: int) -> int:
    """Half of the lanes: sixteen rows at the beginning of each warp's lanes."""
    return row // 16 * 32 + row % 16


Place = Callable[[int, int, int], tuple[int, int, int]]
# PTX ISA, Data Path Layout Organization, with the columns of B, E and G in 2, 2 and 4 parts as in
# CUTLASS, mma_traits_sm100.hpp: CTA, lane and column of D[i, j].
DATA_PATHS: dict[str, tuple[tuple[str, ...], int, Place]] = {
    "A": (("--group", "2"), 256, lambda i, j, n: (i // 128, i % 128, j)),
    "B": (("--group", "2"), 128,
          lambda i, j, n: (i // 64, i % 64 + j // (n // 2) * 64, j % (n // 2))),
    "C": (("--group", "2", "--sparse"), 128, lambda i, j, n: (i // 64, halves(i % 64), j)),
    "D": ((), 128, lambda i, j, n: (0, i, j)),
    "E": (("--ws",), 64, lambda i, j, n: (0, i + j // (n // 2) * 64, j % (n // 2))),
    "F": ((), 64, lambda i, j, n: (0, halves(i), j)),
    "G": (("--ws",), 32, lambda i, j, n: (0, i + j // (n // 4) * 32, j % (n // 4))),
}  # fmt: skip

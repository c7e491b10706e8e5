"""Does a text have tile multiplies?  Asked of every module of LLVM IR, so that it needs no reader.

Layer: asmprinter.
"""

from __future__ import annotations

import re

BEGIN = re.compile(r"%\w+\s*=\s*(?:cuda_tile\.mma[fi]|nv_tileaa\.dot)\b")
"""What a tile multiply begins with."""


def has_tiles(text: str) -> bool:
    """Whether there is a tile multiply in `text`."""
    if "cuda_tile.mma" not in text and "nv_tileaa.dot" not in text:
        return False  # a module of LLVM IR may be long, and words are found faster
    return BEGIN.search(text) is not None

"""Does a text have tile multiplies, or what becomes of them before they are LLVM IR?

Layer: asmprinter.  Asked of every module of LLVM IR, so that it needs no reader.
"""

from __future__ import annotations

import re

BEGIN = re.compile(r"%\w+\s*=\s*(?:cuda_tile\.mma[fi]|nv_tileaa\.dot)\b")
"""What a tile multiply begins with."""

LOWERED = re.compile(r"^[ \t]*(?:%\w+\s*=\s*)?((?:nv_tileas|cute_nvgpu)\.[\w.]+)", re.MULTILINE)
"""What an operation begins with that a multiply was taken apart into: the third form."""
_WORDS = ("cuda_tile.mma", "nv_tileaa.dot", "nv_tileas.", "cute_nvgpu.")


def has_tiles(text: str) -> bool:
    """Whether there is a tile multiply in `text`, in any of its forms before LLVM IR."""
    if not any(word in text for word in _WORDS):
        return False  # a module of LLVM IR may be long, and words are found faster
    return BEGIN.search(text) is not None or LOWERED.search(text) is not None

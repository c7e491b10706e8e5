"""PTX as compilers wrote it, from sources of our own; `build.py` says how each file was made."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent

FILES = tuple(sorted(FOLDER.glob("*.ptx")))
"""Every file of the corpus."""


def text_of(name: str) -> str:
    """The text of the file called `name`, without its suffix."""
    return (FOLDER / f"{name}.ptx").read_text()

"""CUDA's library of mathematical functions, `libdevice.10.bc`: where it is.

Layer: nvgen.  It is looked for where `NVGEN_LIBDEVICE` says, then in the PyPI package nvidia-nvvm,
then in a CUDA toolkit.  libdevice User's Guide.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
from collections.abc import Iterator
from pathlib import Path

FILE = "libdevice.10.bc"
_DECLARED = re.compile(r'declare\b[^\n]*@"?__nv_')


def wants_libdevice(text: str) -> bool:
    """Whether a module seems to declare functions of libdevice; LLVM decides."""
    return "__nv_" in text and _DECLARED.search(text) is not None


@functools.cache
def find_libdevice() -> Path | None:
    """The library to link, or None."""
    named = os.environ.get("NVGEN_LIBDEVICE")
    if named:
        return Path(named)
    return next((path for path in _places() if path.is_file()), None)


def _places() -> Iterator[Path]:
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations or () if spec else ():
        yield from sorted(Path(root).glob(f"*/nvvm/libdevice/{FILE}"), reverse=True)
        yield from sorted(Path(root).glob(f"cuda_nvcc/nvvm/libdevice/{FILE}"))
    toolkits = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")]
    for toolkit in (*toolkits, "/usr/local/cuda"):
        if toolkit:
            yield Path(toolkit, "nvvm", "libdevice", FILE)
    yield from sorted(Path("/usr/local").glob(f"cuda-*/nvvm/libdevice/{FILE}"), reverse=True)

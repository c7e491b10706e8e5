"""The code that the driver is given: machine code from ptxas first, PTX where there is none.

Layer: nvgen.driver.  A cubin of the newest ptxas loads on drivers that refuse its PTX version; the
driver's own compiler takes PTX up to the version that it was made with.
"""

from __future__ import annotations

import functools
from typing import Literal

from asmprinter.ptx.printer import print_ptx
from intrinsics.findings import AssemblerError
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Module
from intrinsics.targets import Ptx, Target
from nvgen.driver.gpus import architecture
from nvgen.machine_code.assembler import assemble, assemble_module, find_ptxas


@dataclass(frozen=True, slots=True)
class Image:
    """Code that the driver can load; PTX ends in a zero byte."""

    kind: Literal["cubin", "ptx"]
    data: bytes


def images(module: Module, ptx: Ptx, target: Target, gpu: int) -> list[Image]:
    """The images to try on a GPU of architecture `gpu`, in order.

    Raises: AssemblerError for what ptxas refuses for another reason than the PTX version.
    """
    found = []
    text = print_ptx(module, ptx).text
    if find_ptxas() is not None:
        arch = architecture(target, gpu)
        try:
            found.append(Image("cubin", _cubin(text, target, arch)))
        except AssemblerError as error:
            if not all(_too_old(f.message) for f in error.findings):
                assemble_module(module, ptx, target, arch)  # the same errors, each at its record
                raise
    return [*found, Image("ptx", text.encode() + b"\0")]


@functools.lru_cache(maxsize=128)
def _cubin(text: str, target: Target, arch: str) -> bytes:
    """A kernel that is launched again is not assembled again."""
    return assemble(text, target, arch).cubin


def _too_old(message: str) -> bool:
    """Whether ptxas says that it is older than the PTX or the architecture."""
    return "Unsupported .version" in message or "not defined for option 'gpu-name'" in message

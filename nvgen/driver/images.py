"""The code that the driver is given: machine code from ptxas first, PTX where there is none.

Layer: nvgen.driver.  A cubin of the newest ptxas loads on drivers that refuse its PTX version; the
driver's own compiler takes PTX up to the version that it was made with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from asmprinter.ptx_printer import print_ptx
from intrinsics.findings import AssemblerError
from intrinsics.mir import Module
from intrinsics.targets import Ptx, Target
from nvgen.assembler import assemble_module, find_ptxas
from nvgen.driver.gpus import architecture


@dataclass(frozen=True, slots=True)
class Image:
    """Code that the driver can load; PTX ends in a zero byte."""

    kind: Literal["cubin", "ptx"]
    data: bytes


def images(module: Module, ptx: Ptx, target: Target, gpu: int) -> list[Image]:
    """What to try to load on a GPU of architecture `gpu`, in order.

    Raises: AssemblerError for what ptxas refuses for another reason than the PTX version.
    """
    found = []
    if find_ptxas() is not None:
        try:
            arch = architecture(target, gpu)
            found.append(Image("cubin", assemble_module(module, ptx, target, arch).cubin))
        except AssemblerError as error:
            if not all(_too_old(f.message) for f in error.findings):
                raise
    text = print_ptx(module, ptx).text
    return [*found, Image("ptx", text.encode() + b"\0")]


def _too_old(message: str) -> bool:
    """Whether ptxas says that it is older than the PTX or the architecture."""
    return "Unsupported .version" in message or "not defined for option 'gpu-name'" in message

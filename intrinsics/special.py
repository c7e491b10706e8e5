"""Special registers: what `%tid.x` and its like are.

Layer: intrinsics.  PTX ISA, Special Registers.  The types are those that ptxas 13.5 lets a mov read
them with.
"""

from __future__ import annotations

import functools
import re

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import ScalarType
from intrinsics.targets import EVERYWHERE, Capability, at_least, since

_WORD = (ScalarType.B32, ScalarType.U32, ScalarType.S32)
_HALF_TOO = (ScalarType.U16, ScalarType.B16, ScalarType.S16, *_WORD)
_ALL_PARTS = (ScalarType.B128,)
_LONG = (ScalarType.B64, ScalarType.U64, ScalarType.S64)


@dataclass(frozen=True, slots=True)
class SpecialRegister:
    """One special register: its name after `%`, the mov types that read it, where it exists."""

    name: str
    types: tuple[ScalarType, ...]
    needs: Capability = EVERYWHERE

    @property
    def llvm(self) -> str:
        """The intrinsic that reads it, after `llvm.nvvm.`; "" where LLVM has none."""
        if self.types == _ALL_PARTS:
            return ""
        if self.name == "is_explicit_cluster":
            return self.name
        return "read.ptx.sreg." + self.dotted

    @property
    def dotted(self) -> str:
        """Its name as LLVM has it behind `read.ptx.sreg.`."""
        return self.name if self.name.endswith("smem_size") else self.name.replace("_", ".")

    @property
    def llvm_bits(self) -> int:
        """The width of what the intrinsic gives: 1 of a predicate, 64 of what no word holds."""
        first = self.types[0]
        return 1 if first is ScalarType.PRED else 64 if first in _LONG else 32


_CONSTANT = re.compile(
    r"n?tid\b.*|(?:cluster_)?n?cta(?:id|rank)\b.*|n?clusterid\b.*|laneid|lanemask_\w+|gridid"
)


def is_constant(name: str) -> bool:
    """Whether a special register holds the same as long as a thread runs.

    `%warpid` and `%smid` may change, and clocks do.
    """
    return _CONSTANT.fullmatch(name) is not None


_MOST = {
    "tid.x": 1023,
    "tid.y": 1023,
    "tid.z": 63,
    "ntid.x": 1024,
    "ntid.y": 1024,
    "ntid.z": 64,
    "nctaid.x": (1 << 31) - 1,
    "nctaid.y": (1 << 16) - 1,
    "nctaid.z": (1 << 16) - 1,
    "ctaid.x": (1 << 31) - 2,
    "ctaid.y": (1 << 16) - 2,
    "ctaid.z": (1 << 16) - 2,
    "laneid": 31,
}
"""The greatest values.  CUDA C++ Programming Guide, Technical Specifications per Compute
Capability: dimensions of a block and of a grid."""


def significant_bits(name: str) -> int:
    """The number of significant bits of a special register; 64 if unknown."""
    return _MOST[name].bit_length() if name in _MOST else 64


@functools.cache
def special_registers() -> dict[str, SpecialRegister]:
    """Every special register, by name."""
    cluster = since("7.8", at_least(90))
    groups: list[tuple[str, tuple[ScalarType, ...], Capability]] = [
        ("tid ntid ctaid nctaid", _HALF_TOO, EVERYWHERE),
        ("clusterid nclusterid cluster_ctaid cluster_nctaid", _WORD, cluster),
    ]
    found = [
        SpecialRegister(f"{name}.{axis}", types, needs)
        for names, types, needs in groups
        for name in names.split()
        for axis in "xyzw"
    ]
    found += [
        SpecialRegister(name, _ALL_PARTS, needs)
        for names, _, needs in groups
        for name in names.split()
    ]
    single: list[tuple[str, tuple[ScalarType, ...], Capability]] = [
        ("laneid warpid nwarpid smid nsmid", _WORD, EVERYWHERE),
        ("lanemask_eq lanemask_le lanemask_lt lanemask_ge lanemask_gt", _WORD, EVERYWHERE),
        ("clock clock_hi globaltimer_lo globaltimer_hi", _WORD, EVERYWHERE),
        ("total_smem_size dynamic_smem_size", _WORD, EVERYWHERE),
        (" ".join(f"envreg{n}" for n in range(32)), _WORD, EVERYWHERE),
        (" ".join(f"pm{n}" for n in range(8)), _WORD, EVERYWHERE),
        (" ".join(f"pm{n}_64" for n in range(8)), _LONG, EVERYWHERE),
        ("gridid", (*_HALF_TOO, *_LONG), EVERYWHERE),
        ("clock64 globaltimer", _LONG, EVERYWHERE),
        ("cluster_ctarank cluster_nctarank", _WORD, cluster),
        ("is_explicit_cluster", (ScalarType.PRED,), cluster),
        ("aggr_smem_size", _WORD, since("8.1", at_least(90))),
        (
            "reserved_smem_offset_begin reserved_smem_offset_end reserved_smem_offset_cap "
            "reserved_smem_offset_0 reserved_smem_offset_1",
            _WORD,
            since("7.6", at_least(80)),
        ),
        ("current_graph_exec", _LONG, since("8.0")),
    ]
    found += [
        SpecialRegister(name, types, needs)
        for names, types, needs in single
        for name in names.split()
    ]
    return {register.name: register for register in found}

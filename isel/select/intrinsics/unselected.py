"""LLVM's nvvm intrinsics that nvgen does not select, and why.

Layer: isel.select.  Nobody can: where PTX has an instruction for an intrinsic it is selected.  The
list is part of the reference (`coverage.md`), and a test holds that it is all that is missing.
"""

from __future__ import annotations

import re

from intrinsics.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Unselected:
    """Intrinsics by a pattern of their names after `llvm.nvvm.`, why not, and what to do."""

    names: str
    reason: str
    instead: str = ""


UNSELECTED = (
    Unselected(
        r"shfl\.(bfly|down|idx|up)\.[if]32p?",
        "PTX has no shfl without .sync since sm_70; LLVM's back end refuses it, too",
        "llvm.nvvm.shfl.sync.*, which takes the mask of its threads",
    ),
    Unselected(
        r"vote\.(all|any|uni|ballot)",
        "PTX has no vote without .sync since sm_70; LLVM's back end refuses it, too",
        "llvm.nvvm.vote.*.sync, which takes the mask of its threads",
    ),
    Unselected(
        r"f(min|max)\.ftz(\.nan)?(\.xorsign\.abs)?\.bf16(x2)?",
        "PTX has no .ftz for bf16; LLVM's back end refuses it, too",
        "the same without ftz: bf16 keeps subnormal numbers",
    ),
    Unselected(
        r"fma\.rn\.(ftz|sat|ftz\.relu|ftz\.sat)\.bf16(x2)?",
        "ptxas: Illegal modifier for instruction 'fma': PTX has neither .ftz nor .sat for bf16",
        "llvm.nvvm.fma.rn.bf16 and llvm.nvvm.fma.rn.relu.bf16",
    ),
    Unselected(
        r"wmma\.m\d+n\d+k16\.mma\.(row|col)\.(row|col)\.f(16|32)\.f(16|32)\.satfinite",
        "ptxas: wmma.mma of floating point with .satfinite is not supported since PTX 6.5",
        "the same without satfinite",
    ),
    Unselected(
        r"sust\.p\.(1d|2d|3d)(\.array)?\.(v[24])?i(8|16)\.trap",
        "ptxas: Unexpected instruction types specified for 'sust.p': its elements have 32 bits",
        "llvm.nvvm.sust.p.*.i32.trap, which converts to what the surface holds",
    ),
    Unselected(
        r"tex\.([12]d\.array\.grad|3d\.level|3d\.grad|cube|cube\.array)\.v4[fsu]32\.f32",
        "ptxas takes no sampler of its own with this geometry in the unified texture mode",
        "llvm.nvvm.tex.unified.*, whose handle is of the texture and its sampler",
    ),
    Unselected(
        r"lg2\.approx\.d",
        "ptxas: Unexpected instruction types specified for 'lg2': there is none of f64",
        "__nv_log2 of libdevice",
    ),
    Unselected(
        r"bf2h\.rn(\.ftz)?",
        "LLVM's back end refuses it, and nothing says what bits it would give",
        "fpext to float, then fptrunc to half",
    ),
    Unselected(
        r"compiler\.(error|warn)",
        "libNVVM's own: a message to who compiles, for which LLVM's back end has no code either",
        "llvm.trap",
    ),
)


def unselected(name: str) -> Unselected | None:
    """Why the intrinsic called `name` after `llvm.nvvm.` is not selected, if that is known."""
    short = re.sub(r"(\.p\d+)+$", "", name)
    return next((one for one in UNSELECTED if re.fullmatch(one.names, short)), None)

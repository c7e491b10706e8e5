"""Uniformity: whether a branch or a loop on a value may diverge in a warp.

Layer: nvgen.llvm.  Input: LLVM values, in SSA form.  They are traced to their sources:
parameters, constants and numbers of CTAs are uniform in a warp, and so are those of warps (tid.x
shifted by five bits and more).  A loaded value counts as uniform where its address is, and a
variable of an unfinished loop where it is before the loop.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from llvmlite import ir
from llvmlite.ir import instructions as kinds

_OWN = re.compile(
    r"llvm\.nvvm\.(read\.ptx\.sreg\.(tid|laneid|lanemask|clock|globaltimer)|elect|activemask"
    r"|match\.any|shfl\.sync\.(up|down|bfly)|atomic|tcgen05\.ld|ldmatrix)"
)
"""Intrinsics whose results differ between the threads of a warp."""

_SAME = re.compile(r"llvm\.nvvm\.(vote|redux|match\.all|barrier\.cta\.red)")
"""Intrinsics whose results are uniform, whatever their arguments."""

_TID_X = "llvm.nvvm.read.ptx.sreg.tid.x"
_SHUFFLE, _LANE = "llvm.nvvm.shfl.sync.idx", 3  # the operand after the function
_WARP_BITS = 5


def agree(values: Iterable[ir.Value]) -> bool:
    """Whether each of these values is uniform in a warp."""
    work, seen = list(values), set[int]()
    while work:
        value = work.pop()
        if id(value) in seen or not isinstance(value, kinds.Instruction):
            continue
        seen.add(id(value))
        if _differs(value):
            return False
        if not _is_same(value):
            work += _made_of(value)
    return True


def _differs(value: kinds.Instruction) -> bool:
    """Whether it may differ between threads, whatever its operands."""
    if isinstance(value, kinds.CallInstr):
        name = getattr(value.callee, "name", "")  # inline assembly has none
        return not name.startswith("llvm.") or _OWN.match(name) is not None
    return isinstance(value, (kinds.AtomicRMW, kinds.CmpXchg, kinds.LoadAtomicInstr))


def _is_same(value: kinds.Instruction) -> bool:
    """Whether it is uniform, whatever its operands: the result of a vote, or tid.x divided by 32 or
    more.
    """
    if isinstance(value, kinds.CallInstr):
        return _SAME.match(value.callee.name) is not None
    if value.opname != "lshr":
        return False
    number, by = value.operands
    return (
        isinstance(number, kinds.CallInstr)
        and number.callee.name == _TID_X
        and isinstance(by, ir.Constant)
        and by.constant >= _WARP_BITS
    )


def _made_of(value: kinds.Instruction) -> list[ir.Value]:
    """The operands on which its uniformity depends."""
    if isinstance(value, kinds.PhiInstr):
        return [incoming for incoming, _ in value.incomings]
    if isinstance(value, kinds.CallInstr) and value.callee.name.startswith(_SHUFFLE):
        return [value.operands[_LANE]]
    return list(value.operands)

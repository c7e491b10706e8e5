"""NVVM's intrinsics for which LLVM IR has instructions: they become these.

Layer: isel.lower.  llvm.nvvm.atomic.* are relaxed atomics of a CTA or the system; llvm.nvvm.ldu.*
are loads of what nobody writes; llvm.nvvm.fadd.* (LLVM 23) are sums that say how to round;
llvm.nvvm.internal.addrspace.wrap.* is the address of a parameter in the parameter space, in modules
that front ends write down behind the passes of LLVM's back end.  LLVM, User Guide for NVPTX
Back-end.
"""

from __future__ import annotations

import functools
import re

from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.vocabulary import Opcode, Ordering
from isel.llvm.vocabulary import RMWOperation as Rmw
from isel.lower.rewriter import Replacement, Rewriter

_ATOMIC = re.compile(r"llvm\.nvvm\.atomic\.(\w+)\.gen\.([if])\.(cta|sys)\.")
_SCOPES = {"cta": "block", "sys": ""}
_OPERATIONS = {
    "add": Rmw.ADD, "and": Rmw.AND, "or": Rmw.OR, "xor": Rmw.XOR, "exch": Rmw.XCHG,
    "max": Rmw.MAX, "min": Rmw.MIN, "inc": Rmw.UINC_WRAP, "dec": Rmw.UDEC_WRAP,
}  # fmt: skip
_LOAD = "llvm.nvvm.ldu.global."
_PARAMETER = "llvm.nvvm.internal.addrspace.wrap."
_SUM = re.compile(r"llvm\.nvvm\.fadd((?:\.ftz)?(?:\.sat)?)\.(\w+)")
_ROUNDINGS = ("rz", "rn", "rp", "rm")
"""The modes of llvm.nvvm.fadd as it numbers them: those of LLVM's RoundingMode."""


@functools.lru_cache(1 << 12)
def _is_one(name: str) -> bool:
    """Whether a function is such an intrinsic, by its name."""
    return name.startswith((_LOAD, _PARAMETER)) or bool(_SUM.fullmatch(name) or _ATOMIC.match(name))


def lowered(i: ir.Instruction) -> Replacement | None:
    """What a call of such an intrinsic becomes; None for other instructions."""
    name = i.callee_name if isinstance(i, ir.Call) else None
    if name is None or not isinstance(i, ir.Call) or not _is_one(name):
        return None
    if name.startswith(_LOAD):
        return lambda out: _load(out, i)
    if name.startswith(_PARAMETER):
        cast = Opcode.ADDRSPACECAST
        return lambda out: out.cast(cast, i.arguments[0], i.type, i.result or "")
    if (sum_ := _SUM.fullmatch(name)) is not None:
        return _sum(i, sum_[1], sum_[2])
    match = _ATOMIC.match(name)
    if match is None:
        return None
    word, kind, scope = match[1], match[2], _SCOPES[match[3]]
    if word == "cas":
        return lambda out: _compare_and_swap(out, i, scope)
    operation = Rmw.FADD if kind == "f" else _OPERATIONS.get(word)
    if operation is None:
        return None
    return lambda out: _atomic(out, i, operation, scope)


def _sum(call: ir.Call, modifiers: str, type_: str) -> Replacement | None:
    """LLVM 23's fadd with a rounding mode, as the intrinsic that LLVM 22 has for that mode."""
    mode = call.arguments[-1] if len(call.arguments) == 3 else None
    if not isinstance(mode, llvm.ConstInt) or mode.value >= len(_ROUNDINGS):
        return None
    name = f"llvm.nvvm.add.{_ROUNDINGS[mode.value]}{modifiers}.{type_}"
    return lambda out: out.call(name, call.type, call.arguments[:2], call.result)


def _load(out: Rewriter, call: ir.Call) -> None:
    pointer, align = call.arguments
    alignment = align.value if isinstance(align, llvm.ConstInt) else None
    common = (*out.common(Opcode.LOAD, call.result)[:5], (("invariant.load", ""),))
    out.add(ir.Load(*common, call.type, pointer, alignment, False, None, ""))


def _atomic(out: Rewriter, call: ir.Call, operation: Rmw, scope: str) -> None:
    pointer, value = call.arguments
    common = out.common(Opcode.ATOMICRMW, call.result)
    order = Ordering.MONOTONIC
    out.add(ir.AtomicRMW(*common, call.type, operation, pointer, value, order, scope, None, False))


def _compare_and_swap(out: Rewriter, call: ir.Call, scope: str) -> None:
    pointer, expected, new = call.arguments
    size = {16: 2, 32: 4, 64: 8}.get(getattr(expected.type, "bits", 0), 4)
    pair = out.exchange(pointer, expected, new, Ordering.MONOTONIC, scope, size)
    out.extract(pair, 0, call.result or "")

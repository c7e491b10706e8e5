"""LLVM's intrinsics on floating point that say how to round, as what says it by itself.

Layer: isel.lower.  A GPU raises no exceptions, and no register says how it rounds: a dynamic mode
is to the nearest.  A stated one is that of llvm.nvvm's forms, for float and double.  LLVM Language
Reference, Constrained Floating-Point Intrinsics; PTX ISA, Floating Point Instructions.
"""

from __future__ import annotations

from intrinsics.lazy_dataclass import dataclass
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.types import DOUBLE, FLOAT
from isel.llvm.vocabulary import FloatPredicate, Opcode
from isel.lower.rewriter import Replacement, Rewriter

_FAMILY = "llvm.experimental.constrained."
_BINARY = {
    "fadd": Opcode.FADD, "fsub": Opcode.FSUB, "fmul": Opcode.FMUL, "fdiv": Opcode.FDIV,
    "frem": Opcode.FREM,
}  # fmt: skip
_CASTS = {
    "fptosi": Opcode.FPTOSI, "fptoui": Opcode.FPTOUI, "sitofp": Opcode.SITOFP,
    "uitofp": Opcode.UITOFP, "fptrunc": Opcode.FPTRUNC, "fpext": Opcode.FPEXT,
}  # fmt: skip
_COMPARISONS = ("fcmp", "fcmps")
_EXACT = ("ceil", "floor", "lround", "llround", "round", "roundeven", "trunc", "fptosi", "fptoui")
"""What rounds as its name says, whatever the mode."""

_NEAREST = ("round.dynamic", "round.tonearest", "")
_DIRECTED = {"round.upward": "rp", "round.downward": "rm", "round.towardzero": "rz"}
_FORMS = {"fadd": "add", "fsub": "add", "fmul": "mul", "fdiv": "div", "fma": "fma", "sqrt": "sqrt"}
"""The forms of llvm.nvvm that have a mode; a difference is a sum."""


@dataclass(frozen=True, slots=True)
class _Call:
    """One of the family: `verb` of the operands, and the words behind them."""

    call: ir.Call
    verb: str
    operands: tuple[llvm.Value, ...]
    words: tuple[str, ...]

    @property
    def mode(self) -> str:
        """The rounding mode, if there is one."""
        return next((word for word in self.words if word.startswith("round.")), "")


def lowered(i: ir.Instruction) -> Replacement | None:
    """The replacement of a constrained intrinsic; None for other instructions, and for a rounding
    mode that no form has.
    """
    name = i.callee_name if isinstance(i, ir.Call) else None
    if name is None or not isinstance(i, ir.Call) or not name.startswith(_FAMILY):
        return None
    given = i.arguments
    operands = tuple(a for a in given if not isinstance(a, llvm.MetadataValue))
    words = tuple(
        a.content.text
        for a in given
        if isinstance(a, llvm.MetadataValue) and isinstance(a.content, llvm.MetadataString)
    )
    verb, _, types = name.removeprefix(_FAMILY).partition(".")
    call = _Call(i, verb, operands, words)
    if call.mode in _NEAREST or verb in _EXACT:
        return _plain(call, types)
    return _directed(call)


def _plain(call: _Call, types: str) -> Replacement:
    """The instruction, or the intrinsic without the family's name."""
    verb, operands, result, type_ = call.verb, call.operands, call.call.result or "", call.call.type

    def make(out: Rewriter) -> None:
        if verb in _COMPARISONS:
            out.compare(FloatPredicate(call.words[0]), operands[0], operands[1], result)
        elif verb in _BINARY:
            out.binary(_BINARY[verb], operands[0], operands[1], result)
        elif verb in _CASTS:
            out.cast(_CASTS[verb], operands[0], type_, result)
        else:
            out.call(f"llvm.{verb}.{types}", type_, operands, result)

    return make


def _directed(call: _Call) -> Replacement | None:
    """The form that rounds as stated."""
    form, mode, type_ = _FORMS.get(call.verb), _DIRECTED.get(call.mode), call.call.type
    if form is None or mode is None or type_ not in (FLOAT, DOUBLE):
        return None
    name = f"llvm.nvvm.{form}.{mode}.{'f' if type_ is FLOAT else 'd'}"

    def make(out: Rewriter) -> None:
        first, *rest = call.operands
        if call.verb == "fsub":
            rest = [out.negative(rest[0])]
        out.call(name, type_, (first, *rest), call.call.result)

    return make

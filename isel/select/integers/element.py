"""One element of an intrinsic on integers while it is taken apart.

Layer: isel.select.  Every step gives the register that it writes; the registers of the result come
last, as what leads to it is of other widths.
"""

from __future__ import annotations

from intrinsics.mir import Imm, Op, Reg, Scalar
from intrinsics.modifiers import Compare as Cmp
from intrinsics.modifiers import ScalarType
from isel.llvm.type_layout import BITS, container
from isel.select.state import FunctionState, Values, form
from isel.select.widths import LIMB, extend, register, resize, shift_amount

T = ScalarType


class Work:
    """The operands of one element, integers of `width` bits in registers of `bits` bits."""

    def __init__(
        self, state: FunctionState, width: int, result_width: int, arguments: tuple[Values, ...]
    ) -> None:
        self.state = state
        self.width = width
        self.bits = container(width)
        self.result_width = result_width
        self.arguments = arguments

    # ---- operands ----------------------------------------------------------------------------

    def operand(self, index: int, *, signed: bool) -> Scalar:
        """An argument of up to 64 bits, extended to its register; a number stays one."""
        return extend(self.state, self.arguments[index][0], self.width, signed=signed)

    def value(self, index: int, *, signed: bool = False) -> Reg:
        """An argument, extended to its register."""
        return register(self.state, self.operand(index, signed=signed), self.bits)

    def raw(self, index: int) -> Reg:
        """An argument in its register, whose upper bits mean nothing."""
        return register(self.state, self.arguments[index][0], self.bits)

    def pair(self, *, signed: bool) -> tuple[Reg, Scalar]:
        """The first two arguments, extended."""
        return self.value(0, signed=signed), self.operand(1, signed=signed)

    def wider(self, index: int, bits: int, *, clean: bool = True) -> Reg:
        """An argument in a register of `bits` bits, filled up with zeros if `clean`."""
        reg = self.value(index) if clean else self.raw(index)
        return resize(self.state, reg, self.bits, bits)

    def word(self, index: int, *, clean: bool = True) -> Reg:
        """An argument in at least 32 bits, filled up with zeros if `clean`."""
        return self.wider(index, max(self.bits, 32), clean=clean)

    def words(self, index: int) -> tuple[Reg, Reg]:
        """The two words of an argument of 64 bits, the lower one first."""
        return self.state.two_halves(self.raw(index), T.B32)

    def amount(self, index: int) -> Scalar:
        """An argument as PTX wants the amount of a shift."""
        return shift_amount(self.state, self.arguments[index][0], self.width)

    def narrow_amount(self, reg: Reg) -> Reg:
        """A register of the element's class as PTX wants the amount of a shift."""
        return resize(self.state, reg, self.bits, 32)

    # ---- records -----------------------------------------------------------------------------

    def emit(self, row: str, type_: ScalarType, *sources: Op, bits: int = 0) -> Reg:
        """One record with one result, as wide as its type or of `bits`."""
        first, *rest = sources
        if isinstance(first, Imm) and row != "selp":
            first = self.state.reg(first, BITS[type_.bits])
        cls = BITS[bits or type_.bits]
        return self.state.computed(form(row, type=type_), first, *rest, cls=cls)

    def test(self, cmp: Cmp, type_: ScalarType, a: Op, b: Op) -> Reg:
        """A comparison."""
        if isinstance(a, Imm):
            a = self.state.reg(a, BITS[type_.bits])
        chosen = form("setp.int", p=True, cmp=cmp, type=type_)
        return self.state.computed(chosen, a, b, cls=T.PRED)

    def extended(self, reg: Reg, *, signed: bool) -> Reg:
        """A register of the element's class, whose value has `width` bits, extended."""
        found = extend(self.state, reg, self.width, signed=signed)
        assert type(found) is int
        return found

    # ---- results -----------------------------------------------------------------------------

    def narrowed(self, reg: Reg, bits: int) -> Reg:
        """A register of `bits` bits in the width of the result."""
        return resize(self.state, reg, bits, container(min(self.result_width, LIMB)))

    def one_of_three(self, above: Reg, below: Reg) -> Values:
        """1, -1 or 0, in the width of the result."""
        cls = BITS[container(min(self.result_width, LIMB))]
        positive = self.emit("selp", cls, Imm(1), Imm(0), above)
        low = self.emit("selp", cls, Imm(-1), positive, below)
        spare = (self.result_width - 1) // LIMB
        if not spare:
            return (low,)
        sign = self.emit("shr", T.S64, low, Imm(LIMB - 1))
        return (low, *(sign for _ in range(spare)))

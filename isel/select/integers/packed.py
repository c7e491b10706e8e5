"""Logic on vectors of small integers whose words are still there: a word at a time.

Layer: isel.select.  A vector that was loaded by words was cut into elements; what only needs the
bits of both sides takes the words.
"""

from __future__ import annotations

from intrinsics.mir import Imm, Reg
from intrinsics.modifiers import ScalarType
from isel.llvm.vocabulary import Opcode
from isel.select.repack import split
from isel.select.state import FunctionState, Values, form

T = ScalarType
LOGIC = {Opcode.AND: "and", Opcode.OR: "or", Opcode.XOR: "xor"}


def logic_by_words(
    state: FunctionState,
    opcode: Opcode,
    bits: int,
    results: tuple[Reg, ...],
    lhs: Values,
    rhs: Values,
) -> bool:
    """Select a logic operation on elements of `bits` bits by words of 32; False where it cannot."""
    row, count = LOGIC.get(opcode), 32 // bits
    if row is None or len(results) % count:
        return False
    starts = range(0, len(results), count)
    left = [word_of(state, lhs[at : at + count], bits) for at in starts]
    right = [word_of(state, rhs[at : at + count], bits) for at in starts]
    pairs = [(a, b) for a, b in zip(left, right, strict=True) if type(a) is int and b is not None]
    if len(pairs) != len(starts):
        return False
    for at, (a, b) in zip(starts, pairs, strict=True):
        word = state.computed(form(row, type=T.B32), a, b, cls=T.B32)
        split(state, list(results[at : at + count]), word, bits)
    return True


def word_of(state: FunctionState, parts: Values, bits: int) -> Reg | Imm | None:
    """The word that has these parts, if it is known."""
    if all(isinstance(part, Imm) for part in parts):
        mask = (1 << bits) - 1
        numbers = (part.value & mask for part in parts if isinstance(part, Imm))
        return Imm(sum(number << bits * n for n, number in enumerate(numbers)))
    regs = tuple(part for part in parts if isinstance(part, int))
    found = state.words.get(regs) if len(regs) == len(parts) else None
    return found if found is not None and state.out.regs.classes[found].bits == 32 else None

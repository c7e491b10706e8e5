"""Phis: a record for each register of a value, or for each word whose parts the registers are.

Layer: isel.select.  Elements of 8 and 16 bits have registers of their own, but mostly they come in
words of 32 bits (loads, packed arithmetic, tensor cores) and go in words.  Where such a word is
known on every way into a block, or is a constant, the word goes through the phi, and is cut behind
it if somebody wants its parts; else each part goes for itself.  LLVM's back end keeps vectors of
such elements in words too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Block, Imm, Label, MachineInstr, Reg, Scalar
from intrinsics.modifiers import ScalarType
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.types import FloatType, IntType, Type, VectorType
from isel.select.integers.packed import word_of
from isel.select.repack import join, split
from isel.select.state import FunctionState, Values, typed

_WORD = 32
_READY = frozenset((llvm.Local, llvm.ConstInt, llvm.ConstFloat))
"""Values for which nothing is made."""


@dataclass(frozen=True, slots=True)
class Merge:
    """A phi: its registers, and what they are on each way into its block."""

    results: tuple[Reg, ...]
    incoming: list[Values]
    labels: tuple[Label, ...]
    bits: int
    """Of an element, where a word has several; else 0."""
    location: int

    def words(self) -> list[slice]:
        """Which registers are the parts of a word, if these are any."""
        if not self.bits:
            return []
        each = _WORD // self.bits
        return [slice(at, at + each) for at in range(0, len(self.results) - each + 1, each)]


def phi(state: FunctionState, i: ir.Phi) -> None:
    """Registers for the result, and for its words; the records come when all values are known."""
    results = state.define(i.result, i.type)
    each = _WORD // _part(i.type) if _part(i.type) else 0
    if each and len(results) % each == 0:
        for at in range(0, len(results), each):
            state.words[results[at : at + each]] = state.new(ScalarType.B32)


def merge(state: FunctionState, i: ir.Phi, blocks: Mapping[str, Block]) -> Merge:
    """Operands of a phi; code for constants goes to the end of the block they come from."""
    incoming: list[Values] = []
    labels: list[Label] = []
    for value, block in i.incoming:
        if block not in state.block_names:
            continue
        if type(value) in _READY:
            incoming.append(state.value(value))
        else:
            with state.at_end_of(blocks[block]):
                incoming.append(state.value(value))
        labels.append(state.end_label(block))
    regs = state.values[i.result] if i.result is not None else ()
    results = tuple([reg for reg in regs if isinstance(reg, int)])
    bits = _part(i.type)
    whole = bits and len(results) % (_WORD // bits) == 0
    return Merge(results, incoming, tuple(labels), bits if whole else 0, state.loc)


def _part(type_: Type) -> int:
    """How many bits an element of a vector has, if some of them are a word; else 0."""
    if not isinstance(type_, VectorType) or not isinstance(type_.element, (IntType, FloatType)):
        return 0
    return type_.element.bits if type_.element.bits in (8, 16) else 0


def carried(state: FunctionState, merges: Sequence[Merge]) -> set[Reg]:
    """The words of phis that are known on every path."""
    coming = {
        state.words[one.results[at]]: [
            word_of(state, values[at], one.bits) for values in one.incoming
        ]
        for one in merges
        for at in one.words()
    }
    found = set(coming)
    while lost := {
        word for word in found if not all(_known(w, coming, found) for w in coming[word])
    }:
        found -= lost
    return found


def _known(word: Reg | Imm | None, of_phis: Mapping[Reg, object], found: set[Reg]) -> bool:
    if isinstance(word, Imm):
        return True
    return word is not None and (word in found or word not in of_phis)


def records(state: FunctionState, merges: Sequence[Merge], carried: set[Reg]) -> list[MachineInstr]:
    """The PHI records of a block, and behind them the parts of words, or words of parts."""
    found: list[MachineInstr] = []
    behind = Block("")
    if any(one.bits for one in merges):
        state.start(behind)
    for one in merges:
        state.loc = one.location
        gone: set[int] = set()
        for at in one.words():
            results = one.results[at]
            word = state.words[results]
            if word in carried:
                known = [word_of(state, values[at], one.bits) for values in one.incoming]
                found.append(_record(state, one, word, [w for w in known if w is not None]))
                split(state, list(results), word, one.bits)
                gone.update(range(at.start, at.stop))
            else:
                del state.words[results]  # for it is made of them
                join(state, word, list(results), one.bits)
                state.words[results] = word
        for n, (result, *values) in enumerate(zip(one.results, *one.incoming, strict=True)):
            if n not in gone:
                found.append(_record(state, one, result, values))
    return found + behind.instrs


def _record(
    state: FunctionState, one: Merge, result: Reg, values: Sequence[Scalar]
) -> MachineInstr:
    cls = state.out.regs.classes[result]
    operands = (result, tuple(values), one.labels)
    return MachineInstr(typed("phi", cls), operands, None, state.loc)

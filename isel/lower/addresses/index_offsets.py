"""Numbers in the indices of addresses, taken out of them: what remains, neighbours share.

Layer: isel.lower.  Input: a function.  Output: the same function, or one in which an address whose
index is a sum with a number somewhere in it (`(row + 2) + column`) is that many elements behind the
one without.  Loads and stores add numbers for nothing, and find their neighbours by them.  LLVM's
NVPTX back end does likewise (SeparateConstOffsetFromGEP, StraightLineStrengthReduce), and takes an
index of an `inbounds` address for one that is not negative, as this does.

An address, or a sum, that the block or the first one has made before is taken instead of another
one: as `add` without promises, for it may be wanted where they are not kept.
"""

from __future__ import annotations

import dataclasses

from isel.diagnostics import Unselectable
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.type_layout import TypeLayout, walk_indices
from isel.llvm.types import I8, I64, IntType, PointerType
from isel.llvm.vocabulary import Flag, Opcode
from isel.lower.addresses.index_sums import SCALES, Node, Split, Sums, Tree, is_sum
from isel.lower.rewriter import NONE, FreshNames, number

_FARTHEST = 1 << 23
"""Offsets of fewer bytes than that stand in an instruction of the machine."""

_LEAST_WIDTH = 32
"""Bits from which on an index of an `inbounds` address is taken for one that is not negative."""

_SUMS = frozenset((Opcode.ADD, Opcode.OR))
_ORDERED = (Opcode.SUB, *SCALES)
_EXTENSIONS = (Opcode.ZEXT, Opcode.SEXT)

_Key = tuple[object, ...]


def with_offsets(function: ir.Function, layout: TypeLayout) -> ir.Function:
    """The function with numbers taken out of indices."""
    has_index = has_number = False
    for i in function.instructions():
        if type(i) is ir.GetElementPtr:
            has_index = has_index or llvm.Local in map(type, i.indices)
        elif i.opcode in _SUMS:
            assert isinstance(i, ir.BinaryOp)
            has_number = has_number or type(i.rhs) is llvm.ConstInt
    return _Offsets(function, layout).run() if has_index and has_number else function


class _Offsets:
    def __init__(self, function: ir.Function, layout: TypeLayout) -> None:
        self.function = function
        self.layout = layout
        self.sums = Sums(function.instructions())
        self.first = self.made = _Made()  # by the first block, and by this one
        self.at: ir.Instruction = function.blocks[0].instructions[0]

    def run(self) -> ir.Function:
        """The function with numbers taken out of indices."""
        addresses = [
            i
            for i in self.function.instructions()
            if type(i) is ir.GetElementPtr and any(map(self.sums.is_made, i.indices))
        ]
        parted = {id(i): found for i in addresses if (found := self._parted(i)) is not None}
        if not parted:  # as of most
            return self.function
        self.names = FreshNames(self.function)
        blocks: list[ir.Block] = []
        for block in self.function.blocks:
            self.made = _Made() if blocks else self.first
            emit = self.made.block.append
            for i in block.instructions:
                if type(i) is ir.GetElementPtr and id(i) in parted:
                    self.at = i
                    self._take_out(i, *parted[id(i)])
                else:
                    emit(i)
            blocks.append(ir.Block(block.name, self.made.block))
        return self.function.with_blocks(blocks)

    # ---- an address --------------------------------------------------------------------------

    def _parted(self, i: ir.GetElementPtr) -> tuple[list[Tree], int] | None:
        """Indices without numbers, and the bytes that these are; None where there are none."""
        if not isinstance(i.type, PointerType):
            return None
        try:
            walked = walk_indices(self.layout, i.element_type, i.indices)
        except Unselectable:  # told where the step is selected
            return None
        rests: list[Tree] = []
        offset = 0
        for size, index, _ in walked:
            found = self._split(i, index) if size and type(index) is llvm.Local else None
            if found is None or found.rest is None or abs(offset + size * found.number) > _FARTHEST:
                rests.append(index)
                continue
            rests.append(found.rest)
            offset += size * found.number
        return (rests, offset) if offset else None

    def _take_out(self, i: ir.GetElementPtr, rests: list[Tree], offset: int) -> None:
        """Emit an address as the one without numbers in its indices, and the bytes behind it."""
        indices = tuple(self._value(rest) for rest in rests)
        common = (Opcode.GETELEMENTPTR, None, *i.place)
        whole = ir.GetElementPtr(*common, i.type, i.element_type, i.base, indices, NONE)
        base = self._once(whole)
        behind = (Opcode.GETELEMENTPTR, i.result, *i.place)
        step = ir.GetElementPtr(*behind, i.type, I8, base, (number(I64, offset),), NONE)
        self.made.block.append(step)

    def _split(self, i: ir.GetElementPtr, index: llvm.Value) -> Split | None:
        """The number in an index; None where there is none."""
        assert isinstance(i.type, PointerType)
        if not isinstance(index.type, IntType):
            return None
        bits = index.type.bits
        if bits >= self.layout.pointer_bits(i.type.address_space):
            found = self._split_wide(i, index)
            return found if found.number else None
        positive = Flag.INBOUNDS in i.flags and bits >= _LEAST_WIDTH
        return self.sums.split_extended(index, positive=positive)

    def _split_wide(self, i: ir.GetElementPtr, index: llvm.Value) -> Split:
        """The number in an index as wide as an address, which may itself be an extended one."""
        maker = self.sums.maker(index)
        if (
            Flag.INBOUNDS in i.flags
            and isinstance(maker, ir.Cast)
            and maker.opcode is Opcode.SEXT
            and isinstance(maker.operand.type, IntType)
            and maker.operand.type.bits >= _LEAST_WIDTH
        ):
            found = self.sums.split_extended(maker.operand, positive=True)
            if found is None or found.rest is None:
                return Split(index)
            return Split(Node(Opcode.SEXT, maker.type, (found.rest,)), found.number)
        return self.sums.split(index)

    # ---- what remains ------------------------------------------------------------------------

    def _value(self, tree: Tree) -> llvm.Value:
        """What remains, as a value; what there is of it is taken."""
        if not isinstance(tree, Node):
            return tree
        parts = [self._value(part) for part in tree.parts]
        common = (tree.opcode, None, *self.at.place)
        if len(parts) == 1:
            return self._once(ir.Cast(*common, tree.type, parts[0], NONE))
        return self._once(ir.BinaryOp(*common, tree.type, parts[0], parts[1], NONE))

    def _once(self, i: ir.Instruction) -> llvm.Value:
        """The result of an instruction, or of one that has computed the same before."""
        sought = _key(i)
        assert sought is not None
        found = self.made.before(sought) or self.first.before(sought)
        if found is None:
            found = dataclasses.replace(i, result=self.names.new("rest"))
            self.made.block.append(found)
        return llvm.Local(found.result or "", i.type)


class _Made:
    """The instructions of a block so far, and what they compute: looked at when one is sought."""

    def __init__(self) -> None:
        self.block: list[ir.Instruction] = []
        self._places: dict[_Key, int] = {}
        self._seen = 0

    def before(self, sought: _Key) -> ir.Instruction | None:
        """The earlier instruction of the block that computes the same, or None; it loses its flags
        (`nsw`, `nuw`), which may not hold for the later one.
        """
        for at in range(self._seen, len(self.block)):
            if (key := _key(self.block[at])) is not None:
                self._places.setdefault(key, at)
        self._seen = len(self.block)
        place = self._places.get(sought)
        if place is None:
            return None
        self.block[place] = found = _without_promises(self.block[place])
        return found


def _key(i: ir.Instruction) -> _Key | None:
    """What an instruction computes; None if it is none of those that are looked for."""
    if isinstance(i, ir.BinaryOp):
        if is_sum(i):
            return Opcode.ADD, frozenset((i.lhs, i.rhs))
        return (i.opcode, i.lhs, i.rhs) if i.opcode in _ORDERED else None
    if isinstance(i, ir.Cast):
        return (i.opcode, i.operand, i.type) if i.opcode in _EXTENSIONS else None
    if isinstance(i, ir.GetElementPtr):
        return i.element_type, i.base, i.indices
    return None


def _without_promises(i: ir.Instruction) -> ir.Instruction:
    """An instruction with a value where it had none to promise."""
    if isinstance(i, ir.BinaryOp) and (i.flags or i.opcode is Opcode.OR):
        opcode = Opcode.ADD if i.opcode is Opcode.OR else i.opcode
        return dataclasses.replace(i, opcode=opcode, flags=NONE)
    if isinstance(i, (ir.Cast, ir.GetElementPtr)) and i.flags:
        return dataclasses.replace(i, flags=NONE)
    return i

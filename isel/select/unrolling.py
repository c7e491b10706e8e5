"""The loops that are not to be unrolled.

Layer: isel.select.  Input: the metadata `!llvm.loop` of a branch back to a loop's first block.
Output: the blocks that those loops begin with.  LLVM LangRef, llvm.loop.unroll; LLVM's back end
tells ptxas of `disable` and of `count 1` and leaves every other hint to LLVM's own passes, and so
does this.  PTX ISA, Pragma Strings: "nounroll".
"""

from __future__ import annotations

from collections.abc import Sequence

from intrinsics.mir import inverted
from isel.control_flow import dominators, reach
from isel.llvm import ir
from isel.llvm.metadata import TupleNode, read_node
from isel.llvm.values import ConstInt, MetadataString, NodeRef, WrappedValue

_KIND = "llvm.loop"
_DISABLE = "llvm.loop.unroll.disable"
_COUNT = "llvm.loop.unroll.count"


def ids_of_loops_kept(module: ir.Module) -> frozenset[int]:
    """The nodes `!llvm.loop` whose loops are to stay as they are."""
    hints = {
        id
        for id, text in module.metadata.items()
        if (_DISABLE in text or _COUNT in text) and _keeps(module, id)
    }
    return frozenset(id for id in module.metadata if hints and hints & _hints_of(module, id))


def _hints_of(module: ir.Module, id: int) -> set[int]:
    """The nodes that a loop's node names behind itself."""
    node = read_node(module, id) if module.metadata[id].startswith("distinct !{") else None
    match node:
        case TupleNode(elements=(NodeRef(itself), *others)) if itself == id:
            return {other.id for other in others if isinstance(other, NodeRef)}
    return set()


def _keeps(module: ir.Module, id: int) -> bool:
    match read_node(module, id):
        case TupleNode(elements=(MetadataString(text), *_)) if text == _DISABLE:
            return True
        case TupleNode(elements=(MetadataString(text), WrappedValue(value=ConstInt(value=1)))):
            return text == _COUNT
    return False


def loops_kept(ids: frozenset[int], blocks: Sequence[ir.Block]) -> set[str]:
    """The first blocks of the loops of a function whose branches back name one of the nodes `ids`.

    As LLVM sees it: a branch counts if no smaller loop is around it.
    """
    if not ids:
        return set()
    hinted = [i for i, b in enumerate(blocks) if b.instructions[-1].attachment(_KIND) in ids]
    if not hinted:
        return set()
    after = ir.successors(blocks)
    above = dominators(after)
    begins = [[i for i in after[end] if above[end] >> i & 1] for end in range(len(blocks))]
    ends = inverted(begins)

    def is_around(inner: int, begin: int, end: int) -> bool:
        """Whether a loop within that of `begin` has the block `end`."""
        if inner == begin or not (above[inner] >> begin & above[end] >> inner & 1):
            return False
        return end == inner or bool(reach(after, [end], [inner]) & set(ends[inner]))

    return {
        blocks[begin].name
        for end in hinted
        for begin in begins[end]
        if not any(is_around(inner, begin, end) for inner in range(len(blocks)) if ends[inner])
    }

"""Prefetches, questions about addresses, and the old names of fences.

PTX ISA, Data Movement and Conversion Instructions: prefetch, prefetchu; isspacep; membar / fence.
"""

from __future__ import annotations

from intrinsics.modifiers import CacheLevel, LineLevel, MembarLevel, ScalarType, Space
from intrinsics.row import (
    Attribute,
    Effect,
    Effects,
    Llvm,
    Numbers,
    Row,
    absent_or,
    address,
    number,
    predicate_result,
    register,
    when,
)
from intrinsics.rows.requirements import CLUSTER_SPACE, CTA_SPACE
from intrinsics.targets import at_least, since

_LINE = 128
"""Bytes of a line."""

_TOUCHES = Effects(Effect.READS_MEMORY | Effect.WRITES_MEMORY)
_EVICTIONS: tuple[Attribute, ...] = (CacheLevel.L2_NORMAL, CacheLevel.L2_LAST)
_LEVELS = {"level": {"L1": CacheLevel.L1, "L2": CacheLevel.L2}}

# fmt: off
MEMBAR = Row(
    "membar", ".level",
    about="Order this thread's earlier memory accesses before later ones; `fence` is newer.",
    qualifiers={"level": MembarLevel}, section="membar / fence",
    effects=Effects(Effect.BARRIER), elsewhere=("proxy", "alias"),
    llvm=(Llvm("membar.{level}"),),
)

PREFETCH = Row(
    "prefetch", "{.space}.level", "[a]",
    about="Prefetch the cache line of address `a` into the cache `level`.",
    qualifiers={"space": (Space.GLOBAL, Space.LOCAL), "level": CacheLevel},
    operands=(address("a", "space", pointer=True),),
    section="prefetch, prefetchu", effects=_TOUCHES,
    rules=(
        when(level=_EVICTIONS).must("prefetch-space", space=absent_or(Space.GLOBAL)),
        when(level=_EVICTIONS).needs("prefetch-target", since("7.4", at_least(80))),
    ),
    llvm=(
        Llvm("prefetch.{level}", "p:a", holes=_LEVELS),
        Llvm("prefetch.global.{level}", "p1:a", given={"space": Space.GLOBAL}, holes=_LEVELS),
        Llvm("prefetch.local.{level}", "p5:a", given={"space": Space.LOCAL}, holes=_LEVELS),
        Llvm("prefetch.global.L2.evict.{level}", "p1:a", given={"space": Space.GLOBAL},
             holes={"level": {"normal": CacheLevel.L2_NORMAL, "last": CacheLevel.L2_LAST}}),
    ),
)

PREFETCH_TENSORMAP = Row(
    "prefetch", "{.space}.tensormap", "[a]", name="prefetch.tensormap",
    opcode="PREFETCH_*_TENSORMAP",
    qualifiers={"space": (Space.CONST, Space.PARAM)},
    operands=(address("a", "space", wide=True, within=Space.GLOBAL),),
    section="prefetch, prefetchu", effects=_TOUCHES, needs=since("8.0", at_least(90)),
    llvm=(
        Llvm("prefetch.tensormap.p0", "p:a"),
        Llvm("prefetch.tensormap.p4", "p4:a", given={"space": Space.CONST}),
        Llvm("prefetch.tensormap.p101", "p101:a", given={"space": Space.PARAM}),
    ),
)

PREFETCHU = Row(
    "prefetchu", ".L1", "[a]",
    about="Prefetch the cache line of the generic address `a` into the uniform cache.",
    operands=(address("a", pointer=True, within=Space.GLOBAL),),
    section="prefetch, prefetchu", effects=_TOUCHES, llvm=(Llvm("prefetchu.L1", "p:a"),),
)

_WINDOWS = (Space.CONST, Space.GLOBAL, Space.LOCAL, Space.SHARED, Space.SHARED_CTA,
            Space.SHARED_CLUSTER, Space.PARAM, Space.PARAM_ENTRY)

ISSPACEP = Row(
    "isspacep", ".space", "p, a",
    about="Whether the generic address `a` is one of the state space.",
    qualifiers={"space": _WINDOWS},
    operands=(predicate_result("p"), register("a", ScalarType.U64)), section="isspacep",
    rules=(
        when(space=Space.PARAM).needs("param-version", since("7.7")),
        when(space=Space.PARAM_ENTRY).needs("param-version", since("8.3")),
        CTA_SPACE,
        CLUSTER_SPACE,
    ),
    llvm=(
        Llvm("isspacep.{space}", "p:a", "i1:p", holes={"space": {
            "const": Space.CONST, "global": Space.GLOBAL, "local": Space.LOCAL,
            "shared": Space.SHARED, "shared.cluster": Space.SHARED_CLUSTER}}),
    ),
)
# fmt: on


# fmt: off
def _line(head: str, level: LineLevel, effects: Effects, name: str, about: str) -> Row:
    """An instruction about the 128 bytes of a line."""
    spaces = (("", None, "p"), (".global", Space.GLOBAL, "p1"))
    return Row(
        head, "{.space}.level", "[a], size", about=about,
        qualifiers={"space": (Space.GLOBAL,), "level": (level,)},
        operands=(
            address("a", "space", pointer=True, within=Space.GLOBAL),
            number("size", Numbers(_LINE, _LINE)),
        ),
        section=head, effects=effects, needs=since("7.4", at_least(80)),
        llvm=tuple(
            Llvm(f"{head}{space}.{name}", f"{pointer}:a, i64:size",
                 given={"space": attribute, "level": level})
            for space, attribute, pointer in spaces
        ),
    )
# fmt: on


DISCARD = _line(
    "discard",
    LineLevel.L2,
    Effects(Effect.WRITES_MEMORY),
    "L2",
    "Drop `size` (128) bytes at `a` from L2, not written back: then undefined.",
)
"""What was written to the line need not reach memory: nobody knows what it holds from here on."""
APPLYPRIORITY = _line(
    "applypriority",
    LineLevel.L2_NORMAL,
    _TOUCHES,
    "L2.evict.normal",
    "Give the `size` (128) bytes at `a` in L2 the eviction priority evict_normal.",
)

ROWS = (MEMBAR, PREFETCH, PREFETCH_TENSORMAP, PREFETCHU, ISSPACEP, DISCARD, APPLYPRIORITY)

"""Warp-level instructions without memory, and reads of a thread's special registers.

PTX ISA, Data Movement and Conversion Instructions: shfl.sync, getctarank, mapa; Parallel
Synchronization and Communication Instructions: vote.sync, match.sync, activemask, redux.sync,
griddepcontrol; Miscellaneous Instructions: nanosleep, pmevent, setmaxnreg.
"""

from __future__ import annotations

from intrinsics.modifiers import (
    GridControl,
    Magnitude,
    Match,
    NanResult,
    ScalarType,
    Shuffle,
    Space,
    Vote,
    WarpReduce,
)
from intrinsics.row import (
    Attributes,
    By,
    Effect,
    Effects,
    IssueScope,
    Kind,
    Llvm,
    Numbers,
    Operand,
    Row,
    number,
    predicate,
    predicate_result,
    result,
    value,
    when,
)
from intrinsics.targets import Feature, at_least, since

T = ScalarType
_TOGETHER = Effects(Effect.CONVERGENT, IssueScope.WARP)
_MASK = value("membermask", T.U32)
_SM90 = since("7.8", at_least(90))

_SHUFFLES: dict[str, Attributes] = {mode.value: {"mode": mode} for mode in Shuffle}
_SHUFFLED = "i32:membermask, {}:a, i32:b, i32:c"

# fmt: off
SHFL = Row(
    "shfl", ".sync.mode.type", "d{|p}, a, b, c, membermask", name="shfl.sync", opcode="SHFL_SYNC",
    qualifiers={"mode": Shuffle, "type": (T.B32,)},
    operands=(
        result("d", "type"), predicate_result("p", sink=True),
        value("a", "type"), value("b", "type"), value("c", "type"), _MASK,
    ),
    section="shfl.sync", effects=_TOGETHER,
    llvm=tuple(
        Llvm(f"shfl.sync.{{mode}}.{t}{p}", _SHUFFLED.format(word),
             f"{{{word}:d, i1:p}}" if p else f"{word}:d",
             given={"type": T.B32}, holes={"mode": _SHUFFLES})
        for t, word in (("i32", "i32"), ("f32", "float")) for p in ("", "p")
    ),
)

_ONE = (Vote.ALL, Vote.ANY, Vote.UNI)
VOTE = Row(
    "vote", ".sync.mode.pred", "d, a, membermask", name="vote.sync", opcode="VOTE_SYNC",
    qualifiers={"mode": _ONE},
    operands=(predicate_result("d"), predicate("a", number_too=True), _MASK),
    section="vote.sync", effects=_TOGETHER,
    llvm=tuple(
        Llvm(f"vote.{mode.value}.sync", "i32:membermask, i1:a", "i1:d", given={"mode": mode})
        for mode in _ONE
    ),
)
BALLOT = Row(
    "vote", ".sync.mode.type", "d, a, membermask", name="vote.sync.ballot", opcode="VOTE_SYNC",
    qualifiers={"mode": (Vote.BALLOT,), "type": (T.B32,)},
    operands=(result("d", "type"), predicate("a", number_too=True), _MASK),
    section="vote.sync", effects=_TOGETHER,
    llvm=(Llvm("vote.ballot.sync", "i32:membermask, i1:a", "i32:d",
               given={"mode": Vote.BALLOT, "type": T.B32}),),
)

_MATCHED = {32: T.B32, 64: T.B64}
MATCH = Row(
    "match", ".mode.sync.type", "d{|p}, a, membermask", name="match.sync",
    qualifiers={"mode": Match, "type": (T.B32, T.B64)},
    operands=(result("d", T.U32, sink=True), predicate_result("p", sink=True),
              value("a", "type"), _MASK),
    section="match.sync", effects=_TOGETHER,
    rules=(
        when(p=True).must("second-result", "match.any has one result", mode=Match.ALL),
        when(d=False).must("no-result", "match.any has a result", mode=Match.ALL),
    ),
    llvm=(
        *(Llvm(f"match.any.sync.i{n}", f"i32:membermask, i{n}:a", "i32:d",
               given={"mode": Match.ANY, "type": t}) for n, t in _MATCHED.items()),
        *(Llvm(f"match.all.sync.i{n}p", f"i32:membermask, i{n}:a", "{i32:d, i1:p}",
               given={"mode": Match.ALL, "type": t}) for n, t in _MATCHED.items()),
    ),
)

_REDUCTIONS: tuple[tuple[str, WarpReduce, ScalarType], ...] = (
    ("add", WarpReduce.ADD, T.S32),
    ("min", WarpReduce.MIN, T.S32), ("umin", WarpReduce.MIN, T.U32),
    ("max", WarpReduce.MAX, T.S32), ("umax", WarpReduce.MAX, T.U32),
    ("and", WarpReduce.AND, T.B32), ("or", WarpReduce.OR, T.B32), ("xor", WarpReduce.XOR, T.B32),
)
_BITWISE = (WarpReduce.AND, WarpReduce.OR, WarpReduce.XOR)
_EXTREMES = (WarpReduce.MIN, WarpReduce.MAX)
_FLOATING = since("8.6", Feature.HAS_FLOAT_REDUX)
_FLOAT_NAMES: dict[str, Attributes] = {
    "": {}, ".abs": {"abs": Magnitude.ABS}, ".NaN": {"nan": NanResult.NAN},
    ".abs.NaN": {"abs": Magnitude.ABS, "nan": NanResult.NAN},
}
_REDUCED = By("type", {T.U32: T.U32, T.S32: T.S32, T.F32: T.F32}, T.U32)
REDUX = Row(
    "redux", ".sync.op{.abs}{.nan}.type", "d, a, membermask", name="redux.sync",
    opcode="REDUX_SYNC",
    qualifiers={"op": WarpReduce, "abs": Magnitude, "nan": NanResult,
                "type": (T.U32, T.S32, T.B32, T.F32)},
    operands=(result("d", _REDUCED), value("a", _REDUCED), _MASK),
    section="redux.sync", needs=since("7.0", at_least(80)), effects=_TOGETHER,
    rules=(
        when(op=_BITWISE).must("reduce-type", type=T.B32),
        when(type=T.B32).must("reduce-type", op=_BITWISE),
        when(type=T.F32).must("reduce-type", op=_EXTREMES),
        when(abs=Magnitude.ABS).must("float-modifier", type=T.F32),
        when(nan=NanResult.NAN).must("float-modifier", type=T.F32),
        when(type=T.F32).needs("float-target", _FLOATING),
    ),
    llvm=(
        *(Llvm(f"redux.sync.{name}", "i32:a, i32:membermask", "i32:d",
               given={"op": op, "type": t}) for name, op, t in _REDUCTIONS),
        *(Llvm(f"redux.sync.f{op.value}{name}", "float:a, i32:membermask", "float:d",
               given={"op": op, "type": T.F32, **attributes})
          for op in _EXTREMES for name, attributes in _FLOAT_NAMES.items()),
    ),
)

ACTIVEMASK = Row(
    "activemask", ".type", "d", qualifiers={"type": (T.B32,)}, operands=(result("d", "type"),),
    section="activemask",
    effects=_TOGETHER, llvm=(Llvm("activemask", "", "i32:d", given={"type": T.B32}),),
)

NANOSLEEP = Row(
    "nanosleep", ".u32", "t", operands=(value("t", T.U32),), section="nanosleep",
    effects=Effects(Effect.BARRIER), llvm=(Llvm("nanosleep", "i32:t"),),
)

PMEVENT = Row(
    "pmevent", "", "a", operands=(number("a", Numbers(0, 15)),), section="pmevent",
    effects=Effects(Effect.BARRIER), late={"mask": "pmevent.mask"},
)
PMEVENT_MASK = Row(
    "pmevent.mask", "", "a",
    about="Trigger the performance monitor events whose bits of the 16 in `a` are set.",
    operands=(number("a", Numbers(0, 0xFFFF)),), section="pmevent",
    effects=Effects(Effect.BARRIER), llvm=(Llvm("pm.event.mask", "i16:a"),),
)

GRIDDEPCONTROL = Row(
    "griddepcontrol", ".action", "", qualifiers={"action": GridControl}, section="griddepcontrol",
    needs=_SM90, effects=Effects(Effect.BARRIER),
    llvm=(
        Llvm("griddepcontrol.wait", given={"action": GridControl.WAIT}),
        Llvm("griddepcontrol.launch.dependents", given={"action": GridControl.LAUNCH_DEPENDENTS}),
    ),
)

def _set_registers(change: str) -> Row:
    return Row(
        f"setmaxnreg.{change}", ".sync.aligned.u32", "count",
        operands=(number("count", Numbers(24, 256, multiple=8)),), section="setmaxnreg",
        needs=since("8.0", Feature.HAS_SETMAXNREG),
        effects=Effects(
            Effect.CONVERGENT | Effect.ALIGNED | Effect.BARRIER, IssueScope.WARPGROUP
        ),
        llvm=(Llvm(f"setmaxnreg.{change}.sync.aligned.u32", "i32:count"),),
    )


SETMAXNREG_INC, SETMAXNREG_DEC = _set_registers("inc"), _set_registers("dec")

_CLUSTER = (Space.SHARED_CLUSTER,)
_ADDRESSES = (T.U32, T.U64, T.S32, T.S64)
_PLACE = Operand("a", Kind.SOURCE, "type", space="space", symbols=True, within=Space.SHARED)
GETCTARANK = Row(
    "getctarank", "{.space}.type", "d, a",
    qualifiers={"space": _CLUSTER, "type": _ADDRESSES},
    operands=(result("d", T.U32), _PLACE), section="getctarank", needs=_SM90,
    llvm=(
        Llvm("getctarank", "p:a", "i32:d", given={"type": T.U64}),
        Llvm("getctarank.shared.cluster", "p3:a", "i32:d",
             given={"space": Space.SHARED_CLUSTER, "type": T.U64}),
    ),
)
MAPA = Row(
    "mapa", "{.space}.type", "d, a, b",
    qualifiers={"space": _CLUSTER, "type": _ADDRESSES},
    operands=(result("d", "type"), _PLACE, value("b", T.U32)), section="mapa",
    needs=_SM90,
    llvm=(
        Llvm("mapa", "p:a, i32:b", "p:d", given={"type": T.U64}),
        Llvm("mapa.shared.cluster", "p3:a, i32:b", "p7:d",
             given={"space": Space.SHARED_CLUSTER, "type": T.U64}),
    ),
)
# fmt: on

ROWS = (
    SHFL, VOTE, BALLOT, MATCH, REDUX, ACTIVEMASK, NANOSLEEP, PMEVENT, PMEVENT_MASK,
    GRIDDEPCONTROL, SETMAXNREG_INC, SETMAXNREG_DEC, GETCTARANK, MAPA,
)  # fmt: skip

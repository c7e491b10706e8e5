"""The builder's verbs for what the threads of a warp tell each other without memory.

Layer: nvgen.builder.  Input: values of the thread.  Output: values of other threads of the warp, or
of all.  What is exchanged keeps its type; as an Int an f32 is its 32 bits.  PTX ISA, shfl.sync;
vote.sync; match.sync; redux.sync; activemask; nanosleep.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from llvmlite import ir

from intrinsics.modifiers import Magnitude, Match, NanResult, ScalarType, Shuffle, Vote, WarpReduce
from intrinsics.row import Fact
from nvgen.builder.intrinsics import IntrinsicCalls, Operand
from nvgen.builder.registers import F32, as_f32
from nvgen.builder.values import Int, IntLike, described, refuse

Shuffled = TypeVar("Shuffled", Int, F32)
"""What is exchanged: 32 bits."""

_LAST_LANE = 31
_EVERYBODY = -1


class WarpVerbs(IntrinsicCalls):
    """Calls of the intrinsics by which the threads of `membermask` exchange values.

    All threads of the mask execute the same one, and each is in its own mask.
    """

    def shfl_sync(
        self,
        mode: Shuffle,
        value: Shuffled,
        lane: IntLike,
        bounds: IntLike | None = None,
        *,
        membermask: IntLike = _EVERYBODY,
    ) -> Shuffled:
        """The 32 bits that another thread gives; the own ones where it is out of `bounds`.

        `lane` is a number of lanes up or down, a mask to flip bits of the own number by, or the
        number itself.  `bounds` is PTX's operand c: the last lane, and at bit 8 the bits of a
        lane's number that say which segment of the warp it is in.  Without it the warp is one.

        Raises: InputError for a value of another width.
        """
        found = self._call("shfl.sync", *_shuffle(mode, value, lane, bounds, membermask))
        return self._typed(Int(self, found), value)

    def shfl_sync_p(
        self,
        mode: Shuffle,
        value: Shuffled,
        lane: IntLike,
        bounds: IntLike | None = None,
        *,
        membermask: IntLike = _EVERYBODY,
    ) -> tuple[Shuffled, Int]:
        """As `shfl_sync`, and whether the thread that was asked is within bounds."""
        facts, operands = _shuffle(mode, value, lane, bounds, membermask)
        found, inside = self._two(self._call("shfl.sync", {**facts, "p": True}, operands))
        return self._typed(found, value), inside

    def _typed(self, word: Int, like: Shuffled) -> Shuffled:
        """A word as what was given."""
        return word if isinstance(like, Int) else F32(self, as_f32(self, word))

    def vote_sync(self, mode: Vote, says: IntLike, *, membermask: IntLike = _EVERYBODY) -> Int:
        """Whether all, any or equally many as none say yes; of a ballot, one bit for each lane."""
        operands: dict[str, Operand] = {"a": says, "membermask": membermask}
        if mode is Vote.BALLOT:
            facts: dict[str, Fact] = {"mode": mode, "type": ScalarType.B32}
            return Int(self, self._call("vote.sync.ballot", facts, operands))
        return Int(self, self._call("vote.sync", {"mode": mode}, operands))

    def match_any_sync(self, value: Int, *, membermask: IntLike = _EVERYBODY) -> Int:
        """The lanes that have the own value, of 32 or 64 bits, as a mask."""
        return Int(self, self._call("match.sync", *_match(Match.ANY, value, membermask)))

    def match_all_sync(self, value: Int, *, membermask: IntLike = _EVERYBODY) -> tuple[Int, Int]:
        """The mask of members if all have one value, of 32 or 64 bits, else 0; and whether so."""
        facts, operands = _match(Match.ALL, value, membermask)
        return self._two(self._call("match.sync", {**facts, "p": True}, operands))

    def redux_sync(
        self,
        op: WarpReduce,
        type: ScalarType,
        value: Shuffled,
        *,
        abs: bool = False,
        nan: bool = False,
        membermask: IntLike = _EVERYBODY,
    ) -> Shuffled:
        """One value of all members: .s32 or .u32 numbers, .b32 bits, or an .f32 or its bits.

        LLVM has no sum of .u32: the bits are those of .s32.  `abs` and `nan` are for .f32, whose
        numbers then have no sign, or are NaN as soon as one is.

        Raises: InputError for an F32 that is not reduced as .f32.
        """
        facts: dict[str, Fact] = {"op": op, "type": type}
        facts["abs"] = Magnitude.ABS if abs else None
        facts["nan"] = NanResult.NAN if nan else None
        if (op, type) == (WarpReduce.ADD, ScalarType.U32):
            facts["type"] = ScalarType.S32
        operands: dict[str, Operand] = {"a": value, "membermask": membermask}
        if type is ScalarType.F32:
            operands["a"] = F32(self, as_f32(self, value))
            found = F32(self, self._call("redux.sync", facts, operands))
            return found.word if isinstance(value, Int) else found
        if not isinstance(value, Int):
            raise refuse("an f32 is reduced as one", got=f".{type.value}", expected=".f32")
        return Int(self, self._call("redux.sync", facts, operands))

    def activemask(self) -> Int:
        """The lanes that execute this together, which may be any of those that could."""
        return Int(self, self._call("activemask", {"type": ScalarType.B32}, {}))

    def nanosleep(self, nanoseconds: IntLike) -> None:
        """Sleep for up to twice as many nanoseconds, a million at most."""
        self._call("nanosleep", {}, {"t": nanoseconds})

    def _two(self, pair: ir.Value) -> tuple[Int, Int]:
        first, second = (self.at_caller().extract_value(pair, i) for i in (0, 1))
        return Int(self, first), Int(self, second)


_Call = tuple[dict[str, Fact], dict[str, Operand]]


def _shuffle(
    mode: Shuffle, value: Int | F32, lane: IntLike, bounds: IntLike | None, membermask: IntLike
) -> _Call:
    if not isinstance(value, (Int, F32)) or value.bits != 32:
        got = f"i{value.bits}" if isinstance(value, Int) else described(value)
        raise refuse("a register is shuffled", got=got, expected="i32, or an F32")
    if bounds is None:
        bounds = 0 if mode is Shuffle.UP else _LAST_LANE
    facts: dict[str, Fact] = {"mode": mode, "type": ScalarType.B32}
    return facts, {"membermask": membermask, "a": value, "b": lane, "c": bounds}


_MATCHED: Mapping[int, ScalarType] = {32: ScalarType.B32, 64: ScalarType.B64}


def _match(mode: Match, value: Int, membermask: IntLike) -> _Call:
    if value.bits not in _MATCHED:
        raise refuse("a register is matched", got=f"i{value.bits}", expected="i32 or i64")
    facts: dict[str, Fact] = {"mode": mode, "type": _MATCHED[value.bits]}
    return facts, {"a": value, "membermask": membermask}

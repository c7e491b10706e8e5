"""Control flow as context managers, and which threads execute what is inside.

Layer: nvgen.builder.  Variables are kept in SSA form: a branch or loop that assigns one ends in a
phi.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Generic, NoReturn, Protocol, Self, SupportsIndex, TypeVar, cast, overload

from llvmlite import ir

from intrinsics.modifiers import ScalarType
from intrinsics.modifiers import Scope as Sync
from nvgen.builder.base import BuilderBase
from nvgen.builder.float_values import F32, float_constant
from nvgen.builder.regions import out_of_reach
from nvgen.builder.threads import ThreadNumbers
from nvgen.builder.values import Barrier, Int, IntLike, described, pointer_of, refuse, whole
from nvgen.callers import calls_of_anybody


class Scope(Enum):
    """Which threads execute the code that is being built."""

    CTA = "all threads of the CTA"
    WARPGROUP = "one warpgroup"
    WARP = "one warp"
    THREAD = "a single thread"


class Changing:
    """A value that changes as the kernel runs: what is assigned in a branch or a loop is there
    after it.  It lives as long as the branch or loop that it was made in: behind it is no use.
    """

    def __init__(self, builder: BuilderBase, raw: ir.Value) -> None:
        self.builder = builder
        self._raw = raw
        self._region = builder.regions.current
        self._made = next(iter(calls_of_anybody()), None)

    @property
    def raw(self) -> ir.Value:
        """What it is at this place of the kernel, as llvmlite's.

        Raises: InputError behind the branch or loop that it was made in; so does assigning it.
        """
        self._check()
        return self._raw

    @raw.setter
    def raw(self, value: ir.Value) -> None:
        self._check()
        self._raw = value

    def _check(self) -> None:
        if not self._region.open:
            what = f"a{'n' * (type(self).__name__[0] in 'AI')} {type(self).__name__}"
            raise out_of_reach(what, self._made, self._region)


class Value(Protocol):
    """What a variable may hold: a number, registers, an address."""

    @property
    def builder(self) -> BuilderBase:
        """The kernel that it is of."""

    @property
    def value(self) -> ir.Value:
        """It as llvmlite's."""

    @property
    def words(self) -> str:
        """Its type, in words."""

    def like(self, value: ir.Value) -> Self:
        """Another value of llvmlite's as one of this type."""

    def taken(self, other: object) -> ir.Value:
        """Another one of this type as llvmlite's.

        Raises: InputError for one that is not.
        """


Held = TypeVar("Held", bound=Value)


class Variable(Changing, Generic[Held]):
    """A value that changes as the kernel runs: a number, registers, an address."""

    def __init__(self, value: Held) -> None:
        super().__init__(value.builder, value.value)
        self._first = value

    @property
    def value(self) -> Held:
        """What it is at this place of the kernel."""
        return self._first.like(self.raw)

    def set(self, value: Held | float) -> None:
        """Assign a value of the same type and width, or a Python number.

        Raises: InputError for another one.
        """
        if hasattr(value, "words") and value.words != self._first.words:
            raise refuse(
                "a variable keeps its type and width",
                got=value.words,
                expected=self._first.words,
                hint="x.to(…) is the number in another type, b.f32(word) the f32 whose bits a word "
                "holds, x.word the other way round",
            )
        self.raw = self._first.taken(value)

    def _no_value(self, *_: object) -> NoReturn:
        raise refuse(
            "a variable in place of its value",
            got=type(self).__name__,
            expected=self._first.words,
            hint="v.value is what it holds at this place",
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _no_value
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __truediv__ = __rtruediv__ = _no_value
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __neg__ = __invert__ = _no_value
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _no_value
    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __index__ = _no_value

    def __eq__(self, other: object) -> NoReturn:
        self._no_value()

    def __ne__(self, other: object) -> NoReturn:
        self._no_value()

    def __hash__(self) -> int:
        return id(self)


class Ring:
    """A place in a ring of buffers: the `stage`, and the `parity` of the round that it is in.

    A consumer waits for the phase of `parity`; a producer, who finds every buffer free in the first
    round, for the phase before: `parity ^ 1`.
    """

    def __init__(self, builder: ControlFlow, stages: int) -> None:
        self.builder = builder
        self.stages = whole(stages, "number of buffers of a ring")
        self._stage = builder.variable(0)
        self._parity = builder.variable(0)

    @property
    def stage(self) -> Int:
        """The number of the buffer."""
        return self._stage.value

    @property
    def parity(self) -> Int:
        """0 in the first round, 1 in the second, and so on."""
        return self._parity.value

    def advance(self) -> None:
        """Go on to the next buffer; behind the last one the next round begins."""
        following = self.stage + 1
        wraps = following == self.stages
        self._stage.set(self.builder.select(wraps, 0, following))
        self._parity.set(self.parity ^ self.builder.zext(wraps, 32))


class ControlFlow(ThreadNumbers):
    """Branches and loops."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.scope = Scope.CTA
        self._blocks = 0
        self._variables: list[Changing] = []

    @overload
    def variable(self, value: int, bits: int = 32) -> Variable[Int]: ...

    @overload
    def variable(self, value: float, bits: int = 32) -> Variable[F32]: ...

    @overload
    def variable(self, value: Held, bits: int = 32) -> Variable[Held]: ...

    def variable(
        self, value: Held | float, bits: int = 32
    ) -> Variable[Held] | Variable[Int] | Variable[F32]:
        """A variable with its first value, whose type it keeps.

        A whole Python number is an unsigned integer of `bits` bits, another one an f32.

        Raises: InputError for what is no value of the kernel.
        """
        made: Variable[Held] | Variable[Int] | Variable[F32]
        if not isinstance(value, (int, float, SupportsIndex)) or hasattr(value, "taken"):
            made = Variable(cast("Held", _value(value)))
        elif isinstance(value, SupportsIndex):
            made = Variable(self.const(operator.index(value), bits))
        else:
            made = Variable(F32(self, float_constant(value, ScalarType.F32)))
        self._variables.append(made)
        return made

    def ring(self, stages: int) -> Ring:
        """A place in a ring of `stages` buffers, at its start."""
        return Ring(self, stages)

    @contextmanager
    def if_(self, condition: Int, name: str = "if") -> Iterator[None]:
        """What follows is executed by the threads for which `condition` holds.

        Raises: InputError for what is no condition of the kernel.
        """
        holds = condition_of(condition)
        builder = self.at_caller()
        self._blocks += 1
        then = builder.append_basic_block(f"{name}.{self._blocks}")
        after = builder.append_basic_block(f"after.{self._blocks}")
        builder.cbranch(holds, then, after)
        before, known = builder.block, self._known()
        self.regions.begin("a branch")
        builder.position_at_end(then)
        yield
        end = self.at_caller().block
        self.at_caller().branch(after)
        self.regions.end()
        self._open(after)
        self._join(known, before, end)

    def changing(self, made: Changing) -> None:
        """Let branches and loops carry a value on."""
        self._variables.append(made)

    def _known(self) -> list[tuple[Changing, ir.Value]]:
        """The variables that there are, with their values."""
        return [(variable, variable.raw) for variable in self._variables]

    def _join(
        self, known: list[tuple[Changing, ir.Value]], before: ir.Block, end: ir.Block
    ) -> None:
        """Behind a branch or a loop: what was assigned in it, or what was there if it was skipped.

        Variables that were made inside end here.
        """
        del self._variables[len(known) :]
        for variable, old in known:
            if variable.raw is not old:
                variable.raw = self._phi((old, before), (variable.raw, end))

    def _phi(self, *incoming: tuple[ir.Value, ir.Block]) -> ir.PhiInstr:
        found = self.at_caller().phi(incoming[0][0].type)
        for value, block in incoming:
            found.add_incoming(value, block)
        return found

    @contextmanager
    def _in_scope(self, scope: Scope, condition: Int, name: str) -> Iterator[None]:
        before = self.scope
        self.scope = scope
        try:
            with self.if_(condition, name):
                yield
        finally:
            self.scope = before

    @contextmanager
    def if_warpgroup(self, number: IntLike, count: int = 1) -> Iterator[None]:
        """What follows is executed by one warpgroup of the CTA: four warps, 128 threads.

        With `count` so many do, from that one on, each for itself.
        """
        mine = self.tid_x >> 7
        chosen = mine == number if count == 1 else mine - number < count
        with self._in_scope(Scope.WARPGROUP, chosen, "warpgroup"):
            yield

    @contextmanager
    def if_warp(self, number: IntLike) -> Iterator[None]:
        """What follows is executed by one warp of the CTA."""
        with self._in_scope(Scope.WARP, (self.tid_x >> 5) == number, "warp"):
            yield

    @contextmanager
    def if_thread(self, number: IntLike) -> Iterator[None]:
        """What follows is executed by one thread of the CTA."""
        with self._in_scope(Scope.THREAD, self.tid_x == number, "thread"):
            yield

    @contextmanager
    def elect(self) -> Iterator[None]:
        """What follows is executed by one thread of the warp, whichever the hardware elects."""
        with self._in_scope(Scope.THREAD, self.elect_sync(), "elected"):
            yield

    @contextmanager
    def range(self, stop: IntLike, start: IntLike = 0, step: IntLike = 1) -> Iterator[Int]:
        """A loop: what follows is executed with each index below `stop`.

        Raises: InputError for a step that leads nowhere.
        """
        if isinstance(step, int) and step < 1:
            raise refuse("a loop goes upwards", got=f"a step of {step}", expected="1 or more")
        builder = self.at_caller()
        self._blocks += 1
        before = builder.block
        body = builder.append_basic_block(f"loop.{self._blocks}")
        after = builder.append_basic_block(f"after.{self._blocks}")
        first, last, known = self.number(start), self.number(stop), self._known()
        builder.cbranch(builder.icmp_unsigned("<", first, last), body, after)
        self.regions.begin("a loop")
        builder.position_at_end(body)
        index = builder.phi(ir.IntType(32), name=f"i{self._blocks}")
        index.add_incoming(first, before)
        turning = [self._phi((old, before)) for _, old in known]
        for (variable, _), value in zip(known, turning, strict=True):
            variable.raw = value
        yield Int(self, index)
        builder = self.at_caller()
        end = builder.block
        following = builder.add(index, self.number(step))
        index.add_incoming(following, end)
        for (variable, _), value in zip(known, turning, strict=True):
            value.add_incoming(variable.raw, end)
        builder.cbranch(builder.icmp_unsigned("<", following, last), body, after)
        self.regions.end()
        self._open(after)
        self._join(known, before, end)

    @contextmanager
    def while_(self, condition: Callable[[], Int]) -> Iterator[None]:
        """A loop: what follows is executed as long as `condition` holds, asked before each turn.

        `condition` adds instructions that compute it of variables: `lambda: left.value > 0`.

        Raises: InputError for what is no condition of the kernel.
        """
        builder = self.at_caller()
        self._blocks += 1
        before = builder.block
        head = builder.append_basic_block(f"while.{self._blocks}")
        body = builder.append_basic_block(f"loop.{self._blocks}")
        after = builder.append_basic_block(f"after.{self._blocks}")
        builder.branch(head)
        builder.position_at_end(head)
        known = self._known()
        turning = [self._phi((old, before)) for _, old in known]
        for (variable, _), value in zip(known, turning, strict=True):
            variable.raw = value
        holds = condition_of(condition())
        self.at_caller().cbranch(holds, body, after)
        left = [variable.raw for variable, _ in known]
        self.regions.begin("a loop")
        self._open(body)
        yield
        end = self.at_caller().block
        self.at_caller().branch(head)
        self.regions.end()
        self._open(after)
        del self._variables[len(known) :]
        for (variable, _), value, last in zip(known, turning, left, strict=True):
            value.add_incoming(variable.raw, end)
            variable.raw = last

    def _open(self, block: ir.Block) -> None:
        """Go on in `block`, behind all the blocks that there are."""
        builder = self.at_caller()
        builder.function.blocks.remove(block)
        builder.function.blocks.append(block)
        builder.position_at_end(block)

    def wait(self, barrier: Barrier, phase: IntLike, *, scope: Sync = Sync.CTA) -> None:
        """Wait until the phase of parity `phase` of an mbarrier has completed.

        What other CTAs of the cluster have released with their arrivals is seen behind a wait of
        cluster scope.

        Raises: InputError for what is no mbarrier.
        """
        pointer_of(barrier)
        builder = self.at_caller()
        self._blocks += 1
        spin = builder.append_basic_block(f"wait_{barrier.name}.{self._blocks}")
        done = builder.append_basic_block(f"{barrier.name}_done.{self._blocks}")
        builder.branch(spin)
        builder.position_at_end(spin)
        ready = self.mbarrier_try_wait_parity(barrier, phase, scope=scope)
        self.at_caller().cbranch(ready.value, done, spin)
        builder.position_at_end(done)


def _value(value: object) -> object:
    """What a variable may hold.

    Raises: InputError for what is no value of the kernel.
    """
    if not hasattr(value, "taken"):
        raise refuse(
            "no value of the kernel",
            got=described(value),
            expected="a number, registers or an address",
        )
    return value


def condition_of(condition: Int) -> ir.Value:
    """A condition as LLVM's.

    Raises: InputError for what is none.
    """
    if isinstance(condition, Int) and condition.bits == 1:
        return condition.value
    raise refuse(
        "no condition of the kernel",
        got=f"i{condition.bits}" if isinstance(condition, Int) else repr(condition),
        expected="i1, as a comparison gives it",
        hint="what is known while the kernel is built is Python's: `if condition:`",
    )

"""Control flow as context managers.

Layer: nvgen.instructions.  A branch or loop that assigns a variable ends in a phi.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import SupportsIndex, cast, overload

from llvmlite import ir

from intrinsics.modifiers import ScalarType as T
from nvgen.calling.refusals import described, function_of, refuse
from nvgen.instructions.atomics import Atomics
from nvgen.values.number_types import constant, float_constant
from nvgen.values.numbers import Float, Int, IntLike
from nvgen.values.regions import Changing, Frame, Held, Variable

_ROLES = ("warpgroup", "warp", "thread", "elected")
"""What blocks of roles are called."""


class ControlFlow(Atomics):
    """Branches and loops."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._blocks = 0
        self._frames: list[Frame] = []
        self._closed: Frame | None = None  # a branch that `else_` may follow

    @overload
    def variable(self, value: int, bits: int = 32) -> Variable[Int]: ...

    @overload
    def variable(self, value: float, bits: int = 32) -> Variable[Float]: ...

    @overload
    def variable(self, value: Held, bits: int = 32) -> Variable[Held]: ...

    def variable(
        self, value: Held | float, bits: int = 32
    ) -> Variable[Held] | Variable[Int] | Variable[Float]:
        """A mutable variable with its first value, whose type it keeps.

        A Python int is an unsigned integer of `bits` bits, a Python float an f32.

        Raises: InputError for what is no value of the kernel.
        """
        made: Variable[Held] | Variable[Int] | Variable[Float]
        if not isinstance(value, (int, float, SupportsIndex)) or hasattr(value, "taken"):
            made = Variable(cast("Held", _value(value)))
        elif isinstance(value, SupportsIndex):
            made = Variable(Int(self, constant(value, bits)))
        else:
            made = Variable(Float(self, float_constant(value, T.F32), T.F32))
        self._variables.append(made)
        return made

    @contextmanager
    def if_(self, condition: Int, name: str = "if") -> Iterator[None]:
        """A block (`with`) for the threads for which `condition` holds.

        Raises: InputError for what is not a condition of the kernel.
        """
        holds = condition_of(condition)
        then, after = self._new_blocks(name, "after")
        builder = self.at_caller()
        branch = builder.cbranch(holds, then, after)
        frame = Frame(after, self._known(), is_role=name in _ROLES, branch=branch, decides=[holds])
        frame.leave(builder.block)
        self._open_frame(frame, "a branch")
        builder.position_at_end(then)
        yield
        self.at_caller().branch(after)
        self._close_frame(frame)
        self._closed = frame

    @contextmanager
    def else_(self) -> Iterator[None]:
        """A block (`with`) for the threads for which the condition of the `if_` just before does
        not hold.

        It may follow `if_warp` and similar blocks, too.

        Raises: InputError where no such block is right before it.
        """
        frame, builder = self._closed, self.at_caller()
        if frame is None or frame.branch is None or builder.block is not frame.after:
            raise refuse("no branch right before it", got="else_", expected="with b.if_(…): …")
        if not frame.is_untouched or len(frame.known) != len(self._variables):
            raise refuse(
                "something was built between a branch and its other side",
                got="else_",
                expected="`with b.else_():` right behind `with b.if_(…):`",
            )
        self._closed = None
        (otherwise,) = self._new_blocks("else")
        frame.branch.operands[2] = otherwise
        frame.branch, joined = None, frame.values
        del frame.exits[0]
        for variable, old in frame.known:
            variable.raw = old
        self._open_frame(frame, "a branch")
        builder.position_at_end(otherwise)
        yield
        self.at_caller().branch(frame.after)
        self._close_frame(frame, joined)

    def leave_if(self, condition: Int) -> None:
        """Leave the enclosing role (`if_warp`, `if_warpgroup`, `elect`, `if_thread`) if `condition`
        holds.

        Raises: InputError outside of a role, and for what is no condition of the kernel.
        """
        self._leave(condition, [frame for frame in self._frames if frame.is_role], "a role")

    def break_if(self, condition: Int) -> None:
        """Leave the enclosing loop if `condition` holds.

        Raises: InputError outside of a loop, and for what is no condition of the kernel.
        """
        self._leave(condition, [frame for frame in self._frames if frame.is_loop], "a loop")

    def _leave(self, condition: Int, frames: list[Frame], what: str) -> None:
        holds = condition_of(condition)
        if not frames:
            raise refuse(f"there is no {what[2:]} to leave", expected=f"inside {what}")
        (stay,) = self._new_blocks("stay")
        builder = self.at_caller()
        frames[-1].leave(builder.block)
        frames[-1].decides.append(holds)
        builder.cbranch(holds, frames[-1].after, stay)
        self._open(stay)

    def _open_frame(self, frame: Frame, name: str) -> None:
        """Begin a branch or a loop."""
        self._frames.append(frame)
        self.regions.begin(name)
        self._closed = None

    def _close_frame(self, frame: Frame, joined: Sequence[ir.Value] | None = None) -> None:
        """End a branch or loop whose last block has just ended.

        Variables that were made inside end here.  `joined` are the values of the others after the
        first side of a branch.
        """
        at = 1 if frame.branch is not None or frame.is_loop else len(frame.exits)
        frame.exits.insert(at, (self.at_caller().block, frame.values))
        self._go_behind(frame, joined)

    def _go_behind(self, frame: Frame, joined: Sequence[ir.Value] | None = None) -> None:
        """Continue after a branch or loop all of whose exits are known."""
        self._frames.pop()
        self.regions.end()
        self._open(frame.after)
        del self._variables[len(frame.known) :]
        for (variable, _), value in zip(frame.known, joined or (), strict=False):
            variable.raw = value
        frame.join(self.at_caller())

    def _new_blocks(self, *names: str) -> list[ir.Block]:
        """Empty basic blocks, numbered together."""
        builder = self.at_caller()
        self._blocks += 1
        return [builder.append_basic_block(f"{name}.{self._blocks}") for name in names]

    def _known(self) -> list[tuple[Changing, ir.Value]]:
        """The variables in scope, with their values."""
        return [(variable, variable.raw) for variable in self._variables]

    @contextmanager
    def range(self, stop: IntLike, start: IntLike = 0, step: IntLike = 1) -> Iterator[Int]:
        """A loop (`with b.range(n) as i:`) with indices from `start` up to, not including, `stop`.

        A negative `step` counts down; a `step` that the kernel computes must be positive.  The
        index has the type of the kernel's integers among these; of Python's alone it is u32, or i32
        if one of them is negative.

        Raises: InputError for a step of 0, integers of different types, an unsigned loop below 0,
        and a loop that counts up to 0 from an unsigned number.
        """
        like = self._index(start, stop, step)
        downwards = isinstance(step, int) and step < 0
        body, after = self._new_blocks("loop", "after")
        builder = self.at_caller()
        before = builder.block
        first, last = like.taken(start), like.taken(stop)
        frame = Frame(after, self._known(), is_loop=True, decides=[first, last])
        if isinstance(step, Int):
            frame.decides.append(step.value)
        frame.leave(before)
        compare = builder.icmp_signed if like.signed else builder.icmp_unsigned
        builder.cbranch(compare(">" if downwards else "<", first, last), body, after)
        self._open_frame(frame, "a loop")
        builder.position_at_end(body)
        index = builder.phi(first.type, name=f"i{self._blocks}")
        index.add_incoming(first, before)
        turning = self._turn(frame.known, before)
        yield like.like(index)
        builder = self.at_caller()
        end = builder.block
        if downwards:
            size = like.taken(-operator.index(step))
            left, following = builder.sub(index, last), builder.sub(index, size)
            goes_on = builder.icmp_unsigned(">", left, size)
        else:
            following = builder.add(index, like.taken(step))
            goes_on = compare("<", following, last)
        index.add_incoming(following, end)
        _turn_back(turning, frame.values, end)
        builder.cbranch(goes_on, body, after)
        self._close_frame(frame)

    def _index(self, start: IntLike, stop: IntLike, step: IntLike) -> Int:
        """An integer of the type that a loop's index has."""
        given = (stop, start, step)
        negative = any(isinstance(n, int) and n < 0 for n in given)
        like = next((n for n in given if isinstance(n, Int)), None)
        if like is None:
            like = Int(self, self.const(0).value, negative)
        like.taken(abs(step) if isinstance(step, int) else step)
        downwards = isinstance(step, int) and step < 0
        if isinstance(step, int) and step == 0:
            raise refuse("a loop goes upwards or downwards", got="a step of 0", expected="1, or -1")
        above = start > 0 if isinstance(start, int) else not like.signed
        if above and not (isinstance(stop, Int) or stop or downwards):
            raise refuse(
                "a loop that no index reaches: the stop comes first",
                got="a stop of 0" + f", from {start} on" * isinstance(start, int),
                expected="b.range(stop, start=…, step=…)",
                hint="where there may be nothing to do, ask in Python: `if stop > start:`",
            )
        below = any(isinstance(n, int) and n < 0 for n in (stop, start))
        if below and not like.signed:
            got = ", ".join(str(n) for n in (start, stop) if isinstance(n, int))
            expected = "signed integers: n.to(i32)"
            raise refuse("an unsigned loop that goes below 0", got=got, expected=expected)
        return like

    def _turn(self, known: list[tuple[Changing, ir.Value]], before: ir.Block) -> list[ir.PhiInstr]:
        """A phi for each variable, with its value before the loop."""
        turning = []
        for variable, old in known:
            value = self.at_caller().phi(old.type)
            value.add_incoming(old, before)
            variable.raw = value
            turning.append(value)
        return turning

    @contextmanager
    def while_(self, condition: Callable[[], Int]) -> Iterator[None]:
        """A loop (`with`) that runs while `condition` holds, tested before each iteration.

        `condition` is a function that builds the test from variables: `lambda: left.value > 0`.

        Raises: InputError for what is not a condition of the kernel.
        """
        condition = function_of(condition)
        head, body, after = self._new_blocks("while", "loop", "after")
        builder = self.at_caller()
        before = builder.block
        builder.branch(head)
        builder.position_at_end(head)
        frame = Frame(after, self._known(), is_loop=True)
        turning = self._turn(frame.known, before)
        holds = condition_of(condition())
        frame.decides.append(holds)
        frame.leave(self.at_caller().block)
        self.at_caller().cbranch(holds, body, after)
        self._open_frame(frame, "a loop")
        self._open(body)
        yield
        _turn_back(turning, frame.values, self.at_caller().block)
        self.at_caller().branch(head)
        self._go_behind(frame)

    def _open(self, block: ir.Block) -> None:
        """Continue in `block`, after all existing blocks."""
        builder = self.at_caller()
        builder.function.blocks.remove(block)
        builder.function.blocks.append(block)
        builder.position_at_end(block)


def _turn_back(turning: Sequence[ir.PhiInstr], values: Sequence[ir.Value], end: ir.Block) -> None:
    """Complete the phis of a loop with the values at the end of its body."""
    for phi, value in zip(turning, values, strict=True):
        phi.add_incoming(value, end)


def _value(value: object) -> object:
    """A value that a variable may hold."""
    if not hasattr(value, "taken"):
        expected = "a number, registers or an address"
        raise refuse("no value of the kernel", got=described(value), expected=expected)
    return value


def condition_of(condition: Int) -> ir.Value:
    """A condition, as llvmlite's."""
    if isinstance(condition, Int) and condition.bits == 1:
        return condition.value
    got = f"i{condition.bits}" if isinstance(condition, Int) else repr(condition)
    expected = "i1, as a comparison gives it"
    hint = "what is known while the kernel is built is Python's: `if condition:`"
    raise refuse("no condition of the kernel", got=got, expected=expected, hint=hint)

"""Scopes of values: where in a kernel a value may be used; variables in SSA form.

Layer: nvgen.values.  Branches and loops of the builder nest as Python's blocks do, so a definition
dominates what is built later in its block and in nested blocks, up to the block's end.  Input:
every instruction that is built.  Output: none; a use that the definition does not dominate is an
error, with both lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Generic, NoReturn, Protocol, Self, TypeAlias, TypeVar

from llvmlite import ir
from llvmlite.ir.instructions import Instruction

from intrinsics.findings import InputError
from intrinsics.lazy_dataclass import dataclass
from nvgen.calling.callers import Call, Stack, calls, calls_of_anybody
from nvgen.calling.guards import guarded
from nvgen.calling.refusals import refuse
from nvgen.llvm.ir_text import DebugLines

_OF_A_MODULE = (ir.GlobalVariable, ir.Function)


@dataclass(slots=True, eq=False)
class OpenBlock:
    """A block of the kernel: the body, a branch or a loop; `open` until it ends."""

    name: str
    begun: Call | None = None
    open: bool = True


class Regions:
    """The open blocks of the kernel, the innermost last."""

    def __init__(self) -> None:
        self._open = [OpenBlock("the kernel")]
        self._of_block: dict[ir.Block, OpenBlock] = {}

    @property
    def current(self) -> OpenBlock:
        """The block that is being built."""
        return self._open[-1]

    def check_ended(self) -> None:
        """Check that no branch or loop is open.

        Raises: InputError for the innermost one that is.
        """
        if len(self._open) > 1:
            got = f"{self.current.name} that begins at {_shown(self.current.begun)}"
            expected = "b.finish() behind every `with`"
            raise refuse("the kernel is finished inside of a block", got=got, expected=expected)

    def begin(self, name: str) -> None:
        """Begin a branch or a loop."""
        self._open.append(OpenBlock(name, _innermost()))

    def end(self) -> None:
        """End the innermost branch or loop."""
        self._open.pop().open = False

    def place(self, block: ir.Block) -> None:
        """Assign a basic block to the innermost branch or loop."""
        self._of_block.setdefault(block, self.current)

    def of(self, value: Instruction) -> OpenBlock | None:
        """The block that an instruction stands in; None for one of another kernel."""
        return self._of_block.get(value.parent)


class PlacedBuilder(ir.IRBuilder):  # type: ignore[misc]  # llvmlite is untyped
    """llvmlite's builder, which rejects a value that does not dominate its use.

    Every instruction has the lines of Python that asked for it, those of the function that `begun`
    the body the last ones.
    """

    def __init__(self, block: ir.Block, regions: Regions, debug: DebugLines, begun: Stack) -> None:
        super().__init__(block)
        self._regions = regions
        self._debug = debug
        self._begun = begun
        regions.place(block)

    @property
    def debug(self) -> DebugLines:
        """The lines of the function that is being built."""
        return self._debug

    def at_caller(self) -> None:
        """Attach the current lines of Python to the next instructions."""
        self.debug_metadata = self._debug.at(calls(self._begun))

    def position_at_end(self, block: ir.Block) -> None:
        """Go on at the end of a basic block."""
        super().position_at_end(block)
        self._regions.place(block)

    def _insert(self, instr: Instruction) -> None:
        for operand in instr.operands:
            if isinstance(operand, Instruction):
                self._check(operand)
            elif isinstance(operand, _OF_A_MODULE) and operand.parent is not self.module:
                raise _foreign("shared memory", operand.name, "of this kernel")
            elif isinstance(operand, ir.Argument) and operand.parent is not self.function:
                raise _foreign("a parameter", operand.name, "of this kernel")
        super()._insert(instr)

    def _check(self, operand: Instruction) -> None:
        """Check that an instruction's result dominates this position."""
        region = self._regions.of(operand)
        if region is None:
            raise _foreign("a value", str(operand), "one of this kernel")
        if not region.open:
            made = self._debug.calls_of(operand.metadata.get("dbg"))
            raise out_of_reach("a value", made[0] if made else None, region)


def out_of_reach(what: str, made: Call | None, region: OpenBlock) -> InputError:
    """The error about a use after the block that a value was made in."""
    place = f"made at {_shown(made)}, " if made else "made "
    begun = f" that begins at {_shown(region.begun)}" if region.begun else ""
    return refuse(
        f"{what} is used behind the block that it was made in, and does not reach there",
        rule="scope",
        got=f"{place}in {region.name}{begun}",
        expected="what was made before the block, or is used in it",
        hint="a variable or an accumulator that is made before the block carries what is assigned "
        "in it on: v = b.variable(0), in the block v.set(x), behind it v.value",
    )


def _foreign(what: str, got: str, expected: str) -> InputError:
    return refuse(f"{what} of another kernel", rule="scope", got=got, expected=expected)


def _shown(call: Call | None) -> str:
    return f"{call.file}:{call.line}" if call else "an unknown line"


def _innermost() -> Call | None:
    return next(iter(calls_of_anybody()), None)


class Host(Protocol):
    """The interface of the kernel that a value belongs to."""

    name: str
    regions: Regions

    def at_caller(self) -> ir.IRBuilder:
        """llvmlite's builder, set to the lines of Python that called into nvgen."""

    def declare(self, name: str, type_: ir.FunctionType) -> ir.Function:
        """The declaration of a function."""


class Changing:
    """A value that is assigned in the kernel: what a branch or a loop assigns is there after it.

    It lives as long as the branch or loop that it was made in.
    """

    def __init__(self, builder: Host, raw: ir.Value) -> None:
        self.builder = builder
        self._raw = raw
        self._region = builder.regions.current
        self._made = next(iter(calls_of_anybody()), None)

    @property
    def raw(self) -> ir.Value:
        """The current value, as llvmlite's."""
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


# ---- variables ---------------------------------------------------------------------------------


class Value(Protocol):
    """What a variable may hold: a number, registers, an address."""

    @property
    def builder(self) -> Host:
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
        """Another one of this type as llvmlite's."""


Held = TypeVar("Held", bound=Value)


@guarded
class Variable(Changing, Generic[Held]):
    """A mutable value: a number, registers or an address."""

    def __init__(self, value: Held) -> None:
        super().__init__(value.builder, value.value)
        self._first = value

    @property
    def value(self) -> Held:
        """The current value."""
        return self._first.like(self.raw)

    @value.setter
    def value(self, given: Held) -> NoReturn:
        raise refuse("a variable is set", got="v.value = …", expected="v.set(…)")

    def __repr__(self) -> str:
        return f"<a variable: {self._first.words} of {self.builder.name}>"

    def set(self, value: Held | float) -> None:
        """Assign a value of the same type and width, or a Python number.

        Raises: InputError for another one.
        """
        words = getattr(value, "words", None)
        if isinstance(words, str) and words != self._first.words:
            raise refuse(
                "a variable keeps its type and width", got=words, expected=self._first.words,
                hint="x.to(…) is the number in another type, b.f32(word) the f32 whose bits a word "
                "holds, x.word the other way round",
            )  # fmt: skip
        self.raw = self._first.taken(value)

    def _no_value(self, *_: object) -> NoReturn:
        got, expected = type(self).__name__, self._first.words
        hint = "v.value is what it holds at this place"
        raise refuse("a variable in place of its value", got=got, expected=expected, hint=hint)

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


# ---- exits that join ----------------------------------------------------------------------------

Exit: TypeAlias = tuple[ir.Block, Sequence[ir.Value]]
"""A block that goes on behind, and what the variables are at its end."""


@dataclass(slots=True, eq=False)
class Frame:
    """A branch or a loop: the block after it, and the variables before it with their values."""

    after: ir.Block
    known: list[tuple[Changing, ir.Value]]
    is_loop: bool = False
    is_role: bool = False
    exits: list[Exit] = field(default_factory=list)
    branch: ir.Instruction | None = None
    """The branch instruction, whose second target is `after` until `else_` replaces it."""
    decides: list[ir.Value] = field(default_factory=list)
    """What says whether a thread comes in, and how often."""

    @property
    def values(self) -> list[ir.Value]:
        """The current values of the variables."""
        return [variable.raw for variable, _ in self.known]

    def leave(self, block: ir.Block) -> None:
        """Record an exit, from the end of a block."""
        self.exits.append((block, self.values))

    @property
    def is_untouched(self) -> bool:
        """Whether nothing has been built behind it."""
        return all(isinstance(instr, ir.PhiInstr) for instr in self.after.instructions)

    def join(self, builder: ir.IRBuilder) -> None:
        """Give each variable its value after it, by phis; existing phis get the exits added."""
        there = {id(phi): phi for phi in self.after.instructions}
        for number, (variable, _) in enumerate(self.known):
            values = [values[number] for _, values in self.exits]
            phi = there.get(id(variable.raw))
            if phi is None and all(value is values[0] for value in values):
                variable.raw = values[0]
                continue
            if phi is None:
                phi = builder.phi(values[0].type)
            blocks = (block for block, _ in self.exits)
            phi.incomings = list(zip(values, blocks, strict=True))
            variable.raw = phi

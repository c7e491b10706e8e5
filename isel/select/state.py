"""A function while it is being selected: registers for values, records for blocks.

Layer: isel.select.  Values are tuples of scalar operands: registers, or what needs none (numbers,
symbols).  An operand that an instruction wants in a register is moved there once per block.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from intrinsics import catalog
from intrinsics.mir import (
    UNNAMED,
    Block,
    Form,
    Imm,
    Label,
    MachineFunction,
    MachineInstr,
    Mem,
    Not,
    Op,
    Reg,
    Scalar,
    Sym,
)
from intrinsics.modifiers import ScalarType, Space
from intrinsics.rows.memory import WIDE_ACCESS
from intrinsics.targets import Capability, Ptx, Target
from isel.diagnostics import NoValue, Unselectable
from isel.llvm import ir
from isel.llvm import values as llvm
from isel.llvm.attributes import NO_ATTRIBUTES
from isel.llvm.constants import as_instruction, known
from isel.llvm.data_layout import TENSOR_SPACE
from isel.llvm.type_layout import (
    SPACES,
    TypeLayout,
    walk_indices,
)
from isel.llvm.types import PTR, PointerType, Type
from isel.select.register_facts import RegisterFacts
from isel.select.shared_assembly import Assembly
from isel.select.stack_slots import Slot

Values: TypeAlias = tuple[Scalar, ...]

Select: TypeAlias = Callable[["FunctionState", ir.Instruction], None]
"""Selects an instruction with the state of its function."""

_WHOLE = {
    ScalarType.B16: ScalarType.B32,
    ScalarType.B32: ScalarType.B64,
    ScalarType.B64: ScalarType.B128,
}
"""By the class of one half of a register, that of the whole."""


form = catalog.form
"""The form of a row, by its name."""


@functools.cache
def typed(row: str, type: ScalarType) -> Form:
    """The form of a row with nothing but a type: asked for most, and found sooner than by names."""
    return form(row, type=type)


@functools.cache
def _had_by(target: Target | None, ptx: Ptx | None) -> dict[Form, bool]:
    """Whether a target at a PTX version has a form, as far as it has been asked."""
    return {}


class FunctionState(RegisterFacts):
    """Registers, values and records of one function."""

    def __init__(
        self,
        out: MachineFunction,
        layout: TypeLayout,
        symbols: dict[str, str],
        target: Target | None = None,
        ptx: Ptx | None = None,
        assembly: Assembly | None = None,
        select: Select | None = None,
        taken: frozenset[str] | None = None,
    ) -> None:
        super().__init__()
        self.out = out
        self.select = select  # what selects the instructions that constant expressions are
        self.assembly = assembly or Assembly({}, {})
        self.target = target
        self.ptx = ptx
        self.flushes = False  # whether operations on floats flush subnormals
        self.layout = layout
        self.symbols = symbols  # LLVM name -> PTX name
        self.values: dict[str, Values] = {}
        self.addresses: dict[str, Mem] = {}
        self.known: dict[str, tuple[Space, Mem]] = {}  # where generic pointers really point
        self.in_global: set[str] = set()  # the generic pointers to global memory
        self.parts: dict[Reg, tuple[tuple[int, ...], list[Reg]]] = {}  # a value -> its loaded parts
        self.unwritten: set[str] = set()  # pointers to what nobody writes
        self.block_names: dict[str, str] = {}  # LLVM name -> MIR name, reachable blocks only
        self.block = Block("entry")
        self.run = [self.block]  # the blocks that an LLVM block has become: one, without labels
        self.taken_blocks: set[str] = set()
        self.last_blocks: dict[str, str] = {}  # LLVM name -> the last of several MIR blocks
        self.block_name = ""  # LLVM's name of the block that is being selected
        self.loc = 0
        self.calls = 0
        self.return_attributes = NO_ATTRIBUTES
        self.slots: dict[str, Slot] = {}  # memory that allocas share
        # names of the module, which a function of a large one does not copy, and its own
        self._taken = frozenset(symbols.values()) if taken is None else taken
        self._own: set[str] = set()
        self._moved: dict[tuple[Scalar, ScalarType], Reg] = {}
        self._symbols: dict[tuple[Scalar, ScalarType], Reg] = {}  # moved in the entry block
        self.had = _had_by(target, ptx)

    def can(self, capability: Capability) -> bool:
        """Whether the target has something, at the PTX version asked for if there is one."""
        if self.target is None:
            return False
        if self.ptx is not None:
            return capability.holds(self.target, self.ptx)
        return self.target in capability.targets

    @functools.cached_property
    def can_move_256_bits(self) -> bool:
        """Whether a load or store moves 256 bits at once."""
        return self.can(WIDE_ACCESS)

    # ---- records -----------------------------------------------------------------------------

    def start(self, block: Block) -> None:
        """Emit into `block` from now on."""
        self.block = block
        self.run = [block]
        self._moved = {}
        self.forget_block()

    def go_on_in(self, block: Block) -> None:
        """Emit into `block` from now on, which only the blocks of the same LLVM block lead to."""
        self.block = block
        self.run.append(block)

    def new_block_name(self, hint: str) -> str:
        """A name for a block of `run`, which no other block of the function has."""
        base = hint.lstrip(UNNAMED)
        names = (f"{self.block_names[self.block_name]}_{base}_{n}" for n in itertools.count(1))
        found = next(name for name in names if name not in self.taken_blocks)
        self.taken_blocks.add(found)
        return found

    def keep(self) -> None:
        """Let the addresses of the entry block, which is the current one, be known from now on."""
        self.kept = self.scaled
        self._symbols = {key: reg for key, reg in self._moved.items() if type(key[0]) is Sym}

    @contextmanager
    def at_end_of(self, block: Block) -> Iterator[None]:
        """Emit before the branches that end `block`."""
        aside = Block("")
        self.start(aside)
        yield
        at = block.end
        block.instrs[at:at] = aside.instrs

    def emit(self, form: Form, *ops: Op, guard: Reg | Not | None = None) -> None:
        """Append a record."""
        self.block.instrs.append(MachineInstr(form, ops, guard, self.loc))

    def computed(self, form: Form, *sources: Op, cls: ScalarType) -> Reg:
        """Append a record with one result, and return that: a new register of class `cls`."""
        result = self.out.regs.new(cls)
        self.block.instrs.append(MachineInstr(form, (result, *sources), None, self.loc))
        return result

    def two_halves(self, reg: Reg, cls: ScalarType) -> tuple[Reg, Reg]:
        """The halves of a register, in registers of class `cls`; the lower one first."""
        halves = self.new(cls), self.new(cls)
        self.emit(typed("mov.unpack2", _WHOLE[cls]), halves, reg)
        return halves

    def label(self, block: str) -> Label:
        """The label of the block that LLVM calls `block`."""
        return Label(self.block_names[block])

    def end_label(self, block: str) -> Label:
        """The label of the block that the one that LLVM calls `block` ends in."""
        return Label(self.last_blocks.get(block) or self.block_names[block])

    def own_name(self, name: str) -> str:
        """`name`, or with something behind it, as no global and no other of the function has it."""
        while name in self._taken or name in self._own:
            name += "_"
        self._own.add(name)
        return name

    def new(self, cls: ScalarType, name: str = "") -> Reg:
        """A fresh register."""
        return self.out.regs.new(cls, name)

    def define(self, name: str | None, type_: Type) -> tuple[Reg, ...]:
        """Registers for the result `name` of an instruction."""
        classes = self.layout.classes(type_)
        hint = "" if name is None or name.isdigit() else name
        new = self.out.regs.new
        if len(classes) == 1:
            regs: tuple[Reg, ...] = (new(classes[0], hint),)
        else:
            regs = tuple([new(c, f"{hint}.{i}" if hint else "") for i, c in enumerate(classes)])
        if name is not None:
            self.values[name] = regs
        return regs

    def forward(self, name: str | None, values: Values) -> None:
        """Let the result `name` be `values`, without a record."""
        if name is not None:
            self.values[name] = values

    # ---- values ------------------------------------------------------------------------------

    def value(self, value: llvm.Value) -> Values:
        """The operands that hold `value`."""
        if type(value) is llvm.Local:
            found = self.values.get(value.name)
            if not found and self.layout.count(value.type):
                raise NoValue(
                    "value", f"%{value.name} has no value here: its definition was not selected"
                )
            return found or ()
        return self.constant(value)

    def constant(self, value: llvm.Value) -> Values:
        """The operands that hold a constant."""
        if type(value) is llvm.ConstInt:
            bits = value.type.bits
            if bits > 64:
                return _limbs(value.signed, bits)
            return (Imm(value.value if bits == 1 else value.signed),)
        match value:
            case llvm.ConstFloat(_, bits):
                return (Imm(bits),)
            case llvm.Null():
                return (Imm(0),)
            case llvm.Undef() | llvm.Poison() | llvm.Zero():
                return tuple(Imm(0) for _ in self.layout.classes(value.type))
            case llvm.GlobalRef(name):
                return (Sym(self.symbol(name)),)
            case llvm.ConstExpr():
                return self._expression(value)
        self.layout.classes(value.type)  # refuses what is too large
        elements = llvm.elements_of(value)
        if elements is None:
            raise Unselectable(
                "constant",
                f"a constant of type {value.type} is not selectable",
                got=type(value).__name__,
            )
        return tuple(op for element in elements for op in self.value(element))

    def symbol(self, name: str) -> str:
        """The PTX name of a global.

        Raises: Unselectable when it names an unknown global.
        """
        found = self.symbols.get(name)
        if found is None:
            raise Unselectable(
                "address-of",
                f"the address of @{name} is not selectable",
                got=f"@{name}",
                expected="a global variable or a function",
                hint=""
                if name.startswith("llvm.")
                else "name what an ifunc or a weak alias stands for: nvgen selects neither",
            )
        return found

    def _expression(self, value: llvm.ConstExpr) -> Values:
        """A constant expression: a number, an address, or what instructions compute."""
        found = known(self.layout, value)
        if found is not None and found.name is None:
            return (Imm(found.offset),)
        if found is not None and found.name is not None:
            here = Sym(self.symbol(found.name), found.offset)
            if not found.generic or found.space == 0:
                return (here,)
            return (self.convert_address(here, PointerType(found.space), PTR),)
        assert self.select is not None, "an interface has no constant expressions"
        name = f"{value.opcode.value} of constants"  # no instruction of LLVM has such a name
        before = self.values.pop(name, None)
        self.select(self, as_instruction(value, name))
        result = self.values.pop(name)
        self.addresses.pop(name, None)
        if before is not None:
            self.values[name] = before
        return result

    def number(self, value: llvm.Value, what: str) -> int:
        """A constant integer.

        Raises: Unselectable when `value` is not one.
        """
        if isinstance(value, llvm.ConstInt):
            return value.value if value.type.bits == 1 else value.signed
        raise Unselectable(
            "immediate", f"{what} must be a constant", got=str(value.type), expected="a number"
        )

    def reg(self, op: Scalar, cls: ScalarType) -> Reg:
        """A register that holds `op`."""
        if type(op) is int:
            return op
        wanted = op, cls
        moved = self._moved.get(wanted) or self._symbols.get(wanted)
        if moved is None:
            moved = self.new(cls)
            self.emit(typed("mov", cls), moved, op)
            self._moved[wanted] = moved
        return moved

    def scalar(self, value: llvm.Value) -> Scalar:
        """The one operand that holds a scalar: a register or a number."""
        known = self.values.get(value.name, ()) if type(value) is llvm.Local else ()
        (op,) = known or self.value(value)
        if type(op) is int or type(op) is Imm:
            return op
        (cls,) = self.layout.classes(value.type)
        return self.reg(op, cls)

    def scalar_reg(self, value: llvm.Value) -> Reg:
        """The one register that holds a scalar."""
        (op,) = self.value(value)
        if type(op) is int:
            return op
        (cls,) = self.layout.classes(value.type)
        return self.reg(op, cls)

    def regs(self, value: llvm.Value) -> tuple[Reg, ...]:
        """The registers that hold `value`."""
        classes = self.layout.classes(value.type)
        return tuple(self.reg(op, cls) for op, cls in zip(self.value(value), classes, strict=True))

    def long_reg(self, value: llvm.Value) -> Reg:
        """An i128 in one register."""
        long = ScalarType.B128
        return self.computed(typed("mov.pack2", long), self.regs(value), cls=long)

    # ---- addresses ---------------------------------------------------------------------------

    def address(self, pointer: llvm.Value) -> Mem:
        """`pointer` as an address operand, with as much folded into it as possible."""
        if type(pointer) is llvm.Local:
            folded = self.addresses.get(pointer.name)
            if folded is not None:
                return folded
        (op,) = self.value(pointer)
        if type(op) is int:
            return Mem(op)
        match op:
            case Sym(name, offset):
                return Mem(Sym(name), offset)
        return Mem(self.scalar_reg(pointer))

    def place(self, pointer: llvm.Value) -> tuple[Space | None, Mem]:
        """The state space (None: generic) and the address of a pointer to memory."""
        if type(pointer) is llvm.Local:
            real = self.known.get(pointer.name)
            if real is not None:
                return real
        assert isinstance(pointer.type, PointerType)
        if type(pointer) is llvm.ConstExpr and pointer.type.address_space == 0:
            return self._generic_place(pointer)
        space, mem = SPACES[pointer.type.address_space], self.address(pointer)
        if type(pointer) is llvm.Local and pointer.name in self.in_global:
            return Space.GLOBAL, mem
        if space is None and isinstance(mem.base, Sym):
            return Space.GLOBAL, mem  # where variables of no other space are
        return space, mem

    def _generic_place(self, pointer: llvm.ConstExpr) -> tuple[Space | None, Mem]:
        """Where a constant generic address points; what is written nowhere else is not converted.

        A number that is another space's address is a generic address all the same.
        """
        found = known(self.layout, pointer)
        if found is None or found.name is None:
            return None, self.address(pointer)
        space = SPACES.get(found.space) or Space.GLOBAL
        if space is Space.GLOBAL or (found.generic and space is Space.SHARED):
            return space, Mem(Sym(self.symbol(found.name)), found.offset)
        return None, Mem(self.scalar_reg(pointer))

    def steps(self, element: Type, indices: tuple[llvm.Value, ...]) -> list[tuple[int, llvm.Value]]:
        """(bytes, index) for every index of a getelementptr that steps over an array."""
        return [
            (size, index) for size, index, _ in walk_indices(self.layout, element, indices) if size
        ]

    def step_sizes(self, element: Type, indices: tuple[llvm.Value, ...]) -> list[int]:
        """For every index the bytes that it steps over, 0 where it names a struct's field."""
        return [size for size, _, _ in walk_indices(self.layout, element, indices)]

    def field_offsets(self, element: Type, indices: tuple[llvm.Value, ...]) -> list[int]:
        """Byte offsets of the struct fields that a getelementptr enters."""
        return [
            offset for size, _, offset in walk_indices(self.layout, element, indices) if not size
        ]

    def convert_address(self, op: Scalar, source: Type, target: Type) -> Scalar:
        """An address in another address space (`addrspacecast`).

        Raises: Unselectable when PTX has no such conversion.
        """
        assert isinstance(source, PointerType)
        assert isinstance(target, PointerType)
        a, b = source.address_space, target.address_space
        if a == b or {a, b} == {3, 7}:
            return op  # a CTA's own shared memory lies in the window of the cluster's
        spaces = SPACES.get(a), SPACES.get(b)
        if TENSOR_SPACE in (a, b) or a not in SPACES or b not in SPACES or None not in spaces:
            raise Unselectable(
                "addrspacecast",
                f"no conversion from {source} to {target}",
                got=f"{source} to {target}",
                expected="to or from the generic address space; tensor memory has none",
            )
        cls = ScalarType.U64
        (from_class,) = self.layout.classes(source)
        register = self.new(ScalarType.B64)
        if b == 0:
            cvta = form("cvta", space=spaces[0], size=cls)
        else:
            cvta = form("cvta.to", space=spaces[1], size=cls)
        self.emit(cvta, register, self.reg(op, from_class))
        return register


def _limbs(number: int, bits: int) -> Values:
    """A wide number in pieces of 64 bits, each as a signed number, the lowest one first."""
    words = ((number >> at) & (1 << 64) - 1 for at in range(0, bits, 64))
    return tuple(Imm(word - (1 << 64) if word >> 63 else word) for word in words)

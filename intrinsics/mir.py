"""Machine records: what selection makes, passes change, the verifier checks and the printers write.

Layer: intrinsics.  A `MachineInstr` is an interned `Form` (a row with its opcode qualifiers and the
operands that are there) and a positional tuple of operands.  Virtual registers are dense integers,
each with a class in its function's register table.  Records are mutable and light; everything
about an instruction that does not change from record to record is in the form.
"""

from __future__ import annotations

import functools
import itertools
import struct
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from intrinsics.findings import Finding, Severity, VerificationError
from intrinsics.modifiers import Modifier, ScalarType, Sem, Space
from intrinsics.row import Access, Attribute, Effect, Operand, Residency, Row
from intrinsics.targets import Ptx, Target

# ---- operands --------------------------------------------------------------------------------

Reg: TypeAlias = int
"""A virtual register: an index into its function's register table."""


@dataclass(slots=True, unsafe_hash=True)
class Imm:
    """An integer literal, with the value that was written (not wrapped to a width)."""

    value: int


_FLOAT = {ScalarType.F32: "<f", ScalarType.F64: "<d"}


@dataclass(slots=True, unsafe_hash=True)
class FloatImm:
    """A floating-point literal: its bits in `type` (f32 or f64)."""

    bits: int
    type: ScalarType

    def bits_as(self, type: ScalarType) -> int:
        """The bits of the same number in `type`, rounded to nearest; untyped bits stay."""
        if type is self.type or type.kind != "f":
            return self.bits
        (value,) = struct.unpack(
            _FLOAT[self.type], self.bits.to_bytes(self.type.bits // 8, "little")
        )
        return int.from_bytes(struct.pack(_FLOAT[type], value), "little")


@dataclass(slots=True, unsafe_hash=True)
class Sym:
    """The address of a global variable, parameter or function, plus a constant number of bytes."""

    name: str
    offset: int = 0


@dataclass(slots=True, unsafe_hash=True)
class Special:
    """A special register: `%tid.x` is `Special("tid.x")`."""

    name: str


@dataclass(slots=True, unsafe_hash=True)
class Label:
    """A block of the same function, by name."""

    name: str


@dataclass(slots=True, unsafe_hash=True)
class Text:
    """A statement kept as it stood."""

    text: str


@dataclass(slots=True, unsafe_hash=True)
class Mem:
    """An address operand: a register or symbol plus a constant number of bytes.

    A symbol in it has no offset of its own.
    """

    base: Reg | Sym
    offset: int = 0


@dataclass(slots=True, unsafe_hash=True)
class Not:
    """A negated predicate register."""

    reg: Reg


def guard_register(guard: Reg | Not) -> Reg:
    """The register of a guard, negated or not."""
    return guard.reg if isinstance(guard, Not) else guard


def negated(guard: Reg | Not) -> Reg | Not:
    """The guard that holds where this one does not."""
    return guard.reg if isinstance(guard, Not) else Not(guard)


class Sink(Enum):
    """The result nobody wants: `_`."""

    SINK = "_"


SINK = Sink.SINK

Scalar: TypeAlias = Reg | Imm | FloatImm | Sym | Special | Label | Text | Mem | Not | Sink
Op: TypeAlias = Scalar | tuple[Scalar, ...]

HOLDERS = frozenset((tuple, Mem, Not))
"""The operands that registers stand in, beside registers themselves."""


# ---- forms and records -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class Form:
    """A row with its opcode qualifiers and operand places settled; interned by `form_of`."""

    row: Row
    values: tuple[Attribute, ...]  # one per form_attribute_names(row)
    attributes: dict[str, Attribute]
    opcode: str
    slots: tuple[str, ...]
    index: dict[str, int]
    operands: tuple[Operand | None, ...]  # per slot; None for a packed word
    defs: tuple[int, ...]  # slots that are written and not read
    uses: tuple[int, ...]  # slots that are read
    updates: tuple[int, ...]  # slots that are read and written
    in_order: bool  # whether what is written stands before what is read
    writes_first: bool  # whether its first operand is all that it writes
    is_terminator: bool
    is_pure: bool

    def __repr__(self) -> str:
        return f"<{self.opcode}>"


def form_attribute_names(row: Row) -> tuple[str, ...]:
    """What tells the forms of `row` apart: opcode qualifiers, optional operands, residencies."""
    return _form_attribute_names(row)


@functools.cache
def _form_attribute_names(row: Row) -> tuple[str, ...]:
    in_words = row.packed_fields.qualifiers if row.packed_fields else frozenset()
    return tuple(name for name in row.attribute_names if name not in in_words)


@functools.cache
def _intern(row: Row, values: tuple[Attribute, ...]) -> Form:
    attributes = dict(zip(form_attribute_names(row), values, strict=True))
    words = row.packed_fields.slots(attributes) if row.packed_fields else ()
    slots = tuple(
        s
        for s in row.slot_names
        if (attributes[s] if s in row.optional else s in row.operand or s in words)
    )
    operands = tuple(row.operand.get(s) for s in slots)
    effect = row.effects.effect
    written = tuple(i for i, o in enumerate(operands) if o is not None and o.access is Access.WRITE)
    others = tuple(i for i in range(len(slots)) if i not in written)
    updated = tuple(
        i for i, o in enumerate(operands) if o is not None and o.access is Access.UPDATE
    )
    return Form(
        row,
        values,
        attributes,
        opcode_name(row, attributes),
        slots,
        {name: i for i, name in enumerate(slots)},
        operands,
        written,
        others,
        updated,
        (*written, *others) == tuple(range(len(slots))),
        written == (0,) and not updated,
        Effect.TERMINATOR in effect,
        row.effects.is_pure and attributes.get("sem") in (None, Sem.WEAK),
    )


def form_of(row: Row, **attributes: Attribute) -> Form:
    """The form of `row` under `attributes`; what is not named is absent.

    A qualifier value that implies an operand (a row's `tied`) is filled in from the operand.
    """
    return _form_of(row, tuple(attributes.items()))


@functools.cache
def _form_of(row: Row, given: tuple[tuple[str, Attribute], ...]) -> Form:
    attributes = dict(given)
    for qualifier, operand in row.tied.items():
        if qualifier not in attributes and attributes.get(operand) and qualifier in row.qualifier:
            attributes[qualifier] = row.qualifier[qualifier].values[0]
    return _intern(
        row, tuple(_default(row, name, attributes) for name in form_attribute_names(row))
    )


def _default(row: Row, name: str, attributes: dict[str, Attribute]) -> Attribute:
    if name in attributes:
        return attributes[name]
    if name in row.optional:
        return False
    qualifier = row.qualifier.get(name)
    if qualifier is None:
        return Residency.SHARED
    if qualifier.optional:
        return None
    assert len(qualifier.values) == 1, f"{row.id}: {name} must be given"
    return qualifier.values[0]


def opcode_name(row: Row, attributes: dict[str, Attribute]) -> str:
    """The opcode of a form: the head and the qualifiers that the opcode spells."""
    before, after = row.opcode_ends
    found = [attributes[name] for name in row.opcode_qualifiers]
    spelled = [attribute.opcode for attribute in found if isinstance(attribute, Modifier)]
    return "_".join(part for part in (before.strip("_"), *spelled, after.strip("_")) if part)


@dataclass(slots=True)
class MachineInstr:
    """One machine record.

    `guard` is the predicate that must hold (`@p`, `@!p`); `loc` indexes the module's locations.
    """

    form: Form
    ops: tuple[Op, ...]
    guard: Reg | Not | None = None
    loc: int = 0

    def __getitem__(self, slot: str) -> Op:
        return self.ops[self.form.index[slot]]

    def get(self, slot: str) -> Op | None:
        """The operand in `slot`, or None where the form has no such slot."""
        i = self.form.index.get(slot)
        return None if i is None else self.ops[i]

    @property
    def opcode(self) -> str:
        """The opcode's name."""
        return self.form.opcode

    @property
    def row(self) -> Row:
        """The row it is an instance of."""
        return self.form.row

    def attributes(self) -> dict[str, Attribute]:
        """Everything that the row's rules may ask of this record, packed words included."""
        words = self.form.row.packed_fields
        if words is None:
            return self.form.attributes
        found, _ = words.unpack(self.packed_fields(), self.form.attributes)
        return {**self.form.attributes, **found}

    def scalar_type(self, qualifier: str = "type") -> ScalarType:
        """The type that the opcode has on a qualifier where every form of the row has one."""
        found = self.form.attributes[qualifier]
        assert isinstance(found, ScalarType)
        return found

    def packed_fields(self) -> dict[str, int]:
        """The packed words of the record, by slot.

        Raises: VerificationError where a word is no number: then nobody knows what the record is.
        """
        words = self.form.row.packed_fields
        slots = words.slots(self.form.attributes) if words else ()
        found = {slot: self.get(slot) for slot in slots}
        unknown = [slot for slot, op in found.items() if not isinstance(op, Imm)]
        if unknown:
            raise VerificationError([_unknown_word(self.form, slot) for slot in unknown])
        return {slot: op.value for slot, op in found.items() if isinstance(op, Imm)}

    def defs(self) -> list[Reg]:
        """Registers that it writes."""
        found = _registers_in(self.ops, self.form.defs)
        return found + _registers_in(self.ops, self.form.updates) if self.form.updates else found

    def uses(self) -> list[Reg]:
        """Registers that it reads, the guard's and the bases of written addresses among them."""
        result = _registers_in(self.ops, self.form.uses)
        if self.guard is not None:
            result.append(guard_register(self.guard))
        return result

    def map_registers(self, table: dict[Reg, Reg]) -> None:
        """Replace every register that `table` names."""
        ops: list[Op] = []
        for op in self.ops:
            if type(op) is int:
                op = table.get(op, op)
            elif type(op) in HOLDERS:
                op = _mapped(op, table)
            ops.append(op)
        self.ops = tuple(ops)
        if isinstance(self.guard, Not):
            self.guard = Not(table.get(self.guard.reg, self.guard.reg))
        elif self.guard is not None:
            self.guard = table.get(self.guard, self.guard)

    def labels(self) -> list[str]:
        """The blocks that it names, in order: a branch's target, or those of a table."""
        found: list[str] = []
        for op in self.ops:
            if type(op) is Label:
                found.append(op.name)
            elif type(op) is tuple:
                found += [part.name for part in op if type(part) is Label]
        return found

    def map_labels(self, table: Mapping[str, str]) -> None:
        """Give every label the name that `table` has for it."""
        self.ops = tuple(
            [
                tuple([_labelled(part, table) for part in op])
                if isinstance(op, tuple)
                else _labelled(op, table)
                for op in self.ops
            ]
        )


def _labelled(op: Scalar, table: Mapping[str, str]) -> Scalar:
    return Label(table.get(op.name, op.name)) if isinstance(op, Label) else op


def _unknown_word(form: Form, slot: str) -> Finding:
    """What is said of a packed word that is no number."""
    return Finding(
        f"{form.row.head}/packed-word",
        Severity.ERROR,
        f"{slot} is packed into the instruction: it cannot be in a register",
        op=form.opcode,
        got=f"{slot} is no number",
        expected=f"{slot}: imm:…",
        hint="PTX spells what the word holds as modifiers, which are fixed",
        section=f"PTX ISA, {form.row.section}",
        subject=slot,
    )


def _registers_in(ops: tuple[Op, ...], places: tuple[int, ...]) -> list[Reg]:
    """The registers in some of the operands, in order: a plain loop, since passes live in it."""
    found: list[Reg] = []
    for i in places:
        op = ops[i]
        if type(op) is int:
            found.append(op)
        elif type(op) in HOLDERS:
            found += registers_of(op)
    return found


def registers_of(op: Op) -> tuple[Reg, ...]:
    """The registers in an operand, in order."""
    if type(op) is int:
        return (op,)
    if type(op) is Mem:
        return (op.base,) if type(op.base) is int else ()
    if type(op) is tuple:
        found: list[Reg] = []
        for part in op:
            if type(part) is int:
                found.append(part)
            elif type(part) in HOLDERS:
                found += registers_of(part)
        return tuple(found)
    return (op.reg,) if type(op) is Not else ()


def _mapped(op: Op, table: dict[Reg, Reg]) -> Op:
    if isinstance(op, tuple):
        return tuple([_mapped_scalar(part, table) for part in op])
    return _mapped_scalar(op, table)


def _mapped_scalar(op: Scalar, table: dict[Reg, Reg]) -> Scalar:
    if type(op) is int:
        return table.get(op, op)
    if type(op) is Mem and type(op.base) is int:
        return Mem(table.get(op.base, op.base), op.offset)
    if type(op) is Not:
        return Not(table.get(op.reg, op.reg))
    return op


# ---- functions and modules -------------------------------------------------------------------


UNNAMED = "%"
"""What the names of blocks begin with that have no label in PTX."""


@dataclass(slots=True)
class Block:
    """A straight run of records; control falls through to the next block at its end.

    The loop that begins with a block of `nounroll` is not to be unrolled (PTX ISA, Pragma Strings).
    """

    name: str
    instrs: list[MachineInstr] = field(default_factory=list)
    nounroll: bool = False

    @property
    def end(self) -> int:
        """Where what every path through the block has executed ends: at its first terminator.

        Others may stand behind it, with what only they read (a switch's next comparison).
        """
        for at, mi in enumerate(self.instrs):
            if mi.form.is_terminator:
                return at
        return len(self.instrs)

    def terminators(self) -> list[MachineInstr]:
        """The records that may send control elsewhere, in order."""
        return [mi for mi in self.instrs if mi.form.is_terminator]


@dataclass(slots=True)
class RegisterTable:
    """The virtual registers of a function: their classes, and names for people."""

    classes: list[ScalarType] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def new(self, cls: ScalarType, name: str = "") -> Reg:
        """A fresh register."""
        self.classes.append(cls)
        self.names.append(name)
        return len(self.classes) - 1

    def __len__(self) -> int:
        return len(self.classes)


@dataclass(slots=True, unsafe_hash=True)  # a frozen one takes three times as long to make
class Param:
    """A kernel or function parameter.

    `size` is in bytes; a struct passed by value has type B8.  `pointee` is the state space of a
    pointer (None: not a pointer), `constant` marks a grid constant.  `half` is F16 or BF16 where 16
    bits are known to be one of them, which no text of PTX or MIR says.  `called` is its name in the
    source, which PTX has in a comment.
    """

    name: str
    type: ScalarType
    size: int
    align: int
    pointee: Space | None = None
    is_pointer: bool = False
    pointee_align: int = 1
    constant: bool = False
    half: ScalarType | None = field(default=None, compare=False)
    called: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Launch:
    """What the source says about how a kernel is launched; () and 0 mean "not said"."""

    reqntid: tuple[int, ...] = ()
    maxntid: tuple[int, ...] = ()
    cluster: tuple[int, ...] = ()
    maxnreg: int = 0
    minctasm: int = 0
    maxclusterrank: int = 0
    blocks_are_clusters: bool = False
    implicit_cluster: bool = False  # a launch need not say the cluster: no .explicitcluster


NOTHING_SAID = Launch()
"""The launch of a kernel of which the source says nothing."""


class Linkage(Enum):
    """Who sees a function.  PTX ISA, Linking Directives; the values are the directives."""

    INTERNAL = ""
    VISIBLE = "visible"
    WEAK = "weak"


@dataclass(frozen=True, slots=True)
class Prototype:
    """What a function takes and gives: one that another module defines, or any called by pointer.

    PTX ISA, Kernel and Function Directives: .func; Control Flow Directives: .callprototype.
    `attributes` are directives that nvgen has no other place for, as they stood.
    """

    name: str
    params: tuple[Param, ...] = ()
    results: tuple[Param, ...] = ()
    noreturn: bool = False
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Address:
    """An address among initial values: 8 bytes at byte `at` of the variable.

    `offset` is added to the address of `name`, which is `generic` or one in the variable's space.
    """

    at: int
    name: str
    offset: int = 0
    generic: bool = False


class Export(Enum):
    """Who else sees a variable.  PTX ISA, Linking Directives; the values are the directives."""

    NONE = ""
    VISIBLE = "visible"
    WEAK = "weak"
    COMMON = "common"


@dataclass(frozen=True, slots=True)
class Variable:
    """A module-level variable.

    `size` is in bytes, 0 for the unsized array of dynamic shared memory; `data` the initialiser,
    with zeros in the place of `addresses`.  `type` is that of a call's parameter, where B8 stands
    for bytes.  `attribute` is a directive such as `.attribute(.managed)`, as it stood.
    """

    name: str
    space: Space
    size: int
    align: int
    data: bytes | None = None
    external: bool = False
    type: ScalarType = ScalarType.B8
    export: Export = Export.NONE
    addresses: tuple[Address, ...] = ()
    attribute: str = ""

    @property
    def has_parts_of_addresses(self) -> bool:
        """Whether an address among its initial values is written byte by byte, by a mask."""
        places = (self.size, self.align, *(address.at for address in self.addresses))
        return bool(self.addresses) and any(place % 8 for place in places)

    @property
    def address_space(self) -> Space:
        """The state space of its address: a parameter that a body declares is that of a call."""
        return Space.PARAM_FUNC if self.space is Space.PARAM else self.space


@dataclass(slots=True)
class MachineFunction:
    """A kernel (or device function) as machine records.

    `variables` are those that only this function sees, the parameters of its calls among them, and
    `prototypes` those of its calls by pointer.  `keep_names` says that registers and blocks keep
    their names in PTX (they were read from PTX).  `attributes` are directives of its header that
    nvgen has no other place for, as they stood.
    """

    name: str
    is_kernel: bool = True
    params: list[Param] = field(default_factory=list)
    launch: Launch = NOTHING_SAID
    regs: RegisterTable = field(default_factory=RegisterTable)
    blocks: list[Block] = field(default_factory=list)
    keep_names: bool = False
    variables: list[Variable] = field(default_factory=list)
    results: list[Param] = field(default_factory=list)
    linkage: Linkage = Linkage.VISIBLE
    noreturn: bool = False
    prototypes: list[Prototype] = field(default_factory=list)
    attributes: tuple[str, ...] = ()

    @property
    def signature(self) -> Prototype:
        """What it takes and gives."""
        params, results = tuple(self.params), tuple(self.results)
        return Prototype(self.name, params, results, self.noreturn, self.attributes)

    @property
    def param_space(self) -> Space:
        """The state space of its parameters."""
        return Space.PARAM_ENTRY if self.is_kernel else Space.PARAM_FUNC

    def instructions(self) -> Iterator[MachineInstr]:
        """Every record, in layout order."""
        return itertools.chain.from_iterable([block.instrs for block in self.blocks])

    def forms(self) -> set[Form]:
        """The forms of its records: what asks for rows need not look at every record."""
        return {mi.form for block in self.blocks for mi in block.instrs}


@dataclass(slots=True, unsafe_hash=True)
class Location:
    """Where a record comes from; lines count from 1, 0 says unknown.

    `directives` are those of PTX that stood before the record and are about it: `.loc`, `.pragma`.
    `callers` are the files and lines that called the function which has the line of Python, and
    `called` the names of what each called, where they are known.
    """

    file: str = ""
    line: int = 0
    column: int = 0
    python_file: str = ""
    python_line: int = 0
    directives: str = ""
    callers: tuple[tuple[str, int], ...] = ()
    called: tuple[str, ...] = ()


class Where(Enum):
    """Where in a PTX module a directive stands that nvgen keeps as text."""

    TOP = "top"  # before every declaration
    MIDDLE = "middle"  # behind the variables, before the functions
    BOTTOM = "bottom"


@dataclass(frozen=True, slots=True)
class Kept:
    """A module's directive kept as it stood: `.file`, `.section`, `.alias`, what is not known."""

    text: str
    where: Where


@dataclass
class Module:
    """Machine code for one target.

    `ptx` is the version asked for, or None to take the lowest that the target and the records need.
    `externals` are functions that another module defines.  `locations[0]` is the unknown one;
    `notes` are what selection and passes tell the user.  `options` are what `.target` says beside
    the target (`debug`), and `kept` are directives of PTX as they stood.  `stage` is the pass that
    was the last to change it, "" when no pass is missing.
    """

    target: Target
    ptx: Ptx | None = None
    source: str = ""
    variables: list[Variable] = field(default_factory=list)
    functions: list[MachineFunction] = field(default_factory=list)
    externals: list[Prototype] = field(default_factory=list)
    locations: list[Location] = field(default_factory=lambda: [Location()])
    notes: list[Finding] = field(default_factory=list, compare=False)
    options: tuple[str, ...] = ()
    kept: list[Kept] = field(default_factory=list)
    stage: str = ""

    def locate_by(self, make: Callable[[], list[Location]]) -> None:
        """Let `make` give the locations when they are first asked for."""
        vars(self).pop("locations", None)
        self._make_locations: Callable[[], list[Location]] = make

    @property
    def is_located(self) -> bool:
        """Whether the locations are there, or have to be made."""
        return "locations" in vars(self)

    if not TYPE_CHECKING:  # where `locations` is a field like others

        def __getattr__(self, name: str) -> list[Location]:
            if name != "locations" or "_make_locations" not in vars(self):
                raise AttributeError(name)
            self.locations = self._make_locations()
            return self.locations

    @property
    def has_directives(self) -> bool:
        """Whether records have directives of PTX before them: those of LLVM IR have none."""
        return self.is_located and any(location.directives for location in self.locations)

    def function(self, name: str) -> MachineFunction | None:
        """The function called `name`."""
        return next((f for f in self.functions if f.name == name), None)

    def signature(self, name: str) -> Prototype | None:
        """What the function called `name` takes and gives, defined here or elsewhere."""
        defined = self.function(name)
        if defined is not None:
            return defined.signature
        return next((f for f in self.externals if f.name == name), None)


# ---- structure -------------------------------------------------------------------------------


def phis_of(block: Block) -> list[MachineInstr]:
    """The PHI records that a block begins with."""
    return [*itertools.takewhile(lambda mi: mi.form.row.id == "phi", block.instrs)]


def successors(function: MachineFunction) -> list[list[int]]:
    """For each block, the indices of the blocks that control may go to next."""
    blocks = function.blocks
    position = {block.name: i for i, block in enumerate(blocks)}
    result: list[list[int]] = []
    for i, block in enumerate(blocks, 1):
        targets: list[int] = []
        falls = i < len(blocks)
        for mi in block.instrs:
            if mi.form.is_terminator:
                falls = falls and mi.guard is not None
                for name in mi.labels():
                    target = position.get(name)
                    if target is not None:
                        targets.append(target)
        if falls:
            targets.append(i)
        result.append(targets if len(targets) < 2 else list(dict.fromkeys(targets)))
    return result


def predecessors(function: MachineFunction) -> list[list[int]]:
    """For each block, the indices of the blocks that control may come from."""
    return inverted(successors(function))


def inverted(after: Sequence[Sequence[int]]) -> list[list[int]]:
    """The predecessors of blocks that have these successors."""
    result: list[list[int]] = [[] for _ in after]
    for i, targets in enumerate(after):
        for target in targets:
            result[target].append(i)
    return result


def renumber(function: MachineFunction) -> None:
    """Number registers in the order of their first appearance, and drop those never used.

    Texts of a function and the function read back from them then agree on every number.
    """
    table: defaultdict[Reg, Reg] = defaultdict(itertools.count().__next__)
    for block in function.blocks:
        for mi in block.instrs:
            if not mi.form.in_order or mi.guard is not None:
                for reg in appearances(mi):
                    table[reg]
                mi.map_registers(table)
                continue
            ops: list[Op] = []  # a plain loop, as in `MachineInstr.map_registers`
            for op in mi.ops:
                if type(op) is int:
                    op = table[op]
                elif type(op) in HOLDERS:
                    for reg in registers_of(op):
                        table[reg]
                    op = _mapped(op, table)
                ops.append(op)
            mi.ops = tuple(ops)
    old = function.regs
    function.regs = RegisterTable(
        [old.classes[reg] for reg in table], [old.names[reg] for reg in table]
    )


def appearances(mi: MachineInstr) -> list[Reg]:
    """Registers in the order in which text shows them: guard, results, then the other operands."""
    found = _registers_in(mi.ops, mi.form.defs) + _registers_in(mi.ops, mi.form.uses)
    if mi.guard is not None:
        found.insert(0, mi.guard.reg if isinstance(mi.guard, Not) else mi.guard)
    return found

"""Functions: basic blocks of records, a register table, and how a kernel is launched.

Layer: intrinsics.mir.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import field

from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir.declarations import Linkage, Param, Prototype, Variable
from intrinsics.mir.forms import Form
from intrinsics.mir.operands import HOLDERS, Label, Op, Reg, Scalar, mapped, registers_of
from intrinsics.mir.records import MachineInstr, appearances
from intrinsics.modifiers import ScalarType, Space

UNNAMED = "%"
"""The prefix of names of blocks without a label in PTX."""


@dataclass(slots=True)
class Block:
    """A basic block: records, and a fall-through to the next block at its end.

    The loop that begins with a block of `nounroll` is not to be unrolled (PTX ISA, Pragma Strings).
    """

    name: str
    instrs: list[MachineInstr] = field(default_factory=list)
    nounroll: bool = False

    @property
    def end(self) -> int:
        """The index of the first terminator: records before it are executed on every path.

        Others may follow it, with records that only they need (a switch's next comparison).
        """
        for at, mi in enumerate(self.instrs):
            if mi.form.is_terminator:
                return at
        return len(self.instrs)

    def terminators(self) -> list[MachineInstr]:
        """The records that may branch, in order."""
        return [mi for mi in self.instrs if mi.form.is_terminator]


@dataclass(slots=True)
class RegisterTable:
    """The virtual registers of a function: their classes, and names for messages."""

    classes: list[ScalarType] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def new(self, cls: ScalarType, name: str = "") -> Reg:
        """A fresh register."""
        self.classes.append(cls)
        self.names.append(name)
        return len(self.classes) - 1

    def __len__(self) -> int:
        return len(self.classes)


@dataclass(frozen=True, slots=True)
class Launch:
    """The launch directives of a kernel; () and 0 mean that there is none."""

    reqntid: tuple[int, ...] = ()
    maxntid: tuple[int, ...] = ()
    cluster: tuple[int, ...] = ()
    maxnreg: int = 0
    minctasm: int = 0
    maxclusterrank: int = 0
    blocks_are_clusters: bool = False
    implicit_cluster: bool = False  # a launch need not give the cluster: no .explicitcluster


NOTHING_SAID = Launch()
"""The launch of a kernel without launch directives."""


@dataclass(slots=True)
class MachineFunction:
    """A kernel (or device function) as machine records.

    `variables` are local ones, with the parameters of its calls, and `prototypes` those of its
    indirect calls.  `keep_names` says that registers and blocks keep their names in PTX, from which
    they were read.  `attributes` are other directives of its header, kept as text.
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
        """Its parameters and results."""
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
        """The forms of its records: a query about rows need not look at every record."""
        return {mi.form for block in self.blocks for mi in block.instrs}


def phis_of(block: Block) -> list[MachineInstr]:
    """The PHI records that a block begins with."""
    found: list[MachineInstr] = []
    for mi in block.instrs:
        if mi.form.row.id != "phi":
            break
        found.append(mi)
    return found


def incoming(phi: MachineInstr) -> list[tuple[Scalar, str]]:
    """The values that a PHI merges, each with the name of the block that it comes from."""
    _, values, labels = phi.ops
    assert isinstance(values, tuple)
    assert isinstance(labels, tuple)
    names = [label.name for label in labels if type(label) is Label]
    return list(zip(values, names, strict=True))


def written_often(function: MachineFunction) -> set[Reg]:
    """The registers that several records write."""
    seen: set[Reg] = set()
    often: set[Reg] = set()
    for mi in function.instructions():
        if mi.form.writes_first and type(reg := mi.ops[0]) is int:
            (often if reg in seen else seen).add(reg)
            continue
        for reg in mi.defs():
            (often if reg in seen else seen).add(reg)
    return often


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
                    op = mapped(op, table)
                ops.append(op)
            mi.ops = tuple(ops)
    old = function.regs
    function.regs = RegisterTable(
        [old.classes[reg] for reg in table], [old.names[reg] for reg in table]
    )

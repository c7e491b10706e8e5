"""What the walkthrough's records of a function have to do with each other.

Layer: isel.passes.  Input: a function with pseudo records, after SSA form was left.  Output: which
allocation a handle comes from, how many columns it needs, which tile a descriptor describes; and
what is wrong, as findings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from intrinsics.descriptors.smem_desc import Swizzle
from intrinsics.descriptors.smem_strides import Tile
from intrinsics.findings import Finding
from intrinsics.layouts.umma_layout import check_umma_layout
from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import COLUMNS, FEWEST_COLUMNS, STATIC_SHARED
from intrinsics.mir import Imm, MachineFunction, MachineInstr, Mem, Module, Reg
from intrinsics.operand_problems import operand_problems
from intrinsics.rows.walkthrough import HARDWARE_COLUMNS, SWIZZLE_CODES
from isel.passes.walkthrough.accumulators import (
    MULTIPLIES,
    Accumulator,
    DecodedMma,
    load_problems,
    read_by,
)
from isel.passes.walkthrough.flow import (
    ALLOC,
    CP,
    DEALLOC,
    ENCODE,
    LD,
    Diagnostics,
    check_flow,
    check_group,
)
from isel.variables import named_shared

SLOTS = 8
"""Bytes of the expansion's mbarrier, behind which the slots of the allocations lie."""


_WARP = 32


@dataclass(slots=True)
class Allocations:
    """Allocations and tiles; the keys are identities of records."""

    columns: dict[int, int] = field(default_factory=dict)  # of an alloc or dealloc, hardware's
    needed: dict[int, int] = field(default_factory=dict)  # of an alloc: by its accumulators
    tiles: dict[int, list[tuple[Tile, bool]]] = field(default_factory=dict)  # of an encode: sparse?
    held: dict[int, set[Accumulator]] = field(default_factory=dict)  # of an alloc
    loads: dict[int, Accumulator] = field(default_factory=dict)  # of an ld
    pair: bool = False
    findings: list[Finding] = field(default_factory=list)  # errors
    warnings: list[Finding] = field(default_factory=list)


def gather(module: Module, function: MachineFunction) -> Allocations:
    """Everything that the expansion needs to know of `function`."""
    return _Gatherer(module, function).run()


class _Gatherer:
    def __init__(self, module: Module, function: MachineFunction) -> None:
        self.module = module
        self.function = function
        self.diagnostics = Diagnostics(module, function)
        self.allocations = Allocations(
            findings=self.diagnostics.findings, warnings=self.diagnostics.warnings
        )
        self.makers: dict[Reg, list[MachineInstr]] = {}
        for mi in function.instructions():
            for reg in mi.defs():
                self.makers.setdefault(reg, []).append(mi)

    def run(self) -> Allocations:
        self._check_operands()
        self.allocations.pair = check_group(self.diagnostics, self.function)
        self._check_threads()
        check_flow(self.diagnostics, self.function)
        for mi in self._records(*MULTIPLIES):
            self._multiply(mi)
        for mi in self._records(CP):
            self._allocations(mi, mi["handle"])
        for mi in self._records(ALLOC):
            self._allocate(mi)
        for mi in self._records(LD):
            self._load(mi)
        for mi in self._records(DEALLOC):
            self._deallocate(mi)
        self._check_scratch()
        self._check_room()
        return self.allocations

    def _records(self, *rows: str) -> list[MachineInstr]:
        return [mi for mi in self.function.instructions() if mi.row.id in rows]

    # ---- the function as a whole -------------------------------------------------------------

    def _check_operands(self) -> None:
        classes = self.function.regs.classes
        for mi in self.function.instructions():
            if not mi.row.pseudo:
                continue
            for problem in operand_problems(
                mi.form, mi.form.attributes, mi.ops, classes, _no_symbol
            ):
                self.diagnostics.error(
                    mi, problem.rule, problem.text, got=problem.got, expected=problem.expected,
                    hint=problem.hint, subject=problem.subject,
                )  # fmt: skip

    def _check_threads(self) -> None:
        """The load needs a warp for each quarter of the lanes."""
        sizes = self.function.launch.reqntid
        threads = 1
        for size in sizes:
            threads *= size
        loads, allocs = self._records(LD), self._records(ALLOC)
        if sizes and threads < _WARP and allocs:
            self.diagnostics.error(
                allocs[0],
                "init",
                "failed to init tmem: a whole warp allocates it",
                got=f"{threads} threads",
                expected="32 threads or more",
            )
        if sizes and threads < 128 and loads:
            self.diagnostics.error(
                loads[0],
                "threads",
                "four warps are needed to read the rows of the accumulator",
                got=f"{threads} threads",
                expected="128 threads or more",
                hint="warp w of a warpgroup reaches lanes 32w to 32w+31 only",
                section="tcgen05.ld, Access restrictions",
            )

    # ---- handles and columns -----------------------------------------------------------------

    def _origins(
        self, start: Reg, sources: Callable[[MachineInstr], list[Reg] | None]
    ) -> list[MachineInstr]:
        """The records that the value of a register may come from.

        `sources` gives the registers that a record copies, or None where it computes the value.
        """
        found: dict[int, MachineInstr] = {}
        seen, work = {start}, [start]
        while work:
            for mi in self.makers.get(work.pop(), ()):
                handed = None if mi.row.pseudo else sources(mi)
                if handed is None:
                    found[id(mi)] = mi
                    continue
                new = [reg for reg in handed if reg not in seen]
                seen.update(new)
                work += new
        return list(found.values())

    def _allocations(self, mi: MachineInstr, handle: object) -> list[MachineInstr]:
        """The allocations that a handle may come from; what else it may be is an error."""
        reg = handle.base if isinstance(handle, Mem) else handle
        origins = self._origins(reg, _copied) if isinstance(reg, int) else []
        found = [origin for origin in origins if origin.row.id == ALLOC]
        if not found or len(found) < len(origins):
            other = next((o.opcode for o in origins if o.row.id != ALLOC), "no allocation")
            self.diagnostics.error(
                mi,
                "handle",
                "the handle is not what an allocation of this function gave",
                got=other,
                expected="the result of llvm.nvvm.tcgen05.alloc.shared, unchanged",
                hint="an allocation holds one accumulator",
            )
            return []
        return found

    def _multiply(self, mi: MachineInstr) -> None:
        multiply = DecodedMma.of(mi)
        for slot in ("d", "a", "sp_meta", "sfa", "sfb"):
            if isinstance(mi.get(slot), Mem):
                self._in_tensor_memory(mi, slot, multiply)
        for slot in ("a", "b"):
            desc = mi[slot]
            tile = _tile(multiply, slot)
            sparse = multiply.shape.sparse and slot == "a"
            for origin in self._origins(desc, _computed) if isinstance(desc, int) else ():
                if origin.row.id == ENCODE:
                    self.allocations.tiles.setdefault(id(origin), []).append((tile, sparse))
                    self._check_size(mi, slot, tile, origin, sparse=sparse)

    def _in_tensor_memory(self, mi: MachineInstr, slot: str, multiply: DecodedMma) -> None:
        """An operand that a handle names: the allocation has room for it."""
        for alloc in self._allocations(mi, mi[slot]):
            needed, known = multiply.columns(slot), self.allocations.needed.get(id(alloc), 0)
            self.allocations.needed[id(alloc)] = max(known, needed)
            if slot == "d":
                self.allocations.held.setdefault(id(alloc), set()).add(multiply.accumulator)

    def _load(self, mi: MachineInstr) -> None:
        held: set[Accumulator] = set()
        for alloc in self._allocations(mi, mi["handle"]):
            held |= self.allocations.held.get(id(alloc), set())
        for problem in load_problems(mi, held):
            self.diagnostics.error(
                mi, problem.rule, problem.text, got=problem.got, expected=problem.expected
            )
        self.allocations.loads[id(mi)] = next(iter(held), read_by(mi))

    def _check_size(
        self, mi: MachineInstr, slot: str, tile: Tile, encode: MachineInstr, *, sparse: bool
    ) -> None:
        """Whether the tile is one of whole atoms; wrong strides are put right, and diagnostics."""
        code = _number(encode, "swizzle")
        if code not in SWIZZLE_CODES:
            return  # reported with the operands
        for problem in check_umma_layout(tile, Swizzle(SWIZZLE_CODES[code]), sparse=sparse):
            self.diagnostics.error(
                mi,
                "layout",
                problem.text,
                got=problem.got,
                expected=problem.expected,
                section="Canonical Layouts",
                subject=slot,
            )

    def _allocate(self, mi: MachineInstr) -> None:
        asked = _number(mi, "columns") * HARDWARE_COLUMNS
        wanted = max(asked, self.allocations.needed.get(id(mi), 0), FEWEST_COLUMNS)
        self.allocations.columns[id(mi)] = 1 << (wanted - 1).bit_length()

    def _deallocate(self, mi: MachineInstr) -> None:
        for alloc in self._allocations(mi, mi["handle"]):
            got, expected = _number(mi, "columns"), _number(alloc, "columns")
            if got != expected:
                self.diagnostics.error(
                    mi, "dealloc-columns", "another number of columns than was allocated",
                    got=str(got), expected=str(expected), subject="columns",
                )  # fmt: skip
            known = self.allocations.columns.setdefault(id(mi), self.allocations.columns[id(alloc)])
            if known != self.allocations.columns[id(alloc)]:
                self.diagnostics.error(
                    mi, "dealloc-columns", "the handle may come from allocations of several sizes",
                    got=f"{known} and {self.allocations.columns[id(alloc)]} columns",
                    expected="a dealloc for each",
                )  # fmt: skip

    def _check_scratch(self) -> None:
        """The address of an allocation goes through shared memory, which may be full."""
        allocs = self._records(ALLOC)
        size = SLOTS + 4 * len(allocs)
        used = sum(v.size for v in named_shared(self.module, [self.function]))
        if allocs and used + size > STATIC_SHARED:
            self.diagnostics.error(
                allocs[0],
                "scratch",
                "failed to find scratch smem to allocate tmem",
                got=f"{used} bytes of shared memory in use",
                expected=f"at most {STATIC_SHARED - size}: {size} are needed here",
                hint="dynamic shared memory (an external array of no size) has more room",
            )

    def _check_room(self) -> None:
        allocs = self._records(ALLOC)
        total = sum(self.allocations.columns[id(mi)] for mi in allocs)
        if total > COLUMNS and not self._records(DEALLOC) and not self.allocations.findings:
            self.diagnostics.error(
                allocs[-1],
                "room",
                f"allocated tmem out of resource: {total} columns of {COLUMNS}",
                got=f"{total} columns",
                expected=f"{COLUMNS} columns in all",
            )


def _tile(multiply: DecodedMma, slot: str) -> Tile:
    """What the shared memory of one CTA holds of A or B; the zeros of a sparse A count."""
    found, ctas = multiply.descriptor, multiply.shape.ctas
    if slot == "a":
        return Tile(found.m // ctas, found.k, multiply.bits(found.a), found.a_major)
    return Tile(found.n // ctas, found.k, multiply.bits(found.b), found.b_major)


def _number(mi: MachineInstr, slot: str) -> int:
    op = mi[slot]
    return op.value if isinstance(op, Imm) else 0


def _copied(mi: MachineInstr) -> list[Reg] | None:
    """The registers of which a record copies one."""
    if mi.row.id not in ("mov", "selp"):
        return None
    values = [mi[slot] for slot in ("a", "b") if slot in mi.form.index]
    registers = [op for op in values if isinstance(op, int)]
    return registers if len(registers) == len(values) else None


def _computed(mi: MachineInstr) -> list[Reg] | None:
    """The registers that a record computes with."""
    return mi.uses() if mi.form.is_pure else None


def _no_symbol(name: str) -> None:
    return None

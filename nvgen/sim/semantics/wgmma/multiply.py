"""wgmma: multiplies of a warpgroup, and what orders them.

Layer: nvgen.sim.semantics.  The four warps of a warpgroup wait for each other at a multiply; the
last to come issues it for all.  It takes effect between its issue and the wait for its group, at a
moment that the schedule picks: it reads shared memory and registers, and writes the accumulators
then.  It comes behind earlier multiplies on its accumulators and behind all earlier groups.  Which
registers are whose is in `multiplies`, what a multiply does in `wgmma_effect`.  PTX ISA,
Asynchronous Warpgroup Level Matrix Instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor
from intrinsics.descriptors.wgmma_desc import WgmmaDescriptor, problems
from intrinsics.element import ElementType, Major
from intrinsics.findings import Place
from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import WARPGROUP_WARPS
from intrinsics.mir import Imm, MachineInstr, Reg
from intrinsics.modifiers import MmaKind, Modifier, ScalarType
from intrinsics.modifiers.wgmma import BitOperation, WgmmaShape
from intrinsics.multiplies.element_names import ELEMENTS
from intrinsics.rows.wgmma_families import FAMILIES, FAMILY_OF
from nvgen.sim.actors.operation import AsyncOp
from nvgen.sim.async_ops.multiplies import Registers, Use
from nvgen.sim.faults import fault
from nvgen.sim.semantics.wgmma.effect import (
    DecodedWgmma,
    Elements,
    Index,
    RegisterWords,
    WgmmaOperation,
)
from nvgen.sim.semantics.wgmma.sparse import Metadata
from nvgen.sim.threads.compile import Compiler, Getter, Maker
from nvgen.sim.threads.machine import Outcome, Step, Strand, Wait, first_lane
from nvgen.sim.threads.steps import uniform
from nvgen.sim.threads.warpgroups import OPERANDS, Arrival, Issued, Warpgroup

T, E, K = ScalarType, ElementType, MmaKind

_KINDS = {"half": K.F16, "tf32": K.TF32, "fp8": K.F8F6F4, "int": K.I8, "b1": K.I8}
"""Multiplies of tcgen05.mma that multiply numbers as those of a family."""

_SUMS: dict[Modifier, ElementType] = {T.F16: E.F16, T.F32: E.F32, T.S32: E.S32}


# ---- what a record says ----------------------------------------------------------------------


def form_of(mi: MachineInstr) -> DecodedWgmma:
    """The types, the shape and the immediate operands of a record."""
    attributes = mi.form.attributes
    shape, dtype = attributes["shape"], attributes["dtype"]
    assert isinstance(shape, WgmmaShape)
    assert isinstance(dtype, ScalarType)
    for name, only in (("op", BitOperation.AND), ("sum", BitOperation.POPC)):
        assert attributes.get(name, only) is only
    return DecodedWgmma(
        mi.row.head,
        shape.n,
        shape.k,
        _SUMS[dtype],
        _elements(mi, "a"),
        _elements(mi, "b"),
        attributes.get("satfinite") is not None,
        mi.get("sp_meta") is not None,
        _number(mi, "sp_sel", 0),
    )


def _elements(mi: MachineInstr, name: str) -> Elements:
    type_ = mi.form.attributes[f"{name}type"]
    assert isinstance(type_, Modifier)
    major = Major.MN if _number(mi, f"trans_{name}", 0) else Major.K
    family = FAMILY_OF[type_]
    element = ELEMENTS.get(type_, E.U8)  # bits lie in bytes
    negative = _number(mi, f"scale_{name}", 1) < 0
    return Elements(element, _KINDS[family.name], 256 // family.k, major, negative)


def _number(mi: MachineInstr, slot: str, otherwise: int) -> int:
    op = mi.get(slot)
    return op.value if isinstance(op, Imm) else otherwise


def _registers(mi: MachineInstr, form: DecodedWgmma) -> Registers:
    d, a = mi["d"], mi["a"]
    return Registers.of(
        _plain(d), _plain(a) if isinstance(a, tuple) else (), (form.n, form.d.value)
    )


def _plain(ops: object) -> tuple[Reg, ...]:
    assert isinstance(ops, tuple)
    return tuple(op for op in ops if type(op) is int)


def descriptor(word: int, name: str) -> SharedMemoryDescriptor:
    """The descriptor of a matrix in shared memory; `name` is A or B.

    Raises: Fault for one whose unused bits are set.
    """
    for problem in problems(word):
        raise fault(
            "smem-desc",
            f"descriptor of {name}: {problem.text}",
            got=problem.got,
            expected=problem.expected,
            section="wgmma, Matrix Descriptor Format",
        )
    found = WgmmaDescriptor.decode(word)
    return SharedMemoryDescriptor(
        found.address, found.lbo, found.sbo, found.swizzle, found.base_offset
    )


# ---- multiply --------------------------------------------------------------------------------


@dataclass(slots=True)
class _Where:
    """The indices of registers in the frames of a function, which are the same in all frames."""

    registers: tuple[Reg, ...]
    found: Index | None = None

    def of(self, strand: Strand) -> Index:
        """The index of these registers of all threads of a warp."""
        if self.found is None:
            self.found = RegisterWords.of(strand.frame, self.registers).index
        return self.found


@dataclass(frozen=True, slots=True)
class _Multiply:
    """One multiply of a kernel: what the four warps issue together."""

    form: DecodedWgmma
    registers: Registers
    d: _Where
    held: _Where | None
    """A, where it is in registers."""
    metadata: Getter | None
    place: Place

    def issue(self, group: Warpgroup[Strand], strand: Strand) -> None:
        """Issue the multiply, when the last of the four warps has come to it."""
        warp, registers = strand.warp, self.registers
        arrivals = group.leave(warp)
        effect = self._effect(strand, arrivals)
        effect.check_fenced()
        commits = warp.multiplies.commits
        thread = (warp.cta.number, warp.number, first_lane(strand.mask))
        before = group.before(registers, commits)
        op = AsyncOp(self.form.name, thread, "wgmma", effect, self.place, before)
        op.together = group.warps
        group.issued.append(Issued(op, registers, commits))
        for arrival in arrivals:
            owner = arrival.strand.frame.multiplies
            use = Use(op, owner, registers)
            owner.keep(use)
            arrival.strand.warp.multiplies.open.append(use)
        warp.cta.machine.engine.issue(op)
        warp.cta.machine.changed()

    def _effect(self, strand: Strand, arrivals: Sequence[Arrival[Strand]]) -> WgmmaOperation:
        """The effect of the multiply, with the operands of the four warps."""
        a, b, accumulate = arrivals[0].operands
        found = None
        if self.metadata is not None:
            words = np.concatenate([self.metadata(one.strand.warp) for one in arrivals])
            found = Metadata.of(words.astype(np.uint32), self.form.a.bits, self.form.selector)
        return WgmmaOperation(
            strand.warp.cta,
            self.form,
            tuple(arrival.strand.frame for arrival in arrivals),
            self.d.of(strand),
            descriptor(a, "A") if self.held is None else self.held.of(strand),
            descriptor(b, "B"),
            bool(accumulate),
            found,
        )


def multiply(c: Compiler, mi: MachineInstr) -> Step:
    """Issue one multiply, once the four warps are here."""
    form = form_of(mi)
    registers = _registers(mi, form)
    operands = _operands(c, mi)
    metadata = c.get(mi["sp_meta"], T.B32) if form.sparse else None
    held = _Where(_plain(mi["a"])) if registers.a else None
    whole = _Multiply(form, registers, _Where(registers.d), held, metadata, c.place(mi))

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        group = warp.cta.warpgroup(warp.number)
        if warp.number in group.passed:
            group.passed.remove(warp.number)
            return None
        if warp.number not in group.here:
            _check_fence(warp.multiplies.fenced, form.name)
            strand.frame.multiplies.claim(registers, warp.multiplies)
        last = group.meet(Arrival(strand, operands(strand)))
        if not last:
            number = warp.number // WARPGROUP_WARPS
            return Wait(
                f"warps {', '.join(map(str, group.missing()))} of warpgroup {number} at {form.name}"
            )
        whole.issue(group, strand)
        return None

    return run


def _operands(c: Compiler, mi: MachineInstr) -> Callable[[Strand], tuple[int, ...]]:
    """A's descriptor (0 where A is in registers), B's, and scale-d."""
    wanted: list[tuple[str, Getter]] = []
    slots = (("a", T.U64), ("b", T.U64), ("scale_d", T.PRED))
    for name, (slot, type_) in zip(OPERANDS, slots, strict=True):
        op = mi[slot]
        if not isinstance(op, tuple):
            wanted.append((name, c.get(op, type_)))

    def values(strand: Strand) -> tuple[int, ...]:
        found = [uniform(get(strand.warp), strand, name) for name, get in wanted]
        return tuple([0] * (len(OPERANDS) - len(found)) + found)

    return values


def _check_fence(fenced: bool, name: str) -> None:
    if not fenced:
        raise fault(
            "wgmma-fence",
            f"{name} with no wgmma.fence before it",
            expected="wgmma.fence by all warps before the first multiply",
            section="wgmma.fence",
        )


# ---- order -----------------------------------------------------------------------------------


def fence(c: Compiler, mi: MachineInstr) -> Step:
    """Order the warp's register accesses before the multiplies that follow."""

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        warp.multiplies.fenced = True
        strand.frame.multiplies.fence()
        for frame in warp.frames.values():
            frame.multiplies.fence()
        return None

    return run


def commit_group(c: Compiler, mi: MachineInstr) -> Step:
    """Make a group of the multiplies since the last one."""

    def run(strand: Strand) -> Outcome:
        strand.warp.multiplies.commit()
        return None

    return run


def wait_group(c: Compiler, mi: MachineInstr) -> Step:
    """Let all groups but the latest ones take effect; their registers are the warp's again."""
    n = mi["n"]
    assert isinstance(n, Imm)
    count = n.value

    def run(strand: Strand) -> Outcome:
        warp = strand.warp
        done = warp.multiplies.take(count)
        warp.cta.machine.engine.wait(warp, strand.mask, [use.op for use in done])
        for use in done:
            use.owner.flight.remove(use)
        return None

    return run


SEMANTICS: dict[str, Maker] = {
    **dict.fromkeys(
        (
            f"wgmma.mma_async{sparse}.{family}{held}"
            for sparse in ("", ".sp")
            for family in (family.name for family in FAMILIES)
            for held in ("", ".registers")
            if (sparse, family) != (".sp", "b1")
        ),
        multiply,
    ),
    "wgmma.fence": fence,
    "wgmma.commit_group": commit_group,
    "wgmma.wait_group": wait_group,
}

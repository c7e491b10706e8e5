"""The rules about descriptors, checked over a module.

Layer: isel.verifier.descriptors.  Input: a module.  Output: findings.  Each instruction is checked
alone, with the known bits of its operands.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

from intrinsics.descriptors.idesc import DENSE_K
from intrinsics.descriptors.smem_desc import Swizzle
from intrinsics.findings import Finding
from intrinsics.known_bits import UNKNOWN, KnownBits, exactly
from intrinsics.mir import Imm, MachineFunction, MachineInstr, Mem, Module, Op
from intrinsics.modifiers import AShift, CtaGroup, MmaKind, ScaleVec
from intrinsics.row import Residency, Row
from intrinsics.rows import bulk, bulk_reduce
from intrinsics.rows.mbarrier import INIT
from intrinsics.rows.memory import ST_BULK
from intrinsics.rows.wgmma import MULTIPLIES
from isel.verifier.descriptors import (
    alignment,
    instruction,
    operands,
    pattern,
    shared,
    warpgroup,
)
from isel.verifier.descriptors.breach import Breach
from isel.verifier.descriptors.constants import Constants
from isel.verifier.descriptors.instruction import InstructionDescriptor, MmaQualifiers
from isel.verifier.locations import place_of
from isel.verifier.rule import VerifierRule

RULES: tuple[VerifierRule, ...] = (
    *(*instruction.RULES, *shared.RULES, *operands.RULES),
    *(*warpgroup.RULES, *pattern.RULES, *alignment.RULES),
)

_Found = Iterator[tuple[str, Breach]]
"""Operands, and their breaches."""


def verify_descriptors(module: Module, *, literals_only: bool = False) -> list[Finding]:
    """The findings about descriptors, masks and counts of every record of `module`.

    With `literals_only` registers are not traced: only literals are known.
    """
    found: list[Finding] = []
    for function in module.functions:
        if any(_judge_of(form.row) is not None for form in function.forms()):
            found += _Judge(module, function, literals_only).findings()
    return found


class _Judge:
    def __init__(self, module: Module, function: MachineFunction, literals_only: bool) -> None:
        self.module = module
        self.literals_only = literals_only
        self.function = function
        variables = (*module.variables, *function.variables)
        self.has_dynamic_shared = any(not variable.size for variable in variables)
        self._aligns = {variable.name: variable.align for variable in variables}
        self._sized = {variable.name for variable in variables if variable.size}
        self._least = min((self._aligns[name] for name in self._sized), default=alignment.MOST)
        self.here = (0, 0)
        self._judged: dict[InstructionDescriptor, tuple[Breach, ...]] = {}

    @functools.cached_property
    def constants(self) -> Constants:
        """The known values of registers, made when the first register is asked for."""
        return Constants(self.function, lambda name: self._aligns.get(name, 1))

    @functools.cached_property
    def generous(self) -> Constants:
        """Known values of registers if every variable had the largest alignment."""
        aligned = {**self._aligns, **dict.fromkeys(self._sized, alignment.MOST)}
        return Constants(self.function, lambda name: aligned.get(name, 1))

    def findings(self) -> Iterator[Finding]:
        """The findings about the function's records, in their order."""
        for i, block in enumerate(self.function.blocks):
            for at, mi in enumerate(block.instrs):
                judge = _judge_of(mi.form.row)
                if judge is None:
                    continue
                self.here = i, at
                place = place_of(self.module.locations[mi.loc], self.function.name)
                for name, breach in judge(self, mi):
                    yield breach.finding(mi, name).at(place)

    def known(self, op: Op | None) -> KnownBits:
        """The known bits of an operand of the current record."""
        if self.literals_only:
            return exactly(op.value) if isinstance(op, Imm) else UNKNOWN
        if isinstance(op, Mem):
            return self.constants.address(op, *self.here)
        return self.constants.operand(op, *self.here)

    # ---- instructions ------------------------------------------------------------------------

    def multiply(self, mi: MachineInstr) -> _Found:
        """A tcgen05.mma: its instruction descriptor, its matrices, its addresses."""
        use = self._use(mi)
        if use is None:
            return
        bits = self.known(mi["idesc"])
        word = InstructionDescriptor(bits, use)
        breaches = self._judged.get(word)
        if breaches is None:  # most multiplies of a kernel are alike
            breaches = self._judged[word] = tuple(instruction.judge(bits, use))
        for breach in breaches:
            yield "idesc", breach
        for name in ("b",) if use.a_in_tensor else ("a", "b"):
            descriptor = shared.Descriptor(self.known(mi[name]), name, self.module.target)
            yield from self._shared(mi, descriptor)
            for breach in shared.judge_matrix(descriptor, word):
                yield name, breach
        for name in ("d", "a") if use.a_in_tensor else ("d",):
            for breach in operands.judge_matrix_address(self.known(mi[name]), word, name):
                yield name, breach
        if mi.get("zero_mask") is not None:
            for breach in operands.judge_zero_mask(self.known(mi["zero_mask"]), word):
                yield "zero_mask", breach

    def _use(self, mi: MachineInstr) -> MmaQualifiers | None:
        """The qualifiers of an MMA beside its descriptors; None for an undocumented form."""
        attributes = mi.attributes()
        kind, group, scale = (
            attributes.get("kind"),
            attributes.get("cta_group"),
            attributes.get("scale_vec"),
        )
        if not isinstance(kind, MmaKind) or not isinstance(group, CtaGroup):
            return None
        if kind not in DENSE_K or "lut" in mi.form.index:
            return None
        return MmaQualifiers(
            kind,
            2 if group is CtaGroup.TWO else 1,
            self.module.target,
            ws=".ws" in mi.row.head,
            sparse=mi.row.head.endswith(".sp"),
            ashift=attributes.get("ashift") is AShift.ASHIFT,
            a_in_tensor=attributes.get("a") is Residency.TENSOR,
            scale_vec=scale if isinstance(scale, ScaleVec) else None,
        )

    def copy(self, mi: MachineInstr) -> _Found:
        """A tcgen05.cp: the descriptor of its source."""
        descriptor = shared.Descriptor(self.known(mi["s_desc"]), "s_desc", self.module.target)
        yield from self._shared(mi, descriptor)

    def _shared(self, mi: MachineInstr, descriptor: shared.Descriptor) -> _Found:
        """A shared memory descriptor, and the address that was encoded in it."""
        for breach in shared.judge(descriptor):
            yield descriptor.name, breach
        if self.literals_only:
            return
        for address in self.constants.behind(mi[descriptor.name], *self.here):
            for breach in shared.judge_address(descriptor, address):
                yield descriptor.name, breach
            yield from self._pattern(descriptor.name, descriptor.bits, descriptor.swizzle, address)
        yield from self._matrix(mi, descriptor.name)

    def _pattern(
        self, name: str, bits: KnownBits, swizzle: Swizzle | None, address: KnownBits
    ) -> _Found:
        """The alignment of a matrix to the swizzling pattern.

        That of dynamic shared memory is not known.
        """
        breach = pattern.judge_pattern(name, swizzle, bits.field(49, 3), address)
        if breach is not None and not self.has_dynamic_shared:
            yield name, breach

    def warpgroup(self, mi: MachineInstr) -> _Found:
        """A wgmma.mma_async: the matrices that it reads in shared memory."""
        for name in ("a", "b"):
            if isinstance(mi[name], tuple):
                continue
            bits = self.known(mi[name])
            for breach in warpgroup.judge(mi, name, bits):
                yield name, breach
            if self.literals_only:
                continue
            for address in self.constants.behind(mi[name], *self.here):
                for breach in warpgroup.judge_address(name, bits, address):
                    yield name, breach
                yield from self._pattern(name, bits, warpgroup.swizzle_of(bits), address)
            yield from self._matrix(mi, name)

    def _matrix(self, mi: MachineInstr, name: str) -> _Found:
        """The alignment that variables of a matrix declare."""
        if self._least >= alignment.OF_MATRICES:
            return
        behind = (c.behind(mi[name], *self.here) for c in (self.constants, self.generous))
        for known, generous in zip(*behind, strict=True):
            for breach in alignment.judge(known, generous, alignment.OF_MATRICES):
                yield name, breach

    def allocate(self, mi: MachineInstr) -> _Found:
        """A tcgen05.alloc or .dealloc: its count of columns in a register."""
        ncols = mi["ncols"]
        operand = mi.row.operand["ncols"]
        if not isinstance(ncols, Imm):
            for breach in operands.judge_columns(
                self.known(ncols), operand.numbers_under(mi.form.attributes)
            ):
                yield "ncols", breach

    def place(self, mi: MachineInstr) -> _Found:
        """The addresses in shared memory of a record that needs them aligned."""
        if self.literals_only:
            return
        for name, size in alignment.needed(mi):
            if self._least >= size:
                continue
            address = mi[name]
            assert isinstance(address, Mem)
            known, generous = (
                c.address(address, *self.here) for c in (self.constants, self.generous)
            )
            for breach in alignment.judge(known, generous, size):
                yield name, breach

    def bulk(self, mi: MachineInstr) -> _Found:
        """A bulk operation: its size, and its addresses in shared memory."""
        yield from self.number(mi)
        yield from self.place(mi)

    def number(self, mi: MachineInstr) -> _Found:
        """The size of a bulk operation, or the count of an mbarrier, in a register."""
        name = "count" if "count" in mi.row.operand else "size"
        numbers = mi.row.operand[name].numbers_under(mi.form.attributes)
        if not isinstance(mi[name], Imm):
            for breach in operands.judge_number(self.known(mi[name]), numbers):
                yield name, breach

    def access(self, mi: MachineInstr) -> _Found:
        """A tcgen05.ld or .st: its address, for any warp."""
        if self.function.launch.reqntid:
            return
        for breach in operands.judge_access(mi, self.known(mi["taddr"])):
            yield "taddr", breach


_Rule = Callable[[_Judge, MachineInstr], _Found]

_JUDGES: dict[str, _Rule] = {
    **dict.fromkeys(
        ("tcgen05.mma", "tcgen05.mma.sp", "tcgen05.mma.ws", "tcgen05.mma.ws.sp"), _Judge.multiply
    ),
    **dict.fromkeys((row.id for row in MULTIPLIES), _Judge.warpgroup),
    "tcgen05.cp": _Judge.copy,
    **dict.fromkeys(("tcgen05.alloc", "tcgen05.dealloc"), _Judge.allocate),
    **dict.fromkeys((row.id for row in (*bulk.ROWS, *bulk_reduce.ROWS)), _Judge.bulk),
    **dict.fromkeys((bulk.PREFETCH.id, ST_BULK.id, INIT.id), _Judge.number),
    **dict.fromkeys(
        (
            *("tcgen05.ld", "tcgen05.ld.red", "tcgen05.ld.spcompress"),
            *("tcgen05.ld.red.spcompress", "tcgen05.st"),
        ),
        _Judge.access,
    ),
}


def _judge_of(row: Row) -> _Rule | None:
    """What judges records of a row beyond their operands' kinds."""
    return _JUDGES.get(row.id) or (_Judge.place if row.aligned else None)

"""The story of one multiply: every form that it has, from its tile to PTX.

Layer: nvgen.  Input: a compiled module with its stages, and which of its multiplies is asked for.
Output: stages with their text and with the words and descriptors of each decoded; notes where the
walkthrough's spelling says what the machine does not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import TypeAlias

from asmprinter.mir.printer import print_mir
from asmprinter.mir.reader import read_mir
from asmprinter.ptx.printer import print_ptx
from intrinsics import catalog
from intrinsics.descriptors.idesc import InstructionDescriptor
from intrinsics.descriptors.packed_fields import CollectorWord, ControlWord
from intrinsics.descriptors.smem_desc import SharedMemoryDescriptor, Swizzle
from intrinsics.descriptors.smem_desc import problems as descriptor_problems
from intrinsics.findings import Finding, Place, input_error
from intrinsics.lazy_dataclass import dataclass
from intrinsics.mir import Imm, Location, MachineFunction, MachineInstr, Module, Reg
from intrinsics.modifiers import CtaGroup, MmaKind, Modifier
from intrinsics.multiplies.mma_atom import atom_of
from intrinsics.multiplies.register_atom import atom_of_record
from intrinsics.multiplies.tile_dot import Atom, dot_of, multiply_of, tile_of
from intrinsics.rows.walkthrough import SWIZZLE_CODES
from intrinsics.walkthrough_forms import FORMS, RefusedForm
from isel.passes.walkthrough.accumulators import MULTIPLIES
from isel.verifier.locations import place_of
from nvgen.compilation.compiled import Compiled


@dataclass(frozen=True, slots=True)
class Decoded:
    """A number that stands for several things: its name, itself, and (bits, field, meaning)."""

    name: str
    value: str
    fields: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Stage:
    """One form of the multiply: a title, its text, and the numbers in it decoded."""

    title: str
    lines: tuple[str, ...]
    decoded: tuple[Decoded, ...] = ()


@dataclass(slots=True)
class Story:
    """A multiply from stage to stage."""

    number: int
    count: int
    place: Place
    stages: list[Stage] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)


def trace(compiled: Compiled, text: str, number: int = 1) -> Story:
    """The story of multiply `number` (from 1, in program order) of a module compiled from `text`.

    Raises: InputError when there is no such multiply.
    """
    selected = _Snapshot.of(read_mir(compiled.stages["select"]))
    multiplies = [
        (f, mi) for f in selected.module.functions for mi in f.instructions() if is_multiply(mi)
    ]
    if not 0 < number <= len(multiplies):
        count = f"the program has {len(multiplies) or 'no'} multiplies"
        raise input_error(
            "trace/mma",
            f"no multiply {number}: {count}" if multiplies else count,
            place=Place(compiled.file),
            got=str(number) if multiplies else "",
            expected=f"1..{len(multiplies)}"
            if multiplies
            else "a call of llvm.nvvm.tcgen05.mma, llvm.nvvm.wgmma.mma_async or llvm.nvvm.mma",
        )
    function, mi = multiplies[number - 1]
    location = selected.module.locations[mi.loc]
    story = Story(number, len(multiplies), place_of(location, function.name))
    tracer = _Tracer(compiled, text, selected, function, mi)
    story.stages = list(tracer.stages())
    story.notes = [form.finding().at(place) for form, place in tracer.forms()]
    return story


def is_multiply(mi: MachineInstr) -> bool:
    """Whether a record multiplies matrices: into tensor memory, or dense into registers."""
    return mi.row.id in MULTIPLIES or atom_of_record(mi) is not None


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """A module after a pass, and the lines that its records take as text."""

    module: Module
    lines: dict[int, list[str]]  # by the record's identity

    @classmethod
    def of(cls, module: Module) -> _Snapshot:
        printed = print_mir(module)
        text = printed.text.split("\n")
        found: dict[int, list[str]] = {}
        for line, mi in printed.records.items():
            end = line
            while text[end].startswith("      "):
                end += 1
            found[id(mi)] = text[line - 1 : end]
        return cls(module, found)


def _is_of_walkthrough(mi: MachineInstr) -> bool:
    return mi.row.pseudo and mi.row.id != "phi"


class _Tracer:
    def __init__(
        self,
        compiled: Compiled,
        text: str,
        selected: _Snapshot,
        function: MachineFunction,
        mi: MachineInstr,
    ) -> None:
        self.compiled = compiled
        self.source = text.split("\n")
        self.selected = selected
        self.function = function
        self.mi = mi
        self.pseudo = [one for one in function.instructions() if _is_of_walkthrough(one)]
        makers = {r: one for one in self.pseudo for r in one.defs()}
        self.company = self._company(makers) if self.pseudo else [mi]
        self.final = _Snapshot.of(compiled.module)

    def _company(self, makers: dict[Reg, MachineInstr]) -> list[MachineInstr]:
        """The multiply and the walkthrough's records of its function, descriptors of others aside.

        In program order.
        """
        own = {id(makers[reg]) for reg in self.mi.uses() if reg in makers}
        return [
            one
            for one in self.function.instructions()
            if one is self.mi
            or (_is_of_walkthrough(one) and (one.row.id != "walkthrough.encode" or id(one) in own))
        ]

    # ---- stages ------------------------------------------------------------------------------

    def stages(self) -> Iterator[Stage]:
        """All of them, in order."""
        shape, atom = self._shape(), self._atom()
        if atom is None:
            yield Stage("tile", ("the instruction descriptor is known at run time only",))
        else:
            dot = dot_of(tile_of(atom), atom)
            yield Stage("tile", tuple(str(multiply_of(dot)).split("\n")))
            yield Stage("atom", tuple(str(dot).split("\n")))
        yield Stage("attributes", tuple(self._attributes(shape)))
        yield Stage("LLVM IR", tuple(self._calls()), tuple(self._written()))
        yield Stage("MIR after select", tuple(self._records(self.selected)), tuple(self._packed()))
        if self.pseudo:
            stage = _Snapshot.of(read_mir(self.compiled.stages["expand-walkthrough"]))
            yield Stage("MIR after expand-walkthrough", tuple(self._records(stage)))
        yield Stage("PTX", tuple(self._ptx()), tuple(self._descriptors()))

    def _atom(self) -> Atom | None:
        """What the record is of, as it was before it became words."""
        if self.mi.row.id not in MULTIPLIES:
            return atom_of_record(self.mi, self.compiled.target)
        shape = self._shape()
        if shape is None:
            return None
        group = self.mi.attributes().get("cta_group")
        pair = CtaGroup.TWO if group is CtaGroup.TWO else CtaGroup.ONE
        return atom_of(shape, pair, stationary=self.mi.row.id.startswith("tcgen05.mma.ws"))

    def _shape(self) -> InstructionDescriptor | None:
        """What the instruction descriptor says, where it is a number that says something."""
        idesc, kind = self.mi.get("idesc"), self.mi.attributes().get("kind")
        if not isinstance(idesc, Imm) or not isinstance(kind, MmaKind):
            return None
        try:
            return InstructionDescriptor.decode(idesc.value, kind)
        except ValueError:
            return None

    def _attributes(self, shape: InstructionDescriptor | None) -> Iterator[str]:
        attributes = self.mi.attributes()
        for name in self.mi.row.qualifier:
            attribute = attributes.get(name)
            yield f"{name:<12} {attribute.value if isinstance(attribute, Modifier) else '-'}"
        if shape is not None:
            yield f"{'a':<12} {shape.a.value}, {shape.a_major.value}-major"
            yield f"{'b':<12} {shape.b.value}, {shape.b_major.value}-major"
            yield f"{'d':<12} {shape.d.value if shape.d else 'f32'}, in tensor memory"

    # ---- source ------------------------------------------------------------------------------

    def _calls(self) -> Iterator[str]:
        for mi in self.company:
            line = self._location(mi).line
            if 0 < line <= len(self.source):
                yield f"{line:>5} | {self.source[line - 1].strip()}"

    def _location(self, mi: MachineInstr) -> Location:
        return self.selected.module.locations[mi.loc]

    def _written(self) -> Iterator[Decoded]:
        """The words as the call has them: the walkthrough's, or LLVM's immediates."""
        if self.pseudo:
            words = self.mi.packed_fields()
            yield Decoded(f"ctrl {words['ctrl']}", str(ControlWord.decode(words["ctrl"])))
            collector = words["collector"]
            yield Decoded(f"collector {collector}", str(CollectorWord.decode(collector)))
            yield from self._strides()
            return
        attributes = self.mi.attributes()
        line = self._location(self.mi).line
        said = self.source[line - 1] if 0 < line <= len(self.source) else ""
        spelling = next(
            (s for s in catalog.spellings_of(self.mi.row) if f"llvm.nvvm.{s.name}(" in said), None
        )
        for qualifier, codes in (spelling.pattern.codes if spelling else {}).items():
            attribute = attributes.get(qualifier)
            code = next((number for number, member in codes.items() if member is attribute), None)
            if code is not None and isinstance(attribute, Modifier):
                yield Decoded(f"{qualifier} {code}", attribute.value)

    def _strides(self) -> Iterator[Decoded]:
        """What the walkthrough's descriptors are made from."""
        for mi in self.company:
            if mi.row.id == "walkthrough.encode":
                slots = ("sbo", "lbo", "base_offset", "swizzle")
                numbers = {s: op.value for s in slots if isinstance(op := mi[s], Imm)}
                shown = ", ".join(f"{name} {number}" for name, number in numbers.items())
                mode = Swizzle(SWIZZLE_CODES[numbers["swizzle"]])
                yield Decoded("descriptor", f"{shown} ({mode.words})")

    # ---- records -----------------------------------------------------------------------------

    def _records(self, snapshot: _Snapshot) -> Iterator[str]:
        """The records that stand where the company stands."""
        wanted = {_key(self._location(mi)) for mi in self.company}
        function = self._home(snapshot.module)
        for mi in function.instructions() if function else ():
            if _key(snapshot.module.locations[mi.loc]) in wanted:
                yield from (line[2:] for line in snapshot.lines[id(mi)])

    def _packed(self) -> Iterator[Decoded]:
        """The words of the record, and its instruction descriptor."""
        words = self.mi.packed_fields()
        for name, word in words.items():
            if name == "ctrl":
                yield Decoded(name, f"{word} = {word:#x}", _rows(ControlWord.decode(word)))
            elif name == "collector":
                yield Decoded(name, f"{word} = {word:#x}", _rows(CollectorWord.decode(word)))
        shape, idesc = self._shape(), self.mi.get("idesc")
        if shape is not None and isinstance(idesc, Imm):
            yield Decoded("idesc", f"{idesc.value & 0xFFFF_FFFF:#x}", _rows(shape))

    def _home(self, module: Module) -> MachineFunction | None:
        """The function with the multiply; of one that became part of kernels, the first of them."""
        wanted = _key(self._location(self.mi))
        return module.function(self.function.name) or next(
            (
                function
                for function in module.functions
                for mi in function.instructions()
                if is_multiply(mi) and _key(module.locations[mi.loc]) == wanted
            ),
            None,
        )

    def _multiply(self) -> tuple[MachineFunction, MachineInstr] | None:
        """The multiply among the final records."""
        module = self.compiled.module
        function = self._home(module)
        wanted = _key(self._location(self.mi))
        for mi in function.instructions() if function else ():
            if is_multiply(mi) and _key(module.locations[mi.loc]) == wanted:
                assert function is not None
                return function, mi
        return None

    def _descriptors(self) -> Iterator[Decoded]:
        """The constant parts of the shared memory descriptors."""
        found = self._multiply()
        if found is None:
            return
        function, mi = found
        if mi.row.id not in MULTIPLIES:
            return  # wgmma's descriptors are other ones, and mma has none
        for slot in ("a", "b"):
            op = mi[slot]
            word = op.value if isinstance(op, Imm) else None
            if isinstance(op, int):
                word = _constant(function, op)
            if word is None or descriptor_problems(word):
                continue
            rows = _rows(SharedMemoryDescriptor.decode(word))
            if not isinstance(op, Imm):
                rows = (("0-13", "start address", "from a register"), *rows[1:])
            yield Decoded(f"descriptor of {slot.upper()}", f"{word:#x}", rows)

    def _ptx(self) -> Iterator[str]:
        module = self.compiled.module
        printed = print_ptx(module, self.compiled.ptx_version)
        lines = printed.text.split("\n")
        wanted = {_key(self._location(mi)) for mi in self.company}
        function = self._home(module)
        own = {id(mi) for mi in function.instructions()} if function else set()
        for line, mi in printed.records.items():
            if id(mi) in own and _key(module.locations[mi.loc]) in wanted:
                yield lines[line - 1].strip()

    # ---- notes -------------------------------------------------------------------------------

    def forms(self) -> Iterator[tuple[RefusedForm, Place]]:
        """The walkthrough's forms that are not the machine's, where the program has them."""
        if not self.pseudo:
            return
        places: dict[str, Place] = {}
        for mi in self.company:
            place = place_of(self._location(mi), self.function.name)
            places.setdefault(mi.row.id, place)
        for form in FORMS:
            if form.row in places:
                yield form, places[form.row]


_Explained: TypeAlias = ControlWord | CollectorWord | InstructionDescriptor | SharedMemoryDescriptor


def _rows(word: _Explained) -> tuple[tuple[str, str, str], ...]:
    return tuple(word.explain())


def _key(location: Location) -> tuple[int, int]:
    return location.line, location.column


def _constant(function: MachineFunction, reg: Reg) -> int | None:
    """The number that was or-ed into a descriptor, if it is found behind moves and additions."""
    makers: dict[Reg, list[MachineInstr]] = {}
    for mi in function.instructions():
        for written in mi.defs():
            makers.setdefault(written, []).append(mi)
    seen: set[Reg] = set()
    work = [reg]
    while work:
        made = makers.get(work.pop(), [])
        if len(made) != 1:
            continue
        (mi,) = made
        numbers: Sequence[int] = [op.value for op in mi.ops if isinstance(op, Imm)]
        if mi.row.id == "or" and numbers and numbers[0] >> 46 & 7 == 1:
            return numbers[0]
        if mi.row.id in ("mov", "add.int", "or", "sub"):
            new = [r for r in mi.uses() if r not in seen]
            seen.update(new)
            work += new
    return None

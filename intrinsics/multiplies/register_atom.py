"""Names of MMA atoms whose sums lie in registers: one mma.sync, or one wgmma.mma_async.

Layer: intrinsics.  `sm90_wgmma_m64n128k16_f32_bf16_bf16` is the machine that the atom is of, M, N
and K, and the element types of D, A and B.  Whether there is such an instruction, and on which
targets, the rows of the two families say.

    sm80_mma     mma.sync of a warp, on sm_80 and what came later without another of these
    sm90_wgmma   wgmma.mma_async of a warpgroup, on sm_90a
    sm100_umma   tcgen05.mma into tensor memory: see `intrinsics.mma_atom`
    sm120_mma    mma.sync again, on sm_120 and sm_121

Documents of tile compilers name an `sm120_mma_m16n8k32_f32_bf16_bf16`; the manual and ptxas have no
such shape for bf16, on any target.  PTX ISA, mma, Matrix Shape; Asynchronous Warpgroup Level Matrix
Instructions, Matrix Shape.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from enum import Enum

from intrinsics import catalog
from intrinsics.element import ElementType
from intrinsics.lazy_dataclass import dataclass
from intrinsics.legality import judge
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import Modifier
from intrinsics.multiplies.mma_atom import AtomError, element_type
from intrinsics.row import Attribute, Row
from intrinsics.targets import Feature, Target, TargetSet, at_least, spell, with_feature


class AtomTarget(Enum):
    """The instructions that multiply tiles on a target; the value begins their atoms' names."""

    SM80 = "sm80_mma"
    SM90 = "sm90_wgmma"
    SM100 = "sm100_umma"
    SM120 = "sm120_mma"


_ROWS = {
    AtomTarget.SM80: ("mma.f16", "mma.bf16", "mma.tf32", "mma.fp8", "mma.int8"),
    AtomTarget.SM90: tuple(f"wgmma.mma_async.{name}" for name in ("half", "tf32", "fp8", "int")),
}
_ROWS[AtomTarget.SM120] = _ROWS[AtomTarget.SM80]

_TENSOR = with_feature(Feature.HAS_TMEM)
_WARPGROUP = with_feature(Feature.HAS_WGMMA)

TARGETS: dict[AtomTarget, TargetSet] = {
    AtomTarget.SM80: at_least(80) - at_least(120) - _TENSOR - _WARPGROUP,
    AtomTarget.SM90: _WARPGROUP,
    AtomTarget.SM100: _TENSOR,
    AtomTarget.SM120: at_least(120),
}
"""The targets whose tiles are multiplied by atoms of a machine."""

_NAME = re.compile(
    r"(sm80_mma|sm90_wgmma|sm120_mma)_(m(\d{1,9})n(\d{1,9})k(\d{1,9}))"
    r"_([a-z]\w*?)_([a-z]\w*?)_([a-z0-9]+)"
)


@dataclass(frozen=True, slots=True)
class RegisterAtom:
    """One MMA: D (m × n) += A (m × k) · B (n × k) transposed, with D in registers."""

    machine: AtomTarget
    m: int
    n: int
    k: int
    d: ElementType
    a: ElementType
    b: ElementType

    @property
    def name(self) -> str:
        """The name, as `parse_register_atom` reads it."""
        types = "_".join(one.value for one in (self.d, self.a, self.b))
        return f"{self.machine.value}_m{self.m}n{self.n}k{self.k}_{types}"

    @property
    def targets(self) -> TargetSet:
        """The targets of the machine that have the instruction; empty where none has."""
        found = (judge(row, attributes) for row, attributes in _forms(self))
        legal = (judgement.targets() for judgement in found if not judgement.broken)
        return next(legal, frozenset()) & TARGETS[self.machine]


def machine_of(target: Target) -> AtomTarget:
    """The machine whose atoms a target has.

    Raises: AtomError for a target without multiplies of tiles.
    """
    for machine, targets in TARGETS.items():
        if target in targets:
            return machine
    raise AtomError(f"no atom is registered for {target.name}", "sm_80 or later")


def is_register_atom(name: str) -> bool:
    """Whether a name begins as those of atoms with sums in registers do."""
    return name.startswith(tuple(f"{machine.value}_" for machine in _ROWS))


def parse_register_atom(name: str) -> RegisterAtom:
    """The atom called `name`.

    Raises: AtomError for what is no name, and for shapes and types that no instruction has.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        pattern = f"{name.split('_m')[0]}_m16n8k16_f32_bf16_bf16"
        raise AtomError(f"'{name}' names no MMA atom", pattern)
    m, n, k = map(int, match.group(3, 4, 5))
    d, a, b = (element_type(text) for text in match.group(6, 7, 8))
    atom = RegisterAtom(AtomTarget(match[1]), m, n, k, d, a, b)
    if not atom.targets:
        raise AtomError(f"no target has an instruction for '{name}'", _nearest(atom))
    return atom


def atom_of_record(mi: MachineInstr, target: Target | None = None) -> RegisterAtom | None:
    """The atom that a record multiplies by; None for another record, or one without a name."""
    machine = next((m for m, rows in _ROWS.items() if mi.row.id.startswith(rows)), None)
    if machine is None or any(word in mi.row.id for word in (".sp", ".b1", ".int4")):
        return None
    if machine is AtomTarget.SM80 and target is not None and target in TARGETS[AtomTarget.SM120]:
        machine = AtomTarget.SM120
    attributes = mi.attributes()
    shape, *types = (attributes[name] for name in ("shape", "dtype", "atype", "btype"))
    assert isinstance(shape, Modifier)
    m, n, k = map(int, re.findall(r"\d+", str(shape.value)))
    names = [str(one.value) for one in types if isinstance(one, Modifier)]
    try:
        d, a, b = map(element_type, names)
    except AtomError:
        return None  # numbers of 64 bits
    return RegisterAtom(machine, m, n, k, d, a, b)


def depth(machine: AtomTarget, a: ElementType) -> int:
    """K of the atom that multiplies elements of A's type: 32 bytes of a row."""
    assert machine in _ROWS
    return 256 // a.bits


def widths(machine: AtomTarget, a: ElementType) -> list[int]:
    """All N of atoms of a machine with A of this type."""
    found = {
        int(str(shape.value).partition("n")[2].partition("k")[0])
        for row in map(catalog.row, _ROWS[machine])
        if a.value in {one.value for one in row.qualifier["atype"].values}
        for shape in row.qualifier["shape"].values
        if not str(shape.value).startswith("m8")
    }
    return sorted(found)


def _nearest(atom: RegisterAtom) -> str:
    """The types and shapes that there are for A and B."""
    shapes = {
        shape.value
        for row in map(catalog.row, _ROWS[atom.machine])
        if {atom.a.value, atom.b.value} <= {one.value for one in row.qualifier["atype"].values}
        for shape in row.qualifier["shape"].values
        if isinstance(shape, Modifier)
    }
    if not shapes:
        return f"types of one kind, for {spell(TARGETS[atom.machine])}"
    if atom.machine is AtomTarget.SM90:
        return f"m64, n a multiple of 8 up to 256, k{depth(atom.machine, atom.a)}"
    return ", ".join(sorted(s for s in shapes if s.startswith("m16"))) + ", sums of f32, f16 or s32"


@functools.cache
def _forms(atom: RegisterAtom) -> tuple[tuple[Row, dict[str, Attribute]], ...]:
    return tuple(_found(atom))


def _found(atom: RegisterAtom) -> Iterator[tuple[Row, dict[str, Attribute]]]:
    """The forms of the instruction that the name may mean: at most one."""
    wanted = {
        "shape": f"m{atom.m}n{atom.n}k{atom.k}",
        "dtype": atom.d.value,
        "ctype": atom.d.value,
        "atype": atom.a.value,
        "btype": atom.b.value,
        "alayout": "row",
        "blayout": "col",
    }
    for row in map(catalog.row, _ROWS[atom.machine]):
        attributes: dict[str, Attribute] = dict.fromkeys(row.attribute_names)
        attributes |= dict.fromkeys(row.optional, False)
        for name, value in wanted.items():
            if name in row.qualifier:
                attributes[name] = next(
                    (v for v in row.qualifier[name].values if v.value == value), None
                )
        if all(attributes[name] is not None for name in wanted if name in row.qualifier):
            yield row, attributes

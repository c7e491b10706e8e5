"""Random operands of machine records, made from nothing but the rows."""

from __future__ import annotations

import functools
import itertools
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

from intrinsics import catalog
from intrinsics.legality import Judgement, judge
from intrinsics.mir import (
    SINK,
    FloatImm,
    Imm,
    Label,
    MachineFunction,
    Mem,
    Not,
    Op,
    Reg,
    Scalar,
    Special,
    Sym,
    Variable,
)
from intrinsics.modifiers import ScalarType, Space
from intrinsics.row import (
    Access,
    Attribute,
    Kind,
    Numbers,
    Operand,
    Residency,
    Row,
    VectorNumbers,
)
from intrinsics.special import special_registers
from intrinsics.targets import PTX_VERSIONS, TARGETS, Target

NEWEST = PTX_VERSIONS[-1]

CLASSES = tuple(
    ScalarType(name) for name in ("pred", "b8", "b16", "b32", "b64", "b128", "f16x2", "f32", "f64")
)
"""The register classes that selection makes; PTX that others wrote declares any type."""


# ---- what a row allows -----------------------------------------------------------------------


def values_of(row: Row, name: str) -> tuple[Attribute, ...]:
    """The values of one attribute of a row: a qualifier, an optional operand, or a residency."""
    if name in row.qualifier:
        return row.qualifier[name].attributes
    return (False, True) if name in row.optional else tuple(Residency)


def is_whole(row: Row, attributes: dict[str, Attribute]) -> bool:
    """Whether the operands that stand in the same braces are all there, or none of them."""
    return all(len({attributes[name] for name in group}) == 1 for group in row.groups)


def is_legal(row: Row, attributes: dict[str, Attribute], target: Target) -> bool:
    """Whether `row` allows `attributes` on `target` in the newest PTX."""
    judgement = judge(row, attributes)
    met = not judgement.broken and not judgement.missing(target, NEWEST)
    return met and is_whole(row, attributes)


_ENUMERATED = 3_000
_SAMPLED = 4_000
_KEPT = 150


@functools.cache
def unbroken(row: Row) -> tuple[tuple[dict[str, Attribute], Judgement], ...]:
    """Attributes that break no rule, whatever the target: all of them, or an even selection.

    Parameters of device functions, which only symbols may name, are left out.
    """
    names = row.attribute_names
    choices = [values_of(row, name) for name in names]
    size = functools.reduce(lambda n, choice: n * len(choice), choices, 1)
    combinations: Iterable[tuple[Attribute, ...]]
    if size <= _ENUMERATED:
        combinations = itertools.product(*choices)
    else:
        dice = random.Random(row.id)
        combinations = [tuple(map(dice.choice, choices)) for _ in range(_SAMPLED)]
    found = [dict(zip(names, values, strict=True)) for values in combinations]
    whole = [f for f in found if is_whole(row, f) and Space.PARAM_FUNC not in f.values()]
    judged = [(attributes, judge(row, attributes)) for attributes in whole]
    return tuple(
        (attributes, judgement) for attributes, judgement in judged if not judgement.broken
    )


@functools.cache
def legal_attributes(row: Row, target: Target) -> tuple[dict[str, Attribute], ...]:
    """Attributes of `row` that are legal on `target`."""
    legal = [f for f, judgement in unbroken(row) if not judgement.missing(target, NEWEST)]
    return tuple(legal[:: max(1, len(legal) // _KEPT)])


_SPECIALLY = ("phi", "opaque", "bra", "brx.idx", "ret", "exit", "call")


@functools.cache
def ordinary_rows(target: Target) -> tuple[Row, ...]:
    """The rows that have a legal form on `target` and may stand anywhere in a block."""
    return tuple(
        row for row in catalog.rows() if row.id not in _SPECIALLY and legal_attributes(row, target)
    )


# ---- names -----------------------------------------------------------------------------------

_WORDS = ("x", "acc", "tmem_d", "r1", "_t", "$s", "k_loop", "a$b", "r_2_", "v10", "bb_")


def names(count: int, *, percent: bool = True) -> st.SearchStrategy[list[str]]:
    """Distinct PTX identifiers that are no special registers."""
    plain = st.sampled_from(_WORDS)
    numbered = st.builds(lambda w, n: f"{w}{n}", plain, st.integers(0, 40))
    shapes = [plain, numbered]
    if percent:
        shapes.append(st.builds(lambda w: "%" + w, numbered))
    return st.lists(st.one_of(shapes), min_size=count, max_size=count, unique=True)


# ---- operands --------------------------------------------------------------------------------


@dataclass(slots=True)
class Scene:
    """What operands of one function may refer to."""

    function: MachineFunction
    classes: Sequence[ScalarType] = CLASSES
    variables: Sequence[Variable] = ()
    blocks: Sequence[str] = ("entry",)
    target: Target = TARGETS["sm_100a"]
    special: bool = True
    writes: bool = False  # the record at hand writes memory, so it may not name a parameter
    registers: dict[ScalarType, list[Reg]] = field(default_factory=dict)

    def register(self, draw: st.DrawFn, classes: Sequence[ScalarType], *, new: bool = False) -> Reg:
        """A register of one of `classes`, an old one where there is one and chance wills."""
        cls = draw(st.sampled_from(classes))
        known = self.registers.setdefault(cls, [])
        if known and not new and draw(st.booleans()):
            return draw(st.sampled_from(known))
        reg = self.function.regs.new(cls)
        known.append(reg)
        return reg

    def symbols(self, space: Space | None) -> list[str]:
        """Names of variables and kernel parameters that an address in `space` may use."""
        if space is Space.PARAM:
            readable = self.function.is_kernel and not self.writes
            return [p.name for p in self.function.params if readable]
        shared = (Space.SHARED, Space.SHARED_CTA, Space.SHARED_CLUSTER)
        home = Space.SHARED if space in shared else space
        return [v.name for v in self.variables if v.space is home]


_OFFSETS = st.one_of(st.just(0), st.integers(-(1 << 20), 1 << 20))


def _numbers(numbers: Numbers) -> st.SearchStrategy[int]:
    low = -(1 << 31) if numbers.low is None else numbers.low
    high = (1 << 31) - 1 if numbers.high is None else numbers.high
    if numbers.power_of_two:
        return st.sampled_from([1 << n for n in range(31) if low <= 1 << n <= high])
    if numbers.marker:
        return st.just(0) | st.integers(1, 1 << 39).map(lambda n: n | numbers.marker)
    step = numbers.multiple
    multiples = st.integers(-(-low // step), high // step).map(lambda n: n * step)
    return multiples.filter(bool) if numbers.nonzero else multiples


_BITS_OF_ONE = 0x3F80_0000


def _literal(type_: ScalarType, numbers: Numbers) -> st.SearchStrategy[Imm | FloatImm] | None:
    """Literals of a type: integers for plain integer types, bits for f32 and f64."""
    if type_ in (ScalarType.F32, ScalarType.F64):
        return st.integers(0, (1 << type_.bits) - 1).map(lambda bits: FloatImm(bits, type_))
    if re.fullmatch(r"[bus](8|16|32|64)", type_.value):
        return _numbers(numbers).map(Imm)
    return None


def fitting(
    wanted: ScalarType, classes: Iterable[ScalarType], *, widened: bool = False
) -> list[ScalarType]:
    """Register classes that certainly hold a value of type `wanted`."""
    if wanted is ScalarType.PRED:
        return [ScalarType.PRED]
    plain = [c for c in classes if re.fullmatch(r"[busf]\d+", c.value)]
    packed = "x" in wanted.value or wanted in (ScalarType.BF16, ScalarType.TF32)
    kinds = "b" if packed else {"b": "bif", "i": "bi", "f": "bf"}[wanted.kind]
    exact = [c for c in plain if c.bits == wanted.bits and c.kind in kinds]
    wider = [c for c in plain if wanted.bits < c.bits <= 64 and c.kind == "b"]
    return exact + (wider if widened and wanted.kind != "f" else [])


def _fitting(scene: Scene, operand: Operand, wanted: ScalarType) -> list[ScalarType]:
    return fitting(wanted, scene.classes, widened=operand.widened)


def draw_operand(
    draw: st.DrawFn, scene: Scene, operand: Operand, attributes: dict[str, Attribute]
) -> Op:
    """Something that may stand in the place of `operand` under `attributes`."""
    match operand.kind:
        case Kind.REGISTER:
            fit = _fitting(scene, operand, operand.type_under(attributes))
            if operand.name == "sp_meta":  # ptxas reads an f32 there, and fails to expand some mma
                fit = [found for found in fit if found.kind != "f"]
            return scene.register(draw, fit, new=operand.distinct)
        case Kind.VALUE:
            return _value(draw, scene, operand, attributes)
        case Kind.NUMBER:
            return Imm(draw(_numbers(operand.numbers_under(attributes))))
        case Kind.PREDICATE:
            return _predicate(draw, scene, operand, attributes)
        case Kind.ADDRESS:
            return _address(draw, scene, operand, attributes)
        case Kind.TENSOR_ADDRESS:
            return _tensor_address(draw, scene)
        case Kind.MATRIX:
            return _matrix(draw, scene, operand, attributes)
        case Kind.VECTOR:
            return _vector(draw, scene, operand, attributes)
        case Kind.SOURCE:
            return _source(draw, scene, operand, attributes)
        case Kind.LABEL:
            return Label(draw(st.sampled_from(scene.blocks)))
        case Kind.LABELS:
            names = draw(st.lists(st.sampled_from(scene.blocks), min_size=1, max_size=4))
            return tuple(map(Label, names))
    raise AssertionError(operand.kind)


def _value(draw: st.DrawFn, scene: Scene, operand: Operand, attributes: dict[str, Attribute]) -> Op:
    wanted = operand.type_under(attributes)
    literal = _literal(wanted, operand.numbers_under(attributes))
    if operand.fraction:
        literal = st.integers(1, _BITS_OF_ONE).map(lambda bits: FloatImm(bits, wanted))
    if literal is not None and draw(st.booleans()):
        return draw(literal)
    return scene.register(draw, _fitting(scene, operand, wanted))


def _predicate(
    draw: st.DrawFn, scene: Scene, operand: Operand, attributes: dict[str, Attribute]
) -> Op:
    choice = draw(st.integers(0, 2))
    if choice == 0 and operand.takes_number(attributes):
        return Imm(draw(st.integers(0, 1)))
    reg = scene.register(draw, [ScalarType.PRED])
    return Not(reg) if choice == 1 and operand.negatable else reg


def _address(
    draw: st.DrawFn, scene: Scene, operand: Operand, attributes: dict[str, Attribute]
) -> Mem:
    space = attributes.get(operand.space) if isinstance(operand.space, str) else operand.space
    assert space is None or isinstance(space, Space)
    offset = 0 if operand.bare else draw(_OFFSETS)
    found = [] if operand.held else scene.symbols(space)
    if found and draw(st.booleans()):
        return Mem(Sym(draw(st.sampled_from(found))), offset)
    wide = [c for c in scene.classes if re.fullmatch(r"[bus]64", c.value)]
    return Mem(scene.register(draw, wide), offset)


def _tensor_address(draw: st.DrawFn, scene: Scene) -> Mem:
    return Mem(scene.register(draw, [ScalarType.B32]), draw(_OFFSETS))


def _matrix(
    draw: st.DrawFn, scene: Scene, operand: Operand, attributes: dict[str, Attribute]
) -> Op:
    if attributes[operand.name] is Residency.TENSOR:
        return _tensor_address(draw, scene)
    if draw(st.integers(0, 3)) == 0:
        return Imm(draw(st.integers(0, (1 << 63) - 1)))
    return scene.register(draw, [ScalarType.B64])


def _vector(
    draw: st.DrawFn, scene: Scene, operand: Operand, attributes: dict[str, Attribute]
) -> Op:
    assert operand.count is not None
    wanted, count = operand.type_under(attributes), operand.count.of(attributes)
    classes = _fitting(scene, operand, wanted)
    writes = operand.access is Access.WRITE
    literal = _literal(wanted, Numbers())
    if operand.vector_numbers is VectorNumbers.NONE:
        literal = None
    if not count:
        if literal is not None and draw(st.booleans()):
            return draw(literal)
        return scene.register(draw, classes)
    # Long vectors take one class and one decision, or drawing them would take most of the time.
    cls = [draw(st.sampled_from(classes))]
    odd = draw(st.integers(0, count - 1)) if count > 1 and draw(st.booleans()) else -1
    parts: list[Scalar] = [scene.register(draw, cls, new=writes or i > 0) for i in range(count)]
    if odd >= 0 and operand.sink:
        parts[odd] = SINK
    elif odd >= 0 and literal is not None and cls[0].kind == wanted.kind:
        each = operand.each_under(attributes)
        parts[odd] = Imm(draw(_numbers(each[odd]))) if each else draw(literal)
    return tuple(parts)


def _source(
    draw: st.DrawFn, scene: Scene, operand: Operand, attributes: dict[str, Attribute]
) -> Op:
    """What mov reads: also literals, special registers and the addresses of symbols."""
    wanted = operand.type_under(attributes)
    literal = _literal(wanted, Numbers())
    readable = [
        r.name
        for r in special_registers().values()
        if wanted in r.types and r.needs.holds(scene.target, NEWEST)
    ]
    shapes = ["register"]
    if attributes.keys() == {"type"}:
        shapes += ["literal"] if literal is not None else []
        shapes += ["special"] if readable and scene.special else []
        shapes += ["symbol"] if wanted.bits == 64 and wanted.kind in "bi" else []
    match draw(st.sampled_from(shapes)):
        case "literal":
            assert literal is not None
            return draw(literal)
        case "symbol" if scene.variables:
            return Sym(draw(st.sampled_from([v.name for v in scene.variables])), draw(_OFFSETS))
        case "special":
            return Special(draw(st.sampled_from(readable)))
    return scene.register(draw, _fitting(scene, operand, wanted))

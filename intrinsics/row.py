"""The row: everything nvgen knows of one PTX instruction family, as data.

Layer: intrinsics.  A row gives the head, the modifiers and the operands in the notation that the
PTX ISA uses, and beside them legality (guarded rules), effects and LLVM's spellings.  Opcode
names, printing, reading, selection, verification, builder calls and the reference page are derived
from it; nothing else spells the instruction.

    Row(
        "tcgen05.alloc", ".cta_group.sync.aligned{.space}.b32", "[dst], ncols",
        qualifiers={"cta_group": CtaGroup, "space": (Space.SHARED_CTA,)},
        operands=(address("dst", "space"), value("ncols", U32)),
        …)

In the modifiers, a name that `qualifiers` declares is a qualifier, any other stands for itself;
braces make a qualifier optional; a leading `::` glues it to the head.  In the operands, `[x]` is an
address, `[x, y]` a tensor map with its coordinates, `x|y` a pair of results, and `{, x}` may be
left out.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, Flag, auto
from functools import cached_property
from typing import Generic, Protocol, TypeAlias, TypeVar

from intrinsics.modifiers import Modifier, ScalarType, Space
from intrinsics.targets import EVERYWHERE, Capability

Attribute: TypeAlias = Modifier | bool | None
"""The value of a qualifier (None: absent), or whether an optional operand is there."""

Attributes: TypeAlias = Mapping[str, Attribute]

T = TypeVar("T")


# ---- operands --------------------------------------------------------------------------------


class Kind(Enum):
    """What may stand in an operand's place."""

    REGISTER = "register"
    VALUE = "register or number"
    NUMBER = "number"
    PREDICATE = "predicate"
    ADDRESS = "address"
    TENSOR_ADDRESS = "tensor memory address"
    MATRIX = "shared memory descriptor or tensor memory address"
    VECTOR = "vector"
    LABEL = "label"
    LABELS = "table of labels"
    TEXT = "text"
    PHI = "incoming values or blocks"
    SOURCE = "register, number, special register, symbol or vector"


class Access(Enum):
    """Whether an instruction reads or writes an operand, or both: then it stands there once."""

    READ = "read"
    WRITE = "write"
    UPDATE = "update"


class VectorNumbers(Enum):
    """Whether numbers may stand in a vector: never, beside a register, or alone too."""

    NONE = "none"
    SOME = "some"
    ALL = "all"


class Residency(Modifier):
    """Where a matrix operand lives; its syntax shows it (a plain operand, or brackets)."""

    SHARED = "shared memory descriptor"
    TENSOR = "tensor memory address"


@dataclass(frozen=True, slots=True)
class Count:
    """How many registers a vector operand has: a product of one factor per qualifier.

    A qualifier value that is missing from its table counts 1; a count that comes out 0 says that
    the operand is a scalar without braces.  Where a qualifier has a value of `fixed`, that is the
    count.
    """

    factors: tuple[tuple[str, Mapping[Attribute, int]], ...]
    fixed: tuple[tuple[str, Mapping[Attribute, int]], ...] = ()

    def of(self, attributes: Attributes) -> int:
        """The number of registers under `attributes`; 0 for a scalar."""
        for qualifier, table in self.fixed:
            if (known := attributes.get(qualifier)) in table:
                return table[known]
        product = 1
        for qualifier, table in self.factors:
            product *= table.get(attributes.get(qualifier), 1)
        return product

    def modifiers(self, attributes: Attributes) -> str:
        """The modifiers that decide it under `attributes`, as PTX spells them: ".16x64b.x4"."""
        fixed = tuple(
            (qualifier, table)
            for qualifier, table in self.fixed
            if attributes.get(qualifier) in table
        )
        known = (
            attributes[qualifier]
            for qualifier, table in fixed or self.factors
            if attributes.get(qualifier) in table
        )
        return "".join(attribute.ptx for attribute in known if isinstance(attribute, Modifier))


@dataclass(frozen=True, slots=True)
class NumbersFrom:
    """Numbers from `least` on, which only some targets take; `rule` is what others break."""

    least: int
    needs: Capability
    rule: str


@dataclass(frozen=True, slots=True)
class Numbers:
    """Which numbers an operand takes when it is a literal.

    `wraps` says that ptxas looks at the lower 32 bits only; `marker` are bits that every number but
    0 has.  `rule` is what a number breaks that is none of them; `ptxas_accepts` marks where ptxas
    lets it pass.  `later` are those that not every target takes.
    """

    low: int | None = None
    high: int | None = None
    multiple: int = 1
    power_of_two: bool = False
    nonzero: bool = False
    wraps: bool = False
    marker: int = 0
    rule: str = "immediate-range"
    ptxas_accepts: bool = False
    later: tuple[NumbersFrom, ...] = ()

    def accepts(self, value: int) -> bool:
        """Whether `value` is one of them."""
        if self.wraps and value >= 1 << 32:
            value &= 0xFFFF_FFFF
        if self.low is not None and value < self.low:
            return False
        if self.high is not None and value > self.high:
            return False
        if value % self.multiple or (self.nonzero and not value):
            return False
        if value and value & self.marker != self.marker:
            return False
        return not self.power_of_two or (value > 0 and value & (value - 1) == 0)

    def nearest(self, value: int) -> int | None:
        """A number close to `value` that is one of them, if there is one."""
        if self.low is not None:
            value = max(value, self.low)
        if self.high is not None:
            value = min(value, self.high)
        if self.power_of_two:
            value = 1 << max(value - 1, 0).bit_length()
        value = -(-value // self.multiple) * self.multiple
        value = value or (self.multiple if self.nonzero else 0)
        return value if self.accepts(value) else None

    def hint(self, value: int) -> str:
        """Which number to take in place of one that is not accepted: the next larger, if any."""
        near = self.nearest(value)
        if near is None:
            return ""
        return f"the next one is {near}" if near > value else f"the nearest one is {near}"

    def __str__(self) -> str:
        if self.marker:
            return f"0, or a number with bits {self.marker:#x}"
        if self.low is None:
            return "any integer" if self.multiple == 1 else f"a multiple of {self.multiple}"
        if self.nonzero and (self.low, self.high) == (-1, 1):
            return "-1 or 1"
        bounds = f"{self.low}" if self.high is None else f"{self.low}..{self.high}"
        if self.high is None:
            step = f"a multiple of {self.multiple}, " if self.multiple != 1 else ""
            return f"{step}at least {bounds}"
        if self.power_of_two:
            return f"a power of 2 in {bounds}"
        return bounds if self.multiple == 1 else f"a multiple of {self.multiple} in {bounds}"


@dataclass(frozen=True, slots=True)
class By(Generic[T]):
    """A property of an operand that a qualifier decides."""

    qualifier: str
    table: Mapping[Attribute, T]
    otherwise: T

    def of(self, attributes: Attributes) -> T:
        """The property under `attributes`."""
        return self.table.get(attributes.get(self.qualifier), self.otherwise)


OperandType: TypeAlias = ScalarType | str | By[ScalarType]
"""A type, the qualifier that names it, or a table over a qualifier."""


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand: its place in the syntax is given by the row's operand string."""

    name: str
    kind: Kind
    type: OperandType = ScalarType.B32
    access: Access = Access.READ
    space: Space | str | None = None
    count: Count | None = None
    numbers: Numbers | By[Numbers] = Numbers()
    negatable: bool = False  # `!p`
    number_too: bool | By[bool] = False  # a predicate's place that also takes a number
    sink: bool = False  # `_` discards the result, or one register of a vector
    unused: bool = False  # `_` discards a whole vector
    widened: bool = False  # a register wider than the type may hold it (ld, st, cvt)
    untyped: bool = False  # a tensor address whose register must be declared .b32
    symbols: bool = False  # `symbol+4` may stand for a number
    specials: bool = False  # a special register may stand here
    wide: bool = False  # an address whose register has 32 or 64 bits
    distinct: bool = False  # no register twice, in a vector and among all such operands
    within: Space | None = None  # the space of a symbol where the address is generic
    stored: bool = False  # an address that is written
    bare: bool = False  # an address without an offset
    held: bool = False  # an address in a register, never a symbol
    vector_numbers: VectorNumbers = VectorNumbers.NONE
    each: tuple[Numbers | By[Numbers], ...] = ()  # what elements take where they are literals
    limit: str = ""  # the operand that holds the largest number that may stand here
    fraction: bool = False  # a floating-point literal is above 0, and 1 at most

    def type_under(self, attributes: Attributes) -> ScalarType:
        """The operand's type, looked up where a qualifier names it."""
        if isinstance(self.type, ScalarType):
            return self.type
        if isinstance(self.type, By):
            return self.type.of(attributes)
        found = attributes.get(self.type)
        assert isinstance(found, ScalarType), (self.name, self.type)
        return found

    def numbers_under(self, attributes: Attributes) -> Numbers:
        """The literals that the operand takes."""
        return _under(self.numbers, attributes)

    def takes_number(self, attributes: Attributes) -> bool:
        """Whether a number may stand in the place of a predicate."""
        return _under(self.number_too, attributes)

    def each_under(self, attributes: Attributes) -> tuple[Numbers, ...]:
        """The literals that the elements of a vector take, in turn; () where any will do."""
        return tuple(_under(numbers, attributes) for numbers in self.each)


def _under(found: T | By[T], attributes: Attributes) -> T:
    return found.of(attributes) if isinstance(found, By) else found


def result(
    name: str,
    type: OperandType,
    *,
    sink: bool = False,
    widened: bool = False,
    distinct: bool = False,
) -> Operand:
    """A register that the instruction writes."""
    return Operand(
        name, Kind.REGISTER, type, Access.WRITE, sink=sink, widened=widened, distinct=distinct
    )


def predicate_result(name: str, *, sink: bool = False) -> Operand:
    """A predicate that the instruction writes."""
    return Operand(name, Kind.REGISTER, ScalarType.PRED, Access.WRITE, sink=sink)


def register(name: str, type: OperandType) -> Operand:
    """A register that the instruction reads."""
    return Operand(name, Kind.REGISTER, type)


def value(
    name: str,
    type: OperandType,
    numbers: Numbers | By[Numbers] = Numbers(),
    *,
    widened: bool = False,
    symbols: bool = True,
    specials: bool = False,
    limit: str = "",
) -> Operand:
    """A register or a number."""
    return Operand(
        name,
        Kind.VALUE,
        type,
        numbers=numbers,
        widened=widened,
        symbols=symbols,
        specials=specials,
        limit=limit,
    )


def number(name: str, numbers: Numbers | By[Numbers] = Numbers()) -> Operand:
    """A number, never a register."""
    return Operand(name, Kind.NUMBER, ScalarType.S64, numbers=numbers)


def predicate(
    name: str,
    numbers: Numbers = Numbers(),
    *,
    negatable: bool = True,
    number_too: bool | By[bool] = False,
) -> Operand:
    """A predicate that the instruction reads; `numbers` says which stand for one."""
    return Operand(
        name,
        Kind.PREDICATE,
        ScalarType.PRED,
        numbers=numbers,
        negatable=negatable,
        number_too=number_too,
    )


def address(
    name: str,
    space: Space | str | None = None,
    *,
    wide: bool = False,
    within: Space | None = None,
    stored: bool = False,
    bare: bool = False,
    held: bool = False,
) -> Operand:
    """An address in a state space (or the generic one), in a register or a symbol."""
    return Operand(
        name,
        Kind.ADDRESS,
        ScalarType.B64,
        space=space,
        wide=wide,
        within=within,
        stored=stored,
        bare=bare,
        held=held,
    )


def tensor_address(name: str, *, untyped: bool = False) -> Operand:
    """An address in tensor memory: always 32 bits, lane << 16 | column."""
    return Operand(name, Kind.TENSOR_ADDRESS, space=Space.TENSOR, untyped=untyped)


def matrix(name: str) -> Operand:
    """A matrix: a 64-bit shared memory descriptor, or an address in tensor memory in brackets."""
    return Operand(name, Kind.MATRIX, ScalarType.B64, space=Space.TENSOR, untyped=True)


def label(name: str) -> Operand:
    """A branch target."""
    return Operand(name, Kind.LABEL)


def labels(name: str) -> Operand:
    """The branch targets of a table, in order."""
    return Operand(name, Kind.LABELS)


def vector(
    name: str,
    type: OperandType,
    count: Count,
    access: Access = Access.READ,
    *,
    numbers: VectorNumbers = VectorNumbers.NONE,
    widened: bool = False,
    sink: bool = False,
    unused: bool = False,
    distinct: bool = False,
    each: tuple[Numbers | By[Numbers], ...] = (),
) -> Operand:
    """Registers in braces; a count of 0 is one register without braces."""
    return Operand(
        name,
        Kind.VECTOR,
        type,
        access,
        count=count,
        sink=sink,
        unused=unused,
        widened=widened,
        vector_numbers=numbers,
        distinct=distinct,
        each=each,
    )


def per(
    fixed: Mapping[str, Mapping[Attribute, int]] | None = None, /, **tables: Mapping[Attribute, int]
) -> Count:
    """A vector's length as a product of tables over qualifiers, or what `fixed` says of a value."""
    return Count(tuple(tables.items()), tuple((fixed or {}).items()))


# ---- syntax ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Qualifier:
    """A modifier with several values."""

    name: str
    values: tuple[Modifier, ...]
    optional: bool

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """Its values, and None when it may be absent."""
        return (None, *self.values) if self.optional else self.values


@dataclass(frozen=True, slots=True)
class Literal:
    """A modifier that always stands there: `.sync`."""

    text: str

    @property
    def ptx(self) -> str:
        """The spelling in an instruction's name."""
        return "." + self.text


class Bracket(Enum):
    """The syntactic shape of one operand place."""

    PLAIN = "x"
    ADDRESS = "[x]"
    TENSOR = "[x, y]"
    PAIR = "x|y"


@dataclass(frozen=True, slots=True)
class Element:
    """One place in the operand list; places of the same `group` come and go together."""

    names: tuple[str, ...]
    bracket: Bracket
    group: int | None  # None: always there

    @property
    def pair_optional(self) -> bool:
        """Whether the second of a pair may be left out (`p{|q}`)."""
        return self.bracket is Bracket.PAIR and self.names[1].startswith("?")


def _parse_modifiers(
    text: str, qualifiers: Mapping[str, Iterable[Modifier]]
) -> tuple[Qualifier | Literal, ...]:
    items: list[Qualifier | Literal] = []
    for match in re.finditer(r"(\{)?(?:\.|(?<![\w:])::)([\w:]+)\}?", text):
        name, optional = match[2], match[1] is not None
        if name in qualifiers:
            items.append(Qualifier(name, tuple(qualifiers[name]), optional))
        else:
            assert not optional, f"{name}: an optional modifier must be a declared qualifier"
            items.append(Literal(name))
    return tuple(items)


def _parse_operands(text: str) -> tuple[Element, ...]:
    elements: list[Element] = []
    groups = itertools.count()
    for part in re.finditer(r"\{\s*,\s*((?:[^{}])*)\}|([^{}]+(?:\{\|\w+\}[^{}]*)?)", text):
        group = next(groups) if part[1] is not None else None
        body = (part[1] if part[1] is not None else part[2]).strip().strip(",")
        for place in re.finditer(r"\[([^\]]*)\]|(\w+)(?:\|(\w+)|\{\|(\w+)\})?", body):
            if place[1] is not None:
                names = tuple(n.strip() for n in place[1].split(","))
                bracket = Bracket.ADDRESS if len(names) == 1 else Bracket.TENSOR
            elif place[3] is not None:
                names, bracket = (place[2], place[3]), Bracket.PAIR
            elif place[4] is not None:
                names, bracket = (place[2], "?" + place[4]), Bracket.PAIR
            else:
                names, bracket = (place[2],), Bracket.PLAIN
            elements.append(Element(names, bracket, group))
    return tuple(elements)


# ---- legality --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Guard:
    """Holds when every attribute it names is one of the given ones."""

    terms: tuple[tuple[str, frozenset[Attribute]], ...] = ()

    def holds(self, attributes: Attributes) -> bool:
        """Whether `attributes` satisfy every term."""
        return all(attributes.get(name) in allowed for name, allowed in self.terms)

    def must(
        self,
        rule_id: str,
        text: str = "",
        hint: str = "",
        *,
        section: str = "",
        **attributes: Attribute | Iterable[Attribute],
    ) -> Rule:
        """A rule: under this guard, `attributes` must hold."""
        return Rule(rule_id, self, when(**attributes), text, hint, section)

    def needs(
        self,
        rule_id: str,
        capability: Capability,
        text: str = "",
        hint: str = "",
        *,
        section: str = "",
    ) -> Rule:
        """A rule: under this guard, the target must have `capability`."""
        return Rule(rule_id, self, capability, text, hint, section)

    def is_wrong(
        self,
        rule_id: str,
        text: str,
        hint: str = "",
        *,
        section: str = "",
        ptxas_accepts: bool = False,
    ) -> Rule:
        """A rule: this guard must never hold."""
        return Rule(rule_id, self, Never.NEVER, text, hint, section, ptxas_accepts)


class Never(Enum):
    """The demand that nothing satisfies."""

    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Rule:
    """Under `guard`, `demand` must hold: other attributes, or a capability of the target.

    `section` names the manual's section where it is not the row's; `ptxas_accepts` marks what nvgen
    rejects on purpose although ptxas lets it pass.
    """

    id: str
    guard: Guard
    demand: Guard | Capability | Never
    text: str = ""
    hint: str = ""
    section: str = ""
    ptxas_accepts: bool = False


def when(**attributes: Attribute | Iterable[Attribute]) -> Guard:
    """A guard: `when(kind=MmaKind.I8, mask=True)`; a collection means "one of these"."""
    return Guard(tuple((name, _attribute_set(allowed)) for name, allowed in attributes.items()))


def _attribute_set(allowed: Attribute | Iterable[Attribute]) -> frozenset[Attribute]:
    if allowed is None or isinstance(allowed, (Modifier, bool)):
        return frozenset([allowed])
    return frozenset(allowed)


ALWAYS = Guard()


def absent_or(*values: Attribute) -> tuple[Attribute, ...]:
    """The values, or the qualifier absent."""
    return (None, *values)


# ---- effects ---------------------------------------------------------------------------------


class IssueScope(Enum):
    """Who executes one instance of the operation."""

    THREAD = "thread"
    WARP = "warp"
    WARPGROUP = "warpgroup"
    CTA = "CTA"
    CTA_PAIR = "CTA pair"


class Effect(Flag):
    """What an instruction does besides computing its results."""

    NONE = 0
    READS_MEMORY = auto()
    WRITES_MEMORY = auto()
    CONVERGENT = auto()  # which threads execute it together matters
    ALIGNED = auto()  # the whole warp must execute it together
    ASYNC_PROXY = auto()  # touches memory through the async proxy
    TERMINATOR = auto()  # ends a block
    BARRIER = auto()  # orders other operations, so nothing moves across it
    CARRY = auto()  # reads or writes the carry flag, so their order counts


class Completion(Enum):
    """When an operation's effect is there."""

    AT_ISSUE = "at issue"
    WAIT_LD = "tcgen05.wait::ld"
    WAIT_ST = "tcgen05.wait::st"
    COMMIT = "tcgen05.commit on an mbarrier"
    TRANSACTION = "transaction bytes on an mbarrier"
    COPY_GROUP = "cp.async.wait_group, cp.async.wait_all or cp.async.mbarrier.arrive of its thread"
    BULK_GROUP = "cp.async.bulk.wait_group on its bulk async-group"
    WGMMA_GROUP = "wgmma.wait_group on its wgmma-group"


@dataclass(frozen=True, slots=True)
class Effects:
    """What dead-code elimination, the verifier and the simulator need to know."""

    effect: Effect = Effect.NONE
    scope: IssueScope = IssueScope.THREAD
    completion: Completion = Completion.AT_ISSUE

    @property
    def is_pure(self) -> bool:
        """Whether the instruction may be removed when its results are not used."""
        return self.effect in (Effect.NONE, Effect.READS_MEMORY)


PURE = Effects()


# ---- LLVM's spelling -------------------------------------------------------------------------


Code: TypeAlias = Mapping[int, Attribute]
"""What the numbers of an immediate stand for."""


@dataclass(frozen=True, slots=True)
class Llvm:
    """One of LLVM's intrinsics for a row.

    `name` follows `llvm.nvvm.`; `{hole}` in it spells a qualifier, as its value or as `holes` says
    (where one text may stand for several attributes).  `args` lists, in order, `type:operand`,
    `type#qualifier` (an immediate that encodes a qualifier), `type?operand` (an i1 that says
    whether the operand counts) and `type=number` (ignored).  What an instruction updates is among
    the arguments and the results.  Types are i1…i64, float, double, `p` and `pN` for pointers to
    address space N, `vNi32` and `v*i32` for vectors as long as the operand, and `n*T` for as many
    values of type T (`v2f16` is a pair in one register) as it has registers: arguments, or a
    structure's elements in a result, where one alone stands for itself.  `numbers` are operands
    that the name states. `own` names are nvgen's, for forms that LLVM 22 does not have.
    """

    name: str
    args: str = ""
    result: str = ""
    given: Attributes = field(default_factory=dict)
    holes: Mapping[str, Mapping[str, Attribute | Attributes]] = field(default_factory=dict)
    codes: Mapping[str, Code] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)
    own: bool = False


class PackedFields(Protocol):
    """Qualifiers that a record keeps in packed words beside its operands."""

    def slots(self, attributes: Attributes) -> tuple[str, ...]:
        """The slots that hold the words of a form with `attributes`."""

    @property
    def qualifiers(self) -> frozenset[str]:
        """The qualifiers whose values stand in the words only."""

    def pack(self, attributes: Attributes) -> dict[str, int]:
        """The words for `attributes`, by slot."""

    def unpack(
        self, words: Mapping[str, int], attributes: Attributes
    ) -> tuple[dict[str, Attribute], tuple[Problem, ...]]:
        """The attributes in `words`, and what is wrong with them; `attributes` are the opcode's."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a packed word, before it becomes a finding."""

    rule: str
    text: str
    got: str = ""
    expected: str = ""
    subject: str = ""  # the operand or modifier that it is about
    hint: str = ""


# ---- the row ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Row:
    """One PTX instruction family; see the module's docstring for the notation.

    `section` names the manual's section, `name` tells rows of one head apart (`add.int`), `opcode`
    replaces the head in opcode names (`*` where the qualifiers go), `tied` says which optional
    operand an qualifier value implies, `numbers` publishes opcode numbers, `elsewhere` lists
    modifiers that PTX has with this head in forms that nvgen does not know yet, `aliases` other
    names of the head; `late` maps a modifier that belongs into the head to the longer head; the
    simulator knows no row without `simulated`, and no form with one of the qualifiers or operands
    that `unsimulated` names.  A `pseudo` row is no instruction: it has no PTX, and a pass turns its
    records into others.
    """

    head: str
    modifiers: str = ""
    syntax: str = ""
    qualifiers: Mapping[str, Iterable[Modifier]] = field(default_factory=dict)
    operands: tuple[Operand, ...] = ()
    section: str = ""
    name: str = ""
    needs: Capability = EVERYWHERE
    needs_text: str = ""
    rules: tuple[Rule, ...] = ()
    effects: Effects = PURE
    llvm: tuple[Llvm, ...] = ()
    packed_fields: PackedFields | None = None
    slots: str = ""
    opcode: str = ""
    tied: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)
    elsewhere: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    late: Mapping[str, str] = field(default_factory=dict)
    simulated: bool = True
    unsimulated: tuple[str, ...] = ()
    pseudo: bool = False

    @cached_property
    def id(self) -> str:
        """The row's unique name."""
        return self.name or self.head

    @cached_property
    def items(self) -> tuple[Qualifier | Literal, ...]:
        """Modifiers in print order."""
        return _parse_modifiers(self.modifiers, self.qualifiers)

    @cached_property
    def qualifier(self) -> dict[str, Qualifier]:
        """Qualifiers by name, in print order."""
        return {item.name: item for item in self.items if isinstance(item, Qualifier)}

    @cached_property
    def elements(self) -> tuple[Element, ...]:
        """Operand places in PTX order."""
        return _parse_operands(self.syntax)

    @cached_property
    def operand(self) -> dict[str, Operand]:
        """Operands by name."""
        return {operand.name: operand for operand in self.operands}

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Names of the operands of each optional group."""
        found: dict[int, tuple[str, ...]] = {}
        for element in self.elements:
            if element.group is not None:
                found[element.group] = found.get(element.group, ()) + element.names
        return tuple(found.values())

    @cached_property
    def optional(self) -> frozenset[str]:
        """Operands that may be left out: in braces, or a result that `_` discards."""
        seconds = {e.names[1][1:] for e in self.elements if e.pair_optional}
        sunk = {o.name for o in self.operands if o.sink and o.kind is Kind.REGISTER}
        return frozenset(itertools.chain.from_iterable(self.groups)) | seconds | sunk

    @cached_property
    def slot_names(self) -> tuple[str, ...]:
        """A record's slots when everything is there: operands, and packed words."""
        if self.slots:
            return tuple(self.slots.split())
        return tuple(n.lstrip("?") for element in self.elements for n in element.names)

    @cached_property
    def opcode_qualifiers(self) -> tuple[str, ...]:
        """Qualifiers that the opcode spells."""
        in_words = self.packed_fields.qualifiers if self.packed_fields else frozenset()
        return tuple(name for name in self.qualifier if name not in in_words)

    @cached_property
    def attribute_names(self) -> tuple[str, ...]:
        """Everything a rule of this row may speak of, in a fixed order."""
        matrices = tuple(o.name for o in self.operands if o.kind is Kind.MATRIX)
        return (*self.qualifier, *sorted(self.optional), *matrices)

    @cached_property
    def opcode_ends(self) -> tuple[str, str]:
        """What stands before and after the qualifiers in an opcode name."""
        text = self.opcode or re.sub(r"\W+", "_", self.head).upper()
        before, _, after = text.partition("*")
        return before, after

    def spell(self, attributes: Attributes) -> str:
        """The instruction's name with its modifiers, in canonical order."""
        parts = [self.head]
        for item in self.items:
            if isinstance(item, Literal):
                parts.append(item.ptx)
                continue
            attribute = attributes.get(item.name)
            if isinstance(attribute, Modifier):
                parts.append(attribute.ptx)
        return "".join(parts)

    def __repr__(self) -> str:
        return f"<Row {self.id}>"

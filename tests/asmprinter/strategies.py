"""Random machine code, made from nothing but the rows.

`modules` draws whole modules that satisfy every rule of every row: forms that the drawn target has,
operands of the right kinds, classes, lengths and ranges, guards, blocks that branch to each other,
parameters, variables, launch bounds and locations.  `records` draws one record of one row, for
tests that then break a single thing in it.

What a row allows is enumerated where that is cheap and sampled (by dice that depend on the row
alone) where it is not, so that runs are repeatable.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from asmprinter.mir.printer import print_mir
from asmprinter.ptx.names import register_names
from asmprinter.ptx.statements import instruction
from intrinsics import catalog
from intrinsics.mir import (
    Address,
    Block,
    Export,
    Imm,
    Label,
    Launch,
    Location,
    MachineFunction,
    MachineInstr,
    Module,
    Not,
    Param,
    Reg,
    Scalar,
    Text,
    Variable,
    form_of,
    renumber,
)
from intrinsics.modifiers import ScalarType, Space
from intrinsics.row import (
    Attribute,
    Effect,
    Row,
)
from intrinsics.targets import PTX_VERSIONS, TARGETS, Target
from tests.asmprinter.operand_strategies import (
    CLASSES,
    NEWEST,
    Scene,
    draw_operand,
    legal_attributes,
    names,
    ordinary_rows,
)

# ---- records ---------------------------------------------------------------------------------


def draw_record(
    draw: st.DrawFn, scene: Scene, row: Row, attributes: dict[str, Attribute], *, loc: int = 0
) -> MachineInstr:
    """A record of `row` with `attributes` and random operands that satisfy it."""
    guard: Reg | Not | None = None
    if draw(st.integers(0, 4)) == 0:
        reg = scene.register(draw, [ScalarType.PRED])
        guard = Not(reg) if draw(st.booleans()) else reg
    form = form_of(row, **attributes)
    words = row.packed_fields.pack(attributes) if row.packed_fields else {}
    scene.writes = Effect.WRITES_MEMORY in row.effects.effect
    ops = [
        Imm(words[slot]) if operand is None else draw_operand(draw, scene, operand, attributes)
        for slot, operand in zip(form.slots, form.operands, strict=True)
    ]
    for place, operand in enumerate(form.operands):
        most = ops[form.slots.index(operand.limit)] if operand and operand.limit else None
        if isinstance(most, Imm) and isinstance(op := ops[place], Imm):
            ops[place] = Imm(min(op.value % (1 << 32), most.value % (1 << 32)))
    return MachineInstr(form, tuple(ops), guard, loc)


class Record:
    """One record in a function of its own, with the attributes it was made from."""

    def __init__(
        self,
        function: MachineFunction,
        record: MachineInstr,
        attributes: dict[str, Attribute],
        target: Target,
    ) -> None:
        self.function = function
        self.record = record
        self.attributes = attributes
        self.target = target

    @property
    def row(self) -> Row:
        return self.record.row

    def __repr__(self) -> str:
        return f"{instruction(self.record, register_names(self.function))}  // {self.target}"


@st.composite
def records(
    draw: st.DrawFn, *, rows: Sequence[str] = (), target: str = "", special: bool = True
) -> Record:
    """One legal record of any row (or of one of `rows`) on any target (or on `target`)."""
    chosen = TARGETS[target] if target else draw(targets())
    among = [r for r in ordinary_rows(chosen) if not rows or r.id in rows]
    row = draw(st.sampled_from(among))
    attributes = draw(st.sampled_from(legal_attributes(row, chosen)))
    function = MachineFunction("k")
    record = draw_record(draw, Scene(function, target=chosen, special=special), row, attributes)
    function.blocks = [Block("entry", [record])]
    renumber(function)
    return Record(function, record, attributes, chosen)


# ---- modules ---------------------------------------------------------------------------------

REPRESENTATIVES = (
    "sm_80", "sm_90a", "sm_100a", "sm_100f", "sm_103a", "sm_107a", "sm_110a", "sm_120a",
)  # fmt: skip


def targets() -> st.SearchStrategy[Target]:
    """Targets between which the rows make a difference."""
    return st.sampled_from([TARGETS[name] for name in REPRESENTATIVES])


UNKNOWN_TO_NVGEN = ("sust.b.1d.b32.trap [16, {1}], {2}",)
"""Instructions of PTX that no row describes; they are kept as text."""

_PARAM_TYPES = tuple(
    ScalarType(name) for name in ("u8", "u16", "u32", "u64", "s32", "f32", "f64", "b16", "b64")
)


@st.composite
def _params(draw: st.DrawFn, function: str, *, pointers: bool) -> list[Param]:
    found = []
    for number in range(draw(st.integers(0, 3))):
        name, type_ = f"{function}_param_{number}", draw(st.sampled_from(_PARAM_TYPES))
        size = type_.bits // 8
        if draw(st.integers(0, 3)) == 0:
            align = draw(st.sampled_from((1, 4, 8, 64, 128)))
            found.append(Param(name, ScalarType.B8, draw(st.integers(1, 256)), align))
        elif pointers and type_ is ScalarType.U64 and draw(st.booleans()):
            pointee = draw(st.sampled_from((None, Space.GLOBAL, Space.SHARED, Space.CONST)))
            align = draw(st.sampled_from((1, 4, 16, 128)))
            found.append(Param(name, type_, size, size, pointee, True, align))
        else:
            found.append(Param(name, type_, size, size))
    return found


@st.composite
def _launch(draw: st.DrawFn, target: Target) -> Launch:
    dims = st.sampled_from(((), (128,), (32, 4), (16, 2, 4)))
    required = draw(dims)
    most = () if required else draw(dims)
    cluster = draw(st.sampled_from(((), (2,), (2, 2, 1)))) if target.number >= 90 else ()
    registers, blocks = draw(st.sampled_from(((0, 0), (64, 0), (0, 2))))
    return Launch(required, most, cluster, registers, blocks if required or most else 0)


@st.composite
def _variables(draw: st.DrawFn) -> list[Variable]:
    found: list[Variable] = []
    for number in range(draw(st.integers(0, 3))):
        space = draw(st.sampled_from((Space.GLOBAL, Space.SHARED, Space.CONST)))
        size, align = draw(st.integers(1, 24)), draw(st.sampled_from((1, 4, 16, 1024)))
        data = None
        if space is not Space.SHARED and draw(st.booleans()):
            data = draw(st.binary(min_size=size, max_size=size))
        export = draw(st.sampled_from((Export.NONE, Export.VISIBLE)))
        addresses: tuple[Address, ...] = ()
        named = [v.name for v in found if v.space is not Space.SHARED]
        if named and data is not None and size >= 8:
            at = draw(st.integers(0, (size - 8) // 8)) * 8 + draw(st.integers(0, size % 8))
            offset, generic = draw(st.integers(-9, 9)), draw(st.booleans())
            addresses = (Address(at, named[0], offset, generic),)
            data = data[:at] + bytes(8) + data[at + 8 :]
        name = f"var{number}"
        found.append(Variable(name, space, size, align, data, export=export, addresses=addresses))
    if draw(st.integers(0, 3)) == 0:
        found.append(Variable("dynamic_smem", Space.SHARED, 0, 16, external=True))
    return found


@st.composite
def _own_variables(draw: st.DrawFn, function: str) -> list[Variable]:
    """Variables that only one function sees; local memory has no others."""
    spaces = draw(st.lists(st.sampled_from((Space.SHARED, Space.LOCAL)), max_size=2))
    size, align = draw(st.integers(1, 24)), draw(st.sampled_from((1, 4, 16)))
    return [Variable(f"{function}_own{i}", space, size, align) for i, space in enumerate(spaces)]


@st.composite
def _locations(draw: st.DrawFn) -> list[Location]:
    texts = st.sampled_from(("a.ll", "dir/gemm.py", 'odd "name" \\ here', "x y.ll"))
    python = draw(st.booleans())
    found = [Location()]
    for _ in range(draw(st.integers(0, 3))):
        line, column = draw(st.integers(0, 9999)), draw(st.integers(0, 200))
        source = (draw(texts), draw(st.integers(1, 999))) if python else ("", 0)
        found.append(Location(draw(texts), line, column, *source))
    return found


def _phi(draw: st.DrawFn, scene: Scene) -> MachineInstr:
    row = catalog.row("phi")
    type_ = draw(st.sampled_from(row.qualifier["type"].values))
    assert isinstance(type_, ScalarType)
    count = draw(st.integers(1, 3))
    values: list[Scalar] = [
        Imm(draw(st.integers(0, 99))) if draw(st.booleans()) else scene.register(draw, [type_])
        for _ in range(count)
    ]
    blocks = [Label(draw(st.sampled_from(scene.blocks))) for _ in range(count)]
    result = scene.register(draw, [type_], new=True)
    return MachineInstr(form_of(row, type=type_), (result, tuple(values), tuple(blocks)))


def _ending(draw: st.DrawFn, scene: Scene, *, last: bool) -> list[MachineInstr]:
    """How a block ends: it falls through, branches (perhaps under a guard), or returns."""
    found = []
    for _ in range(draw(st.integers(0, 2))):
        row = catalog.row(draw(st.sampled_from(("bra", "brx.idx", "ret", "exit"))))
        attributes = {
            name: draw(st.sampled_from(qualifier.attributes))
            for name, qualifier in row.qualifier.items()
        }
        found.append(draw_record(draw, scene, row, attributes))
    return [*found, MachineInstr(form_of(catalog.row("ret")), ())] if last else found


@st.composite
def _function(
    draw: st.DrawFn,
    name: str,
    target: Target,
    variables: Sequence[Variable],
    locations: int,
    kept_names: bool,
    phis: bool,
) -> MachineFunction:
    function = MachineFunction(name, draw(st.booleans()))
    function.params = draw(_params(name, pointers=function.is_kernel))
    if function.is_kernel:
        function.launch = draw(_launch(target))
    function.keep_names = kept_names
    labels = draw(names(draw(st.integers(1, 4)), percent=False))
    if draw(st.booleans()):
        labels[0] = "entry"
    classes = tuple(ScalarType) if kept_names else CLASSES
    function.variables = draw(_own_variables(name))
    scene = Scene(function, classes, [*variables, *function.variables], labels, target)
    for label in labels:
        block = Block(label)
        if phis and draw(st.booleans()):
            block.instrs.append(_phi(draw, scene))
        for _ in range(draw(st.integers(0, 3))):
            loc = draw(st.integers(0, locations))
            if draw(st.integers(0, 9)) == 0:
                text = Text(draw(st.sampled_from(UNKNOWN_TO_NVGEN)))
                block.instrs.append(MachineInstr(form_of(catalog.row("opaque")), (text,), None))
                continue
            row = draw(st.sampled_from(ordinary_rows(target)))
            attributes = draw(st.sampled_from(legal_attributes(row, target)))
            block.instrs.append(draw_record(draw, scene, row, attributes, loc=loc))
        block.instrs += _ending(draw, scene, last=label is labels[-1])
        function.blocks.append(block)
    renumber(function)
    if kept_names or draw(st.booleans()):
        _name_registers(draw, function)
    return function


def _name_registers(draw: st.DrawFn, function: MachineFunction) -> None:
    """Names for all registers (PTX's own), or hints for some of them."""
    labels = {block.name for block in function.blocks}
    drawn = draw(names(min(len(function.regs), 6), percent=function.keep_names))
    given = [name for name in drawn if name not in labels]
    for reg in range(len(function.regs)):
        if reg < len(given):
            function.regs.names[reg] = given[reg]
        elif function.keep_names:
            function.regs.names[reg] = f"%{function.regs.classes[reg].value}_{reg}"


class Drawn:
    """A random module; what it shows of itself is its text, not its thousand fields."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def __repr__(self) -> str:
        return "\n" + print_mir(self.module).text


@st.composite
def modules(draw: st.DrawFn, *, kept_names: bool | None = None, mir: bool = False) -> Drawn:
    """A module whose records all satisfy their rows.

    `kept_names` says whether registers have names of their own, as in PTX that was read.  With
    `mir` the module also has what only MIR text can carry: locations, PHI records, grid constants.
    """
    target = draw(targets())
    kept = draw(st.booleans()) if kept_names is None else kept_names
    variables = draw(_variables())
    module = Module(target, NEWEST, draw(st.sampled_from(("", "gemm.ll"))), variables)
    if mir:
        module.ptx = draw(st.sampled_from((None, *PTX_VERSIONS[-3:])))
        module.locations = draw(_locations())
    for number in range(draw(st.integers(1, 2))):
        function = draw(
            _function(f"f{number}", target, variables, len(module.locations) - 1, kept, mir)
        )
        if mir and draw(st.booleans()):
            function.params.append(Param("grid", ScalarType.B8, 128, 64, constant=True))
        module.functions.append(function)
    return Drawn(module)

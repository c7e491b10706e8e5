"""A wrong modifier or operand is reported where it stands, under the rule of its row."""

from __future__ import annotations

import functools

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from asmprinter.mir.reader import read_mir
from asmprinter.ptx.names import register_names
from asmprinter.ptx.reading.opcodes import TWICE
from asmprinter.ptx.statements import instruction
from intrinsics import catalog
from intrinsics.catalog import find_head
from intrinsics.findings import Finding, InputError
from intrinsics.mir import MachineInstr
from intrinsics.modifiers import CachePriority, CopyFormat, Modifier, ScalarType, Space
from intrinsics.modifiers.mma_sync import MmaLayout
from intrinsics.modifiers.wgmma import BitOperation, MatrixType
from intrinsics.row import Kind, Literal, Row
from intrinsics.targets import TARGETS
from tests.asmprinter.broken import LINE, around, errors_of
from tests.asmprinter.operand_strategies import is_legal, values_of
from tests.asmprinter.strategies import Record, records
from tests.turns import examples


def statement_of(drawn: Record) -> str:
    return instruction(drawn.record, register_names(drawn.function))


def respelled(drawn: Record, mnemonic: str) -> str:
    """The statement under another name."""
    old = drawn.row.spell(drawn.attributes)
    statement = statement_of(drawn)
    assert statement.count(old) == 1
    return statement.replace(old, mnemonic)


def blamed(drawn: Record, statement: str) -> list[Finding]:
    """The errors of the statement, which are all about its line and its row."""
    errors = errors_of(around(statement, drawn.target))
    assert errors, f"{statement} is accepted"
    for finding in errors:
        assert finding.place.line == LINE, finding
        assert finding.place.file == "k.ptx"
        family = finding.rule.split("/")[0]
        assert family == "ptx" or finding.rule.startswith(f"{_family(drawn.row)}"), finding
    return errors


def _family(row: Row) -> str:
    """The part of the head that rows with a common beginning share (`tcgen05.mma`)."""
    return ".".join(row.head.split(".")[:2])


@examples(200)
@given(records())
def test_the_statement_under_test_is_right_before_it_is_broken(drawn: Record):
    assert errors_of(around(statement_of(drawn), drawn.target)) == []


# ---- modifiers -------------------------------------------------------------------------------


@functools.cache
def vocabulary() -> tuple[str, ...]:
    """Every modifier of every row, and words that are no modifier at all."""
    words = {
        value.value
        for row in catalog.rows()
        for qualifier in row.qualifier.values()
        for value in qualifier.values
        if not value.value.startswith("::")
    }
    return (*sorted(words), "nosuch", "x3", "kind::f17", "cta_group::3", "s31")


@examples(300)
@given(records(), st.data())
def test_a_modifier_that_the_row_does_not_have(drawn: Record, data: st.DataObject):
    """Put in the place of one that is there, or behind all of them."""
    row = drawn.row
    head, modifiers = find_head(row.spell(drawn.attributes))
    assert head is not None
    known = {value.value for qualifier in row.qualifier.values() for value in qualifier.values}
    known |= {item.text for item in row.items if isinstance(item, Literal)}
    known |= {word for r in catalog.rows() if r.head == row.head for word in r.elsewhere}
    others = (r for r in catalog.rows() if r.head == row.head)
    known |= {
        value.value
        for r in others
        for qualifier in r.qualifier.values()
        for value in qualifier.values
    }
    known |= {*row.late}
    word = data.draw(st.sampled_from([w for w in vocabulary() if w not in known]))
    place = data.draw(st.integers(0, len(modifiers)))
    spoilt = ".".join([head.text, *modifiers[:place], word, *modifiers[place + 1 :]])
    assume(find_head(spoilt)[0] is head)  # no longer head, such as .parity behind try_wait
    blamed(drawn, respelled(drawn, spoilt))


@examples(300)
@given(records(), st.data())
def test_a_modifier_that_is_missing(drawn: Record, data: st.DataObject):
    row = drawn.row
    head, modifiers = find_head(row.spell(drawn.attributes))
    assert head is not None
    needed = [item.text for item in row.items if isinstance(item, Literal)]
    needed += [
        attribute.value
        for name, qualifier in row.qualifier.items()
        if not qualifier.optional and isinstance(attribute := drawn.attributes[name], Modifier)
    ]
    # A fence restricted to one state space is one of all of them without that word.
    needed = [word for word in needed if not word.startswith("sync_restrict")]
    if drawn.attributes.get("secondary"):  # of two priorities, of which either may stand alone
        needed = [word for word in needed if not word.startswith("L2::")]
    there = [i for i, word in enumerate(modifiers) if word in needed]
    assume(there)
    gone = data.draw(st.sampled_from(there))
    spoilt = ".".join([head.text, *modifiers[:gone], *modifiers[gone + 1 :]])
    blamed(drawn, respelled(drawn, spoilt))


_PRIORITIES = tuple(priority.value for priority in CachePriority)


@examples(300)
@given(records(), st.data())
def test_a_modifier_that_stands_twice(drawn: Record, data: st.DataObject):
    """ptxas lets a few (`.sync`, `.uni`) stand twice; of the others a second one is an error."""
    head, modifiers = find_head(drawn.row.spell(drawn.attributes))
    assert head is not None
    assume(set(modifiers) - set(TWICE))
    word = data.draw(st.sampled_from([m for m in modifiers if m not in TWICE]))
    # The second priority of a cache policy may be the first one again.
    assume(not (head.text.startswith("createpolicy") and word in _PRIORITIES))
    spoilt = ".".join([head.text, *modifiers, word])
    errors = blamed(drawn, respelled(drawn, spoilt))
    placed = (*ScalarType, *Space, *CopyFormat, *MmaLayout)
    ordered = word in {"b2", *(t.value for t in placed)}
    in_order = {"ptx/types", "ptx/state-spaces", "ptx/formats", "ptx/layouts"}
    if drawn.row.head.startswith(("mma", "wmma")) and word in (op.value for op in BitOperation):
        ordered, in_order = True, {"ptx/operations"}
    expected = in_order if ordered else {"ptx/duplicate-modifier"}
    if word in (t.value for t in MatrixType):  # a type, whose second may be blamed as a modifier
        expected = in_order | {"ptx/duplicate-modifier"}
    assert expected & {f.rule for f in errors}


RULED = tuple(row.id for row in catalog.rows() if row.rules and row.qualifiers)
"""Rows with rules that tie their qualifiers; mov's rows are told apart by operands."""


@examples(300)
@given(records(rows=RULED), st.data())
def test_a_value_that_the_rules_of_the_row_forbid(drawn: Record, data: st.DataObject):
    """A neighbouring value of a qualifier, spelled as it should be, where the rules rule it out."""
    row, attributes = drawn.row, drawn.attributes
    assume(row.head != "mov")
    forbidden = [
        {**attributes, name: value}
        for name in row.qualifier
        for value in values_of(row, name)
        if value is not attributes[name]
        and not is_legal(row, {**attributes, name: value}, drawn.target)
    ]
    # An arrival's count is read as the mask of CTAs, where a multicast is asked for: a legal form.
    # So are the bytes of a small copy's source as its cache policy, where a hint is asked for, and
    # its cache policy as the bytes of its source, where none is.
    forbidden = [f for f in forbidden if not (f.get("multicast") and f.get("count"))]
    forbidden = [f for f in forbidden if not (f.get("cache_hint") and f.get("src_size"))]
    if row.head == "cp.async":
        forbidden = [f for f in forbidden if f["cache_hint"] or not f["cache_policy"]]
    assume(forbidden)
    changed = data.draw(st.sampled_from(forbidden))
    blamed(drawn, respelled(drawn, row.spell(changed)))


# ---- operands --------------------------------------------------------------------------------


def that_cannot_stand_for(wanted: ScalarType, *, widened: bool) -> list[str]:
    """Registers, of the preamble, that are no operand of type `wanted`."""
    table = {
        "%p190": ScalarType.PRED,
        "%rs190": ScalarType.B16,
        "%r190": ScalarType.B32,
        "%rd190": ScalarType.B64,
        "%rq190": ScalarType.B128,
        "%f190": ScalarType.F32,
        "%fd190": ScalarType.F64,
    }
    wrong = []
    for name, cls in table.items():
        predicate = (cls is ScalarType.PRED) != (wanted is ScalarType.PRED)
        narrow = cls.bits < wanted.bits or (cls.bits > wanted.bits and not widened)
        mixed = {cls.kind, wanted.kind} == {"i", "f"}
        if predicate or narrow or mixed:
            wrong.append(name)
    return wrong


_COPIES = ("cp.async", "cp.async.ignore_src")
OTHER_MEANING = {
    "src_size": _COPIES,
    "ignore_src": _COPIES,
    "size": ("st.bulk", "st.bulk.size32"),
}
"""Operands in whose place a predicate, or a register of another width, makes another row of it."""


@examples(300)
@given(records(), st.data())
def test_a_register_of_the_wrong_class(drawn: Record, data: st.DataObject):
    record = drawn.record
    typed = (Kind.REGISTER, Kind.VALUE, Kind.SOURCE, Kind.PREDICATE)
    places = [
        i
        for i, operand in enumerate(record.form.operands)
        if operand is not None and operand.kind in typed and type(record.ops[i]) is int
    ]
    assume(places)
    place = data.draw(st.sampled_from(places))
    operand = record.form.operands[place]
    assert operand is not None
    wanted = operand.type_under(drawn.attributes)
    names = register_names(drawn.function)
    wrong = that_cannot_stand_for(wanted, widened=operand.widened)
    if drawn.row.id in OTHER_MEANING.get(operand.name, ()):
        wrong = [name for name in wrong if not name.startswith(("%p", "%r"))]
    names.append(data.draw(st.sampled_from(wrong)))
    ops = (*record.ops[:place], len(names) - 1, *record.ops[place + 1 :])
    spoilt = MachineInstr(record.form, ops, record.guard)
    errors = blamed(drawn, instruction(spoilt, names))
    assert any(f.rule.endswith("/operands") for f in errors)


WITH_VECTORS = tuple(
    row.id for row in catalog.rows() if any(o.kind is Kind.VECTOR for o in row.operands)
)


@examples(150)
@given(records(rows=WITH_VECTORS), st.data())
def test_a_vector_of_the_wrong_length(drawn: Record, data: st.DataObject):
    record = drawn.record
    places = [i for i, op in enumerate(record.ops) if isinstance(op, tuple)]
    assume(places)
    place = data.draw(st.sampled_from(places))
    vector = record.ops[place]
    assert isinstance(vector, tuple)
    longer = data.draw(st.booleans()) or len(vector) == 1
    changed = (*vector, vector[-1]) if longer else vector[:-1]
    ops = (*record.ops[:place], changed, *record.ops[place + 1 :])
    names = register_names(drawn.function)
    errors = blamed(drawn, instruction(MachineInstr(record.form, ops, record.guard), names))
    if not drawn.row.head.startswith(("mov", "wgmma.")):  # these have a descriptor in its place
        assert any(f.rule.endswith("/vector-size") for f in errors)


@examples(200)
@given(records())
def test_operands_too_many(drawn: Record):
    """No row takes four more registers behind all that it has."""
    statement = statement_of(drawn).removesuffix(";")
    more = ", ".join(["%r150", "%r151", "%r152", "%r153"])
    glue = ", " if drawn.record.ops or drawn.row.syntax else " "
    blamed(drawn, f"{statement}{glue}{more};")


@examples(150)
@given(records())
def test_no_operand_at_all(drawn: Record):
    assume(any(e.group is None for e in drawn.row.elements))
    head = statement_of(drawn).split(drawn.row.spell(drawn.attributes))[0]
    blamed(drawn, f"{head}{drawn.row.spell(drawn.attributes)};")


@examples(150)
@given(records())
def test_an_undeclared_register(drawn: Record):
    names = register_names(drawn.function)
    assume(names)
    spoilt = statement_of(drawn)
    errors = blamed(drawn, spoilt.replace(names[0], "%nowhere1", 1))
    assert any("%nowhere1" in f.message + f.got for f in errors)


@examples(100)
@given(records())
def test_a_guard_that_is_no_predicate(drawn: Record):
    bare = MachineInstr(drawn.record.form, drawn.record.ops)
    errors = blamed(drawn, "@%r7 " + instruction(bare, register_names(drawn.function)))
    assert [f.rule for f in errors] == ["ptx/guard"]


# ---- coordinates of a tensor copy ------------------------------------------------------------

RANK_TEXT = "TMA rank must be in the range 1..5"
COPY = "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes"


@pytest.mark.parametrize("map_", ["[%rd1]", "[%rd1, {}]", "[%rd1,{ }]"])
def test_a_tensor_map_without_coordinates_breaks_the_rule_about_ranks(map_: str):
    statement = f"{COPY} [%r1], {map_}, [%r2];"
    (found,) = errors_of(around(statement, TARGETS["sm_100a"]))
    assert (found.message, found.place.line) == (RANK_TEXT, LINE)
    assert found.rule == "cp.async.bulk.tensor/rank"
    assert found.expected == "2 coordinates"
    assert (
        errors_of(around(statement.replace(map_, "[%rd1, {%r3, %r4}]"), TARGETS["sm_100a"])) == []
    )


@pytest.mark.parametrize("coords", ["", "{}, "])
def test_mir_without_coordinates_breaks_the_rule_about_ranks(coords: str):
    opcode = "CP_ASYNC_BULK_TENSOR_LOAD_2D_SHARED_CTA_TILE"
    text = (
        "target sm_100a\nkernel @k() {\nbb.0:\n"
        f"  {opcode} [%0:b32], [%1:b64], {{%2:b32, %3:b32}}, [%4:b32]\n  RET\n}}\n"
    )
    assert read_mir(text).functions
    with pytest.raises(InputError) as caught:
        read_mir(text.replace("{%2:b32, %3:b32}, ", coords))
    (found,) = caught.value.findings
    assert (found.message, found.place.line) == (RANK_TEXT, 4)

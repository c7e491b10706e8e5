"""Machine records: slots, registers, control flow."""

from __future__ import annotations

import pytest
from hypothesis import given

from intrinsics import catalog
from intrinsics.mir import (
    Block,
    Imm,
    Label,
    MachineFunction,
    MachineInstr,
    Mem,
    Module,
    Not,
    RegisterTable,
    Sym,
    appearances,
    form_of,
    predecessors,
    registers_of,
    renumber,
    successors,
)
from intrinsics.modifiers import MmaKind, ScalarType, Space, Vec
from intrinsics.targets import TARGETS
from tests.asmprinter.strategies import Drawn, modules
from tests.turns import examples

B32 = ScalarType.B32


def record(row: str, *ops: object, guard: object = None, **attributes: object) -> MachineInstr:
    return MachineInstr(form_of(catalog.row(row), **attributes), ops, guard)


STORE = record("st", Mem(0, 16), (1, 2), guard=Not(3), space=Space.GLOBAL, vec=Vec.V2, type=B32)
LOAD = record("ld", (4, 5), Mem(Sym("x"), 8), space=Space.SHARED, vec=Vec.V2, type=B32)


# ---- slots -----------------------------------------------------------------------------------


def test_operands_by_name():
    assert STORE["a"] == Mem(0, 16)
    assert STORE["b"] == (1, 2)
    assert STORE.get("b") == (1, 2)
    assert STORE.get("nothing") is None
    with pytest.raises(KeyError):
        _ = STORE["nothing"]


def test_an_operand_that_is_left_out_has_no_slot():
    bare = record("bar.sync", Imm(0))
    counted = record("bar.sync", Imm(0), Imm(64), count=True)
    assert (bare.form.slots, counted.form.slots) == (("barrier",), ("barrier", "count"))
    assert bare.opcode == counted.opcode == "BAR_SYNC"


def test_a_modifier_that_an_operand_implies_is_filled_in():
    """setp with a third predicate combines; the operand alone tells that .and is there."""
    plain = form_of(catalog.row("bar.sync"))
    assert plain.attributes == {"count": False}
    scaled = form_of(catalog.row("tcgen05.mma"), sfa=True, sfb=True, cta_group=_one())
    assert scaled.opcode == "TCGEN05_MMA_CTA_GROUP1_BLOCK_SCALED_DENSE"


def _one() -> object:
    return catalog.row("tcgen05.mma").qualifier["cta_group"].values[0]


def test_packed_words_are_attributes_too():
    slots = {"d": Mem(0), "a": 1, "b": 2, "idesc": 3, "ctrl": Imm(0x41), "collector": Imm(1)}
    form = form_of(catalog.row("tcgen05.mma"), cta_group=_one())
    mi = MachineInstr(form, tuple(slots.get(name, 4) for name in form.slots))  # type: ignore[misc]
    assert mi.packed_fields() == {"ctrl": 0x41, "collector": 1}
    assert mi.attributes()["kind"] is MmaKind.I8


# ---- registers -------------------------------------------------------------------------------


def test_reads_and_writes():
    """The base of an address is read even where memory is written, and so is the guard."""
    assert (STORE.defs(), STORE.uses()) == ([], [0, 1, 2, 3])
    assert (LOAD.defs(), LOAD.uses()) == ([4, 5], [])


def test_registers_of_an_operand():
    assert list(registers_of((7, Imm(1), Mem(8), Not(9), Mem(Sym("x"))))) == [7, 8, 9]


def test_text_shows_the_guard_then_results_then_the_rest():
    assert list(appearances(STORE)) == [3, 0, 1, 2]
    add = record("add.int", 5, 6, 7, guard=2, type=ScalarType.S32)
    assert list(appearances(add)) == [2, 5, 6, 7]


def test_replacing_registers():
    mi = record("st", Mem(0, 16), (1, 2), guard=Not(3), space=Space.GLOBAL, vec=Vec.V2, type=B32)
    mi.map_registers({0: 10, 2: 12, 3: 13})
    assert mi.ops == (Mem(10, 16), (1, 12))
    assert mi.guard == Not(13)


@examples(60)
@given(modules())
def test_renumbering_twice_changes_nothing_more(drawn: Drawn):
    for function in drawn.module.functions:
        shown = [r for mi in function.instructions() for r in appearances(mi)]
        assert list(dict.fromkeys(shown)) == list(range(len(function.regs)))
        classes = list(function.regs.classes)
        renumber(function)
        assert function.regs.classes == classes
        assert [r for mi in function.instructions() for r in appearances(mi)] == shown


def test_renumbering_drops_registers_that_nobody_uses():
    function = MachineFunction("f")
    regs = [function.regs.new(cls, name) for cls, name in ((B32, "a"), (ScalarType.B64, "b"))]
    function.blocks = [Block("entry", [record("mov", regs[1], Imm(1), type=ScalarType.B64)])]
    renumber(function)
    assert function.regs == RegisterTable([ScalarType.B64], ["b"])
    assert function.blocks[0].instrs[0].ops == (0, Imm(1))


# ---- control flow ----------------------------------------------------------------------------


def flow(*blocks: tuple[str, list[MachineInstr]]) -> list[list[int]]:
    function = MachineFunction("f", blocks=[Block(name, list(instrs)) for name, instrs in blocks])
    after = successors(function)
    edges = [(a, b) for a, targets in enumerate(after) for b in targets]
    back = [(p, n) for n, sources in enumerate(predecessors(function)) for p in sources]
    assert sorted(edges) == sorted(back)
    return after


def bra(name: str, guard: int | None = None) -> MachineInstr:
    return record("bra", Label(name), guard=guard)


def test_control_falls_through():
    assert flow(("a", []), ("b", [record("ret")])) == [[1], []]


def test_a_branch_under_a_guard_may_fall_through():
    assert flow(("a", [bra("c", 0)]), ("b", []), ("c", [record("ret")])) == [[2, 1], [2], []]


def test_a_branch_without_a_guard_does_not():
    assert flow(("a", [bra("c")]), ("b", []), ("c", [record("exit")])) == [[2], [2], []]


def test_two_ways_to_one_block_are_one_edge():
    assert flow(("a", [bra("b", 0), bra("b")]), ("b", [record("ret")])) == [[1], []]


def test_a_return_under_a_guard_may_fall_through():
    assert flow(("a", [record("ret", guard=0)]), ("b", [record("ret")])) == [[1], []]


def test_the_end_of_a_function_has_no_successor():
    assert flow(("a", [])) == [[]]


# ---- modules ---------------------------------------------------------------------------------


def test_the_first_location_is_the_unknown_one():
    module = Module(TARGETS["sm_80"])
    assert len(module.locations) == 1
    assert module.locations[0].line == 0
    assert module.locations is not Module(TARGETS["sm_80"]).locations


def test_a_function_by_name():
    module = Module(TARGETS["sm_80"], functions=[MachineFunction("a"), MachineFunction("b")])
    found = module.function("b")
    assert found is not None
    assert found.name == "b"
    assert module.function("c") is None

"""The simulator knows what it does not know.

Every row has semantics, or stands in a table here with the reason why it has none; so has every
modifier that a semantics function does not ask for.  What is not simulated ends with an error that
says so, before a single thread has run.  The statements come from `tests.oracle.legality_forms` and
`float_forms`, which know nothing of nvgen's rows: every one that is legal either runs, or ends in a
finding.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics import catalog
from intrinsics.findings import Finding, Severity, SimulationError
from intrinsics.mir import Block, Form, MachineFunction, MachineInstr, Module, Op, form_of
from intrinsics.row import Attribute, Qualifier
from intrinsics.targets import TARGETS, Ptx
from isel.verifier.record import verify_records
from nvgen.launching.tensor_map import tensor_map
from nvgen.sim.async_ops.schedule import parse_schedule
from nvgen.sim.faults import NotSimulatedError
from nvgen.sim.launch import simulate
from nvgen.sim.semantics.table import makers
from nvgen.sim.threads.compile import Compiler
from nvgen.sim.threads.limits import Limits
from tests.each import each
from tests.oracle import (
    bulk_forms,
    cluster_forms,
    copy_forms,
    float_forms,
    launch_forms,
    legality_forms,
    matrix_forms,
    mma_kind_product,
    mma_sp_product,
    mma_sync_product,
    policy_forms,
    stack_forms,
    tensor_forms,
    tensor_map_forms,
    wgmma_product,
    wmma_forms,
)
from tests.oracle.evidence import LEGAL, recorded
from tests.oracle.ptxas import line_of, module_text
from tests.oracle.recorded_lists import legality_list
from tests.oracle.verdict_file import key_of
from tests.turns import is_todays


def wgmma() -> list[str]:
    """Each family of types, dense and sparse, A by descriptor and in registers."""
    return [
        *(
            wgmma_product.plain(types, sparse=sparse, held=held)
            for types in wgmma_product.FAMILIES
            for sparse in (False, True)
            for held in (False, True)
        ),
        "wgmma.fence.sync.aligned;",
        "wgmma.commit_group.sync.aligned;",
        "wgmma.wait_group.sync.aligned 0;",
    ]


FAMILIES = {
    **(legality_forms.FAMILIES | float_forms.FAMILIES),
    **(cluster_forms.FAMILIES | copy_forms.FAMILIES),
    **(matrix_forms.FAMILIES | tensor_forms.FAMILIES | bulk_forms.FAMILIES | wmma_forms.FAMILIES),
    **(tensor_map_forms.FAMILIES | policy_forms.FAMILIES | stack_forms.FAMILIES),
    **launch_forms.FAMILIES,
    "wgmma": wgmma,
    "mma": mma_sync_product.forms,
    "sparse mma": mma_sp_product.forms,
    "mma of a kind": mma_kind_product.forms,
}
ROWS = {row.id: row for row in catalog.rows()}

NOT_SIMULATED = {
    "cvt.to_scale": "scale factors of narrow numbers: nothing else uses them here",
    "cvt.from_scale": "scale factors of narrow numbers: nothing else uses them here",
    "mbarrier.check_layout": "mbarriers of another layout, which new machines have",
    "st.async.release": "stores whose completion nothing tells",
    "red.async.release": "reductions whose completion nothing tells",
    **dict.fromkeys(
        ("add.narrow", "sub.narrow", "mul.narrow", "fma.narrow"),
        "what they give for numbers beyond the largest, which nobody has tried here",
    ),
    "opaque": "what was not understood",
    "phi": "gone before code runs: records leave SSA form",
}
"""Rows without semantics, with the reason."""

NOT_SIMULATED_PARTS = {
    ("tcgen05.mma", "decompress"): "B through a look-up table, which is not documented",
    ("tcgen05.mma", "collector_b"): "B kept in a collector, on a machine without a manual",
    ("tcgen05.mma.sp", "ashift"): "rows of A shifted: whether its metadata is, nobody says",
    ("tcgen05.mma.sp", "collector_b"): "B kept in a collector, on a machine without a manual",
    ("mbarrier.init", "layout"): "mbarriers of another layout, which new machines have",
    **{
        (f"mbarrier.{verb}", "phase_type"): "mbarriers with several kinds of phases"
        for verb in ("test_wait", "test_wait.parity", "try_wait", "try_wait.parity")
    },
}
"""Qualifiers and operands of simulated rows that have no semantics, with the reason."""

_ORDER = "accesses are in order and seen at once: an order asked for is always there"
_CACHE = "a hint to the caches, which change no result"
_LENGTH = "the operand says it as well"
IGNORED = {
    **dict.fromkeys(
        (f"{side}layout of wmma.mma.{family}" for side in "ab" for family in ("f16", "typed")),
        "how A and B lay in memory is known to the loads, and lost in the registers",
    ),
    "sem": _ORDER,
    "scope": _ORDER,
    "cop": _CACHE,
    "cache": _CACHE,
    "cache_hint": _CACHE,
    "cache_policy": _CACHE,
    "policy": _CACHE,
    "primary": _CACHE,
    "secondary": _CACHE,
    "space of createpolicy.range": _CACHE,
    "l1": _CACHE,
    "l2": _CACHE,
    "prefetch": _CACHE,
    "io": _ORDER,
    "nc": "what is loaded so is written by nobody while the kernel runs",
    "hint": "how long a wait may take",
    "dimension of clusterlaunchcontrol.query_cancel.get_first_ctaid.dimension": (
        "no launch is given up here, and without one the place is not defined"
    ),
    "level of prefetch": _CACHE,
    "space of prefetch": _CACHE,
    "space of prefetch.tensormap": _CACHE,
    "uni": "whether the threads agree shows when they run",
    "vec": _LENGTH,
    "num": _LENGTH,
    "type of stacksave": "the register says it as well",
    "type of bar.red": "the operation says it as well",
    "type of barrier.red": "the operation says it as well",
    "sat of cvt.to_int": "a number out of an integer's range becomes its bound anyway",
    "t of nanosleep": "threads that sleep let the others go on, however long",
    "a of pmevent": "events that nobody counts",
    "a of pmevent.mask": "events that nobody counts",
    "count of setmaxnreg.inc": "a warp's registers are not counted",
    "count of setmaxnreg.dec": "a warp's registers are not counted",
    "action": "there is one grid",
    "restrict": _ORDER,
    "initval": "it is always zero",
    "size of applypriority": _CACHE,
    "space of applypriority": _CACHE,
    "op of multimem.ld_reduce": "of the memory of one GPU there is nothing to reduce",
    "acc": "of the memory of one GPU there is nothing to add",
    **{
        f"type of {way}": "what is copied at once: all of it is"
        for way in (
            *(f"cp.async.bulk.{to}" for to in ("load", "load.ignore_oob", "to_cluster", "store")),
            "multimem.cp.async.bulk",
        )
    },
}
"""What semantics need not ask for, with the reason: a name, or `NAME of ROW`."""


# ---- the rows --------------------------------------------------------------------------------


def test_every_row_has_semantics_or_a_reason():
    assert set(ROWS) - set(makers()) == set(NOT_SIMULATED)


def test_every_semantics_function_belongs_to_a_row():
    assert set(makers()) <= set(ROWS)


def test_the_rows_say_the_same():
    """What the reference page prints is what the simulator does."""
    assert {row.id for row in ROWS.values() if not row.simulated} == set(NOT_SIMULATED)
    parts = {(row.id, name) for row in ROWS.values() for name in row.unsimulated}
    assert parts == set(NOT_SIMULATED_PARTS)


@pytest.mark.parametrize(("row", "name"), NOT_SIMULATED_PARTS)
def test_a_part_that_is_not_simulated_is_one_of_its_row(row: str, name: str):
    assert name in {*ROWS[row].qualifier, *ROWS[row].optional}


# ---- the statements --------------------------------------------------------------------------

TARGETS_TRIED = ("sm_107a", "sm_110a", "sm_90a", "sm_120a", "sm_100a")
"""Between them they have every instruction: sm_110a kind::i8, sm_120a block-scaled mma.sync."""
RET = MachineInstr(form_of(ROWS["ret"]), ())


@dataclass(frozen=True)
class Statement:
    """One legal statement as a record, and where it stands."""

    text: str
    line: int
    record: MachineInstr


@dataclass(frozen=True)
class Family:
    """Statements of one family of instructions that read as records, in one kernel."""

    module: Module
    function: MachineFunction
    statements: tuple[Statement, ...]

    def having(self, records: list[MachineInstr]) -> Module:
        """The kernel with other records, and an end."""
        blocks = [Block("L0", records), Block("end", [RET])]
        return replace(self.module, functions=[replace(self.function, blocks=blocks)])

    def legal(self, statements: Iterable[Statement]) -> Iterator[Statement]:
        """Those that some target takes."""
        asked = list(statements)
        refused = {s.line for s in asked}
        for target in TARGETS_TRIED:
            module = self.having([s.record for s in asked if s.line in refused])
            found = verify_records(module, TARGETS[target], Ptx(9, 5), hints=False)
            refused = {f.place.line for f in found if f.severity is Severity.ERROR}
        yield from (s for s in asked if s.line not in refused)

    def todays(self) -> Iterator[Statement]:
        """Legal statements: the first of each sort every day, the others take turns."""
        sorts: dict[Sort, list[Statement]] = {}
        for statement in self.statements:
            sorts.setdefault(sort_of(statement.record), []).append(statement)
        asked = {s.line: s for first in sorts.values() for s in first[:_FIRST]}
        asked |= {s.line: s for s in self.statements if has_turn(s)}
        found = {s.line: s for s in self.legal(asked.values())}
        for those in sorts.values():
            first = next((s for s in those[:_FIRST] if s.line in found), None)
            first = first or next(self.legal(those[_FIRST:]), None)
            yield from (s for s in those if s is first or (s.line in found and has_turn(s)))


def has_turn(statement: Statement) -> bool:
    return is_todays(statement.text, 30)


_FIRST = 2
"""Statements of each sort that are asked about every day: mostly one of them is legal."""

Sort = tuple[str, frozenset[str], tuple[str, ...]]
"""A row, which modifiers a statement of it has, whatever they are, and which operands."""


def sort_of(record: MachineInstr) -> Sort:
    """What of a row is not simulated may also be said by a control word."""
    row, stated, slots = sort_of_form(record.form)
    attributes = record.attributes() if record.row.unsimulated else {}
    return row, stated | {n for n in record.row.unsimulated if attributes.get(n)}, slots


@functools.cache
def sort_of_form(form: Form) -> Sort:
    stated = frozenset(name for name, attribute in form.attributes.items() if attribute)
    return form.row.id, stated, tuple(form.slots)


@functools.cache
def family(name: str) -> Family:
    texts = taken(name)
    reading = read_ptx(module_text(texts, TARGETS_TRIED[0], "9.5"))
    unread = {finding.place.line for finding in reading.findings}
    (function,) = reading.module.functions
    lines = ((reading.module.locations[mi.loc].line, mi) for mi in function.instructions())
    return Family(
        reading.module,
        function,
        tuple(
            Statement(texts[at - line_of(0)], at, mi)
            for at, mi in lines
            if 0 <= at - line_of(0) < len(texts) and at not in unread
        ),
    )


def taken(name: str) -> list[str]:
    """The statements without those that ptxas is known to refuse for every target and version."""
    file = recorded(legality_list(name))
    texts = FAMILIES[name]()
    return [text for text in texts if file is None or file.verdicts.get(key_of(text), LEGAL)]


def run_alone(where: Family, statement: Statement, schedule: str) -> Finding | None:
    """What ends a warp that executes one statement with every register zero, if anything does."""
    arguments = [0, tensor_map(np.zeros((16, 16), np.float32), (8, 8))]
    try:
        simulate(
            where.having([statement.record]),
            where.function.name,
            arguments,
            grid=(1, 1, 1),
            block=(32, 1, 1),
            schedule=parse_schedule(schedule),
            limits=Limits(1000),
        )
    except SimulationError as error:
        return error.findings[0]
    return None


@functools.cache
def outcomes(name: str) -> tuple[tuple[Statement, Finding | None], ...]:
    where = family(name)
    return tuple((s, run_alone(where, s, "late")) for s in where.todays())


def every_outcome() -> Iterator[tuple[Statement, Finding | None]]:
    for name in FAMILIES:
        yield from outcomes(name)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_legal_statement_runs_or_ends_in_a_finding_with_its_place(name: str):
    """Whatever the registers hold, and whether it is simulated or not."""
    assert outcomes(name)
    for statement, finding in outcomes(name):
        if finding is None:
            continue
        assert finding.message, statement.text
        assert finding.place.line == statement.line, (statement.text, finding)


def test_a_row_without_semantics_says_so_in_every_form():
    seen = set()
    for statement, finding in every_outcome():
        row = statement.record.row.id
        if row in NOT_SIMULATED:
            assert finding is not None, statement.text
            assert finding.message.startswith("not simulated: "), statement.text
            assert finding.incomplete, "the verdict is not that the program is wrong"
            seen.add(row)
    assert seen == set(NOT_SIMULATED) - {"phi", "opaque"}, "which no statement reads as"


def test_a_part_without_semantics_says_so():
    seen = set()
    for statement, finding in every_outcome():
        attributes = statement.record.attributes()
        missing = [n for n in statement.record.row.unsimulated if attributes.get(n)]
        if missing:
            assert finding is not None, statement.text
            assert finding.message.startswith("not simulated: "), statement.text
            seen |= {(statement.record.row.id, name) for name in missing}
    assert seen == set(NOT_SIMULATED_PARTS)


def test_every_other_row_is_simulated_in_some_form():
    done = {
        statement.record.row.id
        for statement, finding in every_outcome()
        if finding is None or finding.rule != "sim/not-simulated"
    }
    needs_more = {"call", "brx.idx"}  # a function, a table of labels
    assert done | needs_more == set(makers())


def test_a_statement_that_was_not_understood_says_which():
    head = ".version 9.0\n.target sm_100a\n.address_size 64\n.entry k()\n"
    text = head + "{\n\tldu.global.u32 %r1, [16];\n\tret;\n}"
    reading = read_ptx(text)
    with pytest.raises(NotSimulatedError) as caught:
        simulate(
            reading.module,
            "k",
            [],
            grid=(1, 1, 1),
            block=(32, 1, 1),
            schedule=parse_schedule("early"),
        )
    (finding,) = caught.value.findings
    assert "ldu.global" in finding.message
    assert finding.place.line == 6


# ---- nothing is overlooked -------------------------------------------------------------------


class Watched(dict[str, Attribute]):
    """Attributes that remember which of them were asked for."""

    def __init__(self, attributes: dict[str, Attribute], asked: set[str]) -> None:
        super().__init__(attributes)
        self.asked = asked

    def __getitem__(self, name: str) -> Attribute:
        self.asked.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Attribute = None) -> Attribute:  # type: ignore[override]
        self.asked.add(name)
        return super().get(name, default)


class WatchedRecord(MachineInstr):
    """A record that remembers which attributes and operands were asked for."""

    def __init__(self, record: MachineInstr) -> None:
        self.asked: set[str] = set()
        form = replace(record.form, attributes=Watched(record.form.attributes, self.asked))
        super().__init__(form, record.ops, record.guard, record.loc)

    def __getitem__(self, slot: str) -> Op:
        self.asked.add(slot)
        return super().__getitem__(slot)

    def get(self, slot: str) -> Op | None:
        self.asked.add(slot)
        return super().get(slot)

    def attributes(self) -> dict[str, Attribute]:
        plain = MachineInstr(self.form, self.ops).attributes()
        return Watched(dict(plain), self.asked)


def overlooked(where: Family, statement: Statement) -> set[str]:
    """What a record states and its semantics do not ask for."""
    record = WatchedRecord(statement.record)
    compiler = Compiler(where.module, where.function, makers())
    compiler.positions = {block.name: i for i, block in enumerate(where.function.blocks)}
    makers()[record.row.id](compiler, record)
    qualifiers = record.row.qualifier
    stated = {
        name
        for name, attribute in statement.record.attributes().items()
        if attribute and not (name in qualifiers and fixed(qualifiers[name]))
    }
    operands = set(record.form.slots) - set(statement.record.packed_fields())
    return (stated | operands) - record.asked - set(record.row.unsimulated)


def fixed(qualifier: Qualifier) -> bool:
    """Whether there is nothing to choose."""
    return len(qualifier.attributes) == 1


@each("name", FAMILIES)
def test_semantics_ask_for_every_modifier_and_operand(name: str):
    """A modifier that nobody looks at would be a guess: that it changes nothing."""
    for statement, finding in outcomes(name):
        if finding is not None and finding.rule == "sim/not-simulated":
            continue
        row = statement.record.row.id
        if row == "bra":  # its one operand is taken by position
            continue
        left = overlooked(family(name), statement)
        unexplained = {n for n in left if n not in IGNORED and f"{n} of {row}" not in IGNORED}
        assert not unexplained, statement.text


def test_every_reason_to_ignore_something_is_needed():
    used = set()
    for name in FAMILIES:
        for statement, finding in outcomes(name):
            if finding is None or finding.rule != "sim/not-simulated":
                row = statement.record.row.id
                left = overlooked(family(name), statement)
                used |= left | {f"{n} of {row}" for n in left}
    assert set(IGNORED) <= used


@pytest.mark.parametrize("name", ["tid.w", "ntid.w", "ctaid.w", "nctaid.w"])
def test_the_fourth_part_of_a_special_register_is_not_taken_for_another(name: str):
    where = family("mov")
    named = where.legal(s for s in where.statements if s.text.endswith(f" %{name};"))
    found = [run_alone(where, s, "late") for s in named]
    assert found
    assert all(f is not None and f"not simulated: %{name}" in f.message for f in found)

"""What the verifier knows of a warp: its numbers, the ways it takes, and how many threads do it.

Expected values are worked out by hand from the thread numbers: warp w has the threads 32w to
32w + 31, in the order of tid.x, then tid.y, then tid.z.
"""

from __future__ import annotations

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.mir import MachineFunction, MachineInstr
from isel.verifier.function.events import Event, Kind
from isel.verifier.function.flow.graph import Graph
from isel.verifier.function.flow.values import (
    Loaded,
    MemoryLocation,
    Sixteenth,
    Spread,
    Symbol,
    Value,
    join,
    known,
    unknown,
)
from isel.verifier.function.flow.warp_flow import WarpFlow
from isel.verifier.function.flow.warps import Warp
from isel.verifier.function.roles import Analysis
from tests.each import each

LANES = tuple(range(32))


def function(statements: str) -> MachineFunction:
    """A kernel of PTX statements."""
    reading = read_ptx(
        f"""\
.version 8.6
.target sm_100a
.address_size 64
.shared .align 16 .b8 tile[4096];
.shared .align 8 .b64 bars[4];
.shared .align 4 .b32 slot;
.visible .entry k(.param .u32 n)
{{
.reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>;
{statements}
ret;
}}
""",
        "k.ptx",
    )
    assert reading.findings == []
    return reading.module.functions[0]


def value_of(statements: str, register: str, *, warp: int = 0, block=(128, 1, 1)) -> Value:
    """What a warp knows of a register at the end."""
    made = function(statements)
    flow = WarpFlow(Graph(made), Warp(warp, block))
    return flow.values[made.regs.names.index(register)]


def used(statements: str) -> str:
    """The statements, and a branch that makes the analysis care for %r9."""
    return statements + "\nsetp.eq.u32 %p8, %r9, 7;\n@%p8 bra end;\nend:"


def number(statements: str, *, warp: int = 0, block=(128, 1, 1)) -> object:
    """The number in %r9."""
    return value_of(used(statements), "%r9", warp=warp, block=block).number


# ---- numbers ---------------------------------------------------------------------------------


@each(
    "statements, warp, block, expected",
    [
        ("mov.u32 %r9, %tid.x;", 0, (128, 1, 1), LANES),
        ("mov.u32 %r9, %tid.x;", 2, (128, 1, 1), tuple(64 + i for i in LANES)),
        ("mov.u32 %r9, %tid.x;", 1, (16, 4, 1), tuple(i % 16 for i in LANES)),
        ("mov.u32 %r9, %tid.y;", 1, (16, 4, 1), tuple(2 + i // 16 for i in LANES)),
        ("mov.u32 %r9, %tid.z;", 3, (8, 4, 4), 3),
        ("mov.u32 %r9, %ntid.y;", 0, (16, 4, 1), 4),
        ("mov.u32 %r9, %laneid;", 3, (128, 1, 1), LANES),
        ("mov.u32 %r1, %tid.x; shr.u32 %r9, %r1, 5;", 3, (128, 1, 1), 3),
        ("mov.u32 %r1, 5; sub.s32 %r9, %r1, 7;", 0, (32, 1, 1), 0xFFFF_FFFE),
        ("mov.u32 %r1, -1; shr.s32 %r9, %r1, 3;", 0, (32, 1, 1), 0xFFFF_FFFF),
        ("mov.u32 %r1, -1; shr.u32 %r9, %r1, 28;", 0, (32, 1, 1), 15),
        ("mov.u32 %r1, 1; shl.b32 %r9, %r1, 40;", 0, (32, 1, 1), 0),
        ("mov.u32 %r1, 0xF0; bfe.u32 %r9, %r1, 4, 3;", 0, (32, 1, 1), 7),
        ("mov.u32 %r1, 6; mad.lo.u32 %r9, %r1, %r1, 6;", 0, (32, 1, 1), 42),
        ("ld.param.u32 %r9, [n];", 0, (32, 1, 1), None),
        ("mov.u32 %r9, %ctaid.x;", 0, (32, 1, 1), None),
    ],
)
def test_numbers(statements: str, warp: int, block: tuple[int, int, int], expected: object) -> None:
    assert number(statements, warp=warp, block=block) == expected


def test_a_signed_comparison_is_not_an_unsigned_one() -> None:
    text = "mov.u32 %r1, -1; setp.lt.{}32 %p1, %r1, 1; selp.b32 %r9, 1, 0, %p1;"
    assert number(text.format("s")) == 1
    assert number(text.format("u")) == 0


def test_a_loop_forgets_what_changes() -> None:
    statements = (
        "mov.u32 %r9, 0;\nloop: add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 9;\n@%p1 bra loop;"
    )
    made = function(used(statements))
    flow = WarpFlow(Graph(made), Warp(0, (32, 1, 1)))
    inside = next(n for n in flow.reached() if flow.graph.nodes[n].name == "loop")
    _, _, evaluator = next(iter(flow.visit(inside)))
    assert evaluator.get(made.regs.names.index("%r9")).number is None


# ---- places ----------------------------------------------------------------------------------


@each(
    "statements, base, offset",
    [
        ("mov.u32 %r9, tile;", Symbol("tile"), 0),
        ("mov.u32 %r1, tile; add.u32 %r9, %r1, 64;", Symbol("tile"), 64),
        ("mov.u32 %r1, tile; sub.u32 %r9, %r1, 64;", Symbol("tile"), -64),
        ("ld.param.u32 %r2, [n]; mov.u32 %r1, tile; add.u32 %r9, %r2, %r1;", Symbol("tile"), None),
        ("mov.u32 %r1, tile; add.u32 %r2, %r1, 32; shr.u32 %r9, %r2, 4;", Sixteenth("tile"), 2),
        (
            "mov.u32 %r1, tile; and.b32 %r2, %r1, 0x3FFFF; shr.u32 %r9, %r2, 4;",
            Sixteenth("tile"),
            0,
        ),
        ("mov.u32 %r1, tile; bfe.u32 %r9, %r1, 4, 14;", Sixteenth("tile"), 0),
        ("ld.shared.b32 %r9, [slot];", Loaded("slot", 0), 0),
        ("ld.shared.b32 %r1, [slot]; add.u32 %r9, %r1, 32;", Loaded("slot", 0), 32),
        ("ld.shared.b32 %r1, [slot]; or.b32 %r9, %r1, 0x200000;", Loaded("slot", 0), 2 << 20),
    ],
)
def test_addresses_keep_their_base(statements: str, base: object, offset: int | None) -> None:
    found = value_of(used(statements), "%r9")
    assert (found.base, found.offset) == (base, offset)


def test_what_two_ways_agree_on() -> None:
    assert join(known(4, Symbol("a")), known(8, Symbol("a"))) == unknown(Spread.WARP, Symbol("a"))
    assert join(known(4, Symbol("a")), known(4, Symbol("b"))).base is None
    assert join(known(3), known(3)) == known(3)


def test_places_that_may_be_the_same() -> None:
    a, b = Symbol("a"), Symbol("b")
    assert MemoryLocation(a, 8).meets(MemoryLocation(a, 8))
    assert MemoryLocation(a, None).meets(MemoryLocation(a, 8))
    assert not MemoryLocation(a, 0).meets(MemoryLocation(a, 8))
    assert not MemoryLocation(a, None).meets(MemoryLocation(b, None))


# ---- ways ------------------------------------------------------------------------------------

ROLES = """
mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 5;
setp.eq.u32 %p1, %r2, 0; @%p1 bra first;
setp.eq.u32 %p2, %r2, 1; @%p2 bra second;
bar.sync 3; bra end;
first: bar.sync 1; bra end;
second: bar.sync 2;
end:
"""


def barriers(analysis: Analysis) -> dict[str, list[int | None]]:
    return {
        str(role): [e.count for e in role.events() if e.kind is Kind.BARRIER]
        for role in analysis.roles
    }


def test_branches_on_the_warp_fold_into_roles() -> None:
    assert barriers(Analysis(function(ROLES), (160, 1, 1))) == {
        "warp 0": [1],
        "warp 1": [2],
        "warps 2 to 4": [3],
    }


@each("test", ["setp.ne.u32 %p1, %r4, 0; @%p1 bra end;", "setp.eq.u32 %p1, %r4, 0; @!%p1 bra end;"])
def test_what_is_ored_with_another_number_than_zero_is_not_zero(test: str) -> None:
    """Of `warp == 0 && rank == 0` optimisers make one comparison: (warp | rank) == 0."""
    statements = f"""
    mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 5; mov.u32 %r3, %cluster_ctarank;
    or.b32 %r4, %r2, %r3;
    {test}
    bar.sync 1;
    end:
    """
    found = barriers(Analysis(function(statements), (96, 1, 1)))
    assert found == {"warp 0": [1], "warps 1 to 2": []}


@each("ored, spread", [
    ("16", Spread.CTA), ("%r1", Spread.THREAD), ("%r2", Spread.WARP),
])  # fmt: skip
def test_what_is_ored_is_the_same_for_those_for_whom_both_numbers_are(
    ored: str, spread: Spread
) -> None:
    """Also where all that is known of it is that it is not zero, and what compares it."""
    statements = f"""
    mov.u32 %r1, %tid.x; mov.u32 %r3, %ctaid.x; shfl.sync.idx.b32 %r2, %r1, %r3, 31, -1;
    or.b32 %r4, %r3, {ored}; or.b32 %r5, %r4, 32; and.b32 %r9, %r5, 48;
    setp.lt.u32 %p1, %r5, 99; @%p1 bra end;
    """
    for register in ("%r5", "%r9", "%p1"):
        assert value_of(used(statements), register).spread is spread


def test_without_a_block_all_ways_are_open() -> None:
    (role,) = Analysis(function(ROLES), ()).roles
    assert sorted(e.count or 0 for e in role.events()) == [1, 2, 3]


def events(statements: str, block: tuple[int, int, int] = (32, 1, 1)) -> dict[int, Event]:
    """Barriers by number; they need no warp to be whole to be read."""
    analysis = Analysis(function(statements), block)
    return {e.count or 0: e for e in analysis.events(Kind.BARRIER)}


def test_how_many_threads_execute_a_record() -> None:
    found = events(
        """
        mov.u32 %r1, %tid.x; ld.param.u32 %r3, [n];
        setp.lt.u32 %p1, %r1, 4;
        @!%p1 bra after1;
        barrier.sync 1;
        after1: barrier.sync 2;
        elect.sync _|%p2, -1;
        @!%p2 bra after2;
        barrier.sync 3;
        after2: barrier.sync 4;
        setp.lt.u32 %p3, %r1, %r3;
        @!%p3 bra after3;
        barrier.sync 5;
        after3: barrier.sync 6;
        setp.lt.u32 %p4, 9, %r3;
        @!%p4 bra after4;
        barrier.sync 7;
        after4: @%p1 barrier.sync 8;
        """
    )
    counts = {number: event.threads.count for number, event in found.items()}
    assert counts == {1: 4, 2: 32, 3: 1, 4: 32, 5: None, 6: 32, 7: 32, 8: 4}


def test_a_predicate_may_come_through_a_number() -> None:
    found = events(
        """
        mov.u32 %r1, 0;
        elect.sync _|%p1, -1;
        @%p1 mov.u32 %r1, 1;
        setp.eq.u32 %p2, %r1, 0;
        @%p2 bra after1;
        barrier.sync 1;
        after1: mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, %laneid;
        or.b32 %r4, %r2, %r3;
        setp.ne.u32 %p3, %r4, 0;
        @%p3 bra after2;
        barrier.sync 2;
        after2: and.b32 %r5, %r4, 1; setp.ne.u32 %p4, %r5, 0;
        @%p4 bra after3;
        barrier.sync 3;
        after3: sub.u32 %r6, %r4, %r4; setp.lt.u32 %p5, %r4, 4;
        @%p5 bra after4;
        barrier.sync 4;
        after4: barrier.sync 5;
        """
    )
    counts = {number: event.threads.count for number, event in found.items()}
    assert counts == {1: 1, 2: 1, 3: None, 4: None, 5: 32}


def test_the_last_warp_may_be_short() -> None:
    analysis = Analysis(function("barrier.sync 1;"), (40, 1, 1))
    assert [w.flow.warp.lanes for w in analysis.walkers] == [0xFFFF_FFFF, 0xFF]


# ---- walks -----------------------------------------------------------------------------------


def walked(statements: str) -> set[tuple[int | None, ...]]:
    """The sequences of barriers that some thread may go through."""
    (role,) = Analysis(function(statements), (32, 1, 1)).roles
    walk = role.walker.walk(
        (),
        lambda seen, e: (*seen, e.count) if e.kind is Kind.BARRIER else seen,  # type: ignore[return-value]
    )
    return {state for _, state in walk.at_exit()}


def test_a_walk_is_that_of_one_thread() -> None:
    """The elected thread is the same each time, and so are the lanes below 4."""
    elect = "elect.sync _|%p{0}, -1;\n@!%p{0} bra skip{0};\nbarrier.sync {0};\nskip{0}:\n"
    assert walked(elect.format(1) + elect.format(2)) == {(1, 2), ()}
    lanes = "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 4;\n"
    lanes += "@!%p1 bra a;\nbarrier.sync 1;\na:\n@%p1 bra b;\nbarrier.sync 2;\nb:\n"
    assert walked(lanes) == {(1,), (2,)}


def test_a_walk_decides_alike_by_the_same_register() -> None:
    text = "ld.param.u32 %r1, [n];\nsetp.eq.u32 %p1, %r1, 0;\n"
    for n in (1, 2):
        text += f"@!%p1 bra a{n};\nbarrier.sync {n};\na{n}:\n"
    assert walked(text) == {(1, 2), ()}


def test_a_wait_is_done_on_the_edge_where_it_succeeded() -> None:
    statements = """
    loop: mbarrier.try_wait.parity.shared.b64 %p1, [bars], 0;
    @%p1 bra done;
    bra loop;
    done: barrier.sync 1;
    """
    (role,) = Analysis(function(statements), (32, 1, 1)).roles
    walk = role.walker.walk((), lambda seen, e: seen if e.kind in seen else (*seen, e.kind))  # type: ignore[return-value]
    assert {state for _, state in walk.at_exit()} == {(Kind.ASK, Kind.DONE, Kind.BARRIER)}  # type: ignore[comparison-overlap]


# ---- how often -------------------------------------------------------------------------------


class Counted(WarpFlow):
    """A flow that notes the records that it executes."""

    def __init__(self, statements: str) -> None:
        self.executed: list[int] = []
        super().__init__(Graph(function(used(statements))), Warp(0, (128, 1, 1)))

    def _execute(self, index: int, mi: MachineInstr) -> None:
        self.executed.append(index)
        super()._execute(index, mi)


def test_records_are_executed_once_where_nothing_changes_later() -> None:
    chain = "mov.u32 %r1, %tid.x;\nadd.u32 %r2, %r1, 1;\nshl.b32 %r9, %r2, 2;"
    assert Counted(chain).executed == [0, 1, 2, 3]


def test_a_loop_executes_again_what_depends_on_its_counter() -> None:
    executed = Counted(
        """\
mov.u32 %r1, 0;
mov.u32 %r3, %tid.x;
again:
add.u32 %r4, %r3, 4;
add.u32 %r5, %r1, %r4;
add.u32 %r1, %r1, 1;
setp.lt.u32 %p1, %r1, %r5;
@%p1 bra again;
mov.u32 %r9, %r5;"""
    ).executed
    assert executed.count(2) == 1, "it does not depend on the counter"
    assert executed.count(3) > 1

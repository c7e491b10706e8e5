"""Warp numbers that travel through a shuffle, as compilers broadcast them, are still known.

Every kernel of the other tests that computes the number of its warp gets it from lane 0 instead:
what is said of it stays the same, for right kernels and for mistaken ones.
"""

from __future__ import annotations

from intrinsics.findings import Finding
from isel.verifier.function.flow.evaluate import Evaluator
from isel.verifier.function.flow.values import Spread, Value, constant, known, unknown
from isel.verifier.function.flow.warps import Warp
from tests.each import each
from tests.isel.verifier.function.function_kernels import CLEAN
from tests.isel.verifier.function.function_mistakes import MISTAKES
from tests.isel.verifier.function.test_function_rules import module_of, said
from tests.isel.verifier.kernels import kernel

WARP_NUMBER = "shr.u32 %r2, %r1, 5;"
BROADCAST = "shr.u32 %r159, %r1, 5; shfl.sync.idx.b32 %r2, %r159, 0, 31, -1;"


def broadcast(text: str) -> str:
    """The kernel with the number of its warp taken from lane 0, on the same lines."""
    return text.replace(WARP_NUMBER, BROADCAST)


def outcome(found: list[Finding]) -> list[tuple[str, int, str]]:
    """What is said, where, and how badly."""
    return [(f.rule, f.place.line, f.severity.value) for f in found]


@each("name", [name for name, text in CLEAN.items() if WARP_NUMBER in text], turns=3)
def test_a_right_kernel_stays_clean(name: str):
    assert outcome(said(broadcast(CLEAN[name]))) == outcome(said(CLEAN[name]))


@each("name", [n for n, m in MISTAKES.items() if WARP_NUMBER in m.broken()][::4])
def test_a_mistake_is_still_found(name: str):
    text = MISTAKES[name].broken()
    assert outcome(said(broadcast(text))) == outcome(said(text))


# ---- one shuffle, one vote -------------------------------------------------------------------

LANES = known(tuple(range(32)))


def result(statement: str, values: dict[str, Value], block: tuple[int, ...] = (64, 1, 1)) -> Value:
    """What one warp knows of %r9 (or %p9) behind a statement."""
    function = module_of(kernel(statement)).functions[0]
    mi = function.blocks[0].instrs[1]  # behind %t
    names = function.regs.names
    evaluator = Evaluator(
        Warp(0, block), lambda reg: values.get(names[reg], unknown(Spread.THREAD))
    )
    found = {names[reg]: value for reg, value in evaluator.results(mi, 0)}
    return found.get("%r9") or found["%p9"]


@each(
    "statement, values, expected",
    [
        ("shfl.sync.idx.b32 %r9, %r1, 0, 31, -1;", {"%r1": LANES}, known(0)),
        ("shfl.sync.idx.b32 %r9, %r1, 7, 31, -1;", {"%r1": LANES}, known(7)),
        ("shfl.sync.idx.b32 %r9, %r1, %r2, 31, -1;",
         {"%r1": LANES, "%r2": known(tuple(31 - i for i in range(32)))},
         known(tuple(31 - i for i in range(32)))),
        ("shfl.sync.down.b32 %r9, %r1, 1, 31, -1;", {"%r1": LANES},
         known((*range(1, 32), 31))),
        ("shfl.sync.up.b32 %r9, %r1, 1, 0, -1;", {"%r1": LANES}, known((0, *range(31)))),
        ("shfl.sync.bfly.b32 %r9, %r1, 16, 31, -1;", {"%r1": LANES},
         known((*range(16, 32), *range(16)))),
        ("shfl.sync.idx.b32 %r9, %r1, 0, 6175, -1;", {"%r1": LANES},
         known(tuple(i & 24 for i in range(32)))),
        ("shfl.sync.idx.b32 %r9, %r1, 0, 31, -1;", {}, unknown(Spread.WARP)),
        ("shfl.sync.idx.b32 %r9, %r1, %r2, 31, -1;", {}, unknown(Spread.THREAD)),
        ("shfl.sync.idx.b32 %r9, %r1, 0, 31, 1;", {"%r1": LANES}, unknown(Spread.THREAD)),
        ("shfl.sync.idx.b32 %r9, %r1, 0, 31, -1;", {"%r1": constant(5)}, constant(5)),
        ("vote.sync.ballot.b32 %r9, %p1, -1;", {"%p1": known((1,) * 4 + (0,) * 28)}, known(15)),
        ("vote.sync.any.pred %p9, %p1, -1;", {"%p1": known((1,) * 4 + (0,) * 28)}, known(1)),
        ("vote.sync.all.pred %p9, %p1, -1;", {"%p1": known((1,) * 4 + (0,) * 28)}, known(0)),
        ("vote.sync.ballot.b32 %r9, %p1, -1;", {}, unknown(Spread.WARP)),
        ("redux.sync.add.s32 %r9, %r1, -1;", {}, unknown(Spread.WARP)),
        ("match.any.sync.b32 %r9, %r1, -1;", {}, unknown(Spread.THREAD)),
    ],
)  # fmt: skip
def test_what_is_known_behind_it(statement: str, values: dict[str, Value], expected: Value):
    assert result(statement, values) == expected


def test_a_lane_without_a_thread_gives_nothing_that_is_known():
    statement = "shfl.sync.idx.b32 %r9, %r1, 20, 31, -1;"
    assert result(statement, {"%r1": LANES}, block=(16, 1, 1)) == unknown(Spread.THREAD)
    assert result(statement, {"%r1": LANES}, block=(32, 1, 1)) == known(20)

"""D of a warpgroup by one source: in registers on sm_90a, in tensor memory from sm_100a on.

Two products with something between them, of small integers, so that numpy's are equal; and the
protocol that `warpgroup_tile` brings along for tensor memory, with one part of it left out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from intrinsics.findings import Verdict, verdict
from nvgen import (
    InputError,
    Kernel,
    KernelBuilder,
    Major,
    VerificationError,
    bf16,
    f16,
    f32,
)
from nvgen.multiplies.warpgroup_columns import REQUIREMENTS
from nvgen.shared_memory.tiles import SharedTile
from nvgen.testing import Launch, assert_exact, kernel_test
from nvgen.values.numbers import Int
from nvgen.values.pointers import Barrier
from tests.each import each

pytestmark = pytest.mark.filterwarnings("error::nvgen.FindingWarning")
N, TURNS = 64, 3


def build(
    target: str, m: int, groups: int = 1, change: Callable[[KernelBuilder], None] | None = None
) -> Kernel:
    """O = 2·O - column mod 4 + max(tril(Q·K[i]ᵀ), 0)·V[i] for each turn i, and the row's number."""
    b = KernelBuilder("two", block=groups * 128, dynamic_shared=True, target=target)
    b.tile_map("q", bf16, (groups * m, N))
    b.tile_map("k", bf16, (N, N))
    b.tile_map("v", bf16, (N, N), major=Major.MN)
    b.pointer("o", f32, output=True)
    args = b.begin()
    q, full = b.shared_tile("q_tile", bf16, (groups * m, N)), b.mbarrier("full")
    k = b.shared_tiles("k_tiles", bf16, (N, N), TURNS)
    v = b.shared_tiles("v_tiles", bf16, (N, N), TURNS, major=Major.MN)
    b.make_mbarriers((full, 1))
    s, o = b.warpgroup_tile(m, N), b.warpgroup_tile(m, N)
    if change:
        change(b)
    with b.if_warp(0), b.elect():
        b.mbarrier_arrive_expect_tx(
            full, b.transaction_bytes(q) + 2 * TURNS * b.transaction_bytes(k)
        )
        b.load_tile(q, args["q"], (0, 0), full)
        for turn in range(TURNS):
            b.load_tile(k[turn], args["k"], (0, turn * N), full)
            b.load_tile(v[turn], args["v"], (0, turn * N), full)
    b.wait(full, 0)
    with b.if_warpgroup(0, groups):
        first = b.warpgroup * m
        with b.range(TURNS) as i:
            b.gemm(s, q.part(first, m), k[i], wait=False)
            s.wait()
            o.apply(lambda part: part * 2 - part.columns(lambda c: (c % 4).to(f32)))
            p = s.where(lambda row, column: column <= row, 0.0).max(0.0)
            b.gemm(o, p.to(bf16), v[i], accumulate=True)
        (o + o.rows(lambda row: row.to(f32))).store(args["o"].at(first * N), N)
    return b.finish()


def operands(m: int) -> list[np.ndarray]:
    """Q, K and V, of small integers; m is of all warpgroups."""
    rng = np.random.default_rng(0)
    rows = (m, TURNS * N, TURNS * N)
    return [rng.integers(-1, 2, (count, N)).astype(bf16.numpy) for count in rows]


def expected(operands: list[np.ndarray], m: int) -> np.ndarray:
    """O of all warpgroups, each of m rows."""
    q, k, v = (array.astype(np.float32) for array in operands)
    parts = []
    for part in q.reshape(-1, m, N):
        o: np.ndarray = np.zeros((m, N), np.float32)
        for turn in range(TURNS):
            rows = slice(turn * N, (turn + 1) * N)
            o = (
                2 * o
                - np.arange(N, dtype=np.float32) % 4
                + np.maximum(np.tril(part @ k[rows].T), 0) @ v[rows]
            )
        parts.append(o + np.arange(m, dtype=np.float32)[:, None])
    return np.concatenate(parts)


FORMS = [("sm_90a", 64, 1), ("sm_90a", 64, 2), ("sm_100a", 64, 1), ("sm_100a", 64, 2),
         ("sm_100a", 128, 1), ("sm_100a", 128, 2), ("sm_110a", 128, 1)]  # fmt: skip


@pytest.mark.turns(7)
@pytest.mark.parametrize(("target", "m", "groups"), FORMS)
@kernel_test(schedules="all")
def test_two_products(launch: Launch, target: str, m: int, groups: int) -> None:
    given = operands(groups * m)
    o = np.full((groups * m, N), np.nan, np.float32)
    launch(build(target, m, groups).compile(opt=launch.opt), *given, o)
    assert_exact(o, expected(given, m))


@pytest.mark.turns(7)
@pytest.mark.parametrize(("target", "m", "groups"), FORMS)
def test_rules_and_ptxas_have_nothing_to_say(target: str, m: int, groups: int) -> None:
    made = build(target, m, groups).compile(level="all")
    assert verdict(made.findings) is Verdict.CLEAN
    assert made.resources.spill_stores == 0


def test_as_many_columns_are_allocated_as_are_taken() -> None:
    """S, O and P as A: 64 + 64 + 32 columns for each warpgroup, rounded up to a power of two."""
    for groups, columns in ((1, 256), (2, 512)):
        text = build("sm_100a", 128, groups).compile().ptx
        assert f"[warpgroup_columns], {columns};" in text
        assert "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r" in text


# ---- planted mistakes ----------------------------------------------------------------------------


def without(*verbs: str) -> Callable[[KernelBuilder], None]:
    """A builder whose instructions of that name are left out."""

    def change(b: KernelBuilder) -> None:
        for verb in verbs:
            setattr(b, verb, lambda *_, **__: None)

    return change


Wait = Callable[[Barrier, Int], None]


def waits(wrong: Callable[[Wait, Barrier, Int], None]) -> Callable[[KernelBuilder], None]:
    """A builder that waits for an mbarrier otherwise."""

    def change(b: KernelBuilder) -> None:
        plain = b.wait
        setattr(b, "wait", lambda barrier, parity: wrong(plain, barrier, parity))  # noqa: B010

    return change


def unless(word: str) -> Callable[[Wait, Barrier, Int], None]:
    """No wait for mbarriers of such a name."""
    return lambda wait, barrier, parity: None if word in barrier.name else wait(barrier, parity)


def other_parity(wait: Wait, barrier: Barrier, parity: Int) -> None:
    """The thread that multiplies waits for the phase before."""
    wait(barrier, parity ^ 1 if "ready" in barrier.name else parity)


MISTAKES = {
    "stores are not waited for": (without("tcgen05_wait_st"), "tcgen05.st/no-wait"),
    "loads are not waited for": (without("tcgen05_wait_ld"), "tcgen05.ld/no-wait"),
    "no fence before an arrival": (
        without("tcgen05_fence_before_thread_sync"), "tcgen05/fence-before"),
    "no fence behind a wait": (without("tcgen05_fence_after_thread_sync"), "tcgen05/fence-after"),
    "a warp arrives for threads that it has not met": (
        without("bar_warp_sync"), "mbarrier.arrive/other-threads"),
    "nothing is committed": (without("tcgen05_commit"), "tcgen05.mma/no-commit"),
    "the multiplying thread does not wait for the others": (
        waits(unless("ready")), "tcgen05.mma/unordered"),
    "nobody waits for the multiplies": (waits(unless("done")), "tcgen05.ld/before-completion"),
    "the other parity": (waits(other_parity), "mbarrier/deadlock"),
}  # fmt: skip


@pytest.mark.wrong_kernel
@each("name", MISTAKES, turns=3)
def test_a_planted_mistake_is_found(name: str) -> None:
    """Without a run, by a rule that is about it."""
    change, rule = MISTAKES[name]
    kernel = build("sm_100a", 128, change=change)
    try:
        found = [*kernel.compile(level="function").findings]
    except VerificationError as error:
        found = [*error.findings]
    assert rule in {finding.rule for finding in found}


# ---- refusals --------------------------------------------------------------------------------


def started(block: int = 128) -> tuple[KernelBuilder, SharedTile]:
    b = KernelBuilder("k", block=block, target="sm_100a")
    b.begin()
    return b, b.shared_tile("tile", bf16, (64, 64))


def test_it_is_made_by_all_threads() -> None:
    b, _ = started()
    with b.if_warpgroup(0), pytest.raises(InputError, match="is made by all threads"):
        b.warpgroup_tile(64, 64)
    b.warpgroup_tile(64, 64)
    with b.if_warpgroup(0), pytest.raises(InputError, match="is made by all threads"):
        b.warpgroup_tile(64, 64)
    b, _ = started(block=96)
    with pytest.raises(InputError, match="D is of a warpgroup"):
        b.warpgroup_tile(64, 64)


@pytest.mark.parametrize(("m", "n", "dtype"), [(32, 64, f32), (192, 64, f32), (64, 64, f16)])
def test_no_such_tile(m: int, n: int, dtype) -> None:
    b, _ = started()
    with pytest.raises(InputError, match="64 or 128 rows of f32"):
        b.warpgroup_tile(m, n, dtype)


def test_more_columns_than_there_are() -> None:
    b, _ = started(block=256)
    b.warpgroup_tile(128, 192)
    with pytest.raises(InputError, match="out of resource: 256 columns of 128"):
        b.warpgroup_tile(128, 128)


def test_what_may_be_a() -> None:
    b, tile = started()
    s, o = b.warpgroup_tile(64, 64), b.warpgroup_tile(64, 64)
    x = s.fragment
    with pytest.raises(InputError, match=r"A is no such tile"):
        b.gemm(o, x.as_a_operand(bf16), tile)
    with pytest.raises(InputError, match=r"64x64, 32 of f32.*\n.*64 rows of f16 or bf16"):
        b.gemm(o, x, tile)
    with pytest.raises(InputError, match="gemm_async/"):
        b.gemm(o, x.part_of_columns(0, 32).to(bf16), tile)
    small = b.warpgroup_tile(128, 64)
    with pytest.raises(InputError, match="128 rows of f16 or bf16"):
        b.gemm(small, x.to(bf16), tile)


@pytest.mark.parametrize("m", [64, 128])
def test_what_is_applied_reduces_no_rows(m: int) -> None:
    """A part of the columns would be reduced, on sm_90a all of them."""
    b, _ = started()
    with pytest.raises(InputError, match="rows that several"):
        b.warpgroup_tile(m, 64).apply(lambda part: part - part.row_max())


def test_who_multiplies() -> None:
    b, tile = started(block=256)
    d = b.warpgroup_tile(64, 64)
    with pytest.raises(InputError) as caught:
        b.gemm(d, tile, tile)
    assert [f.rule for f in caught.value.findings] == ["gemm_async/scope"]
    with b.if_warpgroup(0), pytest.raises(InputError) as caught:
        b.gemm_async(d, tile, tile, negate_a=True)
    assert [f.rule for f in caught.value.findings] == ["gemm_async/option"]
    assert {r.rule for r in REQUIREMENTS} == {"kernel", "scope", "option"}

"""Bulk reductions, and stores and reductions of single values in the background.

The expected values are numpy's.  PTX ISA, cp.reduce.async.bulk; st.async; red.async.  Tests marked
`gpu` run on a GPU as well.
"""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import DTypeLike, NDArray

from tests.each import each
from tests.sim.ptx import SCHEDULES, findings, run

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.generic]

SIZE = 512
THREADS = SIZE // 16
VARIABLES = (
    f".shared .align 128 .b8 given[{SIZE}];\n.shared .align 128 .b8 there[{SIZE}];\n"
    ".shared .align 8 .b64 bar;\n"
)
BYTES = "mbarrier::complete_tx::bytes"
SYNC = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
PREPARE = f"""
    mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, given; mov.u32 %r3, there; mov.u32 %r4, bar;
    mad.lo.u32 %r5, %r1, {SIZE}, 0; mad.lo.u32 %r5, %tx, 16, %r5; cvt.u64.u32 %rd1, %r5;
    mul.lo.u32 %r6, %tx, 16; add.u32 %r7, %r2, %r6; add.u32 %r8, %r3, %r6;
    add.u64 %rd2, %a0, %rd1; add.u64 %rd3, %a1, %rd1;
    ld.global.v4.u32 {{%r11, %r12, %r13, %r14}}, [%rd2];
    st.shared.v4.u32 [%r7], {{%r11, %r12, %r13, %r14}};
    ld.global.v4.u32 {{%r11, %r12, %r13, %r14}}, [%rd3];
    st.shared.v4.u32 [%r8], {{%r11, %r12, %r13, %r14}};
    setp.ne.u32 %p1, %tx, 0;
    @%p1 bra made;
    mbarrier.init.shared::cta.b64 [bar], 1;
made:
    fence.mbarrier_init.release.cluster;
    fence.proxy.async;
    xor.b32 %r9, %r1, 1;
    mapa.shared::cluster.u32 %r20, %r3, %r9; mapa.shared::cluster.u32 %r21, %r4, %r9;
    {SYNC}
"""
"""What each CTA of a pair was given and has there; %r20, %r21: `there` and the peer's mbarrier."""

WAIT = """spin:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p9, [bar], 0;
    @!%p9 bra spin;
"""
SHOW = f"""
    ld.shared.v4.u32 {{%r11, %r12, %r13, %r14}}, [%r8];
    st.global.v4.u32 [%rd3], {{%r11, %r12, %r13, %r14}};
    {SYNC}
"""


def expect(size: int) -> str:
    return f"@!%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {size};\n"


def drawn(dtype: DTypeLike, seed: int, count: int) -> Bytes:
    """Numbers of a type, some of them negative where it has such."""
    dice = np.random.default_rng(seed)
    type_ = np.dtype(dtype)
    if type_.kind in "iu":
        return dice.integers(0, 256, count * type_.itemsize, np.uint8)
    return (dice.integers(-64, 64, count) / 8).astype(type_).view(np.uint8)


def wrapped_increment(there: Numbers, given: Numbers) -> Numbers:
    return np.where(there >= given, 0, there + np.ones_like(there))


def wrapped_decrement(there: Numbers, given: Numbers) -> Numbers:
    return np.where((there == 0) | (there > given), given, there - np.ones_like(there))


U32, S32, U64, S64 = np.uint32, np.int32, np.uint64, np.int64
OPERATIONS: dict[str, tuple[DTypeLike, Callable[[Numbers, Numbers], Numbers]]] = {
    "and.b32": (U32, np.bitwise_and),
    "or.b32": (U32, np.bitwise_or),
    "xor.b32": (U32, np.bitwise_xor),
    "add.u32": (U32, np.add),
    "add.s32": (S32, np.add),
    "add.u64": (U64, np.add),
    "inc.u32": (U32, wrapped_increment),
    "dec.u32": (U32, wrapped_decrement),
    "min.u32": (U32, np.minimum),
    "max.u32": (U32, np.maximum),
    "min.s32": (S32, np.minimum),
    "max.s32": (S32, np.maximum),
}
"""What shared memory of a cluster has."""

MORE: dict[str, tuple[DTypeLike, Callable[[Numbers, Numbers], Numbers]]] = {
    "and.b64": (U64, np.bitwise_and),
    "xor.b64": (U64, np.bitwise_xor),
    "min.u64": (U64, np.minimum),
    "max.s64": (S64, np.maximum),
    "add.f32": (np.float32, np.add),
    "add.f64": (np.float64, np.add),
    "add.noftz.f16": (np.float16, np.add),
    "add.noftz.bf16": (ml_dtypes.bfloat16, np.add),
    "min.f16": (np.float16, np.minimum),
    "max.bf16": (ml_dtypes.bfloat16, np.maximum),
}
"""What global memory has beside them."""


def pair(body: str, dtype: DTypeLike, schedule: str) -> tuple[Bytes, Bytes, Bytes]:
    """What two CTAs were given, had, and have behind `body`."""
    count = 2 * SIZE // np.dtype(dtype).itemsize
    given, there = drawn(dtype, 1, count), drawn(dtype, 2, count)
    seen = there.copy()
    run(
        PREPARE + body + SHOW, given, seen, variables=VARIABLES, threads=THREADS,
        schedule=schedule, grid=(2, 1, 1), cluster=(2, 1, 1), target="sm_90a",
    )  # fmt: skip
    return given.reshape(2, SIZE), there.reshape(2, SIZE), seen.reshape(2, SIZE)


def together(
    there: Bytes, given: Bytes, operation: tuple[DTypeLike, Callable[[Numbers, Numbers], Numbers]]
) -> Bytes:
    dtype, combine = operation
    return np.asarray(combine(there.view(dtype), given.view(dtype))).astype(dtype).view(np.uint8)


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", ["late", "random:3"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_reduction_in_the_other_cta(operation: str, schedule: str) -> None:
    """Of the middle of its memory, with the first bytes of the own one."""
    body = f"""{expect(256)}
    @!%p1 cp.reduce.async.bulk.shared::cluster.shared::cta.{BYTES}.{operation}
        [%r20+128], [given], 256, [%r21];
    {WAIT}"""
    dtype, _ = OPERATIONS[operation]
    given, there, seen = pair(body, dtype, schedule)
    expected = there.copy()
    for rank in range(2):
        expected[rank, 128:384] = together(
            there[rank, 128:384], given[1 - rank, :256], OPERATIONS[operation]
        )
    assert (seen == expected).all()


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", ["late", "random:3"])
@pytest.mark.parametrize("operation", [*OPERATIONS, *MORE])
def test_a_reduction_of_global_memory(operation: str, schedule: str) -> None:
    dtype, _ = (OPERATIONS | MORE)[operation]
    count = SIZE // np.dtype(dtype).itemsize
    given, there = drawn(dtype, 1, count), drawn(dtype, 2, count)
    seen = there.copy()
    body = f"""{PREPARE} @%p1 exit;
    cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation} [%a1+64], [given], 128;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"""
    run(
        body.replace("mapa.shared::cluster.u32 %r20, %r3, %r9;", "").replace(
            "mapa.shared::cluster.u32 %r21, %r4, %r9;", ""),
        given, seen, variables=VARIABLES, threads=THREADS, schedule=schedule, target="sm_90a",
    )  # fmt: skip
    expected = there.copy()
    expected[64:192] = together(there[64:192], given[:128], (OPERATIONS | MORE)[operation])
    assert (seen == expected).all()


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_sums_of_many_threads(schedule: str) -> None:
    """Every thread adds the same numbers to the same ones."""
    body = f"""{expect(16 * THREADS)}
    cp.reduce.async.bulk.shared::cluster.shared::cta.{BYTES}.add.u32
        [%r20], [given], 16, [%r21];
    {WAIT}"""
    given, there, seen = pair(body, U32, schedule)
    expected = there.copy()
    for rank in range(2):
        words = there[rank, :16].view(U32) + given[1 - rank, :16].view(U32) * U32(THREADS)
        expected[rank, :16] = words.view(np.uint8)
    assert (seen == expected).all()


# ---- single values ---------------------------------------------------------------------------

STORES = {
    "b32": ("%r11", 4), "u64": ("%rd9", 8), "v2.b32": ("{%r11, %r12}", 8),
    "v4.u32": ("{%r11, %r12, %r13, %r14}", 16), "v2.b64": ("{%rd9, %rd10}", 16),
}  # fmt: skip


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("form", STORES)
def test_each_thread_stores_to_the_other_cta(form: str, schedule: str) -> None:
    value, size = STORES[form]
    body = f"""{expect(size * THREADS)}
    ld.shared.v4.u32 {{%r11, %r12, %r13, %r14}}, [%r7];
    mov.b64 %rd9, {{%r11, %r12}}; mov.b64 %rd10, {{%r13, %r14}};
    add.u32 %r22, %r20, %r6;
    st.async.weak.shared::cluster.{BYTES}.{form} [%r22], {value}, [%r21];
    {WAIT}"""
    given, there, seen = pair(body, U32, schedule)
    expected = there.reshape(2, THREADS, 16).copy()
    expected[:, :, :size] = given.reshape(2, THREADS, 16)[::-1, :, :size]
    assert (seen == expected.reshape(2, SIZE)).all()


@pytest.mark.turns(4)
@pytest.mark.gpu
@pytest.mark.parametrize("schedule", ["late", "random:3"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_thread_reduces_in_the_other_cta(operation: str, schedule: str) -> None:
    dtype, _ = OPERATIONS[operation]
    size = np.dtype(dtype).itemsize
    value = "%r11" if size == 4 else "%rd9"
    body = f"""{expect(size * THREADS)}
    ld.shared.v2.u32 {{%r11, %r12}}, [%r7]; mov.b64 %rd9, {{%r11, %r12}};
    add.u32 %r22, %r20, %r6;
    red.async.relaxed.cluster.shared::cluster.{BYTES}.{operation} [%r22], {value}, [%r21];
    {WAIT}"""
    given, there, seen = pair(body, dtype, schedule)
    expected = there.reshape(2, THREADS, 16).copy()
    for rank in range(2):
        old, new = (
            np.ascontiguousarray(values.reshape(2, THREADS, 16)[of, :, :size])
            for values, of in ((there, rank), (given, 1 - rank))
        )
        found = together(old, new, OPERATIONS[operation])
        expected[rank, :, :size] = found
    assert (seen == expected.reshape(2, SIZE)).all()


@pytest.mark.gpu
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_many_threads_add_to_one_word(schedule: str) -> None:
    """By generic addresses."""
    body = f"""{expect(4 * THREADS)}
    cvt.u64.u32 %rd9, %r3; cvta.shared.u64 %rd9, %rd9; mapa.u64 %rd9, %rd9, %r9;
    cvt.u64.u32 %rd10, %r4; cvta.shared.u64 %rd10, %rd10; mapa.u64 %rd10, %rd10, %r9;
    red.async.relaxed.cluster.{BYTES}.add.u32 [%rd9], %tx, [%rd10];
    {WAIT}"""
    _, there, seen = pair(body, U32, schedule)
    expected = there.copy()
    total = U32(THREADS * (THREADS - 1) // 2)
    for rank in range(2):
        expected[rank, :4] = (there[rank, :4].view(U32) + total).view(np.uint8)
    assert (seen == expected).all()


# ---- what goes wrong -------------------------------------------------------------------------

ADD = f"@!%p1 red.async.relaxed.cluster.shared::cluster.{BYTES}.add.u32"
KEEP = f"@!%p1 st.async.shared::cluster.{BYTES}.b32"
BULK = f"@!%p1 cp.reduce.async.bulk.shared::cluster.shared::cta.{BYTES}.add.u32"
MISTAKES = {
    "a reduction in the own CTA": (f"{ADD} [there], %tx, [bar];", "own-cta"),
    "a bulk reduction in the own CTA": (f"{BULK} [there], [given], 16, [bar];", "own-cta"),
    "an mbarrier elsewhere": (f"{KEEP} [%r20], %tx, [bar];", "async-mbarrier"),
    "a misaligned value": (f"{KEEP} [%r20+2], %tx, [%r21];" + WAIT, "misaligned"),
    "no mbarrier": (f"{KEEP} [%r20], %tx, [%r20+64];" + WAIT, "mbarrier-uninitialized"),
    "more bytes than expected": (expect(8) + f"{KEEP} [%r20], %tx, [%r21];" + WAIT, "deadlock"),
    "a look before the wait": (
        expect(4) + f"{KEEP} [%r20], %tx, [%r21]; ld.shared.u32 %r11, [there];" + WAIT + SYNC,
        "race"),
    "a size that is no multiple of 16": (
        f"mov.u32 %r11, 8; {BULK} [%r20], [given], %r11, [%r21];", "bulk-alignment"),
}  # fmt: skip


@pytest.mark.parametrize("schedule", SCHEDULES)
@each("body, rule", MISTAKES.values(), ids=MISTAKES)
def test_mistakes(body: str, rule: str, schedule: str) -> None:
    given = drawn(U32, 1, 2 * SIZE // 4)
    found = findings(
        PREPARE + body + SYNC, given, given.copy(), variables=VARIABLES, threads=THREADS,
        schedule=schedule, grid=(2, 1, 1), cluster=(2, 1, 1),
    )  # fmt: skip
    assert [f.rule for f in found][:1] == ["sim/" + rule], found
    assert found[0].place.line


def test_a_store_in_a_cluster_of_one() -> None:
    given = drawn(U32, 1, 2 * SIZE // 4)
    body = PREPARE.replace("mapa.shared::cluster.u32 %r20, %r3, %r9;", "").replace(
        "mapa.shared::cluster.u32 %r21, %r4, %r9;", "")  # fmt: skip
    found = findings(
        body + f"{KEEP} [there], %tx, [bar];", given, given.copy(), variables=VARIABLES,
        threads=THREADS,
    )  # fmt: skip
    assert [f.rule for f in found] == ["sim/lone-cta"]

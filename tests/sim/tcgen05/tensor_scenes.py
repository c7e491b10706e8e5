"""Kernels that show all of an allocation of tensor memory before and after some statements.

A scene is one CTA of 128 threads.  It fills shared memory with an image and every cell of its
columns with numbers, lets statements run, and stores every cell: a cell too many that an operation
writes is seen, and one outside of the columns is a fault.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from intrinsics.findings import Finding, SimulationError
from tests.sim.ptx import run

Words = NDArray[np.uint32]

COLUMNS = 64
"""Columns of the scene."""

FIRST = 20
"""%r20 and on: registers of the threads that statements may use."""

_ALLOC = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"
_DEALLOC = "tcgen05.dealloc.cta_group::1.sync.aligned.b32"


def _registers(first: int, count: int) -> str:
    return "{" + ", ".join(f"%r{first + i}" for i in range(count)) + "}"


def _cells(*, store: bool) -> str:
    """All threads copy the columns of their lane from %a1, or to %a2."""
    lines = [f"    mul.wide.u32 %rd1, %tx, {4 * COLUMNS};"]
    lines.append(f"    add.u64 %rd1, %rd1, %a{2 if store else 1};")
    for column in range(0, COLUMNS, 32):
        address = f"[%r10+{column}]"
        row = _registers(FIRST, 32)
        moves = [
            f"    {'st' if store else 'ld'}.global.v4.b32 "
            + (f"[%rd1+{4 * (column + i)}], {_registers(FIRST + i, 4)};" if store else "")
            + (f"{_registers(FIRST + i, 4)}, [%rd1+{4 * (column + i)}];" if not store else "")
            for i in range(0, 32, 4)
        ]
        if store:
            lines += [f"    tcgen05.ld.sync.aligned.32x32b.x32.b32 {row}, {address};"]
            lines += ["    tcgen05.wait::ld.sync.aligned;", *moves]
        else:
            lines += [*moves, f"    tcgen05.st.sync.aligned.32x32b.x32.b32 {address}, {row};"]
            lines += ["    tcgen05.wait::st.sync.aligned;"]
    return "\n".join(lines)


MEET = """
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    tcgen05.fence::after_thread_sync;"""
"""All threads meet, and what they did to tensor memory is behind them."""


LEADER = "    @%p8 bra led;"
"""Where all but thread 0 go on."""

_CLUSTER_MEETS = """
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    tcgen05.fence::after_thread_sync;"""


def commit(barrier: str = "done") -> str:
    """Arrive on a barrier once the thread's operations are complete."""
    return (
        f"\n    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [{barrier}];"
    )


def await_phase(barrier: str) -> str:
    """Wait for a barrier's first phase."""
    return f"""
wait_{barrier}:
    mbarrier.try_wait.parity.shared::cta.b64 %p3, [{barrier}], 0;
    @!%p3 bra wait_{barrier};
    tcgen05.fence::after_thread_sync;"""


COMMIT = commit()


def scene(leader: str, *, relay: str = "", everybody: str = "") -> str:
    """The statements of a scene.

    Thread 0 executes `leader`; when it has met the others, thread 64 executes `relay`.  One of them
    commits to `done`, and all wait for that, unless there is neither.  Then all threads execute
    `everybody`.  %r9 is the address of the columns, %r10 that of the warp's own lanes.
    """
    waited = await_phase("done") if leader or relay else ""
    if relay:
        relay = f"""{MEET}
    setp.ne.u32 %p7, %tx, 64;
    @%p7 bra relayed;
{relay}
relayed:"""
    return f"""
    setp.ge.u32 %p9, %tx, 32;
    @%p9 bra allocated;
    {_ALLOC} [slot], {COLUMNS};
allocated:
    setp.ne.u32 %p8, %tx, 0;
    @%p8 bra initialised;
    mbarrier.init.shared::cta.b64 [done], 1;
    mbarrier.init.shared::cta.b64 [step], 1;
initialised:
    mov.u32 %r1, image;
    shl.b32 %r2, %tx, 2;
    add.u32 %r1, %r1, %r2;
    cvt.u64.u32 %rd2, %r2;
    add.u64 %rd2, %rd2, %a0;
    mov.u32 %r3, 0;
fill:
    ld.global.b32 %r4, [%rd2];
    st.shared.b32 [%r1], %r4;
    add.u64 %rd2, %rd2, 512;
    add.u32 %r1, %r1, 512;
    add.u32 %r3, %r3, 512;
    setp.lt.u32 %p1, %r3, %a3;
    @%p1 bra fill;
    fence.proxy.async;
    bar.sync 0;
    ld.shared.u32 %r9, [slot];
    shr.u32 %r10, %tx, 5;
    shl.b32 %r10, %r10, 21;
    add.u32 %r10, %r10, %r9;
{_cells(store=False)}
{MEET}
{LEADER}
{leader}
led:
{relay}
{waited}
{everybody}
{_cells(store=True)}
{MEET}
    @%p9 bra end;
    {_DEALLOC} %r9, {COLUMNS};
end:"""


def paired(text: str, size: int, issuer: int) -> str:
    """A scene of a pair of CTAs, each with an image of `size` bytes and numbers of its own.

    Thread 0 of the CTA of rank `issuer` executes the leader, and commits to `done` of both.
    """
    ranks = f"""
    mov.u32 %r6, %cluster_ctarank;
    mul.wide.u32 %rd6, %r6, {size};
    add.u64 %a0, %a0, %rd6;
    mul.wide.u32 %rd6, %r6, {128 * COLUMNS * 4};
    add.u64 %a1, %a1, %rd6;
    add.u64 %a2, %a2, %rd6;"""
    leader = f"""
    setp.ne.u32 %p6, %r6, {issuer};
    or.pred %p6, %p6, %p8;
    @%p6 bra led;"""
    multicast = ".shared::cluster.multicast::cluster.b64 [done], 3;"
    return ranks + text.replace("cta_group::1", "cta_group::2").replace(
        ".shared::cluster.b64 [done];", multicast
    ).replace(LEADER, leader).replace(MEET, MEET + _CLUSTER_MEETS)


def variables(size: int) -> str:
    """What a scene with an image of `size` bytes declares."""
    return f""".shared .align 4 .b32 slot;
.shared .align 8 .b64 done;
.shared .align 8 .b64 step;
.shared .align 1024 .b8 image[{size}];"""


def blank_image(size: int = 512) -> NDArray[np.uint8]:
    """An image of zeros."""
    return np.zeros(size, np.uint8)


def numbers(seed: int = 0) -> Words:
    """Something in every cell: (128 lanes, columns)."""
    found: Words = np.random.default_rng(seed).integers(0, 1 << 32, (128, COLUMNS), np.uint32)
    return found


def play(
    body: str,
    image: NDArray[np.uint8],
    start: Words,
    *others: NDArray[np.generic],
    schedule: str = "early",
    target: str = "sm_100a",
    version: str = "9.0",
    races: bool = True,
) -> Words:
    """Run a scene; returns all cells as they are at its end.  `others` are %a4 and on."""
    assert image.size % 512 == 0
    out = np.zeros((128, COLUMNS), np.uint32)
    run(
        body,
        image,
        start.copy(),
        out,
        image.size,
        *others,
        variables=variables(image.size),
        threads=128,
        schedule=schedule,
        target=target,
        version=version,
        races=races,
    )
    return out


def play_pair(
    body: str,
    images: NDArray[np.uint8],
    starts: Words,
    *,
    issuer: int = 0,
    schedule: str = "early",
) -> Words:
    """Run a scene on a pair of CTAs; images and cells have the CTA's rank for their first index."""
    size = images.shape[1]
    out = np.zeros((2, 128, COLUMNS), np.uint32)
    run(
        paired(body, size, issuer),
        images,
        starts.copy(),
        out,
        size,
        variables=variables(size),
        threads=128,
        schedule=schedule,
        grid=(2, 1, 1),
        cluster=(2, 1, 1),
    )
    return out


def problem(
    body: str,
    image: NDArray[np.uint8],
    start: Words | None = None,
    others: Sequence[NDArray[np.generic]] = (),
    schedule: str = "early",
    target: str = "sm_100a",
    version: str = "9.0",
) -> Finding:
    """The finding that ends a scene."""
    start = numbers() if start is None else start
    try:
        play(body, image, start, *others, schedule=schedule, target=target, version=version)
    except SimulationError as error:
        return error.findings[0]
    raise AssertionError("the scene ends well")

"""Right kernels of whole GEMMs: a producer, an issuer and four epilogue warps, tile after tile.

They differ in the number of stages and accumulators, in who plays which role, and in how stages and
phases are counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.isel.verifier.patterns.pattern_ptx import Kernel
from tests.isel.verifier.patterns.stories import story


@dataclass(frozen=True, slots=True)
class Shape:
    """Stages of the ring and accumulators; the roles' warps; how stages are counted.

    `masked` takes stage and phase out of one counter (powers of two only), otherwise the stage
    wraps and the phase changes with it.  `arrivals` are those of an epilogue: of each thread, or of
    a lane of each warp.
    """

    stages: int
    accumulators: int
    producer: int
    issuer: int
    epilogue: int
    masked: bool = False
    arrivals: int = 128

    @property
    def threads(self) -> int:
        return 32 * (max(self.producer, self.issuer, self.epilogue + 3) + 1)


def _start(name: str, waits_first: bool) -> str:
    """A role's stage and phase, before the first turn."""
    return f"mov.u32 %{name}_n, 0; mov.u32 %{name}_s, 0; mov.u32 %{name}_h, {int(not waits_first)};"


def _select(name: str, count: int, masked: bool, waits_first: bool) -> str:
    """The stage's offset among mbarriers; its number and phase too, where they are masked."""
    text = ""
    if masked:
        shift = count.bit_length() - 1
        text = f"and.b32 %{name}_s, %{name}_n, {count - 1}; shr.u32 %{name}_h, %{name}_n, {shift};"
        if not waits_first:
            text += f" not.b32 %{name}_h, %{name}_h;"
        text += f" and.b32 %{name}_h, %{name}_h, 1; "
    return text + f"shl.b32 %{name}_8, %{name}_s, 3;"


def _advance(name: str, count: int, masked: bool) -> str:
    """The next stage."""
    if masked:
        return f"add.u32 %{name}_n, %{name}_n, 1;"
    return (
        f"add.u32 %{name}_s, %{name}_s, 1; setp.eq.u32 %p7, %{name}_s, {count};"
        f" selp.b32 %{name}_s, 0, %{name}_s, %p7; selp.b32 %{name}_x, 1, 0, %p7;"
        f" xor.b32 %{name}_h, %{name}_h, %{name}_x;"
    )


def _producer(shape: Shape) -> str:
    drain = "\n".join(
        f"""
        {_select("f", shape.stages, shape.masked, waits_first=False)}
        of f empty
        wait %f_empty %f_h #drain{i}
        {_advance("f", shape.stages, shape.masked)}
        """
        for i in range(shape.stages)
    )
    return f"""
    if w{shape.producer}
    elect
    if e
    {_start("f", waits_first=False)}
    loop ft
    mov.u32 %fk, 0; FILL:
    {_select("f", shape.stages, shape.masked, waits_first=False)}
    of f empty
    wait %f_empty %f_h #empty
    of f full
    buffer f a
    buffer f b
    expect %f_full 20480 #expect
    tma %f_a %f_full #tma_a
    tma %f_b %f_full #tma_b
    {_advance("f", shape.stages, shape.masked)}
    add.u32 %fk, %fk, 1; setp.lt.u32 %p1, %fk, 3; @%p1 bra FILL;
    end
    {drain}
    end
    end
    """


def _issuer(shape: Shape) -> str:
    return f"""
    if w{shape.issuer}
    elect
    if e
    {_start("m", waits_first=True)}
    {_start("o", waits_first=False)}
    loop mt
    {_select("o", shape.accumulators, shape.masked, waits_first=False)}
    of o taken
    wait %o_taken %o_h #taken
    after #taken_after
    accumulator o
    mov.u32 %mk, 0; MULTIPLY:
    {_select("m", shape.stages, shape.masked, waits_first=True)}
    of m full
    wait %m_full %m_h #full
    buffer m a
    buffer m b
    setp.ne.u32 %p2, %mk, 0;
    mma %o_d m_a m_b %p2 #mma
    of m empty
    commit %m_empty #commit_empty
    {_advance("m", shape.stages, shape.masked)}
    add.u32 %mk, %mk, 1; setp.lt.u32 %p3, %mk, 3; @%p3 bra MULTIPLY;
    of o ready
    commit %o_ready #commit
    {_advance("o", shape.accumulators, shape.masked)}
    end
    end
    end
    """


def _epilogue(shape: Shape) -> str:
    arrive = "arrive %r_taken #give" if shape.arrivals == 128 else "@%e arrive %r_taken #give"
    alone = "" if shape.arrivals == 128 else "warp #warp\nelect"
    return f"""
    setp.ge.u32 %p4, %warp, {shape.epilogue};
    setp.lt.and.u32 %p4, %warp, {shape.epilogue + 4}, %p4;
    if p4
    {_start("r", waits_first=True)}
    loop rt
    {_select("r", shape.accumulators, shape.masked, waits_first=True)}
    of r ready
    wait %r_ready %r_h #ready
    after #after
    accumulator r
    ld %r_l #ld
    wait_ld #wait_ld
    before #give_before
    of r taken
    {alone}
    {arrive}
    out
    {_advance("r", shape.accumulators, shape.masked)}
    end
    end
    """


def gemm(shape: Shape) -> Kernel:
    """The kernel of this shape; the issuer's warp owns the tensor memory."""
    rings = [(name, 1, shape.stages) for name in ("full", "empty")]
    rings += [("ready", 1, shape.accumulators), ("taken", shape.arrivals, shape.accumulators)]
    inits = "\n".join(
        f"init {name}{f'+{8 * i}' if i else ''} {count} #init_{name}{i}"
        for name, count, stages in rings
        for i in range(stages)
    )
    columns = max(32, 32 * shape.accumulators)
    return story(
        f"""
        if t0
        {inits}
        init_fence
        end
        if w{shape.issuer}
        alloc slot {columns} #alloc
        relinquish
        end
        before
        bar #p_bar
        after
        address slot #address
        """,
        _producer(shape),
        _issuer(shape),
        _epilogue(shape),
        f"""
        before
        bar #e_bar
        if w{shape.issuer}
        dealloc 0 {columns} #dealloc
        end
        return
        """,
        threads=shape.threads,
    )


TWO_STAGES = gemm(Shape(2, 1, producer=0, issuer=1, epilogue=4))
THREE_STAGES = gemm(Shape(3, 2, producer=4, issuer=5, epilogue=0))
FOUR_STAGES = gemm(Shape(4, 2, producer=5, issuer=4, epilogue=0, masked=True))
ONE_STAGE = gemm(Shape(1, 1, producer=0, issuer=1, epilogue=4, arrivals=4))
LEADERS = gemm(Shape(4, 2, producer=0, issuer=2, epilogue=4, arrivals=4))
LEADERS_MASKED = gemm(Shape(2, 2, producer=7, issuer=6, epilogue=0, masked=True, arrivals=4))
FOUR_ACCUMULATORS = gemm(Shape(2, 4, producer=4, issuer=6, epilogue=0))

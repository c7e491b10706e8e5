"""Kernels in the walkthrough's spelling give what numpy gives, under every schedule.

Inputs are small integers, so every sum is exact in f32.
"""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from intrinsics.findings import SimulationError, Verdict, verdict
from nvgen.compilation.compile_text import compile_text
from nvgen.compilation.compiled import Compiled
from nvgen.compilation.options import Options
from nvgen.machine_code.assembler import assemble
from tests.nvgen.walkthrough.walkthrough_programs import (
    ALLOC,
    BARRIER,
    DEALLOC,
    ENCODE,
    MMA,
    RELINQUISH,
    WAIT,
    module,
    stage,
    store,
)
from tests.samples.modules import WALKTHROUGH

SCHEDULES = ("early", "late", "random:1", "random:2", "random:3")
each_schedule = pytest.mark.parametrize("schedule", SCHEDULES)


def compiled(text: str, target: str = "sm_100a") -> Compiled:
    """`text`, compiled without an error and assembled without a warning.

    Where the size of the block is not known, the verifier may leave a doubt.
    """
    found = compile_text(text, Options(target=target))
    known = any(f.launch.reqntid for f in found.module.functions)
    assert not known or verdict(found.findings) is Verdict.CLEAN
    done = assemble(found.ptx, found.target)
    assert done.cubin[:4] == b"\x7fELF"
    assert "warning" not in done.log
    return found


def small(shape: tuple[int, ...], dtype: object = ml_dtypes.bfloat16, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(-4, 5, shape).astype(dtype)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A (m × k) times B (n × k) transposed, in f32."""
    return a.astype(np.float32) @ b.astype(np.float32).T


HEAD = f"entry:\n  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  %h = {ALLOC} 16)\n"
READY = f"call void @llvm.nvvm.fence.proxy.async.shared_cta()\n  {BARRIER}"
TAIL = f"{DEALLOC} %h, i32 16)\n  {RELINQUISH}\n  ret void"


def steps(
    name: str, count: int, a_step: int, b_step: int, *, handle: str = "%h", wait: bool = False,
    words: str = "i32 193, i32 1", a_strides: str = "i32 512, i32 16",
    b_strides: str = "i32 2048, i32 128", begin: str = "entry", after: str = "%end",
) -> str:  # fmt: skip
    """A loop of `count` multiplies, whose tiles lie so many bytes one behind the other."""
    return f"""
{name}:
  %{name}.k = phi i32 [ 0, %{begin} ], [ %{name}.n, %{name} ]
  %{name}.ao = mul i32 %{name}.k, {a_step}
  %{name}.bo = mul i32 %{name}.k, {b_step}
  %{name}.at = getelementptr i8, ptr addrspace(3) @sa, i32 %{name}.ao
  %{name}.bt = getelementptr i8, ptr addrspace(3) @sb, i32 %{name}.bo
  %{name}.da = {ENCODE} %{name}.at, {a_strides}, i32 0, i32 1)
  %{name}.db = {ENCODE} %{name}.bt, {b_strides}, i32 0, i32 1)
  %{name}.more = icmp ne i32 %{name}.k, 0
  {MMA} {handle}, i64 %{name}.da, i64 %{name}.db, {words}, i1 %{name}.more), !nvgen.atom !0
  {WAIT if wait else ""}
  %{name}.n = add i32 %{name}.k, 1
  %{name}.x = icmp ult i32 %{name}.n, {count}
  br i1 %{name}.x, label %{name}, label {after}
"""


def staged(a: str = "%a", b: str = "%b", after: str = "%ready", gap: int = 1024) -> str:
    """Both tiles, B with its groups 2048 bytes apart."""
    return stage("sta", a, "@sa", 64, "%stb.in") + stage("stb", b, "@sb", 128, after, gap=gap)


@pytest.mark.turns(3)
@each_schedule
def test_a_wait_after_every_step(schedule: str) -> None:
    """The parity flips from wait to wait, and no thread misses a phase."""
    text = module(
        HEAD + "br label %sta.in" + staged() + f"ready:\n  {READY}\n  br label %mul"
        + steps("mul", 4, 2048, 32, wait=True, begin="ready", after="%out")
        + store("out", "%h", "%d", "%end") + f"end:\n  {TAIL}"
    )  # fmt: skip
    a, b = small((64, 64), seed=3), small((128, 64), seed=4)
    d = np.zeros((64, 128), np.float32)
    compiled(text).run(a, b, d, schedule=schedule)
    assert np.array_equal(d, product(a.T, b))


@pytest.mark.turns(3)
@each_schedule
def test_an_accumulator_that_is_read_and_used_again(schedule: str) -> None:
    """Three tiles through one allocation and one pair of buffers."""
    head = (
        HEAD
        + f"""br label %tile
tile:
  %t = phi i32 [ 0, %entry ], [ %t.n, %next ]
  %ta = getelementptr [8192 x i8], ptr addrspace(1) %a, i32 %t
  %tb = getelementptr [16384 x i8], ptr addrspace(1) %b, i32 %t
  %td = getelementptr [32768 x i8], ptr addrspace(1) %d, i32 %t
  br label %sta.in
{staged("%ta", "%tb")}
ready:
  {READY}
  br label %mul
{steps("mul", 4, 2048, 32, begin="ready", after="%waits")}
waits:
  {WAIT}
  br label %out
{store("out", "%h", "%td", "%next")}
next:
  %t.n = add i32 %t, 1
  %t.x = icmp ult i32 %t.n, 3
  br i1 %t.x, label %tile, label %end
end:
  {TAIL}"""
    )
    a, b = small((3, 64, 64), seed=5), small((3, 128, 64), seed=6)
    d = np.zeros((3, 64, 128), np.float32)
    compiled(module(head)).run(a, b, d, schedule=schedule)
    assert np.array_equal(d, np.stack([product(x.T, y) for x, y in zip(a, b, strict=True)]))


@pytest.mark.turns(3)
@each_schedule
def test_two_accumulators_and_one_wait(schedule: str) -> None:
    """The wait is for everything that was issued before it."""
    text = module(
        HEAD + f"%g = {ALLOC} 32)\n  br label %sta.in" + staged()
        + f"ready:\n  {READY}\n  br label %one"
        + steps("one", 4, 2048, 32, begin="ready", after="%two")
        + steps("two", 2, 2048, 32, handle="%g", begin="one", after="%waits")
        + f"waits:\n  {WAIT}\n  br label %out" + store("out", "%h", "%d", "%half")
        + "half:\n  %e = getelementptr [32768 x i8], ptr addrspace(1) %d, i32 1\n  br label %out2"
        + store("out2", "%g", "%e", "%end") + f"end:\n  {DEALLOC} %g, i32 32)\n  {TAIL}"
    )  # fmt: skip
    a, b = small((64, 64), seed=7), small((128, 64), seed=8)
    d = np.zeros((2, 64, 128), np.float32)
    compiled(text).run(a, b, d, schedule=schedule)
    assert np.array_equal(d[0], product(a.T, b))
    assert np.array_equal(d[1], product(a.T[:, :32], b[:, :32]))


@pytest.mark.turns(3)
@each_schedule
def test_accumulators_that_change_places(schedule: str) -> None:
    """Handles go round the loop: tile 0 and 2 into one accumulator, tile 1 into the other."""
    text = (
        HEAD
        + f"""%g = {ALLOC} 16)
  br label %tile
tile:
  %t = phi i32 [ 0, %entry ], [ %t.n, %next ]
  %now = phi i32 [ %h, %entry ], [ %then, %next ]
  %then = phi i32 [ %g, %entry ], [ %now, %next ]
  %ta = getelementptr [8192 x i8], ptr addrspace(1) %a, i32 %t
  %tb = getelementptr [16384 x i8], ptr addrspace(1) %b, i32 %t
  %td = getelementptr [32768 x i8], ptr addrspace(1) %d, i32 %t
  br label %sta.in
{staged("%ta", "%tb")}
ready:
  {READY}
  br label %mul
{steps("mul", 4, 2048, 32, handle="%now", begin="ready", after="%waits")}
waits:
  {WAIT}
  br label %out
{store("out", "%now", "%td", "%next")}
next:
  %t.n = add i32 %t, 1
  %t.x = icmp ult i32 %t.n, 3
  br i1 %t.x, label %tile, label %end
end:
  {DEALLOC} %g, i32 16)
  {TAIL}"""
    )
    a, b = small((3, 64, 64), seed=13), small((3, 128, 64), seed=14)
    d = np.zeros((3, 64, 128), np.float32)
    compiled(module(text)).run(a, b, d, schedule=schedule)
    assert np.array_equal(d, np.stack([product(x.T, y) for x, y in zip(a, b, strict=True)]))


KINDS = {
    "f16": ("sm100_umma_m64n128k16_f32_f16_f16", 193, np.float16, 64),
    "tf32": ("sm100_umma_m64n128k8_f32_tf32_tf32", 4 << 6 | 1, np.float32, 32),
    "e4m3": ("sm100_umma_m64n128k32_f32_e4m3_e4m3", 5 << 6 | 1, ml_dtypes.float8_e4m3fn, 128),
    "e5m2": ("sm100_umma_m64n128k32_f32_e5m2_e4m3", 5 << 6 | 1, ml_dtypes.float8_e5m2, 128),
}
"""Atom, control word, numpy's type of A, and K of four steps."""


@pytest.mark.turns(12)
@each_schedule
@pytest.mark.parametrize("name", KINDS)
def test_other_types_with_both_matrices_k_major(name: str, schedule: str) -> None:
    """Rows of 128 bytes of K: a step is 32 bytes on.  Without majors both are K-major."""
    atom, ctrl, dtype, k = KINDS[name]
    b_type = ml_dtypes.float8_e4m3fn if name == "e5m2" else dtype
    text = module(
        HEAD + "br label %sta.in" + staged() + f"ready:\n  {READY}\n  br label %mul"
        + steps("mul", 4, 32, 32, words=f"i32 {ctrl}, i32 0", a_strides="i32 1024, i32 16",
                begin="ready", after="%waits")
        + f"waits:\n  {WAIT}\n  br label %out"
        + store("out", "%h", "%d", "%end") + f"end:\n  {TAIL}",
        atom=f'!{{!"{atom}"}}',
    )  # fmt: skip
    a, b = small((64, k), dtype, seed=9), small((128, k), b_type, seed=10)
    d = np.zeros((64, 128), np.float32)
    found = compiled(text)
    assert "walkthrough/majors" in {f.rule for f in found.findings}
    found.run(a, b, d, schedule=schedule)
    assert np.array_equal(d, product(a, b))


SHAPES = {"256": (256, 1, 1), "64,2": (64, 2, 1), "16,4,2": (16, 4, 2), "": (128, 1, 1)}


@pytest.mark.turns(3)
@pytest.mark.parametrize("threads", SHAPES)
def test_other_blocks(threads: str) -> None:
    """Warps are counted over all dimensions; more than four read the same lanes again."""
    number = """entry:
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %z = call i32 @llvm.nvvm.read.ptx.sreg.tid.z()
"""
    sizes = SHAPES[threads]
    number += f"  %yx = mul i32 %y, {sizes[0]}\n  %zx = mul i32 %z, {sizes[0] * sizes[1]}\n"
    number += "  %xy = add i32 %x, %yx\n  %all = add i32 %xy, %zx\n  %tid = and i32 %all, 127\n"
    text = module(
        number + f"%h = {ALLOC} 1)\n  br label %sta.in" + staged()
        + f"ready:\n  {READY}\n  br label %mul"
        + steps("mul", 4, 2048, 32, begin="ready", after="%waits")
        + f"waits:\n  {WAIT}\n  br label %out"
        + store("out", "%h", "%d", "%end") + f"end:\n  {DEALLOC} %h, i32 1)\n  ret void",
        threads=threads,
    ) + "declare i32 @llvm.nvvm.read.ptx.sreg.tid.z()\n"  # fmt: skip
    a, b = small((64, 64), seed=11), small((128, 64), seed=12)
    d = np.zeros((64, 128), np.float32)
    compiled(text).run(a, b, d, block=sizes, schedule="late")
    assert np.array_equal(d, product(a.T, b))


@pytest.mark.parametrize("opt", [1, 2, 3])
def test_after_llvms_optimiser(opt: int) -> None:
    """Atoms stay with their multiplies when loops are unrolled."""
    a, b = small((64, 64), seed=15), small((128, 64), seed=16)
    d = np.zeros((64, 128), np.float32)
    found = compile_text(WALKTHROUGH.read_text(), Options(target="sm_100a", opt=opt))
    found.run(a, b, d, schedule="late")
    assert np.array_equal(d, product(a.T, b))


Change = Callable[[str], str]
BROKEN: dict[str, Change] = {
    "the wait for the mbarrier": lambda mir: mir.replace("@!%done:pred BRA", "@%done:pred BRA"),
    "the commit": lambda mir: _without(mir, "TCGEN05_COMMIT"),
    "the barrier that publishes": lambda mir: _without(mir, "BAR_SYNC"),
}


def _without(text: str, opcode: str) -> str:
    return "\n".join(line for line in text.split("\n") if opcode not in line)


@pytest.mark.turns(3)
@pytest.mark.parametrize("part", BROKEN)
def test_the_expansion_needs_its_parts(part: str) -> None:
    """Taken out, each makes the run end in a fault or a deadlock, or the result wrong."""
    from asmprinter.mir.reader import read_mir
    from nvgen.sim.async_ops.schedule import parse_schedule
    from nvgen.sim.launch import simulate

    mir = compile_text(WALKTHROUGH.read_text(), Options(target="sm_100a")).mir
    changed = BROKEN[part](mir)
    assert changed != mir
    a, b, d = small((64, 64), seed=1), small((128, 64), seed=2), np.zeros((64, 128), np.float32)
    try:
        simulate(
            read_mir(changed), "gemm_blackwell", [a, b, d], grid=(1, 1, 1), block=(128, 1, 1),
            cluster=(1, 1, 1), smem=0, schedule=parse_schedule("late"),
        )  # fmt: skip
    except SimulationError:
        return
    assert not np.array_equal(d, product(a.T, b))

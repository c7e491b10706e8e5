"""What is shown of kernels: machine code by loops and roles, objects in words, stages as HTML."""

from __future__ import annotations

import inspect
import re
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from asmprinter.mir.printer import print_mir
from asmprinter.mir.reader import read_mir
from asmprinter.ptx.reading.reader import read_ptx
from nvgen import Float, InputError, Kernel, KernelBuilder, SimulationError, bf16, f32, i32
from nvgen.compilation.compiled import Compiled
from nvgen.machine_code.sass import Sass, find_nvdisasm
from tests.each import each
from tests.oracle.sass import listing

# ---- machine code --------------------------------------------------------------------------------

LOOPS = """
.L_x_9:
        /*0000*/                   MOV R1, R2 ;
.L_x_0:
        /*0010*/                   IADD3 R3, R3, 0x1, RZ ;
        /*0020*/               @P0 BRA `(.L_x_3) ;
.L_x_1:
        /*0030*/                   LDL R40, [R1] ;
        /*0040*/              @!P1 BRA `(.L_x_1) ;
.L_x_2:
        /*0050*/               @P2 BRA `(.L_x_0) ;
        /*0060*/                   USETMAXREG.DEALLOC.CTAPOOL 0x28 ;
        /*0070*/                   EXIT ;
.L_x_3:
        /*0080*/                   FADD R7, R7, R8 ;
        /*0090*/                   BRA `(.L_x_2) ;
.L_x_4:
        /*00a0*/                   BRA `(.L_x_4) ;
        /*00b0*/                   NOP;
"""
"""An outer loop with a part that lies behind it, an inner one, a role, and the end's trap."""


def test_loops_are_natural_and_hold_what_lies_elsewhere() -> None:
    """FADD, behind EXIT, is a part of the outer loop; the inner one is LDL and its branch."""
    shown = Sass("k", LOOPS)
    assert [part.kinds for part in shown.loops] == [
        Counter(IADD3=1, BRA=4, LDL=1, FADD=1),
        Counter(LDL=1, BRA=1),
    ]
    assert (shown.loops[1].registers, shown.loops[1].spills) == (41, 1)
    assert [part.name for part in shown.roles] == ["role of 40 registers"]
    assert shown.whole.kinds == Counter(MOV=1, IADD3=1, BRA=5, LDL=1, USETMAXREG=1, EXIT=1, FADD=1)
    assert shown.whole.moves == 1


def counted() -> Kernel:
    b = KernelBuilder("counted", block=32, target="sm_90a")
    b.pointer("x", f32, output=True)
    b.u32("n")
    args = b.begin()
    total = b.variable(0.0)
    with b.range(args["n"]) as i:
        total.set(total.value + i.to(f32) * 0.5)
    args["x"][b.tid_x] = total.value
    return b.finish()


@pytest.mark.turns(3)
@pytest.mark.skipif(find_nvdisasm() is None, reason="nvdisasm is not installed")
def test_machine_code_is_counted_as_the_oracle_counts_it() -> None:
    compiled = counted().compile()
    expected = Counter(kind for kind in listing(compiled.cubin()).kinds if kind != "NOP")
    assert compiled.sass.whole.kinds == expected
    assert compiled.sass.loops
    assert str(compiled.sass).startswith(f"counted: {expected.total()} instructions")


def multiplied() -> Kernel:
    """One step of 64 x 16 x 64 in bf16: four multiplies of K = 16."""
    b = KernelBuilder("multiplied", block=128, target="sm_90a")
    b.pointer("y", f32, output=True)
    args = b.begin()
    tiles = [b.shared_tile(name, bf16, (rows, 64)) for name, rows in (("a", 64), ("b", 16))]
    d = b.warpgroup_tile(64, 16)
    b.gemm(d, *tiles)
    d.store(args["y"], 16)
    return b.finish()


@pytest.mark.skipif(find_nvdisasm() is None, reason="nvdisasm is not installed")
def test_loops_are_named_by_the_line_of_the_source_that_begins_them() -> None:
    sass = counted().compile(lineinfo=True).sass
    lines, first = inspect.getsourcelines(counted)
    (begun,) = (first + at for at, line in enumerate(lines) if "b.range" in line)
    assert {loop.place for loop in sass.loops} == {f"{Path(__file__).name}:{begun}"}
    assert f"\nloop 0 at {Path(__file__).name}:{begun}: " in str(sass)
    assert not any(loop.place for loop in counted().compile().sass.loops)


WAITING = """
.L_x_0:
        /*0000*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R6+UR7], R5 ;
        /*0010*/              @!P0 BRA `(.L_x_0) ;
.L_x_1:
        /*0020*/                   IADD3 R1, R1, 0x1, RZ ;
        /*0030*/              @!P1 BRA `(.L_x_1) ;
        /*0040*/                   EXIT ;
"""
"""Machine code as nvdisasm lists it."""


def test_loops_that_only_wait_are_counted() -> None:
    waiting = Sass("k", WAITING)
    assert [loop.waits for loop in waiting.loops] == [True, False]
    assert "loops that only wait: 1" in str(waiting).splitlines()
    assert [line.partition(":")[0] for line in str(waiting).splitlines() if "loop " in line] == [
        "loop 1"
    ]


@pytest.mark.skipif(find_nvdisasm() is None, reason="nvdisasm is not installed")
def test_multiplies_stand_beside_those_that_the_shapes_need() -> None:
    sass = multiplied().compile().sass
    assert sass.whole.multiplies == sass.whole.kinds["HGMMA"] == sass.asked == 64 // 16
    *_, multiplies, launch = str(sass).splitlines()
    assert multiplies == "multiplies: 4, 4 in the PTX"
    assert "0 bytes spilled" in launch
    assert "barriers" in launch


def twice(x: Float) -> Float:
    return x * 2.0


@pytest.mark.skipif(find_nvdisasm() is None, reason="nvdisasm is not installed")
def test_machine_code_knows_the_lines_of_helpers_and_of_their_callers(tmp_path: Path) -> None:
    """nvdisasm reads what ptxas has kept of `.loc … inlined_at`."""
    b = KernelBuilder("k", block=32, target="sm_90a")
    b.pointer("x", f32, output=True)
    x = b.begin()["x"]
    x[b.tid_x] = twice(x[0])
    called = inspect.currentframe().f_lineno - 1
    compiled = b.finish().compile(lineinfo=True)
    inner = twice.__code__.co_firstlineno + 1
    path = tmp_path / "k.cubin"
    path.write_bytes(compiled.cubin())
    tool = [find_nvdisasm(), "-gi", "-c", str(path)]
    said = subprocess.run(tool, capture_output=True, text=True, check=True).stdout
    assert f'line {inner} inlined at "{__file__}", line {called}' in said
    assert read_ptx(compiled.ptx).module.functions  # it is read back
    assert ".b8 " + ", ".join(map(str, b"twice\0")) in compiled.ptx  # what function_name refers to
    assert f'called "{__file__}":{called} as "twice"' in compiled.mir
    assert print_mir(read_mir(compiled.mir)).text == compiled.mir


# ---- launches ------------------------------------------------------------------------------------


def blocks() -> Kernel:
    b = KernelBuilder("blocks", block=32, target="sm_90a")
    b.pointer("x", i32, output=True)
    b.u32("n")
    args = b.begin()
    args["x"][b.ctaid_x] = b.nctaid_x.to(i32)
    return b.finish()


def test_a_grid_is_a_function_of_the_arguments() -> None:
    x = np.zeros(4, np.int32)
    compiled = blocks().compile()
    compiled.run(x, 7, grid=lambda x, n: -(-n // 2))
    assert x.tolist() == [4] * 4
    compiled.run(x=x, n=6, grid=lambda x, n: (n // 2, 1, 1))
    assert x.tolist() == [3, 3, 3, 4]


def test_a_grid_of_other_arguments_is_refused() -> None:
    x = np.zeros(4, np.int32)
    with pytest.raises(InputError, match="missing a required argument: 'm'") as caught:
        blocks().compile().run(x, 7, grid=lambda x, n, m: n)
    assert caught.value.findings[0].got == "(x, n, m) for 2 arguments"
    with pytest.raises(ZeroDivisionError):  # its own errors stay what they are
        blocks().compile().run(x, 7, grid=lambda x, n: n // 0)


def test_parameters_keep_their_names_in_messages() -> None:
    compiled = blocks().compile()
    x = np.zeros(2, np.int32)
    with pytest.raises(InputError, match="an argument does not fit n\n"):
        compiled.run(x, 1.5)
    with pytest.raises(SimulationError, match="writes outside of x\n"):
        compiled.run(x, 1, grid=3)


def test_a_call_is_a_launch_on_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """numpy's arrays travel there and back, as `run` does it."""
    asked: list[tuple[object, ...]] = []

    def run(self: Compiled, *args: object, **options: object) -> None:
        asked.append((len(args), options["grid"], options["device"]))

    compiled = blocks().compile()
    monkeypatch.setattr(Compiled, "run", run)
    compiled(np.zeros(4, np.int32), 8, grid=lambda x, n: n // 2)
    assert asked == [(2, (4, 1, 1), "cuda")]


# ---- objects -------------------------------------------------------------------------------------


def shown() -> dict[str, str]:
    """What objects of a kernel print."""
    b = KernelBuilder("shown", block=128, target="sm_90a")
    b.pointer("x", bf16)
    args = b.begin()
    tiles = b.shared_tiles("tiles", bf16, (64, 64), 2)
    d = b.warpgroup_tile(64, 16)
    found = {
        "number": b.tid_x, "address": args["x"], "tile": tiles.first,
        "ring": b.tile_ring("r", tiles), "sums": d,
        "rows": d.row_max(), "variable": b.variable(1), "builder": b, "part": d.parts[0],
        "consumer": b.tile_ring("s", tiles).consumer(), "turn": b.ring(3),
        "whole": b.accumulator(64, 16),
    }  # fmt: skip
    return {name: str(value) for name, value in found.items()} | {"kernel": str(b.finish())}


TILE = "<tile tiles: 64x64 of bf16, K-major, 128-byte swizzling, 8192 bytes>"
LAYOUT = (
    "64x16, 128 threads with 8 elements each; thread 0 has (row, column) "
    "(0, 0) (0, 1) (8, 0) (8, 1) (0, 8) (0, 9) (8, 8) (8, 9)"
)
"""PTX ISA, Register Fragments of wgmma.mma_async: rows 0 and 8, columns 2·(lane mod 4) and on."""

WORDS = {
    "number": "<u32 of shown>",
    "address": "<an address in space 1 of bf16, of shown>",
    "tile": TILE,
    "ring": f"<ring of 2 buffers for 1 consumers, each {TILE}>",
    "sums": f"<D of a warpgroup: f32; layout {LAYOUT}>",
    "rows": f"<rows: 2 of f32; layout {LAYOUT}>",
    "variable": "<a variable: u32 of shown>",
    "part": f"<D of one multiply of a warpgroup: f32; layout {LAYOUT}>",
    "consumer": f"<consumer of <ring of 2 buffers for 1 consumers, each {TILE}>>",
    "turn": "<a place in a ring of 3 buffers, of shown>",
    "whole": f"<D of the CTA: 64x16 of f32; <D of a warpgroup: f32; layout {LAYOUT}>>",
    "builder": "<KernelBuilder shown for sm_90a: 128 threads>",
    "kernel": "<Kernel shown(x) for sm_90a, block (128, 1, 1)>",
}


@each("name", WORDS)
def test_an_object_prints_its_layout(name: str) -> None:
    assert shown()[name] == WORDS[name]


def test_notebooks_show_a_kernel() -> None:
    """Not judged yet: its text, and where its tiles lie."""
    b = KernelBuilder("shown", block=32, dynamic_shared=True, target="sm_90a")
    b.begin()
    for name in ("first", "second"):
        b.shared_tile(name, bf16, (64, 64))
    b.barrier_cta_sync_aligned()
    page = b.finish()._repr_html_()
    assert "<summary>LLVM IR: " in page
    assert "findings" not in page
    assert re.search(r"\b0 first\n +8192 second\b", page)


def test_notebooks_show_the_stages() -> None:
    compiled = blocks().compile()
    page = compiled._repr_html_()
    assert repr(compiled) == "<Compiled blocks for sm_90a, PTX 8.0>"
    for name in ("LLVM IR", *(f"MIR after {stage}" for stage in compiled.stages), "MIR", "PTX"):
        assert f"<summary>{name}: " in page
    assert "st.global" in page
    assert "<%" not in page.replace("<p>", "")  # text is escaped

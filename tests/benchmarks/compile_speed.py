"""How fast nvgen compiles, next to LLVM's own code generator.

    python tests/benchmarks/compile_speed.py [FOLDER ...] [--json OUT] [--repeat N] [--size N ...]

Three questions, and the cold start:

**Small kernels.**  200 compilations of a kernel of thirty lines, one after the other in one thread,
as users write them, `nvgen.compile(text, target=…).ptx`, beside llvmlite's `parse_assembly`,
`verify` and `emit_assembly` at -O0 of the same text in the same process, in turns; then the same of
the six in `tests/benchmarks/small`, two of which are judged as a whole too.

**Real modules.**  The whole of `nvgen.compile(text, target=…).ptx`, LLVM's reading and the rules
about whole functions included, beside `emit_assembly` at -O3 alone, on a module that is parsed
already, in the same process.  The modules are those of the tree (samples of the builder, as LLVM's
optimiser leaves them, and LLVM IR) and every `*.ll` of the folders that are named; a file is
compiled for the target that its name ends in (`softmax_sm_90a.ll`), else for sm_90a.

For both, the time is that of the processor, in the user's process and in the one that nvgen has
LLVM in; beside it stand the wall clock's, which on a busy machine says too much, and what the
user's process takes of it alone.  Each figure is the least of some turns.

**Growth.**  Six modules of scalar code are made, of 1,000, 10,000 and 50,000 LLVM instructions: one
straight line, and one of many small blocks with phis, a loop and a diamond after the other.  Every
value ends up in memory, so that no stage has dead code to skip.  Each stage of nvgen runs several
times on the same input, a large one three times; the table shows the median of the processor's
time, in microseconds per LLVM instruction.  What a stage learns once in a process (the forms of
instructions) it has learned before the clock starts, as LLVM has its tables; no stage keeps
anything of a module.  The stages:

    parse     the text goes to LLVM's process, whose own time is not counted, and comes back
    read      the reprint becomes nvgen's view of the module, with the user's line numbers
    select    selection and the passes after it
    verify    the records are judged, and the lowest PTX version is found
    print     PTX

LLVM's figures are `TargetMachine.emit_assembly` at -O0 and -O3 on the same module, parsed before
the clock starts, in a process that is stopped after LIMIT seconds of the processor's time; the
table then says what it took at least.  The ratios compare read + select + verify + print with it:
a ratio below 1 says that nvgen is faster.  The growth of a module is the time for an instruction of
the largest size by that of the smallest: 1 is linear.  Synthetic lines show growth,
and nothing else.

**The cold start** is the wall time of `python -m nvgen check` and `compile` on a file of a few
lines, next to that of an interpreter that only imports llvmlite's binding; each runs once before,
so that Python has the modules' bytecode.  Nothing is asserted.

On 24 November 2026, two busy cores of a virtual machine, Python 3.11, LLVM 22:

    small kernels                     1.8 to 2.0 times LLVM -O0: the medians of two runs of 150
                                      turns of five compiles each, in turn with five of LLVM's; by
                                      the least of each, which other work disturbs least, 1.70, 1.77
                                      (a commit of that morning, in turn with these: 1.76, 1.81)
    86 modules, 129 to 4,727 lines    geometric mean of the ratios 1.76
      12 that are judged as a whole   4.1 to 18.7, mean 7.3
      74 others                       0.6 to 3.5, mean 1.40

That evening, with nothing else to do and the least of 12 turns: small kernels 1.03 ms and 0.54 of
LLVM's, 1.90 times; `nvgen check` and `nvgen compile` of a small file start in 0.26 s.
Commit f213698b likewise, two runs of 10 turns: 0.97 and 0.99 ms beside 0.53, 1.84 and 1.87 times.

In the night to 29 November 2026 callgrind counted ten compiles of each small kernel in one process
that had compiled all of them, millions of instructions (commit 9e83fed5's before; the part of
LLVM's process; LLVM at -O0, all with PYTHONHASHSEED=0):

    many blocks         4.13 (4.18)  0.60  2.79  1.69 times LLVM's (1.71)
    reduction           5.21 (5.30)  0.86  3.33  1.82 (1.85)
    switch              4.61 (4.74)  0.65  3.02  1.75 (1.79)
    transpose           5.38 (5.41)  0.99  4.28  1.49 (1.50)
    vector add          3.57 (3.63)  0.77  2.98  1.45 (1.47)
    tcgen05 multiply    32.6 (38.9)  1.18  3.46  9.75, judged as a whole (11.6)
    TMA load            27.7 (28.5)  1.14  3.44  8.4, judged as a whole (8.6)

Counted likewise later on 29 November, of five of them (91bc18d7):

    many blocks         4.03  0.60  2.79  1.66 times LLVM's
    reduction           4.85  0.86  3.33  1.71
    switch              4.44  0.65  3.02  1.69
    transpose           5.05  0.99  4.28  1.41
    vector add          3.34  0.76  2.99  1.38

And later that morning, the user's process alone, at 9485fb96 and (in brackets) 89edf2d7:

    many blocks         4.12  (4.18)
    reduction           4.93  (5.01)
    switch              4.51  (4.58)
    transpose           5.08  (5.17)
    vector add          3.35  (3.40)
    tcgen05 multiply    32.2  (30.3), 9.1 times LLVM's with the part of LLVM's process
    TMA load            27.3  (26.0), 7.9

In steady state the two take the same of many blocks and of the reduction (ten compiles after five:
4.13 and 4.13 million, 5.00 and 5.00); of the multiply a later commit took 31.2 where the one before
these took 33.2, with rules that came in between.  Where vectors are wide the difference is larger:
of sample 10 Python executes 22.5 million bytecodes instead of 26.2, of sample 1 1.38 instead of
1.50.

At noon of that day callgrind counted, in millions, the user's process alone at ea0f04a4 and (in
brackets) with races sought among shapes that touch, known contents of memory followed only where
accesses overlap, and shapes, regions and conditions judged once for all runs; ten compiles of a
small kernel after one, one of a real module after one:

    many blocks         4.50  (4.35)
    reduction           5.05  (5.05)
    switch              4.89  (4.97)
    transpose           5.80  (5.38)
    vector add          3.85  (3.52)
    tcgen05 multiply    28.9  (27.7)
    TMA load            25.1  (23.7)
    01_gemm_tile        106   (100)
    02_gemm_warp_spec.  1356  (883)
    05_gemm_two_ctas    490   (392)
    07_gemm_nvfp4       333   (318)
    10_gemm_sm90        1564  (1299)
    04_softmax          21.9  (22.0)
    device              17.4  (16.7)

By the processor's time, two runs of each in turn on a machine with much else to do, the least of
three turns, the geometric mean of the six real modules that LLVM compiles was 3.82 and 3.52 times
LLVM's -O3 before, and 3.00 and 3.26 after.

In the afternoon a warp's flow no longer executed a node again for what the node itself writes, nor
records whose operands are the same as before; until then a fifth to a half of its executions were
such.  What that and four more commits up to 2b745b36 save, in bytecodes that Python executes in a
later compile of one process (e959176a without and with them):

    tcgen05 multiply      333,000      324,000    0.97
    TMA load              288,000      274,000    0.95
    01_gemm_tile        1,229,000    1,186,000    0.97
    02_gemm_warp_spec. 12,098,000   11,201,000    0.93
    05_gemm_two_ctas    5,323,000    5,124,000    0.96
    07_gemm_nvfp4       4,314,000    4,151,000    0.96
    10_gemm_sm90       16,963,000   15,344,000    0.90
    04_softmax            305,000      305,000    1.00

Callgrind counted 26.9 million instructions of the multiply with them (27.6 without, at a commit
beside e959176a), of the TMA load 22.6 (23.9) and of the reduction 5.17 (5.36), ten compiles after
one, the user's process alone: 8.1 and 6.9 times LLVM's of the first two, with LLVM's process.

For a line of PTX, Python calls 53 functions of the reduction (17 of these in selection, 8 in
reading, 5 in passes), 426 of the tcgen05 multiply (before: 446) and 803 of sample 10 (970), of
which the verifier's own are three fifths.

Of a compile of many blocks selection has a third, leaving SSA form a fifth, reading LLVM's text a
sixth and printing a tenth; a kernel without any instruction takes 1.0 million.  Of the multiply the
rules about whole functions had four fifths, a quarter of these each for the flow of every warp, the
execution with made-up arguments, the known bits of descriptors, of which most went, and all else.

In a process that compiles nothing else the first one takes 4.25 million at cea312e5.  Differences
of 40 and 10 compiles had given 3.98 at 6705ae67, which was not found again: 4.24 by this way.

How Python was built counts as much.  By the least of three runs of 200 turns of five compiles each,
in turn with five of LLVM's, beside eight busy processes: 1.72 to 1.78 with the Python 3.11.7 of all
figures here, which was built without profiles and with a shared library (commit 76df882: 1.80 to
1.88), and 1.60 to 1.65 with Debian's 3.11.2 (1.65 to 1.76).

Of 18 of the 74, compiled in turn by that commit and by these (the processor's time of the user's
process alone, the least of nine): 0.89 times the earlier one's time.  The morning's whole table,
from a machine with less to do, said 1.73, 6.8 and 1.39.

    straight line of 3,006, 35,006 and 350,006 lines: 14, 15, 16 µs a line, 2, 29, 256 MiB more
    many blocks, 3,756, 43,756 and 437,506 lines: 20, 23, 25 µs a line, 5, 65, 604 MiB more

The real modules were made by Triton 3.9 (16 kernels for sm_80, sm_90a and sm_100a), numba-cuda 0.30
(15 kernels) and clang 19 (eight files of C++ at -O0, -O1 and -O3); growth is of `nvgen.compile`
whole, without the time of LLVM's process.

"""

from __future__ import annotations

import argparse
import functools
import gc
import importlib
import json
import math
import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from llvmlite import binding

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:  # run as a script: the folder of this file comes first
    sys.path.insert(0, str(ROOT))

TARGET = "sm_100a"
LLVM_PTX = "+ptx86"
STAGES = ("parse", "read", "select", "verify", "print")
SIZES = (1_000, 10_000, 50_000)
SMALL = 20
"""LLVM instructions of a small kernel, which has thirty lines."""

COMPILES = 200
"""Compilations of it in one turn."""

LARGE = 20_000
"""From here on a module is measured three times at most by nvgen, and once by LLVM."""

LIMIT = 25
"""Seconds of the processor's time after which LLVM is stopped."""

HEADER = (
    'target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"\n'
    'target triple = "nvptx64-nvidia-cuda"\n'
    "define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n, i64 %w) {\nentry:\n"
)


# ---- modules ---------------------------------------------------------------------------------


def straight_line(size: int) -> str:
    """One block: loads, arithmetic of two widths, comparisons and stores, ten at a time."""
    lines = []
    for i in range(0, size - 1, 10):
        last = f"%h{i - 10}" if i else "%n"
        lines += [
            f"  %a{i} = getelementptr i32, ptr addrspace(1) %p, i64 {i}",
            f"  %b{i} = load i32, ptr addrspace(1) %a{i}, align 4",
            f"  %c{i} = mul i32 %b{i}, {last}",
            f"  %d{i} = add i32 %c{i}, {i + 1}",
            f"  %e{i} = zext i32 %d{i} to i64",
            f"  %f{i} = lshr i64 %e{i}, 3",
            f"  %g{i} = trunc i64 %f{i} to i32",
            f"  %q{i} = icmp ult i32 %g{i}, %n",
            f"  %h{i} = select i1 %q{i}, i32 %g{i}, i32 %c{i}",
            f"  store i32 %h{i}, ptr addrspace(1) %a{i}, align 4",
        ]
    return HEADER + "\n".join(lines) + "\n  ret void\n}\n"


def many_blocks(size: int) -> str:
    """Loops of one block and diamonds with phis, twenty instructions for a pair of both."""
    lines, last, before = [], "%n", "entry"
    for i in range(0, size - 1, 20):
        lines += [
            f"  br label %loop{i}",
            f"loop{i}:",
            f"  %i{i} = phi i32 [ 0, %{before} ], [ %j{i}, %loop{i} ]",
            f"  %s{i} = phi i32 [ {last}, %{before} ], [ %t{i}, %loop{i} ]",
            f"  %a{i} = getelementptr i32, ptr addrspace(1) %p, i32 %i{i}",
            f"  %b{i} = load i32, ptr addrspace(1) %a{i}, align 4",
            f"  %t{i} = add i32 %s{i}, %b{i}",
            f"  %j{i} = add i32 %i{i}, 1",
            f"  %q{i} = icmp ult i32 %j{i}, %n",
            f"  br i1 %q{i}, label %loop{i}, label %test{i}",
            f"test{i}:",
            f"  %o{i} = and i32 %t{i}, 1",
            f"  %r{i} = icmp eq i32 %o{i}, 0",
            f"  br i1 %r{i}, label %even{i}, label %odd{i}",
            f"even{i}:",
            f"  %x{i} = mul i32 %t{i}, 3",
            f"  br label %join{i}",
            f"odd{i}:",
            f"  %y{i} = xor i32 %t{i}, {i}",
            f"  br label %join{i}",
            f"join{i}:",
            f"  %z{i} = phi i32 [ %x{i}, %even{i} ], [ %y{i}, %odd{i} ]",
            f"  %v{i} = getelementptr i32, ptr addrspace(1) %p, i64 {i}",
            f"  store i32 %z{i}, ptr addrspace(1) %v{i}, align 4",
            f"  %u{i} = sub i32 %z{i}, {i + 1}",
        ]
        last, before = f"%u{i}", f"join{i}"
    return HEADER + "\n".join(lines) + "\n  ret void\n}\n"


MODULES: dict[str, Callable[[int], str]] = {
    "straight line": straight_line,
    "many blocks": many_blocks,
}


def instructions(text: str) -> int:
    """How many LLVM instructions a module of the above has: its indented lines."""
    return sum(line.startswith("  ") for line in text.splitlines())


# ---- nvgen -----------------------------------------------------------------------------------


def clock(
    work: Callable[[], object], repeat: int, now: Callable[[], float] = time.process_time
) -> float:
    """The median of the seconds that `work` takes, by the clock `now`."""
    times = []
    for _ in range(repeat):
        gc.collect()
        start = now()
        work()
        times.append(now() - start)
    return statistics.median(times)


def stages_of(text: str, repeat: int) -> dict[str, float]:
    """Seconds of each stage, on what the stages before it made."""
    from asmprinter.ptx.printer import print_ptx
    from intrinsics.mir import Module
    from intrinsics.targets import parse_target
    from isel.llvm.reader import read_module
    from isel.pipeline import lower
    from isel.places import align_places
    from isel.select.locations import Source
    from isel.verifier.lowest_ptx import lowest_ptx
    from isel.verifier.record import verify_records
    from nvgen.llvm.reading import parse

    target = parse_target(TARGET)
    printed = parse(text)
    read = read_module(printed)
    places = align_places(read, text, printed)
    lowered = lower(read, target, None, Source("", places))
    version = lowest_ptx(lowered, target)

    def reading() -> None:
        align_places(read_module(printed), text, printed)

    def selecting() -> Module:
        return lower(read, target, None, Source("", places))

    def verifying() -> None:
        verify_records(lowered, target, lowest_ptx(lowered, target))

    return {
        "parse": clock(lambda: parse(text), repeat),
        "read": clock(reading, repeat),
        "select": clock(selecting, repeat),
        "verify": clock(verifying, repeat),
        "print": clock(lambda: print_ptx(lowered, version), repeat),
    }


# ---- LLVM, in a child ------------------------------------------------------------------------


class Job(TypedDict):
    """What the child is asked for."""

    text: str
    opt: int
    repeat: int


def serve() -> None:
    """Answer one job on the standard input: the median seconds of what it asks for."""
    from llvmlite import binding

    job: Job = json.load(sys.stdin)
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = binding.Target.from_triple("nvptx64-nvidia-cuda")
    machine = target.create_target_machine(cpu=TARGET, features=LLVM_PTX, opt=job["opt"])

    times = []
    for _ in range(job["repeat"]):
        module = binding.parse_assembly(job["text"], context=binding.create_context())
        ends = math.ceil(time.process_time()) + LIMIT
        resource.setrlimit(resource.RLIMIT_CPU, (ends, resource.RLIM_INFINITY))
        start = time.process_time()
        machine.emit_assembly(module)
        times.append(time.process_time() - start)
    print(json.dumps(statistics.median(times)))


def llvm_seconds(text: str, opt: int, repeat: int) -> float | None:
    """The median seconds of emit_assembly; LIMIT when it took more, None when LLVM gave up."""
    job: Job = {"text": text, "opt": opt, "repeat": repeat}
    child = subprocess.run(
        [sys.executable, __file__, "--serve"],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        check=False,
    )
    if child.returncode == -signal.SIGXCPU:
        return LIMIT
    return float(json.loads(child.stdout)) if child.returncode == 0 else None


# ---- one process -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Time:
    """Seconds: of the processor in all processes, by the wall clock, and in this process alone."""

    all: float
    wall: float
    own: float


def least(work: Callable[[], object], turns: int) -> Time:
    """The least times of some turns."""
    found = []
    for _ in range(turns):
        gc.collect()
        begin = _clocks()
        work()
        found.append([after - before for after, before in zip(_clocks(), begin, strict=True)])
    return Time(*map(min, *found)) if turns > 1 else Time(*found[0])


def _clocks() -> tuple[float, float, float]:
    """The fields of a `Time`, since some moment."""
    from nvgen.llvm.process import LLVM

    own, wall = time.process_time(), time.perf_counter()
    files = [Path(f"/proc/{number}/schedstat") for number in LLVM.processes()]
    if not all(file.exists() for file in files):  # not on Linux
        return wall, wall, own
    return own + sum(int(file.read_text().split()[0]) for file in files) / 1e9, wall, own


@functools.cache
def llvm_machine(target: str, opt: int) -> binding.TargetMachine:
    """LLVM's code generator in this process."""
    from llvmlite import binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    triple = binding.Target.from_triple("nvptx64-nvidia-cuda")
    return triple.create_target_machine(cpu=target, opt=opt)


def small_texts() -> dict[str, str]:
    """The small kernels: the one that most figures above are about, and those of the folder."""
    files = sorted((ROOT / "tests" / "benchmarks" / "small").glob("*.ll"))
    return {"many blocks": many_blocks(SMALL), **{f.stem: f.read_text() for f in files}}


def small_kernels(turns: int, text: str) -> tuple[Time, Time]:
    """What one small kernel takes nvgen, and LLVM at -O0 from text to text."""
    import nvgen

    machine = llvm_machine(TARGET, 0)

    def ours() -> None:
        for _ in range(COMPILES):
            _ = nvgen.compile(text, target=TARGET).ptx

    def theirs() -> None:
        from llvmlite import binding

        for _ in range(COMPILES):
            module = binding.parse_assembly(text, context=binding.create_context())
            module.verify()
            machine.emit_assembly(module)

    ours()
    theirs()
    pairs = [(least(ours, 1), least(theirs, 1)) for _ in range(turns)]
    return _each(one for one, _ in pairs), _each(other for _, other in pairs)


def _each(times: Iterable[Time]) -> Time:
    """The least of some turns, for one compilation."""
    found = list(times)
    least_of_all = (
        min(t.all for t in found),
        min(t.wall for t in found),
        min(t.own for t in found),
    )
    return Time(*(seconds / COMPILES for seconds in least_of_all))


# ---- real modules ----------------------------------------------------------------------------

IN_TREE = {
    "01_gemm_tile": "sm_100a",
    "02_gemm_warp_specialized": "sm_100a",
    "05_gemm_two_ctas": "sm_100a",
    "07_gemm_nvfp4": "sm_100a",
    "10_gemm_sm90": "sm_90a",
}
"""Samples of the builder, and what they are compiled for."""


@dataclass(frozen=True)
class Real:
    """One real module: what it takes nvgen, and what LLVM's code generator, in seconds."""

    name: str
    lines: int
    nvgen: Time
    llvm_o3: float

    @property
    def ratio(self) -> float:
        """nvgen's time by LLVM's."""
        return self.nvgen.all / self.llvm_o3


def real_modules(folders: list[str]) -> Iterator[tuple[str, str, str]]:
    """(name, target, text) of the tree's modules and of those in folders."""
    import nvgen

    sys.path.append(str(ROOT / "samples"))
    for name, target in IN_TREE.items():
        kernel = importlib.import_module(name).build()
        yield name, target, nvgen.compile(kernel, target=target, opt=3).llvm
    yield "04_softmax", "sm_90a", (ROOT / "samples/04_softmax.ll").read_text()
    device = ROOT / "tests/ptx_corpus/sources/device.ll"
    yield "device", "sm_90a", device.read_text()
    for folder in folders:
        for file in sorted(Path(folder).glob("*.ll")):
            named = re.search(r"sm_\d+[af]?$", file.stem)
            yield file.stem, named[0] if named else "sm_90a", file.read_text()


def measure_real(name: str, target: str, text: str, turns: int) -> Real | None:
    """The figures of a real module; None where nvgen refuses it or LLVM does not live on."""
    import nvgen

    try:
        nvgen.compile(text, target=target)
    except nvgen.NvgenError as error:
        print(f"{name}: left out: {str(error).splitlines()[0]}", file=sys.stderr)
        return None
    from nvgen.llvm.reading import parse

    printed = parse(text)  # in LLVM 22's own words
    if not _survives(lambda: _generate(printed, target)):
        print(f"{name}: left out: LLVM cannot generate code for it", file=sys.stderr)
        return None
    ours = least(lambda: nvgen.compile(text, target=target).ptx, turns)
    theirs = min(_generate(printed, target) for _ in range(turns))
    return Real(name, text.count("\n"), ours, theirs)


def _generate(text: str, target: str) -> float:
    """The seconds of the processor that LLVM's code generator takes at -O3."""
    from llvmlite import binding

    module = binding.parse_assembly(text, context=binding.create_context())
    gc.collect()
    start = time.process_time()
    llvm_machine(target, 3).emit_assembly(module)
    return time.process_time() - start


def _survives(work: Callable[[], object]) -> bool:
    """Whether a copy of this process lives on when it has done something."""
    copy = os.fork()
    if not copy:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(copy, 0)[1] == 0


def real_table(found: list[Real]) -> Iterator[str]:
    """The real modules as lines of text."""
    heads = ("lines", "nvgen ms", "wall ms", "own ms", "LLVM -O3", "µs/line", "ratio")
    yield f"{'nvgen.compile whole, real modules':<36}" + "".join(f"{head:>10}" for head in heads)
    for one in found:
        ours, per_line = one.nvgen, one.nvgen.all / one.lines
        times = [f"{t * 1e3:.1f}" for t in (ours.all, ours.wall, ours.own, one.llvm_o3)]
        shown = [f"{one.lines:,}", *times, f"{per_line * 1e6:.0f}", f"{one.ratio:.2f}"]
        yield f"{one.name:<36}" + "".join(f"{text:>10}" for text in shown)
    mean = statistics.geometric_mean(one.ratio for one in found)
    yield f"geometric mean of {len(found)} modules: {mean:.2f} of LLVM's time at -O3"


# ---- cold start ------------------------------------------------------------------------------


def cold_start(repeat: int) -> dict[str, float]:
    """Seconds of a fresh process, by what it does."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "small.ll")
        file.write_text("define ptx_kernel void @k() {\n  ret void\n}\n")
        bytecode = Path(folder, "bytecode")
        check = ["-m", "nvgen", "check", str(file), "--target", TARGET]
        compile_ = ["-m", "nvgen", "compile", str(file), "-o", "-", "--target", TARGET]
        commands = {
            "python -c pass": ["-c", "pass"],
            "python -c 'import llvmlite.binding'": ["-c", "import llvmlite.binding"],
            "python -m nvgen check small.ll": check,
            "python -m nvgen compile small.ll -o -": compile_,
        }
        times = {}
        for name, arguments in commands.items():
            start = functools.partial(_process, arguments, bytecode)
            start()
            times[name] = clock(start, repeat, time.perf_counter)
        return times


def _process(arguments: list[str], bytecode: Path) -> None:
    """Run Python to its end, with a folder of its own for bytecode."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(bytecode)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, check=True
    )


# ---- the report ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One module: microseconds per LLVM instruction."""

    module: str
    instructions: int
    nvgen: dict[str, float]
    llvm_o0: float | None
    llvm_o3: float | None

    @property
    def work(self) -> float:
        """What is compared with LLVM: everything but LLVM's own parsing."""
        return sum(self.nvgen.values()) - self.nvgen["parse"]


def measure(name: str, size: int, repeat: int) -> Case:
    """Every figure of one module."""
    text = MODULES[name](size)
    count = instructions(text)
    scale = 1e6 / count
    repeat = repeat if size < LARGE else min(repeat, 3)
    llvm = [llvm_seconds(text, opt, min(repeat, 3) if size < LARGE else 1) for opt in (0, 3)]
    o0, o3 = (None if seconds is None else seconds * scale for seconds in llvm)
    stages = {stage: s * scale for stage, s in stages_of(text, repeat).items()}
    return Case(name, count, stages, o0, o3)


def table(cases: list[Case]) -> Iterator[str]:
    """The cases as lines of text."""
    heads = (*STAGES, "total", "LLVM -O0", "LLVM -O3", "/ -O0", "/ -O3")
    yield "µs per LLVM instruction; ratios are (read + select + verify + print) / LLVM"
    yield f"{'module':<22}" + "".join(f"{head:>10}" for head in heads)
    for case in cases:
        stages = [case.nvgen[stage] for stage in STAGES]
        shown = [f"{figure:.2f}" for figure in (*stages, sum(stages))]
        theirs = (case.llvm_o0, case.llvm_o3)
        shown += [_taken(case, figure) for figure in theirs]
        shown += [_ratio(case, figure) for figure in theirs]
        name = f"{case.module} {case.instructions:,}"
        yield f"{name:<22}" + "".join(f"{text:>10}" for text in shown)
    for name in dict.fromkeys(case.module for case in cases):
        sizes = [case for case in cases if case.module == name]
        if len(sizes) > 1:
            yield f"growth of {name}: {sizes[-1].work / sizes[0].work:.2f}"


def _stopped(case: Case, llvm: float) -> bool:
    """Whether LLVM was stopped before it was ready."""
    return llvm * case.instructions >= LIMIT * 1e6 * 0.999


def _taken(case: Case, llvm: float | None) -> str:
    if llvm is None:
        return "aborted"
    return f"> {llvm:.0f}" if _stopped(case, llvm) else f"{llvm:.2f}"


def _ratio(case: Case, llvm: float | None) -> str:
    if llvm is None:
        return "-"
    return f"{'< ' if _stopped(case, llvm) else ''}{case.work / llvm:.2f}"


def main() -> None:
    """Measure, print, and write the figures where `--json` says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", nargs="*", help="folders of modules, *.ll")
    parser.add_argument("--json", metavar="OUT", help="write the figures to this file too")
    parser.add_argument("--repeat", type=int, default=5, help="repetitions of each stage (5)")
    parser.add_argument("--size", type=int, nargs="*", default=SIZES, help="LLVM instructions")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    warnings.simplefilter("ignore")  # what nvgen says of the modules
    print(f"{COMPILES} compiles of a small kernel, in one process")
    small = {name: small_kernels(options.repeat, text) for name, text in small_texts().items()}
    for name, (ours, theirs) in small.items():
        shown = [f"{seconds * 1e3:.2f}" for seconds in (ours.all, ours.wall, ours.own, theirs.own)]
        print("{:<18} nvgen {} ms (wall {}, own {}), LLVM -O0 {} ms".format(name, *shown), end=": ")
        print(f"ratio {ours.all / theirs.own:.2f}", flush=True)
    measured = [measure_real(*one, min(options.repeat, 3)) for one in real_modules(options.folder)]
    real = [one for one in measured if one is not None]
    print("\n".join(real_table(real)), flush=True)
    cases = [measure(name, size, options.repeat) for name in MODULES for size in options.size]
    print("\n" + "\n".join(table(cases)), flush=True)
    starts = cold_start(options.repeat)
    print("\ncold start, ms")
    for name, seconds in starts.items():
        print(f"{name:<38}{seconds * 1e3:>8.0f}")
    if options.json:
        figures = {
            "small_kernels": {
                name: {"nvgen": asdict(ours), "llvm_o0": asdict(theirs)}
                for name, (ours, theirs) in small.items()
            },
            "real": [asdict(one) for one in real],
            "cases": [asdict(case) for case in cases],
            "cold_start_s": starts,
        }
        Path(options.json).write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()

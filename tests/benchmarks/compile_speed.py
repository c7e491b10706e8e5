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

What it said in the evening of 29 November 2026 (Python 3.11, LLVM 22, two idle cores of a virtual
machine, by the processor's time), the scalar kernels on the 30th:

    small kernels, scalar code        vector addition 1.43, transposition 1.53, many blocks 1.38,
                                      switch 1.52, reduction 1.94 times LLVM -O0
    judged as a whole too             tcgen05 multiply 7.9, TMA load 6.1
    113 modules of other compilers    geometric mean 1.21 times LLVM -O3, most 3.1: clang (37)
                                      1.02, numba (14) 1.25, Triton (40) 1.45, Warp (12) 1.38,
                                      Zig (10) 0.91
    the tree's six                    3.07: two of scalar code 1.04 and 1.22, four that are judged
                                      as a whole 3.8 to 8.3
    cold start                        check 202 ms, compile 207 ms
    350,006 straight lines            16 µs and 0.73 KiB a line (on the 24th)
    437,506 lines of many blocks      25 µs and 1.4 KiB a line (on the 24th)

The profile is flat: of a compile of many blocks selection has a third, leaving SSA form a fifth,
reading LLVM's text a sixth, printing a tenth.  LLVM's figures are of turns in which it does nothing
else: behind a compile of nvgen's, with its code and tables out of the caches, the same takes it 1.3
to 1.9 times as long.  The 113 modules are those of docs/other-compilers.md, drawn before anybody
saw what nvgen makes of them.

Compiled by mypyc (2.4; 333 modules as C at -O1, 29 November) the small kernels take 0.81 to 0.88 of
the processor's time.  Such a build took ten minutes and 30 MB and mistook `isinstance` of
enumerations with subclasses, so nvgen is not compiled.
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
    from isel.places.align import align_places
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
    kept = ["tcgen05.alloc/never-freed"]  # the kernel that multiplies leaves it at that

    def ours() -> None:
        for _ in range(COMPILES):
            _ = nvgen.compile(text, target=TARGET, allow=kept).ptx

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

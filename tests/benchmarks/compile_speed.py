"""How fast nvgen compiles, stage by stage, next to LLVM's own code generator in the same run.

    python tests/benchmarks/compile_speed.py [--json OUT] [--repeat N] [--size N ...]

Six modules of scalar code are made, of 1,000, 10,000 and 50,000 LLVM instructions: one straight
line, and one of many small blocks with phis, a loop and a diamond after the other.  Every value
ends up in memory, so that no stage has dead code to skip.

Each stage of nvgen runs several times on the same input, a large one three times; the table shows
the median of the processor's time, in microseconds per LLVM instruction.  What a stage learns once
in a process (the forms of instructions) it has learned before the clock starts, as LLVM has its
tables; no stage keeps anything of a module.  The stages:

    parse     the text goes to LLVM's process, whose own time is not counted, and comes back
    read      the reprint becomes nvgen's view of the module, with the user's line numbers
    select    selection and the passes after it
    verify    the records are judged, and the lowest PTX version is found
    print     PTX

LLVM's figures are `TargetMachine.emit_assembly` at -O0 and -O3 on the same module, parsed before
the clock starts, in a process of its own because LLVM may end the process that it runs in.  It
is stopped after LIMIT seconds of the processor's time, and the table then says what it took at
least.  The ratios compare read + select + verify + print with it: a ratio below 1 says that nvgen
is faster.  The growth of a module is the time for an instruction of the largest size by that of
the smallest: 1 is linear.

Small kernels are where what a compilation costs beside its instructions shows: 200 of thirty
lines each, one after the other in one thread, as `nvgen.compile(text, target=…).ptx` and as LLVM's
own parse, verify and `emit_assembly` at -O0, in turns.  nvgen's figure is the processor's time of
the user's process, without that of LLVM's; the ratio is the median one of the turns.

The cold start is the wall time of `python -m nvgen check` and `compile` on a file of a few lines,
next to that of an interpreter that only imports llvmlite's binding; each runs once before, so that
Python has the modules' bytecode.  Nothing is asserted: other programs run here.
"""

from __future__ import annotations

import argparse
import functools
import gc
import json
import math
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypedDict

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
    from asmprinter.ptx_printer import print_ptx
    from intrinsics.mir import Module
    from intrinsics.targets import parse_target
    from isel.llvm.reader import read_module
    from isel.pipeline import lower
    from isel.places import align_places
    from isel.select.module import Source
    from isel.verifier.record import lowest_ptx, verify_records
    from nvgen.llvm import parse

    target = parse_target(TARGET)
    printed = parse(text)
    read = read_module(printed)
    places = align_places(read, text)
    lowered = lower(read, target, None, Source("", places))
    version = lowest_ptx(lowered, target)

    def reading() -> None:
        align_places(read_module(printed), text)

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
    times: int
    """Compilations from text to text that count as one; 0: `emit_assembly` alone, once."""


def serve() -> None:
    """Answer one job on the standard input: the median seconds of what it asks for."""
    from llvmlite import binding

    job: Job = json.load(sys.stdin)
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = binding.Target.from_triple("nvptx64-nvidia-cuda")
    machine = target.create_target_machine(cpu=TARGET, features=LLVM_PTX, opt=job["opt"])

    def compile_text() -> None:
        module = binding.parse_assembly(job["text"], context=binding.create_context())
        module.verify()
        machine.emit_assembly(module)

    if job["times"]:
        compile_text()
        many = clock(lambda: [compile_text() for _ in range(job["times"])], job["repeat"])
        print(json.dumps(many))
        return
    times = []
    for _ in range(job["repeat"]):
        module = binding.parse_assembly(job["text"], context=binding.create_context())
        ends = math.ceil(time.process_time()) + LIMIT
        resource.setrlimit(resource.RLIMIT_CPU, (ends, resource.RLIM_INFINITY))
        start = time.process_time()
        machine.emit_assembly(module)
        times.append(time.process_time() - start)
    print(json.dumps(statistics.median(times)))


def llvm_seconds(text: str, opt: int, repeat: int, times: int = 0) -> float | None:
    """The median seconds of emit_assembly, or of so many compilations from text to text; LIMIT when
    it took more, None when LLVM gave up."""
    job: Job = {"text": text, "opt": opt, "repeat": repeat, "times": times}
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


# ---- small kernels ---------------------------------------------------------------------------


def small_kernels(turns: int) -> tuple[float, float]:
    """Milliseconds of nvgen for one small kernel, and their ratio to LLVM's at -O0."""
    import nvgen

    text = many_blocks(SMALL)

    def compile_all() -> None:
        for _ in range(COMPILES):
            _ = nvgen.compile(text, target=TARGET).ptx

    compile_all()
    ours: list[float] = []
    ratios: list[float] = []
    for _ in range(turns):
        ours.append(clock(compile_all, 1))
        theirs = llvm_seconds(text, 0, 1, COMPILES)
        ratios.append(math.nan if theirs is None else ours[-1] / theirs)
    return statistics.median(ours) / COMPILES * 1e3, statistics.median(ratios)


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
    parser.add_argument("--json", metavar="OUT", help="write the figures to this file too")
    parser.add_argument("--repeat", type=int, default=5, help="repetitions of each stage (5)")
    parser.add_argument("--size", type=int, nargs="+", default=SIZES, help="LLVM instructions")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    cases = [measure(name, size, options.repeat) for name in MODULES for size in options.size]
    small, ratio = small_kernels(options.repeat)
    starts = cold_start(options.repeat)
    print("\n".join(table(cases)))
    print(f"\n{COMPILES} compiles of a kernel of {many_blocks(SMALL).count(chr(10))} lines")
    print(f"{small:.2f} ms each; {ratio:.2f} of LLVM's time at -O0")
    print("\ncold start, ms")
    for name, seconds in starts.items():
        print(f"{name:<38}{seconds * 1e3:>8.0f}")
    if options.json:
        figures = {
            "cases": [asdict(case) for case in cases],
            "small_kernel": {"ms": small, "of_llvm_o0": ratio},
            "cold_start_s": starts,
        }
        Path(options.json).write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()

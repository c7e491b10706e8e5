"""A folder of modules as machine code of both compilers, packed to travel to a GPU.

Each module is compiled twice by each: at nvgen's default level beside LLVM's code generator at -O3
(`default`), and at nvgen's -O3 beside LLVM's whole -O3, as clang runs it (`O3`).  LLVM gets the
text that nvgen reads, with libdevice linked and without debug info; atomic operations are CUDA's
in both.  Both are compiled again without fast-math flags, to tell where a difference comes from.
"""

from __future__ import annotations

import json
import subprocess
import warnings
import zipfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from llvmlite import binding

import nvgen
from nvgen.machine_code.assembler import Assembled, assemble
from tests.benchmarks.beside_llvm import launches
from tests.benchmarks.beside_llvm.launches import COMPILERS, LEVELS
from tests.benchmarks.machine_code import without_debug
from tests.oracle import llvm
from tests.oracle.same_values import without_flags

PTX = "8.7"


@dataclass(frozen=True, slots=True)
class Figures:
    """Of a module's kernels that are launched: SASS instructions, registers, bytes of spills."""

    instructions: int
    registers: int
    spills: int


@dataclass(frozen=True, slots=True)
class Built:
    """A module: cubins by level and compiler ("default nvgen"), figures, or why there are none."""

    name: str
    cubins: dict[str, bytes]
    figures: dict[str, Figures]
    refusal: str = ""


def build(folder: Path, out: Path, target: str, jobs: int) -> Iterator[str]:
    """Pack a folder's modules; a line for each."""
    files = sorted(file for file in folder.glob("*.ll") if file.with_suffix(".json").exists())
    with (
        zipfile.ZipFile(out, "w", zipfile.ZIP_LZMA) as packed,
        ProcessPoolExecutor(jobs) as pool,
    ):
        for made in pool.map(built, files, [target] * len(files)):
            if made.refusal:
                yield f"{made.name}: {made.refusal}"
                continue
            found = launches.read(folder / f"{made.name}.json")
            about = {
                "launches": [asdict(one) for one in found],
                "figures": {key: asdict(one) for key, one in made.figures.items()},
            }
            packed.writestr(f"{made.name}/about.json", json.dumps(about))
            for key, data in made.cubins.items():
                packed.writestr(f"{made.name}/{key}", data)
            yield f"{made.name}: {len(found)} launches"


def built(file: Path, target: str) -> Built:
    """One module, by both compilers at both levels."""
    warnings.simplefilter("ignore", nvgen.FindingWarning)  # what others write is theirs
    kernels = {launch.kernel for launch in launches.read(file.with_suffix(".json"))}
    cubins, figures = {}, {}
    try:
        text = without_debug(
            nvgen.compile(file.read_text(), target=target, opt=0, allow=["*"]).llvm
        )
        for key, made in _compiled(text, target):
            cubins[key] = made.cubin
            if "exact" not in key:
                figures[key] = _figures(made, kernels)
    except nvgen.NvgenError as error:
        return Built(file.stem, {}, {}, f"nvgen: {str(error).splitlines()[0]}")
    except (RuntimeError, ValueError, subprocess.CalledProcessError) as error:
        return Built(file.stem, {}, {}, f"LLVM: {str(error).splitlines()[0]}")
    return Built(file.stem, cubins, figures)


def _compiled(text: str, target: str) -> Iterator[tuple[str, Assembled]]:
    for suffix, module in (("", text), (" exact", without_flags(text))):
        for level in LEVELS:
            for compiler in COMPILERS:
                ptx = _ptx(module, target, level, compiler)
                yield f"{level} {compiler}{suffix}", assemble(ptx, target)


def _ptx(text: str, target: str, level: str, compiler: str) -> str:
    """A module's PTX.

    Raises: nvgen.NvgenError, RuntimeError or ValueError where a compiler refuses it.
    """
    if compiler == "nvgen":
        asked = 3 if level == "O3" else None
        options = {} if asked is None else {"opt": asked}
        return nvgen.compile(text, target=target, cuda_atomics=True, allow=["*"], **options).ptx
    if level == "O3":
        text = optimized(text, target)
    (outcome,) = llvm.compile_all([text], target, PTX, opt=3)
    if outcome.refusal:
        raise llvm.LlvmFailedError(outcome.refusal)
    return outcome.ptx


def optimized(text: str, target: str) -> str:
    """A module after LLVM's pipeline of -O3, which vectorises as clang's does.

    Raises: RuntimeError.
    """
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    machine = binding.Target.from_triple(llvm.TRIPLE).create_target_machine(
        cpu=target, features=f"+ptx{PTX.replace('.', '')}", opt=3
    )
    tuning = binding.create_pipeline_tuning_options(3)
    tuning.loop_vectorization = tuning.slp_vectorization = True
    with (
        closing(binding.create_context()) as context,
        closing(binding.parse_assembly(text, context=context)) as module,
        closing(binding.create_pass_builder(machine, tuning)) as builder,
        closing(builder.getModulePassManager()) as passes,
    ):
        module.triple, module.data_layout = llvm.TRIPLE, str(machine.target_data)
        passes.run(module, builder)
        module.verify()
        return str(module)


def _figures(made: Assembled, kernels: set[str]) -> Figures:
    used = [made.resources[name] for name in kernels]
    return Figures(
        sum(made.instructions[name] for name in kernels),
        max(one.registers for one in used),
        sum(one.spill_stores + one.spill_loads for one in used),
    )

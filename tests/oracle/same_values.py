"""Do nvgen's code and LLVM's leave the same bytes?  Kernels of any module, arguments made up.

    python tests/oracle/same_values.py FILE.ll … [--target sm_90a] [--seeds 2]

A kernel's pointers are arrays of what it loads and stores through them, integers are small, and
both codes get the same ones: LLVM's, of its code generator at -O3, and nvgen's, of its default
level, each with the module's own fast-math flags and atomic operations as CUDA has them.  What
they leave in the arrays is compared byte by byte.  A line for each kernel and seed says

    equal          and how many bytes were written
    contraction    differs, and is equal without fast-math flags: another choice of what becomes
                   one fma
    differs        what differs: the status is then 1
    race           differs, and the simulator finds a data race in LLVM's code: these arguments
                   make threads write the same bytes, and their order is no compiler's
    both end       the run ends in the same finding: an access out of bounds, say
    not run        no arguments can be made up: a pointer in a struct that is passed by value

A module has a process of its own, with a time limit.  tests/benchmarks/beside_llvm compares and
times launches that somebody has written down, on a GPU.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from llvmlite import binding
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:  # run as a script: the folder of this file comes first
    sys.path.insert(0, str(ROOT))

import nvgen  # noqa: E402
from intrinsics.mir import MachineFunction  # noqa: E402
from tests.oracle import llvm  # noqa: E402

Argument: TypeAlias = "NDArray[np.generic] | int | float"

PTX = "8.6"
BYTES = 1 << 17
SIZES = (1, 2, 3, 4, 8, 16, 32)
"""What integers are: few of these, multiplied, leave an array."""
THREADS = (32, 256)
STEPS, SECONDS, MODULE_SECONDS = 200_000, 20.0, 300.0

ELEMENTS = {
    "float": np.float32, "double": np.float64, "half": np.float16, "bfloat": np.uint16,
    "i8": np.uint8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
}  # fmt: skip
_SAME_OBJECT = frozenset({"getelementptr", "addrspacecast", "bitcast", "phi", "select", "freeze"})
_FLAGS = re.compile(
    r"(?<= )(f\w+|call|select|phi)(?: (?:fast|contract|reassoc|nnan|ninf|nsz|arcp|afn)\b)+"
)


@dataclass(frozen=True, slots=True)
class Pair:
    """A module as PTX of both compilers."""

    ours: nvgen.Compiled
    theirs: nvgen.Compiled


def compiled(text: str, target: str) -> Pair:
    """A module by nvgen and by LLVM.

    Raises: nvgen.NvgenError where nvgen refuses it, llvm.LlvmFailedError where LLVM does.
    """
    ours = nvgen.compile(text, target=target, ptx=PTX, cuda_atomics=True, allow=["*"])
    (outcome,) = llvm.compile_all([text], target, PTX, opt=3)
    if outcome.refusal:
        raise llvm.LlvmFailedError(outcome.refusal)
    return Pair(ours, nvgen.compile(outcome.ptx, level="record", allow=["*"]))


def without_flags(text: str) -> str:
    """A module whose floating-point operations are exactly those that it names."""
    return "\n".join(
        _FLAGS.sub(r"\1", line) if line.startswith(" ") else line for line in text.split("\n")
    )


def elements(function: binding.ValueRef) -> list[str]:
    """Of each parameter, the type that is loaded or stored through it most often, or its own."""
    found = []
    for argument in function.arguments:
        own = str(argument.type)
        found.append(_accessed(function, argument.name) if own.startswith("ptr") else own)
    return found


def _accessed(function: binding.ValueRef, name: str) -> str:
    """What is accessed through a pointer and what is computed from it; "float" where nothing is."""
    derived, seen = {name}, list[str]()
    for block in function.blocks:
        for one in block.instructions:
            operands = [*one.operands]
            names = [operand.name for operand in operands]
            if one.opcode in _SAME_OBJECT and derived & {*names} - {""}:
                derived.add(one.name)
            elif one.opcode == "load" and names[0] in derived:
                seen.append(str(one.type))
            elif one.opcode == "store" and names[1] in derived:
                seen.append(str(operands[0].type))
            elif one.opcode == "atomicrmw" and names[0] in derived:
                seen.append(str(one.type))
    scalars = [re.sub(r"^.*?(\w+)[>\]}]*$", r"\1", type_) for type_ in seen]
    known = [scalar for scalar in scalars if scalar in ELEMENTS]
    return max(known, key=known.count) if known else "float"


def arguments(function: MachineFunction, types: Sequence[str], seed: int) -> list[Argument] | None:
    """Arguments for a kernel, equal for equal seeds; None: one cannot be made up."""
    random = np.random.default_rng(seed)
    made: list[Argument] = []
    for param, type_ in zip(function.params, types, strict=True):
        if param.is_pointer and param.type.bits == 64:
            made.append(_array(type_, random))
        elif type_ in ("float", "double"):
            made.append(float(np.float32(random.uniform(0.1, 1.5))))
        elif re.fullmatch(r"i\d+", type_) and param.size <= 8:
            made.append(int(random.choice(SIZES[:1] if type_ in ("i1", "i8") else SIZES)))
        elif type_ in ("half", "bfloat"):
            made.append(np.array([1], np.float16))
        else:
            return None
    return made


def _array(type_: str, random: np.random.Generator) -> NDArray[np.generic]:
    element = np.dtype(ELEMENTS[type_])
    count = BYTES // element.itemsize
    if element.kind == "f":
        return random.random(count).astype(element)
    high = {"i8": 256, "bfloat": 0x3F80}.get(type_, 16)
    return random.integers(0, high, count).astype(element)


def outcome(
    module: nvgen.Compiled,
    kernel: str,
    given: Sequence[Argument],
    block: tuple[int, int, int],
    races: bool = False,
) -> tuple[str, list[bytes]]:
    """How the run of a kernel ends ("" as it should), and the bytes of the arrays after it."""
    own = [one.copy() if isinstance(one, np.ndarray) else one for one in given]
    said = ""
    try:
        module.run(
            *own, kernel=kernel, grid=2, block=block, smem=_shared(module),
            device="sim", timeout=SECONDS, max_steps=STEPS, races=races,
        )  # fmt: skip
    except nvgen.NvgenError as error:
        said = error.findings[0].rule
    return said, [one.tobytes() for one in own if isinstance(one, np.ndarray)]


def _block(module: nvgen.Compiled, kernel: str, threads: int) -> tuple[int, int, int]:
    """The block that a kernel requires, else so many threads, flat where it reads one index."""
    text = module.ptx[module.ptx.index(f".entry {kernel}(") :]
    head, _, body = text.partition("{")
    if match := re.search(r"\.reqntid (\d+)(?:, (\d+))?(?:, (\d+))?", head):
        x, y, z = (int(number or 1) for number in match.groups())
        return x, y, z
    body = body.partition("\n}")[0]
    if match := re.search(r"\.maxntid (\d+)", head):
        threads = min(threads, int(match[1]))
    if "%tid.z" in body:
        return 4, 4, max(1, threads // 16)
    return (8, max(1, threads // 8), 1) if "%tid.y" in body else (threads, 1, 1)


def _shared(module: nvgen.Compiled) -> int:
    return 16384 if re.search(r"\.extern \.shared", module.ptx) else 0


def compare(text: str, target: str, seeds: int) -> Iterator[tuple[str, str]]:
    """Each kernel with each seed, and what became of it."""
    text = nvgen.compile(text, target=target, opt=0, level="record", allow=["*"]).llvm
    plain, exact = compiled(text, target), None
    functions = {f.name: f for f in binding.parse_assembly(text).functions}
    for function in plain.ours.module.functions:
        if not function.is_kernel:
            continue
        types = elements(functions[function.name])
        for seed in range(seeds):
            given = arguments(function, types, seed)
            if given is None:
                yield function.name, "not run"
                break
            said = judged(plain, function.name, given)
            if said.startswith("differs"):
                exact = exact or compiled(without_flags(text), target)
                again = judged(exact, function.name, given)
                said = f"contraction, {said}" if again.startswith("equal") else again
            yield function.name, said


def judged(pair: Pair, kernel: str, given: Sequence[Argument]) -> str:
    """What became of one kernel with these arguments: of a warp, else of 256 threads."""
    said = ""
    for threads in THREADS:
        said = _judged(pair, kernel, given, threads)
        if "both end" not in said:
            break
    return said


def _judged(pair: Pair, kernel: str, given: Sequence[Argument], threads: int) -> str:
    block = _block(pair.theirs, kernel, threads)
    theirs, left = outcome(pair.theirs, kernel, given, block)
    ours, own = outcome(pair.ours, kernel, given, block)
    if ours != theirs:
        what = "differs, both end" if ours and theirs else "differs"
        return f"{what}: nvgen's {ours or 'ends well'}, LLVM's {theirs or 'ends well'}"
    if theirs:
        return f"both end: {theirs}"
    arrays = [one for one in given if isinstance(one, np.ndarray)]
    for number, (mine, other, before) in enumerate(zip(own, left, arrays, strict=True)):
        if mine != other:
            said, _ = outcome(pair.theirs, kernel, given, block, races=True)
            what = "race, differs" if "race" in said else "differs"
            return f"{what}: array {number}, {_difference(mine, other, before.dtype)}"
    written = sum(
        int(np.count_nonzero(np.frombuffer(b, np.uint8) != a.view(np.uint8)))
        for b, a in zip(left, arrays, strict=True)
    )
    return f"equal, {written} bytes written"


def _difference(ours: bytes, theirs: bytes, type_: np.dtype[np.generic]) -> str:
    """How many elements differ in their bytes, and the first one."""
    bits = np.dtype(f"u{type_.itemsize}")
    places = np.flatnonzero(np.frombuffer(ours, bits) != np.frombuffer(theirs, bits))
    first, second = (np.frombuffer(data, type_)[places[0]] for data in (ours, theirs))
    return f"{places.size} elements, [{places[0]}] is {first}, LLVM's {second}"


def _module(path: str, target: str, seeds: int, results: list[str]) -> None:
    """One module, in a process of its own."""
    warnings.simplefilter("ignore", nvgen.FindingWarning)
    try:
        for kernel, said in compare(Path(path).read_text(), target, seeds):
            results.append(f"{kernel}: {said}")
    except (nvgen.NvgenError, llvm.LlvmFailedError, llvm.LlvmRejectedError) as error:
        results.append(f"not compiled: {str(error).splitlines()[0]}")


def main() -> int:
    """Print a line for each kernel; 1 where one differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--seeds", type=int, default=2)
    asked = parser.parse_args()
    differs = False
    with multiprocessing.Manager() as manager:
        for path in asked.files:
            results = manager.list()
            process = multiprocessing.get_context("spawn").Process(
                target=_module, args=(path, asked.target, asked.seeds, results)
            )
            process.start()
            process.join(MODULE_SECONDS)
            if process.is_alive():
                process.kill()
                results.append("not finished in time")
            for line in results:
                print(f"{Path(path).stem} {line}", flush=True)
                differs |= ": differs" in line
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())

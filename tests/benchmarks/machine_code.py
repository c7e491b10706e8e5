"""What ptxas makes of nvgen's PTX, next to what it makes of LLVM's for the same LLVM IR.

    python tests/benchmarks/machine_code.py [--target sm_100a] [--json OUT] [FOLDER …]

The kernels in the folder `kernels` are small scalar programs as an optimising front end hands them
over: LLVM IR after its optimiser.  Each is compiled by nvgen, and by LLVM's own code generator at
-O3, for the same target; ptxas assembles both at its default level.  Loops are told not to be
unrolled, in both, because an unrolled loop counts several times.  The table has for each

    SASS       instructions of the machine in the cubin, as nvdisasm lists them, without the NOPs
               that fill it up
    registers  that a thread uses, as `ptxas -v` says
    spills     bytes that are stored to and loaded from local memory for want of registers

and the geometric mean of the ratios of SASS instructions, nvgen's by LLVM's.  Instructions are
counted, not run.  What nvgen does not select yet is listed with the reason.

With folders, their modules (``*.ll``) are compiled instead, as they are, at nvgen's default level,
for the target that a file's name ends with (``…_sm_90a.ll``); loops are unrolled as ptxas likes.
LLVM gets the text that nvgen reads: libdevice linked, newer literals spelled as LLVM 22 reads them.
Atomic read-modify-writes are relaxed in both, as LLVM drops their order (`--cuda-atomics`).
Figures are sums over the kernels of a module, but for registers, the most of any; there is a mean
for each producer, the first word of the names, and the ten worst modules are listed.  Those above
1.10 say why: ptxas unrolls more of their loops, which is no fault (without unrolling nvgen's code
is no longer), or the code is longer.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import geometric_mean

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:  # run as a script: the folder of this file comes first
    sys.path.insert(0, str(ROOT))

KERNELS = Path(__file__).with_name("kernels")
TARGET = "sm_100a"
LLVM_PTX = "8.7"
LONGER = 1.10
"""The ratio of instructions from which on a module wants a reason."""

_LABEL = re.compile(r"^(\$[\w$]+:).*$", re.MULTILINE)
_DEBUG = re.compile(
    r"^!llvm\.dbg\.cu = .*$|^ +#dbg_.*$|,? !dbg !\d+|^!\d+ = .*!DI.*$", re.MULTILINE
)
_PLACE = re.compile(r"^!(\d+) = .*!DILocation\(", re.MULTILINE)
_LOOP = re.compile(r"^(!\d+) = distinct !\{\1(?:, !\d+)*\}$", re.MULTILINE)
_NODE = re.compile(r"^!(\d+) = .*", re.MULTILINE)

_REGISTERS = re.compile(r"Used (\d+) registers")
_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")


@dataclass(frozen=True)
class Code:
    """What ptxas made of the kernels of a module; spills are bytes, stores and loads together."""

    instructions: int
    registers: int
    spills: int


@dataclass(frozen=True)
class Pair:
    """One kernel of both; without nvgen's code, why there is none."""

    kernel: str
    ours: Code | None
    llvm: Code
    reason: str = ""
    rolled: float | None = None
    """The ratio of the same two PTX texts where ptxas may unroll no loop."""

    @property
    def ratio(self) -> float | None:
        """nvgen's SASS instructions by LLVM's."""
        return None if self.ours is None else self.ours.instructions / self.llvm.instructions


def pairs(target: str = TARGET) -> list[Pair]:
    """Every kernel of the folder, compiled by both."""
    from tests.oracle import llvm

    files = sorted(KERNELS.glob("*.ll"))
    texts = [llvm.HEADER + file.read_text() for file in files]
    outcomes = llvm.compile_all(texts, target, LLVM_PTX, opt=3)
    found = []
    for file, text, outcome in zip(files, texts, outcomes, strict=True):
        if outcome.refusal:
            raise SystemExit(f"LLVM does not compile {file.name}: {outcome.refusal}")
        ours, reason = _ours(text, target)
        found.append(Pair(file.stem, ours, assemble(outcome.ptx, target), reason))
    return found


def pairs_of(folders: Sequence[str], target: str) -> list[Pair]:
    """Every module of the folders, compiled by both."""
    import nvgen
    from tests.oracle import llvm

    warnings.simplefilter("ignore", nvgen.FindingWarning)  # what others write is theirs
    found = []
    for file in sorted(file for folder in folders for file in Path(folder).glob("*.ll")):
        named = re.search(r"(sm_\d+[af]?)$", file.stem)
        wanted = named[1] if named else target
        try:
            text = without_debug(
                nvgen.compile(file.read_text(), target=wanted, opt=0, allow=["*"]).llvm
            )
        except nvgen.NvgenError as error:
            print(f"skipped {file.stem}: {error.findings[0].message}", file=sys.stderr)
            continue
        try:
            (outcome,) = llvm.compile_all([text], wanted, LLVM_PTX, opt=3)
        except llvm.LlvmRejectedError as error:
            print(f"skipped {file.stem}: {error}", file=sys.stderr)
            continue
        if outcome.refusal:
            print(f"skipped {file.stem}: LLVM: {outcome.refusal[:80]}", file=sys.stderr)
            continue
        try:
            found.append(_whole(file.stem, _relaxed(text, wanted), outcome.ptx, wanted))
        except subprocess.CalledProcessError as refused:
            print(f"skipped {file.stem}: ptxas: {refused.stderr[:80]}", file=sys.stderr)
    return found


def _relaxed(text: str, target: str) -> str:
    """nvgen's PTX with atomic operations as LLVM's."""
    import nvgen

    return nvgen.compile(text, target=target, cuda_atomics=True, allow=["*"]).ptx


def _whole(name: str, ours: str, llvms: str, target: str) -> Pair:
    """A module's figures; where nvgen's code is the longer, whether only unrolled loops are.

    Raises: subprocess.CalledProcessError when ptxas refuses one of them.
    """
    pair = Pair(name, assemble(ours, target, unrolls=True), assemble(llvms, target, unrolls=True))
    if pair.ratio is None or pair.ratio <= LONGER:
        return pair
    rolled = assemble(ours, target).instructions / assemble(llvms, target).instructions
    unrolled = f"ptxas unrolls more of nvgen's loops: {rolled:.2f} where it unrolls none"
    return replace(
        pair,
        rolled=rolled,
        reason=unrolled
        if rolled <= LONGER
        else f"longer code: {rolled:.2f} where ptxas unrolls no loop",
    )


def without_debug(text: str) -> str:
    """A module without debug info, for which LLVM has ptxas leave the code unoptimised.

    What a loop's node says of unrolling stays, where it stands in the source goes.
    """
    places = {f", !{id}" for id in _PLACE.findall(text)}
    text = _LOOP.sub(
        lambda loop: re.sub(r", !\d+", lambda m: "" if m[0] in places else m[0], loop[0]), text
    )
    text = _DEBUG.sub("", text)
    while lost := _lost(text):
        text = "\n".join(line for line in text.split("\n") if line not in lost)
    return text


def _lost(text: str) -> set[str]:
    """The nodes of metadata, as lines, that name one that is gone."""
    nodes = {match[0]: match[1] for match in _NODE.finditer(text)}
    known = set(nodes.values())
    return {line for line in nodes if not {*re.findall(r"!(\d+)", line)} <= known}


def by_producer(found: Sequence[Pair]) -> Iterator[str]:
    """The geometric means of each producer, and the worst modules, as lines of text."""
    producers = sorted({pair.kernel.split("_")[0] for pair in found})
    for producer in producers:
        own = [pair for pair in found if pair.kernel.split("_")[0] == producer]
        registers = geometric_mean([p.ours.registers / p.llvm.registers for p in own if p.ours])
        spills = [(p.ours.spills, p.llvm.spills) for p in own if p.ours]
        yield (
            f"{producer}: {len(own)} modules, SASS {mean(own):.3f}, registers {registers:.3f}, "
            f"spills {sum(s for s, _ in spills)} / {sum(s for _, s in spills)} bytes"
        )
    worst = sorted(found, key=lambda pair: -(pair.ratio or 0))[:10]
    yield "the worst:"
    for pair in worst:
        yield f"  {pair.kernel} {pair.ratio:.2f} {pair.reason}".rstrip()


def _ours(text: str, target: str) -> tuple[Code | None, str]:
    """The code of nvgen's PTX, or why there is none."""
    import nvgen

    try:
        compiled = nvgen.compile(text, target=target, allow=["*"])
    except nvgen.SelectionError as error:
        return None, error.findings[0].message
    return assemble(compiled.ptx, target), ""


def assemble(ptx: str, target: str, *, unrolls: bool = False) -> Code:
    """The figures of a module; its loops are not to be unrolled unless it `unrolls`.

    Raises: subprocess.CalledProcessError when ptxas refuses it.
    """
    from tests.oracle import sass
    from tests.oracle.ptxas import find_ptxas

    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        source, cubin = Path(folder, "m.ptx"), Path(folder, "m.cubin")
        source.write_text(ptx if unrolls else _LABEL.sub(r'\1\n.pragma "nounroll";', ptx))
        command = [find_ptxas(), "-v", f"-arch={target}", "-o", str(cubin), str(source)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        mnemonics = sass.listing(cubin.read_bytes()).mnemonics
    return Code(
        sum(mnemonic != "NOP" for mnemonic in mnemonics),
        max(map(int, _REGISTERS.findall(said))),
        sum(int(stores) + int(loads) for stores, loads in _SPILLS.findall(said)),
    )


def mean(found: Sequence[Pair]) -> float:
    """The geometric mean of the ratios of the kernels that both compile."""
    return geometric_mean([pair.ratio for pair in found if pair.ratio is not None])


def table(found: Sequence[Pair]) -> Iterator[str]:
    """The kernels as lines of text."""
    yield f"{'kernel':<18}{'SASS':>6}{'LLVM':>6}{'ratio':>7}{'registers':>11}{'LLVM':>6}" + (
        f"{'spills':>8}{'LLVM':>6}"
    )
    for pair in found:
        ours, theirs = pair.ours, pair.llvm
        if ours is None or pair.ratio is None:
            continue
        yield (
            f"{pair.kernel:<18}{ours.instructions:>6}{theirs.instructions:>6}{pair.ratio:>7.2f}"
            f"{ours.registers:>11}{theirs.registers:>6}{ours.spills:>8}{theirs.spills:>6}"
        )
    done = [pair for pair in found if pair.ours is not None]
    yield f"geometric mean of {len(done)} ratios of SASS instructions: {mean(found):.3f}"
    for pair in found:
        if pair.ours is None:
            yield f"skipped {pair.kernel}: {pair.reason}"


def main() -> None:
    """Compile, print, and write the figures where `--json` says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--target", default=TARGET, help=f"the target of both ({TARGET})")
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="modules of other compilers")
    parser.add_argument("--json", metavar="OUT", help="write the figures to this file too")
    options = parser.parse_args()
    folders: list[str] = options.folders
    found = pairs_of(folders, options.target) if folders else pairs(options.target)
    print(f"machine code for {options.target}, by ptxas, of nvgen's PTX and of LLVM's at -O3")
    print("\n".join(table(found)))
    if folders:
        print("\n".join(by_producer(found)))
    if options.json:
        Path(options.json).write_text(json.dumps([asdict(pair) for pair in found], indent=2) + "\n")


if __name__ == "__main__":
    main()

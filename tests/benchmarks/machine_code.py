"""What ptxas makes of nvgen's PTX, next to what it makes of LLVM's for the same LLVM IR.

    python tests/benchmarks/machine_code.py [--target sm_100a] [--json OUT]

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
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import geometric_mean

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:  # run as a script: the folder of this file comes first
    sys.path.insert(0, str(ROOT))

KERNELS = Path(__file__).with_name("kernels")
TARGET = "sm_100a"
LLVM_PTX = "8.6"

_LABEL = re.compile(r"^(\$[\w$]+:).*$", re.MULTILINE)
_REGISTERS = re.compile(r"Used (\d+) registers")
_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")


@dataclass(frozen=True)
class Code:
    """What ptxas made of one kernel; spills are bytes, stores and loads together."""

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


def _ours(text: str, target: str) -> tuple[Code | None, str]:
    """The code of nvgen's PTX, or why there is none."""
    import nvgen

    try:
        compiled = nvgen.compile(text, target=target)
    except nvgen.SelectionError as error:
        return None, error.findings[0].message
    return assemble(compiled.ptx, target), ""


def assemble(ptx: str, target: str) -> Code:
    """The figures of a module with one kernel.

    Raises: subprocess.CalledProcessError when ptxas refuses it.
    """
    from tests.oracle import sass
    from tests.oracle.ptxas import find_ptxas

    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        source, cubin = Path(folder, "m.ptx"), Path(folder, "m.cubin")
        source.write_text(_LABEL.sub(r'\1\n.pragma "nounroll";', ptx))
        command = [find_ptxas(), "-v", f"-arch={target}", "-o", str(cubin), str(source)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        mnemonics = sass.listing(cubin.read_bytes()).mnemonics
    registers, spills = _REGISTERS.search(said), _SPILLS.search(said)
    assert registers is not None, said
    return Code(
        sum(mnemonic != "NOP" for mnemonic in mnemonics),
        int(registers[1]),
        int(spills[1]) + int(spills[2]) if spills is not None else 0,
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
    parser.add_argument("--json", metavar="OUT", help="write the figures to this file too")
    options = parser.parse_args()
    found = pairs(options.target)
    print(f"machine code for {options.target}, by ptxas, of nvgen's PTX and of LLVM's at -O3")
    print("\n".join(table(found)))
    if options.json:
        Path(options.json).write_text(json.dumps([asdict(pair) for pair in found], indent=2) + "\n")


if __name__ == "__main__":
    main()

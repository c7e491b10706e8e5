"""How fast `nvgen check` judges PTX, next to ptxas on the same file in the same run.

    python tests/benchmarks/ptx_check.py [--json OUT] [--repeat N] [--lines N ...]
    python tests/benchmarks/ptx_check.py --corpus FOLDER [--every N] [--json OUT] [--repeat N]

With --corpus it judges every Nth module with a known block of a folder that `real_ptx` made, each
for its own target, and says how many times what ptxas takes that is: in the median, in the sum of
all, and where it is most.  Bytecode is written first, as pip does.

Else two files are made of each size.  The first holds kernels of the corpus (`tests/ptx_corpus`) as
nvcc and Triton compiled them for sm_90a and older targets, again and again under new names; the
second the same, with a register that is not declared in every hundredth line, so that findings are
told.

Every program is measured as a whole, from its start to its end, by the processor's time that it
and its children took; the table shows the least of the repetitions, since whatever else runs here
only adds.  ptxas reads, checks and generates code (`-arch=sm_90a`); with `-arch=compute_90a` it
only checks, and at a mistake it does no more.  Nothing is asserted: other programs run here.
"""

from __future__ import annotations

import argparse
import compileall
import csv
import itertools
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:  # run as a script: the folder of this file comes first
    sys.path.insert(0, str(ROOT))

from tests.oracle.ptxas import PtxasMissingError, find_ptxas  # noqa: E402
from tests.ptx_corpus import text_of  # noqa: E402

SOURCES = (
    "nvcc_arithmetic_sm100f",
    "nvcc_softmax_sm90a",
    "triton_matmul_sm80",
    "nvcc_hopper_sm90a",
    "nvcc_reduce_sm90",
)
HEADER = ".version 9.5\n.target sm_90a\n.address_size 64\n"
SIZES = (1_000, 10_000)
_BOUND = 3.0
"""How many times what ptxas takes is meant to be the most."""


@dataclass(frozen=True)
class Row:
    """One file: seconds of the processor's time, whole processes."""

    file: str
    lines: int
    nvgen: float
    nvgen_records: float
    ptxas: float | None
    ptxas_checks: float | None

    @property
    def lines_per_second(self) -> float:
        return self.lines / self.nvgen

    @property
    def ratio(self) -> float | None:
        return None if self.ptxas is None else self.nvgen / self.ptxas


def functions(name: str) -> str:
    """The declarations and functions of a file of the corpus, without debug information."""
    text = re.sub(r"^\s*(\.(loc|file)\b|//)[^\n]*\n", "", text_of(name), flags=re.MULTILINE)
    text = re.sub(r"^\s*\.section\s+\S+\s*\{[^}]*\}", "", text, flags=re.MULTILINE)
    return text.split(".address_size 64", 1)[1]


def module(lines: int) -> str:
    """A module of at least so many lines, all of whose names differ."""
    parts, count = [HEADER], 0
    bodies = {name: functions(name) for name in SOURCES}
    for number, name in enumerate(itertools.cycle(SOURCES)):
        if count >= lines:
            return "".join(parts)
        body = bodies[name]
        names = re.findall(
            r"^\s*(?:\.\w+ )*\.(?:entry|global|const|shared|func)\b[^;{(=\[]*?([\w$]+)\s*[(\[;=]",
            body,
            re.M,
        )
        for one in sorted(set(names), key=len, reverse=True):
            body = re.sub(rf"(?<![\w$]){re.escape(one)}(?=[^\w$]|_param)", f"{one}_{number}", body)
        parts.append(body)
        count += body.count("\n")
    raise AssertionError


def with_mistakes(text: str) -> str:
    """The text with a register that is not declared in every hundredth line that has one."""
    lines = text.split("\n")
    for at in range(0, len(lines), 100):
        if not re.search(r"\.(reg|entry|param)\b|[{}]", lines[at]):
            lines[at] = re.sub(r"%r\d+\b", "%undeclared", lines[at], count=1)
    return "\n".join(lines)


def seconds(command: Sequence[str], repeat: int) -> float:
    """The least time of the processor that a whole process took; its output is left out."""
    found = []
    for _ in range(repeat):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def measure(
    name: str, path: Path, repeat: int, target: str = "sm_90a", block: str = ""
) -> Row:  # fmt: skip
    check = [
        sys.executable,
        "-m",
        "nvgen",
        "check",
        str(path),
        *(["--block", block] if block else []),
    ]
    of_ptxas: list[float | None] = [None, None]
    try:
        for i, arch in enumerate((target, target.replace("sm_", "compute_"))):
            command = [find_ptxas(), f"-arch={arch}", "-o", os.devnull, str(path)]
            of_ptxas[i] = seconds(command, repeat)
    except PtxasMissingError as error:
        print(error, file=sys.stderr)
    return Row(
        name,
        path.read_text().count("\n"),
        seconds(check, repeat),
        seconds([*check, "--level", "record"], repeat),
        *of_ptxas,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--lines", type=int, nargs="+", default=SIZES)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--every", type=int, default=1)
    given = parser.parse_args()
    if given.corpus is not None:
        rows = of_corpus(given.corpus, given.every, given.repeat)
    else:
        rows = synthetic(given.lines, given.repeat)
    show(rows)
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=2))


def synthetic(sizes: Sequence[int], repeat: int) -> list[Row]:
    """Files of these sizes, right and with mistakes."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="nvgen-") as folder:
        for size in sizes:
            text = module(size)
            for name, made in ((f"right_{size}", text), (f"wrong_{size}", with_mistakes(text))):
                path = Path(folder) / f"{name}.ptx"
                path.write_text(made)
                rows.append(measure(name, path, repeat))
    return rows


def of_corpus(folder: Path, every: int, repeat: int) -> list[Row]:
    """Modules of other compilers, for their targets and with their blocks."""
    for package in ("nvgen", "isel", "intrinsics", "asmprinter"):
        compileall.compile_dir(ROOT / package, quiet=2)
    with (folder / "index.tsv").open() as lines:
        known = [row for row in csv.DictReader(lines, delimiter="\t") if row["block"]]
    rows = []
    for row in known[::every]:
        name = Path(row["path"]).stem
        rows.append(measure(name, folder / row["path"], repeat, row["target"], row["block"]))
    return rows


def show(rows: Sequence[Row]) -> None:
    """The table, in seconds."""
    width = max(14, *(len(row.file) + 1 for row in rows))
    print(
        f"{'file':{width}}{'lines':>8}{'check':>9}{'record':>9}{'lines/s':>10}"
        f"{'ptxas':>9}{'check/ptxas':>13}{'ptxas, checks only':>20}"
    )
    for row in rows:
        ptxas = "-" if row.ptxas is None else f"{row.ptxas:.2f}"
        ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
        checks = "-" if row.ptxas_checks is None else f"{row.ptxas_checks:.2f}"
        print(
            f"{row.file:{width}}{row.lines:8}{row.nvgen:9.2f}{row.nvgen_records:9.2f}"
            f"{row.lines_per_second:10.0f}{ptxas:>9}{ratio:>13}{checks:>20}"
        )
    timed = [(row.ratio, row) for row in rows if row.ratio is not None]
    if timed:
        ratios = [ratio for ratio, _ in timed]
        most, slowest = max(timed, key=lambda one: one[0])
        whole = sum(row.nvgen for _, row in timed) / sum(row.ptxas or 0.0 for _, row in timed)
        print(
            f"check/ptxas: median {statistics.median(ratios):.2f}, of the sums {whole:.2f}, "
            f"{sum(ratio > _BOUND for ratio in ratios)} of {len(ratios)} above {_BOUND:g}, "
            f"most {most:.2f} ({slowest.file})"
        )


if __name__ == "__main__":
    main()

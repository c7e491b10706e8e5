"""One kernel through every stage: LLVM IR, machine records, PTX, ptxas, the CPU simulator, numpy.

`make demo` runs this.  Colours come out on a terminal; `NO_COLOR=1` or a pipe keeps them away.
Exits with 1 if any step fails.
"""

from __future__ import annotations

import importlib.util
import re
import time
from pathlib import Path
from types import ModuleType

import numpy as np
from rich.console import Console
from rich.text import Text

from nvgen import Compiled, NvgenError, assemble, find_ptxas, print_findings

SCHEDULES = ("early", "late", "random:1", "random:2")

_WORDS = re.compile(
    r"(?P<comment>[;/]{1,2} .*$)"
    r"|(?P<tensor>@?llvm\.nvvm\.[\w.]+|TCGEN05_\w+|tcgen05\.[\w.:]+)"
    r"|(?P<name>[%@$][\w.$]+|^bb\.\w+:?)"
    r"|(?P<other>[^;/%@$Tt]+|.)"
)
_STYLES = {"comment": "dim", "tensor": "bold green", "name": "cyan", "other": ""}


def gemm_tile() -> ModuleType:
    """The sample, whose file name is no module name."""
    path = Path(__file__).with_name("01_gemm_tile.py")
    spec = importlib.util.spec_from_file_location("gemm_tile", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def coloured(text: str) -> Text:
    """A line of code with its comments, tensor-core operations and names told apart."""
    return Text.assemble(*((m[0], _STYLES[m.lastgroup or "other"]) for m in _WORDS.finditer(text)))


def body(text: str, begin: str) -> list[str]:
    """The kernel's lines, from the one with `begin` to the closing brace, without debug marks."""
    lines = text.split("\n")
    first = next(i for i, line in enumerate(lines) if begin in line)
    last = next(i for i in range(first, len(lines)) if lines[i].startswith("}"))
    return [re.sub(r",? !(dbg !)?\d+(?= ;|$| \{)", "", line) for line in lines[first : last + 1]]


def show(console: Console, title: str, lines: list[str]) -> None:
    """Print one stage."""
    console.print(f"\n── {title} " + "─" * max(0, 96 - len(title)), style="bold blue", markup=False)
    for line in lines:
        console.print(coloured(line))


def assemble_all(console: Console, sample: ModuleType) -> None:
    """Put the PTX of every target that the sample claims through the real ptxas."""
    console.print(f"\n── ptxas ({find_ptxas()}) ──", style="bold blue", markup=False)
    for target in sample.TARGETS:
        compiled = sample.build().compile(target=target)
        done = assemble(compiled.ptx, compiled.target)
        used = re.search(r"Used (\d+) registers.*", done.log)
        console.print(
            f"{target:<8} PTX {compiled.ptx_version}: {len(done.cubin)} bytes of cubin; "
            f"{used[0] if used else 'accepted'}"
        )


def simulate_all(console: Console, sample: ModuleType, compiled: Compiled) -> bool:
    """Run the tile under every schedule and compare with numpy."""
    console.print("\n── CPU simulator, compared with numpy ──", style="bold blue", markup=False)
    a, b, expected = sample.operands()
    right = True
    for schedule in SCHEDULES:
        d = np.full(expected.shape, np.nan, np.float32)
        begin = time.perf_counter()
        done = compiled.run(a, b, d=d, schedule=schedule)
        seconds = time.perf_counter() - begin
        equal = np.array_equal(d, expected)
        right = right and equal
        console.print(
            Text.assemble(
                (f"{schedule:<9} {done.steps} steps, {done.operations} asynchronous operations, "
                 f"{seconds:.2f} s: D = A·Bᵀ, {'x'.join(map(str, d.shape))}, ", ""),
                ("equal to numpy in every element" if equal else "DIFFERS FROM NUMPY",
                 "bold green" if equal else "bold red"),
            )
        )  # fmt: skip
    return right


def main() -> int:
    """Show every stage; 0 if all of them agree."""
    console = Console(highlight=False, soft_wrap=True)
    sample = gemm_tile()
    try:
        kernel = sample.build()
        compiled = kernel.compile(target="sm_100a")
        show(console, "LLVM IR", body(compiled.llvm, "define "))
        show(console, "MIR: machine records", body(compiled.mir, "kernel @"))
        show(console, f"PTX {compiled.ptx_version}, sm_100a", body(compiled.ptx, ".entry"))
        assemble_all(console, sample)
        right = simulate_all(console, sample, compiled)
    except NvgenError as error:
        print_findings(error.findings)
        return 1
    console.print("\nThe tile has run on the CPU only: never yet on a real Blackwell GPU.")
    return 0 if right else 1


if __name__ == "__main__":
    raise SystemExit(main())

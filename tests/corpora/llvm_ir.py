"""Judge a corpus of LLVM IR: `python -m tests.corpora.llvm_ir FOLDER [--target sm_90a]`.

The corpus is whatever modules lie in FOLDER (`.ll`, `.llir` as Triton caches them, `.bc`); none is
kept here.  Each is compiled by nvgen as written, at its default and at -O3, by LLVM 22's own code
generator, and assembled by ptxas.  A line tells each module that does not come through; the last
one counts them, and those among them that LLVM and ptxas take, which are nvgen's to mend.

Triton writes such modules to TRITON_CACHE_DIR, numba by `cuda.compile_ptx` with
`numba.cuda.cudadrv.nvvm.compile_ir` replaced (samples 15 and 16), clang with `-S -emit-llvm
--cuda-device-only`, and the headers of nvidia-cuda-cccl for CUB, Thrust and libcu++.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import nvgen
from intrinsics.findings import NvgenError
from tests.oracle import llvm
from tests.oracle.ptxas_modules import report

LEVELS: dict[str, int | None] = {"-O0": 0, "default": None, "-O3": 3}
SUFFIXES = (".ll", ".llir", ".bc")


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of a module: why it failed, by who compiled it; nothing where it came through."""

    name: str
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def is_ours(self) -> bool:
        """Whether nvgen fails where LLVM and ptxas do not."""
        return bool(self.failures) and "LLVM" not in self.failures


def judge(path: Path, target: str) -> Judged:
    """Compile one module in all ways."""
    given = path.read_bytes() if path.suffix == ".bc" else path.read_text(errors="replace")
    failures = {}
    for name, opt in LEVELS.items():
        try:
            compiled = nvgen.compile(given, target=target, opt=opt, keep_stages=False)
        except NvgenError as error:
            failures[name] = str(error).splitlines()[0]
        else:
            failures |= _refused(name, compiled.ptx, target)
    return Judged(path.name, failures | (_of_llvm(given, target) if failures else {}))


def _of_llvm(given: str | bytes, target: str) -> dict[str, str]:
    """Why LLVM's own code generator fails, or ptxas at what it makes."""
    if isinstance(given, bytes):
        return {}
    try:
        (outcome,) = llvm.compile_all([given], target, "8.8")
    except llvm.LlvmRejectedError as error:
        return {"LLVM": str(error).splitlines()[0]}
    except subprocess.TimeoutExpired as slow:
        return {"LLVM": f"takes longer than {slow.timeout:.0f} s"}
    if outcome.refusal:
        return {"LLVM": outcome.refusal.splitlines()[-1]}
    return _refused("LLVM", outcome.ptx, target)


def _refused(by: str, ptx: str, target: str) -> dict[str, str]:
    try:
        said = report(ptx, target, "-c", "-O1").splitlines()
    except subprocess.TimeoutExpired as slow:
        return {by: f"ptxas takes longer than {slow.timeout:.0f} s"}
    wrong = [line for line in said if "error" in line or "fatal" in line]
    return {by: wrong[0]} if wrong else {}


def modules(folder: Path) -> Iterator[Path]:
    """The modules in a folder and those below it."""
    return (path for path in sorted(folder.rglob("*")) if path.suffix in SUFFIXES)


def main(arguments: list[str]) -> int:
    """Judge all modules; 1 where nvgen fails at one that LLVM and ptxas take."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--target", default="sm_90a")
    options = parser.parse_args(arguments)
    judged = []
    for path in modules(options.folder):
        judged.append(judge(path, options.target))
        for by, why in judged[-1].failures.items():
            print(f"{path}: {by}: {why}", flush=True)
    failed = [one for one in judged if one.failures]
    ours = sum(one.is_ours for one in judged)
    print(f"{len(judged)} modules, {len(failed)} fail, {ours} of them only with nvgen")
    return int(ours > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""How long the first call of an operator takes, on a Hopper GPU: with an empty cache, and then.

    python tests/benchmarks/first_use.py ["attention d128" …]

Each line is of two processes: imports, the first call with an empty cache (the kernel is built,
compiled, assembled and loaded), and those of another process, which finds the machine code on disk.
A call of torch's own goes before, so that what CUDA takes to begin is not counted.  Modules are
there as bytecode, as those that pip installs are.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
PACKAGES = "intrinsics", "asmprinter", "isel", "nvgen", "samples"
OPERATORS = {
    "attention d128": ("attention.pytorch", "attention(*x, True)", "1, 16, 1024, 128"),
    "attention d64": ("attention.pytorch", "attention(*x, False)", "1, 16, 4096, 64"),
    "attention d256": ("attention.pytorch", "attention(*x, True)", "1, 8, 1024, 256"),
    "packed d128": (
        "attention.family_pytorch", "attention_packed(*x, ends, ends, 700, 700, True)",
        "1000, 16, 128"),
    "decode d128": (
        "attention.decode_pytorch", "attention_decode(*example(4, 32, 8, 128, 64, [999] * 4), 999)",
        "1"),
    "gemm": ("gemm.pytorch", "gemm(x[0], x[1])", "4096, 1024"),
    "gated": ("gemm.family_pytorch", "gemm_gated(x[0], x[1])", "4096, 4096"),
    "experts": (
        "gemm.family_pytorch", "gemm_grouped(x[0], x[1].view(8, 512, 4096), experts)",
        "4096, 4096"),
    "D in e4m3": (
        "gemm.family_pytorch", "gemm_quantised(x[0, :4096], x[1], with_amax=False)", "14336, 4096"),
    "block-scaled": ("gemm.family_pytorch", "gemm_block_scaled(*eights, *ones)", "4096, 4096"),
}  # fmt: skip
PROGRAM = """
import sys, time
sys.path[:0] = [{samples!r}, {root!r}]
import torch
torch.randn(64, 64, device="cuda").mm(torch.randn(64, 64, device="cuda"))
x = torch.randn(3, {shape}, device="cuda", dtype=torch.bfloat16)
ends = torch.tensor([0, 300, 1000], dtype=torch.int32, device="cuda")
experts = torch.arange(32, dtype=torch.int32, device="cuda") // 4
eights, ones = x[:2].to(torch.float8_e4m3fn), torch.ones(4096, 32, device="cuda")
ones = ones, ones[:32]
torch.cuda.synchronize()
begin = time.perf_counter()
from {module} import *
imported = time.perf_counter()
{call}
torch.cuda.synchronize()
first = time.perf_counter()
{call}
torch.cuda.synchronize()
print(imported - begin, first - imported, time.perf_counter() - first)
"""


def seconds(module: str, call: str, shape: str, cache: str, bytecode: str) -> list[float]:
    """Imports, the first call, the second, of a new process."""
    text = PROGRAM.format(
        samples=str(SAMPLES), root=str(SAMPLES.parent), module=module, call=call, shape=shape
    )
    environment = {**os.environ, "NVGEN_CACHE": cache, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", text], env=environment, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stderr)
    return [float(word) for word in done.stdout.split()]


def main() -> None:
    """The table, of the operators that are named, or of all."""
    names = sys.argv[1:] or list(OPERATORS)
    print("seconds          imports  first, compiled  imports  first, from disk    later")
    with tempfile.TemporaryDirectory() as folder:
        bytecode = f"{folder}/bytecode"
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        everything = (str(SAMPLES.parent / name) for name in PACKAGES)
        command = [sys.executable, "-m", "compileall", "-q", "-j", "0", *everything]
        subprocess.run(command, env=environment, check=False)
        for name in names:
            given = *OPERATORS[name], f"{folder}/{name}", bytecode
            imports, first, _ = seconds(*given)
            again, kept, later = seconds(*given)
            told = f"{imports:7.3f} {first:16.3f} {again:8.3f} {kept:17.3f} {later:8.5f}"
            print(f"{name:16} {told}", flush=True)


if __name__ == "__main__":
    main()

"""Triton with nvgen as its last stage: nvgen makes the PTX of Triton's LLVM IR, ptxas stays.

    python samples/15_triton_backend.py                  # no GPU: both compile, ptxas counts
    python samples/15_triton_backend.py --device cuda    # both run, are compared and timed

`with nvgen_backend():` is all that a program of Triton's needs.  The kernels are those of
samples/compilers/triton_kernels.py.  Needs triton 3.6 or newer and, with a GPU, PyTorch.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import triton
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import nvgen

sys.path.append(str(Path(__file__).parent))
from compilers.side_by_side import Pair, Timed, code, main
from compilers.triton_kernels import KERNELS, Case

TARGET = "sm_90a"


@contextlib.contextmanager
def nvgen_backend() -> Iterator[list[str]]:
    """Compile with nvgen what Triton compiles in here; gives the names of these kernels."""
    names: list[str] = []

    def hook(*given):
        if not given:  # what is asked when a kernel is looked for in Triton's cache
            return "nvgen", f"nvgen {nvgen.__version__}"
        _, stages, options, _, capability = given
        target = f"sm_{capability}" + ("a" if capability >= 90 else "")

        def make_ptx(llvm_ir: str, metadata: dict) -> str:
            compiled = nvgen.compile(
                llvm_ir, target=target, contract=options.enable_fp_fusion, lineinfo=True
            )
            (metadata["name"],) = (f.name for f in compiled.module.functions if f.is_kernel)
            names.append(metadata["name"])
            return compiled.ptx

        stages["ptx"] = make_ptx
        return None

    before = knobs.runtime.add_stages_inspection_hook, knobs.compilation.always_compile
    knobs.runtime.add_stages_inspection_hook = hook
    knobs.compilation.always_compile = True  # Triton 3.6's cache does not know who compiled
    try:
        yield names
    finally:
        knobs.runtime.add_stages_inspection_hook, knobs.compilation.always_compile = before


def compiled(case: Case) -> triton.compiler.CompiledKernel:
    """A kernel for `TARGET`, without a GPU."""
    signature = {n: t if isinstance(t, str) else "constexpr" for n, t in case.signature.items()}
    constants = {n: t for n, t in case.signature.items() if not isinstance(t, str)}
    aligned = {(i,): [["tt.divisibility", 16]] for i in case.aligned}
    source = ASTSource(case.kernel, signature, constants, aligned)
    return triton.compile(source, GPUTarget("cuda", 90, 32), {"num_warps": case.warps})


def pairs() -> Iterator[Pair]:
    """Every kernel by both; what Triton says of a kernel to those who launch it is the same."""
    for case in KERNELS:
        theirs = compiled(case)
        with nvgen_backend() as names:
            ours = compiled(case)
        assert names == [case.kernel.__name__]
        for said in ("name", "shared", "num_warps", "global_scratch_size"):
            assert getattr(ours.metadata, said) == getattr(theirs.metadata, said), said
        name = case.kernel.__name__
        yield Pair(name, code(ours.asm["ptx"], TARGET), code(theirs.asm["ptx"], TARGET))


def on_gpu() -> Iterator[Timed]:
    """Run both, compare, and give what times them."""
    import torch

    def memory(size: int, align: int, stream: object) -> object:
        """What a kernel that makes tensor maps writes them to."""
        return torch.empty(size, dtype=torch.int8, device="cuda")

    triton.set_allocator(memory)
    for case in KERNELS:
        arguments, out = case.arguments(torch)
        case.kernel.device_caches.clear()  # of what was compiled for the launches before
        case.run(arguments)
        expected = out.clone()
        theirs = case.graph(torch, arguments)
        out.fill_(float("nan"))
        case.kernel.device_caches.clear()
        with nvgen_backend() as names:
            case.run(arguments)
            assert names == [case.kernel.__name__]
            assert torch.allclose(out, expected, rtol=1e-3, atol=1e-3), case.kernel.__name__
            ours = case.graph(torch, arguments)
        yield case.kernel.__name__, ours, theirs


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(pairs, on_gpu, "Triton")

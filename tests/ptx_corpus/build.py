"""Compile `sources/` again: `python tests/ptx_corpus/build.py FOLDER`.

This needs a machine, not a GPU, with NVIDIA's compiler (packages nvidia-cuda-nvcc, nvidia-nvvm,
nvidia-cuda-crt, nvidia-cuda-cccl, nvidia-cuda-runtime), triton, numba-cuda and nvidia-cutlass-dsl;
what is not installed is left out and named.  Sources are compiled in `/tmp/src`, so that debug
information says nothing of the machine.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = Path("/tmp/src")

NVCC = {
    "nvcc_vector_add_sm80": "-arch=sm_80 vector_add.cu",
    "nvcc_softmax_sm90a": "-arch=sm_90a -lineinfo softmax.cu",
    "nvcc_softmax_debug_sm80": "-arch=sm_80 -G softmax.cu",
    "nvcc_reduce_sm90": "-arch=sm_90 reduce.cu",
    "nvcc_calls_sm80": "-arch=sm_80 -rdc=true -lineinfo calls.cu",
    "nvcc_calls_debug_sm100a": "-arch=sm_100a -G calls.cu",
    "nvcc_control_sm120a": "-arch=sm_120a control.cu",
    "nvcc_memory_sm90": "-arch=sm_90 memory.cu",
    "nvcc_clusters_sm90": "-arch=sm_90 clusters.cu",
    "nvcc_narrow_sm100a": "-arch=sm_100a narrow.cu",
    "nvcc_wmma_sm80": "-arch=sm_80 wmma.cu",
    "nvcc_hopper_sm90a": "-arch=sm_90a hopper.cu",
    "nvcc_blackwell_sm100a": "-arch=sm_100a blackwell.cu",
    "nvcc_arithmetic_sm100f": "-arch=sm_100f arithmetic.cu",
}
LLVM = {"llvm_device_sm80": ("sm_80", "+ptx78", 3), "llvm_device_sm100a": ("sm_100a", "+ptx86", 0)}


def main() -> None:
    """Write every file that the compilers here can make."""
    folder = Path(sys.argv[1])
    shutil.copytree(HERE / "sources", SOURCES, dirs_exist_ok=True)
    sys.path.insert(0, str(SOURCES))
    for producer in (nvcc, llvm, triton, numba, cute):
        try:
            for name, source, how, text in producer():
                (folder / f"{name}.ptx").write_text(header(source, how) + neutral(text))
        except (ImportError, OSError) as error:
            print(f"{producer.__name__}: left out: {error}", file=sys.stderr)


def header(source: str, how: str) -> str:
    """Who made it of what: the compiler, its version and options, and the source's first line."""
    first = (SOURCES / source).read_text().splitlines()[0].strip('/;" ')
    return f"// {how}\n// tests/ptx_corpus/sources/{source}: {first}\n"


def neutral(text: str) -> str:
    """The text without trailing blanks, and without the folder that the compiler lives in."""
    text = re.sub(r'"/\S*?/site-packages/(nvidia/cu13/(bin/\.\./)?)?', '"/opt/', text)
    return "\n".join(line.rstrip() for line in text.strip("\0\n").split("\n")) + "\n"


def nvcc() -> Iterator[tuple[str, str, str, str]]:
    version = importlib.metadata.version("nvidia-cuda-nvcc")
    headers = importlib.metadata.distribution("nvidia-cuda-cccl")
    include = f"-I{headers.locate_file('nvidia/cu13/include')}"
    for name, options in NVCC.items():
        *flags, source = options.split()
        command = ["nvcc", "-ptx", include, *flags, source, "-o", "out.ptx"]
        subprocess.run(command, cwd=SOURCES, check=True)
        text = (SOURCES / "out.ptx").read_text()
        yield name, source, f"nvcc {version} -ptx {' '.join(flags)}", text


def llvm() -> Iterator[tuple[str, str, str, str]]:
    import llvmlite
    import llvmlite.binding as binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    version = ".".join(map(str, binding.llvm_version_info))
    for name, (cpu, features, opt) in LLVM.items():
        module = binding.parse_assembly((SOURCES / "device.ll").read_text())
        target = binding.Target.from_triple("nvptx64-nvidia-cuda")
        machine = target.create_target_machine(cpu=cpu, features=features, opt=opt)
        how = f"LLVM {version} (llvmlite {llvmlite.__version__}), -mcpu={cpu} {features} -O{opt}"
        yield name, "device.ll", how, machine.emit_assembly(module)


def triton() -> Iterator[tuple[str, str, str, str]]:
    import triton as compiler
    import triton_kernels as kernels
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    floats, halves, matmul = "*fp32", "*fp16", {"K": "i32", "M": 128, "N": 64, "BLOCK_K": 64}
    add = {"x": floats, "y": floats, "out": floats, "n": "i32", "BLOCK": 256}
    softmax = {"x": floats, "out": floats, "columns": "i32", "BLOCK": 512}
    histogram = {"x": "*i32", "bins": "*i32", "n": "i32", "BLOCK": 128}
    matmul = {"a": halves, "b": halves, "d": floats, **matmul}
    small = {**matmul, "M": 32, "N": 32, "BLOCK_K": 32}
    eighths = {**small, "a": "*fp8e4nv", "b": "*fp8e4nv"}
    wanted: list[tuple[str, Callable[..., None], dict[str, str | int], int]] = [
        ("triton_add_sm80", kernels.add, add, 80),  # type: ignore[list-item]
        ("triton_softmax_sm90a", kernels.softmax, softmax, 90),  # type: ignore[list-item]
        ("triton_histogram_sm100a", kernels.histogram, histogram, 100),  # type: ignore[list-item]
        ("triton_matmul_sm80", kernels.matmul, small, 80),  # type: ignore[list-item]
        ("triton_matmul_sm100a", kernels.matmul, {**matmul, "BLOCK_K": 16}, 100),  # type: ignore[dict-item]
        ("triton_matmul_fp8_sm120a", kernels.matmul, eighths, 120),  # type: ignore[list-item]
        ("triton_tma_sm90a", kernels.matmul_tma, {**matmul, "SPECIAL": False}, 90),  # type: ignore[dict-item]
        ("triton_tma_special_sm90a", kernels.matmul_tma, {**matmul, "SPECIAL": True}, 90),  # type: ignore[dict-item]
        ("triton_tma_special_sm100a", kernels.matmul_tma, {**matmul, "SPECIAL": True}, 100),  # type: ignore[dict-item]
    ]
    for name, kernel, given, capability in wanted:
        signature = {k: v if isinstance(v, str) else "constexpr" for k, v in given.items()}
        constants = {k: v for k, v in given.items() if not isinstance(v, str)}
        source = ASTSource(kernel, signature, constexprs=constants)
        made = compiler.compile(source, target=GPUTarget("cuda", capability, 32))
        how = f"triton {compiler.__version__}, cuda {capability}, {constants}"
        yield name, "triton_kernels.py", how, made.asm["ptx"]


def numba() -> Iterator[tuple[str, str, str, str]]:
    import numba_kernels as kernels
    from numba import cuda, types

    version = importlib.metadata.version("numba-cuda")
    arrays = (types.float32[::1], types.float32[::1])
    wanted = [
        ("numba_polynomial_sm80", kernels.polynomial, (8, 0), {}),
        ("numba_polynomial_debug_sm90", kernels.polynomial, (9, 0), {"debug": True, "opt": False}),
        ("numba_sum_sm100", kernels.block_sum, (10, 0), {"lineinfo": True}),
    ]
    for name, kernel, capability, options in wanted:
        text, _ = cuda.compile_ptx(kernel, arrays, cc=capability, **options)
        yield name, "numba_kernels.py", f"numba-cuda {version}, {capability}, {options}", text


def cute() -> Iterator[tuple[str, str, str, str]]:
    (SOURCES / "dump").mkdir(exist_ok=True)
    for name, arch in (("cute_add_sm90a", "sm_90a"), ("cute_add_sm100a", "sm_100a")):
        with_arch = {**os.environ, "CUTE_DSL_KEEP_PTX": "1", "CUTE_DSL_ARCH": arch}
        done = subprocess.run(
            [sys.executable, "cute_kernels.py"],
            cwd=SOURCES,
            env={**with_arch, "CUTE_DSL_DUMP_DIR": str(SOURCES / "dump")},
            capture_output=True,
            text=True,
            check=True,
        )
        version = importlib.metadata.version("nvidia-cutlass-dsl")
        how = f"CuTe DSL (nvidia-cutlass-dsl) {version}, {arch}"
        yield name, "cute_kernels.py", how, done.stdout


if __name__ == "__main__":
    main()

"""Make a corpus of other people's kernels as PTX: `python tests/corpora/real_ptx.py FOLDER`.

Nothing of it is kept here: the sources come from the packages of `PACKAGES` on PyPI, which pip puts
into FOLDER/venv, and the compilers of the same packages make PTX of them.  No GPU is needed; about
6 GB of disk and an hour of one core are, most of it for CUTLASS.

| producer   | what is compiled                               | by       | targets                |
|------------|------------------------------------------------|----------|------------------------|
| flashinfer | the generated attention, MoE and KDA kernels   | nvcc     | sm_90a sm_100a sm_103a |
| cutlass    | the Hopper and Blackwell examples in the wheel | nvcc     | sm_90a sm_100a         |
| fa4        | FlashAttention-4, forward and backward         | CuTe DSL | sm_90a sm_100a         |
| liger      | Liger's element-wise and row-wise kernels      | Triton   | sm_100a                |
| quack      | quack's GEMMs and row-wise kernels             | CuTe DSL | sm_90a sm_100a         |
| collective | `kernels/`: CUTLASS's collective builders      | nvcc     | sm_90a sm_100a         |
| cub        | `kernels/`: CUB's algorithms of the device     | nvcc     | sm_80 sm_90 sm_100a    |
| libcu      | `kernels/`: libcu++ and cooperative groups     | nvcc     | sm_90                  |

FOLDER/ptx/PRODUCER/NAME.ptx is a module; FOLDER/index.tsv has a line for each: path, producer with
its version, target, `.reqntid`, `.maxntid`, the block it is launched with, the cluster, and whether
it uses tcgen05, wgmma and bulk copies.  The block is `.reqntid` (CuTe DSL and Triton write it), or
what FlashInfer's host code says (`dim3 block(…)`), or `.maxntid` where the host code launches just
that: CUTLASS's adapters (`MaxThreadsPerBlock`) and FlashInfer's generated KDA kernels.  Blank means
that it is not known.  A module that is there already is not made again; one that does not compile
is named and left out.
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

CUDA = "13.5.37"
WITH_DEPENDENCIES = ("torch==2.13.0", "packaging", "einops==0.8.2", "apache-tvm-ffi==0.1.15.post2")
PACKAGES = {
    "nvcc": f"nvidia-cuda-nvcc=={CUDA}",
    "crt": f"nvidia-cuda-crt=={CUDA}",
    "nvvm": f"nvidia-nvvm=={CUDA}",
    "runtime": f"nvidia-cuda-runtime=={CUDA}",
    "curand": "nvidia-curand==10.4.5.25",
    "cccl": "nvidia-cuda-cccl==13.3.5.0.6",
    "flashinfer": "flashinfer-python==0.7.2.post1",
    "cutlass": "nvidia-cutlass==4.2.0.0",
    "dsl": "nvidia-cutlass-dsl==4.8.1",
    "dsl-base": "nvidia-cutlass-dsl-libs-base==4.8.1",
    "dsl-core": "nvidia-cutlass-dsl-libs-core==4.8.1",
    "dsl-cu12": "nvidia-cutlass-dsl-libs-cu12==4.8.1",
    "bindings": "cuda-bindings==13.5.0",
    "pathfinder": "cuda-pathfinder==1.9.0",
    "fa4": "flash-attn-4==4.0.0b36",
    "quack": "quack-kernels==0.6.5",
    "dlpack": "torch-c-dlpack-ext==0.1.5",
    "triton": "triton==3.9.0",
    "liger": "liger-kernel==0.8.5",
}

FLASHINFER = {
    "blackwell_msa/*_kernel.cu": "sm_100a",
    "cake_vsa/*.cu": "sm_100a",
    "kda/bf16/*_kernel.cu": "sm_100a",
    "kda/flashkda_generated_bf16_*.cu": "sm_100a",
    "alphamoe_nvfp4_*.cu": "sm_100a",
    "cake_trtllm_mla_blackwell/*_kernel.cu": "sm_103a",
    "cake_vsa_sm90/*_kernel.cu": "sm_90a",
}
CUTLASS = {"48_* 50_* 54_* 57_* 62_* 67_* 88_*": "sm_90a", "70_* 72_* 75_* 77_* 81_*": "sm_100a"}
FA4 = (
    # head dimension, of the values, causal, heads of Q for one of K, the backward pass
    ("sm_100a", 128, 128, False, 1, False),
    ("sm_100a", 128, 128, True, 4, True),
    ("sm_100a", 192, 128, True, 1, False),
    ("sm_100a", 256, 256, False, 1, True),
    ("sm_90a", 128, 128, True, 1, True),
)
KERNELS = {
    # producer, pattern of the files in `kernels`, target
    ("collective", "hopper_*.cu"): "sm_90a",
    ("collective", "blackwell_*.cu"): "sm_100a",
    ("cub", "cub_scan.cu"): "sm_90",
    ("cub", "cub_sort.cu"): "sm_90",
    ("cub", "cub_reduce.cu"): "sm_90",
    ("cub", "cub_merge.cu"): "sm_100a",
    ("cub", "cub_select.cu"): "sm_80",
    ("libcu", "libcu_*.cu"): "sm_90",
}
QUACK = ("sm_90a", "sm_100a")
VERSIONS = PACKAGES | {
    "collective": PACKAGES["cutlass"],
    "cub": PACKAGES["cccl"],
    "libcu": PACKAGES["cccl"],
}
"""What the modules of a producer are made of."""
SECONDS = 1200
COLUMNS = (
    *("path", "producer", "target", "reqntid", "maxntid"),
    *("block", "cluster", "tcgen05", "wgmma", "tma"),
)


@dataclass(frozen=True, slots=True)
class Place:
    """The folder that the corpus is made in."""

    folder: Path

    @property
    def python(self) -> Path:
        """The interpreter that the packages are installed for."""
        return self.folder / "venv" / "bin" / "python"

    @property
    def site(self) -> Path:
        """Where pip put the packages."""
        return next((self.folder / "venv" / "lib").glob("python3*/site-packages"))

    def module(self, producer: str, name: str) -> Path:
        """The file of a module, in a folder that is there."""
        path = self.folder / "ptx" / producer / f"{name}.ptx"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


def main() -> None:
    """Install what is missing, compile what is missing, and write the index."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    makers: dict[str, Callable[[Place], None]] = {
        "flashinfer": flashinfer,
        "cutlass": cutlass,
        "fa4": fa4,
        "liger": liger,
        "quack": quack,
        **{name: functools.partial(kernels, producer=name) for name, _ in KERNELS},
    }
    parser.add_argument("--only", nargs="+", choices=makers, default=list(makers))
    given = parser.parse_args()
    place = Place(given.folder.resolve())
    install(place)
    for producer in given.only:
        makers[producer](place)
    rows = ["\t".join(COLUMNS), *("\t".join(row) for row in index(place))]
    (place.folder / "index.tsv").write_text("\n".join(rows) + "\n")
    print(f"{len(rows) - 1} modules in {place.folder}")


def install(place: Place) -> None:
    """Make the environment; `--no-deps`, since the kernels need little of what they ask for."""
    if place.python.exists():
        return
    venv.create(place.folder / "venv", with_pip=True)
    pip = [place.python, "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, *WITH_DEPENDENCIES], check=True)  # type: ignore[list-item]
    subprocess.run([*pip, "--no-deps", *PACKAGES.values()], check=True)  # type: ignore[list-item]


def flashinfer(place: Place) -> None:
    """Kernels in files of their own; the host code is in files called binding."""
    data = place.site / "flashinfer" / "data"
    sources = data / "csrc"
    include = [data / "include", data / "cutlass/include", place.site / "tvm_ffi/include"]
    for pattern, target in FLASHINFER.items():
        for source in sorted(sources.glob(pattern)):
            if "binding" not in source.name:
                nvcc(place, "flashinfer", source, target, [*include, sources, sources / "kda"])


def cutlass(place: Place) -> None:
    """The examples, each with all the kernels that its main program may run."""
    root = place.site / "cutlass_library" / "source"
    include = [root / "include", root / "tools/util/include", root / "examples/common"]
    for patterns, target in CUTLASS.items():
        for pattern in patterns.split():
            for source in sorted(root.glob(f"examples/{pattern}/*.cu")):
                nvcc(place, "cutlass", source, target, [*include, source.parent])


def kernels(place: Place, producer: str) -> None:
    """The files of ours in `kernels` that instantiate what others wrote."""
    root = place.site / "cutlass_library" / "source"
    here = Path(__file__).resolve().parent / "kernels"
    include = [root / "include", root / "tools/util/include"]
    for (name, pattern), target in KERNELS.items():
        for source in sorted(here.glob(pattern)) if name == producer else ():
            nvcc(place, producer, source, target, include, standard="c++20")


def nvcc(
    place: Place,
    producer: str,
    source: Path,
    target: str,
    include: list[Path],
    standard: str = "c++17",
) -> None:
    """Compile one file as it stands."""
    to = place.module(producer, source.stem)
    if to.exists():
        return
    cuda = place.site / "nvidia" / "cu13"
    folders = [f"-I{folder}" for folder in (*include, cuda / "include", cuda / "include/cccl")]
    options = [f"-std={standard}", "-O3", "--expt-relaxed-constexpr", "-DNDEBUG", f"-arch={target}"]
    run([cuda / "bin/nvcc", "-ptx", *options, *folders, source, "-o", to], to.name, {})


def fa4(place: Place) -> None:
    """FlashAttention-4 on tensors that have shapes alone."""
    for target, *shape in FA4:
        name = "_".join(map(str, (target, *map(int, shape))))
        arch = re.sub(r"\D", "", target)
        sms = {"FLASH_ATTENTION_ARCH": arch, "FLASH_ATTENTION_NUM_SMS": "132"}
        inside(place, "fa4", name, INSIDE_FA4.format(*shape), {**sms, "CUTE_DSL_ARCH": target})


def quack(place: Place) -> None:
    """quack's kernels on tensors that have shapes alone."""
    for target in QUACK:
        arch = re.sub(r"\D", "", target)
        inside(place, "quack", target, INSIDE_QUACK, {"QUACK_ARCH": arch, "CUTE_DSL_ARCH": target})


def liger(place: Place) -> None:
    """Liger's kernels, called on tensors of the CPU; what Triton compiled is kept, not launched."""
    inside(place, "liger", "liger", INSIDE_TRITON + INSIDE_LIGER, {})


def inside(
    place: Place, producer: str, name: str, program: str, environment: dict[str, str]
) -> None:
    """Run a program in the environment; the PTX that it leaves becomes NAME-0, NAME-1, ….

    A program ends with an error where it would launch a kernel; what was written by then counts.
    """
    if place.module(producer, f"{name}-0").exists():
        return
    dump = place.folder / "dump" / producer / name
    dump.mkdir(parents=True, exist_ok=True)
    keep = {"CUTE_DSL_KEEP": "ptx", "CUTE_DSL_DUMP_DIR": str(dump), "QUACK_CACHE_ENABLED": "0"}
    run([place.python, "-c", program], name, {**keep, **environment}, dump)
    for number, made in enumerate(sorted(dump.glob("*.ptx"))):
        place.module(producer, f"{name}-{number}").write_text(made.read_text().rstrip("\0"))


def run(
    command: list[str | Path], name: str, environment: dict[str, str], folder: Path | None = None
) -> None:
    """Run a command at the lowest priority, and say so where it fails."""
    try:
        done = subprocess.run(
            ["nice", "-n", "19", *command],
            cwd=folder,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        print(f"{name}: not done in {SECONDS} s", file=sys.stderr)
        return
    if done.returncode:
        print(f"{name}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}", file=sys.stderr)


INSIDE_FA4 = """
import cutlass.utils
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from flash_attn.cute.interface import _flash_attn_bwd, flash_attn_func

chip = cutlass.utils.HardwareInfo
chip.__init__ = lambda self: None
chip.get_max_active_clusters = lambda self, size: 132 // size
chip.get_device_multiprocessor_count = lambda self: 132
width, values, causal, group, backward = {}, {}, {}, {}, {}

def tensor(*shape, dtype=torch.bfloat16): return torch.empty(shape, dtype=dtype, device="cuda")

with FakeTensorMode():
    q, k = tensor(2, 1024, 8, width), tensor(2, 1024, 8 // group, width)
    v, o = tensor(2, 1024, 8 // group, values), tensor(2, 1024, 8, values)
    if backward:
        sums = tensor(2, 8, 1024, dtype=torch.float32)
        _flash_attn_bwd(q, k, v, o, o, sums, causal=causal)
    else:
        flash_attn_func(q, k, v, causal=causal)
"""

INSIDE_QUACK = """
import glob
import importlib
import os
import sys
import types

import cutlass.utils
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

major = int(os.environ["QUACK_ARCH"]) // 10
chip = cutlass.utils.HardwareInfo
chip.__init__ = lambda self, *_: None
chip.get_max_active_clusters = lambda self, cluster_size: 132 // cluster_size
chip.get_device_multiprocessor_count = lambda self: 132
seen = types.SimpleNamespace(multi_processor_count=132, major=major, minor=0, name="")
torch.cuda.get_device_properties = lambda *_: seen
torch.cuda.get_device_capability = lambda *_: (major, 0)
gemm, rmsnorm, softmax, topk, entropy = (
    importlib.import_module(f"quack.{name}")
    for name in ("gemm_interface", "rmsnorm", "softmax", "topk", "cross_entropy")
)
from quack.blockscaled.operand import BlockScaledOperand

def tensor(*shape, dtype=torch.bfloat16): return torch.empty(shape, dtype=dtype, device="cuda")

def scaled(m, k):
    factors = tensor(m // 128, k // 128, 32, 4, 4, dtype=torch.uint8)
    return BlockScaledOperand(tensor(m, k, dtype=torch.float8_e4m3fn), factors, "mxfp8")

def calls():
    a, b, c = tensor(2048, 1024), tensor(1024, 4096), tensor(2048, 4096)
    ends = tensor(5, dtype=torch.int32)
    rows, words = tensor(4096, 2048), tensor(4096, dtype=torch.int64)
    yield lambda: gemm.gemm(a, b, tuned=False)
    yield lambda: gemm.gemm_add(a, b, c, beta=0.5, tuned=False)
    yield lambda: gemm.gemm_act(a, b, activation="gelu_tanh_approx", tuned=False)
    yield lambda: gemm.gemm_act(a, b, activation="swiglu", tuned=False)
    yield lambda: gemm.gemm(a, tensor(4, 1024, 4096), cu_seqlens_m=ends, tuned=False)
    yield lambda: gemm.gemm_symmetric(a, a.mT)
    yield lambda: gemm.gemm(scaled(2048, 1024), scaled(4096, 1024).mT, tuned=False)
    yield lambda: rmsnorm.rmsnorm_fwd(rows, tensor(2048))
    yield lambda: softmax.softmax_fwd(rows)
    yield lambda: topk.topk_fwd(rows, 8)
    yield lambda: entropy.cross_entropy_fwd(tensor(4096, 65536), words)

with FakeTensorMode():
    for number, call in enumerate(calls()):
        try:
            call()
        except Exception as error:  # where it would launch
            print(repr(error)[:300], file=sys.stderr)
        for made in glob.glob("cutlass_*.ptx"):  # names say little of the shapes
            os.rename(made, f"{number:02}.ptx")
"""

INSIDE_TRITON = """
import types

import torch
from triton.backends.compiler import GPUTarget
from triton.runtime import driver, jit

class Named:
    def get_current_target(self): return GPUTarget("cuda", 100, 32)
    def get_current_device(self): return 0
    def get_current_stream(self, device=0): return 0
    def get_active_torch_device(self): return torch.device("cpu")

driver.set_active(Named())
chip = types.SimpleNamespace(multi_processor_count=148, major=10, minor=0, name="NVIDIA B200")
torch.cuda.is_available = lambda: True
torch.cuda.get_device_capability = lambda *_: (10, 0)
torch.cuda.get_device_properties = lambda *_: chip
launch = jit.JITFunction.run

def compile_only(self, *given, **named):
    made = launch(self, *given, **{**named, "warmup": True})
    open(f"{self.__name__}.ptx", "w").write(made.asm["ptx"])
    return made

jit.JITFunction.run = compile_only
"""

INSIDE_LIGER = """
from liger_kernel.ops import cross_entropy, geglu, layer_norm, rms_norm, softmax, swiglu

def rows(*shape): return torch.randn(shape, dtype=torch.bfloat16).requires_grad_()

labels = torch.zeros(64, dtype=torch.long)
for operation, given in (
    (rms_norm.LigerRMSNormFunction, (rows(64, 1024), rows(1024), 1e-6)),
    (layer_norm.LigerLayerNormFunction, (rows(64, 1024), rows(1024), rows(1024), 1e-6)),
    (swiglu.LigerSiLUMulFunction, (rows(64, 1024), rows(64, 1024))),
    (geglu.LigerGELUMulFunction, (rows(64, 1024), rows(64, 1024))),
    (softmax.LigerSoftmaxFunction, (rows(64, 1024),)),
    (cross_entropy.LigerCrossEntropyFunction, (rows(64, 4096), labels, None)),
):
    result = operation.apply(*given)
    result = result[0] if isinstance(result, tuple) else result
    result.backward(torch.ones_like(result))
"""


def index(place: Place) -> Iterator[tuple[str, ...]]:
    """A row of `COLUMNS` for every module."""
    host = blocks_of_host_code(place.site / "flashinfer" / "data" / "csrc")
    for path in sorted((place.folder / "ptx").glob("*/*.ptx")):
        text, producer = path.read_text(), path.parent.name
        required, most, cluster = (
            ";".join(sorted({re.sub(r"\s", "", found) for found in re.findall(pattern, text)}))
            for pattern in (
                r"\.reqntid\s+([\d, ]+)",
                r"\.maxntid\s+([\d, ]+)",
                r"\.reqnctapercluster\s+([\d, ]+)",
            )
        )
        all_of_them = producer in ("cutlass", "collective") or path.name.startswith(
            "flashkda_generated"
        )
        said = {host[kernel] for kernel in re.findall(r"\.entry\s+(\w+)", text) if kernel in host}
        block = required or ";".join(said) or (most if all_of_them else "")
        target = re.search(r"^\.target\s+(\w+)", text, re.M)
        uses = ("yes" if word in text else "" for word in ("tcgen05.", "wgmma.", "cp.async.bulk"))
        yield (
            str(path.relative_to(place.folder)),
            VERSIONS[producer],
            target[1] if target else "",
            required,
            most,
            block if ";" not in block else "",
            cluster if ";" not in cluster else "",
            *uses,
        )


def blocks_of_host_code(sources: Path) -> dict[str, str]:
    """FlashInfer's kernels by name, and the block that the host code launches them with."""
    found = {}  # type: ignore[var-annotated]
    for path in sources.rglob("*binding*.cu"):
        text = path.read_text(errors="replace")
        block = re.search(r"dim3 block\((\d+)u?, (\d+)u?, (\d+)u?\)", text)
        if block:
            found |= dict.fromkeys(re.findall(r"kernel_cake_\w+", text), ",".join(block.groups()))
    return found


if __name__ == "__main__":
    main()

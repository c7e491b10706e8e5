"""What is spoilt: texts of all kinds that are right, or nearly so.

LLVM IR as front ends and our builder write it, the MIR and PTX that nvgen makes of it, PTX that
other compilers made, command lines with the files that they name, arrays, and a tuning's results.
"""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache

import numpy as np

import nvgen
from intrinsics.findings import NvgenError
from nvgen.tuning import Trial
from tests.fuzz import doors
from tests.fuzz.inputs import Input, Kind, of_arguments
from tests.fuzz.problems import ROOT
from tests.fuzz.snippets import SNIPPETS
from tests.isel.llvm.llvm_corpus import CASES
from tests.ptx_corpus import FILES

LARGEST = 16_000
"""Characters of a text that is spoilt; beyond, an input takes too long."""

TARGETS = ("sm_90a", "sm_100a", "sm_80", "sm_120a", "sm_103a", "sm_75")
_BUILT = ("01_gemm_tile", "10_gemm_sm90", "11_gemm_portable")


@cache
def llvm_texts() -> tuple[str, ...]:
    """LLVM IR."""
    kernels = sorted((ROOT / "tests" / "benchmarks" / "kernels").glob("*.ll"))
    files = [*sorted((ROOT / "samples").glob("*.ll")), *kernels]
    texts = [*SNIPPETS.values(), *SNIPPETS.values(), *CASES.values()]
    texts += [path.read_text() for path in files] + list(_built())
    return tuple(text for text in texts if len(text) < LARGEST)


def _built() -> Iterator[str]:
    """What samples build, whose names are no names of modules."""
    for name in _BUILT:
        kernel = importlib.import_module(f"samples.{name}").build()
        yield kernel.llvm


@cache
def compiled() -> tuple[tuple[str, str], ...]:
    """MIR and PTX of all LLVM IR that some target takes."""
    found = []
    for text in dict.fromkeys(llvm_texts()):
        for target in TARGETS[:2]:
            try:
                made = nvgen.compile(text, target=target)
            except NvgenError:
                continue
            found.append((made.mir, made.ptx))
            break
    return tuple(found)


@cache
def mir_texts() -> tuple[str, ...]:
    """Machine records."""
    return tuple(mir for mir, _ in compiled() if len(mir) < LARGEST)


@cache
def ptx_texts() -> tuple[str, ...]:
    """PTX: nvgen's own and other compilers'."""
    foreign = [path.read_text() for path in FILES]
    return tuple(
        text for text in (*foreign, *(ptx for _, ptx in compiled())) if len(text) < LARGEST
    )


@cache
def texts(kind: Kind) -> tuple[str, ...]:
    """The seeds of a language."""
    return {Kind.LLVM: llvm_texts, Kind.MIR: mir_texts, Kind.PTX: ptx_texts}[kind]()


# ---- arrays and results of tuning ------------------------------------------------------------


@cache
def arrays() -> tuple[Input, ...]:
    """Arrays of several types and shapes, read in several ways."""
    rng = np.random.default_rng(0)
    made = [
        (rng.integers(0, 99, 16).astype(np.int32), "in:a.npy"),
        (np.zeros((2, 3, 4), np.float16, order="F"), "in:a.npy"),
        (np.zeros((64, 64), np.float16), "tmap:a.npy,box=8x8,swizzle=0"),
        (np.zeros((128, 64), np.uint16), "tmap:a.npy,dtype=bf16,box=64x64,swizzle=128"),
        (np.zeros(8, ">f8"), "in:a.npy"),
        (np.array(5, np.complex64), "in:a.npy"),
        (np.zeros((0, 4), np.uint8), "inout:a.npy:b.npy"),
        (np.zeros(8, [("x", "<i4"), ("y", "<f4")]), "in:a.npy"),
        (np.zeros(8, "V2"), "in:a.npy,dtype=f16"),
    ]
    return tuple(
        Input(Kind.ARRAY, _npy(array), (("argument", argument),)) for array, argument in made
    )


def _npy(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


@cache
def caches() -> tuple[Input, ...]:
    """Files of results, whole and cut off."""
    trials = [
        Trial(
            "gemm", f"{n:032x}", {"tile": 64 << n, "name": "x", "flat": True}, 0.25 * (n + 1), 32, n
        )
        for n in range(4)
    ]
    trials.append(Trial("gemm", "f" * 32, {}, None, failure="run/shape: é \n not possible"))
    lines = "".join(json.dumps(asdict(trial)) + "\n" for trial in trials).encode()
    return tuple(Input(Kind.CACHE, data) for data in (lines, lines[:-30], b"", b"\n\n" + lines))


# ---- command lines ---------------------------------------------------------------------------

_RUN = "run k.ll --target sm_90a --block 32 --arg in:a.npy --arg out:i32[32]:o.npy"
_LINES = f"""\
compile k.ll --target sm_90a -o o.ptx
compile k.ll --target sm_100a -o o.mir -O2 --emit mir -v
compile k.ll --target sm_90a --ptx 8.4 -o - --print-after select --level all
compile g.ll --target sm_100a -o o.ll --emit llvm --bound-waits 2
compile bad.ll --target sm_90a -o o.ptx --level function
check k.ptx --level all --grid 4 --block 128,1,1 --cluster 2 --smem 1024 --format json
check k.mir --target sm_90a --ptx 8.6 --allow ptx/* --strict
check k.ll --target sm_120a --level launch --box k_param_0=16384
check empty --target sm_90a
{_RUN}
{_RUN} --schedule late --kernel k --cluster 1 --grid 2,2 --smem 64 --json
{_RUN} --schedule random:7 --bisect --no-races --timeout 3
run k.ptx --block 32 --arg inout:a.npy:b.npy --arg out:f32[4,8]:o.npy --device sim
run k.ll --target sm_90a --block 4x4x2 --arg tmap:a.npy,box=8,swizzle=0 --arg i32:0x40
run k.ll --target sm_90a --arg outmap:f32[32,32]:o.npy,box=8x8,swizzle=32 --arg f32:-1e30
run k.ll --target sm_90a --device cuda --block 32 --arg in:a.npy --arg in:a.npy
trace g.ll --target sm_100a --mma 2 --format json
trace g.ll --target sm_100a
targets --format json
explain idesc 0x8100490 --target sm_100a
explain smem-desc 0x4000404000010000
explain ctrl 193
explain collector 1
explain zero-mask 255
explain taddr 0x100040
explain layout --help
draw smem --rows 8 --columns 64 --swizzle 128
draw tmem --help
tune missing.py --cache cache.jsonl --json
--version
--help"""


def command_lines() -> tuple[Input, ...]:
    """Command lines; the files that they name lie in `doors.FILES`."""
    if not doors.FILES:
        doors.FILES.update(_files())
    return tuple(of_arguments(line.split()) for line in _LINES.split("\n"))


def _files() -> dict[str, bytes]:
    kernel = (ROOT / "samples" / "04_softmax.ll").read_text()
    small = SNIPPETS["binary"].replace("i32 %n", "ptr addrspace(1) %n").replace("%n", "5")
    small = small.replace("ptr addrspace(1) 5", "ptr addrspace(1) %n")
    made = nvgen.compile(small, target="sm_90a")
    return {
        "k.ll": small.encode(),
        "g.ll": SNIPPETS["tensor"].encode(),
        "s.ll": kernel.encode(),
        "bad.ll": b"define void @k( {",
        "k.ptx": made.ptx.encode(),
        "k.mir": made.mir.encode(),
        "a.npy": _npy(np.arange(32, dtype=np.int32)),
        "o.ptx": b"what was here before",
        "p.py": b"VALUE = 1\n",
        "empty": b"",
    }

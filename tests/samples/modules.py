"""The samples as modules, and the kernel of the first one with a line taken out."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import sys
from pathlib import Path
from types import ModuleType

from nvgen.compilation.compile_text import compile_text
from nvgen.compilation.compiled import Compiled
from nvgen.compilation.options import Options

FOLDER = Path(__file__).resolve().parents[2] / "samples"
PORTABLE = FOLDER / "11_gemm_portable.py"
"""The sample that has its own tests for each target."""

OTHERS = {FOLDER / f"{name}.py" for name in (
    "15_triton_backend", "16_numba_backend", "17_llvmlite_program"
)}  # fmt: skip
"""The samples that are other people's compilers, without a kernel of the builder."""

FILES = tuple(sorted(set(FOLDER.glob("[0-9][0-9]_*.py")) - {PORTABLE} - OTHERS))
WALKTHROUGH = FOLDER / "03_walkthrough.ll"
"""The sample of tcgen05 that is LLVM IR itself."""

SOFTMAX = FOLDER / "04_softmax.ll"
"""The sample of ordinary LLVM IR."""


@functools.cache
def sample(path: Path) -> ModuleType:
    """A sample, or a copy of one; its file name is no module name."""
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))  # for what samples import of each other
    name = f"sample_{path.parent.name}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def gemm_tile() -> ModuleType:
    """The first sample."""
    return sample(FILES[0])


def warp_specialized() -> ModuleType:
    """The second sample."""
    return sample(FILES[1])


def named(stem: str) -> ModuleType:
    """The sample of that path in the folder of samples, without its ending."""
    return sample(FOLDER / f"{stem}.py")


def edited(stem: str, old: str, new: str) -> ModuleType:
    """A copy of the sample of that file name in which `old`, which it has once, is `new`."""
    path = FOLDER / f"{stem}.py"
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    module = ModuleType(f"{stem.replace('/', '_')}_edited")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses look their module up
    exec(compile(text.replace(old, new), module.__file__, "exec"), module.__dict__)
    return module


@functools.cache
def compiled(stem: str, target: str, opt: int = 0) -> Compiled:
    """A sample's kernel, or one that is LLVM IR (with its ending), compiled once for all tests."""
    if stem.endswith(".ll"):
        return compile_text((FOLDER / stem).read_text(), Options(target=target, opt=opt))
    build = named(stem).build
    kernel = build(target) if "target" in inspect.signature(build).parameters else build()
    made: Compiled = kernel.compile(target=target, opt=opt)
    return made


@functools.cache
def gemm_llvm() -> str:
    """The LLVM IR of the first sample's kernel."""
    text: str = gemm_tile().build().llvm
    return text

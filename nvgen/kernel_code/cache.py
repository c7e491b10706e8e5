"""Machine code that is kept on disk: compiled once, by whichever process comes first.

Layer: nvgen.kernel_code.  An entry is a file, named by the digest of all that the code depends on:
the kernel's LLVM IR, or what it is built of, the target, the level of optimisation, nvgen's own
source and the versions of llvmlite and the assembler.  A folder that others write into is left
alone.  Files are written whole or not at all (a temporary one is renamed), and processes need no
lock: several that miss at once compile alike, and the last rename wins.  What cannot be read or
written is compiled, as if there were no cache.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import field, fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING

from intrinsics.collector import paused_collector
from intrinsics.findings import AssemblerError, input_error, shown
from intrinsics.lazy_dataclass import dataclass
from nvgen.kernel_code.code import MachineCode, machine_code
from nvgen.kernel_code.files import is_trusted, read, write
from nvgen.machine_code.assembler import find_ptxas
from nvgen.machine_code.tools import run_tool

if TYPE_CHECKING:
    from nvgen.built import Kernel

_FORMAT = 4
_PACKAGES = ("intrinsics", "asmprinter", "isel", "nvgen")
_ENDING = ".cubin"
_TEMPORARY = "[0-9a-f]" * 40 + "*.tmp"
_HOUR = 3600


def _folder() -> Path:
    """`NVGEN_CACHE`, or nvgen's folder in the user's cache."""
    if named := os.environ.get("NVGEN_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nvgen"


@dataclass(frozen=True, slots=True)
class CodeCache:
    """A cache of machine code in a folder of at most `limit` bytes; the least recently used goes
    first.

    `cache.code(kernel).load()` is a kernel on the GPU. Without `judged` the rules about whole
    functions, which take most of the time, are left out: for kernels that tests judge.  One that
    `loads` what it compiles imports CUDA's packages while the assembler runs.
    """

    folder: Path = field(default_factory=_folder)
    limit: int = 1 << 30
    judged: bool = True
    loads: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.folder, (str, os.PathLike)):
            raise input_error(
                "code-cache/folder", "this is no folder", got=shown(self.folder),
                expected="a path: CodeCache(Path(…)), CodeCache() has the user's",
            )  # fmt: skip
        object.__setattr__(self, "folder", Path(self.folder))
        if not isinstance(self.limit, (int, float)):
            raise input_error(
                "code-cache/limit", "this is no limit", got=shown(self.limit), expected="bytes",
            )  # fmt: skip

    def code(
        self, kernel: Kernel, target: str | None = None, opt: int | None = None
    ) -> MachineCode:
        """A kernel's machine code, from the folder, or compiled and stored there.

        Raises: InputError for what is no kernel; what `Kernel.compile` does; AssemblerError.
        """
        from nvgen.built import Kernel

        if not isinstance(kernel, Kernel):
            raise input_error(
                "code-cache/kernel", "this is no kernel", got=type(kernel).__name__,
                expected="what KernelBuilder.finish gives",
            )  # fmt: skip
        identity = {
            "name": kernel.name,
            "block": kernel.block,
            "shared": kernel.dynamic_shared,
            "parameters": repr(kernel.parameters),
            "target": target or str(kernel.target),
        }
        return self._kept(identity, kernel.llvm, lambda: kernel, target, opt)

    def built(
        self,
        build: Callable[[], Kernel],
        given: object,
        sources: Iterable[Path],
        *,
        target: str,
        opt: int | None = None,
    ) -> MachineCode:
        """The cached code of the kernel that `build` makes; `build` is called only on a miss.

        The kernel must follow from `given` and from the text of the files `sources`: those that
        `build` is written in, with what they import beside nvgen.  `given` is None, a number, a
        string, an enumeration's member, a function or class of a module, or a tuple, list or
        dataclass of these.

        Raises: InputError for another `given`; OSError for a source that cannot be read; what
        `build` and `code` do.
        """
        identity = {
            "given": _written(given),
            "sources": _digest(sources),
            "target": target,
            "python": sys.version,
        }
        return self._kept(identity, "", build, target, opt)

    def _kept(
        self,
        identity: dict[str, object],
        text: str,
        build: Callable[[], Kernel],
        target: str | None,
        opt: int | None,
    ) -> MachineCode:
        """The entry of that name, made if there is none."""
        path = (
            self.folder / f"{_key({**identity, 'opt': opt, 'judged': self.judged}, text)}{_ENDING}"
        )
        trusted = is_trusted(self.folder)
        kept = read(path) if trusted else None
        if kept is not None:
            return kept
        from nvgen.llvm.process import LLVM

        LLVM.start()  # which takes as long as a kernel is built
        with paused_collector():
            made = machine_code(build(), target, opt, judged=self.judged, loads=self.loads)
        if trusted:
            with contextlib.suppress(OSError):
                write(path, made)
                self._shrink()
        return made

    def _shrink(self) -> None:
        """Remove the files that were used longest ago, until the others are within the limit.

        What a killed process was writing goes after an hour.
        """
        for path in self.folder.glob(_TEMPORARY):
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < time.time() - _HOUR:
                    path.unlink()
        used = []
        for path in self.folder.glob(f"*{_ENDING}"):
            with contextlib.suppress(OSError):  # another process removes files, too
                found = path.stat()
                used.append((found.st_mtime_ns, found.st_size, path))
        total = sum(size for _, size, _ in used)
        for _, size, path in sorted(used):
            if total <= self.limit:
                return
            path.unlink(missing_ok=True)
            total -= size


def _key(identity: dict[str, object], text: str) -> str:
    """The digest of what the machine code depends on."""
    import llvmlite

    known = {
        "llvmlite": llvmlite.__version__,
        "format": _FORMAT,
        "nvgen": _own_digest(),
        "ptxas": _assembler_version(str(find_ptxas())),
        **identity,
    }
    described = json.dumps(known, sort_keys=True) + "\n" + text
    return hashlib.sha256(described.encode()).hexdigest()[:40]


def _written(value: object) -> object:
    """What a kernel is built for, as JSON has it: the same in every process.

    Raises: InputError for what cannot be told so.
    """
    match value:
        case Enum():
            return ["enum", _written(type(value)), value.name]
        case None | bool() | int() | float() | str():
            return value
        case tuple() | list():
            return ["", *map(_written, value)]
        case FunctionType() | type() if _is_named(value):
            return ["named", f"{value.__module__}.{value.__qualname__}"]
    if is_dataclass(value) and not isinstance(value, type):
        members = [_written(getattr(value, one.name)) for one in fields(value)]
        return ["dataclass", _written(type(value)), *members]
    raise input_error(
        "cache/given",
        "what a kernel is built for has no name that every process gives it",
        got=type(value).__name__,
        expected="a number, string, enumeration's member, function of a module, or dataclass",
        hint="what stands in __main__ is another thing in each script: put it into a module",
    )


def _is_named(value: FunctionType | type) -> bool:
    """Whether a function or class has a name of its own: `__main__` is each script's."""
    return "<" not in value.__qualname__ and value.__module__ != "__main__"


def _digest(files: Iterable[str | Path], root: str = "") -> str:
    """The digest of files and of their names behind `root`."""
    found = hashlib.sha256()
    for path in sorted(map(str, files)):
        name = path.removeprefix(root) if root else os.path.basename(path)
        with open(path, "rb") as file:
            text = file.read()
        found.update(f"{name}\0{len(text)}\0".encode() + text)
    return found.hexdigest()


@functools.cache
def _own_digest() -> str:
    """The digest of nvgen's source."""
    root = str(Path(__file__).resolve().parents[2])
    folders = (found for name in _PACKAGES for found in os.walk(os.path.join(root, name)))
    files = (os.path.join(at, name) for at, _, names in folders for name in names)
    return _digest((path for path in files if path.endswith(".py")), root)


@functools.cache
def _assembler_version(path: str) -> str:
    """What the assembler says of itself; of one that cannot be run nothing."""
    try:
        return run_tool([path, "--version"]).stdout
    except AssemblerError:
        return ""

"""Machine code that is kept on disk: compiled once, by whichever process comes first.

Layer: nvgen.driver.  An entry is a file, named by the digest of all that the code depends on: the
kernel's LLVM IR, the target, the level of optimisation, nvgen's own source and the assembler's
version.  Files are written whole or not at all (a temporary one is renamed), and processes need
no lock: several that miss at once compile alike, and the last rename wins.  What cannot be read or
written is compiled, as if there were no cache.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from intrinsics.findings import Finding, Place, Severity
from intrinsics.mir import Param
from intrinsics.modifiers import ScalarType, Space
from nvgen.assembler import find_ptxas
from nvgen.driver.kernel_code import MachineCode, machine_code
from nvgen.ptxas_log import Resources

if TYPE_CHECKING:
    from nvgen.builder.built import Kernel

_FORMAT = 1
_PACKAGES = ("intrinsics", "asmprinter", "isel", "nvgen")
_ENDING = ".cubin"


def _folder() -> Path:
    """`NVGEN_CACHE`, or nvgen's folder in the user's cache."""
    if named := os.environ.get("NVGEN_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nvgen"


@dataclass(frozen=True, slots=True)
class CodeCache:
    """Machine code in a folder, which holds `limit` bytes: what was not used for longest goes.

    `cache.code(kernel).load()` is a kernel on the GPU.
    """

    folder: Path = field(default_factory=_folder)
    limit: int = 1 << 30

    def code(
        self, kernel: Kernel, target: str | None = None, opt: int | None = None
    ) -> MachineCode:
        """A kernel's machine code: what is kept, or what is compiled and then kept.

        Raises: what `Kernel.compile` does; AssemblerError.
        """
        path = self.folder / f"{_key(kernel, target, opt)}{_ENDING}"
        kept = _read(path)
        if kept is not None:
            return kept
        made = machine_code(kernel, target, opt)
        with contextlib.suppress(OSError):
            _write(path, made)
            self._shrink()
        return made

    def _shrink(self) -> None:
        """Remove the files that were used longest ago, until the others are within the limit."""
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


def _key(kernel: Kernel, target: str | None, opt: int | None) -> str:
    """The digest of what the machine code depends on."""
    facts = {
        "format": _FORMAT,
        "name": kernel.name,
        "block": kernel.block,
        "shared": kernel.dynamic_shared,
        "target": target or str(kernel.target),
        "opt": opt,
        "nvgen": _own_digest(),
        "ptxas": _assembler_version(str(find_ptxas())),
    }
    text = json.dumps(facts, sort_keys=True) + "\n" + kernel.llvm
    return hashlib.sha256(text.encode()).hexdigest()[:40]


@functools.cache
def _own_digest() -> str:
    """The digest of nvgen's source."""
    root, found = Path(__file__).resolve().parents[2], hashlib.sha256()
    for package in _PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            found.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


@functools.cache
def _assembler_version(path: str) -> str:
    """What the assembler says of itself; of one that cannot be run nothing."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout


# ---- files -------------------------------------------------------------------------------------


def _write(path: Path, code: MachineCode) -> None:
    """Put an entry there as a whole.

    Raises: OSError.
    """
    facts = {
        "digest": hashlib.sha256(code.cubin).hexdigest(),
        "name": code.name,
        "block": code.block,
        "dynamic_shared": code.dynamic_shared,
        "params": [[*_names(param)] for param in code.params],
        "resources": asdict(code.resources),
        "warnings": [[f.rule, f.message, f.got, f.expected, f.hint] for f in code.warnings],
    }
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=path.stem, suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(json.dumps(facts).encode() + b"\n" + code.cubin)
        _mark(Path(temporary))
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _read(path: Path) -> MachineCode | None:
    """An entry, or None where there is none that is whole."""
    try:
        head, _, cubin = path.read_bytes().partition(b"\n")
        facts = json.loads(head)
        if facts["digest"] != hashlib.sha256(cubin).hexdigest():
            return None
        found = MachineCode(
            facts["name"],
            cubin,
            tuple(_param(*names) for names in facts["params"]),
            (facts["block"][0], facts["block"][1], facts["block"][2]),
            facts["dynamic_shared"],
            Resources(**facts["resources"]),
            tuple(
                Finding(
                    rule,
                    Severity.WARNING,
                    message,
                    Place(""),
                    got=got,
                    expected=expected,
                    hint=hint,
                )
                for rule, message, got, expected, hint in facts["warnings"]
            ),
        )
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return None
    with contextlib.suppress(OSError):
        _mark(path)
    return found


def _mark(path: Path) -> None:
    """Let an entry be the last one used: the file system's own clock ticks in milliseconds.

    Raises: OSError.
    """
    now = time.time_ns()
    os.utime(path, ns=(now, now))


def _names(param: Param) -> Iterator[str | int | bool | None]:
    """A parameter's fields, in their order, enumerations by their names."""
    yield from (param.name, param.type.name, param.size, param.align)
    yield param.pointee.name if param.pointee is not None else None
    yield from (param.is_pointer, param.pointee_align, param.constant)
    yield param.half.name if param.half is not None else None


def _param(
    name: str, type_: str, size: int, align: int, pointee: str | None,
    is_pointer: bool, pointee_align: int, constant: bool, half: str | None,
) -> Param:  # fmt: skip
    return Param(
        name, ScalarType[type_], size, align, Space[pointee] if pointee else None,
        is_pointer, pointee_align, constant, ScalarType[half] if half else None,
    )  # fmt: skip

"""Machine code in files: plain data, written whole or not at all, read where no other user writes.

Layer: nvgen.kernel_code.  A file is the digest of what follows it, a line of JSON, what a launch
needs to know, and the cubin.  `nvgen.kernel_code.cache` names the files.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, fields
from enum import Enum
from pathlib import Path
from typing import TypeVar

from intrinsics.descriptors.smem_desc import Swizzle
from intrinsics.element import ElementType
from intrinsics.findings import Finding, Place, Severity
from intrinsics.mir import Param
from intrinsics.modifiers import ScalarType, Space
from nvgen.kernel_code.code import MachineCode
from nvgen.launching.arguments import MapKind, Parameter
from nvgen.machine_code.ptxas_log import Resources


def write(path: Path, code: MachineCode) -> None:
    """Put an entry there as a whole.

    Raises: OSError.
    """
    attributes = {
        "name": code.name,
        "block": code.block,
        "dynamic_shared": code.dynamic_shared,
        "params": [_plain(one) for one in code.params],
        "parameters": [_plain(one) for one in code.parameters],
        "resources": asdict(code.resources),
        "warnings": [[f.rule, f.message, f.got, f.expected, f.hint] for f in code.warnings],
    }
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=path.stem, suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            body = json.dumps(attributes).encode() + b"\n" + code.cubin
            file.write(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
        _mark(Path(temporary))
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def is_trusted(folder: Path) -> bool:
    """Whether only this user can write into a folder, which need not be there yet.

    Warns: once of each folder that others may write into.
    """
    try:
        if _is_own(folder.stat()):
            return True
    except OSError:
        return True  # what is not there is made, and what cannot be read is compiled
    _warn(folder)
    return False


@functools.cache
def _warn(folder: Path) -> None:
    warnings.warn(
        f"{folder} belongs to another user or may be written by others: no machine code is kept or "
        "read there (chmod go-w, or another folder in NVGEN_CACHE)",
        RuntimeWarning,
        stacklevel=5,
    )


def _is_own(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & 0o022


def read(path: Path) -> MachineCode | None:
    """An entry, or None where there is none that is whole and this user's."""
    try:
        with path.open("rb") as file:
            if not _is_own(os.fstat(file.fileno())):
                return None
            digest, _, body = file.read().partition(b"\n")
        if digest.decode() != hashlib.sha256(body).hexdigest():
            return None
        head, _, cubin = body.partition(b"\n")
        attributes = json.loads(head)
        _check_types(attributes)
        found = MachineCode(
            attributes["name"],
            cubin,
            tuple(_made(Param, one) for one in attributes["params"]),
            (attributes["block"][0], attributes["block"][1], attributes["block"][2]),
            attributes["dynamic_shared"],
            Resources(**attributes["resources"]),
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
                for rule, message, got, expected, hint in attributes["warnings"]
            ),
            tuple(_made(Parameter, one) for one in attributes["parameters"]),
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    with contextlib.suppress(OSError):
        _mark(path)
    return found


def _check_types(attributes: dict[str, object]) -> None:
    """Raises: TypeError for names that are no strings, and numbers that are none."""
    block, resources = attributes["block"], attributes["resources"]
    if not isinstance(block, list) or not isinstance(resources, dict):
        raise TypeError
    names = (attributes["name"], resources["kernel"])
    numbers = (*block, *(n for name, n in resources.items() if name != "kernel"))
    fits = all(isinstance(name, str) for name in names)
    if not (fits and all(isinstance(n, int) for n in (*numbers, attributes["dynamic_shared"]))):
        raise TypeError


def _mark(path: Path) -> None:
    """Let an entry be the last one used: the file system's own clock ticks in milliseconds.

    Raises: OSError.
    """
    now = time.time_ns()
    os.utime(path, ns=(now, now))


Made = TypeVar("Made", Param, Parameter)

_ENUMERATIONS: dict[str, type[Enum]] = {
    **dict.fromkeys(("type", "half", "number", "holds"), ScalarType),
    "pointee": Space, "dtype": ElementType, "swizzle": Swizzle, "kind": MapKind,
}  # fmt: skip
"""Fields of parameters that are members of an enumeration, which a file names, or None."""


def _plain(parameter: Param | Parameter) -> dict[str, object]:
    """A parameter's fields, as JSON has them."""
    found = {one.name: getattr(parameter, one.name) for one in fields(parameter)}
    return {k: v.name if isinstance(v, Enum) else v for k, v in found.items()}


def _made(kind: Callable[..., Made], given: dict[str, object]) -> Made:
    """A parameter of fields that JSON has."""
    found = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
    for name in _ENUMERATIONS.keys() & found.keys():
        if found[name] is not None:
            found[name] = _ENUMERATIONS[name][str(found[name])]
    return kind(**found)

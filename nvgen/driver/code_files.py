"""Machine code in files: plain data, written whole or not at all.

Layer: nvgen.driver.  A file is a line of JSON, what a launch needs to know, and the cubin.
`nvgen.driver.code_cache` names the files.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from intrinsics.descriptors.smem_desc import Swizzle
from intrinsics.element import ElementType
from intrinsics.findings import Finding, Place, Severity
from intrinsics.mir import Param
from intrinsics.modifiers import ScalarType, Space
from nvgen.builder.arguments import MapKind, Parameter
from nvgen.driver.kernel_code import MachineCode
from nvgen.ptxas_log import Resources


def write(path: Path, code: MachineCode) -> None:
    """Put an entry there as a whole.

    Raises: OSError.
    """
    facts = {
        "digest": hashlib.sha256(code.cubin).hexdigest(),
        "name": code.name,
        "block": code.block,
        "dynamic_shared": code.dynamic_shared,
        "params": [[*_names(param)] for param in code.params],
        "parameters": [[*_told(parameter)] for parameter in code.parameters],
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


def read(path: Path) -> MachineCode | None:
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
            tuple(_parameter(*told) for told in facts["parameters"]),
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


def _told(parameter: Parameter) -> Iterator[str | bool | tuple[int, ...] | None]:
    """The fields of what the builder calls a parameter, likewise."""
    yield parameter.name
    yield parameter.dtype.name if parameter.dtype is not None else None
    yield from (parameter.box, parameter.swizzle.name, parameter.is_output, parameter.kind.name)
    yield parameter.number.name if parameter.number is not None else None


def _parameter(
    name: str, dtype: str | None, box: list[int], swizzle: str, is_output: bool, kind: str,
    number: str | None,
) -> Parameter:  # fmt: skip
    return Parameter(
        name, ElementType[dtype] if dtype else None, tuple(box), Swizzle[swizzle], is_output,
        MapKind[kind], ScalarType[number] if number else None,
    )  # fmt: skip

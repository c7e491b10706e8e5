"""The machine code that ptxas makes of PTX kernels, to compare two spellings byte for byte.

``machine_code`` puts many one-kernel modules into one file, assembles it once and takes the code
of each kernel out of the cubin, an ELF file with a section ``.text.NAME`` for each kernel.
"""

from __future__ import annotations

import bisect
import itertools
import re
import struct
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tests.oracle import ptxas

_NOBITS = 8


class AssemblyError(ValueError):
    """ptxas refuses a module, with what it says."""


def machine_code(modules: Mapping[str, str], target: str, ptx: str) -> dict[str, bytes]:
    """The code of the kernel ``k`` of each module, by the module's label.

    Raises: AssemblyError.
    """
    parts = _parts(modules, target, ptx)
    sections = dict(_sections(_assemble("".join(parts), target)))
    return {label: sections[f".text.k{n}"] for n, label in enumerate(modules)}


def refused(modules: Mapping[str, str], target: str, ptx: str) -> dict[str, str]:
    """What ptxas says of each module that it refuses, with lines as if it were alone.

    It tells of many in one run, each by the line; where it gives up, they are halved.
    """
    try:
        machine_code(modules, target, ptx)
    except AssemblyError as error:
        labels = list(modules)
        if len(labels) == 1:
            return {labels[0]: "\n".join(_ALONE.findall(str(error))) or str(error)}
        found = _blamed(str(error), modules, _parts(modules, target, ptx))
        middle = len(labels) // 2
        rest = [labels[:middle], labels[middle:]] if not found else [[*labels]]
        for some in rest:
            found |= refused({x: modules[x] for x in some if x not in found}, target, ptx)
        return found
    return {}


_ALONE = re.compile(r"^ptxas [^\n]*, line (?:\d+)[^\n]*", re.MULTILINE)
_SAID = re.compile(r"^(ptxas [^\n]*, line )(\d+)(;[^\n]*)", re.MULTILINE)


def _blamed(said: str, labels: Iterable[str], parts: Sequence[str]) -> dict[str, str]:
    """What is said of each kernel behind the head, by its label."""
    ends = [*itertools.accumulate(part.count("\n") for part in parts)]
    names = [*labels]
    found: dict[str, list[str]] = {}
    for before, line, behind in _SAID.findall(said):
        place = bisect.bisect_left(ends, int(line))
        if 0 < place < len(ends):
            own = int(line) - ends[place - 1] + ends[0]
            found.setdefault(names[place - 1], []).append(f"{before}{own}{behind}")
    return {label: "\n".join(lines) for label, lines in found.items()}


def _parts(modules: Mapping[str, str], target: str, ptx: str) -> list[str]:
    """The head of a file, then its kernels."""
    head = f".version {ptx}\n.target {target}\n.address_size 64\n"
    return [head, *(kernel_text(text, f"k{n}") for n, text in enumerate(modules.values()))]


def kernel_text(module: str, name: str) -> str:
    """A module without its first directives, its kernel and the variables called by ``name``."""
    text = re.sub(r"//[^\n]*", "", module).split(".address_size 64", 1)[1]
    text = re.sub(r"(?<![\w$%.])k(?=\(|_param_)", name, text)
    # labels and variables are the module's own
    return re.sub(r"(?<![\w$%.])(g\d+)\b", rf"{name}_\1", text)


def _assemble(text: str, target: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="oracle-") as folder:
        Path(folder, "m.ptx").write_text(text)
        done = subprocess.run(
            [ptxas.find_ptxas(), f"-arch={target}", "-o", "m.cubin", "m.ptx"],
            cwd=folder, capture_output=True, text=True, errors="replace", timeout=300, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            said = (done.stdout + done.stderr).strip()
            raise AssemblyError(said or f"ptxas ended with {done.returncode}")
        return Path(folder, "m.cubin").read_bytes()


def _sections(elf: bytes) -> Iterator[tuple[str, bytes]]:
    """Name and contents of every section of a 64-bit little-endian ELF file."""
    assert elf[:6] == b"\x7fELF\x02\x01", elf[:6]
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", elf, 0x3A)
    heads = [struct.unpack_from("<IIQQQQ", elf, table + n * size) for n in range(count)]
    names = heads[names_at][4]
    for name, kind, _, _, offset, length in heads:
        start = names + name
        text = elf[start : elf.index(b"\0", start)].decode()
        yield text, b"" if kind == _NOBITS else elf[offset : offset + length]

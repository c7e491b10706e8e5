"""LLVM IR compiled by nvgen and by LLVM: both PTX texts run on the simulator, and assembled.

A module has the kernel ``k(ptr addrspace(1) %out)``, which one thread runs, and which writes words
of 64 bits that no address of a variable goes into.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

import nvgen
from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Severity
from nvgen.sim.async_ops.schedule import parse_schedule
from nvgen.sim.launch import simulate
from tests.oracle import llvm
from tests.oracle.ptxas import find_ptxas

TARGET, PTX = "sm_90a", "8.6"
WORDS = 32


def compare(modules: Mapping[str, str], ptx: str = PTX, opt: int = 0) -> None:
    """Each module gives the same values as LLVM makes it and as nvgen does, and ptxas takes it."""
    texts = {}
    by_llvm = llvm.compile_all([*modules.values()], TARGET, ptx, opt=0)
    for (name, text), outcome in zip(modules.items(), by_llvm, strict=True):
        assert outcome.ptx, (name, outcome.refusal)
        texts[name] = nvgen.compile(text, target=TARGET, ptx=ptx, opt=opt).ptx
        ours, theirs = values(texts[name]), values(outcome.ptx)
        assert ours.tolist() == theirs.tolist(), name
        assert ours.any(), f"{name} writes nothing"
    refused = refusals(texts)
    assert not refused, refused


def values(ptx: str) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """What the kernel of a PTX module writes."""
    reading = read_ptx(ptx, "side.ptx")
    assert [f for f in reading.findings if f.severity is Severity.ERROR] == []
    out = np.zeros(WORDS, np.uint64)
    once = (1, 1, 1)
    simulate(reading.module, "k", [out], grid=once, block=once, schedule=parse_schedule("early"))
    return out


def refusals(texts: Mapping[str, str], target: str = TARGET) -> dict[str, str]:
    """What ptxas says of those modules that it refuses.

    Modules that go into one file do so first; where ptxas does not take the file, and of other
    modules, each has a process, which all run at once.
    """
    joined = joint(texts.values()) if len(texts) > 1 else ""
    given = {"": joined} if joined else texts
    said = _refusals(given, target)
    return _refusals(texts, target) if said and joined else said


def _refusals(texts: Mapping[str, str], target: str) -> dict[str, str]:
    with tempfile.TemporaryDirectory(prefix="oracle-") as folder:
        started = {}
        for n, (name, text) in enumerate(texts.items()):
            Path(folder, f"{n}.ptx").write_text(text)
            started[name] = subprocess.Popen(
                [find_ptxas(), f"-arch={target}", "-c", "-o", f"{n}.cubin", f"{n}.ptx"],
                cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
        said = {name: process.communicate()[0] for name, process in started.items()}
    return {name: said[name] for name, process in started.items() if process.returncode}


_HEAD = ".address_size 64\n"
"""The last line that all modules have for a version and a target."""

_OWN = re.compile(
    r"^\.visible (?:\.global .*? (\w+)(?:\[\d+\])?(?: = .*)?;|\.entry (\w+)\()$", re.MULTILINE
)
"""A variable or a kernel that a module defines."""

_DEFINES = re.compile(r"^\.\w", re.MULTILINE)


def joint(texts: Iterable[str]) -> str:
    """One module of many, in which the names of each have its number; "" where some declare more
    than kernels and global variables, or where versions or targets differ."""
    parts, heads = [], set()
    for n, text in enumerate(texts):
        head, _, body = re.sub("//.*", "", text).partition(_HEAD)
        names = [a or b for a, b in _OWN.findall(body)]
        if len(names) != len(_DEFINES.findall(body)):
            return ""
        own = rf"(?<![\w$%.])(?:{'|'.join(names)})(?![\w$.])(?!_param_)|(?<![\w$%.])\w+_param_"
        parts.append(re.sub(own, rf"m{n}_\g<0>", body))
        heads.add(head.strip())
    return "".join([*heads, "\n", _HEAD, *parts]) if len(heads) == 1 else ""

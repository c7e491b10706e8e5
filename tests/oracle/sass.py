"""Machine code as nvdisasm lists it, and what its loops hold.

``find_nvdisasm`` looks where the PyPI package nvidia-cuda-nvdisasm puts it, then on the PATH.
``innermost`` counts instructions in the smallest loop around the first instruction of a kind,
``smallest`` in the smallest that holds one: a loop is what lies between a branch back and its
target.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path


@functools.cache
def find_nvdisasm() -> str | None:
    """The path of nvdisasm, or None."""
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob("cu*/bin/nvdisasm"), reverse=True):
            return str(path)
    return shutil.which("nvdisasm")


@dataclass(frozen=True)
class Listing:
    """Mnemonics in order (`UTMALDG.2D`), and the loops as (first, last) places."""

    mnemonics: tuple[str, ...]
    loops: tuple[tuple[int, int], ...]

    def innermost(self, kind: str) -> Counter[str]:
        """How often each kind of instruction stands in the smallest loop around `kind`.

        Raises: LookupError when there is none, or it is in no loop.
        """
        place = self.kinds.index(kind)
        around = [
            (last - first, first, last) for first, last in self.loops if first <= place <= last
        ]
        if not around:
            raise LookupError(f"{kind} is in no loop")
        _, first, last = min(around)
        return Counter(self.kinds[first : last + 1])

    def smallest(self, kind: str) -> Counter[str]:
        """How often each kind of instruction stands in the smallest loop that holds a `kind`.

        Raises: LookupError when no loop does.
        """
        places = [place for place, found in enumerate(self.kinds) if found == kind]
        around = [
            (last - first, first, last)
            for first, last in self.loops
            if any(first <= place <= last for place in places)
        ]
        if not around:
            raise LookupError(f"{kind} is in no loop")
        _, first, last = min(around)
        return Counter(self.kinds[first : last + 1])

    @functools.cached_property
    def kinds(self) -> list[str]:
        """Mnemonics without their modifiers."""
        return [mnemonic.split(".")[0] for mnemonic in self.mnemonics]


_LABEL = re.compile(r"(\.L\w+):")
_INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)(.*?);")
_TARGET = re.compile(r"`\((\.L\w+)\)")


def listing(cubin: bytes) -> Listing:
    """The listing of a cubin with one kernel."""
    nvdisasm = find_nvdisasm()
    assert nvdisasm is not None
    with tempfile.TemporaryDirectory(prefix="oracle-") as folder:
        path = Path(folder, "m.cubin")
        path.write_bytes(cubin)
        done = subprocess.run(
            [nvdisasm, "-c", str(path)], capture_output=True, text=True, timeout=120, check=True
        )
    return read_listing(done.stdout)


def read_listing(text: str) -> Listing:
    """Read what nvdisasm prints."""
    labels: dict[str, int] = {}
    mnemonics: list[str] = []
    branches: list[tuple[int, str]] = []
    for line in text.splitlines():
        if label := _LABEL.match(line):
            labels[label[1]] = len(mnemonics)
        elif found := _INSTRUCTION.search(line):
            target = _TARGET.search(found[2])
            if found[1].startswith("BRA") and target is not None:
                branches.append((len(mnemonics), target[1]))
            mnemonics.append(found[1])
    loops = tuple((labels[to], at) for at, to in branches if labels[to] <= at)
    return Listing(tuple(mnemonics), loops)

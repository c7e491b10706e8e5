"""ptxas takes every file of the corpus, and the PTX that nvgen prints of what it read."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from asmprinter.ptx.printer import print_ptx
from asmprinter.ptx.reading.reader import read_ptx
from tests.oracle import ptxas
from tests.ptx_corpus import FILES


def complaints(text: str, folder: Path) -> str:
    """What ptxas says of a module when it generates code for its target; "" when it takes it."""
    target = re.search(r"\.target (\w+)", text)
    assert target is not None
    (folder / "m.ptx").write_text(text)
    command = [ptxas.find_ptxas(), f"-arch={target[1]}", "-c", "-o", "m.cubin", "m.ptx"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.mark.turns(4)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_ptxas_takes_it_and_what_is_printed_of_it(path: Path, tmp_path: Path):
    text = path.read_text()
    assert complaints(text, tmp_path) == ""
    module = read_ptx(text, path.name).module
    assert module.ptx is not None
    assert complaints(print_ptx(module, module.ptx).text, tmp_path) == ""

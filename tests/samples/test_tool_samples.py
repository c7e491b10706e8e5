"""Samples 15 to 17: nvgen as the code generator of Triton, numba-cuda and programs of llvmlite's.

Triton and numba-cuda are no test dependencies: `pip install '.[tools]'` brings them.  ptxas is the
oracle of what is accepted; results are compared on a GPU by the samples themselves.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest

from tests.oracle.ptxas import find_ptxas
from tests.samples.modules import FOLDER

LINES = {"15_triton_backend": 7, "16_numba_backend": 12}
PACKAGE = {"15_triton_backend": "triton", "16_numba_backend": "numba_cuda"}
IMPORTS = {
    "15_triton_backend": "import triton.compiler",
    "16_numba_backend": "import numba.cuda.np.arrayobj",
}
"""What fails where a tool does not fit the packages beside it, such as numpy's version."""


def run(name: str) -> str:
    """What a sample prints, in a process of its own: the tools change what is global."""
    root = FOLDER.parent
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(FOLDER / f"{name}.py")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root), "TRITON_ALWAYS_COMPILE": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", LINES)
def test_the_kernels_of_a_tool_are_assembled_and_counted(name: str) -> None:
    if importlib.util.find_spec(PACKAGE[name]) is None:
        pytest.skip(f"{PACKAGE[name]} is not installed: pip install '.[tools]'")
    probe = subprocess.run([sys.executable, "-c", IMPORTS[name]], capture_output=True, text=True)
    if probe.returncode:
        pytest.skip(f"{PACKAGE[name]} cannot be imported: {probe.stderr.strip().splitlines()[-1]}")
    if find_ptxas() is None:
        pytest.skip("ptxas is not installed")
    out = run(name).splitlines()
    assert len(out) == 2 + LINES[name] + 1
    assert float(out[-1].split()[-1]) < 1.1


@pytest.mark.turns(3)
def test_the_program_of_llvmlite_is_equal_to_numpy() -> None:
    assert "equal to numpy" in run("17_llvmlite_program")

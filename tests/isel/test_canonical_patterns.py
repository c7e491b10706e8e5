"""The manual's synchronisation patterns against the verifier.

Right kernels are without a finding, and ptxas takes each.  What nvgen is asked is what
`nvgen check --level all` is asked; the size of the block stands in the kernels.
"""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

import pytest

from intrinsics.findings import Finding, Severity
from nvgen.assembler import find_ptxas
from nvgen.loading import load
from tests.isel import canonical_compositions, canonical_patterns
from tests.isel.pattern_ptx import Kernel

CLEAN = {
    name.lower(): kernel
    for module in (canonical_patterns, canonical_compositions)
    for name, kernel in vars(module).items()
    if isinstance(kernel, Kernel)
}


@functools.cache
def findings(kernel: Kernel) -> list[Finding]:
    """What is said of a kernel, but for notes."""
    judged = load("k.ptx", kernel.ptx(), target=kernel.target, ptx=None, level="all").findings
    return [f for f in judged if f.severity is not Severity.NOTE]


# ---- what is right ---------------------------------------------------------------------------

_NOT_READ = "tcgen05.cp and tcgen05.shift have no row yet"
_WHO = "setp with a second condition is not followed: the one thread of the pair is not seen"
_BEFORE = "what comes before the MMA on every way is taken to come after it"

FALSE_ALARMS = {
    "cp_mma": _NOT_READ,
    "shift_mma": _NOT_READ,
    "shift_cp": _NOT_READ,
    "mma_shift": _NOT_READ,
    "block_scaled": _NOT_READ,
    "pair_mma_mma": _WHO,
    "pair_cp_mma": _NOT_READ,
    "cp_ld": _NOT_READ,
    "cp_shift": _NOT_READ,
    "shift_ld": _NOT_READ,
    "ld_mma": _BEFORE,
    "st_mma": _BEFORE,
    "mma_cp": _NOT_READ,
    "cp_mma_relaxed": _NOT_READ,
    "cp_mma_released": _NOT_READ,
    "shift_mma_relaxed": _NOT_READ,
    "pair_cp_mma_relaxed": _NOT_READ,
    "cp_mma_barrier": _NOT_READ,
    "cp_mma_flag": _NOT_READ,
    "named_barrier": _NOT_READ,
    "ld_mma_counter": _BEFORE,
    "cp_ld_threads": _NOT_READ,
    "pair_mma_ld_cluster": _WHO,
    "cp_from_tma": _NOT_READ,
    "cp_from_threads": _NOT_READ,
    "scaled_ring": _NOT_READ,
    "pair_tile": _WHO,
    "pair_two_rounds": _WHO,
    "pair_no_readers": _WHO,
    "pair_freed_last": _WHO,
}
"""Right kernels of which something is said, and why."""


def _clean(name: str) -> object:
    marks = [pytest.mark.xfail(reason=FALSE_ALARMS[name])] if name in FALSE_ALARMS else []
    return pytest.param(CLEAN[name], id=name, marks=marks)


@pytest.mark.parametrize("kernel", [_clean(name) for name in CLEAN])
def test_a_right_kernel_is_clean(kernel: Kernel):
    assert findings(kernel) == []


@pytest.mark.parametrize("kernel", CLEAN.values(), ids=CLEAN)
def test_ptxas_takes_it(kernel: Kernel, tmp_path: Path):
    ptxas = find_ptxas()
    if ptxas is None:
        pytest.skip("no ptxas")
    source = tmp_path / "k.ptx"
    source.write_text(kernel.ptx())
    command = [str(ptxas), "-arch", kernel.target, str(source), "-o", str(tmp_path / "k.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_each_pattern_has_kernels():
    assert len(CLEAN) >= 60
    assert FALSE_ALARMS.keys() <= CLEAN.keys()

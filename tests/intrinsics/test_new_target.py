"""A new target is a change to `targets.py` alone: a made-up one compiles, and is judged.

A process of its own reads the file with three lines changed, and everything else as it is.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

EDITS = (
    (
        "    sm_121 8.8  sm_121a 8.8  sm_121f 8.8\n",
        "    sm_121 8.8  sm_121a 8.8  sm_121f 8.8\n    sm_130 9.5  sm_130a 9.5\n",
    ),
    ('_BLACKWELL = "100af 101af', '_BLACKWELL = "130a 100af 101af'),
    ("_LLVM_RELATIVES = {107: 103}", "_LLVM_RELATIVES = {107: 103, 130: 103}"),
)
"""sm_130 and sm_130a, the second with what the targets with tensor memory have."""

SCRIPT = """
import json, sys, types
from pathlib import Path

import intrinsics

edits = json.loads(sys.argv[1])
text = Path("intrinsics/targets.py").read_text(encoding="utf-8")
for before, after in edits:
    assert text.count(before) == 1, before
    text = text.replace(before, after)
module = types.ModuleType("intrinsics.targets")
sys.modules[module.__name__] = intrinsics.targets = module
exec(compile(text, "targets.py", "exec"), module.__dict__)

import nvgen
from tests.samples.modules import gemm_tile

kernel, compile = gemm_tile().build(), nvgen.compile
told = {}
for opt in (0, 2):
    compiled = compile(kernel, target="sm_130a", opt=opt)
    told[f"ptx {opt}"] = compiled.ptx[:200] + compiled.ptx[compiled.ptx.index("tcgen05.mma"):][:40]
    told[f"findings {opt}"] = [f.rule for f in compiled.findings]
for name, text in (("plain", kernel), ("wgmma", '''
define ptx_kernel void @k() {
  call void @llvm.nvvm.wgmma.fence.sync.aligned()
  ret void
}
''')):
    try:
        compile(text, target="sm_130" if name == "plain" else "sm_130a")
    except nvgen.NvgenError as error:
        told[name] = [[f.rule, f.expected] for f in error.findings]
told["shared"] = module.TARGETS["sm_130a"].shared_limit
print(json.dumps(told))
"""


@functools.cache
def told() -> dict:
    """What the process says."""
    command = [sys.executable, "-c", SCRIPT, json.dumps(EDITS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.turns(3)
def test_kernels_are_compiled_for_it() -> None:
    for opt in (0, 2):
        assert ".version 9.5\n.target sm_130a\n" in told()[f"ptx {opt}"]
        assert "tcgen05.mma.cta_group::1.kind::f16" in told()[f"ptx {opt}"]
        assert told()[f"findings {opt}"] == []


def test_what_it_has_not_is_refused_and_what_has_it_is_named() -> None:
    plain = [expected for rule, expected in told()["plain"] if rule.endswith("/target")]
    assert plain
    assert all("sm_130a" in expected for expected in plain)
    (wgmma,) = told()["wgmma"]
    assert wgmma[0].endswith("/target")
    assert "sm_130a" not in wgmma[1]


def test_it_has_the_shared_memory_of_its_kin() -> None:
    assert told()["shared"] == 227 * 1024

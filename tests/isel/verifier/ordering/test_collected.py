"""Collector buffers in loops: a use is of the matrix that the buffer was filled with in this turn.

What a descriptor names is a number in a run only: its address moves with the turn.
"""

from __future__ import annotations

from pathlib import Path

import nvgen
from intrinsics.findings import Severity, VerificationError
from tests.each import each

SAMPLE = (Path(__file__).parents[4] / "samples/03_walkthrough.ll").read_text()
CALL = "call void @llvm.nvvm.tcgen05.mma.cta_group__1"
FILL = next(line for line in SAMPLE.splitlines() if CALL in line)
USE = FILL.replace("i32 193, i32 1,", "i32 193, i32 3,").replace("%accumulate", "true")

SECOND = {
    "the same matrix": (USE, []),
    "another variable": (USE.replace("%a_desc", "%b_desc"), ["tcgen05.mma/collector-place"]),
    "another part of the tile": (
        "%other = add i64 %a_desc, 2\n" + USE.replace("%a_desc", "%other"),
        ["tcgen05.mma/collector-place"],
    ),
}


@each("name", SECOND)
def test_a_use_in_a_loop(name: str) -> None:
    use, rules = SECOND[name]
    assert SAMPLE.count(FILL) == 1
    text = SAMPLE.replace(FILL, f"{FILL}\n{use}")
    try:
        found = nvgen.compile(text, target="sm_100a", level="all").findings
    except VerificationError as error:
        found = list(error.findings)
    told = [f for f in found if f.severity is not Severity.NOTE]
    assert [f.rule for f in told] == rules, told
    assert all("has filled the buffer with smem_a" in f.got for f in told)

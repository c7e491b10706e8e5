"""What somebody gets wrong in the warp-specialised GEMM, as an edit of its Python, without a run.

Each edit is one that the manual forbids, with the rule that says so, or one that it allows and that
looks like a mistake.  PTX ISA, tcgen05: Access restrictions, Memory Consistency Model; bar.sync.
"""

from __future__ import annotations

import pytest

from intrinsics.findings import NvgenError, Severity
from tests.samples.modules import FOLDER

TEXT = (FOLDER / "02_gemm_warp_specialized.py").read_text(encoding="utf-8")

Edits = tuple[tuple[str, str], ...]

LANES = "(b.tid_x >> 5 << 21)"
LAST = "if part == TILE_N // PART - 1:"
FENCE = "                b.fence_proxy_async(Space.SHARED_CTA)\n"
FREED = "                    b.mbarrier_arrive(free[turn.stage])\n"
FREE = "                    b.tcgen05_fence_before_thread_sync()\n" + FREED
STORE = "                    b.cp_async_bulk_tensor_s2g_tile("
PARTS = "            for part in range(TILE_N // PART):\n"

WRONG: dict[str, tuple[Edits, str, Severity]] = {
    "the lanes of the neighbour": (
        ((LANES, "((b.tid_x >> 5 ^ 1) << 21)"),), "tcgen05.ld/lane-quarter", Severity.ERROR),
    "sixteen lanes a warp": (
        ((LANES, "(b.tid_x >> 5 << 20)"),), "tcgen05.ld/lane-quarter", Severity.ERROR),
    "no lanes": (((f" + {LANES}", ""),), "tcgen05.ld/lane-quarter", Severity.WARNING),
    "a lane for each thread": (
        ((LANES, "(b.tid_x << 16)"),), "tcgen05.ld/uniform-address", Severity.ERROR),
    "a part is read, all is handed back": (
        ((LAST, "if part == 0:"),), "tcgen05.mma/unordered", Severity.ERROR),
    "the same of one accumulator": (
        ((LAST, "if part == 0:"), ("ACCUMULATORS = 2", "ACCUMULATORS = 1")),
        "tcgen05.mma/unordered", Severity.ERROR),
    "nothing is read, all is handed back": (
        ((FREE, "                    pass\n"),
         (PARTS, "            b.mbarrier_arrive(free[turn.stage])\n" + PARTS)),
        "tcgen05.mma/unordered", Severity.ERROR),
    "a barrier of threads that do not come": (
        (("(EPILOGUE_BARRIER, EPILOGUE)", "(EPILOGUE_BARRIER, THREADS)"),),
        "sync/deadlock", Severity.ERROR),
    "no proxy fence": (((FENCE, ""),), "shared/proxy-fence", Severity.ERROR),
}  # fmt: skip

RIGHT: dict[str, Edits] = {
    "a proxy fence by the thread that has TMA store, behind the barrier": (
        (FENCE, ""),
        (STORE, "                    b.fence_proxy_async(Space.SHARED_CTA)\n" + STORE),
    ),
    "an arrival elsewhere between stores and their proxy fence": (
        (FREE, "                    pass\n"),
        (FENCE, f"                {LAST}\n{FREE}{FENCE}"),
    ),
}


def said(edits: Edits) -> dict[str, Severity]:
    """The rules that an edited sample breaks, each with its worst severity; notes are left out."""
    text = TEXT
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    names: dict[str, object] = {"__name__": "edited"}
    exec(compile(text, "edited.py", "exec"), names)
    build = names["build"]
    assert callable(build)
    try:
        found = build().compile(target="sm_100a", level="all").findings
    except NvgenError as error:
        found = error.findings
    order = sorted(found, key=lambda f: f.severity is Severity.ERROR)
    return {f.rule: f.severity for f in order if f.severity is not Severity.NOTE}


@pytest.mark.turns(8)
@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_found_without_a_run(name: str):
    edits, rule, severity = WRONG[name]
    assert said(edits).get(rule) is severity


@pytest.mark.turns(8)
@pytest.mark.parametrize("name", RIGHT)
def test_what_looks_like_a_mistake_is_none(name: str):
    assert said(RIGHT[name]) == {}

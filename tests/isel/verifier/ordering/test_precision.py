"""What rules about whole functions say of compilers' kernels, and why it stands, by the manual.

Every error, review and warning of the texts under `tests/ptx_corpus` is here: what is not is a
false alarm.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from asmprinter.ptx.reading.reader import read_ptx
from intrinsics.findings import Severity
from isel.verifier.functions import verify_functions
from tests.each import each

CORPUS = Path(__file__).resolve().parents[3] / "ptx_corpus"
TEXTS = sorted(path.stem for path in CORPUS.glob("*.ptx"))

_NO_FENCES = (
    "Triton writes no tcgen05.fence: behind a barrier or a wait the manual asks for one "
    "(tcgen05.fence; Canonical synchronization patterns), which ptxas may not need"
)
_NO_INIT_FENCE = (
    "copies complete on mbarriers in the async proxy, and Triton writes no fence.mbarrier_init for "
    "its own CTA's: whether these need one the manual does not say"
)
JUDGED: dict[str, tuple[dict[str, int], str]] = {
    "triton_matmul_sm100a": (
        dict.fromkeys(
            (
                "tcgen05/fence-before",
                "tcgen05/fence-after",
                "tcgen05.ld/before-fence",
            ),
            1,
        ),
        _NO_FENCES,
    ),
    "triton_tma_sm90a": ({"mbarrier.init/fence": 1}, _NO_INIT_FENCE),
    "triton_tma_special_sm90a": ({"mbarrier.init/fence": 4}, _NO_INIT_FENCE),
    "triton_tma_special_sm100a": (
        {
            "mbarrier.init/fence": 2,
            "tcgen05/fence-before": 1,
            "tcgen05/fence-after": 1,
            "setmaxnreg.dec/warpgroup": 1,
        },
        _NO_INIT_FENCE
        + "; "
        + _NO_FENCES
        + "; each warp of a warpgroup gives registers back in a role of its own, where "
        "the manual asks for one setmaxnreg that all of them execute",
    ),
    "nvcc_hopper_sm90a": (
        {"setmaxnreg.dec/ignored": 1},
        "nothing says how many registers a thread begins with, and ptxas ignores it (C7508)",
    ),
    "nvcc_reduce_sm90": (
        {"atom/scope": 1},
        "atomicAdd_block adds to a float that a parameter names, where threads of other CTAs that "
        "add to it are outside of its scope (Morally strong operations)",
    ),
}
"""By text: how often each rule speaks, and why it is right to."""


@each("name", TEXTS, turns=3)
def test_what_is_said_of_a_real_kernel_is_judged(name: str) -> None:
    module = read_ptx((CORPUS / f"{name}.ptx").read_text(), name).module
    found = [f for f in verify_functions(module) if f.severity is not Severity.NOTE]
    assert [f for f in found if f.severity is Severity.ERROR] == []
    expected, _ = JUDGED.get(name, ({}, ""))
    assert Counter(f.rule for f in found) == expected

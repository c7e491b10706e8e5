"""The table of what was judged has each rule once, and a corpus at hand is as it says."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from intrinsics.findings import Severity
from nvgen.compilation import judgement
from tests.corpora.judged import (
    GENERATED,
    HELION,
    JUDGED,
    LANGUAGES,
    LATER,
    LESSONS,
    LIBRARIES,
    PACKAGES,
    PROGRAMS,
    TABLES,
    UNSEEN,
)
from tests.corpora.precision import differences, found_in

FOLDER = os.environ.get("NVGEN_CORPUS", "")


def test_a_rule_is_judged_once_and_with_a_reason() -> None:
    later = (UNSEEN, LATER, LESSONS, PROGRAMS, LANGUAGES, HELION, PACKAGES, GENERATED)
    for table in (*TABLES.values(), *later):
        counts = Counter((j.severity, j.rule) for j in table)
        assert set(counts.values()) == {1}
        assert {j.severity for j in table} <= {s.value for s in Severity}
        assert all(j.why and 0 < j.modules <= j.findings for j in table)


def test_what_says_an_error_of_kernels_in_use_stops_no_compilation() -> None:
    """And whatever else says an error does: nothing is doubted without such a kernel, but for what
    nvgen's own expansion of a sparse, weight-stationary multiply does, and CUTLASS with copies."""
    tables = (*TABLES.values(), UNSEEN, LATER, HELION)
    said = {j.rule for table in tables for j in table if j.severity == Severity.ERROR.value}
    ours = "tcgen05.cp/not-pipelined"
    assert ours in {j.rule for j in LIBRARIES}
    assert {rule.partition("/")[2] for rule in (*said, ours)} == judgement.DOUBTED


def test_what_differs_is_reported() -> None:
    said = {(j.severity, j.rule): (j.modules, j.findings) for j in JUDGED}
    assert differences(said, JUDGED) == []
    del said["error", "tcgen05.alloc/peer"]
    assert differences({**said, ("error", "new/rule"): (1, 2)}, JUDGED) == [
        "error new/rule: 2 in 1 modules, judged: nothing",
        "error tcgen05.alloc/peer: nothing, judged: 2 in 1 modules",
    ]


@pytest.mark.skipif(not FOLDER, reason="NVGEN_CORPUS names no folder that real_ptx.py made")
def test_the_corpus_is_as_judged() -> None:
    assert found_in(Path(FOLDER)) == []

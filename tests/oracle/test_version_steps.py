"""Every PTX version between those of `test_legality` and `test_legality_older`, on a sample.

What came with one version is not there in the one before it: each of a part of the statements is
judged at every version that the other lists step over, and ptxas says where it begins.
"""

from __future__ import annotations

import functools
import re

import numpy as np
import pytest

from tests.oracle.agreement import Reading
from tests.oracle.evidence import LEGAL, REFUSED, UNKNOWN, Answers, complaints
from tests.oracle.recorded_lists import STEPS, between_versions
from tests.oracle.test_legality import DELIBERATE
from tests.oracle.test_legality_older import ACCEPTED_HERE, REFUSED_HERE
from tests.oracle.verdict_file import Pair


@functools.cache
def sample() -> tuple[Reading, Answers]:
    """The statements as nvgen reads them, and what ptxas says."""
    reading = Reading.of(between_versions())
    return reading, Answers(reading.statements, "version_steps")


@pytest.mark.parametrize("pair", STEPS, ids=lambda pair: f"{pair.target}-{pair.ptx}")
def test_a_statement_is_legal_from_the_same_version_on(pair: Pair) -> None:
    reading, answers = sample()
    theirs = answers.verdicts(pair)
    if (theirs == UNKNOWN).any():
        pytest.skip("verdicts are not recorded, and there is no ptxas to ask")
    refused = reading.refusals(pair)
    ours = np.full(len(reading.statements), LEGAL)
    ours[[*refused]] = REFUSED
    differ = []
    for place in np.flatnonzero(ours != theirs):
        text = reading.statements[place]
        allowed = (*DELIBERATE, *REFUSED_HERE) if place in refused else ACCEPTED_HERE
        if place in reading.unknown or any(re.search(e.statements, text) for e in allowed):
            continue
        differ.append((text, refused.get(int(place)) or complaints(text, pair)))
    assert not differ, "\n".join(map(str, differ[:40]))

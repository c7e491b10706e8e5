"""Every PTX version between those of `test_legality` and `test_legality_older`, on a sample.

What came with one version is not there in the one before it: each of a part of the statements is
judged at every version that the other lists step over, and ptxas says where it begins.
"""

from __future__ import annotations

import functools
import re

import pytest

from asmprinter.ptx_reader import read_ptx
from intrinsics.findings import Finding, Severity
from intrinsics.mir import Module
from intrinsics.targets import TARGETS, parse_ptx
from isel.verifier.record import verify_records
from tests.oracle import ptxas
from tests.oracle.test_legality import DELIBERATE, FAMILIES
from tests.oracle.test_legality_older import ACCEPTED_HERE, REFUSED_HERE

PART = 37
"""One of so many statements is asked."""

STEPS = [
    *(("sm_80", f"7.{n}") for n in range(1, 8)),
    *(("sm_80", f"8.{n}") for n in range(6)),
    *(("sm_90a", f"8.{n}") for n in range(1, 6)),
]


@functools.cache
def sample() -> tuple[tuple[str, ...], Module, tuple[Finding, ...]]:
    """A part of the statements that targets before Blackwell may have, and how nvgen reads them.

    Those with registers of 128 bits, which came with PTX 8.3, are left out.
    """
    those = (make() for family, make in FAMILIES.items() if not family.startswith("tcgen05"))
    listed = tuple(text for texts in those for text in list(texts)[::PART] if "%q" not in text)
    read = read_ptx(ptxas.module_text(listed, "sm_107a", "9.5"))
    return listed, read.module, tuple(read.findings)


@pytest.mark.parametrize(("target", "version"), STEPS, ids=lambda word: word)
def test_a_statement_is_legal_from_the_same_version_on(target: str, version: str) -> None:
    statements, module, read = sample()
    unknown = {finding.place.line for finding in read if finding.incomplete}
    found = [*read, *verify_records(module, TARGETS[target], parse_ptx(version), hints=False)]
    refused = {finding.place.line for finding in found if finding.severity is Severity.ERROR}
    differ = []
    for index, messages in enumerate(ptxas.judge(statements, target, version)):
        line, text = ptxas.line_of(index), statements[index]
        if line in unknown or (line in refused) == bool(messages):
            continue
        allowed = (*DELIBERATE, *REFUSED_HERE) if line in refused else ACCEPTED_HERE
        if not any(re.search(entry.statements, text) for entry in allowed):
            differ.append((text, messages or "nvgen refuses"))
    assert not differ, "\n".join(map(str, differ[:40]))

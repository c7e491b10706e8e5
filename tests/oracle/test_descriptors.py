"""ptxas takes every descriptor: what the rules about them say of it is true.

Each wrong and each right word of the rules' own tests stands in a kernel, of which ptxas generates
code.  Where ptxas one day refuses one of them, the table of rules is out of date.
"""

from __future__ import annotations

import pytest

from intrinsics.targets import TARGETS
from isel.verifier.descriptors.check import RULES
from nvgen.machine_code.assembler import assemble
from tests.isel.verifier.descriptors.descriptor_words import HEAD, kernel
from tests.isel.verifier.descriptors.test_descriptors import CASES


@pytest.mark.parametrize("target", sorted({case.target for case in CASES}))
def test_ptxas_generates_code_for_every_case(target: str) -> None:
    statements = [
        (text, case.directives)
        for case in CASES
        if case.target == target
        for text in (case.wrong, case.right)
    ]
    entries = [kernel(*given, name=f"k{n}") for n, given in enumerate(statements)]
    text = HEAD.format(target=target).replace("65536", "1024") + "".join(entries)
    assert assemble(text, TARGETS[target]).cubin


def test_the_table_says_so() -> None:
    assert {rule.ptxas for rule in RULES} == {"accepts"}

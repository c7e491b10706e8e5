"""What else is said of a kernel with one mistake, because accesses are no longer in order.

A mistake about a wait, a fence or a barrier has more than one victim: each of them is a finding.
"""

from __future__ import annotations

from collections.abc import Iterable

from intrinsics.findings import Finding
from isel.verifier.ordering import rules


def is_of_order(rule: str) -> bool:
    """Whether a rule is one about order, `{op}` being any instruction."""
    return any(rule.endswith(one.id.removeprefix("{op}")) for one in rules.RULES)


def others(found: Iterable[Finding], hit: Finding) -> set[str]:
    """The rules of other findings that do not just follow from a loss of order."""
    return {f.rule for f in found if f is not hit and not is_of_order(f.rule)}


def besides(also: Iterable[str]) -> set[str]:
    """The rules that a mistake brings with it, but for those about order."""
    return {rule for rule in also if not is_of_order(rule)}

"""What the table of rules says of ptxas, shown: each rule of a row alone decides about a statement.

For every rule there is a statement, among those that `test_legality` compares (of wgmma, those that
`test_wgmma_product` compares), on which nvgen finds that rule and nothing else, for some target and
PTX version, and ptxas then does what the table says.  The statements know nothing of the rules.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from intrinsics.catalog import rows
from intrinsics.findings import Severity
from intrinsics.reference_row import ptxas_says
from intrinsics.row import Row, Rule
from intrinsics.targets import TARGETS, Capability, Ptx
from isel.verifier.record import verify_records
from tests.oracle import mma_kind_product, mma_sp_product, mma_sync_product, ptxas, wgmma_product
from tests.oracle.test_legality import FAMILIES, Reading, reading, reading_of
from tests.oracle.test_legality_older import CASES as OLDER

CASES = [
    ("sm_107a", "9.5"), ("sm_100a", "9.0"), ("sm_110a", "9.0"), ("sm_100f", "8.8"),
    ("sm_120a", "9.5"), ("sm_90a", "8.6"), ("sm_100a", "8.6"), ("sm_103a", "8.8"), *OLDER,
]  # fmt: skip
"""Targets and versions on which the rules are looked for."""


@functools.cache
def shown() -> dict[str, set[str]]:
    """What ptxas does with the statements on which a rule is all that nvgen finds, by rule."""
    found: dict[str, set[str]] = {}
    for read, target, version in _questions():
        for rule, verdict in _alone(read, target, version):
            found.setdefault(rule, set()).add(verdict)
    return found


def _questions() -> Iterator[tuple[Reading, str, str]]:
    for family in FAMILIES:
        for target, version in CASES:
            yield reading(family), target, version
    wanted = re.compile(r"k(16|32|64)\.(f(16|32)(\.b?f16){2}|s32(\.[su]8){2}) ")
    multiplies = reading_of(text for text in wgmma_product.types() if wanted.search(text))
    for version in ("8.2", "8.6"):
        yield multiplies, "sm_90a", version
    yield from _warp_multiplies()


def _warp_multiplies() -> Iterator[tuple[Reading, str, str]]:
    """Of mma and mma.sp what the manual has, layouts, other types of D and C, scale factors."""
    wanted = re.compile(r"m16n8k(16|64)\S*\.(e4m3|f16)|m8n8k4\S*\.f16")
    products = (mma_sync_product, mma_sp_product)
    sums = (text for one in products for text in one.types_of_sums() if wanted.search(text))
    forms = (text for one in products for text in one.forms())
    texts = (*forms, *mma_sync_product.layouts(), *sums)
    multiplies = reading_of(dict.fromkeys(texts))
    for target, version in (
        ("sm_75", "7.0"),
        ("sm_80", "7.0"),
        ("sm_89", "8.4"),
        ("sm_89", "8.7"),
        ("sm_120a", "9.5"),
    ):
        yield multiplies, target, version
    kinds = (*mma_kind_product.forms(), *mma_kind_product.scales())
    narrow = reading_of(dict.fromkeys(kinds))
    for target, version in (
        ("sm_100a", "8.6"),
        ("sm_100a", "9.5"),
        ("sm_120a", "9.0"),
        ("sm_120a", "9.5"),
    ):
        yield narrow, target, version


def _alone(read: Reading, target: str, version: str) -> list[tuple[str, str]]:
    major, minor = version.split(".")
    findings = verify_records(
        read.module, TARGETS[target], Ptx(int(major), int(minor)), hints=False
    )
    by_line: dict[int, set[str]] = {}
    for finding in (*read.findings, *findings):
        if finding.severity is Severity.ERROR:
            by_line.setdefault(finding.place.line, set()).add(finding.rule)
    theirs = ptxas.judge(read.statements, target, version)
    return [
        (next(iter(rules)), "refuses" if theirs[index] else "accepts")
        for index in range(len(read.statements))
        if len(rules := by_line.get(ptxas.line_of(index), set())) == 1
    ]


NOT_ALONE = {
    "bar.red/reduce-type", "barrier.red/reduce-type", "cvt/pair",  # the operands do not fit either
    "atom/b128-sys-version", "atom.cas/b128-sys-version", "cp.async.bulk.tensor/multicast-target",
    "ld/eviction-target", "st/eviction-target", "st/param-version",
    "mbarrier.arrive_drop/sink-version", "mbarrier.test_wait.parity/shared-cta-version",
    "mbarrier.try_wait/cluster-target", "mbarrier.try_wait.parity/cluster-target",
}  # fmt: skip
"""Rules that no statement of the lists shows alone: others break with them."""


def _is_implied(row: Row, rule: Rule) -> bool:
    """Whether a target and version that have the row's instruction meet the rule's demand."""
    if not isinstance(rule.demand, Capability):
        return False
    return all(
        (first := rule.demand.first_ptx(target)) is not None
        and (own := row.needs.first_ptx(target)) is not None
        and first <= own
        for target in row.needs.targets
    )


ALL = [
    (row, rule)
    for row in rows()
    for rule in row.rules
    if row.section and not _is_implied(row, rule)
]


def test_each_rule_alone_decides() -> None:
    """And those of `NOT_ALONE` do not."""
    verdicts = shown()
    wrong = [
        f"{name}: {ptxas_says(rule)} is not shown; {rule.demand}"
        for row, rule in ALL
        if (ptxas_says(rule) in verdicts.get(name := f"{row.head}/{rule.id}", set()))
        == (name in NOT_ALONE)
    ]
    assert not wrong, "\n".join(wrong)

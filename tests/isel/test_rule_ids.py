"""The ids of rules are all known: what the sources say, `nvgen check --allow` takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import intrinsics
from isel.rule_ids import is_rule, nearest

ROOT = Path(intrinsics.__file__).parent.parent
SAID = re.compile(r'"([a-z_0-9.]+/[a-z][a-z0-9-]*)"')
OF_OPERANDS = re.compile(r'\bProblem\(\s*"([a-z0-9-]+)"')
OTHER_TOOLS = re.compile(r"sm_100a/|nv_tileaa.dot/")
"""A pair of targets, and what tile programs say of their kernels."""


def sources(*folders: str) -> list[str]:
    return [path.read_text() for name in folders for path in (ROOT / name).rglob("*.py")]


def test_what_readers_and_rules_say_is_known() -> None:
    said = {name for text in sources("isel", "asmprinter") for name in SAID.findall(text)}
    said = {name for name in said if not OTHER_TOOLS.match(name)}
    assert len(said) > 80
    assert sorted(name for name in said if not is_rule(name)) == []


def test_what_is_said_of_operands_is_known() -> None:
    files = ("operand_types.py", "operand_problems.py", "descriptors", "row.py")
    texts = [
        path.read_text()
        for name in files
        for path in [ROOT / "intrinsics" / name, *(ROOT / "intrinsics" / name).rglob("*.py")]
        if path.is_file()
    ]
    said = {name for text in texts for name in OF_OPERANDS.findall(text)}
    assert len(said) > 15
    assert sorted(name for name in said if not is_rule(f"tcgen05.mma/{name}")) == []


@pytest.mark.parametrize("pattern", ["*", "tcgen05.*", "*/i8-target", "shared/race", "select/x"])
def test_a_pattern_stands_for_a_rule(pattern: str) -> None:
    assert is_rule(pattern)


@pytest.mark.parametrize(
    ("wrong", "first"),
    [
        ("shared/rce", "shared/race"),
        ("tcgen5.mma/i8-target", "tcgen05.mma/i8-target"),
        ("mbarrier", "mbarrier/*"),
        ("Shared/Race", "shared/race"),
    ],
)
def test_the_nearest_ids_come_first(wrong: str, first: str) -> None:
    assert not is_rule(wrong)
    assert nearest(wrong)[0] == first


def test_of_nonsense_none_is_near() -> None:
    assert nearest("NONSENSE") == []

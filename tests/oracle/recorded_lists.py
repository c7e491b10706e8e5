"""The lists of statements whose verdicts are recorded, and the targets and versions of each.

Nothing here knows nvgen's tables; `versions_of` says for which targets and PTX versions of nvgen's
a question makes sense, and no answer.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from intrinsics.targets import PTX_VERSIONS, TARGETS, Ptx
from tests.oracle import (
    mma_kind_product,
    mma_sp_product,
    mma_sync_product,
    ptxas,
    tcgen05_mutations,
    tcgen05_product,
    wgmma_product,
)
from tests.oracle.evidence import LEGAL, Answers
from tests.oracle.legality_families import FAMILIES
from tests.oracle.verdict_file import Pair


def pairs_of(*pairs: tuple[str, str]) -> tuple[Pair, ...]:
    """Pairs of a target and a PTX version."""
    return tuple(Pair(*pair) for pair in pairs)


GRID = pairs_of(*itertools.product(ptxas.TARGETS, ptxas.PTX))
"""Every target with every PTX version."""

OLDER = pairs_of(
    ("sm_75", "7.0"), ("sm_75", "8.3"), ("sm_80", "7.0"), ("sm_80", "7.8"), ("sm_86", "8.6"),
    ("sm_89", "8.1"), ("sm_89", "9.5"), ("sm_90", "7.8"), ("sm_90", "8.3"), ("sm_90a", "8.0"),
)  # fmt: skip
"""Targets before Blackwell, and PTX versions before 8.6."""

MMA_SYNC = pairs_of(
    ("sm_75", "7.0"), ("sm_80", "7.0"), ("sm_80", "7.1"), ("sm_90", "7.8"), ("sm_90a", "8.3"),
    ("sm_89", "8.4"), ("sm_89", "8.7"), ("sm_100a", "8.6"), ("sm_100f", "9.0"),
    ("sm_110a", "9.0"), ("sm_107a", "9.5"), ("sm_120a", "9.5"),
)  # fmt: skip
MMA_SP = pairs_of(("sm_80", "7.1"), ("sm_90a", "8.5"), ("sm_120a", "9.5"))
MMA_KIND = pairs_of(("sm_100a", "8.6"), ("sm_120a", "8.7"), ("sm_121f", "9.0"), ("sm_120a", "9.5"))
"""Targets and PTX versions before and after each that brought something."""

WGMMA = pairs_of(
    *(("sm_90a", ptx) for ptx in ("8.0", "8.1", "8.2", "8.3", "8.4", "8.5", *ptxas.PTX))
)
"""The one target that has wgmma, and all its PTX versions."""

NOT_WGMMA = pairs_of(
    ("sm_90", "8.0"), ("sm_90", "9.5"),
    *((t, ptx) for t in ptxas.TARGETS if t != "sm_90a" for ptx in ("8.8", "9.5")),
)  # fmt: skip
"""Targets that have no wgmma."""

WGMMA_PART = 40
"""One of so many statements is asked of targets that have no wgmma."""

MUTANTS = 3000
"""Statements that chance makes, in each run the same."""

RULES_OF_MMA = pairs_of(
    ("sm_75", "7.0"), ("sm_80", "7.0"), ("sm_89", "8.4"), ("sm_89", "8.7"), ("sm_120a", "9.5")
)
RULES_OF_KINDS = pairs_of(
    ("sm_100a", "8.6"), ("sm_100a", "9.5"), ("sm_120a", "9.0"), ("sm_120a", "9.5")
)
"""Targets and versions on which `test_rule_table` looks for the rules of mma."""

STEPS = pairs_of(
    *(("sm_80", f"7.{n}") for n in range(1, 8)),
    *(("sm_80", f"8.{n}") for n in range(6)),
    *(("sm_90a", f"8.{n}") for n in range(1, 6)),
)
"""Every PTX version that the lists of `test_legality` and `test_legality_older` step over."""

STEPS_PART = 37
"""One of so many statements is asked at each of these versions."""


class Listed(NamedTuple):
    """A list of statements, and what ptxas is asked about them for."""

    statements: Callable[[], Iterable[str]]
    pairs: tuple[Pair, ...]


def versions_of(name: str, first: str = "") -> list[str]:
    """The PTX versions that have a target, from `first` on."""
    target = TARGETS[name]
    least = max(target.first_ptx, Ptx(*map(int, first.split(".")))) if first else target.first_ptx
    found = [str(version) for version in PTX_VERSIONS if version >= least]
    return [v for v in found if v.startswith("8")] if name.startswith("sm_101") else found


def every_pair(first: str = "") -> tuple[Pair, ...]:
    """Every target of nvgen's with every PTX version that has it, from `first` on."""
    return pairs_of(*((name, v) for name in TARGETS for v in versions_of(name, first)))


def legality_list(family: str) -> str:
    """The name of the list of a family of `test_legality`."""
    return f"legality.{_file(family)}"


def product_list(family: str) -> str:
    """The name of the list of a family of `tcgen05_product`."""
    return f"tcgen05.{_file(family)}"


def _file(family: str) -> str:
    return re.sub(r"[^\w.]+", "_", family)


def mma_of_rules() -> Iterator[str]:
    """What the manual has of mma and mma.sp, layouts, other types of D and C."""
    wanted = re.compile(r"m16n8k(16|64)\S*\.(e4m3|f16)|m8n8k4\S*\.f16")
    products = (mma_sync_product, mma_sp_product)
    yield from (text for one in products for text in one.forms())
    yield from mma_sync_product.layouts()
    sums = (text for one in products for text in one.types_of_sums())
    yield from (text for text in sums if wanted.search(text))


def kinds_of_rules() -> Iterator[str]:
    """What the manual has of mma with a kind, and scale factors."""
    yield from mma_kind_product.forms()
    yield from mma_kind_product.scales()


def between_versions() -> Iterator[str]:
    """A part of the statements that targets before Blackwell may have.

    Those with registers of 128 bits, which came with PTX 8.3, are left out.
    """
    for family, make in FAMILIES.items():
        if not family.startswith("tcgen05"):
            yield from (text for text in list(make())[::STEPS_PART] if "%q" not in text)


@functools.cache
def mutants(count: int = MUTANTS, seed: int = 1) -> tuple[str, ...]:
    """Statements that chance makes of the legal ones among the products of tcgen05."""
    seeds = [text for family in tcgen05_product.PRODUCTS for text in _legal(family)]
    return tuple(tcgen05_mutations.Mutator(seeds, seed).mutants(count))


def _legal(family: str) -> list[str]:
    """The statements of a product that are legal on one of the targets that mutants begin with."""
    answers = Answers(tcgen05_product.statements(family), product_list(family))
    legal: dict[str, None] = {}
    for target in tcgen05_mutations.SEED_TARGETS:
        verdicts = answers.verdicts(Pair(target, ptxas.PTX[-1]))
        pairs = zip(answers.statements, verdicts, strict=True)
        legal |= {text: None for text, verdict in pairs if verdict == LEGAL}
    return list(legal)


@functools.cache
def lists() -> dict[str, Listed]:
    """Every list by its name, which is that of its file; mutants stand behind what they need."""
    found = {legality_list(f): Listed(texts, GRID + OLDER) for f, texts in FAMILIES.items()}
    for family in tcgen05_product.PRODUCTS:
        texts = functools.partial(tcgen05_product.statements, family)
        found[product_list(family)] = Listed(texts, GRID)
    deliberate = Pair("sm_90a", "9.5")
    return found | {
        "tcgen05_mutants": Listed(mutants, GRID),
        "mma_sync": Listed(mma_sync_product.statements, (*MMA_SYNC, deliberate)),
        "mma_sync_forms": Listed(mma_sync_product.forms, every_pair()),
        "mma_sp": Listed(mma_sp_product.statements, (*MMA_SP, deliberate)),
        "mma_sp_forms": Listed(mma_sp_product.forms, every_pair()),
        "mma_kind": Listed(mma_kind_product.statements, MMA_KIND),
        "mma_kind_forms": Listed(mma_kind_product.forms, every_pair("8.4")),
        "wgmma": Listed(wgmma_product.statements, WGMMA),
        "wgmma_elsewhere": Listed(lambda: wgmma_product.statements()[::WGMMA_PART], NOT_WGMMA),
        "version_steps": Listed(between_versions, STEPS),
        "rules_of_mma": Listed(mma_of_rules, RULES_OF_MMA),
        "rules_of_kinds": Listed(kinds_of_rules, RULES_OF_KINDS),
    }

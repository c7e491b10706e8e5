"""The ids of all rules: what a list of rules to leave out may name.

Layer: isel.  Input: a pattern, as `nvgen check --allow` takes one.  Output: whether a rule has such
an id, and the nearest ids where none has.  A test holds the lists below against the sources.
"""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Iterator
from functools import cache

from intrinsics import catalog
from isel.verifier.descriptors.check import RULES as DESCRIPTOR_RULES
from isel.verifier.functions import RULES
from isel.verifier.launch import RULES as LAUNCH_RULES
from isel.verifier.rule import VerifierRule

_OF_ANY_INSTRUCTION = """
address-type address-width alignment bare-address collector-word descriptor-constant
descriptor-reserved descriptor-swizzle duplicate-modifier enable-d-number immediate-range k96
maximum missing-modifier negate no-atom operands output-type packed-word power-of-two pseudo
repeated-register reserved-bits scale-spelling scale-vec-ws shape-m shape-n state-space target
transpose types unknown-modifier vector-size vector-types version wgmma-descriptor-reserved
word-contradicts-opcode zero-mask-number
"""
"""What is said of one instruction's operands, words and spelling, behind its name."""

_BESIDE_INSTRUCTIONS = {
    "mir": "name name-twice phi ssa stage syntax",
    "mov": "special-register special-register-target",
    "ptx": "address-size alias alignment declaration directive directive-version "
    "duplicate-function duplicate-label duplicate-name external-body guard header-order "
    "initial-address no-target no-version not-modelled operands parameters syntax target-option "
    "undeclared unknown-instruction version-unknown",
    "variable": "constant-memory outside size",
    "verify": "block boxes branches budget calls cluster device-function level opaque races turns "
    "unreached",
    "walkthrough": "block-scale-same block-scale-size block-scale-types columns element first-step "
    "inline majors strides",
}
"""What readers and the levels of verification say, by the first part of the id."""

_ENDING = ("input/", "llvm/", "python/", "select/", "target/", "tile/")
"""How ids begin of what keeps a program from being judged at all; not one by one listed."""


def is_rule(pattern: str) -> bool:
    """Whether a pattern, in which `*` is any text, matches a rule's id."""
    if pattern.startswith(_ENDING):
        return True
    return any(fnmatch.fnmatchcase(name, pattern) for name in rule_ids())


def nearest(pattern: str) -> list[str]:
    """The ids that are most like a pattern, the nearest first; none where no id is like it.

    Of an instruction alone they are all of its rules; capitals make no difference here.
    """
    if is_rule(pattern.lower()):
        return [pattern.lower()]
    if is_rule(f"{pattern}/*"):
        return [f"{pattern}/*"]
    what, slash, _ = pattern.partition("/")
    same = [name for name in rule_ids() if slash and name.startswith(f"{what}/")]
    found = difflib.get_close_matches(pattern, same, n=3, cutoff=0.5)
    return found or difflib.get_close_matches(pattern, rule_ids(), n=3, cutoff=0.6)


@cache
def rule_ids() -> tuple[str, ...]:
    """The ids of all rules, in order."""
    return tuple(sorted(set(_ids())))


def verifier_rules() -> tuple[VerifierRule, ...]:
    """The rules about descriptors, functions and launches; in their ids `{op}` is any head."""
    return (*DESCRIPTOR_RULES, *RULES, *LAUNCH_RULES)


def _ids() -> Iterator[str]:
    rows = catalog.rows()
    heads = dict.fromkeys(row.head for row in rows)
    for row in rows:
        yield from (f"{row.head}/{rule.id}" for rule in row.rules)
    for rule in verifier_rules():
        of_one = "{op}" in rule.id
        yield from (rule.id.format(op=head) for head in (heads if of_one else [""]))
    yield from (f"{head}/{last}" for head in heads for last in _OF_ANY_INSTRUCTION.split())
    for first, lasts in _BESIDE_INSTRUCTIONS.items():
        yield from (f"{first}/{last}" for last in lasts.split())

"""Guarded legality rules: under a guard, attributes or a capability of the target must hold.

Layer: intrinsics.row.  A rule is data; `intrinsics.legality` evaluates it.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from intrinsics.lazy_dataclass import dataclass
from intrinsics.modifiers import Modifier
from intrinsics.row.attributes import Attribute, Attributes
from intrinsics.targets import Capability


@dataclass(frozen=True, slots=True)
class Guard:
    """Holds when every attribute it names is one of the given ones."""

    terms: tuple[tuple[str, frozenset[Attribute]], ...] = ()

    def holds(self, attributes: Attributes) -> bool:
        """Whether `attributes` satisfy every term."""
        return all(attributes.get(name) in allowed for name, allowed in self.terms)

    def must(
        self,
        rule_id: str,
        text: str = "",
        hint: str = "",
        *,
        section: str = "",
        **attributes: Attribute | Iterable[Attribute],
    ) -> Rule:
        """A rule: under this guard, `attributes` must hold."""
        return Rule(rule_id, self, when(**attributes), text, hint, section)

    def needs(
        self,
        rule_id: str,
        capability: Capability,
        text: str = "",
        hint: str = "",
        *,
        section: str = "",
    ) -> Rule:
        """A rule: under this guard, the target must have `capability`."""
        return Rule(rule_id, self, capability, text, hint, section)

    def is_wrong(
        self,
        rule_id: str,
        text: str,
        hint: str = "",
        *,
        section: str = "",
        ptxas_accepts: bool = False,
    ) -> Rule:
        """A rule: this guard must never hold."""
        return Rule(rule_id, self, Never.NEVER, text, hint, section, ptxas_accepts)


class Never(Enum):
    """The demand of a rule whose guard must not hold."""

    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Rule:
    """Under `guard`, `demand` must hold: other attributes, or a capability of the target.

    `section` is the manual's section where it is not the row's; `ptxas_accepts` marks rules that
    nvgen has on purpose although ptxas accepts what they reject.
    """

    id: str
    guard: Guard
    demand: Guard | Capability | Never
    text: str = ""
    hint: str = ""
    section: str = ""
    ptxas_accepts: bool = False


def when(**attributes: Attribute | Iterable[Attribute]) -> Guard:
    """A guard: `when(kind=MmaKind.I8, mask=True)`; a collection means "one of these"."""
    return Guard(tuple((name, _attribute_set(allowed)) for name, allowed in attributes.items()))


def _attribute_set(allowed: Attribute | Iterable[Attribute]) -> frozenset[Attribute]:
    if allowed is None or isinstance(allowed, (Modifier, bool)):
        return frozenset([allowed])
    return frozenset(allowed)


ALWAYS = Guard()


def absent_or(*values: Attribute) -> tuple[Attribute, ...]:
    """The values, or the qualifier absent."""
    return (None, *values)

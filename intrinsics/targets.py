"""The machines: targets, families, PTX versions, and the features a subtarget has.

Layer: intrinsics.  First PTX versions are those that ptxas 13.5 enforces (a test asks it); the PTX
ISA lists the same in its "PTX Module Directives: .target" section.  The feature names are those
that back-end verifiers use (`has_tmem`, `has_wgmma`, …).
"""

from __future__ import annotations

import difflib
import functools
import re
from dataclasses import dataclass, field
from enum import Flag, auto
from typing import TypeAlias

from intrinsics.findings import input_error


@dataclass(frozen=True, slots=True, order=True)
class Ptx:
    """A PTX ISA version."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


PTX_VERSIONS: tuple[Ptx, ...] = tuple(
    [Ptx(7, n) for n in range(9)] + [Ptx(8, n) for n in range(9)] + [Ptx(9, n) for n in range(6)]
)
"""Every version nvgen writes and reads, oldest first: 7.0…7.8, 8.0…8.8, 9.0…9.5."""


class Feature(Flag):
    """What a subtarget can do; one bit per capability that selection and verification ask for."""

    NONE = 0
    HAS_WGMMA = auto()  # Hopper's warpgroup MMA: sm_90a
    HAS_TMEM = auto()  # tensor memory and the tcgen05 family
    HAS_ARCH_CONDITIONAL = auto()  # an `a` target
    HAS_FAMILY_CONDITIONAL = auto()  # an `f` target, or an `a` target of such a family
    HAS_SCALE_INPUT_ACCUMULATOR = auto()  # tcgen05.mma's scale-input-d
    HAS_WIDE_IM2COL = auto()  # cp.async.bulk.tensor's im2col::w and im2col::w::128
    HAS_TWO_CTA_TMA = auto()  # cp.async.bulk.tensor's .cta_group
    HAS_CLUSTER_MULTICAST = auto()  # .multicast::cluster on bulk copies


@dataclass(frozen=True, slots=True)
class Target:
    """One `.target`: `sm_100a` is number 100 with suffix `a`."""

    number: int
    suffix: str = ""
    first_ptx: Ptx = field(default=Ptx(7, 0), compare=False)

    @property
    def name(self) -> str:
        """The spelling in PTX's `.target`."""
        return f"sm_{self.number}{self.suffix}"

    @property
    def renamed_to(self) -> str:
        """What ptxas assembles this target for: sm_101* became sm_110* in PTX ISA 9.0."""
        return self.name.replace("101", "110")

    @property
    def is_accelerated(self) -> bool:
        """Whether this is an architecture- or family-specific target (`a` or `f`)."""
        return self.suffix != ""

    @property
    def family(self) -> int:
        """The family's lowest member: what `sm_100f` code of this family runs on shares it."""
        for members in _FAMILIES:
            if self.number in members:
                return members[0]
        return self.number

    @property
    def features(self) -> Feature:
        """The subtarget's feature bits."""
        return _features(self)

    def __str__(self) -> str:
        return self.name


TargetSet: TypeAlias = frozenset[Target]

_FAMILIES = ((100, 103, 107), (101, 110), (120, 121))

# Target, then the first PTX version that takes it.
_FIRST_PTX = """
    sm_75 6.3
    sm_80 7.0   sm_86 7.1    sm_87 7.4    sm_88 9.0   sm_89 7.8
    sm_90 7.8   sm_90a 8.0
    sm_100 8.6  sm_100a 8.6  sm_100f 8.8
    sm_101 8.6  sm_101a 8.6  sm_101f 8.8
    sm_103 8.8  sm_103a 8.8  sm_103f 8.8
    sm_107 9.4  sm_107a 9.4  sm_107f 9.4
    sm_110 9.0  sm_110a 9.0  sm_110f 9.0
    sm_120 8.7  sm_120a 8.7  sm_120f 8.8
    sm_121 8.8  sm_121a 8.8  sm_121f 8.8
"""


def _build() -> dict[str, Target]:
    words = _FIRST_PTX.split()
    result = {}
    for name, version in zip(words[::2], words[1::2], strict=True):
        match = re.fullmatch(r"sm_(\d+)([af]?)", name)
        assert match is not None
        major, minor = version.split(".")
        result[name] = Target(int(match[1]), match[2], Ptx(int(major), int(minor)))
    return result


TARGETS: dict[str, Target] = _build()
"""Every target, by name, in the order of the architectures."""


@functools.cache
def _features(target: Target) -> Feature:
    accelerated = target.is_accelerated
    tensor_memory = accelerated and target.number in (100, 101, 103, 107, 110)
    families = {n for members in _FAMILIES for n in members}
    table = {
        Feature.HAS_WGMMA: target.name == "sm_90a",
        Feature.HAS_TMEM: tensor_memory,
        Feature.HAS_ARCH_CONDITIONAL: target.suffix == "a",
        Feature.HAS_FAMILY_CONDITIONAL: accelerated and target.number in families,
        Feature.HAS_SCALE_INPUT_ACCUMULATOR: accelerated and target.number in (100, 103, 107),
        Feature.HAS_WIDE_IM2COL: target.number >= 100,
        Feature.HAS_TWO_CTA_TMA: tensor_memory,
        Feature.HAS_CLUSTER_MULTICAST: target.number >= 90,
    }
    features = Feature.NONE
    for feature, has in table.items():
        if has:
            features |= feature
    return features


def with_feature(feature: Feature) -> TargetSet:
    """The targets that have all of `feature`."""
    return frozenset(t for t in TARGETS.values() if feature in t.features)


def at_least(number: int) -> TargetSet:
    """The targets `sm_<number>` and later, of every suffix."""
    return frozenset(t for t in TARGETS.values() if t.number >= number)


def named(names: str) -> TargetSet:
    """The targets written in `names`: `"100a 103af"` is sm_100a, sm_103a and sm_103f."""
    result = set()
    for word in names.split():
        match = re.fullmatch(r"(\d+)([af]*)", word)
        assert match is not None, word
        for suffix in match[2] or ("",):
            result.add(TARGETS[f"sm_{match[1]}{suffix}"])
    return frozenset(result)


EVERY_TARGET: TargetSet = frozenset(TARGETS.values())


@dataclass(frozen=True, slots=True)
class Capability:
    """Something that exists on `targets` from PTX version `since` on."""

    targets: TargetSet = EVERY_TARGET
    since: Ptx = PTX_VERSIONS[0]

    def first_ptx(self, target: Target) -> Ptx | None:
        """The lowest PTX version in which `target` has it, or None if it never does."""
        if target not in self.targets:
            return None
        return max(self.since, target.first_ptx, PTX_VERSIONS[0])

    def holds(self, target: Target, ptx: Ptx) -> bool:
        """Whether `target` has it at PTX version `ptx`."""
        first = self.first_ptx(target)
        return first is not None and ptx >= first


EVERYWHERE = Capability()


def since(version: str, targets: TargetSet = EVERY_TARGET) -> Capability:
    """`targets` from PTX `version` on."""
    major, minor = version.split(".")
    return Capability(targets, Ptx(int(major), int(minor)))


@functools.cache
def spell(chosen: TargetSet) -> str:
    """Targets in words, a run of all later ones as "sm_90 and later", both kinds as "sm_100a/f"."""
    if not chosen:
        return "no target"
    lowest = min(t.number for t in chosen)
    if chosen == at_least(lowest) and len(chosen) > 3:
        return f"sm_{lowest} and later"
    ordered = [name for t in TARGETS.values() if t in chosen for name in _spelled(t, chosen)]
    return ordered[0] if len(ordered) == 1 else ", ".join(ordered[:-1]) + " or " + ordered[-1]


def _spelled(target: Target, chosen: TargetSet) -> list[str]:
    """A target's name; `sm_100a/f` where both are meant."""
    other = TARGETS.get(f"sm_{target.number}{ {'a': 'f', 'f': 'a'}.get(target.suffix, '?') }")
    if other not in chosen:
        return [target.name]
    return [f"sm_{target.number}a/f"] if target.suffix == "a" else []


_MADE_AS = {
    "A100": "sm_80",
    "L40": "sm_89",
    "H100": "sm_90a",
    "H200": "sm_90a",
    "GH200": "sm_90a",
    "B200": "sm_100a",
    "GB200": "sm_100a",
    "B300": "sm_103a",
    "GB300": "sm_103a",
}
"""The targets of GPUs that people know by their names."""


def parse_target(said: object) -> Target:
    """The target called `said`.

    Raises: InputError, with the nearest names, when there is none.
    """
    text = said if isinstance(said, str) else repr(said)
    found = TARGETS.get(text)
    if found is not None:
        return found
    near = difflib.get_close_matches(text.lower(), TARGETS, n=3, cutoff=0.5)
    if text.upper() in _MADE_AS:
        near = [_MADE_AS[text.upper()]]
    raise input_error(
        "target/unknown",
        f"unknown target '{text}'",
        got=text,
        expected="one of " + ", ".join(TARGETS),
        hint="did you mean " + " or ".join(near) + "?" if near else "`nvgen targets` lists them",
    )


def parse_ptx(said: object) -> Ptx:
    """The PTX version written `said`.

    Raises: InputError when nvgen knows no such version.
    """
    text = said if isinstance(said, str) else f"{said!r}, which is no string"
    match = re.fullmatch(r"(\d{1,9})\.(\d{1,9})", text, re.ASCII)
    version = Ptx(int(match[1]), int(match[2])) if match else None
    if version in PTX_VERSIONS:
        return version
    raise input_error(
        "ptx/version-unknown",
        f"unknown PTX version '{said}'",
        got=text,
        expected=f"{PTX_VERSIONS[0]} to {PTX_VERSIONS[-1]} (7.0…7.8, 8.0…8.8, 9.0…9.5)",
        hint="leave it out: nvgen then takes the lowest version that the program needs",
    )

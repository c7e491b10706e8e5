"""The machines: targets, families, PTX versions, and the features a subtarget has.

Layer: intrinsics.  First PTX versions are those that ptxas 13.5 enforces (a test asks it); the PTX
ISA lists the same in its "PTX Module Directives: .target" section.  The feature names are those
that back-end verifiers use (`has_tmem`, `has_wgmma`, …).
"""

from __future__ import annotations

import functools
import re
from dataclasses import field
from enum import Flag, auto
from typing import NamedTuple, TypeAlias

from intrinsics.findings import input_error, shown
from intrinsics.lazy_dataclass import dataclass
from intrinsics.limits import MOST_SHARED


class Ptx(NamedTuple):
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
    """A capability of a subtarget; one bit for each that selection and verification ask for."""

    NONE = 0
    HAS_WGMMA = auto()  # Hopper's warpgroup MMA: sm_90a
    HAS_TMEM = auto()  # tensor memory and the tcgen05 family
    HAS_ARCH_CONDITIONAL = auto()  # an `a` target
    HAS_FAMILY_CONDITIONAL = auto()  # an `f` target, or an `a` target of such a family
    HAS_SCALE_INPUT_ACCUMULATOR = auto()  # tcgen05.mma's scale-input-d
    HAS_WIDE_IM2COL = auto()  # cp.async.bulk.tensor's im2col::w and im2col::w::128
    HAS_TWO_CTA_TMA = auto()  # cp.async.bulk.tensor's .cta_group
    HAS_CLUSTER_MULTICAST = auto()  # .multicast::cluster on bulk copies
    # Beside those that back-end verifiers name: sets of targets that some instruction is for.
    HAS_CLUSTERS = auto()  # thread block clusters, and shared memory of other CTAs
    HAS_FP8 = auto()  # conversions and multiplies of e4m3 and e5m2
    HAS_SETMAXNREG = auto()
    HAS_TENSOR_MAP_WRITES = auto()  # tensormap.replace
    HAS_NARROW_TENSOR_MAPS = auto()  # tensor maps of elements of 4 and 6 bits
    HAS_96_BYTE_SWIZZLING = auto()  # tensormap.replace of the swizzle mode, 4
    HAS_RELAXED_BULK_COPY = auto()  # cp.async.bulk.relaxed to .shared::cluster
    HAS_WIDE_MULTICAST = auto()  # .multicast::cluster::32b, for clusters of up to 32 CTAs
    HAS_EVICTING_PREFETCH = auto()  # cp.async.bulk.prefetch.L2::evict_last
    HAS_NARROW_FLOATS = auto()  # cvt from and to types of 4 and 6 bits, and scale factors
    HAS_NARROW_RZ = auto()  # the same, rounded towards zero
    HAS_NARROW_MULTIMEM = auto()  # multimem of types of 8 bits
    HAS_BYTE_MATRICES = auto()  # ldmatrix and stmatrix of bytes
    HAS_MMA_KINDS = auto()  # mma.sync's .kind::f8f6f4
    HAS_MMA_BLOCK_SCALE = auto()  # mma.sync's .block_scale
    HAS_MMA_SPARSE_FP4 = auto()  # mma.sp's .kind::mxf4 and .kind::mxf4nvf4
    HAS_PACKED_BYTES = auto()  # integer arithmetic of .u8x4 and .s8x4
    HAS_FLOAT_REDUX = auto()  # redux.sync of .f32
    HAS_TCGEN05_I8 = auto()  # tcgen05.mma's .kind::i8
    HAS_TCGEN05_LD_RED = auto()  # tcgen05.ld.red
    HAS_TCGEN05_SPCOMPRESS = auto()  # tcgen05.ld.spcompress
    HAS_TCGEN05_EXTENSIONS = auto()  # .kind::ti16, collectors of B, tables: since PTX 9.4
    HAS_TCGEN05_K96 = auto()  # K = 96, and absolute addresses in shared memory descriptors
    MAY_HAVE_TCGEN05_K96 = auto()  # targets of which the manual does not say that they have not


SUBTARGET_FEATURES = (
    Feature.HAS_WGMMA, Feature.HAS_TMEM, Feature.HAS_ARCH_CONDITIONAL,
    Feature.HAS_FAMILY_CONDITIONAL, Feature.HAS_SCALE_INPUT_ACCUMULATOR, Feature.HAS_WIDE_IM2COL,
    Feature.HAS_TWO_CTA_TMA, Feature.HAS_CLUSTER_MULTICAST,
)  # fmt: skip
"""Those that back-end verifiers name, as `nvgen targets` lists them."""


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
        """The target's present name: sm_101* became sm_110* in PTX ISA 9.0."""
        return self.name.replace("101", "110")

    @property
    def family(self) -> int:
        """The family's lowest member: what `sm_100f` code of this family runs on shares it."""
        for members in _FAMILIES:
            if self.number in members:
                return members[0]
        return self.number

    @property
    def shared_limit(self) -> int:
        """Bytes of shared memory, static and dynamic, that a CTA can have."""
        return _SHARED_KIB.get(self.number, MOST_SHARED // 1024) * 1024

    @property
    def llvm_processor(self) -> str:
        """The processor that LLVM 22 optimises for: the most like one where it knows none."""
        return f"sm_{_LLVM_RELATIVES.get(self.number, self.number)}{self.suffix}"

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


_SHARED_KIB = {75: 64, 80: 163, 86: 99, 87: 163, 88: 163, 89: 99, 120: 99, 121: 99}
"""KiB of shared memory that a CTA can have, where it is not what sm_90 and sm_100 have.  CUDA C++
Programming Guide, Technical Specifications per Compute Capability."""

_LLVM_RELATIVES = {107: 103}
"""Targets that LLVM 22 does not know, and those that are most like them."""

_BLACKWELL = "100af 101af 103af 107af 110af"
_ALL_BLACKWELL = f"{_BLACKWELL} 120af 121af"

_MEMBERS = {
    Feature.HAS_WGMMA: "90a",
    Feature.HAS_TMEM: _BLACKWELL,
    Feature.HAS_ARCH_CONDITIONAL: "90a 100a 101a 103a 107a 110a 120a 121a",
    Feature.HAS_FAMILY_CONDITIONAL: _ALL_BLACKWELL,
    Feature.HAS_SCALE_INPUT_ACCUMULATOR: "100af 103af 107af",
    Feature.HAS_TWO_CTA_TMA: _BLACKWELL,
    Feature.HAS_SETMAXNREG: f"90a {_ALL_BLACKWELL}",
    Feature.HAS_TENSOR_MAP_WRITES: f"90a {_ALL_BLACKWELL}",
    Feature.HAS_NARROW_TENSOR_MAPS: _ALL_BLACKWELL,
    Feature.HAS_96_BYTE_SWIZZLING: "103a 107a",
    Feature.HAS_RELAXED_BULK_COPY: f"90a {_BLACKWELL}",
    Feature.HAS_WIDE_MULTICAST: "107af",
    Feature.HAS_EVICTING_PREFETCH: "107af",
    Feature.HAS_NARROW_FLOATS: _ALL_BLACKWELL,
    Feature.HAS_NARROW_RZ: "107af",
    Feature.HAS_NARROW_MULTIMEM: f"{_BLACKWELL} 120a 121a",
    Feature.HAS_BYTE_MATRICES: _ALL_BLACKWELL,
    Feature.HAS_MMA_KINDS: _ALL_BLACKWELL,
    Feature.HAS_MMA_BLOCK_SCALE: "120af 121af",
    Feature.HAS_MMA_SPARSE_FP4: "120a 121a",
    Feature.HAS_PACKED_BYTES: "107af 120af 121af",
    Feature.HAS_FLOAT_REDUX: "100af 103af 107af",
    Feature.HAS_TCGEN05_I8: "100a 101a 110a",
    Feature.HAS_TCGEN05_LD_RED: "101af 103af 107af 110af",
    Feature.HAS_TCGEN05_SPCOMPRESS: "107a",
    Feature.HAS_TCGEN05_EXTENSIONS: "107af",
    Feature.HAS_TCGEN05_K96: "103a",
    Feature.MAY_HAVE_TCGEN05_K96: "103af 107af",
}
"""The targets of each feature that some have and later ones need not have.  A new target has what
it is written to here; rows and verifier ask for features."""

_FROM = {
    Feature.HAS_WIDE_IM2COL: 100,
    Feature.HAS_CLUSTER_MULTICAST: 90,
    Feature.HAS_CLUSTERS: 90,
    Feature.HAS_FP8: 89,
}
"""The first targets of features that all later ones have."""


@functools.cache
def _features(target: Target) -> Feature:
    features = Feature.NONE
    for feature, names in _MEMBERS.items():
        if target in named(names):
            features |= feature
    for feature, first in _FROM.items():
        if target.number >= first:
            features |= feature
    return features


def with_feature(feature: Feature) -> TargetSet:
    """The targets that have all of `feature`."""
    return frozenset(t for t in TARGETS.values() if feature in t.features)


def at_least(number: int) -> TargetSet:
    """The targets `sm_<number>` and later, of every suffix."""
    return frozenset(t for t in TARGETS.values() if t.number >= number)


@functools.cache
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


def since(version: str, targets: TargetSet | Feature = EVERY_TARGET) -> Capability:
    """`targets`, or those that have a feature, from PTX `version` on."""
    major, minor = version.split(".")
    if isinstance(targets, Feature):
        targets = with_feature(targets)
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
    text = said if isinstance(said, str) else shown(said)
    found = TARGETS.get(text)
    if found is not None:
        return found
    near = _nearest(text)
    raise input_error(
        "target/unknown",
        f"unknown target '{text}'",
        got=text,
        expected="one of " + ", ".join(TARGETS),
        hint="did you mean " + " or ".join(near) + "?" if near else _ends(),
    )


def _nearest(text: str) -> list[str]:
    """The targets that may be meant, at most three; a number that none has stands for none but
    where a digit is missing or one too many.
    """
    if text.upper() in _MADE_AS:
        return [_MADE_AS[text.upper()]]
    if number := re.fullmatch(r"(?:sm|compute)?_?(\d+)([a-z]?)", text.lower(), re.ASCII):
        said = number[1]
        known = {str(target.number) for target in TARGETS.values()}
        meant = [said] if said in known else [n for n in known if _one_digit_apart(n, said)]
        found = [target for target in TARGETS.values() if str(target.number) in meant]
        found.sort(key=lambda target: target.suffix != number[2])
        return [target.name for target in found[:3]]
    import difflib

    return difflib.get_close_matches(text.lower(), TARGETS, n=3, cutoff=0.5)


def _one_digit_apart(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(long) == len(short) + 1 and long.startswith(short)


def _ends() -> str:
    oldest, *_, newest = TARGETS
    return f"{oldest} is the oldest and {newest} the newest; `nvgen targets` lists them all"


def parse_ptx(said: object) -> Ptx:
    """The PTX version written `said`.

    Raises: InputError when nvgen knows no such version.
    """
    text = said if isinstance(said, str) else f"{shown(said)}, which is no string"
    match = re.fullmatch(r"(\d{1,9})\.(\d{1,9})", text, re.ASCII)
    version = Ptx(int(match[1]), int(match[2])) if match else None
    if version in PTX_VERSIONS:
        return version
    raise input_error(
        "ptx/version-unknown",
        f"unknown PTX version {shown(said)}",
        got=text,
        expected=f"{PTX_VERSIONS[0]} to {PTX_VERSIONS[-1]} (7.0…7.8, 8.0…8.8, 9.0…9.5)",
        hint="leave it out: nvgen then takes the lowest version that the program needs",
    )

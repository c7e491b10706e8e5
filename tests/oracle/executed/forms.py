"""Forms of tcgen05.mma: what its name and its immediates say; all else is drawn for each program.

PTX ISA, tcgen05.mma, tcgen05.mma.sp, tcgen05.mma.ws, tcgen05.mma.ws.sp (syntax); Tables 54 and 55.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from intrinsics.modifiers import CollectorA, CollectorWs, MmaKind, ScaleVec

PLAIN = (MmaKind.F16, MmaKind.TF32, MmaKind.F8F6F4, MmaKind.I8)
VECTORS: dict[MmaKind, tuple[ScaleVec | None, ...]] = {
    MmaKind.MXF8F6F4: (None, ScaleVec.X1, ScaleVec.BLOCK32),
    MmaKind.MXF4: (None, ScaleVec.X2, ScaleVec.BLOCK32),
    MmaKind.MXF4NVF4: (ScaleVec.X2, ScaleVec.X4, ScaleVec.BLOCK16, ScaleVec.BLOCK32),
}
"""Scale vectors by kind; without one it is 1X of mxf8f6f4, 2X of mxf4."""

SCALES_OF_D = (0, 1, 4, 15)

Collectors = tuple[CollectorA | CollectorWs, ...]

COLLECTED_A: tuple[Collectors, ...] = (
    (CollectorA.DISCARD, CollectorA.DISCARD),
    (CollectorA.FILL, CollectorA.USE),
    (CollectorA.FILL, CollectorA.LASTUSE),
)
COLLECTED_B: tuple[Collectors, ...] = tuple(
    (CollectorWs[f"B{i}_FILL"], CollectorWs[f"B{i}_{op}"])
    for i, op in enumerate(("USE", "LASTUSE", "USE", "LASTUSE"))
)


@dataclass(frozen=True)
class Form:
    """A kernel's worth of programs: one instruction for each collector, in this order."""

    kind: MmaKind
    a_tensor: bool = False
    sparse: bool = False
    ws: bool = False
    pair: bool = False
    k96: bool = False
    mask: bool = False
    zero_mask: bool = False
    scale_d: int | None = None
    vector: ScaleVec | None = None
    collectors: Collectors = (CollectorA.DISCARD,)

    @property
    def scaled(self) -> bool:
        """Whether A and B have scale factors."""
        return self.kind in VECTORS

    @property
    def steps(self) -> int:
        """How many instructions there are."""
        return len(self.collectors)

    @property
    def ranks(self) -> int:
        """How many CTAs take part."""
        return 2 if self.pair else 1

    @property
    def shares_a(self) -> bool:
        """Whether the second instruction has the first one's A."""
        return self.collectors[0] is CollectorA.FILL

    @property
    def shares_b(self) -> bool:
        """Whether the second instruction has the first one's B."""
        return self.ws and self.steps > 1

    def __str__(self) -> str:
        words = [self.kind.value.removeprefix("kind::"), "tensor" if self.a_tensor else "shared"]
        words += ["sp"] * self.sparse + ["ws"] * self.ws + ["pair"] * self.pair
        words += ["k96"] * self.k96
        words += ["mask"] * self.mask + ["zeros"] * self.zero_mask
        words += [] if self.scale_d is None else [f"d{self.scale_d}"]
        words += [] if self.vector is None else [self.vector.value]
        words += [c.value.split("::", 1)[1] for c in self.collectors if self.steps > 1]
        return "-".join(words).replace("::", ".")


def _plain() -> Iterator[Form]:
    for kind in PLAIN:
        for sparse in (False, True):
            for tensor in (False, True):
                for mask in (False, True):
                    yield Form(kind, tensor, sparse, mask=mask)
                for zeros in (False, True):
                    b1 = (CollectorWs.B1_DISCARD,)
                    yield Form(kind, tensor, sparse, ws=True, zero_mask=zeros, collectors=b1)


def _scaling_d() -> Iterator[Form]:
    for kind in (MmaKind.F16, MmaKind.TF32):
        for i, scale in enumerate(SCALES_OF_D):
            for sparse in (False, True):
                yield Form(kind, i % 2 == 1, sparse, mask=i % 2 == 0, scale_d=scale)


def _scaled() -> Iterator[Form]:
    for kind, vectors in VECTORS.items():
        for vector in vectors:
            for sparse in (False, True):
                for tensor in (False, True):
                    yield Form(kind, tensor, sparse, vector=vector)


def _collected() -> Iterator[Form]:
    for i, kind in enumerate(PLAIN):
        for j, both in enumerate(COLLECTED_A):
            yield Form(kind, (i + j) % 2 == 0, (i + j) % 3 == 0, collectors=both)
        for j, stationary in enumerate(COLLECTED_B):
            yield Form(kind, (i + j) % 2 == 0, (i + j) % 3 == 0, ws=True, collectors=stationary)
    for kind, vectors in VECTORS.items():
        for i, both in enumerate(COLLECTED_A):
            yield Form(kind, i % 2 == 0, i == 1, vector=vectors[i], collectors=both)


def _pairs() -> Iterator[Form]:
    for form in (*_plain(), *_scaling_d(), *_scaled(), *_collected()):
        if not form.ws:
            yield replace(form, pair=True)


def _k96() -> Iterator[Form]:
    """Table 39: of pairs with M = 256; scale vectors by block, as sm_103a has them."""
    vectors = {MmaKind.MXF4: (None, ScaleVec.BLOCK32),
               MmaKind.MXF4NVF4: (ScaleVec.BLOCK16, ScaleVec.BLOCK32)}  # fmt: skip
    for kind, some in vectors.items():
        for vector in some:
            for both in ((CollectorA.DISCARD,), *COLLECTED_A[1:]):
                for tensor in (False, True):
                    yield Form(kind, tensor, pair=True, k96=True, vector=vector, collectors=both)


FORMS = (*_plain(), *_scaling_d(), *_scaled(), *_collected(), *_pairs(), *_k96())


@dataclass(frozen=True)
class Family:
    """Forms that are in one kernel."""

    kind: MmaKind
    pair: bool = False
    k96: bool = False

    @property
    def target(self) -> str:
        """K = 96 is for sm_103a."""
        return "sm_103a" if self.k96 else "sm_100a"

    def __str__(self) -> str:
        return self.kind.name + "-pair" * self.pair + "-k96" * self.k96


def family_of(form: Form) -> Family:
    """The family of a form."""
    return Family(form.kind, form.pair, form.k96)


FAMILIES = tuple(dict.fromkeys(family_of(form) for form in FORMS))


@cache
def forms_of(family: Family) -> tuple[Form, ...]:
    """The forms of a family."""
    return tuple(form for form in FORMS if family_of(form) == family)

"""The walkthrough's own PTX, put to ptxas: what nvgen says is refused is refused.

The statements and ptxas's answers stand here as they are; that the notes of `nvgen trace` speak of
these very statements is checked last.
"""

from __future__ import annotations

import pytest

from intrinsics.descriptors.idesc import InstructionDescriptor, reserved_bits
from intrinsics.modifiers import MmaKind
from intrinsics.multiplies.mma_atom import AtomError, parse_atom
from intrinsics.walkthrough_forms import FORMS, Judge
from tests.oracle import ptxas

TARGETS = ("sm_100a", "sm_103a", "sm_110a")

REFUSED = {
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%rd1], 16;": "expected to be",
    "tcgen05.wait.cta_group::1.sync.aligned;": "Illegal modifier '.cta_group::1'",
    "tcgen05.ld.sync.aligned.m64n8x32b.b32 {%r1}, [%r2];": "Unknown modifier '.m64n8x32b'",
    "tcgen05.dealloc.cta_group::1.sync.aligned.b32 [%r1], 16;": "Arguments mismatch",
    "tcgen05.cp.smem.tmem.m64n128b [%r1], %rd1;": "Unknown modifier '.smem'",
    "tcgen05.mma.cta_group::3.kind::f16 [%r1], %rd1, %rd2, %r2, 1;": (
        "Unknown modifier '.cta_group::3'"
    ),
}
ALSO_REFUSED = {
    "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 16;": "multiple of 32",
    "tcgen05.dealloc.cta_group::1.sync.aligned.b32 [%r1], 32;": "Arguments mismatch",
    "tcgen05.ld.m64n8x32b.sync.aligned.b32 {%r1}, [%r2];": "Unknown modifier '.m64n8x32b'",
    "tcgen05.mma.cta_group::0.kind::f16 [%r1], %rd1, %rd2, %r2, 1;": "Unknown modifier",
}
TAKEN = (
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%rd1], 128;",
    "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 128;",
    "tcgen05.mma.cta_group::1.kind::f16.collector::a::fill [%r1], %rd1, %rd2, 193, 1;",
    "tcgen05.mma.cta_group::1.kind::f16.collector::a::fill [%r1], %rd1, %rd2, 69239952, 1;",
    "tcgen05.ld.sync.aligned.16x64b.x32.b32 "
    "{" + ", ".join(f"%r{n}" for n in range(32)) + "}, [%r40];",
    "tcgen05.ld.sync.aligned.16x32bx2.x128.b32 "
    "{" + ", ".join(f"%r{n}" for n in range(128)) + "}, [%r140], 0;",
    "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;",
)


@pytest.mark.parametrize("target", TARGETS)
def test_ptxas_refuses_the_forms(target: str) -> None:
    forms = {**REFUSED, **ALSO_REFUSED}
    for (form, expected), said in zip(
        forms.items(), ptxas.judge(list(forms), target, "9.0"), strict=True
    ):
        assert any(expected in message for message in said), (form, said)


@pytest.mark.parametrize("target", TARGETS)
def test_ptxas_takes_the_others(target: str) -> None:
    """Among them those that only the manual is against."""
    assert ptxas.judge(TAKEN, target, "9.0") == [[] for _ in TAKEN]


def test_the_notes_speak_of_these_statements() -> None:
    assert {form.text for form in FORMS if form.judge is Judge.PTXAS} == set(REFUSED)
    statements = [f.text for f in FORMS if f.judge is Judge.MANUAL and f.text.startswith("tcgen05")]
    assert len(statements) == 2
    for statement in statements:
        assert any(taken.startswith(statement) for taken in TAKEN)
    assert all(form.section and form.instead and form.why for form in FORMS)
    assert len({form.rule for form in FORMS}) == len(FORMS)


def test_the_control_word_is_no_instruction_descriptor() -> None:
    """Table 42: bits 17-22 N, 24-28 M, 6 reserved; 0xC1 has none of the first, and the last."""
    word = 0xC1
    assert (word >> 17 & 63, word >> 24 & 31, word >> 6 & 1) == (0, 0, 1)
    assert InstructionDescriptor.decode(word).problems()
    assert reserved_bits(word, MmaKind.F16) == 1 << 6


def test_the_sparse_atom_has_a_k_that_table_39_does_not_have() -> None:
    (form,) = [form for form in FORMS if form.rule == "form-sparse-k"]
    with pytest.raises(AtomError, match="no K of 16"):
        parse_atom(form.text.split()[-1])
    assert parse_atom(form.instead).k == 32

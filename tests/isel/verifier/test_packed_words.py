"""Packed words of MIR's tcgen05.mma: reserved bits, and words that contradict their record."""

from __future__ import annotations

import re

import pytest

from asmprinter.mir.reader import read_mir
from asmprinter.ptx.printer import print_ptx
from intrinsics.findings import (
    InputError,
    VerificationError,
)
from intrinsics.targets import PTX_VERSIONS
from isel.verifier.levels import verify
from isel.verifier.record import verify_records
from tests.each import each


def words(
    ctrl: int, collector: int = 0, *, opcode: str = "CTA_GROUP1_DENSE", more: str = ""
) -> str:
    """An MMA in MIR with these control and collector words."""
    return f"""\
target sm_100a
kernel @k(
  param @x : u32 size 4 align 4
) {{
bb.entry:
  TCGEN05_MMA_{opcode}
      d:         %0:b32
      a:         %1:b64
      b:         %2:b64
      idesc:     imm:136314896
      ctrl:      imm:{ctrl}
      collector: imm:{collector}
      enable_d:  imm:1
{more}  RET
}}
"""


def rules(text: str) -> list[str]:
    module = read_mir(text)
    return [f.rule for f in verify_records(module, module.target, PTX_VERSIONS[-1])]


def test_the_simplest_words_are_clean():
    """0xC1 is kind::f16 with cta_group::1, and collector word 1 is collector::a::fill."""
    module = read_mir(words(0xC1, 1))
    assert verify_records(module, module.target, PTX_VERSIONS[-1]) == []
    assert (
        "tcgen05.mma.cta_group::1.kind::f16.collector::a::fill ["
        in print_ptx(module, PTX_VERSIONS[-1]).text
    )


@each("bit", range(9, 32))
def test_reserved_bits_of_the_control_word(bit: int):
    assert rules(words(0xC1 | 1 << bit)) == ["tcgen05.mma/reserved-bits"]


@each("bit", range(10, 32))
def test_reserved_bits_of_the_collector_word(bit: int):
    assert rules(words(0xC1, 1 << bit)) == ["tcgen05.mma/reserved-bits"]


@pytest.mark.parametrize("group", [0, 2, 3])
def test_a_control_word_that_contradicts_its_opcode(group: int):
    """cta_group 0 and 3 mean nothing to an MMA; 2 is another opcode."""
    assert rules(words(0xC0 | group)) == ["tcgen05.mma/word-contradicts-opcode"]


@pytest.mark.parametrize("bit", [4, 5])
def test_a_word_that_promises_operands_that_are_not_there(bit: int):
    """Bit 4 needs the scale-input-d operand, bit 5 a block-scaled opcode."""
    assert rules(words(0xC1 | 1 << bit)) == ["tcgen05.mma/word-contradicts-opcode"]


@pytest.mark.parametrize("collector", [0b10, 1 << 4, 0b1_0001, 1 << 8])
def test_collector_words_that_contradict_themselves(collector: int):
    """An operation without its valid bit, and a buffer of B in an MMA that has only A's."""
    assert rules(words(0xC1, collector)) == ["tcgen05.mma/collector-word"]


@pytest.mark.parametrize("code", [1, 2, 3])
def test_a_weight_stationary_word_has_no_scale_vector(code: int):
    """kind::f16 with cta_group::1, and a size of scale vectors in bits 2 and 3."""
    found = rules(words(0xC1 | code << 2, 0x17, opcode="WS_DENSE"))
    assert found == ["tcgen05.mma.ws/scale-vec-ws"]
    assert rules(words(0xC1, 0x17, opcode="WS_DENSE")) == []


@pytest.mark.parametrize("number", [-1, 2, 193])
def test_a_literal_enable_d_is_a_truth_value(number: int):
    text = words(0xC1).replace("enable_d:  imm:1", f"enable_d:  imm:{number}")
    assert rules(text) == ["tcgen05.mma/enable-d-number"]


@pytest.mark.parametrize("word", ["ctrl", "collector"])
def test_a_packed_word_in_a_register_is_refused_by_the_reader(word: str):
    """It becomes modifiers of the instruction, which no register can choose."""
    text = re.sub(rf"{word}:( +)imm:\d+", rf"{word}:\1%9:b32", words(0xC1))
    with pytest.raises(InputError) as caught:
        read_mir(text)
    (found,) = caught.value.findings
    assert f"{word} is a packed word" in found.message
    assert found.place.line == 6


SCALED = words(
    0xE1 & ~0xC0 | 0x80, opcode="CTA_GROUP1_BLOCK_SCALED_DENSE",
    more="      sfa: [%5:b32]\n      sfb: [%6:b32]\n      scale_spelling: %7:b32\n",
)  # fmt: skip


def test_the_spelling_of_a_scale_in_a_register_is_refused_by_the_reader():
    with pytest.raises(InputError, match="scale_spelling is a packed word"):
        read_mir(SCALED)
    assert rules(SCALED.replace("%7:b32", "imm:32")) == []


@pytest.mark.parametrize("word", ["ctrl", "collector"])
def test_a_record_made_with_a_packed_word_in_a_register_is_an_error(word: str):
    """Never one that is read as if the word were 0: neither judged nor printed so."""
    module = read_mir(words(0xC1))
    mi = next(iter(module.function("k").instructions()))
    at = mi.form.index[word]
    mi.ops = (*mi.ops[:at], 0, *mi.ops[at + 1 :])
    newest = PTX_VERSIONS[-1]
    for level in ("record", "all"):
        (found,) = verify(module, module.target, newest, level)
        assert (found.rule, found.subject) == ("tcgen05.mma/packed-word", word)
    with pytest.raises(VerificationError, match=f"{word} is packed into the instruction"):
        print_ptx(module, newest)


def test_operands_in_the_same_braces_come_and_go_together():
    """`{, [sfa], [sfb]}`: a record with one scale and not the other is no instruction."""
    opcode, ctrl = "CTA_GROUP1_BLOCK_SCALED_DENSE", 0xA1  # kind::mxf8f6f4, block_scale
    both = "      scale_spelling: imm:0\n      sfa: %3:b32\n      sfb: %4:b32\n"
    assert rules(words(ctrl, opcode=opcode, more=both)) == []
    for one in ("sfa: %3:b32", "sfb: %4:b32"):
        assert rules(words(ctrl, opcode=opcode, more=both.replace(f"      {one}\n", ""))) != []

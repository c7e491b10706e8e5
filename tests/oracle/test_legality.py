"""nvgen's verdict on every statement against ptxas's, for every target and PTX version.

The statements come from `tests.oracle.legality_forms`, which knows nothing of nvgen's tables; ptxas
says which are legal.  nvgen reads the same module and judges its records.  The two must agree on
each statement, but for the rows of `DELIBERATE`, where nvgen refuses what ptxas lets pass, and for
what nvgen says it does not know (`NOT_MODELLED`).  nvgen never accepts what ptxas refuses.
"""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

import numpy as np
import pytest

from tests.oracle import agreement, ptxas
from tests.oracle.agreement import Reading, agreed, asked
from tests.oracle.evidence import LEGAL, Answers
from tests.oracle.legality_families import FAMILIES
from tests.oracle.recorded_lists import legality_list
from tests.oracle.verdict_file import Pair


class Deliberate(NamedTuple):
    """Statements that ptxas accepts and nvgen refuses."""

    statements: str  # a regular expression
    reason: str


# fmt: off
_REASONS = {
    r"discard\.L2 \[(smem|mbar\+8)\], 128;": "a line of shared memory, which no cache below it has",
    r"st\.bulk(\.weak)? \[smem\], (64|%rd2|%r2), 0;":
        "a symbol of shared memory as a generic address, which names another place",
    r"st\.bulk\S* \[%rd1\], (%s1|smem\+4), 0;":
        "a size that is a symbol, or has 32 bits before PTX 9.0",
    r"clusterlaunchcontrol\.query_cancel\S* (%hx1, %q1|%r1, \{%rd1, %rd2\});":
        "halves as a coordinate, and a response in two registers",
    r"tcgen05\.mma\S* .*, (2|7|-1|0x20U|WARP_SZ|1\+2|4294967296)(, (%rd7|\d+))?;":
        "a number other than 0 and 1 as enable-input-d, of which ptxas takes any for true",
    r"tcgen05\.commit\S*\.sync_restrict::shared::cta\.b64": "a restriction of fences on a commit",
    r"fence\.proxy\.async::generic\.acq_rel\b":
        "the manual's fences of async::generic acquire or release",
    r"fence\.proxy\.async::generic\S*\.cluster\.global;":
        "a state space behind a fence of async::generic, which has none",
    r"fence\.proxy\.(acquire|release|gpu)\S*\.(async|tensormap)::generic\b":
        "a modifier between the words of the name of a fence",
    r"fence\.proxy\.tensormap::generic\.acq_rel\b":
        "the manual's fences of tensormap::generic acquire or release",
    r"fence\.proxy\.tensormap::generic\.acquire\.gpu \[(kparam|16|%f1)\], 128;":
        "a tensor map at what is no generic address",
    r"cp\.async\.bulk\.tensor\S* (?!\[)|cp\.(reduce\.)?async\.bulk\.tensor\S* .*\}\], (?!\[)":
        "ptxas takes anything without brackets for the addresses of a tensor copy, even 1.5",
    r"cp\.async\.bulk\.tensor\S* \[smem\], \[%fd?1,":
        "the address of a tensor map in a floating-point register",
    r"cp\.(reduce\.)?async\.bulk\.tensor\S*\.gpu\b":
        "a scope on a tensor copy, which has none to give",
    r"cp\.(reduce\.)?async\.bulk\.shared\S* .*, 16, (%h1|%rd1|7);": "an mbarrier without brackets",
    r"st\.async(\.weak|\.gpu|\.sys)?(\.global)?\.u32 \[":
        "a store to global memory that does not say that it releases",
    r"st\.async\S*bytes\.\w+ \[%r1\], \{": "several values without .v2 or .v4",
    r"st\.async\S*bytes\.v[24]\.\w+ \[%r1\], ([^{]|(?<=v2\.[busf]\d\d \[%r1\], )\{.*,.*,.*\}"
    r"|(?<=v4\.[busf]\d\d \[%r1\], )\{[^,]+, [^,]+\}|\{[^,]+(, [^,]+){2}\}|\{[^,]+\})":
        "another number of values than the vector says",
    r"st\.async\.release\S*\.b16 \[%rd1\], smem\+4;": "an address as 16 bits",
    r"st\.async\S*\.v2\.f64 .*\{1, 2\}": "integers as floating-point numbers",
    r"st\.async\.release\.gpu\.u32 \[(smem|mbar|lmem)": "a release of what is not global memory",
    r"st\.async\S*\.b128 ": "an asynchronous store of 128 bits in one register",
    r"red\.async\.(relaxed|release)\.(gpu|sys)(\.global)?\.\w+\.\w+ \[":
        "a reduction of global memory that does not release, or does not add",
    r"red\.async\S*bytes\.add\.s64 ": "a type that the manual's red.async lacks",
    r"(red|st)\.async\S*bytes\S* \[%r1\], %r2;": "no mbarrier that counts",
    r"cp\.async\.bulk\.(shared|global)\S*\.b128 ": "a bulk copy's type without an ordering",
    r"cp\.async\.bulk\S*\.multicast::cluster::32b .*, smem\+4;": "a symbol as a mask of CTAs",
    r"tcgen05\.mma\S* .*, %p1, %p1, 2;": "a predicate as the vector of lane masks",
    r"tcgen05\.mma\S*\.kind::i8\S* .*, (%p1|1|0|!%p1), -?\d+;":
        "a scale for D with kind::i8, which ptxas drops without a word",
    r"tcgen05\.mma\S*\.kind::ti16\S* .*, (%p1|1|0|!%p1), -?\d+;":
        "a scale for D with kind::ti16, of which ptxas cannot make code",
    r"tcgen05\.mma\.ws\S* .*, %p1, (0x20U|4294967296|WARP_SZ|1\+2|7);":
        "a small number as a zero-column mask: a scale for D, which .ws does not have",
    r"tcgen05\.ld\.red\S* \{[^}]*\}, %hx1,": "two half floats as what a reduction gives",
    r"tcgen05\.ld\S* \{%r1, (%r1\}|%r2\}, %r1,)":
        "a register twice: refused by ptxas as it generates code",
    r"mbarrier\.\S+ %rd1, \[%rd2\], \{%r1(, %r2)?\};": "a vector as a count",
    r"mbarrier\.\w+\.parity\S* %p1(\|%p2)?, %c1, \[%\w+\], (-1|2|512);":
        "a phase that is neither 0 nor 1: ptxas looks at another operand when there is a report",
    r"mbarrier\.\S+ %p1\|%p2, 1\+2, ": "a number as the report of a wait",
    r"barrier(\.cta)?\.aligned\.sync ": "a modifier between the words of the name",
    r"mov\.(f32|f64|pred) \S+, k;": "a kernel's address as a float or a predicate",
    r"mov\.pred \S+, %hx\d;": "two half floats as a predicate",
    r"mov\.b32 %\w+, \{%h1, _\};": "a value that is nowhere",
    r"mul\.rn\.e4m3x4\S* .*\{%r1, %r2\}": "two registers as four numbers of 8 bits",
    r"(mov|ld|st)\S* .*\{%r1\}": "braces around a single operand",
    r"(ld|st)\.local\.u32 .*\[16\]": "a number as a local address",
    r"\b(ld|st|atom|red|prefetchu?|discard|applypriority|mbarrier|multimem)\b"
    r"(?!\S*\.(async|bulk|tensormap|shared|local|const|param)\b)\S* [^\[]*\[%[rsu]\d":
        "a generic or global address of 32 bits: ptxas refuses to generate code",
    r"cvta(\.to)?\.\S*u32 ": "a generic address of 32 bits: ptxas refuses to generate code",
    r"(addc|subc|madc\.(lo|hi))\.[us]16 ": "a carry into 16 bits: the manual has 32 and 64 only",
    r"\S*\.(cc|shiftamt)(\.s32)?\.\1\b": "a modifier twice",
    r"lop3\S* .*, (256|-1)(, \S+)?;": "a table for lop3 of more than a byte",
    r"(ld|st)\S*\.v8\.[bsu](8|16) ": "a vector of eight small elements: ptxas has no code for it",
    r"vote\S*\.pred .*%hx1": "two half floats as a predicate of a vote",
    r"isspacep\S* %p1, (%[rus]1|WARP_SZ|smem\+4|[-\dx+U]+);":
        "an address that is no 64-bit register",
    r"atom\.global\.exch\.b128 .*, %q2, %q2;": "a second value for an exchange",
    r"testp\.f(32|64) ": "a testp that asks nothing",
    r"cvt\.\S+\.tf32\.f32 %r1, (0f|1\b)": "a number in tf32's only conversion",
    r"cvt\.rn(\.relu)?\.f16x2\.f32 .*%(rd|q)\d":
        "a wide register in a packed conversion, where .bf16x2 has none",
    r"(ld|st)matrix\.\S*\.x8\b": "eight matrices at once, which the manual does not have",
    r"tensormap\.replace\S*_(dim|stride)\S* .*, (%hx1|smem\+4);":
        "two half floats, or an address, as an extent or a stride of a tensor",
    r"prefetch\.tensormap \[smem\];": "a tensor map in shared memory",
    r"wmma\.(load\.c|store\.d)\S*\.m8n8k(32|128)\.f32 ":
        "sums in f32 of a shape that has sums in s32 alone",
    r"stmatrix\S*\.b(16|8)\.b8x16\.b[46]x16_p\d\d ": "a conversion in a store",
    r"(ld|st)matrix\.[^ ]*(?<!\.shared)(?<!::cta)\.b\S* .*\[[gl]mem\]":
        "a matrix in a variable that is not in shared memory",
    r"(ld|st)matrix\S*\.shared\S* .*\[%h1\]": "a shared address of 16 bits",
    r"(ld|st)matrix\S* .*\{%p1, %p2\}": "predicates as registers of a matrix",
    r"stmatrix\S* .*\{%r1, 1\.5\}": "a number of 64 bits among registers of 32",
    r"movmatrix\S* (%p1,|\S+, (!?%p1|0f\w+|smem\+4);)":
        "a predicate, a number or an address as a row of a matrix",
}
# fmt: on
"""Why nvgen refuses what ptxas accepts, by a regular expression for the statements."""
DELIBERATE = tuple(Deliberate(*entry) for entry in _REASONS.items())

NOT_MODELLED = {
    "tensor load": 56,
    "tensor stores and reductions": 1,
    "fence": 76,
    "cluster fences": 25,
    "mov": 29,
    "integer": 4,
    "float conversions": 93,
    "ld/st/branch": 1,
}
"""Statements of instructions, or with modifiers, that nvgen says it does not know."""


_UNKNOWN = agreement.Deliberate("", "unknown", "what nvgen says it does not know is counted")


def by_any_rule(entries: tuple[Deliberate, ...]) -> tuple[agreement.Deliberate, ...]:
    """Statements that may break any rule, and those that nvgen does not know."""
    found = (agreement.Deliberate(entry.statements, "", entry.reason) for entry in entries)
    return (*found, _UNKNOWN)


@pytest.mark.parametrize("family", FAMILIES)
def test_nvgen_and_ptxas_agree(family: str) -> None:
    """For each target on all PTX versions, and on as many statements unknown as are said."""
    answers = Answers(FAMILIES[family](), legality_list(family))
    pairs = [[Pair(target, version) for version in ptxas.PTX] for target in ptxas.TARGETS]
    unknown = NOT_MODELLED.get(family, 0)
    read = Reading.of(answers.statements, None if unknown else asked(answers, *pairs))
    for of_target in pairs:
        agreed(read, answers, of_target, by_any_rule(DELIBERATE))
    assert len(read.unknown) == unknown


FIRST_REGISTERS = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}
"""Registers of a thread where a shape is loaded once.  PTX ISA, tcgen05.ld, the table of .num."""


def test_a_load_of_tensor_memory_fills_up_to_128_registers_of_a_thread() -> None:
    statements, fits = [], []
    for (shape, first), log in itertools.product(FIRST_REGISTERS.items(), range(8)):
        count = first << log
        registers = ", ".join(f"%r{n}" for n in range(count))
        offset = ", 4" if shape == "16x32bx2" else ""
        name = f"tcgen05.ld.sync.aligned.{shape}.x{1 << log}.b32"
        statements.append(f"{name} {{{registers}}}, [%r9]{offset};")
        fits.append(count <= 128)
    refused = Reading.of(statements).refusals(Pair("sm_100a", "9.5"))
    assert [place not in refused for place in range(len(statements))] == fits


SHOWN_ON = (Pair("sm_103a", "9.5"), Pair("sm_107a", "9.5"), Pair("sm_110a", "9.5"))


def test_every_deliberate_difference_is_one() -> None:
    """ptxas accepts, and nvgen refuses, at least one statement of each entry."""
    idle = {entry.reason: re.compile(entry.statements) for entry in DELIBERATE}
    for family, listed in FAMILIES.items():
        texts = listed()
        answers = Answers(texts, legality_list(family))
        legal = np.any([answers.verdicts(pair) == LEGAL for pair in SHOWN_ON], axis=0)
        described = [
            text
            for text, taken in zip(texts, legal, strict=True)
            if taken and any(pattern.search(text) for pattern in idle.values())
        ]
        for text in _that_differ(described, legality_list(family)):
            idle = {why: pattern for why, pattern in idle.items() if not pattern.search(text)}
    assert not idle, "no statement shows the differences"


def _that_differ(texts: list[str], name: str) -> list[str]:
    """The statements that ptxas accepts and nvgen refuses."""
    read, answers = Reading.of(texts), Answers(texts, name)
    found = []
    for pair in SHOWN_ON:
        refused = read.refusals(pair)
        legal = answers.verdicts(pair) == LEGAL
        found += [text for place, text in enumerate(texts) if legal[place] and place in refused]
    return found

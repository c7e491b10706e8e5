"""What is not simulated, each with the reason why; everything else that is drawn must run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count

import pytest

from nvgen import SimulationError
from tests.oracle.executed.check import execute
from tests.oracle.executed.crafted import form_named
from tests.oracle.executed.kernel import Words
from tests.oracle.executed.programs import Program, program_of

SWIZZLE = 61
Change = Callable[[Program, Words], Words]


@dataclass(frozen=True)
class Refused:
    """A form, which of its programs, what is done to it, and what the simulator says."""

    reason: str
    form: str
    which: Callable[[Program], bool]
    change: Change
    says: str


def _swizzled(word: int, mode: int) -> int:
    return word & ~(7 << SWIZZLE) | mode << SWIZZLE


def _any(_: Program) -> bool:
    return True


def _sign_of_a_factor(program: Program, words: Words) -> Words:
    program.cells[:, :, words.sfa - program.first] |= 0x80
    return words


REFUSED = {
    "K-major, 32-byte atoms": Refused(
        "Table 52 has it, Table 53 has no atom of it, and no public source uses it",
        "tf32-shared",
        lambda p: not p.shape.a_mn and p.layouts[0].startswith("B128 K"),
        lambda _, w: replace(w, a=_swizzled(w.a, 1)),
        "not simulated: a K-major matrix with 128-byte swizzling, 32-byte atoms",
    ),
    "selector 2": Refused(
        "the manual's figures are of two columns; CUTLASS makes the selector the lowest bit of an "
        "address",
        "f16-shared-sp",
        _any,
        lambda _, w: replace(w, idesc=w.idesc & ~3 | 2),
        "not simulated: sparsity selector 2",
    ),
    "selector 3": Refused(
        "as of 2",
        "tf32-shared-sp",
        _any,
        lambda _, w: replace(w, idesc=w.idesc | 3),
        "not simulated: sparsity selector 3",
    ),
    "UE4M3 with its highest bit": Refused(
        "the format has no sign, and nobody says what the bit does",
        "mxf4nvf4-shared-scale_vec.4X",
        lambda p: p.shape.factor == "ue4m3",
        _sign_of_a_factor,
        "not simulated: tcgen05.mma (SFA): a UE4M3 factor whose highest bit is set",
    ),
    "a shift that is not announced": Refused(
        "Table 42: the descriptor has the maximum shift; nobody says what a larger one does",
        "f16-shared-ws-zeros",
        _any,
        lambda _, w: replace(
            w, idesc=w.idesc & ~(3 << 30), zero_mask=w.zero_mask & ~(63 << 56) | 3 << 56
        ),
        "not simulated: a column shift of 3, where the instruction descriptor has a maximum of 0",
    ),
}


def _programs(form: str) -> Iterator[Program]:
    return (program_of(form_named(form), seed) for seed in count())


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    refused = REFUSED[name]
    program = next(p for p in _programs(refused.form) if refused.which(p))
    program.words[0] = refused.change(program, program.words[0])
    with pytest.raises(SimulationError) as caught:
        execute(program)
    finding = caught.value.findings[0]
    assert finding.rule == "sim/not-simulated"
    assert refused.says in finding.message


def test_a_in_tensor_memory_is_not_transposed() -> None:
    """Table 51: it is row-major there; CUTLASS asserts it (mma_sm100_umma.hpp)."""
    program = next(_programs("f16-tensor"))
    program.words[0] = replace(program.words[0], idesc=program.words[0].idesc | 1 << 15)
    with pytest.raises(SimulationError, match="marked transposed") as caught:
        execute(program)
    assert caught.value.findings[0].rule == "sim/idesc"


def test_an_index_without_meaning() -> None:
    """PTX ISA, Sparse Matrices: other values of the index result in undefined behavior."""
    program = next(p for p in _programs("f16-shared-sp") if p.shape.m == 128)
    column = program.words[0].meta - program.first
    program.cells[:, 7, column + program.shape.selector] = 0x5555
    with pytest.raises(SimulationError) as caught:
        execute(program)
    assert caught.value.findings[0].rule == "sim/sparse-metadata"


@pytest.mark.parametrize("operand", ["d", "a"])
def test_half_the_lanes_begin_at_the_same_lane(operand: str) -> None:
    """PTX ISA, Data Path Layout Organization: A, D and metadata have the same alignment."""
    program = next(p for p in _programs("f16-tensor") if p.shape.m == 64)
    one = program.words[0]
    moved = replace(one, d=one.d ^ 16 << 16) if operand == "d" else replace(one, a=one.a ^ 16 << 16)
    program.words[0] = moved
    with pytest.raises(SimulationError) as caught:
        execute(program)
    assert caught.value.findings[0].rule == "sim/lane-alignment"


@pytest.mark.parametrize("mode", [3, 5, 7])
def test_no_such_swizzling(mode: int) -> None:
    """PTX ISA, Shared memory descriptor: values 3, 5 and 7 are invalid."""
    program = next(_programs("f16-shared"))
    program.words[0] = replace(program.words[0], b=_swizzled(program.words[0].b, mode))
    with pytest.raises(SimulationError) as caught:
        execute(program)
    assert caught.value.findings[0].rule == "sim/smem-desc"

"""Every atom of the walkthrough's spelling runs in the simulator, and gives what numpy gives.

Inputs are small integers, so every sum is exact in D's type.
"""

from __future__ import annotations

import numpy as np
import pytest

from intrinsics.findings import SimulationError, Verdict, verdict
from nvgen.compilation.compile_text import compile_text
from nvgen.compilation.compiled import Compiled
from nvgen.compilation.options import Options
from nvgen.machine_code.assembler import assemble
from tests.each import each
from tests.nvgen.walkthrough.walkthrough_atoms import TYPES, Atom, expected, kernel, operands


def run(atom: Atom, schedule: str = "late", steps: int = 4) -> Compiled:
    """Compile the atom's kernel without a finding, run it, and compare."""
    compiled = compile_text(kernel(atom, steps), Options(target="sm_100a"))
    assert verdict(compiled.findings) is Verdict.CLEAN, [str(f) for f in compiled.findings]
    a, b = operands(atom)
    d = np.zeros((atom.ctas, 128, atom.values), TYPES[atom.d])
    cluster = (atom.ctas, 1, 1)
    compiled.run(
        a, b, d, grid=cluster, cluster=cluster, block=(128, 1, 1), smem=atom.shared,
        schedule=schedule,
    )  # fmt: skip
    assert np.array_equal(atom.gathered(d), expected(atom, a, b, steps))
    return compiled


SIZES = [Atom(m, n, d, a, a) for m in (64, 128) for n in range(8, 257, 8)
         for d, a in (("f32", "bf16"), ("f16", "f16"))]  # fmt: skip


@each("atom", SIZES, ids=lambda atom: atom.name, parts=4, turns=12)
def test_all_n_of_both_m_with_results_of_32_and_of_16_bits(atom: Atom) -> None:
    run(atom, steps=1)


PAIRS = [Atom(m, n, d, a, a, pair=True) for m in (128, 256) for n in range(32, 257, 32)
         for d, a in (("f32", "bf16"), ("f16", "f16"))]  # fmt: skip


@each("atom", PAIRS, ids=lambda atom: atom.name, parts=4, turns=12)
def test_pairs_with_m_of_128_and_256(atom: Atom) -> None:
    run(atom, steps=1)


STATIONARY = [Atom(m, n, d, a, a, ws=True) for m in (32, 64, 128) for n in (64, 128, 256)
              for d, a in (("f32", "bf16"), ("f16", "f16"))]  # fmt: skip


@each("atom", STATIONARY, ids=lambda atom: atom.name, parts=2, turns=6)
def test_weight_stationary_multiplies(atom: Atom) -> None:
    run(atom, steps=1)


KINDS = (
    Atom(128, 64, "f32", "tf32", "tf32"),
    Atom(64, 32, "f32", "f16", "bf16"),
    Atom(128, 24, "f32", "e4m3", "e5m2"),
    Atom(64, 16, "f16", "e5m2", "e4m3"),
    Atom(128, 48, "s32", "s8", "u8"),
    Atom(256, 64, "f32", "tf32", "tf32", pair=True),
    Atom(128, 64, "s32", "u8", "u8", pair=True),
    Atom(32, 64, "s32", "s8", "s8", ws=True),
)


@pytest.mark.turns(6)
@pytest.mark.parametrize("schedule", ["early", "late", "random:1"])
@pytest.mark.parametrize("atom", KINDS, ids=lambda atom: atom.name)
def test_the_other_kinds_over_four_steps_of_k(atom: Atom, schedule: str) -> None:
    run(atom, schedule)


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    "atom", [SIZES[0], PAIRS[-1], STATIONARY[0], KINDS[4]], ids=lambda atom: atom.name
)
def test_ptxas_takes_them(atom: Atom) -> None:
    compiled = run(atom)
    done = assemble(compiled.ptx, compiled.target)
    assert done.cubin[:4] == b"\x7fELF"
    assert "warning" not in done.log


def test_two_accumulators_of_several_types_in_a_module() -> None:
    """A name has one type in a module of LLVM IR: the type stands behind it."""
    wide, narrow = kernel(Atom(64, 64)), kernel(Atom(64, 32))
    body = narrow[narrow.index("define ptx_kernel") : narrow.index("}\n") + 2]
    second = body.replace("@k(", "@k2(").replace("ld.m64n8x32b(", "ld.m64n8x32b.v32f32(")
    text = wide.replace("ld.m64n8x32b(", "ld.m64n8x32b.v64f32(") + second.replace("!0", "!1")
    text += "declare <32 x float> @llvm.nvvm.tcgen05.ld.m64n8x32b.v32f32(i32)\n"
    text += f'!1 = !{{!"{Atom(64, 32).name}", !"K", !"K"}}\n'
    compiled = compile_text(text, Options(target="sm_100a"))
    assert compiled.ptx.count("16x32bx2.x64") == 1
    assert compiled.ptx.count("16x32bx2.x32") == 1


@pytest.mark.wrong_kernel
def test_a_pair_that_does_not_wait_for_its_peers_tiles() -> None:
    """The barrier of one CTA says nothing of what the other has stored."""
    cluster = (
        "call void @llvm.nvvm.barrier.cluster.arrive.aligned()\n"
        "  call void @llvm.nvvm.barrier.cluster.wait.aligned()"
    )
    own = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"
    atom = Atom(256, 64, pair=True)
    text = kernel(atom)
    assert cluster in text
    compiled = compile_text(text.replace(cluster, own), Options(target="sm_100a"))
    a, b = operands(atom)
    d = np.zeros((2, 128, atom.values), np.float32)
    with pytest.raises(SimulationError, match="sim/race"):
        compiled.run(
            a, b, d, grid=(2, 1, 1), cluster=(2, 1, 1), block=(128, 1, 1), smem=atom.shared,
            schedule="early",
        )  # fmt: skip

"""What ptxas says of a kernel: its resources, and multiplies that it makes wait for each other.

The kernels are assembled; ptxas is the oracle, and the reading of its words is what is tested.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from intrinsics.descriptors.wgmma_desc import WgmmaDescriptor
from intrinsics.findings import Finding, Severity
from intrinsics.modifiers import ScalarType as T
from nvgen import FindingWarning, Kernel, KernelBuilder
from nvgen.machine_code.ptxas_log import Resources, remarks, resources
from tests.nvgen.conftest import Nvgen

TARGET = "sm_90a"
Body = Callable[[KernelBuilder], None]

pytestmark = pytest.mark.wrong_kernel  # all registers are stored at one word: only ptxas runs them


def built(body: Body) -> Kernel:
    b = KernelBuilder("k", block=128)
    b.begin()
    body(b)
    return b.finish()


def product(b: KernelBuilder, *, n: int = 64, accumulators: int = 1) -> None:
    """One group of multiplies with an accumulator each, which are stored behind the wait."""
    a = b.wgmma_descriptor(b.shared_word("tile"), WgmmaDescriptor(0))
    those = [b.wgmma_accumulator(n) for _ in range(accumulators)]
    b.wgmma_fence()
    for d in those:
        b.wgmma_mma_async(d, a, a, 0, atype=T.F16)
    b.wgmma_commit_group()
    b.wgmma_wait_group(0)
    for number, d in enumerate(those):
        b.store(d.registers, b.shared_word(f"result{number}"))


def wide(b: KernelBuilder) -> None:
    """Two accumulators of 128 registers each are more than a thread has."""
    product(b, n=256, accumulators=2)


def read_early(b: KernelBuilder) -> None:
    """The accumulator is stored between two multiplies of a stage."""
    a = b.wgmma_descriptor(b.shared_word("tile"), WgmmaDescriptor(0))
    result = b.shared_word("result")
    d = b.wgmma_accumulator(64)
    b.wgmma_fence()
    b.wgmma_mma_async(d, a, a, 0, atype=T.F16)
    b.store(d.registers, result)
    b.wgmma_mma_async(d, a, a, 1, atype=T.F16)
    b.wgmma_commit_group()
    b.wgmma_wait_group(0)
    b.store(d.registers, result)


def unwaited(b: KernelBuilder) -> None:
    """Nothing waits before the accumulator is stored."""
    a = b.wgmma_descriptor(b.shared_word("tile"), WgmmaDescriptor(0))
    d = b.wgmma_accumulator(64)
    b.wgmma_fence()
    b.wgmma_mma_async(d, a, a, 0, atype=T.F16)
    b.wgmma_commit_group()
    b.store(d.registers, b.shared_word("result"))


def limited(b: KernelBuilder) -> None:
    """Registers at the launch are not known to ptxas from the size of the block alone."""
    b.setmaxnreg_dec(24)


def said(body: Body) -> list[Finding]:
    return list(built(body).compile(target=TARGET).assembled().findings)


def test_a_kernel_in_order_has_resources_and_no_remark() -> None:
    """64 by 64 sums are 32 registers of each thread; two words are shared."""
    compiled = built(product).compile(target=TARGET)
    done = compiled.assembled()
    assert done.findings == ()
    assert done.resources == {"k": compiled.resources}
    found = compiled.resources
    assert (found.kernel, found.spill_stores, found.spill_loads, found.stack) == ("k", 0, 0, 0)
    assert (found.shared, found.barriers) == (8, 0)
    assert 32 <= found.registers <= 64


MISTAKES: list[tuple[Body, str, str, str]] = [
    (wide, "ptxas/wgmma-serialized", "insufficient register resources", "wgmma.fence"),
    (read_early, "ptxas/wgmma-serialized", "reading accumulator registers", ""),
    (unwaited, "ptxas/wgmma-wait-added", "wait_group is injected", "st.shared"),
    (limited, "ptxas/setmaxnreg-ignored", "unable to determine register count", ""),
]
"""A body, the rule, words of ptxas, and how the PTX begins where it names a line."""


@pytest.mark.parametrize(("body", "rule", "words", "got"), MISTAKES)
def test_a_remark_is_a_warning_with_a_way_out(body: Body, rule: str, words: str, got: str) -> None:
    found = said(body)[0]
    assert (found.rule, found.severity) == (rule, Severity.WARNING)
    assert words in found.message
    assert not re.search(r"\bline\b|function", found.message)
    assert found.hint
    assert bool(found.got) == bool(got)
    assert found.got.startswith(got)
    assert bool(got) == (found.place.python_file == __file__)


def test_spills_are_a_warning_with_their_bytes() -> None:
    compiled = built(wide).compile(target=TARGET)
    spilled = compiled.resources
    assert spilled.spill_stores > 0
    (found,) = (f for f in compiled.assembled().findings if f.rule == "ptxas/spill")
    assert found.place.function == "k"
    assert re.findall(r"\d+", found.got) == [
        str(n) for n in (spilled.spill_stores, spilled.spill_loads, spilled.registers)
    ]


LOG = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'gemm' for 'sm_90a'
ptxas info    : Function properties for gemm
    400 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 168 registers, used 4 barriers, 1424 bytes cumulative stack size, \
232 bytes smem
ptxas info    : Compile time = 2.178 ms
ptxas info    : Compiling entry function 'tiny' for 'sm_90a'
ptxas info    : Function properties for tiny
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 4 registers, used 0 barriers
ptxas info    : Function properties for helper
    1024 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads
"""
"""Lines that ptxas 13.5 prints, with numbers of ours; a device function has no line of its own."""


def test_every_kernel_of_a_log_is_read() -> None:
    assert resources(LOG) == {
        "gemm": Resources("gemm", 168, 1424, 12, 16, 232, 4),
        "tiny": Resources("tiny", 4),
    }
    assert [f.place.function for f in remarks(LOG)] == ["gemm"]


def test_the_command_prints_resources_when_asked_and_warnings_always(
    nvgen: Nvgen, tmp_path: Path
) -> None:
    source, cubin = tmp_path / "k.ll", tmp_path / "k.cubin"
    source.write_text(built(wide).compile(target=TARGET).llvm)
    asked = nvgen("compile", source, "--target", TARGET, "--emit", "cubin", "-v", "-o", cubin)
    plain = nvgen("compile", source, "--target", TARGET, "--emit", "cubin", "-o", cubin)
    assert (asked.status, plain.status) == (1, 1)  # every warp stores to the same words
    assert "error[shared/race]" in plain.err
    assert cubin.read_bytes()[:4] == b"\x7fELF"
    line = r"k\.ll: @k: 255 registers, \d+ bytes spilled, \d+ bytes loaded back"
    assert re.search(line, asked.err)
    assert not re.search(line, plain.err)
    for result in (asked, plain):
        assert "warning[ptxas/wgmma-serialized]" in result.err
        assert f"--> {source}:" in result.err
        assert "warning[ptxas/spill]" in result.err


def test_python_is_warned() -> None:
    """Of what costs a kernel its speed, by whatever assembles it."""
    made = built(read_early).compile(target=TARGET)
    for asked in (made.cubin, lambda: made.resources, lambda: made.sass):
        with pytest.warns(FindingWarning, match=r"ptxas/wgmma-serialized"):
            asked()

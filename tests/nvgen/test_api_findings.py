"""Nothing that the rules find is silent: beyond the level asked for it is an error or a warning."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import nvgen
from intrinsics.element import ElementType as E
from intrinsics.findings import Severity
from nvgen import FindingWarning, InputError, Kernel, KernelBuilder, Space, VerificationError
from nvgen.cli import main

ADD = """
define ptx_kernel void @add(ptr addrspace(1) %x) "nvvm.reqntid"="64" {
  store i32 1, ptr addrspace(1) %x
  ret void
}
"""


def early_read() -> Kernel:
    """A register of a multiply is stored while the multiply runs."""
    b = KernelBuilder("k", block=128, target="sm_90a")
    b.pointer("out", output=True)
    out = b.begin()["out"]
    tile = b.shared_tile("tile", E.BF16, (64, 64))
    for chunk in range(4):
        place = tile.chunk(b.tid_x >> 1, (b.tid_x & 1) * 4 + chunk)
        b.store(b.words([b.const(0)] * 4), place, align=16)
    b.fence_proxy_async(Space.SHARED_CTA)
    b.barrier_cta_sync_aligned()
    d = b.warpgroup_tile(64, 64)
    b.wgmma_fence()
    b.gemm_async(d, tile, tile)
    b.wgmma_commit_group()
    b.store(d.parts[0].registers[0], out)
    b.wgmma_wait_group(0)
    return b.finish()


def several_warpgroups() -> Kernel:
    """setmaxnreg by three of four warps: kernels in use do it."""
    b = KernelBuilder("k", block=128, target="sm_90a")
    b.begin()
    with b.if_(b.tid_x < 96):
        b.setmaxnreg_dec(40)
    b.barrier_cta_sync_aligned()
    return b.finish()


def a_of_each_turn(in_flight: int) -> Kernel:
    """Each turn of a loop loads A into the registers of the turn before, as Triton's loops do."""
    b = KernelBuilder("k", block=128, target="sm_90a")
    b.pointer("out", output=True)
    b.u32("turns")
    args = b.begin()
    a = b.shared_tile("a", E.S8, (64, 64), swizzle=64)
    right = b.shared_tile("right", E.BF16, (64, 64))
    for tile, chunks in ((a, 2), (right, 4)):
        for chunk in range(chunks):
            place = tile.chunk(b.tid_x >> 1, (b.tid_x & 1) * chunks + chunk)
            b.store(b.words([b.const(0)] * 4), place, align=16)
    b.fence_proxy_async(Space.SHARED_CTA)
    b.barrier_cta_sync_aligned()
    sums = b.warpgroup_tile(64, 64)
    with b.range(args["turns"]):
        loaded = b.warpgroup_fragment(a, E.BF16).as_a_operand()
        b.gemm(sums, loaded, right, accumulate=True, in_flight=in_flight)
    b.wgmma_wait_group(0)
    b.store(sums.parts[0].registers[0], args["out"])
    return b.finish()


def deadlock(*, calls: bool = False) -> Kernel | str:
    """All threads wait for an arrival of theirs that stands behind the wait."""
    b = KernelBuilder("k", block=32, target="sm_90a")
    b.begin()
    bar = b.mbarrier("bar")
    b.make_mbarriers((bar, 32))
    b.wait(bar, 0)
    b.mbarrier_arrive(bar)
    kernel = b.finish()
    if not calls:
        return kernel
    call = "  call void @other()\n  ret void"
    return kernel.llvm.replace("  ret void", call, 1) + "\ndeclare void @other()\n"


def of_text(module: object) -> nvgen.Compiled:
    text = module.llvm if isinstance(module, Kernel) else str(module)
    return nvgen.compile(text, target="sm_90a")


def of_kernel(module: object) -> nvgen.Compiled:
    assert isinstance(module, Kernel)
    return module.compile()


COMPILERS = [of_text, of_kernel, lambda k: nvgen.compile(k, target="sm_90a")]


# ---- beyond the level ----------------------------------------------------------------------------


@pytest.mark.parametrize("compiler", COMPILERS, ids=["text", "kernel", "function"])
def test_an_error_beyond_the_level_is_an_exception(
    compiler: Callable[[object], nvgen.Compiled],
) -> None:
    with pytest.raises(VerificationError) as caught:
        compiler(early_read())
    assert {f.rule for f in caught.value.findings} == {"wgmma.mma_async/in-flight"}


@pytest.mark.parametrize("compiler", COMPILERS, ids=["text", "kernel", "function"])
def test_what_kernels_in_use_do_is_warned_of(
    compiler: Callable[[object], nvgen.Compiled],
) -> None:
    with pytest.warns(FindingWarning) as told:
        compiled = compiler(several_warpgroups())
    (warning,) = [w for w in told if str(w.message).startswith("error")]
    assert str(warning.message).startswith("error[setmaxnreg.dec/warpgroup]: ")
    assert warning.filename == __file__
    assert "setmaxnreg.dec/warpgroup" in {f.rule for f in compiled.findings}
    assert {f.severity for f in compiled.findings} == {Severity.WARNING}
    assert compiled.ptx


def test_a_that_is_loaded_while_it_is_multiplied_is_warned_of() -> None:
    """As Helion's bmm does; to read a sum so is an exception."""
    with pytest.warns(FindingWarning, match=r"error\[wgmma.mma_async/a-in-flight\]"):
        assert a_of_each_turn(1).compile().ptx
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert a_of_each_turn(0).compile().ptx


def test_the_warning_names_the_line_that_compiles() -> None:
    lines, first = inspect.getsourcelines(of_kernel)
    with pytest.warns(FindingWarning) as told:
        of_kernel(several_warpgroups())
    assert "module.compile()" in lines[told[0].lineno - first]


@pytest.mark.parametrize("pattern", ["wgmma.mma_async/in-flight", "wgmma.*", "*"])
def test_a_rule_that_is_allowed_to_be_broken_warns(pattern: str) -> None:
    kernel = early_read()
    for make in (kernel.compile, lambda **given: nvgen.compile(kernel, target="sm_90a", **given)):
        with pytest.warns(FindingWarning, match=r"warning\[wgmma.mma_async/in-flight\]"):
            assert make(allow=["tcgen05.*", pattern]).ptx
        with pytest.raises(VerificationError):
            make(allow=["tcgen05.*", "wgmma.mma_async"])


def test_what_the_level_asks_for_is_not_allowed() -> None:
    with pytest.raises(VerificationError, match="in-flight"):
        early_read().compile(level="function", allow=["*"])


@pytest.mark.parametrize("allow", ["wgmma.*", [1], None, {"a": 1}])
def test_what_is_allowed_is_a_list_of_rules(allow: object) -> None:
    with pytest.raises(InputError) as caught:
        early_read().compile(allow=allow)
    assert caught.value.findings[0].rule == "compile/allow"


@pytest.mark.parametrize("level", ["function", "all"])
def test_what_the_level_asks_for_is_an_exception_and_no_warning(level: str) -> None:
    with pytest.raises(VerificationError, match="in-flight"):
        early_read().compile(level=level)


def test_a_right_kernel_is_compiled_without_a_word() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nvgen.compile(ADD, target="sm_90a")


@pytest.mark.parametrize("level", ["record", "function", "all"])
def test_a_certain_deadlock_is_an_error_at_every_level(level: str) -> None:
    kernel = deadlock()
    assert isinstance(kernel, Kernel)
    with pytest.raises(VerificationError) as caught:
        kernel.compile(level=level)
    (found,) = caught.value.findings
    assert found.rule == "mbarrier/deadlock"
    assert found.place.python_file == __file__


ONE_MULTIPLY = """
define ptx_kernel void @k(ptr addrspace(6) %d, i64 %a, i64 %b, i32 %i) "nvvm.reqntid"="128" {
  call void @llvm.nvvm.tcgen05.mma.shared(
      ptr addrspace(6) %d, i64 %a, i64 %b, i32 %i, i1 true, i32 0, i32 1, i32 0)
  ret void
}
"""


def test_a_kernel_of_one_instruction_is_compiled_with_a_warning() -> None:
    with pytest.warns(FindingWarning, match=r"tcgen05\.mma/threads"):
        assert "tcgen05.mma.cta_group::1" in nvgen.compile(ONE_MULTIPLY, target="sm_100a").ptx
    with pytest.raises(VerificationError, match=r"tcgen05\.mma/threads"):
        nvgen.compile(ONE_MULTIPLY, target="sm_100a", level="function")


def test_what_ptxas_refuses_is_an_error_of_such_a_kernel_too() -> None:
    pair = "  call void @llvm.nvvm.tcgen05.relinq.alloc.permit.cg2()\n  ret void"
    with pytest.raises(VerificationError) as caught:
        nvgen.compile(ONE_MULTIPLY.replace("  ret void", pair), target="sm_100a")
    assert [f.rule for f in caught.value.findings] == ["tcgen05/cta-groups"]


def test_a_kernel_that_calls_what_may_arrive_is_not_certain_to_deadlock() -> None:
    assert of_text(deadlock(calls=True)).ptx


def test_a_finding_about_code_that_is_copied_is_reported_once() -> None:
    """LLVM unrolls the loop: each copy is wrong in the same place."""
    b = KernelBuilder("k", block=128, target="sm_90a")
    b.pointer("out", output=True)
    out = b.begin()["out"]
    tile = b.shared_tile("tile", E.BF16, (64, 64))
    with b.range(4):
        d = b.warpgroup_tile(64, 64)
        b.wgmma_fence()
        b.gemm_async(d, tile, tile)
        b.wgmma_commit_group()
        b.store(d.parts[0].registers[0], out)
        b.wgmma_wait_group(0)
    with pytest.raises(VerificationError) as caught:
        b.finish().compile(level="function", opt=3)
    assert len(set(caught.value.findings)) == len(caught.value.findings)


# ---- the command ---------------------------------------------------------------------------------


def written(tmp_path: Path, module: Kernel | str, *options: str) -> tuple[int, Path]:
    source, out = tmp_path / "k.ll", tmp_path / "k.ptx"
    source.write_text(module.llvm if isinstance(module, Kernel) else module)
    return main(["compile", str(source), "-o", str(out), "--target", "sm_90a", *options]), out


def test_the_commands_status_says_that_a_rule_beyond_the_level_found_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out = written(tmp_path, several_warpgroups())
    assert status == 1
    assert "error[setmaxnreg.dec/warpgroup]" in capsys.readouterr().err
    assert ".visible .entry k" in out.read_text()


def test_a_rule_that_is_allowed_to_be_broken_lets_the_command_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out = written(tmp_path, early_read(), "--allow", "wgmma.mma_async/in-flight")
    assert status == 0
    assert "warning[wgmma.mma_async/in-flight]" in capsys.readouterr().err
    assert ".visible .entry k" in out.read_text()


def test_a_certain_error_keeps_the_command_from_writing(tmp_path: Path) -> None:
    status, out = written(tmp_path, early_read())
    assert status == 1
    assert not out.exists()


def test_the_command_judges_kernels_that_only_meet_at_barriers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`nvgen.compile` judges them where a level is asked for."""
    b = KernelBuilder("k", block=64, target="sm_90a")
    b.begin()
    with b.if_(b.tid_x == 0):
        b.barrier_cta_sync_aligned()
    b.barrier_cta_sync_aligned()
    kernel = b.finish()
    status, out = written(tmp_path, kernel)
    assert status == 1
    assert "error[bar.sync/aligned]" in capsys.readouterr().err
    assert not out.exists()
    assert kernel.compile().ptx
    with pytest.raises(VerificationError, match=r"bar\.sync/aligned"):
        kernel.compile(level="function")


def test_an_error_of_the_level_keeps_the_command_from_writing(tmp_path: Path) -> None:
    status, out = written(tmp_path, early_read(), "--level", "function")
    assert status == 1
    assert not out.exists()


def test_a_certain_deadlock_keeps_the_command_from_writing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out = written(tmp_path, deadlock())
    assert status == 1
    assert "error[mbarrier/deadlock]" in capsys.readouterr().err
    assert not out.exists()


# ---- the shape of a launch -----------------------------------------------------------------------


def test_a_launch_that_is_known_leaves_nothing_unchecked() -> None:
    compiled = nvgen.compile(ADD, target="sm_90a", level="all", grid=4, smem=0)
    assert compiled.findings == []
    assert compiled.shape.grid == (4, 1, 1)


@pytest.mark.parametrize("level", ["record", "function", "launch", "all"])
@pytest.mark.parametrize(
    ("shape", "rule", "got"),
    [
        ({"block": 32}, "launch/block", "32 x 1 x 1"),
        ({"block": (64, 2)}, "launch/block", "64 x 2 x 1"),
        ({"grid": (1, 70_000)}, "launch/grid-size", "1 x 70000 x 1"),
        ({"grid": 3, "cluster": 2}, "launch/cluster-grid", "cluster of 2 x 1 x 1"),
        ({"cluster": 32}, "launch/cluster-size", "32"),
        ({"smem": 1 << 20}, "launch/shared-memory", str(1 << 20)),
    ],
)
def test_a_launch_that_cannot_be_is_an_error_at_every_level(
    level: str, shape: dict[str, object], rule: str, got: str
) -> None:
    with pytest.raises(VerificationError) as caught:
        nvgen.compile(ADD, target="sm_90a", level=level, **shape)
    (found,) = caught.value.findings
    assert found.rule == rule
    assert got in found.got


def test_a_built_kernel_knows_its_block_and_cluster() -> None:
    b = KernelBuilder("k", block=64, cluster=2, target="sm_90a")
    b.begin()
    kernel = b.finish()
    kernel.compile(level="all", grid=4, block=64, cluster=2)
    with pytest.raises(VerificationError, match="launch/block"):
        kernel.compile(block=32)
    with pytest.raises(VerificationError, match="launch/cluster"):
        kernel.compile(cluster=4)


def test_a_built_kernel_knows_its_dynamic_shared_memory() -> None:
    b = KernelBuilder("k", block=64, dynamic_shared=True, target="sm_90a")
    b.begin()
    b.store(b.const(1), b.shared_tile("t", E.BF16, (64, 64)).pointer)
    assert b.finish().compile(level="all", grid=1).findings == []


@pytest.mark.parametrize(
    ("shape", "rule"),
    [
        ({"block": "64"}, "run/block"),
        ({"grid": (1, 2, 3, 4)}, "run/grid"),
        ({"cluster": 1.5}, "run/cluster"),
        ({"smem": -1}, "run/shared-memory"),
    ],
)
def test_what_is_no_size_is_refused(shape: dict[str, object], rule: str) -> None:
    with pytest.raises(InputError) as caught:
        nvgen.compile(ADD, target="sm_90a", **shape)
    assert caught.value.findings[0].rule == rule


# ---- messages ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declared", "call", "expected"),
    [
        (
            "void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i64)",
            "void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) null, i64 1)",
            "declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)",
        ),
        (
            "i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i64, i32, i32)",
            "i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i64 0, i32 1, i32 31)",
            "declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)",
        ),
    ],
)
def test_an_intrinsic_with_other_types_is_told_its_types(
    declared: str, call: str, expected: str
) -> None:
    text = f"define ptx_kernel void @k() {{\n  call {call}\n  ret void\n}}\ndeclare {declared}\n"
    with pytest.raises(InputError) as caught:
        nvgen.compile(text, target="sm_90a")
    (found,) = caught.value.findings
    assert (found.place.line, found.got, found.expected) == (5, f"declare {declared}", expected)


def test_llvmlites_triple_for_nothing_in_particular_is_taken_for_none() -> None:
    from llvmlite import ir

    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), []), "k")
    function.calling_convention = "ptx_kernel"
    ir.IRBuilder(function.append_basic_block()).ret_void()
    assert "unknown-unknown-unknown" in str(module)
    assert ".entry k" in nvgen.compile(module, target="sm_80").ptx

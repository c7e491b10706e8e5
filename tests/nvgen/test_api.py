"""The Python interface: compile, look at every stage, run."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from llvmlite import binding

import nvgen
from asmprinter.ptx.printer import Printed
from intrinsics import findings
from intrinsics.findings import AssemblerError, InputError, SimulationError, VerificationError
from intrinsics.mir import Module
from isel.passes.bound_waits import BOUND_WAITS
from isel.pipeline import PASSES
from tests.samples.modules import gemm_llvm, gemm_tile

ADD = """
define ptx_kernel void @add(ptr addrspace(1) %out, i32 %n) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %sum = add i32 %i, %n
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 %sum, ptr addrspace(1) %p
  ret void
}
"""


def test_what_the_package_offers_is_there() -> None:
    for name in nvgen.__all__:
        assert getattr(nvgen, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        _ = nvgen.nothing
    with pytest.raises(nvgen.NvgenError) as caught:
        nvgen.compile("", target="sm_100a")
    assert isinstance(caught.value.findings[0], nvgen.Finding)


def test_every_kind_of_error_is_offered() -> None:
    """What README names, and what there is in `intrinsics.findings`."""
    kinds = {kind.__name__ for kind in findings.NvgenError.__subclasses__()}
    assert kinds <= set(nvgen.__all__)
    assert "DriverError" in kinds


def test_text_and_llvmlite_modules_compile_alike() -> None:
    module = binding.parse_assembly(ADD, context=binding.create_context())
    assert nvgen.compile(ADD, target="sm_90a").ptx == nvgen.compile(module, target="sm_90a").ptx


def test_a_built_kernel_compiles_as_its_own_compile_does() -> None:
    kernel = gemm_tile().build()
    compiled = nvgen.compile(kernel, target="sm_100a")
    assert compiled.ptx == kernel.compile(target="sm_100a").ptx
    assert compiled.kernel is kernel


@pytest.mark.parametrize("thing", [None, 17, {"define": "void"}])
def test_what_is_no_llvm_ir_is_refused(thing: object) -> None:
    with pytest.raises(InputError, match="this is no LLVM IR"):
        nvgen.compile(thing, target="sm_100a")


def test_what_a_level_leaves_unchecked_is_said() -> None:
    (finding,) = nvgen.compile(ADD, target="sm_90a", level="all").findings
    assert finding.rule == "verify/level"
    assert finding.incomplete


def test_every_stage_can_be_looked_at() -> None:
    compiled = nvgen.compile(ADD, target="sm_90a")
    assert "define ptx_kernel void @add" in compiled.llvm
    assert tuple(compiled.stages) == PASSES
    assert "kernel @add" in compiled.mir
    assert "\n.version 8.0\n.target sm_90a\n.address_size 64\n" in compiled.ptx
    assert compiled.cubin()[:4] == b"\x7fELF"
    assert compiled.findings == []


@pytest.mark.parametrize(
    ("target", "version"),
    [("sm_75", "7.0"), ("sm_90a", "8.0"), ("sm_100a", "8.6"), ("sm_107a", "9.4")],
)
def test_the_ptx_version_is_the_lowest_that_the_target_needs(target: str, version: str) -> None:
    assert str(nvgen.compile(ADD, target=target).ptx_version) == version


def test_the_ptx_version_is_the_lowest_that_the_forms_need() -> None:
    """A multicast commit with a 16-bit mask came with PTX 9.4 in no form that LLVM spells."""
    fence = (
        "define ptx_kernel void @f() {\n"
        "  call void @llvm.nvvm.fence.proxy.async()\n  ret void\n}\n"
        "declare void @llvm.nvvm.fence.proxy.async()\n"
    )
    assert str(nvgen.compile(fence, target="sm_90").ptx_version) == "8.0"
    assert str(nvgen.compile(ADD, target="sm_90").ptx_version) == "7.8"


def test_a_kernel_runs_on_the_simulator() -> None:
    out = np.zeros(32, np.int32)
    nvgen.compile(ADD, target="sm_90a").run(out, 100, block=32)
    assert (out == np.arange(100, 132)).all()


def test_a_block_that_the_kernel_requires_need_not_be_said() -> None:
    sample = gemm_tile()
    a, b, expected = sample.operands()
    d = np.zeros_like(expected)
    sample.build().compile(target="sm_100a").run(a, b, d)
    assert np.array_equal(d, expected)


def test_a_block_that_nobody_says_is_asked_for() -> None:
    with pytest.raises(InputError, match="does not say its block size"):
        nvgen.compile(ADD, target="sm_90a").run(np.zeros(1, np.int32), 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "has 2 parameters"),
        ((np.zeros(1, np.int32), 1, 2), "has 2 parameters"),
        ((7, 1), "does not fit"),
        ((np.zeros(1, np.int32), 1 << 40), "does not fit"),
        ((np.zeros(1, np.int32), "x"), "no such kind of argument for add_param_1"),
    ],
)
def test_arguments_must_fit(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        nvgen.compile(ADD, target="sm_90a").run(*arguments, block=32)


def test_named_arguments_are_the_builders_parameters() -> None:
    sample = gemm_tile()
    a, b, expected = sample.operands()
    compiled = sample.build().compile(target="sm_100a")
    with pytest.raises(InputError, match="argument 'd' is missing"):
        compiled.run(a, b)
    with pytest.raises(InputError, match="no parameter 'x'"):
        compiled.run(a, b, np.zeros_like(expected), x=1)
    with pytest.raises(InputError, match="too many arguments") as caught:
        compiled.run(a, b, np.zeros_like(expected), d=np.zeros_like(expected))
    assert caught.value.findings[0].got == "3 by place, and by name d"
    with pytest.raises(InputError, match="no kernel 3"):
        compiled.run(a, b, np.zeros_like(expected), kernel=3)
    with pytest.raises(InputError, match="numbers of another type"):
        compiled.run(a.astype(np.float32), b, np.zeros_like(expected))


def test_devices_and_schedules_that_do_not_exist_are_refused() -> None:
    compiled = nvgen.compile(ADD, target="sm_90a")
    with pytest.raises(InputError, match="no device 'tpu'"):
        compiled.run(np.zeros(32, np.int32), 1, block=32, device="tpu")
    with pytest.raises(InputError, match="no such schedule"):
        compiled.run(np.zeros(32, np.int32), 1, block=32, schedule="later")


def test_a_machine_without_a_gpu_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nvgen.driver.launch.gpu", lambda: (0, "no NVIDIA driver here"))
    compiled = nvgen.compile(ADD, target="sm_90a")
    with pytest.raises(InputError, match="no NVIDIA driver here"):
        compiled.run(np.zeros(32, np.int32), 1, block=32, device="cuda")
    with pytest.raises(InputError, match="no NVIDIA driver here"):
        compiled.load()


def test_a_gpu_has_its_own_schedule() -> None:
    compiled = nvgen.compile(ADD, target="sm_90a")
    with pytest.raises(InputError, match="a GPU has its own schedule"):
        compiled.run(np.zeros(32, np.int32), 1, block=32, device="cuda", schedule="late")


def test_what_is_no_optimisation_level_is_refused() -> None:
    with pytest.raises(InputError, match="no such optimisation level"):
        nvgen.compile(ADD, target="sm_90a", opt=4)


def test_errors_of_the_verifier_are_raised_together() -> None:
    text = gemm_llvm().replace("i32 128)", "i32 48)")
    with pytest.raises(VerificationError) as caught:
        nvgen.compile(text, target="sm_100a")
    assert [f.rule for f in caught.value.findings] == [
        "tcgen05.alloc/immediate-range",
        "tcgen05.dealloc/immediate-range",
    ][: len(caught.value.findings)]
    assert caught.value.findings


def test_an_array_out_of_bounds_is_a_fault_with_a_place() -> None:
    with pytest.raises(SimulationError) as caught:
        nvgen.compile(ADD, target="sm_90a").run(np.zeros(16, np.int32), 1, block=32)
    (finding,) = caught.value.findings
    assert finding.place.line == 6


def test_what_is_compiled_goes_to_other_processes_and_back() -> None:
    """Pickled before and after a run: what a run has made of it is made again there."""
    compiled = nvgen.compile(ADD, target="sm_90a")
    for given in (compiled, compiled.with_bounded_waits(1.0)):
        out = np.zeros(4, np.int32)
        given.run(out, 1, block=4)
        other = pickle.loads(pickle.dumps(given))
        assert (other.llvm, other.mir, other.ptx) == (given.llvm, given.mir, given.ptx)
        assert (other.module, other.stages) == (given.module, given.stages)
        assert other.findings == given.findings
        forms = [[mi.form for mi in c.module.functions[0].instructions()] for c in (given, other)]
        assert all(a is b for a, b in zip(*forms, strict=True))
        again = np.zeros(4, np.int32)
        other.run(again, 1, block=4)
        assert again.tolist() == out.tolist() == [1, 2, 3, 4]


def test_a_built_kernel_stays_one_in_other_processes() -> None:
    kernel = gemm_tile().build()
    compiled = kernel.compile(target="sm_100a")
    other = pickle.loads(pickle.dumps(compiled))
    assert other.kernel == kernel
    assert other.module == compiled.module  # with the places
    copied = copy.copy(compiled), copy.deepcopy(compiled)
    assert [c.ptx for c in (other, *copied)] == [compiled.ptx] * 3


def test_ptxas_errors_become_findings(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("NVGEN_PTXAS", str(tmp_path / "nowhere"))
    from nvgen.machine_code.assembler import find_ptxas

    find_ptxas.cache_clear()
    try:
        with pytest.raises(AssemblerError, match="ptxas was not found"):
            nvgen.compile(ADD, target="sm_90a").cubin()
    finally:
        monkeypatch.undo()
        find_ptxas.cache_clear()


def test_compiling_imports_neither_numpy_nor_rich() -> None:
    """They cost more than the work; `nvgen compile` and `check` start without them."""
    code = (
        "import sys\nfrom nvgen.cli import main\n"
        "assert main(['check', '-', '--target', 'sm_90a']) == 0\n"
        "print(sorted({'numpy', 'rich', 'cuda', 'ml_dtypes'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=ADD, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("[]\n")


@pytest.mark.parametrize("names", [["é", "ö"], ["_", "$"], ["1", "_1"], ["a b", "a_b"]])
def test_ptxas_takes_the_names_of_kernels(names: list[str]) -> None:
    """Characters that PTX has not, and names of one character that are none there."""
    text = "".join(f'define ptx_kernel void @"{name}"() {{\n  ret void\n}}\n' for name in names)
    assert len(nvgen.compile(text, target="sm_90a").assembled().resources) == 2


LOOP = """
define ptx_kernel void @count(ptr addrspace(1) %out, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %j = add i32 %i, 3
  store volatile i32 %i, ptr addrspace(1) %out
  %more = icmp ult i32 %j, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
"""


@pytest.mark.parametrize("opt", [0, 2])
def test_stages_are_printed_when_they_are_asked_for(
    opt: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is what the passes made on the way to the MIR that was compiled."""
    from asmprinter.mir import printer as mir_printer

    printed: list[object] = []
    real = mir_printer.print_mir

    def note(module: Module) -> Printed:
        printed.append(module)
        return real(module)

    monkeypatch.setattr(mir_printer, "print_mir", note)
    compiled = nvgen.compile(LOOP, target="sm_90a", opt=opt)
    assert not printed
    assert list(compiled.stages) == list(PASSES)
    assert compiled.stages[PASSES[-1]] == compiled.mir
    assert compiled.stages[PASSES[0]] != compiled.mir
    assert len(printed) == len(PASSES)
    bounded = compiled.with_bounded_waits()
    assert list(bounded.stages) == [*PASSES, BOUND_WAITS]
    assert bounded.stages[BOUND_WAITS] == bounded.mir


HALF = """
define ptx_kernel void @k(ptr %p, TYPE %h) {
  %k = fpext TYPE %h to float
  store float %k, ptr %p
  ret void
}
"""


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("half", np.float16(4)),
        ("half", np.array(4, np.float16)),
        ("half", 0x4400),
        ("bfloat", ml_dtypes.bfloat16(4)),
        ("bfloat", 0x4080),
    ],
)
def test_a_half_is_given_as_one_or_by_its_bits(type_: str, value: object) -> None:
    got = np.zeros(1, np.float32)
    nvgen.compile(HALF.replace("TYPE", type_), target="sm_90").run(got, value, block=1)
    assert got[0] == 4

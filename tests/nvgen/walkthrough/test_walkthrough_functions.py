"""Bodies of the walkthrough's spelling in device functions: they become part of their kernels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from intrinsics.findings import SelectionError, Verdict, verdict
from nvgen.compilation.compile_text import compile_text
from nvgen.compilation.compiled import Compiled
from nvgen.compilation.options import Options
from tests.nvgen.conftest import Nvgen
from tests.nvgen.walkthrough.walkthrough_atoms import Atom, expected, kernel, operands

ATOM = Atom(64, 128)

STEP = """
define internal void @step(i32 %h, ptr addrspace(3) %at, ptr addrspace(3) %bt, i1 %more) {
ENCODES
MULTIPLY
  ret void
}
"""
READ = """
define internal <128 x float> @read(i32 %h, i1 %wanted) {
  call void @llvm.nvvm.tcgen05.wait.cta_group__1()
  br i1 %wanted, label %yes, label %no
yes:
  %acc = call <128 x float> @llvm.nvvm.tcgen05.ld.m64n8x32b(i32 %h)
  ret <128 x float> %acc
no:
  ret <128 x float> zeroinitializer
}
"""


def with_step(text: str) -> str:
    """The multiply of each step, and its descriptors, in a function of their own."""
    lines = text.split("\n")
    encodes = [line for line in lines if "smem_desc.encode" in line and "declare" not in line]
    (multiply,) = [line for line in lines if "mma.cta" in line and "declare" not in line]
    call = "  call void @step(i32 %h, ptr addrspace(3) %at, ptr addrspace(3) %bt, i1 %more)"
    kept = [call if line == multiply else line for line in lines if line not in encodes]
    step = STEP.replace("ENCODES", "\n".join(encodes)).replace("MULTIPLY", multiply)
    return "\n".join(kept) + step


def with_read(text: str) -> str:
    """The wait and the load in a function that returns at two places."""
    lines = [line for line in text.split("\n") if "call void @llvm.nvvm.tcgen05.wait" not in line]
    call = "  %acc = call <128 x float> @read(i32 %h, i1 true)"
    return "\n".join(call if "%acc = call" in line else line for line in lines) + READ


def with_all(text: str) -> str:
    """The whole body in a function that the kernel only calls."""
    text = with_read(with_step(text))
    body = text.replace("define ptx_kernel void @k(", "define internal void @body(")
    body = body.replace("ptr addrspace(1) %d) #0 {", "ptr addrspace(1) %d) {")
    return body + (
        "define ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %d)"
        " #0 {\n  call void @body(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %d)\n"
        "  ret void\n}\n"
    )


VARIANTS = {"the step": with_step, "the read": with_read, "the whole body": with_all}


def run(compiled: Compiled, schedule: str) -> None:
    a, b = operands(ATOM)
    d = np.zeros((1, 128, ATOM.values), np.float32)
    compiled.run(a, b, d, block=(128, 1, 1), smem=ATOM.shared, schedule=schedule)
    assert np.array_equal(ATOM.gathered(d), expected(ATOM, a, b))


@pytest.mark.turns(4)
@pytest.mark.parametrize("schedule", ["early", "late", "random:1"])
@pytest.mark.parametrize("name", VARIANTS)
def test_a_body_in_a_function_gives_what_it_gives_in_the_kernel(name: str, schedule: str) -> None:
    compiled = compile_text(VARIANTS[name](kernel(ATOM)), Options(target="sm_100a"))
    assert verdict(compiled.findings) is Verdict.CLEAN
    assert [f.name for f in compiled.module.functions] == ["k"]
    run(compiled, schedule)


@pytest.mark.parametrize("opt", [1, 3])
def test_after_llvms_optimiser(opt: int) -> None:
    text = with_all(kernel(ATOM)).replace(") {\n", ") noinline {\n")
    run(compile_text(text, Options(target="sm_100a", opt=opt)), "late")


def test_a_function_that_two_kernels_call() -> None:
    """Each has an mbarrier of its own."""
    text = with_all(kernel(ATOM))
    text += text[text.rindex("define ptx_kernel") :].replace("@k(", "@k2(")
    compiled = compile_text(text, Options(target="sm_100a"))
    assert [f.name for f in compiled.module.functions] == ["k", "k2"]
    assert compiled.ptx.count("mbarrier.init") == 2
    assert compiled.ptx.count("tcgen05.alloc") == 2


def test_places_are_those_of_the_function() -> None:
    text = with_step(kernel(ATOM)).replace("i32 1024, i32 16", "i32 512, i32 16")
    notes = [
        f
        for f in compile_text(text, Options(target="sm_100a")).findings
        if f.rule == "walkthrough/strides"
    ]
    lines = text.split("\n")
    assert notes
    assert all("smem_desc.encode" in lines[note.place.line - 1] for note in notes)


def refused(text: str) -> str:
    with pytest.raises(SelectionError) as caught:
        compile_text(text, Options(target="sm_100a"))
    (finding,) = caught.value.findings
    return f"{finding.rule}: {finding.message}"


def test_a_function_that_calls_itself() -> None:
    text = with_step(kernel(ATOM))
    again = "  call void @step(i32 %h, ptr addrspace(3) %at, ptr addrspace(3) %bt, i1 %more)\n"
    at = text.rindex("  ret void")
    told = refused(text[:at] + again + text[at:])
    assert told == "walkthrough/inline: @step works with tensor memory and calls itself"


def test_a_function_whose_address_is_taken() -> None:
    text = with_step(kernel(ATOM)).replace("ready:\n", "ready:\n  store ptr @step, ptr "
                                           "addrspace(1) %d\n", 1)  # fmt: skip
    told = refused(text)
    assert told == "walkthrough/inline: @step works with tensor memory, and its address is taken"


def test_operands_that_differ_between_threads_are_found_through_a_call() -> None:
    call = "  call void @step(i32 %h, ptr addrspace(3) %at, ptr addrspace(3) %bt, i1 %more)"
    own = "  %own = icmp ult i32 %tid, 64\n" + call.replace("%more", "%own")
    text = with_step(kernel(ATOM)).replace(call, own)
    told = refused(text)
    assert told.startswith("walkthrough/thread-operand: ")
    assert "enable_d" in told


def test_a_multiply_that_no_kernel_waits_for() -> None:
    text = "\n".join(
        line for line in with_step(kernel(ATOM)).split("\n")
        if "call void @llvm.nvvm.tcgen05.wait" not in line
    )  # fmt: skip
    with pytest.raises(SelectionError) as caught:
        compile_text(text, Options(target="sm_100a"))
    assert "nothing waits for the multiply" in caught.value.findings[0].message


def test_the_story_of_a_multiply_in_a_function_goes_on_in_the_kernel(
    nvgen: Nvgen, tmp_path: Path
) -> None:
    path = tmp_path / "step.ll"
    path.write_text(with_step(kernel(ATOM)))
    result = nvgen("trace", path, "--target", "sm_100a", "--format", "json")
    assert result.status == 0
    report = result.json()
    assert report["function"] == "step"
    stages = {stage["title"]: "\n".join(stage["lines"]) for stage in report["stages"]}
    assert "TCGEN05_MMA_CTA_GROUP1_DENSE" in stages["MIR after expand-walkthrough"]
    assert "tcgen05.mma.cta_group::1.kind::f16" in stages["PTX"]


def test_a_function_that_nobody_calls_knows_nothing_of_its_parameters() -> None:
    text = kernel(ATOM).replace(
        "attributes #0",
        """define void @lib(i32 %h) {
  %v = call <128 x float> @llvm.nvvm.tcgen05.ld.m64n8x32b(i32 %h)
  ret void
}
attributes #0""",
    )
    with pytest.raises(SelectionError) as caught:
        compile_text(text, Options(target="sm_100a"))
    found = {f.rule: f for f in caught.value.findings}
    assert found["walkthrough/thread-operand"].got.startswith("a parameter of a device function")
    assert found["walkthrough/handle"].place.function == "lib"

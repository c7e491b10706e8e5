"""Calls of nvgen's functions that make no sense: each is refused in words, with its rule."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest

import nvgen
import nvgen.tuning
from intrinsics.findings import AssemblerError, InputError
from intrinsics.mir import Param
from intrinsics.modifiers import ScalarType
from nvgen import KernelBuilder
from nvgen.compilation.nesting import nesting_limit
from nvgen.driver.jobs import bind_host
from nvgen.launching.launches import dim3
from nvgen.sim.memory.regions import Memory
from tests.each import each
from tests.nvgen.programs import ADD, kernel

BEYOND_WRITING = 10**4300
"""Python writes integers of at most 4,300 digits."""

_POINTER = Param("x", ScalarType.U64, 8, 8)
DOUBLE = kernel(
    "  %p = getelementptr i8, ptr addrspace(1) %x, i64 0\n"
    "  %v = load i32, ptr addrspace(1) %p\n  %w = shl i32 %v, 1\n"
    "  store i32 %w, ptr addrspace(1) %p",
    parameters="ptr addrspace(1) %x",
)


def refusal(**options: object) -> tuple[str, str, str]:
    """The rule, what was got, and the hint of what is said of options of `nvgen.compile`."""
    text = options.pop("text", ADD)
    with pytest.raises(InputError) as caught:
        nvgen.compile(text, **{"target": "sm_90a", **options})
    (found,) = caught.value.findings
    return found.rule, found.got, found.hint


@each(
    "options, rule, got",
    [
        ({"target": None}, "target/missing", ""),
        ({"target": 90}, "target/unknown", "90"),
        ({"target": BEYOND_WRITING}, "target/unknown", "int that Python cannot write"),
        ({"target": ["sm_90a"]}, "target/unknown", "['sm_90a']"),
        ({"ptx": 8.6}, "ptx/version-unknown", "8.6, which is no string"),
        ({"opt": "3"}, "compile/opt", "'3'"),
        ({"opt": True}, "compile/opt", "True"),
        ({"level": np.zeros(1)}, "compile/level", "array([0.])"),
        ({"level": None}, "compile/level", "None"),
        ({"bound_waits": "1"}, "bound-waits/seconds", "'1' s"),
        ({"contract": "no"}, "compile/contract", "'no'"),
        ({"lineinfo": "yes"}, "compile/lineinfo", "'yes'"),
        ({"cuda_atomics": None}, "compile/cuda-atomics", "None"),
        ({"cuda_atomics": 1}, "compile/cuda-atomics", "1"),
        ({"keep_stages": "no"}, "compile/keep-stages", "'no'"),
        ({"smem": BEYOND_WRITING}, "run/shared-memory", "int that Python cannot write bytes"),
        ({"text": "define void @f() {\n  ret\0 void\n}\n"}, "llvm/syntax", "U+0000"),
        ({"text": "; \udc80\n"}, "llvm/syntax", "U+DC80"),
        ({"text": Path("kernel.ll")}, "compile/module", type(Path()).__name__),
        ({"passes": 3}, "compile/passes", "int"),
        ({"passes": [3]}, "compile/passes", "int"),
        ({"passes": print}, "compile/passes", "builtin_function_or_method"),
        ({"passes": iter([print])}, "compile/passes", "list_iterator"),
        ({"passes": [lambda: None]}, "compile/passes", "too many positional arguments"),
        ({"rules": [lambda module: 3]}, "compile/rules", "int"),
        ({"rules": [lambda module: ["wrong"]]}, "compile/rules", "str"),
    ],
)
def test_an_option_of_compile(options: dict[str, object], rule: str, got: str) -> None:
    assert refusal(**options)[:2] == (rule, got)


def test_an_option_of_a_kernels_compile() -> None:
    b = KernelBuilder("k", block=32, target="sm_90a")
    b.begin()
    kernel = b.finish()
    with pytest.raises(InputError) as caught:
        kernel.compile(lineinfo="yes")
    (found,) = caught.value.findings
    assert (found.rule, found.expected) == ("compile/lineinfo", "True or False")
    assert kernel.compile(lineinfo=True).ptx != kernel.compile().ptx


@pytest.mark.parametrize(
    ("name", "target"), [("H100", "sm_90a"), ("h200", "sm_90a"), ("SM_90A", "sm_90a")]
)
def test_a_target_by_the_name_of_a_gpu(name: str, target: str) -> None:
    assert target in refusal(target=name)[2]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("#include <cuda.h>\n__global__ void f() {}\n", "CUDA C++"),
        ("kernels/double.ll", "the name of a file"),
        ("def build():\n    return 3\n", "this is Python"),
        ("        /*0000*/   LDC R1, c[0x0][0x28] ;\n", "this is machine code"),
    ],
)
def test_a_text_that_is_something_else(text: str, hint: str) -> None:
    assert hint in refusal(text=text)[2]


def test_a_character_is_reported_with_its_place() -> None:
    with pytest.raises(InputError) as caught:
        nvgen.compile("define void @f() {\n  ret\0 void\n}\n", target="sm_90a")
    (found,) = caught.value.findings
    assert (found.place.line, found.place.column) == (2, 6)


@each(
    "options, rule",
    [
        ({"block": 32.0}, "run/block"),
        ({"block": "32"}, "run/block"),
        ({"block": ()}, "run/block"),
        ({"block": (1, 1, 1, 1)}, "run/block"),
        ({"block": 32, "grid": (1, 2.5)}, "run/grid"),
        ({"block": 32, "grid": np.array([1, 2])}, "run/grid"),
        ({"block": 32, "grid": BEYOND_WRITING}, "run/grid"),
        ({"block": 32, "cluster": "2"}, "run/cluster"),
        ({"block": 32, "smem": "1"}, "run/shared-memory"),
        ({"block": 32, "smem": 1.5}, "run/shared-memory"),
        ({"block": 32, "smem": np.zeros(2)}, "run/shared-memory"),
        ({"block": 32, "kernel": np.zeros(2)}, "run/kernel"),
        ({"block": 32, "schedule": None}, "run/schedule"),
        ({"block": 32, "schedule": 1}, "run/schedule"),
        ({"block": 32, "device": np.zeros(2)}, "run/device"),
        ({"block": 32, "races": None}, "run/races"),
        ({"block": 32, "device": None}, "run/device"),
        ({"block": 32, "shedule": "late"}, "run/arguments"),
        ({"block": 32, "dependent": True}, "run/dependent"),
        ({"block": 32, "races": "no"}, "run/races"),
    ],
)
def test_an_option_of_run(options: dict[str, object], rule: str) -> None:
    compiled = nvgen.compile(DOUBLE, target="sm_90a")
    with pytest.raises(InputError) as caught:
        compiled.run(np.zeros(1, np.int32), **options)
    assert [f.rule for f in caught.value.findings] == [rule]


@pytest.mark.parametrize(
    ("type_", "least", "most"),
    [("u32", 0, 2**32 - 1), ("i32", -(2**31), 2**31 - 1), ("u64", 0, 2**64 - 1)],
)
def test_a_number_is_one_of_the_type_of_its_parameter(type_: str, least: int, most: int) -> None:
    """A negative number of a u32 would be one of four thousand millions, and no guard holds."""
    b = nvgen.KernelBuilder("k", block=32, target="sm_90a")
    getattr(b, type_)("n")
    b.begin()
    compiled = b.finish().compile()
    for right in (least, most, np.int16(7)):
        compiled.run(right)
    for wrong in (least - 1, most + 1):
        with pytest.raises(InputError, match=f"'n' is declared as {type_}") as caught:
            compiled.run(wrong)
        assert caught.value.findings[0].expected == f"{least} to {most}"


def test_an_integer_of_no_type_takes_negative_coordinates() -> None:
    """A box may begin before a tensor map's first element."""
    b = nvgen.KernelBuilder("k", block=32, target="sm_90a")
    b.pointer("out", nvgen.u32, output=True)
    b.integer("c0")
    p = b.begin()
    p["out"][0] = p["c0"]
    out = np.zeros(1, np.uint32)
    b.finish().compile().run(out, -1)
    assert out[0] == 2**32 - 1


def test_a_parameter_may_be_called_dependent() -> None:
    b = nvgen.KernelBuilder("k", block=32, target="sm_90a")
    b.u32("dependent")
    b.begin()
    b.finish().compile().run(dependent=1)


def test_sizes_of_every_kind_of_whole_number() -> None:
    sizes = [dim3(32), dim3(np.int64(32)), dim3([32]), dim3((32, 1)), dim3((np.int32(32), 1, 1))]
    assert sizes == [(32, 1, 1)] * 5


def test_a_module_without_a_kernel() -> None:
    compiled = nvgen.compile("define void @f() {\n  ret void\n}\n", target="sm_90a")
    with pytest.raises(InputError, match="no kernel") as caught:
        compiled.run()
    assert caught.value.findings[0].got == "@f"


def test_a_stage_that_is_none_is_told_those_there_are() -> None:
    compiled = nvgen.compile(DOUBLE, target="sm_90a")
    with pytest.raises(KeyError, match="no stage 'isel': there are select, "):
        compiled.stages["isel"]
    with pytest.raises(KeyError, match="no stage \\[\\]: there are select, "):
        compiled.stages[[]]


def test_an_option_that_is_nearly_one() -> None:
    b = KernelBuilder("k", block=32, target="sm_90a")
    b.u32("n")
    b.begin()
    compiled = b.finish().compile()
    for given, meant in (("gird", "grid"), ("m", ""), ("max_step", "max_steps")):
        with pytest.raises(InputError) as caught:
            compiled.run(1, **{given: 3})
        assert caught.value.findings[0].hint == (f"did you mean {meant}=…?" if meant else "")


def test_a_kernel_is_compiled_before_it_runs() -> None:
    b = KernelBuilder("k", block=32, target="sm_90a")
    b.begin()
    kernel = b.finish()
    with pytest.raises(AttributeError, match=r"a Kernel has no 'run': kernel.compile\(…\).run$"):
        attrgetter("run")(kernel)
    with pytest.raises(AttributeError, match=r"a Kernel has no 'rum'$"):
        attrgetter("rum")(kernel)


def test_a_name_that_is_nearly_one_of_nvgens() -> None:
    with pytest.raises(AttributeError, match="no attribute 'compil'") as caught:
        _ = nvgen.compil
    assert (caught.value.name, caught.value.obj) == ("compil", nvgen)
    assert {"compile", "KernelBuilder", "__version__"} <= set(dir(nvgen))


def test_what_cannot_be_assembled() -> None:
    with pytest.raises(InputError, match="ptxas/text"):
        nvgen.assemble(None, "sm_90a")
    with pytest.raises(InputError, match="target/unknown"):
        nvgen.assemble("", None)


def test_what_cannot_be_tuned() -> None:
    with pytest.raises(InputError) as caught:
        nvgen.tuning.tune(3)
    assert caught.value.findings[0].rule == "tune/problem"


@pytest.mark.parametrize("dtype", [">i4", "O", "U1", "M8[s]"])
def test_an_array_whose_bytes_are_not_those_of_a_gpu(dtype: str) -> None:
    array = np.zeros(1, dtype)
    compiled = nvgen.compile(DOUBLE, target="sm_90a")
    with pytest.raises(InputError, match="no GPU reads the elements"):
        compiled.run(array, block=1)
    with pytest.raises(InputError, match="no GPU reads the elements"):
        bind_host([_POINTER], [array])


def test_an_array_that_no_memory_holds() -> None:
    compiled = nvgen.compile(DOUBLE, target="sm_90a")
    with pytest.raises(InputError, match="system/memory"):
        compiled.run(np.broadcast_to(np.int32(3), (2**50,)), block=1)


def test_a_variable_that_no_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Memory, "allocate", full)
    compiled = nvgen.compile(f"@large = global [4 x i8] zeroinitializer\n{DOUBLE}", target="sm_90a")
    with pytest.raises(InputError, match=r"system/memory.*large"):
        compiled.run(np.zeros(1, np.int32), block=1)


def test_an_output_that_the_simulator_cannot_read() -> None:
    class Foreign:
        __cuda_array_interface__ = None

    b = KernelBuilder("k", block=32, target="sm_90a")
    b.pointer("out", nvgen.u32, output=True)
    b.begin()
    with pytest.raises(InputError, match="no such kind of argument") as caught:
        b.finish().compile().run(Foreign())
    assert caught.value.findings[0].got == "Foreign"


def test_a_call_from_too_deep_is_told_how_deep() -> None:
    """Not only the input may be what is nested: so may the functions around the call."""
    says = "calls around it, of Python's"
    with pytest.raises(InputError, match=says) as caught, nesting_limit("k.ll"):
        raise RecursionError
    assert caught.value.findings[0].rule == "input/too-deep"


def test_an_array_that_is_read_only() -> None:
    array = np.ones(1, np.int32)
    array.flags.writeable = False
    compiled = nvgen.compile(DOUBLE, target="sm_90a")
    with pytest.raises(InputError) as caught:
        compiled.run(array, block=1)
    assert [f.rule for f in caught.value.findings] == ["run/read-only"]
    assert array[0] == 1


def test_an_output_whose_elements_share_memory() -> None:
    """numpy would keep the last of what the kernel wrote, without a word."""
    b = nvgen.KernelBuilder("k", block=4, target="sm_90a")
    b.pointer("y", nvgen.i32, output=True)
    y = b.begin()["y"]
    y[b.tid_x] = b.tid_x.to(nvgen.i32)
    compiled = b.finish().compile()
    one = np.lib.stride_tricks.as_strided(np.zeros(4, np.int32), (4,), (0,))
    with pytest.raises(InputError, match="elements share memory"):
        compiled.run(one)
    every_other = np.zeros(8, np.int32)
    compiled.run(every_other[::2])
    assert every_other.tolist() == [0, 0, 1, 0, 2, 0, 3, 0]


def test_an_array_that_is_read_only_on_a_gpu() -> None:
    array = np.ones(1, np.int32)
    array.flags.writeable = False
    _, memory = bind_host([_POINTER], [array])
    memory.deliver([array.tobytes()])
    with pytest.raises(InputError, match="read-only"):
        memory.deliver([bytes(4)])


def test_a_function_that_is_nowhere_is_to_be_linked() -> None:
    text = "declare void @f()\ndefine ptx_kernel void @k() {\n  call void @f()\n  ret void\n}\n"
    with pytest.raises(AssemblerError, match=r"Unresolved extern function 'f'") as caught:
        nvgen.compile(text, target="sm_90a").cubin()
    assert "nvgen.compile([module, …]) links" in caught.value.findings[0].hint

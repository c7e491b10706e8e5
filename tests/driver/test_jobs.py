"""A launch as data: which memory a parameter points to, what travels, what comes back."""

from __future__ import annotations

import pickle

import ml_dtypes
import numpy as np
import pytest

import nvgen
from intrinsics.descriptors.smem_desc import Swizzle
from intrinsics.findings import InputError
from intrinsics.mir import Param
from intrinsics.targets import TARGETS
from intrinsics.tma.fields import Element
from intrinsics.tma.rules import Request
from nvgen.driver.gpus import architecture
from nvgen.driver.jobs import HostMemory, MapOf, Pointer, bind_host
from nvgen.launching.parameters import Output
from nvgen.launching.tensor_map import tensor_map

KERNEL = """
define ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %b, i32 %n, float %x) {
  ret void
}
"""


def params(text: str = KERNEL) -> list[Param]:
    return nvgen.compile(text, target="sm_90a").module.functions[0].params


def test_arrays_are_pointers_and_numbers_are_bytes() -> None:
    a, b = np.arange(6, dtype=np.int16), np.zeros(3, ml_dtypes.bfloat16)
    values, memory = bind_host(params(), [a, Output(b), -2, 0.5])
    assert values == (Pointer(0), Pointer(1), b"\xfe\xff\xff\xff", np.float32(0.5).tobytes())
    assert memory.contents() == [a.tobytes(), b.tobytes()]


def test_an_array_that_is_given_twice_is_one_memory() -> None:
    a = np.arange(6, dtype=np.int32)
    values, memory = bind_host(params(), [a, Output(a), 0, 0.0])
    assert values[:2] == (Pointer(0), Pointer(0))
    assert len(memory.contents()) == 1


def test_arrays_that_overlap_are_refused() -> None:
    a = np.arange(6, dtype=np.int32)
    with pytest.raises(InputError, match="overlaps with another argument"):
        bind_host(params(), [a, a[2:], 0, 0.0])


@pytest.mark.parametrize("view", [np.s_[::2], np.s_[:, ::-1], np.s_[1:3, 2:]])
def test_a_pointer_goes_to_packed_elements_and_they_come_back_to_their_places(
    view: tuple[slice, ...],
) -> None:
    whole = np.arange(24, dtype=np.int32).reshape(4, 6)
    part = whole[view]
    memory = HostMemory()
    assert memory.number("p", part, packed=True) == 0
    (contents,) = memory.contents()
    assert contents == part.tobytes()
    expected = whole.copy()
    expected[view] = part + 100
    memory.deliver([(np.frombuffer(contents, np.int32) + 100).tobytes()])
    assert np.array_equal(whole, expected)


def test_a_tensor_map_keeps_the_strides_of_its_array() -> None:
    whole = np.arange(16 * 64, dtype=np.float16).reshape(16, 64)
    part = whole[:, :32]
    memory = HostMemory()
    memory.number("m", part, packed=False)
    (contents,) = memory.contents()
    assert len(contents) == 15 * 128 + 64  # from the first element to the last
    lines = np.frombuffer(contents + bytes(64), np.float16).reshape(16, 64)
    assert np.array_equal(lines[:, :32], part)
    assert not lines[:, 32:].any()


def test_what_cannot_be_written_stays() -> None:
    a = np.arange(4, dtype=np.int32)
    a.flags.writeable = False
    memory = HostMemory()
    memory.number("p", a, packed=True)
    with pytest.raises(InputError, match="read-only"):
        memory.deliver([bytes(16)])
    assert a.tolist() == [0, 1, 2, 3]


def test_a_parameter_that_an_argument_does_not_fit_is_named() -> None:
    with pytest.raises(InputError, match="does not fit k_param_2"):
        bind_host(params(), [np.zeros(1), np.zeros(1), np.zeros(1), 0.0])
    with pytest.raises(InputError, match="does not fit k_param_0"):
        bind_host(params(), [1, np.zeros(1), 1, 0.0])
    with pytest.raises(InputError, match="does not fit k_param_3"):
        bind_host(params(), [np.zeros(1), np.zeros(1), 1, "x"])


def test_a_tensor_map_is_a_parameter_of_128_bytes() -> None:
    text = KERNEL.replace("ptr addrspace(1) %a", "ptr byval([128 x i8]) align 64 %a")
    array = np.zeros((8, 64), np.float16)
    map_ = tensor_map(array, (8, 64), 128)
    values, _ = bind_host(params(text), [map_, np.zeros(1), 1, 0.0])
    wanted = Request(Element.F16, (64, 8), (128,), (64, 8), swizzle=Swizzle.B128)
    assert values[0] == MapOf(0, wanted, 128)
    assert pickle.loads(pickle.dumps(values)) == values
    with pytest.raises(InputError, match="does not fit k_param_1"):
        bind_host(params(text), [map_, map_, 1, 0.0])


# ptxas: machine code is for one architecture (family code for its family), so PTX of an earlier
# target is assembled for the GPU that is here; PTX ISA, PTX Module Directives: .target.
@pytest.mark.parametrize(
    ("target", "gpu", "expected"),
    [
        ("sm_90a", 90, "sm_90a"),
        ("sm_75", 90, "sm_90"),
        ("sm_90", 100, "sm_100"),
        ("sm_100f", 103, "sm_103f"),
        ("sm_101a", 110, "sm_110a"),
    ],
)
def test_code_is_assembled_for_the_gpu_that_is_here(target: str, gpu: int, expected: str) -> None:
    assert architecture(TARGETS[target], gpu) == expected

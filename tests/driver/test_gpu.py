"""What only a GPU can show: launches that fail or never end, arrays that live there, streams, time.

`make gpu-test` runs these; elsewhere they are skipped.
"""

from __future__ import annotations

import numpy as np
import pytest

import nvgen
from intrinsics.element import Major
from intrinsics.findings import DriverError, InputError
from nvgen.driver import images
from nvgen.launching.tensor_map import tensor_map
from tests.nvgen.portable_programs import STEPS, Case
from tests.oracle.gpu import on_gpu

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not on_gpu(), reason="needs a GPU: --device cuda"),
]

TARGET = "sm_90a"

ADD = """
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
define ptx_kernel void @add(ptr addrspace(1) %out, i32 %n) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %cta = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = mul i32 %cta, 32
  %i = add i32 %first, %tid
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %i
  %old = load i32, ptr addrspace(1) %at
  %new = add i32 %old, %n
  store i32 %new, ptr addrspace(1) %at
  ret void
}
"""

ENDLESS = """
define ptx_kernel void @endless(ptr addrspace(1) %flag) {
entry:
  br label %wait
wait:
  %value = load volatile i32, ptr addrspace(1) %flag
  %done = icmp eq i32 %value, 1
  br i1 %done, label %end, label %wait
end:
  ret void
}
"""

ASTRAY = """
define ptx_kernel void @astray(i64 %address) {
  %p = inttoptr i64 %address to ptr addrspace(1)
  store i32 1, ptr addrspace(1) %p
  ret void
}
"""

RANKS = """
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()
define ptx_kernel void @ranks(ptr addrspace(1) %out) {
  %cta = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %rank = call i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %cta
  store i32 %rank, ptr addrspace(1) %at
  ret void
}
"""

DYNAMIC = """
@buffer = external addrspace(3) global [0 x i32], align 16
define ptx_kernel void @dynamic(ptr addrspace(1) %out, i32 %last) {
  %cell = getelementptr [0 x i32], ptr addrspace(3) @buffer, i32 0, i32 %last
  store i32 77, ptr addrspace(3) %cell
  %value = load i32, ptr addrspace(3) %cell
  store i32 %value, ptr addrspace(1) %out
  ret void
}
"""


def add() -> nvgen.Compiled:
    return nvgen.compile(ADD, target=TARGET)


def test_a_kernel_that_never_ends_is_reported_and_the_process_lives_on() -> None:
    flag = np.zeros(1, np.int32)
    endless = nvgen.compile(ENDLESS, target=TARGET)
    with pytest.raises(DriverError, match="kernel endless did not end") as error:
        endless.run(flag, block=1, device="cuda", timeout=1.0)
    assert error.value.findings[0].rule == "cuda/timeout"
    values = np.arange(32, dtype=np.int32)
    add().run(values, 5, block=32, device="cuda")
    assert values.tolist() == [i + 5 for i in range(32)]
    flag[0] = 1
    endless.run(flag, block=1, device="cuda")


def test_a_store_into_nowhere_is_reported_and_the_process_lives_on() -> None:
    astray = nvgen.compile(ASTRAY, target=TARGET)
    with pytest.raises(DriverError, match="the kernel failed") as error:
        astray.run(16, block=1, device="cuda")
    assert error.value.findings[0].rule == "cuda/illegal-address"
    values = np.zeros(32, np.int32)
    add().run(values, 1, block=32, device="cuda")
    assert values.tolist() == [1] * 32


def test_the_time_of_a_launch_is_reported() -> None:
    took = add().run(np.zeros(32, np.int32), 1, block=32, device="cuda").milliseconds
    assert took is not None
    assert took > 0


def test_a_cubin_is_loaded_where_there_is_ptxas(monkeypatch: pytest.MonkeyPatch) -> None:
    if images.find_ptxas() is None:  # type: ignore[attr-defined]
        pytest.skip("no ptxas here")
    assert add().load().code == "cubin"
    monkeypatch.setattr(images, "find_ptxas", lambda: None)
    assert add().load().code == "ptx"


def test_a_cubin_of_ptx_that_the_driver_does_not_know_loads() -> None:
    loaded = nvgen.compile(ADD, target=TARGET, ptx="9.5").load()
    assert loaded.code == "cubin"


def test_what_a_loaded_kernel_says_of_itself() -> None:
    loaded = add().load()
    assert 0 < loaded.registers < 64
    assert loaded.local_bytes == 0
    assert loaded.shared_bytes == 0


def test_ctas_of_a_cluster_have_ranks() -> None:
    out = np.full(8, -1, np.int32)
    nvgen.compile(RANKS, target=TARGET).run(out, grid=8, block=32, cluster=4, device="cuda")
    assert out.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]


def test_a_grid_that_is_no_multiple_of_the_cluster_is_refused() -> None:
    ranks = nvgen.compile(RANKS, target=TARGET)
    with pytest.raises(InputError, match="the grid is not made of whole clusters"):
        ranks.run(np.zeros(8, np.int32), grid=7, block=32, cluster=4, device="cuda")


def test_more_dynamic_shared_memory_than_is_allowed_at_first() -> None:
    size = 200 * 1024
    out = np.zeros(1, np.int32)
    compiled = nvgen.compile(DYNAMIC, target=TARGET)
    compiled.run(out, size // 4 - 1, block=1, smem=size, device="cuda")
    assert out[0] == 77
    with pytest.raises(InputError, match="no CTA of the target can have this much"):
        compiled.run(out, 0, block=1, smem=1 << 20, device="cuda")


# ---- arrays that live on the GPU ---------------------------------------------------------------


def test_arrays_of_torch_are_used_where_they_are() -> None:
    torch = pytest.importorskip("torch")
    values = torch.arange(32, dtype=torch.int32, device="cuda")
    took = add().run(values, 5, block=32, device="cuda").milliseconds
    assert took is not None
    assert values.tolist() == [i + 5 for i in range(32)]


def test_arrays_of_cupy_are_used_where_they_are() -> None:
    cupy = pytest.importorskip("cupy")
    values = cupy.arange(32, dtype=cupy.int32)
    add().run(values, 5, block=32, device="cuda")
    assert values.tolist() == [i + 5 for i in range(32)]


def test_a_launch_goes_to_the_users_stream() -> None:
    torch = pytest.importorskip("torch")
    loaded = add().load()
    stream = torch.cuda.Stream()
    values = torch.zeros(1 << 20, dtype=torch.int32, device="cuda")
    torch.cuda.synchronize()
    for given in (stream, stream.cuda_stream):
        with torch.cuda.stream(stream):
            values.fill_(1)
            for n in range(10):
                loaded.launch(values, n, grid=1 << 15, block=32, stream=given)
            values.mul_(2)
        stream.synchronize()
        assert (values == 2 * (1 + sum(range(10)))).all()


def test_a_dependent_launch_waits_where_it_says_so() -> None:
    """A chain of launches, each of which may begin early: none reads what is not yet there."""
    torch = pytest.importorskip("torch")
    text = ADD.replace(
        "define",
        "declare void @llvm.nvvm.griddepcontrol.wait()\n"
        "declare void @llvm.nvvm.griddepcontrol.launch.dependents()\ndefine",
    ).replace(
        "{\n",
        "{\n  call void @llvm.nvvm.griddepcontrol.launch.dependents()\n"
        "  call void @llvm.nvvm.griddepcontrol.wait()\n",
    )
    out = torch.zeros(4096 * 32, dtype=torch.int32, device="cuda")
    kernel = nvgen.compile(text, target=TARGET).load()
    for step in range(50):
        kernel.launch(out, step, grid=4096, block=32, dependent=True)
    torch.cuda.synchronize()
    assert bool((out == sum(range(50))).all())


def test_launches_are_timed_between_events() -> None:
    torch = pytest.importorskip("torch")
    values = torch.zeros(1 << 20, dtype=torch.int32, device="cuda")
    one = add().load().time(values, 1, grid=1 << 15, block=32, launches=20)
    assert 0 < one < 1000
    assert (values == 20).all()


def test_arrays_of_the_host_and_of_the_gpu_do_not_mix() -> None:
    torch = pytest.importorskip("torch")
    two = nvgen.compile(ADD.replace("i32 %n)", "i32 %n, ptr addrspace(1) %x)"), target=TARGET)
    values = torch.zeros(32, dtype=torch.int32, device="cuda")
    with pytest.raises(InputError, match="is not on the GPU"):
        two.run(values, 1, np.zeros(1), block=32, device="cuda")
    with pytest.raises(InputError, match="is not on this GPU"):
        add().run(values.cpu(), 1, block=32, device="cuda")


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float8_e4m3fn"])
def test_tensor_maps_of_torch_arrays(name: str) -> None:
    torch = pytest.importorskip("torch")
    array = torch.zeros((64, 128), dtype=getattr(torch, name), device="cuda")
    found = tensor_map(array[:, :64], (64, 32), 0)
    item = array.element_size()
    assert (found.dims, found.strides, found.item_size) == ((64, 64), (128 * item,), item)


def test_what_an_array_held_before_never_lands_on_what_the_kernel_wrote() -> None:
    """64 KiB of zeros travel to the GPU while the launch is made ready; see test_host.py."""
    case = Case(majors=(Major.MN, Major.MN))
    compiled = case.build(TARGET).compile(target=TARGET)
    a, b, expected = case.operands()
    for _ in range(200):
        d = np.zeros_like(expected)
        compiled.run(a, b, d, STEPS, device="cuda")
        assert np.array_equal(d, expected)

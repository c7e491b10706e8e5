"""Scalar kernels as nvcc, Triton, LLVM and numba compiled them run, and give numpy's values.

The sources are in `tests/ptx_corpus/sources`; what each kernel computes is written here anew.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from nvgen.launching.tensor_map import tensor_map
from nvgen.loading import load
from tests.nvgen.conftest import Nvgen
from tests.ptx_corpus import FOLDER, text_of

Array = npt.NDArray[np.generic]
RNG = np.random.default_rng(7)
SCRATCH = np.zeros(1, np.uint8)
"""Triton's kernels take the addresses of scratch memory, which these do not use."""

SHARED = 1024
"""Bytes of dynamic shared memory: Triton's kernels say beside the PTX how many they use."""


def run(
    name: str, kernel: str, *arguments: Array | np.generic, grid: int = 1, block: int = 128
) -> None:
    compiled = load(f"{name}.ptx", text_of(name)).compiled()
    compiled.run(*arguments, kernel=kernel, grid=grid, block=block, smem=SHARED, device="sim")


def floats(*shape: int) -> npt.NDArray[np.float32]:
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(
    ("name", "kernel", "block", "more"),
    [
        ("nvcc_vector_add_sm80", "vector_add", 256, ()),
        ("triton_add_sm80", "add", 128, (SCRATCH, SCRATCH)),
    ],
)
def test_vectors_are_added(name: str, kernel: str, block: int, more: tuple[Array, ...]):
    """1000 elements in blocks of 256: the last block is not full."""
    a, b, c = floats(1000), floats(1000), np.zeros(1000, np.float32)
    run(name, kernel, a, b, c, np.int32(1000), *more, grid=4, block=block)
    assert np.array_equal(c, a + b)


def test_a_loop_that_strides_over_the_grid():
    """y = 2.5 x + y by fma: rounded once, so computed in double precision and rounded."""
    x, y = floats(1000), floats(1000)
    expected = (2.5 * x.astype(np.float64) + y).astype(np.float32)
    run("nvcc_vector_add_sm80", "saxpy", np.float32(2.5), x, y, np.int32(1000), grid=2, block=64)
    assert np.array_equal(y, expected)


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("nvcc_softmax_sm90a", ()),
        ("nvcc_softmax_debug_sm80", ()),
        ("triton_softmax_sm90a", (SCRATCH, SCRATCH)),
    ],
)
def test_softmax(name: str, more: tuple[Array, ...]):
    """Each of some 300 rounded steps errs by a few units in the last place, ex2.approx by two."""
    x, out = floats(2, 300), np.zeros((2, 300), np.float32)
    wide = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    run(name, "softmax", x, out, np.int32(300), *more, grid=2)
    expected = wide / wide.sum(1, keepdims=True)
    assert np.max(np.abs(out - expected) / expected) < 300 * np.finfo(np.float32).eps


def test_sums_of_blocks_meet_in_an_atomic():
    x, out = RNG.integers(-(2**31), 2**31, 1000).astype(np.int32), np.zeros(1, np.int32)
    run("nvcc_reduce_sm90", "sum_blocks", x, out, np.int32(1000), grid=4, block=256)
    assert out[0] == x.sum(dtype=np.int32)


def test_histograms():
    x, bins = RNG.integers(0, 256, 1000).astype(np.uint8), np.zeros(64, np.uint32)
    run("nvcc_reduce_sm90", "histogram", x, bins, np.int32(1000))
    assert np.array_equal(bins, np.bincount(x & 63, minlength=64))
    y, triton = x[:500].astype(np.int32), np.zeros(64, np.int32)
    more = (SCRATCH, SCRATCH)
    run("triton_histogram_sm100a", "histogram", y, triton, np.int32(500), *more, grid=4)
    assert np.array_equal(triton, np.bincount(y & 63, minlength=64))


@pytest.mark.parametrize("name", ["llvm_device_sm80", "llvm_device_sm100a"])
def test_a_reversal_through_shared_memory_beside_a_kernel_that_is_not_simulated(name: str):
    """The module's other kernel has a branch table, and a table of functions."""
    x, out = floats(64), np.zeros(64, np.float32)
    run(name, "reversed", x, out, block=64)
    expected = (2.0 * x[::-1].astype(np.float64) + x).astype(np.float32)
    assert np.array_equal(out, expected)


def wrapped(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def interpreted(code: list[int], thread: int) -> int:
    """What `interpret` of control.cu leaves for a thread; cases 5 to 7 are left out."""
    stack, value = [0] * 16, thread
    top = 0
    for word in code:
        match word:
            case 0:
                stack[top & 15] = value
                top += 1
            case 1:
                top -= 1
                value = wrapped(value + stack[top & 15])
            case 2:
                value = wrapped(3 * value)
            case 3:
                value = ~value
            case 4:
                value >>= 1
            case 8:
                break
            case _:
                value = wrapped(value - 1)
    return value


def test_an_interpreter_with_a_stack_in_local_memory():
    code = [2, 0, 3, 9, 0, 4, 2, 1, 1, 12, 2, 8, 3]
    out = np.zeros(32, np.int32)
    words = np.array(code, np.int32)
    run("nvcc_control_sm120a", "interpret", words, out, np.int32(len(code)), block=32)
    assert out.tolist() == [interpreted(code, thread) for thread in range(32)]


def test_the_command_runs_one_of_several_kernels(
    nvgen: Nvgen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    x, y = floats(100), floats(100)
    np.save("X.npy", x)
    np.save("Y.npy", y)
    path = FOLDER / "nvcc_vector_add_sm80.ptx"
    kernel = ("--kernel", "vector_add", "--grid", "4", "--block", "32", "--device", "sim")
    given = ("--arg", "in:X.npy", "--arg", "in:Y.npy", "--arg", "out:f32[100]:C.npy")
    found = nvgen("run", path, *kernel, *given, "--arg", "i32:100")
    assert (found.status, found.out) == (0, "")
    assert np.array_equal(np.load("C.npy"), x + y)


def test_matrices_of_a_warp():
    """nvcc's wmma: A from shared memory in rows, B from global memory in columns."""
    a, b = (RNG.integers(-4, 5, (16, 16)).astype(np.float16) for _ in range(2))
    out = np.zeros(1024, np.float32)
    run("nvcc_wmma_sm80", "multiply", a, b, out, block=32)
    assert np.array_equal(out[:256].reshape(16, 16), a.astype(np.float32) @ b.T)


def test_the_command_says_what_it_does_not_simulate(
    nvgen: Nvgen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    path = FOLDER / "nvcc_memory_sm90.ptx"
    given = [word for text in ("i64:0", "i64:0", "out:f32[32]:D.npy") for word in ("--arg", text)]
    found = nvgen("run", path, "--kernel", "textures", "--block", "32", *given)
    assert found.status == 4
    assert "not simulated: tex" in found.err
    assert f"--> {path}:" in found.err
    assert not Path("D.npy").exists()


@pytest.mark.turns(3)
@pytest.mark.parametrize("schedule", ["early", "late", "random:3"])
@pytest.mark.parametrize("steps", [1, 4, 7])
def test_a_warpgroup_multiplies_what_another_loads(steps: int, schedule: str):
    """nvcc's pipeline: of each 64 columns the first 16 are multiplied; D stays in registers."""
    a, b = (RNG.integers(-4, 5, (64, 64 * steps)).astype(np.float16) for _ in "ab")
    d = np.zeros((128, 32), np.float32)
    maps = [tensor_map(x, (64, 64), 128) for x in (a, b)]
    compiled = load("hopper.ptx", text_of("nvcc_hopper_sm90a")).compiled()
    compiled.run(*maps, d, np.int32(steps), grid=1, block=256, device="sim", schedule=schedule)
    used = np.arange(64 * steps) % 64 < 16
    product = a[:, used].astype(np.float32) @ b[:, used].astype(np.float32).T
    thread, i = np.arange(128)[:, None], np.arange(32)[None, :]
    row = thread // 32 * 16 + thread % 32 // 4 + i // 2 % 2 * 8
    assert np.array_equal(d, product[row, i // 4 * 8 + thread % 4 * 2 + i % 2])

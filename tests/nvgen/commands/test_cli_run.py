"""`nvgen run`: kernels on the simulator against numpy, from .npy files to .npy files."""

from __future__ import annotations

import os
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from nvgen.commands import run as command
from tests.nvgen.conftest import Nvgen
from tests.nvgen.programs import ADD, AXPY, BAD_ALLOC, COPY16, FILL, WAITS
from tests.samples.modules import gemm_llvm, gemm_tile, warp_specialized

TARGET = ("--target", "sm_100a")
RNG = np.random.default_rng(1)


RANK = """\
.version 8.0
.target sm_90
.address_size 64
.visible .entry rank(.param .u64 out)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %cluster_ctarank;
    mov.u32 %r3, %cluster_nctarank;
    mad.wide.u32 %rd2, %r1, 8, %rd1;
    st.global.v2.u32 [%rd2], {%r2, %r3};
    ret;
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the current one, so that arguments are short."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def args(*specs: str) -> list[str]:
    return [word for spec in specs for word in ("--arg", spec)]


def run(nvgen: Nvgen, text: str, *specs: str, options: tuple[str, ...] = ("--block", "32")):
    Path("kernel.ll").write_text(text)
    return nvgen("run", "kernel.ll", *TARGET, *options, *args(*specs))


# ---- without end -----------------------------------------------------------------------------

COUNTS_ON = """
define ptx_kernel void @counts(ptr addrspace(1) %x) {
  br label %on
on:
  %n = phi i64 [ 0, %0 ], [ %next, %on ]
  store volatile i64 %n, ptr addrspace(1) %x
  %next = add i64 %n, 1
  br label %on
}
"""


def test_a_run_has_a_limit_though_none_is_given(
    nvgen: Nvgen, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(command._SECONDS, "sim", 0.2)
    ended = run(nvgen, COUNTS_ON, "out:i64[1]:x.npy")
    assert ended.status == 3
    assert "error[sim/timeout]" in ended.err
    assert "kernel.ll:" in ended.err, "where a warp stood"
    assert not Path("x.npy").exists()


# ---- values ----------------------------------------------------------------------------------


def test_integers_in_and_an_array_out(nvgen: Nvgen, folder: Path) -> None:
    assert run(nvgen, ADD, "out:i32[4,8]:C.npy", "i32:0x7fffffff").status == 0
    found = np.load("C.npy")
    assert found.dtype == np.int32
    expected = np.arange(32, dtype=np.uint32) + np.uint32(0x7FFFFFFF)
    assert np.array_equal(found, expected.view(np.int32).reshape(4, 8))


def test_arrays_in_place(nvgen: Nvgen, folder: Path) -> None:
    """inout: reads one file and writes another; in: is left alone."""
    x, y = (RNG.integers(-99, 99, 32).astype(np.int32) for _ in range(2))
    np.save("X.npy", x)
    np.save("Y.npy", y)
    assert run(nvgen, AXPY, "in:X.npy", "inout:Y.npy:Z.npy", "i32:-3").status == 0
    assert np.array_equal(np.load("Z.npy"), -3 * x + y)
    assert np.array_equal(np.load("Y.npy"), y)
    assert run(nvgen, AXPY, "inout:X.npy:X.npy", "in:Y.npy", "i32:-3").status == 0
    assert np.array_equal(np.load("X.npy"), x)


def test_a_cluster(nvgen: Nvgen, folder: Path) -> None:
    """Each CTA of two clusters writes its rank, and the number of CTAs beside it."""
    Path("rank.ptx").write_text(RANK)
    options = ("--block", "1", "--grid", "6", "--cluster", "3")
    assert nvgen("run", "rank.ptx", "--kernel", "rank", *options, *args("out:i32[6,2]:C.npy")
                 ).status == 0  # fmt: skip
    assert np.load("C.npy").tolist() == [[rank, 3] for rank in (0, 1, 2) * 2]


@pytest.mark.parametrize("order", [">i4", "<i4"])
def test_arrays_of_either_byte_order_and_layout(nvgen: Nvgen, folder: Path, order: str) -> None:
    x = RNG.integers(-99, 99, (8, 4)).astype(order)
    np.save("X.npy", np.asfortranarray(x))
    assert run(nvgen, AXPY, "in:X.npy", "inout:X.npy:Z.npy", "i32:1").status == 0
    assert np.array_equal(np.load("Z.npy"), x + x)


@pytest.mark.parametrize("value", ["0.1", "-1e-45", "inf", "nan", "3.4028235e38"])
def test_a_floating_point_number_is_rounded_once(nvgen: Nvgen, folder: Path, value: str) -> None:
    assert (
        run(nvgen, FILL, "out:f32[1]:C.npy", f"f32:{value}", options=("--block", "1")).status == 0
    )
    assert np.array_equal(np.load("C.npy"), np.array([value], np.float32), equal_nan=True)


def test_types_that_npy_files_cannot_name(nvgen: Nvgen, folder: Path) -> None:
    """np.save writes bfloat16 as two bytes without a meaning; dtype= gives it back."""
    x = RNG.standard_normal(32).astype(ml_dtypes.bfloat16)
    np.save("X.npy", x)
    assert run(nvgen, COPY16, "in:X.npy,dtype=bf16", "out:bf16[32]:C.npy").status == 0
    assert np.array_equal(np.load("C.npy").view(ml_dtypes.bfloat16), x)
    np.save("H.npy", x.astype(np.float16))
    assert run(nvgen, COPY16, "in:H.npy", "out:f16[32]:C.npy").status == 0
    assert np.array_equal(np.load("C.npy"), x.astype(np.float16))


@pytest.mark.parametrize("schedule", ["early", "late", "random:7"])
def test_the_tile_of_the_first_sample(nvgen: Nvgen, folder: Path, schedule: str) -> None:
    a, b, expected = gemm_tile().operands()
    np.save("A.npy", a)
    np.save("B.npy", b)
    box = "box=128x64,swizzle=128"
    specs = (f"tmap:A.npy,{box}", f"tmap:B.npy,{box}", "out:f32[128,128]:D.npy")
    found = run(nvgen, gemm_llvm(), *specs, options=("--schedule", schedule))
    assert found.status == 0
    assert np.array_equal(np.load("D.npy"), expected)
    assert schedule in found.err
    assert "D.npy" in found.err


def test_the_second_sample_stores_through_a_tensor_map(nvgen: Nvgen, folder: Path) -> None:
    sample = warp_specialized()
    a, b, expected = sample.operands(128, 256, 64)
    np.save("A.npy", a)
    np.save("B.npy", b)
    box = "box=128x64,swizzle=128"
    output = "outmap:f32[128,256]:D.npy,box=128x32,swizzle=128"
    specs = (f"tmap:A.npy,{box}", f"tmap:B.npy,{box}", output, "i32:128", "i32:256", "i32:64")
    kernel = sample.build()
    options = ("--grid", "2", "--smem", str(kernel.dynamic_shared), "--schedule", "late")
    assert run(nvgen, kernel.llvm, *specs, options=options).status == 0
    assert np.array_equal(np.load("D.npy"), expected)


def test_the_records_and_the_ptx_of_a_kernel_run_too(nvgen: Nvgen, folder: Path) -> None:
    Path("kernel.ll").write_text(ADD)
    for name in ("kernel.mir", "kernel.ptx"):
        assert nvgen("compile", "kernel.ll", *TARGET, "-o", name).status == 0
        found = nvgen("run", name, "--block", "32", *args("out:i32[32]:C.npy", "i32:-5"))
        assert found.status == 0
        assert np.array_equal(np.load("C.npy"), np.arange(-5, 27))
        os.remove("C.npy")


def test_a_grid_and_one_of_several_kernels(nvgen: Nvgen, folder: Path) -> None:
    two = ADD + ADD.split("declare")[0].replace("@add", "@twice").replace("i32 %n\n", "i32 %sum\n")
    options = ("--grid", "2", "--block", "4,2")
    assert run(nvgen, two, "out:i32[32]:C.npy", "i32:1", options=options).status == 2
    done = run(nvgen, two, "out:i32[32]:C.npy", "i32:1", options=(*options, "--kernel", "add"))
    assert done.status == 0
    assert list(np.load("C.npy")[:4]) == [1, 2, 3, 4]
    assert not np.load("C.npy")[4:].any(), "tid.x goes up to 3 only"


def test_an_input_that_the_kernel_changes_is_said_to_be_lost(nvgen: Nvgen, folder: Path) -> None:
    np.save("x.npy", np.zeros(32, np.int32))
    told = run(nvgen, ADD, "in:x.npy", "i32:1", options=("--block", "32"))
    assert told.status == 0
    assert "wrote no file; the kernel changed the array of x.npy, which is lost" in told.err
    assert "inout:x.npy:OUT.npy keeps it" in told.err
    assert not np.load("x.npy").any(), "the file is as it was"
    quiet = run(nvgen, ADD, "inout:x.npy:y.npy", "i32:1", options=("--block", "32"))
    assert "lost" not in quiet.err
    assert quiet.err.rstrip().endswith("wrote y.npy")


# ---- what is told ----------------------------------------------------------------------------


def test_the_report_for_machines(nvgen: Nvgen, folder: Path) -> None:
    options = ("--block", "32", "--json", "--schedule", "late")
    found = run(nvgen, ADD, "out:i32[32]:C.npy", "i32:1", options=options)
    assert (found.status, found.err) == (0, "")
    report = found.json()
    assert report.pop("steps") > 0
    assert report == {
        "file": "kernel.ll",
        "outcome": "ok",
        "schedule": "late",
        "operations": 0,
        "leaked": 0,
        "outputs": ["C.npy"],
        "not_kept": [],
        "findings": [],
    }


KEEPS = """
define ptx_kernel void @keeps() {
  %p = call ptr @malloc(i64 16)
  store volatile i32 1, ptr %p
  ret void
}
declare ptr @malloc(i64)
"""


def test_what_was_not_freed_is_told(nvgen: Nvgen, folder: Path) -> None:
    assert "; 512 bytes of malloc were not freed; wrote no file" in run(nvgen, KEEPS).err
    told = run(nvgen, KEEPS, options=("--block", "32", "--json"))
    assert (told.status, told.json()["leaked"]) == (0, 512)


ENDS = {
    "out of bounds": (ADD, ("out:i32[16]:C.npy", "i32:1"), (), 1, "fault", "sim/out-of-bounds"),
    "not selectable": (ADD.replace("tid.x", "tidy"), ("out:i32[32]:C.npy", "i32:1"), (), 1,
                       "fault", "select/unknown-intrinsic"),
    "illegal": (BAD_ALLOC, ("out:i32[32]:C.npy",), (), 1, "fault", "tcgen05.alloc/immediate-range"),
    "no IR": ("nonsense", ("out:i32[32]:C.npy",), (), 2, "not run", "llvm/syntax"),
    "arguments": (ADD, ("out:i32[32]:C.npy",), (), 2, "not run", "run/arguments"),
    "deadlock": (WAITS, ("out:i32[32]:C.npy",), ("--block", "1"), 3, "deadlock", "sim/deadlock"),
    "half a cluster": (ADD, ("out:i32[32]:C.npy", "i32:1"), ("--grid", "3", "--cluster", "2"), 2,
                       "not run", "launch/cluster-grid"),
    "large grid": (ADD, ("out:i32[32]:C.npy", "i32:1"), ("--grid", "99999"), 4, "not simulated",
                   "sim/not-simulated"),
    "grid of 20 digits": (ADD, ("out:i32[32]:C.npy", "i32:1"), ("--grid", "9" * 20), 2, "not run",
              "launch/grid-size"),
    "block of 20 digits": (ADD, ("out:i32[32]:C.npy", "i32:1"), ("--block", "9" * 20), 2,
              "not run", "run/shape"),
    "no such grid": (ADD, ("out:i32[32]:C.npy", "i32:1"), ("--grid", "9999999999"), 2, "not run",
                     "launch/grid-size"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "specs", "options", "status", "outcome", "rule"), ENDS.values(), ids=ENDS
)
def test_how_a_run_can_end(
    nvgen: Nvgen,
    folder: Path,
    text: str,
    specs: tuple[str, ...],
    options: tuple[str, ...],
    status: int,
    outcome: str,
    rule: str,
) -> None:
    """Each end has its status; outputs of a run that failed stay as they were."""
    Path("C.npy").write_bytes(b"before")
    everything = ("--block", "32", *options)
    told = run(nvgen, text, *specs, options=everything)
    assert (told.status, told.out) == (status, "")
    assert f"error[{rule}]" in told.err
    machine = run(nvgen, text, *specs, options=(*everything, "--json"))
    assert (machine.status, machine.err) == (status, "")
    report = machine.json()
    assert (report["outcome"], report["outputs"]) == (outcome, [])
    assert rule in [f["rule"] for f in report["findings"]]
    assert Path("C.npy").read_bytes() == b"before"
    assert sorted(os.listdir()) == ["C.npy", "kernel.ll"]


def test_a_deadlock_says_who_waits_for_what(nvgen: Nvgen, folder: Path) -> None:
    err = run(nvgen, WAITS, "out:i32[1]:C.npy", options=("--block", "1")).err
    line = 1 + next(i for i, s in enumerate(WAITS.split("\n")) if "test.wait" in s)
    for part in ("warp 0", "bar, phase 0", f"kernel.ll:{line}:", "0 of 1 arrivals"):
        assert part in err


# ---- arguments that do not do ----------------------------------------------------------------

NPY = {
    "good.npy": np.zeros(32, np.int32),
    "scalar.npy": np.int32(1),
    "text.npy": np.array(["a", "b"]),
    "dates.npy": np.zeros(2, "M8[s]"),
    "records.npy": np.zeros(2, [("a", "i4"), ("b", "f4")]),
    "narrow.npy": np.zeros(32, ml_dtypes.bfloat16),
}

BAD_ARRAYS = {
    "in:missing.npy": "No such file",
    "in:folder": "Is a directory",
    "in:": "No such file",
    "in:text.npy": "<U1",
    "in:dates.npy": "datetime64",
    "in:records.npy": "'a'",
    "in:objects.npy": "allow_pickle",
    "in:narrow.npy": "dtype=bf16",
    "in:magic.npy": "magic",
    "in:empty.npy": "got: ",
    "in:short.npy": "got: ",
    "in:header.npy": "got: ",
    "in:shape.npy": "got: ",
    "in:huge.npy": "got: ",
    "in:archive.npz": "an .npz archive",
    "in:zip.npy": "an .npz archive",
}


@pytest.fixture
def arrays(folder: Path) -> Path:
    """Files that are arrays, and files that are not quite."""
    for name, array in NPY.items():
        np.save(name, array)
    np.save("objects.npy", np.array([None]), allow_pickle=True)
    np.savez("archive.npz", a=np.zeros(3))
    good = Path("good.npy").read_bytes()
    Path("folder").mkdir()
    Path("zip.npy").write_bytes(b"PK\3\4 garbage")
    Path("magic.npy").write_bytes(b"garbage" * 9)
    Path("empty.npy").write_bytes(b"")
    Path("short.npy").write_bytes(good[:-1])
    Path("header.npy").write_bytes(good[:30])
    Path("shape.npy").write_bytes(good.replace(b"(32,)", b"(((((", 1))
    Path("huge.npy").write_bytes(
        good.replace(b"(32,), }" + 12 * b" ", b"(32" + 12 * b"0" + b",), }")
    )
    return folder


@pytest.mark.parametrize(("spec", "why"), BAD_ARRAYS.items())
def test_what_is_no_array(nvgen: Nvgen, arrays: Path, spec: str, why: str) -> None:
    for words in (spec, spec.replace("in:", "tmap:") + ",box=8"):
        found = run(nvgen, ADD, words, "i32:1")
        assert (found.status, found.out) == (2, "")
        assert "error[run/array]: cannot read an array from" in found.err
        assert why in found.err


BAD_SPECS = {
    "": "no such kind of argument",
    "f8:1": "no such kind of argument",
    "x": "no such kind of argument",
    "inout:good.npy": "inout takes two files",
    "inout:good.npy:": "inout takes two files",
    "in:good.npy,dtype=f64": "int32 cannot be read as f64",
    "in:good.npy,dtype=": "no element type ''",
    "in:good.npy,dtype=f33": "no element type 'f33'",
    "in:good.npy,shape=3": "no option 'shape' here",
    "in:good.npy,dtype": "'dtype' is not NAME=VALUE",
    "out:f32:C.npy": "an output has a type, a shape and a file",
    "out:f32[]:C.npy": "an output has a type, a shape and a file",
    "out:f32[-1]:C.npy": "an output has a type, a shape and a file",
    "out:f32[8]": "an output has a type, a shape and a file",
    "out:f32[" + "9" * 5000 + "]:C.npy": "an output has a type, a shape and a file",
    "out:f32[99999999999999]:C.npy": "the array is too large",
    "32": "a number has its type: i32:32",
    "-0.5": "a number has its type: f32:-0.5",
    "1e3": "a number has its type: f32:1e3",
    "out:f33[8]:C.npy": "no element type 'f33'",
    "out:f64[9999999999,9999999999]:C.npy": "the array is too large",
    "out:i32[" + "1," * 99 + "1]:C.npy": "the array is too large",
    "out:i32[32]:folder": "cannot write folder",
    "out:i32[32]:missing/C.npy": "cannot write missing/C.npy",
    "i32:": "'' is no integer",
    "i32:1.5": "'1.5' is no integer",
    "i32:" + "9" * 5000: "is no integer",
    "i32:2147483648": "2147483648 does not fit i32",
    "u8:-1": "-1 does not fit u8",
    "f32:one": "'one' is no number",
    "f32:1e39": "1e39 does not fit f32",
    "tmap:good.npy": "a tensor map has a box",
    "tmap:good.npy,box=8,swizzle=x": "a tensor map has a box",
    "tmap:good.npy,box=" + "9" * 5000: "a tensor map has a box",
    "tmap:good.npy,box=8x8": "the box has another rank than the array",
    "tmap:good.npy,box=6": "not a multiple of 16 bytes",
    "tmap:good.npy,box=8,swizzle=16": "no such swizzle",
    "outmap:f32[8,8]:C.npy": "a tensor map has a box",
    "outmap:C.npy,box=8x8": "an output has a type, a shape and a file",
    "outmap:f32[8,8]:C.npy,box=8": "the box has another rank than the array",
    "outmap:f32[8,8]:C.npy,box=8x8,dtype=f32": "no option 'dtype' here",
    "tmap:scalar.npy,box=1": "TMA rank must be in the range 1..5",
}


@pytest.mark.parametrize(("spec", "why"), BAD_SPECS.items(), ids=lambda text: text[:30])
def test_what_is_no_argument(nvgen: Nvgen, arrays: Path, spec: str, why: str) -> None:
    found = run(nvgen, ADD, spec, "i32:1")
    assert (found.status, found.out) == (2, "")
    assert why in found.err
    assert "expected: " in found.err
    assert not Path("C.npy").exists()


@pytest.mark.parametrize(
    ("specs", "why"),
    [
        (("in:good.npy", "f32:1.5"), ("the number 1.5", "u32")),
        (("in:good.npy", "in:good.npy"), ("an array of int32", "u32")),
        (("i32:1", "i32:1"), ("the number 1", "pointer")),
        (("tmap:good.npy,box=8", "i32:1"), ("a tensor map", "pointer")),
        (("in:good.npy",), ("1 argument ", "pointer, u32")),
        (("in:good.npy", "i32:1", "i32:2"), ("3 arguments", "pointer, u32")),
    ],
)
def test_arguments_fit_their_parameters(
    nvgen: Nvgen, arrays: Path, specs: tuple[str, ...], why: tuple[str, str]
) -> None:
    found = run(nvgen, ADD, *specs)
    assert found.status == 2
    assert f"got: {why[0]}" in found.err
    assert f"expected: {why[1]}" in found.err


def test_a_number_too_large_for_its_parameter(nvgen: Nvgen, arrays: Path) -> None:
    found = run(nvgen, FILL, "inout:good.npy:C.npy", "f64:1e300")
    assert found.status == 2
    assert "got: the number 1e+300" in found.err


def test_two_outputs_do_not_go_to_one_file(nvgen: Nvgen, arrays: Path) -> None:
    found = run(nvgen, COPY16, "inout:good.npy:C.npy", "out:i16[32]:./C.npy")
    assert found.status == 2
    assert "two outputs go to ./C.npy" in found.err
    assert run(nvgen, COPY16, "inout:good.npy:/dev/null", "out:i16[32]:/dev/null").status == 0


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ((), "run/block"),
        (("--block", "0"), "run/block"),
        (("--block", "32,"), "run/block"),
        (("--block", "1,1,1,1"), "run/block"),
        (("--block", "-1"), "run/block"),
        (("--block", "9" * 5000), "run/block"),
        (("--block", "2048"), "run/shape"),
        (("--block", "32", "--grid", "1.5"), "run/grid"),
        (("--block", "32", "--cluster", "a"), "run/cluster"),
        (("--block", "32", "--smem", "-1"), "run/shared-memory"),
        (("--block", "32", "--smem", "1000000"), "launch/shared-memory"),
        (("--block", "32", "--schedule", "soon"), "run/schedule"),
        (("--block", "32", "--schedule", "random:x"), "run/schedule"),
        (("--block", "32", "--kernel", "sub"), "run/kernel"),
        (("--block", "32", "--device", "cuda"), "run/device"),
    ],
)
def test_launches_that_cannot_be(
    nvgen: Nvgen, arrays: Path, options: tuple[str, ...], rule: str
) -> None:
    found = run(nvgen, ADD, "inout:good.npy:C.npy", "i32:1", options=options)
    assert found.status == 2
    assert f"error[{rule}]" in found.err
    assert "expected: " in found.err
    assert not Path("C.npy").exists()

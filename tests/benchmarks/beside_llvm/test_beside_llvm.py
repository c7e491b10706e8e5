"""Launches as they are written down, machine code of both compilers, and what a report says."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import nvgen
from tests.benchmarks.beside_llvm import building, launches, report
from tests.benchmarks.beside_llvm.differences import difference

SCALE = """
define ptx_kernel void @scale(ptr addrspace(1) %x, float %by) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr float, ptr addrspace(1) %x, i32 %i
  %old = load float, ptr addrspace(1) %p
  %product = fmul contract float %old, %by
  %sum = fadd contract float %product, 1.0
  store float %sum, ptr addrspace(1) %p
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""
LAUNCH = {"kernel": "scale", "grid": [1], "block": [32], "args": ["f32[32]:range", "f32:2"]}


def arguments(*texts: str | list[str]) -> launches.Arguments:
    return launches.arguments(launches.Launch("k", [1], [1], texts))


def test_numbers_are_bytes_of_their_type():
    given = arguments("i32:-2", "u64:18446744073709551615", "f32:0.5", "f64:0.5")
    found = [value.tobytes() for value in given.bound([])]
    expected: list[np.generic] = [
        *(np.int32(-2), np.uint64(2**64 - 1), np.float32(0.5), np.float64(0.5)),
    ]
    assert found == [one.tobytes() for one in expected]


def test_a_struct_has_its_fields_aligned_and_addresses_in_it():
    """A pointer behind 4 bytes, a word behind it, and 4 bytes that fill it up."""
    given = arguments(["i32:7", "f32[4]:range", "i16:3"])
    (struct,) = given.bound([0x1122334455667788])
    assert struct.tobytes() == (
        (7).to_bytes(8, "little")
        + (0x1122334455667788).to_bytes(8, "little")
        + (3).to_bytes(8, "little")
    )


@pytest.mark.parametrize(
    ("fill", "expected"),
    [("range", [0, 1, 2, 3, 4]), ("7", [7] * 5), ("1,2", [1, 2, 1, 2, 1])],
)
def test_arrays_are_filled(fill: str, expected: list[int]):
    (array,) = arguments(f"i64[5]:{fill}").arrays
    assert array.tolist() == expected


def test_drawn_numbers_are_within_their_bounds_and_the_same_each_time():
    texts = ["u8[999]:48..51", "f32[999]:0.5..1.5", "u32[99]:permutation", "bf16[9]:1.5"]
    first, again = arguments(*texts), arguments(*texts)
    assert all((a == b).all() for a, b in zip(first.arrays, again.arrays, strict=True))
    letters, reals, shuffled, halves = first.arrays
    assert {*letters.tolist()} == {48, 49, 50}
    assert reals.min() >= 0.5
    assert reals.max() < 1.5
    assert sorted(shuffled.tolist()) == [*range(99)]
    assert {*halves.tolist()} == {0x3FC0}


def test_what_is_no_argument_is_an_error():
    with pytest.raises(ValueError, match="'f32'"):
        arguments("f32")


def test_equal_bytes_are_no_difference_and_equal_numbers_may_be_one():
    """0.0 equals -0.0, and a NaN does not equal itself: bytes are compared."""
    zeros, nans = np.zeros(4, np.float32), np.full(4, np.nan, np.float32)
    assert difference([zeros, nans], [zeros.copy(), nans.copy()], ["f32", "f32"]) is None
    said = difference([zeros], [-zeros], ["f32"])
    assert said == "array 0, 4 of 4, by 0.0e+00 of the largest"


def test_a_difference_is_told_as_a_part_of_the_largest_element():
    ours, llvm = np.array([[1.0, 2.0, 8.0], [1.0, 2.5, 8.0]])
    same = np.arange(3)
    said = difference([same, ours], [same, llvm], ["i64", "f64"])
    assert said == "array 1, 1 of 3, by 6.2e-02 of the largest"


def test_bfloats_are_compared_as_the_numbers_that_they_are():
    """0x3F80 is 1, 0x4000 is 2: one differs by a half of the larger one."""
    ours, llvm = np.array([0x3F80, 0x4000], np.uint16), np.array([0x4000, 0x4000], np.uint16)
    said = difference([ours], [llvm], ["bf16"])
    assert said == "array 0, 1 of 2, by 5.0e-01 of the largest"


def test_both_compilers_make_machine_code_of_a_module(tmp_path: Path):
    (tmp_path / "own_scale.ll").write_text(SCALE)
    (tmp_path / "own_scale.json").write_text(json.dumps([LAUNCH]))
    (tmp_path / "own_other.ll").write_text(SCALE)  # nobody has written down how it is launched
    packed = tmp_path / "packed.zip"
    assert [*building.build(tmp_path, packed, "sm_90a", 1)] == ["own_scale: 1 launches"]
    with zipfile.ZipFile(packed) as file:
        names = {name.partition("/")[2] for name in file.namelist()}
        about = json.loads(file.read("own_scale/about.json"))
        cubins = [file.read(name) for name in file.namelist() if "json" not in name]
    assert names == {"about.json"} | {
        f"{level} {compiler}{exact}"
        for level in ("default", "O3")
        for compiler in ("nvgen", "llvm")
        for exact in ("", " exact")
    }
    assert all(cubin.startswith(b"\x7fELF") for cubin in cubins)
    made = nvgen.compile(SCALE, target="sm_90a")
    assert about["figures"]["default nvgen"]["registers"] == made.resources.registers


def found(module: str, level: str, ours: float, values: str = "equal, 4 bytes written") -> dict:
    return {
        "module": module, "kernel": "k", "level": level, "values": values,
        "times": {"nvgen": ours, "llvm": 2.0}, "spread": 0.0,
    }  # fmt: skip


def packed_launches(folder: Path, *names: str) -> Path:
    """Modules of one launch each, with twice LLVM's instructions."""
    packed = folder / "packed.zip"
    figures = {
        f"{level} {compiler}": {"instructions": size, "registers": 10, "spills": 0}
        for level in ("default", "O3")
        for compiler, size in (("nvgen", 20), ("llvm", 10))
    }
    with zipfile.ZipFile(packed, "w") as file:
        for name in names:
            about = {"launches": [LAUNCH], "figures": figures}
            file.writestr(f"{name}/about.json", json.dumps(about))
    return packed


def test_producers_have_geometric_means(tmp_path: Path):
    packed = packed_launches(tmp_path, "a_one", "a_two", "b_three")
    results = [found("a_one", "default", 1.0), found("a_two", "default", 4.0)]
    results += [found("b_three", "default", 2.0, "differs: array 0, 1 of 4")]
    lines = [*report.table(packed, results)]
    assert lines[0].startswith("default a: 2 launches, time 1.000, most 2.000; 2 equal; 2 modules")
    assert "SASS 2.000, registers 1.000" in lines[0]
    assert lines[1].startswith("default b: 1 launches, time 1.000, most 1.000; 1 differs")


def test_a_process_that_ends_costs_its_launch_alone(tmp_path: Path):
    """The process ends on the first launch; one that begins at the second answers."""
    packed = packed_launches(tmp_path, "a_one", "a_two")
    answers = [json.dumps(found("a_two", level, 1.0)) for level in ("default", "O3")]
    script = f"import sys\nif sys.argv[2] == '1':\n    print({chr(10).join(answers)!r})"
    out = tmp_path / "out"
    results = report.run(packed, 20.0, out, [sys.executable, "-c", script])
    assert [(one["module"], one["values"][:5]) for one in results] == [
        ("a_one", "ended"), ("a_two", "equal"), ("a_two", "equal"),
    ]  # fmt: skip
    assert [one["level"] for one in report.read(out)] == ["", "default", "O3"]


def test_where_nothing_answers_nothing_more_is_asked(tmp_path: Path):
    packed = packed_launches(tmp_path, *(f"a_{n}" for n in range(9)))
    results = report.run(packed, 20.0, None, [sys.executable, "-c", ""])
    assert len(results) == report.PATIENCE

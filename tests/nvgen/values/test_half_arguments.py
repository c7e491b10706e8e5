"""Halves and bfloats as numbers: what a kernel gets is the number that was given, or an error."""

from __future__ import annotations

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import nvgen
from intrinsics.findings import NvgenError
from nvgen.cli import main


def kernel(type_: str) -> str:
    """A kernel that stores its number as a float."""
    return f"""define ptx_kernel void @k(ptr %p, {type_} %h) {{
  %x = fpext {type_} %h to float
  store float %x, ptr %p
  ret void
}}
"""


def stored(type_: str, value: object) -> float:
    out = np.zeros(1, np.float32)
    nvgen.compile(kernel(type_), target="sm_90a").run(out, value, grid=1, block=1)
    return float(out[0])


NUMBERS = [
    np.float16(1.5), ml_dtypes.bfloat16(1.5), 1.5, np.float32(1.5), np.float64(1.5),
    np.array(1.5, np.float32)[()],
]  # fmt: skip


@pytest.mark.parametrize("type_", ["half", "bfloat"])
@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: type(number).__name__)
def test_a_number_arrives_whatever_type_it_has(number: object, type_: str):
    assert stored(type_, number) == 1.5


def test_a_number_is_rounded_to_nearest():
    assert stored("half", 0.1) == np.float32(np.float16(0.1))
    assert stored("bfloat", 0.1) == np.float32(ml_dtypes.bfloat16(0.1))
    assert stored("half", float("-inf")) == -np.inf
    assert np.isnan(stored("bfloat", float("nan")))


@pytest.mark.parametrize("type_", ["float", "double"])
def test_a_bfloat_arrives_as_a_wider_number(type_: str):
    text = kernel("float").replace("float %h", f"{type_} %h")
    cast = "fptrunc double %h to float" if type_ == "double" else "fadd float %h, 0.0"
    text = re.sub(r"fpext \w+ %h to float", cast, text)
    out = np.zeros(1, np.float32)
    compiled = nvgen.compile(text, target="sm_90a")
    compiled.run(out, ml_dtypes.bfloat16(-2.5), grid=1, block=1)
    assert out[0] == -2.5


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("half", 70000.0),
        ("half", ml_dtypes.bfloat16(70000.0)),
        ("bfloat", 3.4e38 * 10),
        ("bfloat", np.array([1.5], np.float16)),
        ("half", np.array([1.5], ml_dtypes.bfloat16)),
        ("half", "1.5"),
        ("half", np.float32(1e10)),
    ],
)
def test_what_would_arrive_as_another_number_is_refused(type_: str, value: object):
    with pytest.raises(NvgenError) as error:
        stored(type_, value)
    assert [f.rule for f in error.value.findings] == ["run/argument"]


def test_of_ptx_nobody_knows_which_of_both_sixteen_bits_are(tmp_path: Path):
    ptx = nvgen.compile(kernel("half"), target="sm_90a").ptx
    path = tmp_path / "k.ptx"
    path.write_text(ptx)
    np.save(tmp_path / "p.npy", np.zeros(1, np.float32))
    arguments = ["run", str(path), "--grid", "1", "--block", "1"]
    given = ["--arg", f"inout:{tmp_path / 'p.npy'}:{tmp_path / 'o.npy'}"]
    assert main([*arguments, *given, "--arg", "f32:1.5"]) == 2
    assert main([*arguments, *given, "--arg", "f16:1.5"]) == 0
    assert np.load(tmp_path / "o.npy")[0] == 1.5


@pytest.mark.parametrize(("type_", "kind"), [("half", "f16"), ("bfloat", "bf16")])
def test_the_command_line_names_both(type_: str, kind: str, tmp_path: Path):
    (tmp_path / "k.ll").write_text(kernel(type_))
    np.save(tmp_path / "p.npy", np.zeros(1, np.float32))
    command = ["run", str(tmp_path / "k.ll"), "--target", "sm_90a", "--grid", "1", "--block", "1"]
    command += ["--arg", f"inout:{tmp_path / 'p.npy'}:{tmp_path / 'o.npy'}", "--arg"]
    assert main([*command, f"{kind}:-1.5"]) == 0
    assert np.load(tmp_path / "o.npy")[0] == -1.5
    assert main([*command, f"{kind}:1e39"]) == 2
    assert main([*command, f"{kind}:x"]) == 2

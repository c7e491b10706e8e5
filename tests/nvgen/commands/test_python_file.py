"""A Python file that the command line is given."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from intrinsics.findings import InputError
from nvgen.commands.given.python_file import python_module


def test_a_file_becomes_a_module_and_its_folder_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    file = tmp_path / "kernel.py"
    file.write_text("SIZE = 7\n")
    assert python_module(str(file), "run/kernel").SIZE == 7
    assert [path.name for path in tmp_path.iterdir()] == ["kernel.py"]


@pytest.mark.parametrize("name", ["none.py", "kernel.txt"])
def test_what_is_no_python_file_is_refused(name: str, tmp_path: Path):
    (tmp_path / "kernel.txt").write_text("SIZE = 7\n")
    with pytest.raises(InputError, match="cannot read"):
        python_module(str(tmp_path / name), "run/kernel")


@pytest.mark.parametrize(
    ("text", "why"), [("x = (\n", "kernel.py:1\n   = got: '('"), ("x = 1\0\n", "got: source code")]
)
def test_what_is_no_python_says_the_line_where_there_is_one(text: str, why: str, tmp_path: Path):
    (tmp_path / "kernel.py").write_text(text)
    with pytest.raises(InputError, match="is not Python") as caught:
        python_module(str(tmp_path / "kernel.py"), "run/kernel")
    assert why in str(caught.value)

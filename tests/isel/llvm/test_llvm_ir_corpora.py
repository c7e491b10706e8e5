"""The judge of corpora of LLVM IR tells what nvgen fails at, and what nobody can do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpora import llvm_ir

RIGHT = "define ptx_kernel void @k(ptr %p) {\n  store i32 7, ptr %p\n  ret void\n}\n"
NOBODY = "define ptx_kernel void @k(ptr %p) {\n  store fp128 0xL0, ptr %p\n  ret void\n"
OURS = "@llvm.global_ctors = appending global [1 x {i32, ptr, ptr}] [{i32, ptr, ptr} " \
    "{i32 1, ptr @c, ptr null}]\ndefine void @c() {\n  ret void\n}\n"  # fmt: skip


def test_a_module_that_llvm_takes_and_nvgen_refuses_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "right.ll").write_text(RIGHT)
    (tmp_path / "nobody.llir").write_text(NOBODY)
    assert llvm_ir.main([str(tmp_path)]) == 0
    assert "2 modules, 1 fail, 0 of them only with nvgen" in capsys.readouterr().out
    (tmp_path / "ours.ll").write_text(OURS)
    assert llvm_ir.main([str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "ours.ll: -O0: error[select/constructors]" in out
    assert "3 modules, 2 fail, 1 of them only with nvgen" in out

"""The code that is given to the driver: a cubin where there is a ptxas, and PTX behind it."""

from __future__ import annotations

import pytest

import nvgen
from intrinsics.findings import AssemblerError
from nvgen.driver import images as made

ADD = """
define ptx_kernel void @store(ptr addrspace(1) %to, i32 %value) {
  store i32 %value, ptr addrspace(1) %to
  ret void
}
"""


def compiled() -> nvgen.Compiled:
    return nvgen.compile(ADD, target="sm_90a")


def test_a_kernel_that_is_launched_again_is_not_assembled_again(monkeypatch: pytest.MonkeyPatch):
    made._cubin.cache_clear()
    asked: list[str] = []

    def assemble(text: str, *others: object) -> object:
        asked.append(text)
        return real(text, *others)

    real = made.assemble  # type: ignore[attr-defined]
    monkeypatch.setattr(made, "assemble", assemble)
    one = compiled()
    found = [made.images(one.final, one.ptx_version, one.target, 90) for _ in range(2)]
    assert found[0] == found[1]
    assert [image.kind for image in found[0]] == ["cubin", "ptx"]
    assert found[0][1].data == one.ptx.encode() + b"\0"
    assert asked == [one.ptx]


def test_what_ptxas_refuses_stands_at_its_record():
    statement = '  call void asm sideeffect "frobnicate.b32 $0;", "r"(i32 0)\n  store'
    unknown = ADD.replace("  store", statement)
    one = nvgen.compile(unknown, target="sm_90a")
    with pytest.raises(AssemblerError, match="frobnicate") as caught:
        made.images(one.final, one.ptx_version, one.target, 90)
    assert caught.value.findings[0].place.line == 3

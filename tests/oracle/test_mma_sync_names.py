"""LLVM's names of mma: nvgen selects each, and prints what LLVM 22 prints.

The signatures are written down from the manual in `tests.oracle.mma_sync_signatures`.
"""

from __future__ import annotations

import re

import pytest

import nvgen
from intrinsics.catalog import spellings
from intrinsics.findings import NvgenError
from tests.oracle import llvm, llvm_intrinsics, mma_sync_signatures

LATER = re.compile(r"mma\.(?:\S*\.)?block|.*\.kind\.")
"""Block-scaled multiplies, and those of two narrow types of any kind."""

NAMES = sorted(
    n for n in llvm_intrinsics.all_names() if n.startswith("mma.") and not LATER.match(n)
)
GROUPS = sorted({mma_sync_signatures.types_of(name)[1] for name in NAMES})


def module(name: str) -> str:
    """A kernel that calls an intrinsic with registers of its own, and stores what it gives."""
    known = mma_sync_signatures.signature(name)
    loads, values = [], []
    for place, type_ in enumerate(known.args):
        if ".sp." in name and place == len(known.args) - 1:  # the selector
            values.append(f"{type_} 0")
            continue
        loads.append(f"  %a{place} = load volatile {type_}, ptr addrspace(1) %p")
        values.append(f"{type_} %a{place}")
    element, count = known.d
    stores = [
        f"  %d{n} = extractvalue {known.result} %d, {n}\n"
        f"  store volatile {element} %d{n}, ptr addrspace(1) %p"
        for n in range(count)
    ]
    lines = "\n".join(
        [*loads, f"  %d = call {known.result} @llvm.nvvm.{name}({', '.join(values)})"]
    )
    return f"""{llvm.HEADER}
declare {known.result} @llvm.nvvm.{name}({", ".join(known.args)})
define ptx_kernel void @k(ptr addrspace(1) %p) {{
{lines}
{chr(10).join(stores)}
  ret void
}}
"""


def statement(ptx: str) -> str:
    """The multiply in a text, its registers by the order in which they come."""
    (text,) = re.findall(r"^\s*(mma[^;]*;)", ptx, re.MULTILINE)
    seen: dict[str, int] = {}
    numbered = re.sub(r"%\w+", lambda m: f"%{seen.setdefault(m[0], len(seen))}", text)
    name, operands = numbered.split(maxsplit=1)
    return name + " " + "".join(operands.split())


def test_nvgen_has_llvms_names() -> None:
    ours = {name: s.pattern.own for name, s in spellings().items() if name.startswith("mma.")}
    assert {name for name, own in ours.items() if not own} == set(NAMES)
    assert len(NAMES) == 94 + 88


def test_nvgen_has_names_of_its_own_for_what_llvm_lacks() -> None:
    """Sums in f16 of the bytes of a sparse A, whose metadata are ordered."""
    own = {name for name, s in spellings().items() if name.startswith("mma.") and s.pattern.own}
    bytes_ = ("e4m3", "e5m2")
    assert own == {
        f"mma.sp.ordered.metadata.m16n8k64.row.col.f16.{a}.{b}.f16" for a in bytes_ for b in bytes_
    }
    for name in own:
        ptx = nvgen.compile(module(name), target="sm_120a").ptx
        a, b = name.split(".")[-3:-1]
        expected = f"mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f16.{a}.{b}.f16 "
        assert statement(ptx).startswith(expected)
        assert statement(ptx).endswith("},{%10,%11},%12,0;")


@pytest.mark.parametrize("group", GROUPS)
def test_nvgen_prints_what_llvm_prints(group: str) -> None:
    """Name, and operands in the order of the arguments."""
    names = [name for name in NAMES if mma_sync_signatures.types_of(name)[1] == group]
    modules = [module(name) for name in names]
    theirs = llvm.compile_all(modules, "sm_100a", "9.0")
    for name, text, outcome in zip(names, modules, theirs, strict=True):
        ours = nvgen.compile(text, target="sm_100a", ptx="9.0").ptx
        expected = statement(outcome.ptx)
        assert statement(ours) == expected, name
        known = mma_sync_signatures.signature(name)
        registers = known.d[1] + known.a[1] + known.b[1] + known.c[1] + (".sp." in name)
        assert len(set(re.findall(r"%\d+", expected))) == registers


def test_what_is_wrong_is_said() -> None:
    """A wrong number of arguments, or a wrong type, of an intrinsic that LLVM knows."""
    text = module("mma.m16n8k16.row.col.f32.f32")
    with pytest.raises(NvgenError, match="sm_80"):
        nvgen.compile(text, target="sm_75")

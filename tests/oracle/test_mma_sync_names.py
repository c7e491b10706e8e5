"""LLVM's names of mma: nvgen selects each, and prints what LLVM 22 prints.

The signatures are written down from the manual in `tests.oracle.mma_sync_signatures`.
"""

from __future__ import annotations

import re

import pytest

import nvgen
from intrinsics.catalog import spellings
from intrinsics.findings import NvgenError
from tests.oracle import llvm, llvm_signatures, mma_sync_signatures

NAMES = sorted(n for n in llvm_signatures.all_names() if n.startswith("mma."))
KIND = re.compile(r"\.kind\.|\.block\.")
GROUPS = sorted({mma_sync_signatures.types_of(name)[1] for name in NAMES})


def module(name: str) -> str:
    """A kernel that calls an intrinsic with registers of its own, and stores what it gives."""
    known = mma_sync_signatures.signature(name)
    loads, values = [], []
    for place, type_ in enumerate(known.args):
        if place == known.selector:
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
    assert len(NAMES) == 94 + 88 + 208


def test_nvgen_has_names_of_its_own_for_what_llvm_lacks() -> None:
    """Sums in f16 of the bytes of a sparse A, whose metadata are ordered; four ue8m0 factors."""
    own = {name for name, s in spellings().items() if name.startswith("mma.") and s.pattern.own}
    bytes_ = ("e4m3", "e5m2")
    fours = {
        f"mma{head}.block.scale.{shape}.row.col.mxf4nvf4.scale.4x.f32.e2m1.e2m1.f32.ue8m0"
        for head, shape in (("", "m16n8k64"), (".sp.ordered.metadata", "m16n8k128"))
    }
    assert fours <= own
    own -= fours
    assert own == {
        f"mma.sp.ordered.metadata.m16n8k64.row.col.f16.{a}.{b}.f16" for a in bytes_ for b in bytes_
    }
    for name in fours:
        theirs = llvm.compile_all([module(name.replace("ue8m0", "ue4m3"))], "sm_120a", "9.0")
        expected = statement(theirs[0].ptx).replace("ue4m3", "ue8m0")
        assert statement(nvgen.compile(module(name), target="sm_120a", ptx="9.1").ptx) == expected
    for name in own:
        ptx = nvgen.compile(module(name), target="sm_120a").ptx
        a, b = name.split(".")[-3:-1]
        expected = f"mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f16.{a}.{b}.f16 "
        assert statement(ptx).startswith(expected)
        assert statement(ptx).endswith("},{%10,%11},%12,0;")


@pytest.mark.turns(4)
@pytest.mark.parametrize("target", ["sm_100a", "sm_120a"])
@pytest.mark.parametrize("group", GROUPS)
def test_nvgen_prints_what_llvm_prints(group: str, target: str) -> None:
    """Name, and operands in the order of the arguments; with a kind, on a target that has it."""
    names = [name for name in NAMES if mma_sync_signatures.types_of(name)[1] == group]
    names = [name for name in names if bool(KIND.search(name)) == (target == "sm_120a")]
    modules = [module(name) for name in names]
    theirs = llvm.compile_all(modules, target, "9.0") if names else []
    for name, text, outcome in zip(names, modules, theirs, strict=True):
        ours = nvgen.compile(text, target=target, ptx="9.0").ptx
        expected = statement(outcome.ptx)
        assert statement(ours) == expected, name
        known = mma_sync_signatures.signature(name)
        registers = known.d[1] + len(known.args) - (known.selector is not None)
        assert len(set(re.findall(r"%\d+", expected))) == registers


def test_what_is_wrong_is_said() -> None:
    """A wrong number of arguments, or a wrong type, of an intrinsic that LLVM knows."""
    text = module("mma.m16n8k16.row.col.f32.f32")
    with pytest.raises(NvgenError, match="sm_80"):
        nvgen.compile(text, target="sm_75")

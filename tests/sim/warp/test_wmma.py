"""wmma on the simulator, beside numpy: every shape and type, layouts, strides, spaces.

Small whole numbers: every product and sum is exact in every type.  Each kernel loads A, B and C,
multiplies, and stores D; LLVM's own text of some of them gives the same bytes.
"""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import nvgen
from intrinsics import catalog
from tests.oracle import llvm

LARGE = ("m16n16k16", "m8n32k16", "m32n8k16")
SIZES = {
    "m16n16k16": (16, 16, 16), "m8n32k16": (8, 32, 16), "m32n8k16": (32, 8, 16),
    "m16n16k8": (16, 16, 8), "m8n8k4": (8, 8, 4), "m8n8k32": (8, 8, 32), "m8n8k128": (8, 8, 128),
}  # fmt: skip
NUMPY = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "f64": np.float64,
    "s8": np.int8, "u8": np.uint8, "f32": np.float32, "s32": np.int32,
}  # fmt: skip
CASES = [
    *((shape, "f16", c, d) for shape in LARGE for c in ("f16", "f32") for d in ("f16", "f32")),
    *((shape, a, d, d) for shape in LARGE
      for a, d in (("bf16", "f32"), ("s8", "s32"), ("u8", "s32"))),
    ("m16n16k8", "tf32", "f32", "f32"), ("m8n8k4", "f64", "f64", "f64"),
    *(("m8n8k32", a, "s32", "s32") for a in ("s4", "u4")), ("m8n8k128", "b1", "s32", "s32"),
]  # fmt: skip
"""Shape and the types of A and B, of C, and of D."""


def fragment(shape: str, name: str, type_: str) -> tuple[str, int]:
    """LLVM's type of a register, and how many a thread has."""
    if name in "cd":
        held = {"f16": ("<2 x half>", 4), "f32": ("float", 8), "f64": ("double", 2)}
        return held.get(type_, ("i32", 2 if shape.startswith("m8n8") else 8))
    if type_ == "f16":
        return "<2 x half>", 8
    if type_ == "f64":
        return "double", 1
    m, n, k = SIZES[shape]
    bits = {"bf16": 16, "tf32": 32, "s8": 8, "u8": 8, "b1": 1}.get(type_, 4)
    return "i32", (m if name == "a" else n) * k * bits // 1024


def structure(kind: str, count: int) -> str:
    return kind if count == 1 else f"{{ {', '.join([kind] * count)} }}"


class Text:
    """A kernel that multiplies once, and what it declares."""

    def __init__(
        self, shape: str, types: tuple[str, str, str], layouts: str, strided: bool
    ) -> None:
        self.shape, self.strided = shape, strided
        self.lines: list[str] = []
        self.declared: set[str] = set()
        a, c, d = types
        parts = [
            self.load(n, t, side) for n, t, side in zip("abc", (a, a, c), layouts, strict=False)
        ]
        word = f"{d}.{c}" if a == "f16" else a
        head = "mma.xor.popc" if a == "b1" else "mma"
        sides = ".".join({"r": "row", "c": "col"}[side] for side in layouts[:2])
        kind, count = fragment(shape, "d", d)
        result = structure(kind, count)
        given = [part for group in parts for part in group]
        self.call(f"%d = call {result}", f"{head}.{sides}.{word}", given, result)
        stored = [f"{kind} %d{n}" for n in range(count)]
        self.lines += [f"%d{n} = extractvalue {result} %d, {n}" for n in range(count)]
        side = {"r": "row", "c": "col"}[layouts[3]]
        self.call("call void", f"store.d.{side}{self.stride}.{d}.p1",
                  ["ptr addrspace(1) %pd", *stored, *self.steps], "void")  # fmt: skip

    @property
    def stride(self) -> str:
        return ".stride" * self.strided

    @property
    def steps(self) -> list[str]:
        return ["i32 %step"] * self.strided

    def load(self, name: str, type_: str, side: str) -> list[str]:
        kind, count = fragment(self.shape, name, type_)
        result = structure(kind, count)
        layout = {"r": "row", "c": "col"}[side]
        space, place = (
            ("p0", f"ptr %g{name}") if name == "b" else ("p1", f"ptr addrspace(1) %p{name}")
        )
        if name == "b":
            self.lines.append(f"%g{name} = addrspacecast ptr addrspace(1) %p{name} to ptr")
        self.call(f"%{name} = call {result}", f"load.{name}.{layout}{self.stride}.{type_}.{space}",
                  [place, *self.steps], result)  # fmt: skip
        if count == 1:
            return [f"{kind} %{name}"]
        self.lines += [f"%{name}{n} = extractvalue {result} %{name}, {n}" for n in range(count)]
        return [f"{kind} %{name}{n}" for n in range(count)]

    def call(self, start: str, name: str, given: list[str], result: str) -> None:
        full = f"@llvm.nvvm.wmma.{self.shape}.{name}"
        self.lines.append(f"{start} {full}({', '.join(given)})")
        types = ", ".join(argument.rpartition(" %")[0] for argument in given)
        self.declared.add(f"declare {result} {full}({types})")

    def module(self) -> str:
        body = "\n  ".join(self.lines)
        params = ", ".join(f"ptr addrspace(1) %p{n}" for n in "abcd")
        head = f"define ptx_kernel void @k({params}, i32 %step) {{\n  {body}\n  ret void\n}}\n"
        return head + "\n".join(sorted(self.declared)) + "\n"


def numbers(type_: str, rows: int, columns: int, seed: int) -> NDArray[np.int64]:
    low, high = {"b1": (0, 2), "u4": (0, 16), "s4": (-8, 8), "u8": (0, 9)}.get(type_, (-4, 5))
    return np.random.default_rng(seed).integers(low, high, (rows, columns))


def in_memory(values: NDArray[np.int64], type_: str, side: str, step: int) -> NDArray[np.uint8]:
    """The bytes of a matrix whose lines are `step` elements apart."""
    lines = values if side == "r" else values.T
    padded = np.zeros((lines.shape[0], step), np.int64)
    padded[:, : lines.shape[1]] = lines
    if type_ in NUMPY:
        return padded.astype(NUMPY[type_]).reshape(-1).view(np.uint8).copy()
    bits = 1 if type_ == "b1" else 4
    each = padded.reshape(-1, 8 // bits) & (1 << bits) - 1
    return (each << np.arange(0, 8, bits)).sum(axis=1).astype(np.uint8)


def product(shape: str, types: tuple[str, str, str], layouts: str, step: int) -> None:
    m, n, k = SIZES[shape]
    a_type, c_type, d_type = types
    a, b, c = numbers(a_type, m, k, 1), numbers(a_type, k, n, 2), numbers(c_type, m, n, 3)
    bits = a_type == "b1"
    wanted = ((a[:, :, None] ^ b[None]).sum(axis=1) if bits else a @ b) + c
    sizes = ((a, a_type), (b, a_type), (c, c_type), (np.zeros((m, n), np.int64), d_type))
    given = []
    for (values, type_), side in zip(sizes, layouts, strict=True):
        line = values.shape[1] if side == "r" else values.shape[0]
        given.append(in_memory(values, type_, side, step or line))
    text = Text(shape, types, layouts, bool(step)).module()
    nvgen.compile(text, target="sm_90a").run(*given, step, block=32)
    line = n if layouts[3] == "r" else m
    found = given[3].view(NUMPY[d_type]).reshape(-1, step or line)[:, :line].astype(np.float64)
    found = found if layouts[3] == "r" else found.T
    assert np.array_equal(found, wanted), (shape, types, layouts, step)


@pytest.mark.turns(4)
@pytest.mark.parametrize(("shape", "a", "c", "d"), CASES)
def test_products(shape: str, a: str, c: str, d: str):
    narrow = a in ("s4", "u4", "b1")
    for layouts in ("rcrr", "rccc") if narrow else ("rcrr", "ccrc", "rrcr"):
        for step in (0, 128) if narrow else (0, 40):
            product(shape, (a, c, d), layouts, step)


@pytest.mark.turns(3)
def test_ptxas_takes_them_and_they_are_llvms():
    """One kernel for each shape and type: what LLVM 22 prints, and what ptxas assembles."""
    kernels, declared = [], set()
    for at, (shape, a, c, d) in enumerate(CASES):
        for strided in (False, True):
            head, *rest = Text(shape, (a, c, d), "rcrc", strided).module().split("\ndeclare ")
            kernels.append(head.replace("@k(", f"@k{at}_{int(strided)}("))
            declared |= {line.strip() for line in rest}
    text = "\n".join([*kernels, *(f"declare {line}" for line in sorted(declared))])
    compiled = nvgen.compile(text, target="sm_90a")
    assert compiled.cubin()
    if llvm.VERSION == 22:
        (of_llvm,) = llvm.compile_all([llvm.HEADER + text], "sm_90a", "8.6")
        ours, theirs = (
            [line.split()[0] for line in ptx.splitlines() if line.strip().startswith("wmma")]
            for ptx in (compiled.ptx, of_llvm.ptx)
        )
        assert len(ours) == 2 * 5 * len(CASES)
        assert sorted(ours) == sorted(theirs)


@pytest.mark.skipif(llvm.VERSION != 22, reason=f"the oracle is LLVM 22, not {llvm.VERSION}")
def test_every_intrinsic_of_llvms_is_known():
    """But for sums of halves that saturate, which no PTX since 6.5 has."""
    every = [n for n in llvm.intrinsic_names() if n.startswith("llvm.nvvm.wmma.")]
    names = [n.removeprefix("llvm.nvvm.") + ".p3" * (".mma." not in n) for n in every]
    missing = [name for name in names if name not in catalog.spellings()]
    assert len(names) == 414
    assert {re.sub(r"\.(row|col|m\d\w+)", "", name) for name in missing} == {
        f"wmma.mma.{d}.{c}.satfinite" for d in ("f16", "f32") for c in ("f16", "f32")
    }


@pytest.mark.parametrize(("target", "shape", "a", "rule"), [
    ("sm_75", "m16n16k16", "bf16", "type-target"), ("sm_75", "m16n16k8", "tf32", "type-target"),
])  # fmt: skip
def test_older_targets_refuse_newer_types(target: str, shape: str, a: str, rule: str):
    with pytest.raises(nvgen.NvgenError) as caught:
        nvgen.compile(Text(shape, (a, "f32", "f32"), "rcrr", False).module(), target=target)
    assert any(finding.rule.endswith(rule) for finding in caught.value.findings)


def test_a_part_of_a_warp_is_a_finding():
    text = Text("m16n16k16", ("f16", "f32", "f32"), "rcrr", False).module()
    memory = [np.zeros(512, np.uint8), np.zeros(512, np.uint8), np.zeros(1024, np.uint8)]
    with pytest.raises(nvgen.NvgenError, match="fewer than 32 threads"):
        nvgen.compile(text, target="sm_90a").run(*memory, np.zeros(1024, np.uint8), 0, block=16)

"""A new instruction is a row and a function of its semantics: a made-up one is selected, printed,
read, simulated, and a verb of the builder.

A process of its own reads two files with an entry more, and everything else as it is.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

EDITS = {
    "intrinsics.rows.integers": (
        "\nROWS = (\n",
        """
FROB = Row(
    "frob", ".type", "d, a", qualifiers={"type": (T.B32,)},
    operands=(result("d", "type"), value("a", "type")), section="frob",
    llvm=(Llvm("frob", "i32:a", "i32:d", given={"type": T.B32}),),
)

ROWS = (
    FROB,
""",
    ),
    "nvgen.sim.semantics.arithmetic.logic": (
        '    "brev": unary(_reversed),\n',
        '    "brev": unary(_reversed),\n    "frob": unary(lambda n, bits: n ^ (1 << bits) - 1),\n',
    ),
}
"""frob inverts 32 bits.  No other file knows of it, not even the index that `make docs` writes."""

SCRIPT = """
import importlib, json, sys, types
from pathlib import Path

for name, (before, after) in json.loads(sys.argv[1]).items():
    package, _, last = name.rpartition(".")
    text = Path(name.replace(".", "/") + ".py").read_text(encoding="utf-8")
    assert text.count(before) == 1, before
    module = sys.modules[name] = types.ModuleType(name)
    setattr(importlib.import_module(package), last, module)
    exec(compile(text.replace(before, after), name, "exec"), module.__dict__)

import numpy as np
import nvgen
from nvgen import KernelBuilder, u32

LLVM = '''
define ptx_kernel void @k(ptr addrspace(1) %x) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr i32, ptr addrspace(1) %x, i32 %i
  %old = load i32, ptr addrspace(1) %p
  %new = call i32 @llvm.nvvm.frob(i32 %old)
  store i32 %new, ptr addrspace(1) %p
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.frob(i32)
'''

b = KernelBuilder("k", block=32, target="sm_90a")
b.pointer("x", u32)
x = b.begin()["x"]
x[b.tid_x] = b.frob(x[b.tid_x])
selected = nvgen.compile(LLVM, target="sm_90a")
told = {}
for name, compiled in {
    "LLVM IR": selected,
    "PTX": nvgen.compile(selected.ptx),
    "MIR": nvgen.compile(selected.mir),
    "builder": b.finish().compile(),
}.items():
    given = np.arange(32, dtype=np.uint32)
    compiled.run(given, block=32, device="sim")
    told[name] = ["frob.b32 " in compiled.ptx, "FROB_B32" in compiled.mir, given.tolist()]
print(json.dumps(told))
"""


def test_a_made_up_instruction_needs_two_files() -> None:
    command = [sys.executable, "-c", SCRIPT, json.dumps(EDITS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    inverted = [2**32 - 1 - n for n in range(32)]
    ways = ("LLVM IR", "PTX", "MIR", "builder")
    assert json.loads(done.stdout) == {way: [True, True, inverted] for way in ways}

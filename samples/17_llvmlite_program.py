"""A program of llvmlite's that hands its module to nvgen instead of LLVM's own back end.

    machine.emit_assembly(module)               # before: llvmlite.binding's target machine
    nvgen.compile(module, target=TARGET).ptx    # after; and .run, .cubin(), .findings

The kernel is out[i] = a * x[i] + y[i].  Both are compiled, the kernel of nvgen runs on the
simulator, and ptxas counts the machine instructions of both, where it is installed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from llvmlite import binding, ir

import nvgen

sys.path.append(str(Path(__file__).parent))
from compilers.side_by_side import code

TARGET = "sm_90a"
TRIPLE = "nvptx64-nvidia-cuda"


def program() -> ir.Module:
    """The module, written as any program of llvmlite's writes one."""
    module = ir.Module("saxpy")
    module.triple = TRIPLE
    number, integer, pointer = ir.FloatType(), ir.IntType(32), ir.PointerType(addrspace=1)
    kernel = ir.Function(
        module,
        ir.FunctionType(ir.VoidType(), [number, pointer, pointer, pointer, integer]),
        "saxpy",
    )
    kernel.calling_convention = "ptx_kernel"
    a, x, y, out, n = kernel.args
    ids = [
        ir.Function(module, ir.FunctionType(integer, []), f"llvm.nvvm.read.ptx.sreg.{name}.x")
        for name in ("ctaid", "ntid", "tid")
    ]
    b = ir.IRBuilder(kernel.append_basic_block("entry"))
    cta, size, thread = (b.call(one, []) for one in ids)
    i = b.add(b.mul(cta, size), thread)
    with b.if_then(b.icmp_signed("<", i, n)):
        xi, yi = (b.load(b.gep(p, [i], source_etype=number), typ=number) for p in (x, y))
        total = b.fadd(b.fmul(a, xi, ("contract",)), yi, flags=("contract",))
        b.store(total, b.gep(out, [i], source_etype=number))
    b.ret_void()
    return module


def by_llvm(module: ir.Module) -> str:
    """The PTX of LLVM's own back end, as before."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = binding.Target.from_triple(TRIPLE)
    machine = target.create_target_machine(cpu=TARGET, features="+ptx80", opt=3)
    return machine.emit_assembly(binding.parse_assembly(str(module)))


def main() -> None:
    """Compile with both, run, compare with numpy, count."""
    module = program()
    compiled = nvgen.compile(module, target=TARGET)
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-9, 10, 300).astype(np.float32) for _ in range(2))
    out = np.full(300, np.nan, np.float32)
    compiled.run(np.float32(3), x, y, out, 300, grid=3, block=128, device="sim")
    assert np.array_equal(out, 3 * x + y), "the result differs from numpy's"
    print("out = a * x + y: equal to numpy on the simulator")
    if nvgen.find_ptxas() is not None:
        ours, theirs = code(compiled.ptx, TARGET), code(by_llvm(module), TARGET)
        print(f"instructions, registers, bytes spilled: nvgen {ours}, LLVM {theirs}")


if __name__ == "__main__":
    main()

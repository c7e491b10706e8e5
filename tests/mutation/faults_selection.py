"""Faults in selection, in the passes over records, and in what the optimiser may see."""

from __future__ import annotations

from tests.mutation.fault import Fault, Kind

# fmt: off
FAULTS = (
    Fault(
        "unsigned-greater", Kind.COMPARE, "isel/select/integers/comparison.py",
        "IntPredicate.UGT: (Cmp.GT, UNSIGNED),", "IntPredicate.UGT: (Cmp.GT, SIGNED),",
        "an unsigned comparison as a signed one",
        "tests/oracle/test_scalar_operations.py -k \"cmp or compar\"",
    ),
    Fault(
        "single-bit-order", Kind.COMPARE, "isel/select/integers/comparison.py",
        'IntPredicate.SLE: ("or", False),', 'IntPredicate.SLE: ("or", True),',
        "a set bit taken for 1 where it is -1",
        "tests/oracle/test_scalar_operations.py -k \"cmp or compar\"",
    ),
    Fault(
        "logical-shift", Kind.COMPARE, "isel/select/integers/arithmetic.py",
        'Opcode.ASHR: ("shr", SIGNED),', 'Opcode.ASHR: ("shr", UNSIGNED),',
        "an arithmetic shift as a logical one",
        "tests/oracle/test_scalar_operations.py -k ashr",
    ),
    Fault(
        "division-factor", Kind.ARITHMETIC, "isel/select/integers/division.py",
        "if factor < 1 << bits and (factor * divisor - power) << width <= power:",
        "if factor < 1 << bits:",
        "a factor whose error is not bounded",
        "tests/oracle/test_integer_values.py -k div",
    ),
    Fault(
        "bfloat-rounding", Kind.ARITHMETIC, "isel/select/floats/steps.py",
        'form("add.int", type=T.S32), odd, Imm(0x7FFF)',
        'form("add.int", type=T.S32), odd, Imm(0x8000)',
        "ties away from zero",
        "tests/oracle/test_float_values.py -k \"bfloat or trunc\"",
    ),
    Fault(
        "double-rounding", Kind.ARITHMETIC, "isel/select/floats/casts.py",
        'cut = form("cvt.float", rnd=Rounding.RZ, dtype=T.F32, atype=T.F64)',
        'cut = form("cvt.float", rnd=Rounding.RN, dtype=T.F32, atype=T.F64)',
        "a double rounded twice on its way to bfloat",
        "tests/oracle/test_half_values.py -k rounds_once",
    ),
    Fault(
        "access-alignment", Kind.ALIGNMENT, "isel/select/memory/access_splitting.py",
        "aligned = aligned_at(alignment, atom.at)", "aligned = aligned_at(16, atom.at)",
        "a vector access where the address has a smaller alignment",
        "tests/isel/select/test_instructions.py",
    ),
    Fault(
        "parameter-alignment", Kind.ALIGNMENT, "isel/select/symbols/abi.py",
        "        and align % total == 0\n", "",
        "parameters loaded as vectors that they are not aligned for",
        "tests/oracle/test_call_abi.py -k aligned",
    ),
    Fault(
        "variable-alignment", Kind.ALIGNMENT, "isel/variables.py",
        "at = offsets[variable.name] = round_up(at, variable.align)",
        "at = offsets[variable.name] = at",
        "variables one behind the other without a gap",
        "tests/sim/test_memory.py tests/isel/verifier/test_launch_rules.py",
    ),
    Fault(
        "scope-of-device", Kind.IMMEDIATE, "isel/select/memory/orders.py",
        '"device": Scope.GPU,', '"device": Scope.CTA,',
        "syncscope(\"device\") as the block's",
        "tests/oracle/test_scopes.py",
    ),
    Fault(
        "updated-accumulators", Kind.TIE, "isel/select/intrinsics/rows.py",
        "type=state.out.regs.classes[result]), result, source)",
        "type=state.out.regs.classes[result]), result, result)",
        "a multiply adds to registers that nobody has filled",
        "tests/oracle/test_wgmma_names.py -k accumulator",
    ),
    Fault(
        "tied-registers", Kind.TIE, "isel/passes/destruct_ssa.py",
        "coalesce(function, moves + ties, before, multiplies)",
        "coalesce(function, moves, before, multiplies)",
        "accumulators are copied in front of every multiply",
        "tests/oracle/test_wgmma_names.py -k accumulator",
    ),
    Fault(
        "parallel-moves", Kind.FLOW, "isel/passes/destruct_ssa.py",
        "free = [result for result in pending if result not in read]", "free = [*pending]",
        "phis that exchange two values overwrite one of them",
        "tests/isel/passes/test_destruct_ssa.py",
    ),
    Fault(
        "forks", Kind.FLOW, "isel/passes/destruct_ssa.py",
        "from_fork = not forks.isdisjoint(before[i])", "from_fork = False",
        "a phi's move at a fork happens on the other way too",
        "tests/isel/passes/test_destruct_ssa.py",
    ),
    Fault(
        "liveness", Kind.FLOW, "isel/passes/coalescing.py",
        "                            work.append(p)\n", "                            pass\n",
        "what is live behind a block is not known ahead of it",
        "tests/isel/passes/test_destruct_ssa.py -k \"swap or lost or rotation\"",
    ),
    Fault(
        "wgmma-order", Kind.TIE, "isel/passes/order_wgmma.py",
        "defs & (written | read)", "defs & written",
        "a register is filled for the next multiply before the last one has read it",
        "tests/isel/passes/test_order_wgmma.py",
    ),
    Fault(
        "branch-numbers", Kind.FLOW, "isel/passes/order_wgmma.py",
        "theirs.get(reg) == found[reg] and reg not in asked", "reg in theirs",
        "numbers of which the two ways have different ones move before the branch",
        "tests/isel/passes/test_order_wgmma.py",
    ),
    Fault(
        "wait-dominance", Kind.FLOW, "nvgen/optimizer/waits.py",
        "return bool(self.above[other.block] >> one.block & 1)",
        "return bool(self.above[one.block] >> other.block & 1)",
        "who dominates whom exchanged",
        "tests/nvgen/optimizer/test_waits.py",
    ),
    Fault(
        "shielded-tcgen05", Kind.SHIELD, "nvgen/optimizer/shield.py",
        "if not name.startswith(PREFIX) or LEFT_TO_LLVM.fullmatch(name):",
        "if not name.startswith(PREFIX) or LEFT_TO_LLVM.fullmatch(name) or "
        'name.startswith(PREFIX + "tcgen05.mma."):',
        "the shield forgets the multiplies",
        "tests/nvgen/optimizer/test_shield.py tests/nvgen/optimizer/test_miscompiles.py",
    ),
    Fault(
        "shielded-copies", Kind.SHIELD, "nvgen/optimizer/shield.py",
        "if not name.startswith(PREFIX) or LEFT_TO_LLVM.fullmatch(name):",
        "if not name.startswith(PREFIX) or LEFT_TO_LLVM.fullmatch(name) or "
        '".cp.async." in name:',
        "the shield forgets the bulk copies",
        "tests/nvgen/optimizer/test_shield.py tests/nvgen/optimizer/test_miscompiles.py",
    ),
    Fault(
        "shielded-shared", Kind.SHIELD, "nvgen/optimizer/shield.py",
        "for symbol in (*shared, *kernels(module)):", "for symbol in kernels(module):",
        "stores to shared memory that only a descriptor names are dropped",
        "tests/nvgen/optimizer/test_miscompiles.py",
    ),
)
# fmt: on

"""Dead code goes, and nothing that has an effect; every pass has a name."""

from __future__ import annotations

from intrinsics.mir import (
    Imm,
    Module,
)
from intrinsics.targets import TARGETS
from isel.llvm.reader import read_module
from isel.passes.dead_code import remove_dead_code
from isel.pipeline import PASSES, lower
from tests.each import each
from tests.isel.llvm.llvm_corpus import print_of
from tests.isel.passes.machine import Builder, run


def lowered(text: str, target: str = "sm_100a") -> Module:
    return lower(read_module(print_of(text)), TARGETS[target])


def opcodes(text: str, target: str = "sm_100a") -> list[str]:
    """The opcodes of the only kernel, after all passes."""
    (function,) = lowered(text, target).functions
    return [mi.opcode for mi in function.instructions()]


def test_unused_pure_records_go_with_all_that_feeds_them():
    b = Builder()
    entry = b.block("entry")
    regs = [b.reg() for _ in range(4)]
    b.set(entry, regs[0], Imm(1))
    b.add(entry, regs[1], regs[0], Imm(1))  # feeds only what is dead
    b.add(entry, regs[2], regs[1], Imm(1))  # dead
    b.add(entry, regs[3], regs[0], Imm(2))
    b.store(entry, regs[3])
    b.ret(entry)
    remove_dead_code(b.function)
    assert [mi.opcode for mi in b.function.instructions()] == [
        "MOV_B32", "ADD_S32", "ST_GLOBAL_B32", "RET",
    ]  # fmt: skip
    assert run(b.function) == [3]


def test_a_dead_phi_goes_even_when_it_feeds_itself():
    b = Builder()
    entry, loop = b.block("entry"), b.block("loop")
    x, y = b.reg("x"), b.reg("y")
    b.branch(entry, "loop")
    b.phi(loop, x, {"entry": Imm(0), "loop": y})
    b.add(loop, y, x, Imm(1))
    b.branch(loop, "loop")
    remove_dead_code(b.function)
    assert [mi.opcode for mi in b.function.instructions()] == ["BRA", "BRA"]


def test_what_only_the_next_turn_of_a_loop_reads_stays():
    b = Builder()
    entry, loop = b.block("entry"), b.block("loop")
    x, y, z = (b.reg(name) for name in "xyz")
    b.branch(entry, "loop")
    b.phi(loop, x, {"entry": Imm(0), "loop": z})
    b.add(loop, y, x, Imm(1))
    b.store(loop, x)
    b.add(loop, z, y, Imm(1))  # behind all that is stored, and stored in the next turn
    b.branch(loop, "loop")
    kept = [mi.opcode for mi in b.function.instructions()]
    remove_dead_code(b.function)
    assert [mi.opcode for mi in b.function.instructions()] == kept


def test_of_a_register_that_is_read_all_writers_stay_and_of_others_none():
    b = Builder()
    entry = b.block("entry")
    x, y = b.reg("x"), b.reg("y")
    for reg in (x, y):  # as inline assembly may write them
        b.set(entry, reg, Imm(1))
        b.set(entry, reg, Imm(2))
    b.store(entry, x)
    b.ret(entry)
    remove_dead_code(b.function)
    assert [mi.ops[0] for mi in b.function.instructions() if mi.opcode == "MOV_B32"] == [x, x]


def test_an_unused_load_goes_and_a_store_stays():
    text = """
    define ptx_kernel void @k(ptr addrspace(1) %p, i32 %x) {
      %dead = load i32, ptr addrspace(1) %p
      store i32 %x, ptr addrspace(1) %p
      ret void
    }"""
    assert [o for o in opcodes(text) if "PARAM" not in o] == ["ST_GLOBAL_B32", "RET"]


def test_a_volatile_load_stays():
    """LLVM LangRef: the number of volatile accesses must not change."""
    text = """
    define ptx_kernel void @k(ptr addrspace(1) %p) {
      %unused = load volatile i32, ptr addrspace(1) %p
      ret void
    }"""
    assert "LD_VOLATILE_GLOBAL_B32" in opcodes(text)


ASYNCHRONOUS = {
    "TCGEN05_MMA_CTA_GROUP1_DENSE": (
        "call void @llvm.nvvm.tcgen05.mma.shared(ptr addrspace(6) %d, i64 0, i64 0, i32 0, "
        "i1 true, i32 0, i32 1, i32 0)"
    ),
    "TCGEN05_COMMIT_CTA_GROUP1_SHARED_CLUSTER": (
        "call void @llvm.nvvm.tcgen05.commit.shared.cg1(ptr addrspace(3) %s)"
    ),
    "TCGEN05_LD_32X32B_X1": "%r = call i32 @llvm.nvvm.tcgen05.ld.32x32b.x1("
    "ptr addrspace(6) %d, i1 false)",
    "TCGEN05_WAIT_LD": "call void @llvm.nvvm.tcgen05.wait.ld()",
    "TCGEN05_FENCE_AFTER_THREAD_SYNC": "call void @llvm.nvvm.tcgen05.fence.after.thread.sync()",
    "MBARRIER_ARRIVE_SHARED": "%r = call i64 @llvm.nvvm.mbarrier.arrive.shared("
    "ptr addrspace(3) %s)",
    "MBARRIER_TRY_WAIT_PARITY_SHARED": "%r = call i1 "
    "@llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3) %s, i32 0)",
    "BAR_SYNC": "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",
    "ELECT_SYNC": "%r = call { i32, i1 } @llvm.nvvm.elect.sync(i32 -1)",
}


@each("opcode", ASYNCHRONOUS)
def test_operations_with_effects_stay_though_nobody_uses_their_results(opcode: str):
    call = ASYNCHRONOUS[opcode]
    twice = call.replace("%r =", "%again =")
    text = f"""
    define ptx_kernel void @k(ptr addrspace(6) %d, ptr addrspace(3) %s) {{
      {call}
      {twice}
      ret void
    }}"""
    found = opcodes(text)
    assert found.count(opcode) == 2, found


def test_every_pass_has_a_name_and_an_observer_sees_it():
    seen: list[str] = []
    module = read_module(print_of("define ptx_kernel void @k() { ret void }"))
    lower(module, TARGETS["sm_80"], observe=lambda name, _: seen.append(name))
    assert seen == list(PASSES)
    assert seen[0] == "select"

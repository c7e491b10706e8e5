"""The short cut of the operand check says yes only where the check itself finds nothing.

Every form of a few kernels gets every operand of a list in each of its places, one at a time.
"""

import itertools

from intrinsics.mir import (
    SINK,
    FloatImm,
    Form,
    Imm,
    Label,
    MachineInstr,
    Mem,
    Not,
    Op,
    Special,
    Sym,
    Text,
)
from intrinsics.modifiers import ScalarType, Space
from intrinsics.operand_fit import plain_fit
from intrinsics.operand_problems import operand_problems
from intrinsics.targets import parse_target
from isel.llvm.reader import read_module
from isel.pipeline import lower
from nvgen.llvm.reading import parse
from tests.each import each

KERNEL = """
@s = internal addrspace(3) global [64 x i32] undef, align 4
define ptx_kernel void @k(ptr addrspace(1) %p, ptr %g, i32 %n, i64 %w, i16 %h) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %q = getelementptr i32, ptr addrspace(1) %p, i32 %tid
  %v = load <4 x i32>, ptr addrspace(1) %q, align 16
  %a = extractelement <4 x i32> %v, i32 0
  %b = mul i32 %a, %n
  %c = lshr i32 %b, 3
  %d = udiv i32 %c, %n
  %e = sext i32 %d to i64
  %f = shl i64 %e, %w
  %m = trunc i64 %f to i16
  %o = and i16 %m, %h
  %r = icmp slt i16 %o, 12
  %s = icmp eq i32 %d, 4
  %t = xor i1 %r, %s
  %u = select i1 %t, i32 %d, i32 %b
  %x = getelementptr [64 x i32], ptr addrspace(3) @s, i32 0, i32 %tid
  store i32 %u, ptr addrspace(3) %x, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %y = load i32, ptr %g, align 4
  %z = call i32 @llvm.ctpop.i32(i32 %y)
  br i1 %t, label %then, label %end
then:
  store i32 %z, ptr %g, align 4
  br label %end
end:
  ret void
}
"""


(FUNCTION,) = lower(read_module(parse(KERNEL)), parse_target("sm_90a")).functions
RECORDS = list({mi.form: mi for mi in FUNCTION.instructions()}.values())
"""One record of each form that the kernel needs."""

CLASSES = [*FUNCTION.regs.classes, *ScalarType]
EXTRA = range(len(FUNCTION.regs), len(CLASSES))
"""Registers of every class beside the kernel's own."""

SPACES = {"x": Space.SHARED, "y": Space.GLOBAL, "z": Space.PARAM_ENTRY}
space_of = SPACES.get

NUMBERS = (0, 1, -1, 7, 31, 32, 255, 1 << 15, 1 << 31, 1 << 32, -(1 << 31), 1 << 63, 1 << 64)
OPERANDS: list[Op] = [
    *EXTRA,
    *(Mem(reg, offset) for reg in EXTRA for offset in (0, 8)),
    *map(Imm, NUMBERS),
    FloatImm(0, ScalarType.F32),
    Label("there"),
    Sym("x"),
    Sym("x", 4),
    *(Mem(Sym(name), offset) for name in (*SPACES, "unknown") for offset in (0, 8)),
    Not(EXTRA[0]),
    Special("tid.x"),
    SINK,
    Text("x"),
    (EXTRA[0], EXTRA[1]),
    (EXTRA[3], EXTRA[3]),
]


@each("mi", RECORDS, ids=lambda mi: mi.opcode)
def test_what_holds_plainly_has_no_problems(mi: MachineInstr):
    for ops in every_change(mi.ops):
        if plain_fit(mi.form).holds(ops, CLASSES, space_of):
            assert problems(mi.form, ops) == [], ops


def test_most_registers_and_numbers_are_plain():
    """The short cut is taken: it would be right, and useless, if it never said yes."""
    right, plain = 0, 0
    for mi in RECORDS:
        for ops in every_change(mi.ops):
            if all(type(op) in (int, Imm) for op in ops) and not problems(mi.form, ops):
                right += 1
                plain += plain_fit(mi.form).holds(ops, CLASSES, space_of)
    assert plain == right > 100


def every_change(ops: tuple[Op, ...]) -> list[tuple[Op, ...]]:
    """The operands with each place in turn holding each operand of the list."""
    return [
        (*ops[:place], op, *ops[place + 1 :])
        for place, op in itertools.product(range(len(ops)), OPERANDS)
    ]


def problems(form: Form, ops: tuple[Op, ...]) -> list[str]:
    """What the check itself says."""
    return [p.text for p in operand_problems(form, form.attributes, ops, CLASSES, space_of)]

"""Which blocks a CTA's threads may not reach together, on control flow drawn by hand."""

from __future__ import annotations

from asmprinter.mir.reader import read_mir
from intrinsics.mir import MachineFunction
from isel.uniformity import divergence, reaches
from tests.each import each


def function(body: str) -> MachineFunction:
    """A kernel with a divergent %d, a uniform %u and what `body` adds."""
    return read_mir(f"""target sm_100a
shared @s : size 64 align 8
kernel @k(param @p : u64 size 8 align 8 ptr global 1) {{
bb.entry:
  %t:b32 = MOV_U32 sreg:tid.x
  %d:pred = SETP_EQ_B32 %t:b32, imm:0
  %g:b64 = LD_PARAM_B64 [@p]
  %c:b32 = MOV_U32 sreg:ctaid.x
  %u:pred = SETP_EQ_B32 %c:b32, imm:0
{body}
}}
""").functions[0]


def divergent(body: str) -> set[str]:
    found = function(body)
    return {found.blocks[i].name for i in divergence(found).blocks}


IF = """
  @{p}:pred BRA bb.then
  BRA bb.join
bb.then:
  {inside}
  BRA bb.join
bb.join:
  {after}
  RET
"""


def conditional(p: str, inside: str = "BAR_SYNC imm:0", after: str = "BAR_SYNC imm:0") -> str:
    return IF.format(p=p, inside=inside, after=after)


def test_a_branch_on_the_threads_number():
    assert divergent(conditional("%d")) == {"then"}


def test_a_branch_that_all_threads_take_alike():
    assert divergent(conditional("%u")) == set()


def test_the_branch_to_blame():
    found = function(conditional("%d"))
    (blame,) = divergence(found).blocks.values()
    assert blame is next(mi for mi in found.instructions() if mi.guard is not None)


@each(
    "makes, expected",
    [
        ("%v:b32 = LD_GLOBAL_B32 [%g:b64]", set()),  # one address: one value
        ("%v:b32 = LD_SHARED_B32 [@s]", set()),
        ("%v:b32 = LD_B32 [%g:b64]", {"then"}),  # it may be the thread's own memory
        ("%v:b32 = LD_RELAXED_GPU_GLOBAL_B32 [%g:b64]", {"then"}),
        ("%v:b32 = MOV_U32 sreg:ntid.x", set()),
        ("%v:b32 = MOV_U32 sreg:laneid", {"then"}),
        ("%v:b32 = MOV_U32 sreg:warpid", {"then"}),
        ("%v:b32 = MOV_U32 sreg:clock", {"then"}),
        ("%v:b32 = TCGEN05_LD_32X32B_X1 {{%c:b32}}", {"then"}),
        ("%v:b32 = ADD_S32 %c:b32, imm:1", set()),
        ("%v:b32 = ADD_S32 %c:b32, %t:b32", {"then"}),
        ("%v:b32 = TCGEN05_ALLOC_SHARED imm:16", set()),
    ],
)
def test_where_a_value_comes_from(makes: str, expected: set[str]):
    if "TCGEN05_LD" in makes:
        makes = "{%v:b32} = TCGEN05_LD_32X32B_X1 %c:b32"
    body = f"  {makes}\n  %q:pred = SETP_EQ_B32 %v:b32, imm:0" + conditional("%q")
    assert divergent(body) == expected


def test_a_register_that_is_written_on_one_way_only():
    """Behind the join its value tells which way a thread came."""
    body = "  %w:b32 = MOV_B32 imm:0" + conditional(
        "%d", "%w:b32 = MOV_B32 imm:1", "%q:pred = SETP_EQ_B32 %w:b32, imm:0"
    ).replace("  RET\n", "  @%q:pred BRA bb.late\n  RET\nbb.late:\n  RET\n")
    assert divergent(body) == {"then", "late"}


def test_a_guarded_write():
    body = "  %w:b32 = MOV_B32 imm:0\n  @%d:pred %w:b32 = MOV_B32 imm:1\n"
    body += "  %q:pred = SETP_EQ_B32 %w:b32, imm:0" + conditional("%q")
    assert divergent(body) == {"then"}


LOOP = """
  %i:b32 = MOV_B32 imm:0
bb.loop:
  %i:b32 = ADD_S32 %i:b32, imm:1
  %x:pred = SETP_LT_U32 %i:b32, {limit}
  @%x:pred BRA bb.loop
bb.after:
  RET
"""


def test_a_loop_that_all_threads_leave_together():
    assert divergent(LOOP.format(limit="%c:b32")) == set()


def test_a_loop_that_threads_leave_one_by_one():
    assert divergent(LOOP.format(limit="%t:b32")) == {"loop"}


def test_a_loop_that_polls():
    """What try_wait answers differs between threads; behind the loop they are together again."""
    body = """
bb.loop:
  %x:pred = MBARRIER_TRY_WAIT_PARITY_SHARED [@s], imm:0
  @!%x:pred BRA bb.loop
bb.after:
  RET
"""
    assert divergent(body) == {"loop"}


def test_threads_that_leave_the_kernel():
    assert divergent("  @%d:pred RET\nbb.rest:\n  BAR_SYNC imm:0\n  RET") == {"rest"}
    assert divergent("  @%u:pred RET\nbb.rest:\n  BAR_SYNC imm:0\n  RET") == set()


def test_a_branch_in_a_branch():
    body = """
  @%u:pred BRA bb.outer
  BRA bb.join
bb.outer:
  @%d:pred BRA bb.inner
  BRA bb.meet
bb.inner:
  BRA bb.meet
bb.meet:
  BRA bb.join
bb.join:
  RET
"""
    assert divergent(body) == {"inner"}


def test_ways_that_meet_at_the_end_only():
    body = """
  @%d:pred BRA bb.a
bb.b:
  RET
bb.a:
  RET
"""
    assert divergent(body) == {"a", "b"}


def test_which_blocks_come_after_which():
    found = function(LOOP.format(limit="%c:b32"))
    names = [block.name for block in found.blocks]
    after = {names[i]: {names[j] for j in s} for i, s in enumerate(reaches(found))}
    assert after == {"entry": {"loop", "after"}, "loop": {"loop", "after"}, "after": set()}

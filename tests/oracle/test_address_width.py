"""Which addresses must have 64 bits: ptxas, as it generates code, and nvgen agree.

PTX ISA, Operands: Addresses as Operands, lets an address be narrower, and ptxas takes most of them
as it checks.  For ordinary accesses to generic and global memory by a register of 32 bits it then
asks for 32-bit addressing, which no target has any more; one of 16 bits it extends.
"""

from __future__ import annotations

import re

import pytest

from intrinsics.catalog import rows
from tests.oracle import ptxas
from tests.oracle.agreement import Reading
from tests.oracle.verdict_file import Pair

PAIR = Pair("sm_100a", "9.0")

# fmt: off
ACCESSES = {
    "ld": "ld{space}.u32 %r3, [%r1+4];",
    "st": "st{space}.v2.u32 [%r1], {{%r2, %r3}};",
    "atom": "atom{space}.add.u32 %r3, [%r1], %r2;",
    "red": "red{space}.add.u32 [%r1], %r2;",
}
"""Accesses to every state space that they have."""

OTHERS = (
    "atom.cas.b128 %q1, [%r1], %q2, %q3;", "prefetch.L1 [%r1];", "prefetch.global.L2 [%r1];",
    "prefetch.local.L1 [%r1];", "prefetchu.L1 [%r1];", "discard.L2 [%r1], 128;",
    "discard.global.L2 [%r1], 128;", "applypriority.global.L2::evict_normal [%r1], 128;",
    "multimem.st.relaxed.gpu.global.u32 [%r1], %r2;",
    "multimem.red.relaxed.gpu.add.u32 [%r1], %r2;", "multimem.ld_reduce.global.add.u32 %r3, [%r1];",
    "mbarrier.init.b64 [%r1], 1;", "mbarrier.init.shared.b64 [%r1], 1;",
    "mbarrier.arrive.b64 %rd3, [%r1];", "mbarrier.arrive.expect_tx.b64 _, [%r1], 16;",
    "mbarrier.try_wait.parity.b64 %p1, [%r1], 0;", "mbarrier.test_wait.b64 %p1, [%r1], %rd2;",
    "mbarrier.expect_tx.relaxed.cta.b64 [%r1], 16;", "cvta.local.u32 %r1, %r2;",
    "cvta.to.global.u32 %r1, %r2;", "cvta.shared.u32 %r1, %r2;", "ld.global.u32 %r3, [%h1];",
    "ld.shared.u32 %r3, [%h1];", "st.u32 [%c1], %r3;", "ld.const.u32 %r3, [%r1];",
    "cp.async.ca.shared.global [%r1], [%r2], 16;", "cp.async.mbarrier.arrive.b64 [%r1];",
    "cp.async.bulk.prefetch.L2.global [%r1], 16;", "prefetch.tensormap [%r1];",
    "st.bulk.weak [%r1], %rd2, 0;",
    "st.async.weak.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3];",
    "fence.proxy.tensormap::generic.acquire.gpu [%r1], 128;",
    "tensormap.replace.tile.global_address.global.b1024.b64 [%r1], %rd2;",
    "createpolicy.range.L2::evict_last.b64 %rd3, [%r1], 16, 32;",
    "ldmatrix.sync.aligned.m8n8.x1.b16 {%r3}, [%r1];",
)
# fmt: on
STATEMENTS = (
    *(text.format(space=s) for text in ACCESSES.values() for s in ("", ".global", ".shared")),
    *OTHERS,
)


def nvgen_refuses(statement: str) -> bool:
    """Whether nvgen has an error about a statement, which speaks of the address's width."""
    rules = Reading.of([statement]).refusals(PAIR).get(0, frozenset())
    assert all(rule.endswith("/address-width") for rule in rules), rules
    return bool(rules)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_nvgen_refuses_the_addresses_that_ptxas_has_no_code_for(statement: str) -> None:
    wide = re.sub(r"\[%[rhc]1", "[%rd1", statement).replace("u32 %r1, %r2", "u64 %rd1, %rd2")
    ptxas.required_ptxas()
    assert ptxas.assemble(wide, *PAIR) == []
    assert not nvgen_refuses(wide)
    assert bool(ptxas.assemble(statement, *PAIR)) == nvgen_refuses(statement)


def test_every_instruction_with_such_an_address_is_asked() -> None:
    asked = {statement.split(".")[0] for statement in STATEMENTS}
    pointing = {row.head.split(".")[0] for row in rows() if any(o.pointer for o in row.operands)}
    assert pointing
    assert pointing <= asked

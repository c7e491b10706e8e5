"""Sizes of bulk operations and counts of mbarriers that come through registers.

Inline PTX gives each operand in a register, where ptxas sees no literal.  What is legal is the
manual's: sizes are multiples of 16, counts 1 to 2^20 - 1.  PTX ISA, cp.async.bulk; mbarrier.init.
"""

from __future__ import annotations

from asmprinter.ptx.reading.reader import read_ptx
from isel.verifier.descriptors.check import verify_descriptors
from tests.each import each
from tests.isel.verifier.kernels import kernel

HEAD = ".shared .align 128 .b8 tile[4096]; .shared .align 8 .b64 full;\n"
LOAD = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%x], {}, [full];"
STORE = "cp.async.bulk.global.shared::cta.bulk_group [%x], [tile], {};"
REDUCE = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%x], [tile], {};"
PREFETCH = "cp.async.bulk.prefetch.L2.global [%x], {};"
INIT = "mbarrier.init.shared::cta.b64 [full], {};"
COPIES = {"cp.async.bulk": LOAD, "cp.async.bulk ": STORE, "cp.reduce.async.bulk": REDUCE,
          "cp.async.bulk.prefetch": PREFETCH}  # fmt: skip

SOME = "mul.lo.u32 %r2, %n, {};"
"""A multiple of a number, of which no more is known."""


def rules(body: str) -> list[str]:
    """The rules that a kernel breaks."""
    reading = read_ptx(kernel(HEAD + body, ".param .u64 x, .param .u32 n"), "k.ptx")
    assert reading.findings == []
    return [f.rule for f in verify_descriptors(reading.module)]


@each("op", COPIES)
@each("size", [8, 1020, 1 << 20])
def test_a_size_that_no_bulk_operation_has(op: str, size: int):
    found = rules(f"mov.u32 %r2, {size}; {COPIES[op].format('%r2')}")
    assert found == [f"{op.strip()}/register-range"]


@each("op", COPIES)
@each("size", [16, 1024, (1 << 20) - 16])
def test_a_size_that_they_have(op: str, size: int):
    assert rules(f"mov.u32 %r2, {size}; {COPIES[op].format('%r2')}") == []


def test_a_size_that_an_argument_decides():
    odd = "or.b32 %r2, %r2, 8;"
    assert rules(f"{SOME.format(16)} {STORE.format('%r2')}") == []
    assert rules(f"{SOME.format(4)} {STORE.format('%r2')}") == []  # it may be a multiple of 16
    assert rules(f"{SOME.format(16)} {odd} {STORE.format('%r2')}") == [
        "cp.async.bulk/register-range"
    ]


@each("count, wrong", {"0": True, "1048576": True, "1": False, "1048575": False}.items())
def test_the_count_of_an_mbarrier(count: str, wrong: bool):
    found = rules(f"mov.u32 %r2, {count}; {INIT.format('%r2')}")
    assert found == (["mbarrier.init/register-range"] if wrong else [])

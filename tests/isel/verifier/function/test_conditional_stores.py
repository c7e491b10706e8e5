"""Sums that are stored each under a condition of its own, as at the edges of a matrix.

Each condition doubles the ways through the loop: rules must not follow them one by one.
PTX ISA, wgmma.fence.
"""

from __future__ import annotations

from tests.isel.verifier.kernels import kernel, said

TILES = 16
SUMS = [[f"%f{4 * tile + i}" for i in range(4)] for tile in range(TILES)]
MULTIPLIES = "\n".join(
    "    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
    f"{{{', '.join(tile)}}}, %a, %b, 0, 1, 1, 0, 0;"
    for tile in SUMS
)
STORES = "\n".join(
    f"    setp.ge.u32 %p1, {4 * number + i}, %n; @%p1 bra S{number}_{i};\n"
    f"    st.global.f32 [%x+{16 * number + 4 * i}], {sum_};\nS{number}_{i}:"
    for number, tile in enumerate(SUMS)
    for i, sum_ in enumerate(tile)
)
BODY = f"""\
    .reg .b32 %i;
    .reg .b64 %b;
    add.u64 %b, %a, 64;
    mov.u32 %i, 0;
TURN:
    wgmma.fence.sync.aligned;
{MULTIPLIES}
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
{STORES}
    add.u32 %i, %i, 1;
    setp.lt.u32 %p2, %i, %n;
    @%p2 bra TURN;"""
FENCE = "TURN:\n    wgmma.fence.sync.aligned;"
WAIT = "    wgmma.wait_group.sync.aligned 0;\n"


def rules(body: str) -> set[str]:
    """The rules about registers of multiplies that speak of a kernel."""
    found = said(kernel(body, ".param .u64 x, .param .u32 n, .param .u64 a"))
    return {f.rule for f in found} & {"wgmma.mma_async/fence", "wgmma.mma_async/in-flight"}


def test_a_fence_in_each_turn_orders_them() -> None:
    assert rules(BODY) == set()


def test_a_fence_before_the_loop_does_not() -> None:
    before = BODY.replace(FENCE, "    wgmma.fence.sync.aligned;\nTURN:")
    assert before != BODY
    assert rules(before) == {"wgmma.mma_async/fence"}


def test_nor_are_they_complete_without_a_wait() -> None:
    assert "wgmma.mma_async/in-flight" in rules(BODY.replace(WAIT, ""))

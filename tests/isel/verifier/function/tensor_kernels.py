"""Kernels around a few MMAs, for tests of the rules about tensor memory's contents.

One warp allocates 512 columns and thread 0 issues `body`; the others wait for its commit, load, and
free.  Registers: %r3 the address of tensor memory, %rd1 to %rd4 descriptors, %r9 a parameter.  All
of a_tile and b_tile, 16 KiB each, is written before anything is multiplied.
"""

from __future__ import annotations

from intrinsics.findings import Finding, Severity
from isel.verifier.functions import verify_functions
from tests.isel.verifier.function.kernel_text import kernel
from tests.isel.verifier.function.test_function_rules import module_of

HEAD = """
    mov.u32 %r1, %tid.x;
    ld.param.u32 %r9, [steps];
    mov.u32 %r30, a_tile;
    shr.u32 %r31, %r30, 4;
    cvt.u64.u32 %rd5, %r31;
    or.b64 %rd1, %rd5, 4611756662049538048;
    add.s64 %rd3, %rd1, 128;
    mov.u32 %r32, b_tile;
    shr.u32 %r33, %r32, 4;
    cvt.u64.u32 %rd6, %r33;
    or.b64 %rd2, %rd6, 4611756662049538048;
    add.s64 %rd4, %rd2, 128;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra READY;
    st.bulk.weak.shared::cta [%r30], 16384, 0;
    st.bulk.weak.shared::cta [%r32], 16384, 0;
    fence.proxy.async.shared::cta;
    $init [done], 1;
READY:
    $alloc [slot], 512;
    $relinquish;
    $before;
    bar.warp.sync -1;
    $after;
    ld.shared.b32 %r3, [slot];
    @%p1 bra WAIT;
"""

TAIL = """
    $commit [done];
WAIT:
    $try %p8, [done], 0;
    @!%p8 bra WAIT;
    $after;
    $load {%r22, %r23}, [%r3];
    $loaded;
    $dealloc %r3, 512;
    ret;
"""

WARP_TAIL = """
    $loaded;
    $stored;
    $dealloc %r3, 512;
    ret;
"""


def issuing(body: str) -> str:
    """A kernel of one warp whose thread 0 executes `body`."""
    return kernel(HEAD + body.strip("\n") + TAIL, ".reqntid 32")


def said(text: str, block: tuple[int, ...] = ()) -> list[Finding]:
    """What the function level says of a module, but for notes."""
    found = verify_functions(module_of(text), block)
    return [f for f in found if f.severity is not Severity.NOTE]


def line_of(text: str, piece: str, nth: int = 0) -> int:
    """The number of the line that has `piece` in it."""
    return [i for i, line in enumerate(text.splitlines(), 1) if piece in line][nth]


def whole_warp(body: str) -> str:
    """A kernel of one warp that executes `body` with all its threads, on a chip with ld.red."""
    head = HEAD.replace("    @%p1 bra WAIT;\n", "")
    text = kernel(head + body.strip("\n") + WARP_TAIL, ".reqntid 32")
    return text.replace("sm_100a", "sm_103a")

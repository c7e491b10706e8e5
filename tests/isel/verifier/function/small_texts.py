"""Small kernels as texts: a head, waits, variables, and what stands in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Edits = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Wrong:
    """A mistake: edits of a kernel, the rule that finds it, and what the simulator says."""

    edits: Edits
    rule: str
    severity: str
    run: str


@dataclass(frozen=True, slots=True)
class Small:
    """A kernel, what it writes to `out` with the numbers 0, 1, … in `x`, and mistakes in it."""

    text: str
    expected: np.ndarray
    mistakes: dict[str, Wrong]
    n: int = 4
    ctas: int = 1


def kernel(
    body: str, shared: str, *, target: str = "sm_90a", threads: int = 64, ctas: int = 1
) -> str:
    """A kernel `k(out, x, n)`: %t is the thread, %w its warp, %l its lane, %mine its word of out;
    %r4 the thread's offset in an array of words.
    """
    cluster = f"\n.reqnctapercluster {ctas}" if ctas > 1 else ""
    return f"""\
.version 8.8
.target {target}
.address_size 64
{shared}
.visible .entry k(.param .u64 out, .param .u64 x, .param .u32 n)
.reqntid {threads}{cluster}
{{
    .reg .pred %p<20>;
    .reg .b32 %r<60>, %t, %w, %l, %n;
    .reg .b64 %rd<20>, %out, %x, %s, %mine;
    ld.param.u64 %out, [out];
    ld.param.u64 %x, [x];
    ld.param.u32 %n, [n];
    mov.u32 %t, %tid.x;
    shr.u32 %w, %t, 5;
    and.b32 %l, %t, 31;
    mov.u32 %r1, %ctaid.x;
    mad.lo.u32 %r1, %r1, {threads}, %t;
    mul.wide.u32 %mine, %r1, 4;
    add.u64 %mine, %out, %mine;
    setp.eq.u32 %p1, %t, 0;
    shl.b32 %r4, %t, 2;
{body}
END:
    ret;
}}
"""


def wait(label: str, mbarrier: str, phase: str, how: str = "try_wait.parity.shared.b64") -> str:
    """A loop that waits for a phase."""
    return f"{label}:\n    mbarrier.{how} %p9, [{mbarrier}], {phase};\n    @!%p9 bra {label};\n"


def words(name: str = "words", size: int = 256) -> str:
    return f".shared .align 16 .b8 {name}[{size}];\n"


def mbarriers(*names: str) -> str:
    return "".join(f".shared .align 8 .b64 {name};\n" for name in names)


MINE = "    mov.u32 %r3, words;\n    add.u32 %r5, %r3, %r4;\n"
"""%r5 is the address of the thread's word."""
OTHER = """\
    xor.b32 %r6, %r4, 128;
    add.u32 %r6, %r3, %r6;
    ld.shared.u32 %r7, [%r6];
    st.global.u32 [%mine], %r7;
"""
"""Reads the word of a thread of the other warp."""
SYNC = "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n"
SWAPPED = np.arange(64, dtype=np.int32) ^ 32

"""Right kernels for the rules about synchronisation, beside those of `function_kernels`.

Each is right by the PTX ISA's canonical synchronisation patterns (9.7.16.6.4) and looks like
something that a rule might take for a mistake.
"""

from __future__ import annotations

from tests.isel.function_kernels import EPILOGUE, PROLOGUE, kernel

PREFETCH = kernel(
    PROLOGUE
    + """
    @%p2 bra WAIT;
    $mma [%r3], %rd1, %rd2, $idesc, 0;
    $commit [done];
WAIT:
    $try %p5, [done], 0;
    @!%p5 bra WAIT;
    $after;
    $load {%r22, %r23}, [%r5];
    $loaded;
    add.s32 %r6, %r5, 2;
    $load {%r24, %r25}, [%r6];
    st.shared.v2.b32 [a_tile], {%r22, %r23};
    bar.sync 1, 128;
    $loaded;
    $before;
    $arrive [back];
    @%p2 bra LAST;
BACK:
    $try %p6, [back], 0;
    @!%p6 bra BACK;
    $after;
    $mma [%r3], %rd2, %rd1, $idesc, 0;
    $commit [done];
LAST:
    $try %p7, [done], 1;
    @!%p7 bra LAST;
"""
    + EPILOGUE
)
"""A load that runs while the threads meet for something else, and is waited for before the arrival
that gives the accumulator back."""

OTHER_COLUMNS = kernel(
    PROLOGUE
    + """
    add.s32 %r6, %r5, 48;
    $store [%r6], {%r1, %r2};
    $load {%r22, %r23}, [%r5];
    $stored;
    $load {%r24, %r25}, [%r6];
    $loaded;
"""
    + EPILOGUE
)
"""A load beside columns that a store may still write."""

OWN_QUARTERS = kernel(
    PROLOGUE
    + """
    $load {%r22, %r23}, [%r5];
    bar.sync 1, 128;
    $loaded;
    $store [%r5], {%r23, %r22};
    $stored;
    $load {%r22, %r23}, [%r5];
    $loaded;
"""
    + EPILOGUE
)
"""Each warp loads and stores its own lanes: what other warps have not loaded yet is no matter."""

USED_AT_ONCE = kernel(
    PROLOGUE
    + """
    $load {%r22, %r23}, [%r5];
    add.s32 %r24, %r22, %r23;
    st.shared.b32 [a_tile], %r24;
    $loaded;
"""
    + EPILOGUE
)
"""Pattern 5: the registers of a load are used before wait::ld."""

CLEAN = {
    name.lower(): text
    for name, text in list(globals().items())
    if name.isupper() and isinstance(text, str) and name not in ("EPILOGUE", "PROLOGUE")
}

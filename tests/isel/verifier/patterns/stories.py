"""Kernels of tcgen05 as stories: how they begin and end, and parts that several have."""

from __future__ import annotations

from tests.isel.verifier.patterns.pattern_ptx import Kernel


def begin(*inits: str, columns: int = 64, cluster: bool = False) -> str:
    """mbarriers (`done:1`) and tensor memory, made by warp 0 and known to all threads."""
    made = "\n".join(
        f"init {name} {count} #init_{name}" for name, count in (x.split(":") for x in inits)
    )
    return f"""
    if t0
    {made}
    init_fence
    end
    {"cluster #p_cluster" if cluster else ""}
    if w0
    alloc slot {columns} #alloc
    relinquish #relinquish
    end
    before #p_before
    bar #p_bar
    after #p_after
    address slot #address
    """


def finish(columns: int = 64, cluster: bool = False) -> str:
    """Warp 0 frees when every thread is through."""
    return f"""
    before #e_before
    bar #e_bar
    {"cluster #e_cluster" if cluster else ""}
    if w0
    dealloc 0 {columns} #dealloc
    end
    return #ret
    """


def story(*parts: str, threads: int = 128, group: int = 1) -> Kernel:
    """A kernel of these pieces."""
    lines = [line.strip() for part in parts for line in part.splitlines() if line.strip()]
    return Kernel(tuple(lines), threads, group)


READ = """
    wait done 0 #wait
    after #after
    ld 0 #ld
    wait_ld #wait_ld
    out #out
"""
"""All warps read the accumulator when `done` says that it is complete."""

READ_RELAXED = READ.replace("wait done", "wait.relaxed done")
"""The same, as the manual spells it: the wait orders nothing, the fence does."""

STORE_A = """
    st 32 8 #st
    wait_st #wait_st
    before #st_before
    bar #st_bar
    after #st_after
"""
"""All warps put A into columns 32 to 39, and all of them know."""

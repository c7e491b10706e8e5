"""What the names that CUDA C++, Triton and others have for an operation are here.

Layer: nvgen.builder.  Input: a name that the builder has not.  Output: words for an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

_HERE: Mapping[str, str] = {
    "syncthreads debug_barrier barrier sync_threads": "b.barrier_cta_sync_aligned()",
    "syncwarp sync_warp": "b.bar_warp_sync()",
    "threadIdx thread_idx tid thread_id": "b.tid_x",
    "blockIdx block_idx ctaid cta_id program_id": "b.ctaid_x",
    "blockDim block_dim ntid ntid_x": "b.threads, or the block that the kernel was made with",
    "gridDim grid_dim nctaid num_programs": "b.nctaid_x",
    "laneid lane_id": "b.lane",
    "warpid warp_id": "b.warp",
    "where": "b.select(condition, x, y)",
    "shfl_xor_sync shfl_xor": "b.shfl_sync(Shuffle.BFLY, x, mask)",
    "shfl_down_sync shfl_down": "b.shfl_sync(Shuffle.DOWN, x, lanes)",
    "shfl_up_sync shfl_up": "b.shfl_sync(Shuffle.UP, x, lanes)",
    "shfl shfl_idx": "b.shfl_sync(Shuffle.IDX, x, lane)",
    "ballot_sync ballot": "b.vote_sync(Vote.BALLOT, condition)",
    "any_sync all_sync": "b.vote_sync(Vote.ANY, condition), b.vote_sync(Vote.ALL, condition)",
    "reduce sum reduce_sum": "b.warp_reduce(x, operator.add), b.cta_reduce(x, operator.add)",
    "atomicAdd atomic_add": "b.atom(AtomicOp.ADD, f32, pointer, x)",
    "atomicMax atomic_max atomicMin atomic_min": "b.atom(AtomicOp.MAX, u32, pointer, x)",
    "atomicCAS atomic_cas": "b.atom_cas(pointer, expected, new)",
    "threadfence threadfence_block membar_gl": "b.fence(Sem.ACQ_REL, Scope.GPU)",
    "exp log sqrt rsqrt tanh sin cos floor ceil erf abs": "a method of the number: x.exp()",
    "for_ for_range loop": "with b.range(stop) as i:",
    "while_loop": "with b.while_(lambda: condition):",
    "dot mma": "b.gemm(d, a, b), b.gemm_async(d, a, b), b.mma_sync(…)",
    "wgmma": "b.gemm(d, a, b), b.wgmma_mma_async(…)",
    "tma_load copy": "b.load_tile(tile, args['a'], (k, row), mbarrier)",
    "tma_store": "b.store_tile(tile, args['d'], (column, row))",
    "alloc_shared smem shared": "b.shared_array(name, f32, count), b.shared_tile(…)",
    "ret return_ exit": "b.leave_if(condition) in a role, with b.if_(…): elsewhere",
    "grid_dependency_wait gdc_wait": "b.griddepcontrol_wait()",
    "grid_dependency_launch gdc_launch_dependents": "b.griddepcontrol_launch_dependents()",
}


def no_such(name: str, known: Iterable[str]) -> str:
    """That the builder has no such name, and what it may have been meant to be."""
    plain = name.strip("_")
    said = next((here for names, here in _HERE.items() if plain in names.split()), "")
    near = "" if said else " or ".join(f"b.{n}" for n in get_close_matches(plain, known, 2))
    meant = f"here it is {said}" if said else f"did you mean {near}?" if near else ""
    return f"a KernelBuilder has no {name!r}" + (f": {meant}" if meant else "")

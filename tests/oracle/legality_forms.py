"""PTX statements, legal and illegal, enumerated from the PTX manual and not from nvgen's tables.

``FAMILIES`` maps a family of instructions to a function that returns its statements.  They use the
registers and variables that the preamble of :mod:`tests.oracle.ptxas` declares.  Nothing here says
which statement is legal: ptxas does, for each target and PTX version.  What matters is that the
lists hold the legal forms, their closest illegal neighbours, and the combinations on which a table
of instructions is easily wrong:

* the product of the values of an instruction's modifiers: every documented value, the modifier
  left out, and a value that belongs to a neighbouring instruction or that does not exist.  Where
  the product would explode, the axes that interact keep their product and the others are covered
  in pairs (every value of one axis meets every value of each other axis); the docstring says so;
* ``spoil`` of `statements`: one operand at a time replaced by each kind of operand that there is,
  operands left out, doubled, swapped and added, and guard predicates;
* ``shuffle``: modifiers left out, doubled, reordered, and modifiers of other instructions added.

``python -m tests.oracle.legality_forms`` prints an inventory of the families.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from tests.oracle import ptxas
from tests.oracle.memory_forms import atomics, caches, load_store_branch, warp
from tests.oracle.scalar_forms import carries_and_fields, compare_convert, integer, mov
from tests.oracle.synchronisation_forms import barriers, fences, mbarrier, tensor_load, tensor_store
from tests.oracle.tcgen05_forms import (
    tcgen05_alloc,
    tcgen05_copy,
    tcgen05_ld_red,
    tcgen05_ld_st,
    tcgen05_sync,
)
from tests.oracle.tcgen05_mma_forms import tcgen05_mma, tcgen05_mma_sparse_and_ws

FAMILIES: dict[str, Callable[[], list[str]]] = {
    "tcgen05.alloc": tcgen05_alloc,
    "tcgen05.ld/st": tcgen05_ld_st,
    "tcgen05.ld.red": tcgen05_ld_red,
    "tcgen05.cp/shift": tcgen05_copy,
    "tcgen05.sync": tcgen05_sync,
    "tcgen05.mma": tcgen05_mma,
    "tcgen05.mma.sp/ws": tcgen05_mma_sparse_and_ws,
    "mbarrier": mbarrier,
    "tensor load": tensor_load,
    "tensor store": tensor_store,
    "fence": fences,
    "barrier": barriers,
    "mov": mov,
    "integer": integer,
    "carries and fields": carries_and_fields,
    "compare/convert": compare_convert,
    "ld/st/branch": load_store_branch,
    "warp": warp,
    "atomic": atomics,
    "caches": caches,
}


def grid() -> Iterator[tuple[str, str]]:
    """Every target with every PTX version."""
    return itertools.product(ptxas.TARGETS, ptxas.PTX)


def main() -> None:
    """Judge every family on the whole grid and print what came out."""
    started = time.perf_counter()
    total = accepted_total = 0
    print(f"{'family':20} {'statements':>10} {'accepted':>9} {'seconds':>8}")
    for name, family in FAMILIES.items():
        begun = time.perf_counter()
        statements = family()
        accepted = [False] * len(statements)
        judge = partial(ptxas.judge, statements)
        targets, versions = zip(*grid(), strict=True)
        judge(targets[0], versions[0])  # learn the unparsable statements before the threads do
        with ThreadPoolExecutor(2) as pool:
            for verdicts in pool.map(judge, targets, versions):
                for index, errors in enumerate(verdicts):
                    accepted[index] |= not errors
        seconds = time.perf_counter() - begun
        total += len(statements)
        accepted_total += sum(accepted)
        print(f"{name:20} {len(statements):10} {sum(accepted):9} {seconds:8.1f}", flush=True)
    seconds = time.perf_counter() - started
    print(f"{'all':20} {total:10} {accepted_total:9} {seconds:8.1f}")


if __name__ == "__main__":
    main()

"""PTX statements that make cache policies, enumerated from the PTX manual.

As in :mod:`tests.oracle.legality_forms`: nothing here says which statement is legal, ptxas does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from tests.oracle.statements import SOME, shuffle, spoil, statement, unique

_PRIORITIES = (
    ".L2::evict_last", ".L2::evict_normal", ".L2::evict_first", ".L2::evict_unchanged",
    ".L2::no_allocate", ".L1::evict_last", "",
)  # fmt: skip
_FRACTIONS = (
    "", "1.0", "0.5", "0.0", "-0.5", "1.5", "0f3F800000", "0f3F800001", "0f00000000", "0f00800000",
    "0f7F800000", "0f7FC00000", "0d3FF0000000000000", "0d3FF0000000000001", "1", "%f1", "%fd1",
    "%r1", "%hf1",
)  # fmt: skip
_SIZES = (
    "128, 256", "256, 128", "256, 256", "0, 256", "0, 0", "%r1, %r2", "%r1, 128", "128, %r1",
    "-1, 256", "128, -1", "128", "%rd1, 256", "128, 4294967296", "1.0, 2.0", "smem, 128",
)  # fmt: skip


def policies() -> list[str]:
    """createpolicy.

    Full products of two priorities x fractions, of two priorities x a space, and of a space x
    sizes; perturbations of each.
    """
    pairs = ["".join(pair) for pair in itertools.product(_PRIORITIES, _PRIORITIES)]
    first = "createpolicy.fractional.L2::evict_first.b64"
    out = [
        *(
            statement(f"createpolicy.fractional{pair}.b64", "%rd1", fraction)
            for pair, fraction in itertools.product(pairs, ("", "0.5", "%f1"))
        ),
        *(statement(first, "%rd1", fraction) for fraction in _FRACTIONS),
        *(
            f"createpolicy.range{space}{pair}.b64 %rd1, [%rd2], %r1, %r2;"
            for space, pair in itertools.product(("", ".global"), pairs)
        ),
        *(
            f"createpolicy.range{space}.L2::evict_last.b64 %rd1, [gmem], {sizes};"
            for space, sizes in itertools.product(("", ".global", ".shared", ".local"), _SIZES)
        ),
    ]
    last = ".L2::evict_last"
    out += spoil(f"createpolicy.fractional{last}.b64", ("%rd1", "0.5"))
    out += spoil(f"createpolicy.range.global{last}.b64", ("%rd1", "[%rd2]", "%r1", "%r2"), SOME)
    out += spoil(f"createpolicy.range{last}.b64", ("%rd1", "[gmem]", "128", "256"), SOME)
    out += spoil("createpolicy.cvt.L2.b64", ("%rd1", "%rd2"))
    out += shuffle("createpolicy", [".fractional", last, ".b64"], "%rd1", "0.5")
    out += shuffle("createpolicy.fractional", [last, ".L2::evict_first", ".b64"], "%rd1")
    out += shuffle(
        "createpolicy.range", [".global", last, ".L2::evict_unchanged", ".b64"],
        "%rd1", "[%rd2]", "%r1", "%r2",
    )  # fmt: skip
    out += shuffle("createpolicy", [".cvt", ".L2", ".b64"], "%rd1", "%rd2")
    return unique(out)


FAMILIES: dict[str, Callable[[], list[str]]] = {"cache policies": policies}

"""9.7.16.10.8, Sparse Matrices: the selector, metadata and their place.

The indices that mean something are held by `tests/isel/verifier/function/test_function_scales.py`.
"""

from __future__ import annotations

from tests.isel.verifier.descriptors.descriptor_words import mma, plain
from tests.manual.rows import Issued, Row, issues, statements


def _sp(kind: str, **fields: int) -> str:
    word = plain(sparse=1, **fields)
    return mma(word, modifiers=f".sp.cta_group::1.kind::{kind}", meta=", [%r4]")


_SELECTOR = "tcgen05.mma.sp/idesc-selector"
_HALF = 16 << 16


def _issue(meta: str, d: str = "%r3", m: int = 64) -> str:
    return mma(plain(m=m, n=32, sparse=1), modifiers=".sp.cta_group::1.kind::f16", a="%rd1",
               b="%rd2", d=f"[{d}]", meta=f", [{meta}]").replace("%p1", "0")  # fmt: skip


ROWS = (
    Row("f16 selects with 0 to 3", _sp("f16", selector=3), _sp("f8f6f4", selector=1), _SELECTOR),
    Row("f8f6f4: the selector is 0", _sp("f8f6f4"), _sp("f8f6f4", selector=2), _SELECTOR),
    Row("i8: the selector is 0", _sp("i8", d=2), _sp("i8", d=2, selector=1), _SELECTOR),
    Row("a dense multiply selects nothing", mma(plain()), mma(plain(selector=1)),
        "tcgen05.mma/idesc-selector-dense"),
    Row("the descriptor says that A is sparse, as the name does", _sp("tf32", a=2, b=2),
        mma(plain(a=2, b=2), modifiers=".sp.cta_group::1.kind::tf32", meta=", [%r4]"),
        "tcgen05.mma.sp/idesc-sparsity"),
    Row("metadata are an operand of their own", _sp("f16"),
        mma(plain(sparse=1), modifiers=".sp.cta_group::1.kind::f16"), "ptx/operands",
        refused=True),
    Row("and not of a dense multiply", mma(plain(n=64)), mma(plain(n=64), meta=", [%r4]"),
        "tcgen05.mma/operands", refused=True),
)  # fmt: skip

ISSUED = (
    Issued("9.7.16.10.8.5: metadata lie in the lanes of D",
           _issue(f"%r3+{_HALF + 64}", f"%r3+{_HALF}"), _issue(f"%r3+{_HALF + 64}"),
           "tcgen05.mma.sp/same-lanes"),
    Issued("metadata are not written over by D", _issue("%r3+64", m=128), _issue("%r3+31", m=128),
           "tcgen05.mma.sp/overlap"),
)  # fmt: skip

test_a_sentence_about_a_statement = statements(ROWS)
test_a_sentence_about_what_a_thread_issues = issues(ISSUED)

"""9.7.16.10.9.4, tcgen05.mma.ws.sp: what it shares with its sibling stands in `stationary`."""

from __future__ import annotations

from tests.each import each
from tests.manual.rows import Issued, Row, holds, is_issued
from tests.manual.stationary import issued as issued_of
from tests.manual.stationary import rows

ROWS = rows("tcgen05.mma.ws.sp")
ISSUED = issued_of("tcgen05.mma.ws.sp")


@each("row", ROWS, ids=lambda row: row.sentence)
def test_a_sentence_about_a_statement(row: Row) -> None:
    holds(ROWS, row)


@each("issued", ISSUED, ids=lambda issued: issued.sentence)
def test_a_sentence_about_what_a_thread_issues(issued: Issued) -> None:
    is_issued(issued)

"""9.7.16.10.9.3, tcgen05.mma.ws: what it shares with its sibling stands in `stationary`."""

from __future__ import annotations

from tests.manual.rows import issues, statements
from tests.manual.stationary import issued as issued_of
from tests.manual.stationary import rows

ROWS = rows("tcgen05.mma.ws")
ISSUED = issued_of("tcgen05.mma.ws")

test_a_sentence_about_a_statement = statements(ROWS)
test_a_sentence_about_what_a_thread_issues = issues(ISSUED)

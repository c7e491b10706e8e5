"""By what a mistake is found that was planted in a kernel: rules, a run, or a wrong result."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from intrinsics.findings import NvgenError, Severity
from nvgen.compilation.compiled import Compiled


def found_by(compiled: Callable[[], Compiled], is_right: Callable[[Compiled], bool]) -> set[str]:
    """The rules that speak of a kernel, else those that end a run of it, which says whether its
    result is right; `numbers` where only that is wrong.
    """
    try:
        with warnings.catch_warnings(action="ignore"):
            made = compiled()
        if rules := {f.rule for f in made.findings if f.severity is not Severity.NOTE}:
            return rules
        return set() if is_right(made) else {"numbers"}
    except NvgenError as error:
        return {f.rule for f in error.findings}

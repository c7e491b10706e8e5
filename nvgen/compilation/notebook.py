"""Stages of a kernel as folded HTML, for notebooks.

Layer: nvgen.  Input: what compiling gave.  Output: one block for each stage, and the findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

_MOST_LINES = 500


def stages_as_html(title: str, findings: Iterable[object] | None, stages: Mapping[str, str]) -> str:
    """The findings, if it was judged, and the text of each stage, which can be opened."""
    found = "".join(f"<li>{escape(str(finding))}</li>" for finding in findings or ())
    judged = "" if findings is None else "<p>no findings</p>"
    listed = f"<ul>{found}</ul>" if found else judged
    return f"<p>{escape(title)}</p>{listed}" + "".join(
        f"<details><summary>{escape(name)}: {len(text.splitlines())} lines</summary>"
        f"<pre>{escape(_begin(text))}</pre></details>"
        for name, text in stages.items()
    )


def _begin(text: str) -> str:
    """A text that a notebook can carry: its first lines where it is long."""
    lines = text.splitlines()
    more = [f"… and {len(lines) - _MOST_LINES} lines more"] if len(lines) > _MOST_LINES else []
    return "\n".join([*lines[:_MOST_LINES], *more])

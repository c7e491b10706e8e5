"""A picture as text for a terminal.

Layer: nvgen.drawing.  Cells are columns of equal width; what does not fit into 100 columns is left
out, and the picture says so.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from nvgen.drawing.picture import Panel, Picture, plural

_WIDTH = 100


def as_text(picture: Picture) -> str:
    """The lines of the picture."""
    lines = [picture.title]
    for note in picture.notes:
        lines += textwrap.wrap(note, _WIDTH, initial_indent="  ", subsequent_indent="    ")
    for panel in picture.panels:
        lines += ["", *_panel(panel)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _panel(panel: Panel) -> Iterator[str]:
    name = max(len(text) for text in (*panel.rows, panel.down))
    cell = max([len(c.label) for c in panel.cells] + [len(c) for c in panel.columns]) + 1
    shown = min(len(panel.columns), (_WIDTH - name - 1) // cell)
    if panel.title:
        yield panel.title
    yield f"{'':<{name}}  {panel.across}"
    heads = "".join(f" {text:<{cell - 1}}" for text in panel.columns[:shown])
    yield f"{panel.down:<{name}} {heads}"
    rows: list[dict[int, str]] = [{} for _ in panel.rows]
    for one in panel.cells:
        rows[one.row][one.column] = f" {one.label:<{one.span * cell - 1}}"
    for text, found in zip(panel.rows, rows, strict=True):
        yield f"{text:<{name}} {_line(found, panel, shown, cell)}"
    if shown < len(panel.columns):
        yield f"({plural(len(panel.columns) - shown, 'more column')} to the right: --format svg)"


def _line(found: dict[int, str], panel: Panel, shown: int, cell: int) -> str:
    """The cells of one row: dots where nothing lies."""
    line = ""
    while (at := len(line) // cell) < shown:
        line += found.get(at, f" {'·':<{cell - 1}}")
    return line

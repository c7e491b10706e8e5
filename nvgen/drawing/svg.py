"""A picture as SVG: small, self-contained, on a white sheet of its own.

Layer: nvgen.drawing.  1000 pixels wide; what a cell holds is its <title>, which browsers show under
the pointer.  The same picture gives the same bytes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from xml.sax.saxutils import escape

from nvgen.drawing.picture import Cell, Panel, Picture

WIDTH = 1000
_MARGIN, _LINE, _GLYPH = 10, 16, 0.6
"""Pixels around the sheet and between lines of text; a character's width in sizes of its font."""

_COLOURS = (
    "#bcd7f0", "#f9d5a7", "#bfe3c0", "#f2c4c4", "#d6cbe8", "#f6eca6", "#bfe6e4", "#e3d3c2",
)  # fmt: skip
_STYLE = (
    "text{font-family:monospace;fill:#222}.t{font-size:15px;font-weight:bold}"
    ".n{font-size:12px}.a{font-size:10px;fill:#555}.l{text-anchor:middle}"
    ".w{font-size:10px;pointer-events:none}"
    "rect{stroke:#667;stroke-width:.5}"
    + "".join(f".c{i}{{fill:{colour}}}" for i, colour in enumerate(_COLOURS))
)


def as_svg(picture: Picture) -> str:
    """The SVG document."""
    body: list[str] = []
    y = _MARGIN
    for css, text in _heading(picture):
        y += _LINE + 2
        body.append(f'<text x="{_MARGIN}" y="{y}" class="{css}">{escape(text)}</text>')
    for panel in picture.panels:
        y = _panel(panel, y + _LINE // 2, body)
    height = y + _MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img">'
    )
    sheet = f'<path d="M0 0H{WIDTH}V{height}H0z" fill="#fff"/>'
    title = f"<title>{escape(picture.title)}</title><style>{_STYLE}</style>"
    return "\n".join((head, title, sheet, *body, "</svg>")) + "\n"


def _heading(picture: Picture) -> Iterator[tuple[str, str]]:
    for line in textwrap.wrap(picture.title, 105):
        yield "t", line
    for note in picture.notes:
        for line in textwrap.wrap(note, 130):
            yield "n", line


def _panel(panel: Panel, top: int, body: list[str]) -> int:
    """Draw a panel below `top`; where it ends."""
    left = _MARGIN + 8 + int(6.2 * max(map(len, (*panel.rows, panel.down))))
    width = (WIDTH - _MARGIN - left) / max(len(panel.columns), 1)
    height = 18 if len(panel.rows) <= 64 else 13
    y = top + _LINE
    body.append(f'<text x="{_MARGIN}" y="{y}" class="t">{escape(panel.title)}</text>')
    y += _LINE
    body.append(f'<text x="{left}" y="{y}" class="a">{escape(panel.across)}</text>')
    body.append(f'<text x="{_MARGIN}" y="{y + _LINE}" class="a">{escape(panel.down)}</text>')
    y += _LINE
    body.extend(_columns(panel, left, width, y))
    y += 5
    for i, name in enumerate(panel.rows):
        at = y + i * height + height - 5
        body.append(f'<text x="{_MARGIN}" y="{at}" class="a">{escape(name)}</text>')
    size = _font(panel, width, height)
    body.append(f'<g font-size="{_number(size)}">')
    for cell in panel.cells:
        x, w = left + cell.column * width, cell.span * width
        body.append(_cell(cell, (x, y + cell.row * height, w, height), size))
    body.append("</g>")
    if not size:
        body.extend(_leading_labels(panel, left, y, width, height))
    return y + len(panel.rows) * height


def _font(panel: Panel, width: float, height: int) -> float:
    """The size in which every label fits; 0 where that is too small to read."""
    needed = [len(c.label) * _GLYPH / (c.span * width - 2) for c in panel.cells if c.label]
    size = min(10.0, height - 3.0, 1 / max(needed, default=1))
    return size if size >= 6 else 0.0


def _columns(panel: Panel, left: float, width: float, y: int) -> Iterator[str]:
    """The columns' names; every second, fourth, … where they have no room."""
    needed = 6.2 * max(map(len, panel.columns), default=0) + 3
    step = 1
    while step * width < needed and step < len(panel.columns):
        step *= 2
    for i in range(0, len(panel.columns), step):
        x = _number(left + i * width + 1)
        yield f'<text x="{x}" y="{y}" class="a">{escape(panel.columns[i])}</text>'


def _cell(cell: Cell, box: tuple[float, float, float, float], size: float) -> str:
    x, y, width, height = (_number(value) for value in box)
    label = ""
    if cell.label and size:
        middle, base = _number(box[0] + box[2] / 2), _number(box[1] + box[3] / 2 + size / 3)
        label = f'<text x="{middle}" y="{base}" class="l">{escape(cell.label)}</text>'
    return (
        f'<g><title>{escape(cell.title)}</title><rect x="{x}" y="{y}" width="{width}" '
        f'height="{height}" class="c{cell.colour % len(_COLOURS)}"/>{label}</g>'
    )


def _leading_labels(panel: Panel, left: int, top: int, width: float, height: int) -> Iterator[str]:
    """The labels that have room over several columns, written over the cells."""
    for cell in panel.cells:
        if cell.room:
            x, y = _number(left + cell.column * width + 2), top + (cell.row + 1) * height - 5
            yield f'<text x="{x}" y="{y}" class="w">{escape(cell.label)}</text>'


def _number(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")

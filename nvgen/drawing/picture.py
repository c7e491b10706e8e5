"""A picture of a layout: panels of named rows and columns, and the cells that hold something.

Layer: nvgen.drawing.  Makers of pictures (`shared`, `tensor`, `factors`, `fragment`) know layouts,
renderers (`svg`, `text`) know paper; this is all that they tell each other.
"""

from __future__ import annotations

from collections.abc import Sequence

from intrinsics.lazy_dataclass import dataclass

MOST_CELLS = 4096
"""Cells of one picture; larger layouts are abbreviated, and the picture says so."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One drawn cell: where it stands in its panel, what is written on it, what it says in full.

    `span` is how many columns it takes; cells of one `colour` (any number from 0) look alike.
    Where cells are too narrow for their labels, those with `room` have theirs written over so many
    columns, and the others none.
    """

    row: int
    column: int
    label: str
    title: str
    colour: int = 0
    span: int = 1
    room: int = 0


@dataclass(frozen=True, slots=True)
class Panel:
    """A grid: `across` and `down` say what its columns and rows are."""

    title: str
    across: str
    down: str
    columns: Sequence[str]
    rows: Sequence[str]
    cells: Sequence[Cell]


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture: its title, a legend, and the panels."""

    title: str
    notes: Sequence[str]
    panels: Sequence[Panel]

    def as_json(self) -> dict[str, object]:
        """The picture for machines."""
        return {
            "title": self.title,
            "notes": list(self.notes),
            "panels": [
                {
                    "title": panel.title,
                    "across": panel.across,
                    "down": panel.down,
                    "columns": list(panel.columns),
                    "rows": list(panel.rows),
                    "cells": [
                        {
                            "row": cell.row,
                            "column": cell.column,
                            "span": cell.span,
                            "label": cell.label,
                            "title": cell.title,
                        }
                        for cell in panel.cells
                    ],
                }
                for panel in self.panels
            ],
        }


def span_text(first: int, last: int) -> str:
    """`7`, or `4 to 7`."""
    return f"{first}" if first == last else f"{first} to {last}"


def plural(count: int, noun: str) -> str:
    """`1 column`, `2 columns`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def listed(items: Sequence[object]) -> str:
    """`1`, `1 and 2`, `1, 2 and 3`."""
    *most, last = map(str, items)
    return f"{', '.join(most)} and {last}" if most else last

"""`nvgen draw`: pictures of layouts.

Layer: nvgen.commands.
"""

from __future__ import annotations

import argparse
import json

from nvgen.commands.layouts.fragment import draw_fragment
from nvgen.commands.layouts.shared import draw_smem
from nvgen.commands.layouts.tensor import draw_tmem
from nvgen.drawing.picture import Picture
from nvgen.files import STANDARD, check_writable, write_whole


def run(arguments: argparse.Namespace) -> int:
    """Draw one picture, whole or not at all."""
    check_writable(arguments.output)
    format_ = arguments.format or _format_of(arguments.output)
    text = _rendered(_picture(arguments, coarse=format_ == "text"), format_)
    write_whole(arguments.output, text.encode())
    return 0


def _format_of(output: str) -> str:
    for name in ("svg", "json"):
        if output != STANDARD and output.endswith("." + name):
            return name
    return "text"


def _picture(arguments: argparse.Namespace, *, coarse: bool) -> Picture:
    match arguments.what:
        case "smem":
            return draw_smem(arguments)
        case "tmem":
            return draw_tmem(arguments, coarse=coarse)
        case "fragment":
            return draw_fragment(arguments)
    raise AssertionError(arguments.what)


def _rendered(picture: Picture, format_: str) -> str:
    if format_ == "json":
        return json.dumps(picture.as_json(), indent=1, ensure_ascii=False) + "\n"
    if format_ == "svg":
        from nvgen.drawing.svg import as_svg

        return as_svg(picture)
    from nvgen.drawing.text import as_text

    return as_text(picture)

"""`nvgen trace`: one multiply through every stage.

Layer: nvgen.commands.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable

from asmprinter.tile_reader import refuse_lowered
from asmprinter.tile_words import has_tiles
from intrinsics.findings import Finding, InputError, NvgenError, errors, input_error
from nvgen.commands.given.inputs import read_input
from nvgen.compilation.options import Options, no_target
from nvgen.files import printable
from nvgen.loading import language_of
from nvgen.render import Line, Printer, as_json, print_findings
from nvgen.tiles.trace import Decoded, Stage, Story, trace

_WIDTH = 160
"""Where a line of a record is cut: a load of 128 registers says nothing more by naming them all."""


def run(arguments: argparse.Namespace) -> int:
    """Compile, and print the story of one multiply with its notes."""
    given = read_input(arguments.files)
    text, arguments.file, arguments.name = given.text, given.file, given.name
    arguments.target = given.target(arguments.target)
    if language_of(arguments.file, text) == "llvm" and has_tiles(text):
        refuse_lowered(text, printable(arguments.file))
        return _tiles(arguments, text)
    if language_of(arguments.file, text) != "llvm":
        raise input_error(
            "trace/language",
            "only LLVM IR and tile multiplies go through all stages",
            got=printable(arguments.file),
            expected="LLVM IR, cuda_tile.mmaf or nv_tileaa.dot",
        )
    if arguments.target is None:
        raise no_target()
    return _report(arguments, text, lambda: _story(arguments, text))


def _tiles(arguments: argparse.Namespace, text: str) -> int:
    """The story of a tile multiply, from its own text on."""
    from nvgen.tiles.tile_trace import trace_tile

    if arguments.target is None:
        raise no_target()
    file = printable(arguments.file)
    return _report(
        arguments,
        text,
        lambda: trace_tile(text, file, arguments.target, arguments.ptx, arguments.mma),
    )


def _report(
    arguments: argparse.Namespace, text: str, story_of: Callable[[], tuple[Story, list[Finding]]]
) -> int:
    try:
        story, findings = story_of()
    except NvgenError as error:
        if arguments.name != arguments.file:
            print(f"{printable(arguments.name)}:", file=sys.stderr)
        print_findings(error.findings, text)
        return 2 if isinstance(error, InputError) else 1
    if arguments.format == "json":
        print(json.dumps(_as_json(arguments, story, findings), indent=2))
    else:
        _print(arguments, story)
        print_findings([*story.notes, *findings], text, sys.stdout)
    return 1 if errors(findings) else 0


def _story(arguments: argparse.Namespace, text: str) -> tuple[Story, list[Finding]]:
    from nvgen.compilation.compile_text import check_text

    file = printable(arguments.file)
    options = Options(arguments.target, arguments.ptx, keep_stages=True)
    compiled = check_text(text, options, file=file)
    return trace(compiled, text, arguments.mma), compiled.findings


# ---- text ------------------------------------------------------------------------------------


def _print(arguments: argparse.Namespace, story: Story) -> None:
    printer = Printer(sys.stdout)
    which = f"multiply {story.number} of {story.count}"
    if arguments.name != arguments.file:
        which += f" of {printable(arguments.name)}"
    printer.line([(f"{which}, {printable(str(story.place))}, for {arguments.target}", "bold")])
    for number, stage in enumerate(story.stages, 1):
        printer.line([("", "")])
        printer.lines(_stage(number, stage))
    printer.line([("", "")])


def _stage(number: int, stage: Stage) -> list[Line]:
    lines: list[Line] = [[(f"{number} {stage.title}", "bold cyan")]]
    lines += [[("  " + _clipped(text), "")] for text in stage.lines]
    for decoded in stage.decoded:
        lines += _decoded(decoded)
    return lines


def _decoded(decoded: Decoded) -> list[Line]:
    lines: list[Line] = [[(f"  {decoded.name} ", "bold"), (decoded.value, "")]]
    for bits, name, meaning in decoded.fields:
        lines.append([(f"    {bits:<6} {name:<22} {meaning}".rstrip(), "")])
    return lines


def _clipped(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= _WIDTH else shown[: _WIDTH - 1] + "…"


# ---- JSON ------------------------------------------------------------------------------------


def _as_json(
    arguments: argparse.Namespace, story: Story, findings: list[Finding]
) -> dict[str, object]:
    return {
        "file": arguments.name,
        "target": arguments.target,
        "mma": story.number,
        "of": story.count,
        "line": story.place.line,
        "function": story.place.function,
        "stages": [
            {
                "title": stage.title,
                "lines": list(stage.lines),
                "decoded": [
                    {
                        "name": one.name,
                        "value": one.value,
                        "fields": [
                            {"bits": bits, "field": name, "meaning": meaning}
                            for bits, name, meaning in one.fields
                        ],
                    }
                    for one in stage.decoded
                ],
            }
            for stage in story.stages
        ],
        "findings": [as_json(f) for f in (*story.notes, *findings)],
    }

"""`nvgen targets`: what nvgen can compile for.

Layer: nvgen.commands.
"""

from __future__ import annotations

import argparse
import json
import sys

from intrinsics.targets import PTX_VERSIONS, SUBTARGET_FEATURES, TARGETS, Target
from nvgen.render import Printer


def run(arguments: argparse.Namespace) -> int:
    """List the targets."""
    if arguments.format == "json":
        print(json.dumps([_as_json(t) for t in TARGETS.values()], indent=2))
        return 0
    printer = Printer(sys.stdout)
    printer.line([(f"{'target':<9} {'since PTX':<10} features", "bold")])
    for target in TARGETS.values():
        features = " ".join(_features(target))
        row = f" {_since(target):<10} {features}".rstrip()
        printer.line([(f"{target.name:<9}", "green"), (row, "")])
    return 0


def _since(target: Target) -> str:
    """The first version that the target can be compiled for here."""
    return str(max(target.first_ptx, PTX_VERSIONS[0]))


def _features(target: Target) -> list[str]:
    return [f.name.lower() for f in SUBTARGET_FEATURES if f in target.features and f.name]


def _as_json(target: Target) -> dict[str, object]:
    return {
        "target": target.name,
        "since_ptx": _since(target),
        "features": _features(target),
    }

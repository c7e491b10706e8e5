"""The options of `nvgen explain`.

Layer: nvgen.commands.  `nvgen explain WHAT VALUE`: the value is a word (a number) or a name.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from nvgen.commands.layouts.fragment_options import EXAMPLES, FRAGMENT_OPTIONS
from nvgen.commands.layouts.fragment_options import add_options as add_fragment_options

_WORDS = (
    "idesc", "smem-desc", "wgmma-desc", "ctrl", "collector", "zero-mask", "taddr", "scale-id",
    "metadata",
)  # fmt: skip
_NAMES = ("layout", "swizzle", "fragment", "wgmma-fragment", "packing", "intrinsic", "rule")

OPTIONS = {
    "kind": ("K", "the MMA kind of an idesc, metadata, scale-id or packing"),
    "scale_vec": ("S", "of a scale-id: 1X, 2X, 4X, block16 or block32"),
    "k": ("K", "K of the MMA of a scale-id"),
    "m": ("M", "M of the MMA, for the columns of a zero-mask"),
    "n": ("N", "N of the MMA, for the columns of a zero-mask"),
    "shape": ("S", "of a fragment"),
    "num": ("xN", "of a fragment"),
    "pack": ("", "of a fragment"),
}


class _Signatures(argparse.Action):
    """The option `--signatures`, whose command is imported when it is asked for."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,
    ) -> None:
        """Print the table, and end the command."""
        from nvgen.commands.explanations.intrinsics import print_signatures

        print_signatures(str(values))
        parser.exit()


def add_options(parser: argparse.ArgumentParser) -> None:
    """Give the parser of `nvgen explain` its arguments."""
    parser.add_argument(
        "what", choices=(*_WORDS, *_NAMES), metavar="WHAT", help=", ".join((*_WORDS, *_NAMES))
    )
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument(
        "value", metavar="VALUE", nargs="?",
        help="a number (193, 0xC1 or 0b11000001), or a name: layout E, swizzle 128, "
        f"fragment 16x64b.x2 (or {EXAMPLES}), packing e2m1; intrinsic llvm.nvvm.X and rule "
        "mbarrier/deadlock, which may also stand alone",
    )  # fmt: skip
    add_fragment_options(parser, how)
    for name, (metavar, text) in OPTIONS.items():
        if name in FRAGMENT_OPTIONS:
            continue
        parser.add_argument(f"--{name.replace('_', '-')}", metavar=metavar, help=text)
    parser.add_argument(
        "--signatures", action=_Signatures, choices=("json", "ll"), metavar="json|ll",
        help="print the declarations of all intrinsics that nvgen selects, and nothing else",
    )  # fmt: skip
    parser.add_argument("--format", choices=("text", "json"), default="text")

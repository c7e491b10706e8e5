"""The options that name a register fragment, which `nvgen draw` and `nvgen explain` share.

Layer: nvgen.commands.  It imports nothing that costs time: each start of the command line is here.
"""

from __future__ import annotations

import argparse

EXAMPLES = "ldmatrix.m8n8.x4.trans, mma.m16n8k16.a.f16, wgmma.d.n96.f32, …"
"""Names of fragments of other instructions than tcgen05.ld and .st."""

FRAGMENT_OPTIONS = ("shape", "num", "pack")
"""What names a fragment of tcgen05.ld and .st in parts."""


def add_name(parser: argparse.ArgumentParser, name: str) -> None:
    """Give a parser the argument `name`, and what may stand for it."""
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument(
        name, nargs="?", metavar=name.upper(),
        help=f"16x64b.x2 of tcgen05.ld, or {EXAMPLES}",
    )  # fmt: skip
    add_options(parser, how)


def add_options(parser: argparse.ArgumentParser, how: argparse._ActionsContainer) -> None:
    """Give a parser the options that name a fragment of tcgen05.ld and .st."""
    how.add_argument("--shape", metavar="S", help="of tcgen05.ld: 16x64b, 32x32b, …")
    parser.add_argument("--num", metavar="xN", help="x1 (default) to x128")
    parser.add_argument(
        "--pack", action="store_const", const=True, help="with .pack::16b or .unpack::16b"
    )

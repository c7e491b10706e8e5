"""The options of `nvgen draw`.

Layer: nvgen.commands.  What a value means is judged by `nvgen.commands.draw`.
"""

from __future__ import annotations

import argparse

from nvgen.commands.layouts.fragment_options import add_name


def add_options(parser: argparse.ArgumentParser) -> None:
    """Give the parser of `nvgen draw` its three kinds of pictures."""
    whats = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    _smem(whats.add_parser("smem", help="a matrix in shared memory"))
    _tmem(whats.add_parser("tmem", help="D, A, scale factors or metadata in tensor memory"))
    _fragment(whats.add_parser("fragment", help="registers of tcgen05.ld, ldmatrix, wgmma, …"))


def _common(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(parser=parser)  # which says what it does not take
    parser.add_argument("-o", "--output", metavar="OUT", default="-", help="file, or - (default)")
    parser.add_argument(
        "--format",
        choices=("svg", "text", "json"),
        help="what to write (default: svg to a file that is called so, else text)",
    )


def _smem(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--type", default="f16", metavar="T", help="f16 (default), e4m3, tf32, …")
    parser.add_argument("--kind", metavar="K", help="the MMA kind, which packs 4- and 6-bit types")
    parser.add_argument("--rows", default="64", metavar="N", help="rows of M or N (default: 64)")
    parser.add_argument("--k", metavar="N", help="elements along K (default: 128 bytes' worth)")
    parser.add_argument("--major", default="K", metavar="K|MN", help="what is contiguous")
    parser.add_argument("--swizzle", metavar="S", help="none, 32, 64, 128 (default) or 128-atom32")
    parser.add_argument("--lbo", metavar="BYTES", help="leading dimension offset")
    parser.add_argument("--sbo", metavar="BYTES", help="stride dimension offset")
    parser.add_argument("--address", metavar="BYTES", help="where the matrix begins (default: 0)")
    parser.add_argument("--descriptor", metavar="0x…", help="all of these, as a descriptor")
    parser.add_argument("--cells", default="pieces", metavar="pieces|elements")
    parser.add_argument("--colour", default="core", metavar="core|row", help="what has a colour")
    _common(parser)


def _tmem(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--what",
        dest="matrix",
        default="d",
        metavar="W",
        help="d (default), a, sfa, sfb or metadata",
    )
    parser.add_argument("--m", metavar="M", help="M of the MMA (default: 128)")
    parser.add_argument("--n", metavar="N", help="N of the MMA (default: 64)")
    parser.add_argument("--k", metavar="K", help="K of A (default: that of one instruction)")
    parser.add_argument("--group", metavar="1|2", help="cta_group (default: 1)")
    parser.add_argument("--ws", action="store_true", help="a weight-stationary MMA")
    parser.add_argument("--sparse", action="store_true", help="a sparse MMA")
    parser.add_argument("--lane", metavar="0|16", help="the lane of the address (default: 0)")
    parser.add_argument("--kind", metavar="K", help="the MMA kind (default: f16, or mxf8f6f4)")
    parser.add_argument("--type", metavar="T", help="the type of A (default: its kind's first)")
    parser.add_argument("--scale-vec", metavar="S", help="1X, 2X, 4X, block16 or block32")
    parser.add_argument("--id", metavar="N", help="scale factor id, or selector (default: 0)")
    _common(parser)


def _fragment(parser: argparse.ArgumentParser) -> None:
    add_name(parser, "name")
    parser.add_argument("--half-split", metavar="N", help="columns between .16x32bx2's halves")
    _common(parser)

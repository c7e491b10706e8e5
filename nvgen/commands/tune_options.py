"""The options of `nvgen tune`.

Layer: nvgen.commands.
"""

from __future__ import annotations

import argparse


def add_options(parser: argparse.ArgumentParser) -> None:
    """Give the parser of `nvgen tune` its arguments."""
    parser.add_argument(
        "file", metavar="FILE.py", help="a Python file with tuning(…), which gives the problem"
    )
    parser.add_argument(
        "settings", nargs="*", default=[], metavar="NAME=VALUE",
        help="arguments of tuning: m=4096 dtype=bf16",
    )  # fmt: skip
    parser.add_argument(
        "--cache", metavar="FILE", help="keep results there, and do not measure them again"
    )
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="processes that compile (default: as many as cores)"
    )
    parser.add_argument(
        "--executor", metavar="MODULE:NAME",
        help="what compiles instead: a callable that gives a concurrent.futures.Executor",
    )  # fmt: skip
    parser.add_argument("--top", type=int, default=10, metavar="N", help="how many to show")
    parser.add_argument("--json", action="store_true", help="report as JSON")

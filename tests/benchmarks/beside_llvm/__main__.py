"""Pack modules with their launches where compilers are; run them where a GPU is.

    python -m tests.benchmarks.beside_llvm build FOLDER PACKED.zip [--target sm_90a] [--jobs 2]
    python -m tests.benchmarks.beside_llvm run PACKED.zip [--limit SECONDS] [--json RESULTS]
    python -m tests.benchmarks.beside_llvm report PACKED.zip RESULTS

A producer is the first word of a module's name, up to `_`.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

from tests.benchmarks.beside_llvm import report


def main() -> int:
    """Do what is asked; 1 where values differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build")
    build.add_argument("folder", type=Path)
    build.add_argument("packed", type=Path)
    build.add_argument("--target", default="sm_90a")
    build.add_argument("--jobs", type=int, default=2)
    run = commands.add_parser("run")
    run.add_argument("packed", type=Path)
    run.add_argument("--limit", type=float, default=20.0, help="seconds of one launch")
    run.add_argument("--json", type=Path)
    tell = commands.add_parser("report")
    tell.add_argument("packed", type=Path)
    tell.add_argument("results", type=Path)
    asked = parser.parse_args()
    if asked.command == "build":
        from tests.benchmarks.beside_llvm.building import build as pack

        for line in pack(asked.folder, asked.packed, asked.target, asked.jobs):
            print(line, flush=True)
        return 0
    if asked.command == "run":
        found = report.run(asked.packed, asked.limit, asked.json)
    else:
        found = report.read(asked.results)
    print("\n".join(report.table(asked.packed, found)))
    return int(any(one["values"].startswith("differs") for one in found))


if __name__ == "__main__":
    warnings.simplefilter("default")
    sys.exit(main())

"""The fuzzer's command line: run for some minutes, or replay what was found."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.fuzz import doors, seeds
from tests.fuzz.campaign import WEIGHTS, Campaign
from tests.fuzz.inputs import Kind, read
from tests.fuzz.worker import outcome_of


def replay(path: Path) -> int:
    """Take the input in a file again; 1 if there is a problem."""
    seeds.command_lines()  # for the files that they name
    found = outcome_of(read(path), doors.take)
    if found.problem is not None:
        print(f"{path}: {found.problem.value}: {found.where}\n{found.message}")
        return 1
    said = "accepted" if found.accepted else "refused"
    print(f"{path}: {said} {', '.join(found.rules)} {found.note} ({found.seconds:.2f} s)")
    return 0


def _tell(line: str) -> None:
    print(line, flush=True)


def main() -> int:
    """1 if something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1e9, help="how long (default: no end)")
    parser.add_argument("--inputs", type=int, default=1 << 60, help="how many at most")
    parser.add_argument("--seed", type=int, default=0, help="of all that is drawn")
    names = ", ".join(kind.name.lower() for kind in WEIGHTS)
    parser.add_argument("--kinds", default="", help=f"of {names}: some of them, with commas")
    parser.add_argument("--folder", type=Path, default=Path("found"), help="for what is found")
    parser.add_argument("--shrink", type=float, default=40.0, help="seconds for each problem")
    parser.add_argument("--replay", type=Path, nargs="+", metavar="FILE", help="take files again")
    options = parser.parse_args()
    if options.replay:
        return max(replay(path) for path in options.replay)
    kinds = tuple(Kind[name.upper()] for name in options.kinds.split(",") if name) or tuple(WEIGHTS)
    campaign = Campaign(
        options.seed, options.folder, kinds, shrink_seconds=options.shrink, tell=_tell
    )
    try:
        campaign.run(minutes=options.minutes, inputs=options.inputs)
    except KeyboardInterrupt:
        print("interrupted")
    print("\n".join(campaign.summary()))
    return 1 if campaign.found else 0


if __name__ == "__main__":
    sys.exit(main())

"""Seed faults, one at a time, and say which tests find them.

A fault is sown in a copy of the project; pytest runs there, first what the fault names, and the
whole gate if nothing of that fails.  Exit status: 0 every fault was found, 1 one was not, 2 bad
usage.

Only what runs on every day is asked (`pytest --daily`), with `--live` all.  `--every-day` runs
nothing: it tells of which faults no finder that is written down runs on every day any more.
"""

from __future__ import annotations

import argparse
import queue
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.mutation import days, results
from tests.mutation.fault import Fault
from tests.mutation.faults import FAULTS
from tests.mutation.results import MOST_FINDERS, Result
from tests.mutation.trees import broken, copy_tree, environment

_WHOLE = "-n auto --ignore=tests/mutation"
"""Its tests read the sources that are broken, and would find any fault by that alone."""

_OUTCOME = re.compile(r"(?:^|\] )(?:FAILED|ERROR) (tests/\S+.*?)(?: - .*)? *$", re.MULTILINE)
_VERBOSE = re.compile(r"^(tests/\S+.*?) (?:FAILED|ERROR) +\[", re.MULTILINE)
_IMPORTS = "import nvgen, nvgen.cli, isel.pipeline, isel.reference, nvgen.driver"


@dataclass(frozen=True, slots=True)
class Options:
    """How to run: what of the gate, and how long at most (seconds for one pytest)."""

    whole: bool
    narrow: bool
    live: bool
    limit: float


def judge(tree: Path, fault: Fault, options: Options) -> Result:
    """Run the tests in a tree with the fault."""
    try:
        with broken(tree, fault):
            result = _search(tree, fault, options)
            if any("::" not in test for test in result.found_by) and not _imports(tree):
                return Result("", (), "does not import: no fault that a test has to find")
        return _without_innocents(tree, result, options)
    except ValueError as error:
        return Result("", (), str(error))


def _without_innocents(tree: Path, result: Result, options: Options) -> Result:
    """The result without tests that fail in the whole tree too: they find nothing."""
    if not result.found_by:
        return result
    known = _run(tree, result.found_by, options, stop=False).found_by
    found = tuple(test for test in result.found_by if test not in known)
    note = "fails without the fault, too" if known else result.note
    return Result(result.selection, found, note)


def _imports(tree: Path) -> bool:
    command = [sys.executable, "-c", _IMPORTS]
    done = subprocess.run(command, cwd=tree, env=environment(tree), capture_output=True, timeout=60)
    return done.returncode == 0


def _search(tree: Path, fault: Fault, options: Options) -> Result:
    stages = [] if options.whole else [(fault.tests, True)]
    if options.whole or not options.narrow:
        stages.append((_WHOLE, False))
    result = Result("", ())
    for selection, stop in stages:
        found = _run(tree, shlex.split(selection), options, stop=stop)
        result = Result(selection, found.found_by, found.note)
        if result.found_by:
            break
    return result


def _run(tree: Path, words: Sequence[str], options: Options, *, stop: bool) -> Result:
    """Run pytest; what it had printed counts even where it ran too long."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-vv", "--tb=no"]
    command += [*words, "--live" if options.live else "--daily", *(["-x"] if stop else [])]
    note = ""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        try:
            status = subprocess.run(
                command,
                cwd=tree,
                env=environment(tree),
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=options.limit,
            ).returncode
            note = "" if status in (0, 1) else f"pytest ended with status {status}"
        except subprocess.TimeoutExpired:
            note = f"cut after {options.limit:.0f} s"
        output.seek(0)
        text = output.read()
    found = dict.fromkeys([*_VERBOSE.findall(text), *_OUTCOME.findall(text)])
    return Result(" ".join(words), tuple(found)[:MOST_FINDERS], note)


@contextmanager
def _trees(count: int, revision: str) -> Iterator[queue.Queue[Path]]:
    """As many copies as there are jobs, each for one fault at a time."""
    with tempfile.TemporaryDirectory(prefix="nvgen-mutation-") as place:
        free: queue.Queue[Path] = queue.Queue()
        for number in range(count):
            tree = Path(place) / str(number)
            copy_tree(tree, revision)
            free.put(tree)
        yield free


def _run_all(faults: Sequence[Fault], args: argparse.Namespace) -> dict[str, Result]:
    options = Options(args.whole, args.narrow, args.live, args.limit)
    found: dict[str, Result] = {}
    with _trees(args.jobs, args.tree) as trees, ThreadPoolExecutor(args.jobs) as pool:

        def one(fault: Fault) -> Result:
            tree = trees.get()
            try:
                return judge(tree, fault, options)
            finally:
                trees.put(tree)

        running = {pool.submit(one, fault): fault for fault in faults}
        for number, future in enumerate(as_completed(running), 1):
            fault, result = running[future], future.result()
            found[fault.name] = result
            told = ", ".join(result.found_by[:2]) or "NOBODY"
            note = f" ({result.note})" if result.note else ""
            print(f"[{number}/{len(faults)}] {fault.name}: {told}{note}", flush=True)
            _write_down(found, args.out)
    return found


def _write_down(found: dict[str, Result], file: Path) -> None:
    """Keep what is known so far: a run takes long, and may be interrupted."""
    known = {**results.read(file), **found}
    results.write({f.name: known[f.name] for f in FAULTS if f.name in known}, file)
    if file == results.FILE:
        results.PAGE.write_text(results.page(FAULTS, known), encoding="utf-8")


def _tell_lost(found: dict[str, Result]) -> int:
    daily = days.of_files({test.partition("::")[0] for r in found.values() for test in r.found_by})
    lost = days.not_every_day(found, daily)
    for name in lost:
        print(f"{name}: not on every day: {', '.join(found[name].found_by) or 'nobody'}")
    print(f"{len(found) - len(lost)} of {len(found)} faults have a finder on every day")
    return int(bool(lost))


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("run.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", default=[], help="a fault's name (repeatable)")
    parser.add_argument("--jobs", type=int, default=1, help="how many copies run at a time")
    parser.add_argument("--tree", default="", help="break and test this revision's files")
    parser.add_argument("--whole", action="store_true", help="run the whole gate for every fault")
    parser.add_argument("--narrow", action="store_true", help="never run the whole gate")
    parser.add_argument("--every-day", action="store_true", help="only look for lost finders")
    parser.add_argument("--live", action="store_true", help="ask tests that take turns, too")
    parser.add_argument("--limit", type=float, default=1800, help="seconds for one run of pytest")
    parser.add_argument("--out", type=Path, default=results.FILE, help="where results are written")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Run faults, and write down what was seen."""
    args = _parse(words)
    unknown = set(args.only) - {fault.name for fault in FAULTS}
    if unknown:
        print(f"no fault is called {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    if args.every_day:
        return _tell_lost(results.read(args.out))
    chosen = [fault for fault in FAULTS if not args.only or fault.name in args.only]
    found = _run_all(chosen, args)
    lost = [name for name, result in found.items() if not result.found_by]
    print(f"{len(found) - len(lost)} of {len(found)} faults were found")
    if lost:
        print("found by nobody: " + ", ".join(lost))
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())

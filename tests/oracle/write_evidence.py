"""Ask ptxas about every recorded list, and write its verdicts: ``make evidence``.

Up to `LISTS` lists with the same targets and PTX versions are asked about together, each pair in a
few runs of ptxas.  Then the statements are looked for that show each rule alone (`rule_witnesses`).
A file is written whole or not at all; files of lists that there are no more are deleted.  What was
broken off goes on with ``--from LIST``, the first list that had not been written.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.oracle import evidence, ptxas, rule_witnesses
from tests.oracle.recorded_lists import Listed, lists
from tests.oracle.verdict_file import Pair, VerdictFile

LISTS = 9
"""Lists that are asked about together: more need a little less time, fewer are lost together."""


def verdicts_of(statements: Sequence[str], pairs: Sequence[Pair]) -> dict[str, int]:
    """Of each statement on which of the pairs it is legal: bit n stands for `pairs[n]`."""
    texts = list(dict.fromkeys(statements))
    found = [0] * len(texts)

    def legal_on(pair: Pair) -> list[bool]:
        return [not messages for messages in ptxas.judge(texts, *pair)]

    first = legal_on(pairs[0])  # alone: it learns what does not parse anywhere
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for n, column in enumerate(itertools.chain([first], pool.map(legal_on, pairs[1:]))):
            for place, legal in enumerate(column):
                found[place] |= legal << n
            if pairs[n] == pairs[-1] or pairs[n].target != pairs[n + 1].target:
                print(f"  {n + 1} of {len(pairs)} pairs, {pairs[n].target} is done", flush=True)
    return dict(zip(texts, found, strict=True))


def write(names: Iterable[str], *, folder: Path = evidence.FOLDER) -> None:
    """Write the files of lists that have the same pairs."""
    chosen = {name: tuple(lists()[name].statements()) for name in names}
    pairs = next(lists()[name].pairs for name in chosen)
    build = ptxas.build_of(ptxas.find_ptxas())
    verdicts = verdicts_of([text for texts in chosen.values() for text in texts], pairs)
    for name, texts in chosen.items():
        file = VerdictFile.of(build, pairs, {text: verdicts[text] for text in texts})
        place = folder / evidence.path_of(name).name
        new = place.with_suffix(".new")
        new.write_bytes(file.to_bytes())
        os.replace(new, place)
    evidence.recorded.cache_clear()


def together(listed: dict[str, Listed]) -> list[list[str]]:
    """The names of lists with the same pairs, in order; what others are made of comes first."""
    same: dict[tuple[Pair, ...], list[str]] = {}
    for name, one in listed.items():
        same.setdefault((*one.pairs, *_alone(name)), []).append(name)
    return [names[n : n + LISTS] for names in same.values() for n in range(0, len(names), LISTS)]


def _alone(name: str) -> tuple[Pair, ...]:
    """Mutants are made of what is legal in other lists: they wait for those."""
    return (Pair("mutants", ""),) if name == "tcgen05_mutants" else ()


def main(arguments: Sequence[str] | None = None) -> int:
    """Write all files, those that are named, or those from one on."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.write_evidence")
    parser.add_argument("names", nargs="*", metavar="LIST", help="lists; all when none is named")
    parser.add_argument("--from", dest="first", metavar="LIST", help="go on with this list")
    known = [*lists(), rule_witnesses.NAME]
    chosen = parser.parse_args(arguments)
    wanted = chosen.names or known
    first = chosen.first or wanted[0]
    unknown = [name for name in (*wanted, first) if name not in known]
    if unknown:
        parser.error(f"no list {', '.join(unknown)}; there are {', '.join(known)}")
    try:
        ptxas.find_ptxas()
    except ptxas.PtxasMissingError as missing:
        print(missing, file=sys.stderr)
        return 1
    evidence.FOLDER.mkdir(exist_ok=True)
    wanted = list(itertools.dropwhile(lambda name: name != first, wanted))
    groups = together({name: lists()[name] for name in wanted if name in lists()})
    for place, names in enumerate(groups):
        print(f"group {place + 1} of {len(groups)}: {', '.join(names)}", flush=True)
        begun = time.perf_counter()
        write(names)
        print(f"  written, after {time.perf_counter() - begun:.0f} s", flush=True)
    if rule_witnesses.NAME in wanted:
        rule_witnesses.write()
    for path in evidence.FOLDER.glob("*.verdicts"):
        if path.stem not in lists():
            path.unlink()
            print(f"{path.name} is deleted: there is no such list")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

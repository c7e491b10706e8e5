"""The patterns' kernels in other words: what is right stays right, however it is spelled.

Each variant says the same with other instructions, or orders more than is needed.
"""

from __future__ import annotations

import itertools
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from intrinsics.findings import Severity
from nvgen.compilation.options import Options
from nvgen.loading import load
from nvgen.machine_code.assembler import find_ptxas
from tests.each import each
from tests.isel.verifier.patterns.pattern_edits import Doubt, Mutant
from tests.isel.verifier.patterns.pattern_missed import FALSE_ALARMS, MISSED
from tests.isel.verifier.patterns.test_canonical_patterns import ALL, CLEAN

MBARRIERS = "done|full|back|empty|ready2?|taken"


def acquiring(text: str) -> str:
    """Waits acquire and arrivals release, in the scope of the cluster."""
    text = text.replace("try_wait.parity.relaxed.cluster", "try_wait.parity.acquire.cluster")
    return text.replace("arrive.relaxed.cluster", "arrive.release.cluster")


def asking(text: str) -> str:
    """mbarrier.test_wait, which knows no limit, instead of try_wait."""
    return text.replace("mbarrier.try_wait", "mbarrier.test_wait").replace(", 10000000;", ";")


def fenced(text: str) -> str:
    """Both fences around everything that orders threads."""
    before, after = "tcgen05.fence::before_thread_sync;", "tcgen05.fence::after_thread_sync;"
    ordering = re.compile(r"^( *)((?:bar\.sync|mbarrier\.arrive|barrier\.cluster)[^\n]*)$", re.M)
    text = ordering.sub(rf"\1{before} \2 {after}", text)
    return re.sub(r"^( *WAIT[^\n]*)$", rf"\1 {after}", text, flags=re.M)


def addressed(text: str) -> str:
    """Addresses of mbarriers in registers."""
    numbers = itertools.count()

    def line(match: re.Match[str]) -> str:
        register = f"%address{next(numbers)}"
        start, name, rest = match.groups()
        label, colon, statement = start.rpartition(": ")
        made = f".reg .b32 {register}; mov.u32 {register}, {name};"
        return f"{made} {label}{colon}{statement}[{register}{rest}"

    return re.sub(rf"^ *([^@\n]*)\[({MBARRIERS})((?:\+8)?\][^\n]*)$", line, text, flags=re.M)


def inverted(text: str) -> str:
    """Blocks are entered by a branch, and passed by falling into another."""
    numbers = itertools.count()

    def branch(match: re.Match[str]) -> str:
        label = f"ENTER{next(numbers)}"
        return f"@{match[1]} bra {label}; bra.uni {match[2]}; {label}:"

    return re.sub(r"@!(%\w+) bra (END\d+);", branch, text)


def counted(text: str) -> str:
    """Barriers of the CTA say how many threads there are."""
    found = re.search(r"\.reqntid (\d+)", text)
    assert found is not None
    return text.replace("bar.sync 0;", f"barrier.sync.aligned 0, {found[1]};")


def copied(text: str) -> str:
    """Addresses of tensor memory pass through other registers."""
    return re.sub(
        r"ld\.shared\.b32 (%d0|%second), (\[\w+\]);",
        r"{ .reg .b32 read; ld.shared.b32 read, \2; or.b32 \1, read, 0; }",
        text,
    )


def other_words(text: str) -> str:
    """All variants that order no more than the kernel does."""
    for variant in (asking, addressed, inverted, counted, copied):
        text = variant(text)
    return text


VARIANTS = (acquiring, asking, fenced, addressed, inverted, counted, copied, other_words)


RIGHT = [name for name in CLEAN if name not in FALSE_ALARMS]


@each("name, variant", list(itertools.product(RIGHT, (acquiring, fenced, other_words))), turns=6)
def test_a_right_kernel_stays_right(name: str, variant: Callable[[str], str]):
    kernel = CLEAN[name]
    program = load("k.ptx", variant(kernel.ptx()), Options(target=kernel.target, level="all"))
    assert {f.rule for f in program.findings if f.severity is not Severity.NOTE} == set()


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: v.__name__)
def test_ptxas_takes_a_variant(variant: Callable[[str], str], tmp_path: Path):
    ptxas = find_ptxas()
    if ptxas is None:
        pytest.skip("no ptxas")
    kernel = CLEAN["mma_ld_composed"].ptx()
    text = variant(kernel)
    assert text != kernel
    source = tmp_path / "k.ptx"
    source.write_text(text)
    command = [str(ptxas), "-arch", "sm_100a", str(source), "-o", str(tmp_path / "k.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


SOME = [mutant for name, mutant in ALL.items() if name not in MISSED][::5]
"""Each fifth of the mutants that are found."""


@each("mutant", SOME, ids=lambda m: m.name, turns=6)
def test_a_mistake_is_found_in_other_words(mutant: Mutant):
    kernel = mutant.broken()
    lines = {kernel.line(tag) for tag in mutant.at}
    program = load("k.ptx", other_words(kernel.ptx()), Options(target=kernel.target, level="all"))
    severities = {f.severity for f in program.findings if f.place.line in lines}
    if mutant.doubt is Doubt.ERROR:
        assert Severity.ERROR in severities
    else:
        assert severities & {Severity.ERROR, Severity.REVIEW, Severity.WARNING}

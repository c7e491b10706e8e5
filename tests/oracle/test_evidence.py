"""The record of ptxas's verdicts is true, and what is not in it is asked of ptxas.

Half a percent of all recorded verdicts is asked anew in each run: a tenth of the statements, on
one of twenty pairs of target and PTX version, chosen by the seed (`pytest --evidence-seed N`).
"""

from __future__ import annotations

import functools
import operator
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.each import each
from tests.oracle import evidence, ptxas, tcgen05_product, write_evidence
from tests.oracle.agreement import Reading, agreed, compare
from tests.oracle.evidence import (
    DAILY_VARIABLE,
    LEGAL,
    LIVE_VARIABLE,
    REFUSED,
    SEED_VARIABLE,
    UNKNOWN,
    Answers,
    OutdatedEvidenceError,
    check_same,
    recorded,
)
from tests.oracle.recorded_lists import lists, product_list
from tests.oracle.verdict_file import DamagedFileError, Pair, VerdictFile, key_of

SHARE, PAIR_SHARE = 10, 20
"""One of so many statements, on one of so many pairs, is asked in a run."""

PAIR = Pair("sm_100a", "9.5")
OTHER = Pair("sm_90a", "9.5")
GOOD = "add.u32 %r1, %r2, %r3;"
BAD = "add.u32 %r1, %f2, %r3;"
TENSOR = "tcgen05.shift.cta_group::1.down [%r1];"


@pytest.fixture(scope="module")
def newest() -> str:
    """The ptxas that is here."""
    return ptxas.required_ptxas()


# --- the record as a whole -----------------------------------------------------------------------


def chosen_pairs(seed: int) -> list[Pair]:
    """A twentieth of all pairs."""
    every = sorted({pair for listed in lists().values() for pair in listed.pairs})
    return random.Random(seed).sample(every, -(-len(every) // PAIR_SHARE))


@functools.cache
def statements(name: str) -> tuple[str, ...]:
    """The statements of a list, which take longer to write than to be looked up."""
    return tuple(lists()[name].statements())


def chosen_statements(name: str, seed: int) -> list[str]:
    """A tenth of the statements of a list: the same on all pairs, as ptxas parses each anew."""
    texts = statements(name)
    return random.Random(f"{name} {seed}").sample(texts, -(-len(texts) // SHARE))


@pytest.mark.usefixtures("newest")
def test_ptxas_says_what_is_recorded() -> None:
    """About a sample; all that has a record is asked about with --live."""
    if evidence.options().daily:
        pytest.skip("the sample is another one each day")
    seed = evidence.options().seed
    asked: dict[Pair, list[Answers]] = {pair: [] for pair in chosen_pairs(seed)}
    for name, listed in lists().items():
        pairs = [pair for pair in asked if pair in listed.pairs and recorded(name)]
        answers = Answers(chosen_statements(name, seed), name) if pairs else None
        for pair in pairs:
            asked[pair].append(answers)
    for pair, answers in asked.items():  # type: ignore[assignment]
        if answers:
            check_sample(answers, pair)


def check_sample(answers: list[Answers], pair: Pair) -> None:
    """Ask ptxas about all statements of some lists at once, those it should take by themselves.

    What is refused late is found by dividing a module again and again: a module of legal statements
    needs none of that, and the others are soon alone.
    """
    recorded = np.concatenate([one.recorded(pair) for one in answers])
    texts = [text for one in answers for text in one.statements]
    said = recorded.copy()
    for verdict in (LEGAL, REFUSED):
        places = np.flatnonzero(recorded == verdict)
        complaints = ptxas.judge([texts[place] for place in places], *pair)
        said[places] = [REFUSED if bad else LEGAL for bad in complaints]
    ends = np.cumsum([len(one.statements) for one in answers])
    anew = np.split(said, ends[:-1])
    check_same(
        [(one.statements, one.recorded(pair), now) for one, now in zip(answers, anew, strict=True)],
        pair,
    )


@each("name", lists())
def test_every_list_is_recorded(name: str) -> None:
    """A list that has changed is asked of ptxas in part, and that takes time: `make evidence`."""
    listed = lists()[name]
    file = recorded(name)
    if file is None:
        pytest.skip(f"{name} has no record, ptxas is asked instead: `make evidence` writes it")
    assert file.pairs == listed.pairs
    keys = {key_of(text) for text in statements(name)}
    missing, left = len(keys - set(file.verdicts)), len(set(file.verdicts) - keys)
    assert (missing, left) == (0, 0), "statements without a record, and records of none"


def test_a_record_was_written_by_a_ptxas_that_the_oracle_knows() -> None:
    builds = {file.ptxas for name in lists() if (file := recorded(name))}
    assert all(
        tuple(map(int, build.removeprefix("V").split(".")))[:2] >= ptxas.MINIMUM for build in builds
    )


# --- how it is used ------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of records of its own, and a run that is not live."""
    monkeypatch.setattr(evidence, "FOLDER", tmp_path)
    monkeypatch.delenv(LIVE_VARIABLE, raising=False)
    monkeypatch.delenv(DAILY_VARIABLE, raising=False)
    monkeypatch.setenv(SEED_VARIABLE, "7")
    recorded.cache_clear()
    yield tmp_path
    recorded.cache_clear()


def record(folder: Path, verdicts: dict[str, int], pairs: tuple[Pair, ...] = (PAIR, OTHER)) -> None:
    data = VerdictFile.of("V13.5.0", pairs, verdicts).to_bytes()
    (folder / "some.verdicts").write_bytes(data)


def no_ptxas(*_: object) -> list[list[str]]:
    raise ptxas.PtxasMissingError("there is none")


def test_a_recorded_verdict_is_not_asked(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ptxas, "judge", no_ptxas)
    record(here, {GOOD: 0b11, BAD: 0b00, TENSOR: 0b01})
    answers = Answers([BAD, GOOD, TENSOR], "some")
    assert answers.verdicts(PAIR).tolist() == [REFUSED, LEGAL, LEGAL]
    assert answers.verdicts(OTHER).tolist() == [REFUSED, LEGAL, REFUSED]


@pytest.mark.usefixtures("newest")
def test_what_has_no_record_is_asked(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement that is new or has changed, and a pair; nothing else is."""
    asked: list[str] = []
    judge = ptxas.judge

    def listening(statements: list[str], target: str, ptx: str) -> list[list[str]]:
        asked.extend(statements)
        return judge(statements, target, ptx)

    monkeypatch.setattr(ptxas, "judge", listening)
    record(here, {GOOD: 0b11})
    changed = GOOD.replace("%r3", "%r4")
    answers = Answers([GOOD, BAD, changed], "some")
    assert answers.verdicts(PAIR).tolist() == [LEGAL, REFUSED, LEGAL]
    assert asked == [BAD, changed]
    asked.clear()
    assert answers.verdicts(Pair("sm_80", "7.0")).tolist() == [LEGAL, REFUSED, LEGAL]
    assert asked == [GOOD, BAD, changed]


def test_without_ptxas_what_has_no_record_is_left_open(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest is compared all the same, and the test is skipped with the reason."""
    monkeypatch.setattr(ptxas, "judge", no_ptxas)
    record(here, {GOOD: 0b11})
    read = Reading.of([GOOD, TENSOR])
    answers = Answers(read.statements, "some")
    assert answers.verdicts(PAIR).tolist() == [LEGAL, UNKNOWN]
    with pytest.raises(pytest.skip.Exception, match="2 verdicts are not recorded"):
        agreed(read, answers, [PAIR, OTHER])
    record(here, {GOOD: 0b10})
    recorded.cache_clear()
    with pytest.raises(AssertionError, match=r"ptxas recorded as refused \[100a; 9.5\]"):
        agreed(read, Answers(read.statements, "some"), [PAIR, OTHER])


@pytest.mark.usefixtures("newest")
@pytest.mark.parametrize("flipped", [GOOD, BAD])
def test_a_wrong_bit_is_found_by_the_sample(here: Path, flipped: str) -> None:
    verdicts = {GOOD: 0b11, BAD: 0b00}
    record(here, verdicts)
    check_sample([Answers([GOOD, BAD], "some")], PAIR)
    record(here, verdicts | {flipped: verdicts[flipped] ^ 0b01})
    recorded.cache_clear()
    check_sample([Answers([GOOD, BAD], "some")], OTHER)
    with pytest.raises(OutdatedEvidenceError) as said:
        check_sample([Answers([GOOD, BAD], "some")], PAIR)
    assert "make evidence" in str(said.value)
    assert "seed 7" in str(said.value)
    assert flipped in str(said.value)


@pytest.mark.usefixtures("newest")
def test_a_live_run_asks_about_everything(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIVE_VARIABLE, "1")
    record(here, {GOOD: 0b11, BAD: 0b01})
    answers = Answers([GOOD, BAD], "some")
    assert answers.cells([PAIR, OTHER]).all()
    assert answers.verdicts(OTHER).tolist() == [LEGAL, REFUSED]
    with pytest.raises(OutdatedEvidenceError, match="recorded as legal: add"):
        answers.verdicts(PAIR)
    monkeypatch.setattr(ptxas, "judge", no_ptxas)
    with pytest.raises(ptxas.PtxasMissingError):
        Answers([GOOD], "some").verdicts(OTHER)


@pytest.mark.usefixtures("newest")
def test_a_seed_chooses_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    name = next(iter(lists()))
    monkeypatch.setenv(SEED_VARIABLE, "3")
    assert evidence.options().seed == 3
    assert chosen_pairs(3) == chosen_pairs(3) != chosen_pairs(4)
    assert chosen_statements(name, 3) == chosen_statements(name, 3) != chosen_statements(name, 4)
    monkeypatch.delenv(SEED_VARIABLE)
    assert evidence.options().seed > 700_000, "the number of the day"


# --- what nvgen is asked for ---------------------------------------------------------------------

VERSIONS = [Pair("sm_100a", version) for version in ptxas.PTX]
ALIKE = [f"add.u32 %r1, %r2, {n};" for n in range(evidence.DAILY)]
"""As many statements as are asked about every day, where ptxas says of them what it says of one."""


def with_alike(verdicts: dict[str, int]) -> dict[str, int]:
    """Before each statement so many of the same verdicts that it has to wait for its turn."""
    found: dict[str, int] = {}
    for statement, bits in verdicts.items():
        found |= {f"{{{statement} {one}}}": bits for one in ALIKE} | {statement: bits}
    return found


def test_nvgen_is_asked_on_both_sides_of_every_change_and_now_and_then_once_more(
    here: Path,
) -> None:
    verdicts = with_alike({GOOD: 0b111111100, BAD: 0, TENSOR: 0b111011111})
    record(here, verdicts, tuple(VERSIONS))
    more = np.zeros(3, np.int64)
    for seed in range(10 * evidence.DAYS):
        evidence.os.environ[SEED_VARIABLE] = str(seed)  # type: ignore[attr-defined]
        cells = Answers([*verdicts], "some").cells(VERSIONS)[evidence.DAILY :: evidence.DAILY + 1]
        assert cells[0, 1:3].all()
        assert cells[2, 4:7].all()
        more += cells.sum(axis=1) - (2, 0, 3)
    assert more[1] == 10, "each statement on one day of a few"
    assert (more > 0).all()
    assert (more <= 10).all(), "or a verdict that is asked for anyway"


def test_what_is_asked_every_day_is_both_sides_of_a_change_and_a_few_of_what_is_alike(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdicts = with_alike({GOOD: 0b111111100, BAD: 0})
    record(here, verdicts, tuple(VERSIONS))
    monkeypatch.setenv(DAILY_VARIABLE, "1")
    cells = Answers([*verdicts], "some").cells(VERSIONS)
    first, bad = evidence.DAILY, evidence.DAILY + 1
    assert np.flatnonzero(cells[first]).tolist() == [1, 2]
    assert not cells[bad + first].any()
    newest = len(VERSIONS) - 1
    assert np.argwhere(cells[bad:]).tolist() == [[n, newest] for n in range(first)], "a few"


@pytest.mark.parametrize("target", ["sm_107a", evidence.WHOLE])
def test_that_a_target_is_new_is_no_change_of_a_statement(
    here: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    """Of statements as old as the target a few are asked about every day, or all on one target."""
    first = ptxas.PTX.index(ptxas.FIRST_PTX[target])
    pairs = [Pair(target, version) for version in ptxas.PTX]
    old, new = (0b111111111 << first + late & 0b111111111 for late in (0, 1))
    verdicts = with_alike({GOOD: old, TENSOR: new})
    record(here, verdicts, tuple(pairs))
    monkeypatch.setenv(DAILY_VARIABLE, "1")
    cells = Answers([*verdicts], "some").cells(pairs)
    every, some = evidence.DAILY + 1, evidence.DAILY
    assert cells[:every, first].sum() == (every if target == evidence.WHOLE else some)
    assert cells[every:, first : first + 2].all()


def test_the_first_versions_of_targets_are_those_of_the_record() -> None:
    record = recorded("legality.mov")
    assert record is not None
    taken = functools.reduce(operator.or_, record.verdicts.values())
    for target in ptxas.TARGETS:
        legal = [p.ptx for n, p in enumerate(record.pairs) if p.target == target and taken >> n & 1]
        assert legal[0] == ptxas.FIRST_PTX.get(target, ptxas.PTX[0]), target


def test_nvgen_is_asked_about_all_of_what_has_no_record(here: Path) -> None:
    record(here, {GOOD: 0b11})
    good, bad = Answers([GOOD, BAD], "some").cells([PAIR, OTHER]).sum(axis=1)
    assert 1 <= good <= 2
    assert bad == 2


@pytest.mark.parametrize("bits", [0b00, 0b10])
def test_a_verdict_of_nvgens_that_differs_is_found(here: Path, bits: int) -> None:
    """Where ptxas would refuse what nvgen accepts: at a change each day, else on one of a few."""
    verdicts = dict.fromkeys(ALIKE, bits) | {GOOD: bits}
    record(here, verdicts)
    read = Reading.of(verdicts)
    days = []
    for seed in range(evidence.DAYS):
        evidence.os.environ[SEED_VARIABLE] = str(seed)  # type: ignore[attr-defined]
        tally = compare(read, Answers(read.statements, "some"), [PAIR, OTHER])
        days.append({(one.statement, one.ours) for one in tally.differences})
    assert all(
        {(one, ()) for one in ALIKE} <= day <= {(one, ()) for one in verdicts} for day in days
    )
    assert sum((GOOD, ()) in day for day in days) == (evidence.DAYS if bits else 1)


# --- the files -----------------------------------------------------------------------------------


def test_a_file_is_read_as_it_was_written(here: Path) -> None:
    """The order of statements does not matter."""
    verdicts = {f"add.u32 %r1, %r2, {n};": n % 4 for n in range(100)}
    file = VerdictFile.of("V13.5.37", (PAIR, OTHER), verdicts)
    data = file.to_bytes()
    assert VerdictFile.from_bytes(data) == file
    turned = dict(reversed(verdicts.items()))
    assert VerdictFile.of("V13.5.37", (PAIR, OTHER), turned).to_bytes() == data


@pytest.mark.parametrize("data", [b"", b"{}\n", b"\0", b'{"ptxas":"V1","pairs":["a"],"groups":[]}'])
def test_what_is_no_file_of_verdicts_is_said(data: bytes) -> None:
    with pytest.raises(DamagedFileError):
        VerdictFile.from_bytes(data)


def test_a_file_that_is_cut_off_is_said() -> None:
    data = VerdictFile.of("V13.5.37", (PAIR,), {GOOD: 1}).to_bytes()
    with pytest.raises(DamagedFileError, match="number of keys"):
        VerdictFile.from_bytes(data[:-1])


def test_two_statements_with_one_key_are_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.oracle.verdict_file.key_of", lambda _: b"12345")
    with pytest.raises(DamagedFileError, match="same key"):
        VerdictFile.of("V13.5.37", (PAIR,), {GOOD: 1, BAD: 0})


def test_lists_are_written_in_groups_and_mutants_behind_what_they_are_made_of() -> None:
    groups = write_evidence.together(lists())
    assert max(map(len, groups)) <= write_evidence.LISTS
    order = [name for names in groups for name in names]
    assert sorted(order) == sorted(lists())
    made_of = [order.index(product_list(family)) for family in tcgen05_product.PRODUCTS]
    assert max(made_of) < order.index("tcgen05_mutants")


@pytest.mark.usefixtures("newest")
def test_writing_goes_on_with_a_list(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    monkeypatch.setattr(write_evidence, "write", written.extend)
    monkeypatch.setattr(write_evidence.rule_witnesses, "write", lambda: written.append("rules"))  # type: ignore[attr-defined]
    assert write_evidence.main(["--from", "wgmma_elsewhere"]) == 0
    assert written == [
        "wgmma_elsewhere",
        "version_steps",
        "rules_of_mma",
        "rules_of_kinds",
        "rules",
    ]


@pytest.mark.usefixtures("newest")
def test_what_is_written_is_what_ptxas_says(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "legality.matrix_transpositions"
    listed = lists()[name]._replace(pairs=(PAIR, OTHER))
    monkeypatch.setattr(write_evidence, "lists", lambda: {name: listed})
    write_evidence.write([name], folder=here)
    file = recorded(name)
    assert file is not None
    assert file.ptxas == ptxas.build_of(ptxas.find_ptxas())
    texts = list(lists()[name].statements())
    for pair in (PAIR, OTHER):
        legal = [not messages for messages in ptxas.judge(texts, *pair)]
        assert Answers(texts, name).recorded(pair).tolist() == legal

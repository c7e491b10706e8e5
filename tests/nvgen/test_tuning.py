"""Tuning: what is measured, what is kept, who compiles, and what happens when something fails."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context

import pytest

from intrinsics.findings import DriverError, Finding, InputError, Severity
from nvgen import Kernel, KernelBuilder
from nvgen.tuning import Candidate, Results, Trial, tune


@dataclass(frozen=True)
class Blocks:
    threads: int
    unroll: int = 1


@dataclass
class Filling:
    """A kernel that stores one word for each thread; a "measurement" is a number of the config."""

    name: str = "filling"
    target: str = "sm_90"
    opt: int = 0
    flops: float = 0.0
    sizes: Sequence[int] = (128, 32, 64)
    asked: list[int] = field(default_factory=list)

    def configs(self) -> list[Blocks]:
        return [Blocks(size) for size in self.sizes]

    def build(self, config: Blocks) -> Kernel:
        b = KernelBuilder("fill", block=config.threads)
        b.pointer("d", output=True)
        d = b.begin()["d"]
        b.store(b.tid_x, d + b.tid_x * 4, align=4)
        return b.finish()

    def measure(self, candidate: Candidate[Blocks]) -> float:
        assert candidate.code.cubin[:4] == b"\x7fELF"
        assert candidate.code.block == (candidate.config.threads, 1, 1)
        self.asked.append(candidate.config.threads)
        return candidate.config.threads / 10


def times(trials: list[Trial]) -> list[tuple[int | float | str | bool, float | None]]:
    return [(trial.config["threads"], trial.milliseconds) for trial in trials]


def test_the_fastest_comes_first() -> None:
    trials = tune(Filling())
    assert times(trials) == [(32, 3.2), (64, 6.4), (128, 12.8)]
    assert all(trial.registers > 0 and trial.spilled == 0 for trial in trials)


class Lazy(Executor):
    """An executor that is neither of Python's: it works when it is asked for a result."""

    def __init__(self) -> None:
        self.submitted = 0

    def submit(self, fn, /, *args, **kwargs):
        self.submitted += 1
        future: Future[object] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@pytest.mark.parametrize("kind", ["threads", "processes", "another"])
def test_any_executor_compiles(kind: str) -> None:
    executors = {
        "threads": lambda: ThreadPoolExecutor(2),
        "processes": lambda: ProcessPoolExecutor(1, mp_context=get_context("spawn")),
        "another": Lazy,
    }
    with executors[kind]() as executor:
        trials = tune(Filling(sizes=(32, 64)), executor=executor)
        assert times(trials) == [(32, 3.2), (64, 6.4)]
        assert not isinstance(executor, Lazy) or executor.submitted == 2


def test_results_are_kept_and_not_measured_again(tmp_path) -> None:
    path = tmp_path / "results.jsonl"
    first = Filling(sizes=(32, 64))
    tune(first, results=Results(path))
    again = Filling(sizes=(32, 64, 96))
    trials = tune(again, results=Results(path))
    assert sorted(first.asked) == [32, 64]
    assert again.asked == [96]
    assert times(trials) == [(32, 3.2), (64, 6.4), (96, 9.6)]
    assert len(path.read_text().splitlines()) == 3


def test_results_of_another_gpu_do_not_count(tmp_path) -> None:
    path = tmp_path / "results.jsonl"
    tune(Filling(sizes=(32,)), results=Results(path), environment="sm_90")
    other = Filling(sizes=(32,))
    tune(other, results=Results(path), environment="sm_100")
    assert other.asked == [32]


def test_what_was_measured_before_an_interruption_is_kept(tmp_path) -> None:
    class Interrupted(Filling):
        def measure(self, candidate: Candidate[Blocks]) -> float:
            if len(self.asked) == 2:
                raise KeyboardInterrupt
            return super().measure(candidate)

    path = tmp_path / "results.jsonl"
    stopped = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        tune(stopped, results=Results(path))
    resumed = Filling()
    assert len(tune(resumed, results=Results(path))) == 3
    assert sorted(stopped.asked + resumed.asked) == [32, 64, 128]


def test_a_line_that_was_cut_off_is_measured_again(tmp_path) -> None:
    path = tmp_path / "results.jsonl"
    tune(Filling(sizes=(32, 64)), results=Results(path))
    path.write_text(path.read_text()[:-20])
    again = Filling(sizes=(32, 64))
    tune(again, results=Results(path))
    assert len(again.asked) == 1
    third = Filling(sizes=(32, 64))
    tune(third, results=Results(path))
    assert third.asked == []


def test_a_file_of_something_else_is_left_alone(tmp_path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text("threads,ms\n32,1.0\n")
    with pytest.raises(InputError) as caught:
        Results(path)
    assert caught.value.findings[0].rule == "tune/cache"
    assert path.read_text() == "threads,ms\n32,1.0\n"


@pytest.mark.parametrize(
    "spoilt",
    [
        {"key": {"a": 1}},
        {"problem": None},
        {"config": [64]},
        {"milliseconds": "fast"},
        {"registers": 1.5},
        {"failure": 7},
    ],
)
def test_a_trial_of_other_types_is_no_trial(tmp_path, spoilt: dict[str, object]) -> None:
    path = tmp_path / "results.jsonl"
    trial = {"problem": "filling", "key": "0", "config": {"threads": 64}, **spoilt}
    path.write_text(json.dumps(trial) + "\n")
    with pytest.raises(InputError) as caught:
        Results(path)
    assert caught.value.findings[0].rule == "tune/cache"
    assert caught.value.findings[0].place.line == 1


def test_what_fails_is_told_at_the_end() -> None:
    class Failing(Filling):
        def build(self, config: Blocks) -> Kernel:
            if config.threads == 32:
                return KernelBuilder("fill", block=2048).finish()
            return super().build(config)

        def measure(self, candidate: Candidate[Blocks]) -> float:
            if candidate.config.threads == 64:
                raise DriverError([Finding("run/driver", Severity.ERROR, "the kernel failed")])
            return super().measure(candidate)

    trials = tune(Failing())
    assert times(trials)[0] == (128, 12.8)
    failures = {trial.config["threads"]: trial.failure for trial in trials[1:]}
    assert failures[64] == "run/driver: the kernel failed"
    assert failures[32].startswith("builder/value: no block of threads")


def test_what_the_target_does_not_have_is_a_failure() -> None:
    class TooMuch(Filling):
        target = "sm_90"

        def build(self, config: Blocks) -> Kernel:
            b = KernelBuilder("fill", block=config.threads)
            b.begin()
            b.wgmma_fence()  # of sm_90a only
            return b.finish()

    (trial,) = tune(TooMuch(sizes=(128,)))
    assert trial.milliseconds is None
    assert trial.failure.startswith("select/target: wgmma runs on sm_90a only")


def test_no_gpu_ends_the_tuning() -> None:
    class Nowhere(Filling):
        def measure(self, candidate: Candidate[Blocks]) -> float:
            raise InputError([Finding("run/device", Severity.ERROR, "no GPU here")])

    with pytest.raises(InputError):
        tune(Nowhere())


def test_nothing_to_try() -> None:
    with pytest.raises(InputError) as caught:
        tune(Filling(sizes=()))
    assert caught.value.findings[0].rule == "tune/nothing"


def test_a_trial_is_a_line_of_json(tmp_path) -> None:
    path = tmp_path / "results.jsonl"
    tune(Filling(sizes=(32,)), results=Results(path))
    line = json.loads(path.read_text())
    assert line["problem"] == "filling"
    assert line["config"] == {"threads": 32, "unroll": 1}
    assert line["milliseconds"] == 3.2

"""What holds for all tests: properties are repeatable, and no test is against the clock.

Tests marked `gpu` run their kernels on the device under test: `--device cuda` makes that a GPU.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Generator

import pytest
from hypothesis import settings

from intrinsics.targets import TARGETS
from nvgen.compilation import judgement
from nvgen.testing.devices import obstacle
from tests import turns, workers
from tests.oracle.evidence import DAILY_VARIABLE, LIVE_VARIABLE, SEED_VARIABLE
from tests.oracle.gpu import DEVICE_VARIABLE

# each core has a worker: threads of numpy's BLAS beside them only wait for each other
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile("nvgen", derandomize=True, deadline=None, database=None)
settings.load_profile("nvgen")

GPU_TARGET = TARGETS["sm_90a"]
"""What the tests that are marked `gpu` are compiled for."""

LONG = (
    "oracle/test_ptx_text.py",
    "isel/verifier/function/test_function_rules.py",
    "oracle/test_legality.py",
    "samples/test_samples.py",
    "sim/tcgen05/test_mma_pairs.py",
    "isel/verifier/patterns/test_canonical_patterns.py",
    "nvgen/testing/test_launches_and_options.py",
    "nvgen/testing/test_items.py",
    "oracle/test_evidence.py",
    "nvgen/llvm/test_llvm_process.py",
    "isel/verifier/patterns/test_patterns_run.py",
    "nvgen/multiplies/test_portable_gemm.py",
    "samples/attention/test_attention_sm90.py",
    "samples/test_tool_samples.py",
)
"""Files of 6 CPU seconds and more, which come first: a worker has a whole file at a time."""


class _AllButDeadlocks(frozenset[str]):
    """For tests marked `wrong_kernel` errors beyond the level are warnings, but for deadlocks."""

    def __contains__(self, word: object) -> bool:
        return word != "deadlock"


_DOUBTED = judgement.DOUBTED


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Errors stop a compilation, as they do for users, but for tests whose kernels are wrong."""
    is_wrong = item.get_closest_marker("wrong_kernel") is not None
    judgement.DOUBTED = _AllButDeadlocks() if is_wrong else _DOUBTED


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--case", metavar="TEXT", default="", help="of tests with `each`: only cases with TEXT"
    )
    turns.add_options(parser)
    group = parser.getgroup("evidence", "what other tools say of nvgen's output")
    group.addoption(
        "--evidence-seed",
        type=int,
        metavar="N",
        help="where chance begins that picks the sample; else at the day",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu: its kernels run on a GPU as they do on the simulator")
    config.addinivalue_line(
        "markers", "wrong_kernel: its kernels are wrong on purpose, or part of one: errors warn"
    )
    turns.configure(config)
    os.environ[DEVICE_VARIABLE] = config.option.nvgen_device or "sim"
    if config.option.live:
        os.environ[LIVE_VARIABLE] = "1"
    if config.option.daily:
        os.environ[DAILY_VARIABLE] = "1"
    seed = config.option.evidence_seed
    os.environ[SEED_VARIABLE] = str(config.option.day if seed is None else seed)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if isinstance(collector, pytest.Directory):
        workers.rotate(collector.config, report)
    return report


def pytest_collection_finish() -> None:
    """Let the collector pass over what stays to the end: modules, tables, the tests themselves."""
    gc.freeze()
    gc.set_threshold(200_000, 20, 50)


def pytest_report_header(config: pytest.Config) -> str:
    if config.option.live:
        return "turns: all"
    return "turns: none" if config.option.daily else f"turns: of day {config.option.day} (--day)"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out whose turn it is not; skip what cannot run on the GPU that is here, and say why."""
    turns.leave_out(config, items)
    if os.environ[DEVICE_VARIABLE] != "sim":
        _leave_out_schedules(config, items)
    workers.put_in_order(items, LONG)
    why = obstacle(os.environ[DEVICE_VARIABLE], GPU_TARGET)
    if not why:
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason=why))


def _leave_out_schedules(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a `gpu` test under several schedules keep the first: a GPU has none, and runs it once."""
    kept: dict[object, pytest.Item] = {}
    for item in items:
        kept.setdefault(_but_for_schedule(item), item)
    turns.keep(config, items, list(kept.values()))


def _but_for_schedule(item: pytest.Item) -> object:
    """What tells a test from others on a GPU."""
    call = getattr(item, "callspec", None)
    if call is None or "schedule" not in call.params or not item.get_closest_marker("gpu"):
        return item.nodeid
    others = {name: value for name, value in call.params.items() if name != "schedule"}
    return item.nodeid.partition("[")[0], repr(others)

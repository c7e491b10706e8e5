"""The pytest plugin: options, items and reports of tests of kernels.

Layer: nvgen.testing.  pytest loads this in every project where nvgen is installed, so neither numpy
nor LLVM is imported here, and tests without `kernel_test` see nothing of it.
"""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Callable, Generator

import pytest

from intrinsics.findings import InputError
from isel.wait_bounds import MOST_SECONDS
from nvgen.sim.async_ops.schedule import parse_schedule
from nvgen.testing.devices import DEVICES
from nvgen.testing.marker import MARK, asked_of
from nvgen.testing.report import failure_text, launch_of
from nvgen.testing.schedules import SEEDS
from nvgen.testing.variants import Options, variants

# ---- options -------------------------------------------------------------------------------------

_GROUP = "nvgen"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options; their values are plain, for they travel to the workers of xdist."""
    group = parser.getgroup(_GROUP, "nvgen: tests of kernels")
    group.addoption(
        "--schedule",
        dest="nvgen_schedule",
        type=_schedule,
        metavar="early|late|random:SEED|delay:N,…",
        help="run tests of kernels under this schedule only",
    )
    group.addoption(
        "--random-schedules",
        dest="nvgen_random_schedules",
        type=_count,
        metavar="N",
        help=f"random schedules of each test (default: what the test says, else {SEEDS})",
    )
    group.addoption(
        "--schedule-seed",
        dest="nvgen_schedule_seed",
        type=_count,
        metavar="S",
        help="take other random schedules (default: 0)",
    )
    group.addoption(
        "--nvgen-bound-waits",
        dest="nvgen_bound_waits",
        type=_seconds,
        metavar="SECONDS",
        help="on a GPU, end a kernel whose wait for an mbarrier takes longer, and say which",
    )
    _add_device(parser, "--nvgen-device")


def _add_device(parser: pytest.Parser, name: str) -> None:
    parser.getgroup(_GROUP).addoption(
        name,
        dest="nvgen_device",
        type=_device,
        metavar="sim|cuda",
        help="where tests of kernels run them (default: sim)",
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(parser: pytest.Parser) -> Generator[None, None, None]:
    """Add `--device` when all plugins and conftest files have had their say: others use it too."""
    yield
    if _is_free(parser, "--device"):
        _add_device(parser, "--device")


def _is_free(parser: pytest.Parser, name: str) -> bool:
    """Whether no option is called `name`."""
    word = f"{name}={DEVICES[0]}"
    try:
        return word in parser.parse_known_and_unknown_args([word])[1]
    except pytest.UsageError:  # there is one, and it takes other values
        return False


def _schedule(text: str) -> str:
    try:
        return str(parse_schedule(text))
    except InputError:
        hint = _nearest(text, ("early", "late"))
    if text.startswith("random"):
        hint = "a seed belongs to it, such as random:17; --random-schedules N runs several"
    raise _bad(f"unknown schedule '{text}'", "early, late or random:SEED", hint)


def _device(text: str) -> str:
    if text in DEVICES:
        return text
    raise _bad(f"no device '{text}'", " or ".join(DEVICES), _nearest(text, DEVICES))


def _count(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    raise _bad(f"'{text}' is no such number", "0 to 999999999")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if 0 < seconds <= MOST_SECONDS:
        return seconds
    raise _bad(f"'{text}' is no number of seconds", f"more than 0 and at most {MOST_SECONDS:g}")


def _nearest(text: str, names: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(text, names, n=1, cutoff=0.5)
    return f"did you mean {near[0]}?" if near else ""


def _bad(message: str, expected: str, hint: str = "") -> argparse.ArgumentTypeError:
    return argparse.ArgumentTypeError(
        "; ".join(filter(None, [message, f"expected {expected}", hint]))
    )


def _options(config: pytest.Config) -> Options:
    option = config.option
    return Options(
        option.nvgen_device or "sim",
        option.nvgen_schedule or "",
        option.nvgen_random_schedules,
        option.nvgen_schedule_seed or 0,
        option.nvgen_bound_waits,
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark, and refuse options that do not go together."""
    config.addinivalue_line("markers", f"{MARK}: a test of kernels, by nvgen.testing.kernel_test")
    options = _options(config)
    if options.device != "sim" and options.schedule:
        raise pytest.UsageError(
            f"--schedule {options.schedule} is the simulator's: a GPU has its own schedule; "
            f"leave out --schedule, or take --nvgen-device sim"
        )


# ---- items ---------------------------------------------------------------------------------------


@pytest.hookimpl(trylast=True)  # what the test's own parametrize says comes first in its ids
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make an item of each variant of a test of kernels."""
    asked = asked_of(metafunc.definition)
    if asked is None:
        return
    if "launch" not in metafunc.fixturenames:
        pytest.fail(
            f"{metafunc.definition.nodeid} is a kernel_test but does not take `launch`: "
            f"def {metafunc.function.__name__}(launch, …)",
            pytrace=False,
        )
    found = [*variants(asked, _options(metafunc.config), metafunc.function.__qualname__)]
    metafunc.parametrize(
        "launch",
        [
            pytest.param(
                one.launch,
                id=one.id,
                marks=[pytest.mark.skip(reason=one.skip)] if one.skip else [],
            )
            for one in found
        ],
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin anew, also where a plugin runs an item twice."""
    launch = launch_of(item)
    if launch is not None:
        launch.begin()


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Fail a test that launches nothing: it would pass under every schedule."""
    result = yield
    launch = launch_of(pyfuncitem)
    if launch is not None and not launch.attempts:
        pytest.fail("the test launched no kernel: call launch(…)", pytrace=False)
    return result


# ---- reports -------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say how to replay what failed."""
    report = yield
    launch = launch_of(item)
    if launch is None or call.excinfo is None or not report.failed:
        return report
    text = failure_text(item, launch, call.excinfo.value)
    add: Callable[[str, str], None] | None = getattr(report.longrepr, "addsection", None)
    if add is not None:
        add("nvgen", text)
    else:
        report.sections.append(("nvgen", text))
    return report

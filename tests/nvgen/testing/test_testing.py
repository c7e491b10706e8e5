"""The pytest plugin, as a project that tests kernels sees it."""

from __future__ import annotations

import importlib
import pkgutil
import re
import shlex
import textwrap
from pathlib import Path

import llvmlite.ir  # noqa: F401 - stays loaded when an inner session's modules go

# pytester takes modules that its runs import out again, and numpy can be loaded only once.
import ml_dtypes  # noqa: F401
import numpy as np  # noqa: F401
import pytest

import asmprinter
import intrinsics
import isel
import nvgen
import nvgen.testing
from nvgen.testing.schedules import seeds
from tests.nvgen.programs import ADD, WAITS

pytest_plugins = ["pytester"]

SCRIPTS = ("nvgen.__main__", "nvgen.llvm.child", "nvgen.python_child")
"""Modules that are run, not imported."""


@pytest.fixture(scope="module", autouse=True)
def all_modules() -> None:
    """Import all of nvgen: of a module that an inner session has imported, which is taken out
    again, there would be two in this process, with two of each of its types.
    """
    for package in (asmprinter, intrinsics, isel, nvgen):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if found.name not in SCRIPTS:
                importlib.import_module(found.name)


LOADED = "-W ignore::pytest.PytestAssertRewriteWarning"
"""An inner session finds nvgen imported, and its assertions as they are."""

EARLY_AND_LATE = "--random-schedules=0"

KERNELS = '''
import numpy as np
from intrinsics.element import ElementType
from nvgen import KernelBuilder


def copy(wait=True):
    """A tile from global to shared memory by TMA, and on to `out`; `between` sees it early."""
    b = KernelBuilder("copy", block=32)
    b.tensor_map("source", dtype=ElementType.F32, box=(8, 4))
    b.pointer("between")
    b.pointer("out", output=True)
    args = b.begin()
    tile = b.shared_tile("tile", ElementType.F32, (8, 4), swizzle=0)
    loaded = b.mbarrier("loaded")
    lane = b.tid_x.zext(64) * 4
    b.store(b.tid_x, tile.pointer + lane)
    with b.if_thread(0):
        b.mbarrier_init(loaded, 1)
        b.fence_mbarrier_init_release_cluster()
        b.fence_proxy_async()
    b.barrier_cta_sync_aligned()
    with b.if_thread(0):
        b.mbarrier_arrive_expect_tx(loaded, tile.nbytes)
        b.cp_async_bulk_tensor_g2s_tile(tile.pointer, loaded, args["source"], (0, 0))
    b.barrier_cta_sync_aligned()
    if wait:
        b.wait(loaded, 0)
    b.store(b.load_word(tile.pointer + lane), args["between"] + lane)
    if not wait:
        b.wait(loaded, 0)
    b.store(b.load_word(tile.pointer + lane), args["out"] + lane)
    return b.finish()


def arrays():
    x = np.arange(100, 132, dtype=np.float32).reshape(8, 4)
    return x, np.zeros_like(x), np.zeros_like(x)
'''

HEAD = """
from pathlib import Path
import numpy as np
import pytest
import nvgen
from nvgen.testing import Launch, assert_exact, kernel_test
from kernels import arrays, copy

pytestmark = pytest.mark.filterwarnings("ignore::nvgen.FindingWarning")
"""

RACE = """
@kernel_test(targets="sm_90a")
def test_copy(launch):
    x, between, out = arrays()
    launch(copy(wait={wait}), x, between, out, races=False)
    assert_exact(out, x)
    assert_exact(between, x)
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with kernels, the environment of no other project, and no GPU.

    pytest-benchmark, where it is installed, warns beside pytest-xdist, and a warning is an error.
    """
    monkeypatch.setenv("PYTEST_ADDOPTS", f"-p no:benchmark {LOADED}")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    pytester.makepyfile(kernels=KERNELS)
    return pytester


def write(project: pytest.Pytester, body: str) -> Path:
    """The project's file of tests."""
    return project.makepyfile(test_it=HEAD + textwrap.dedent(body))


def run(project: pytest.Pytester, body: str, *options: str) -> pytest.RunResult:
    """Run tests in the project."""
    write(project, body)
    return project.runpytest(*f"-rs -W error {LOADED} -p no:cacheprovider".split(), *options)


def ids(project: pytest.Pytester, body: str, *options: str) -> list[str]:
    """What stands in the brackets of the tests' ids."""
    result = run(project, body, "--collect-only", "-q", *options)
    return re.findall(r"::\w+\[(.*)\]$", result.stdout.str(), re.MULTILINE)


# ---- items ---------------------------------------------------------------------------------------


def test_a_right_kernel_passes_under_every_schedule(project: pytest.Pytester) -> None:
    run(project, RACE.format(wait=True)).assert_outcomes(passed=2 + 4)


def test_the_schedules_are_in_the_ids(project: pytest.Pytester) -> None:
    assert ids(project, RACE.format(wait=True)) == [
        "early",
        "late",
        *(f"random:{seed}" for seed in seeds("test_copy", 4)),
    ]


TEST = """
@kernel_test({})
def test_it(launch):
    launch("", 0)
"""


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("arguments", "options", "expected"),
    [
        ('schedules="early"', "", ["early"]),
        ('schedules=["late", "random:007", "late"]', "", ["late", "random:7"]),
        ('schedules="random", random=2', "", 2),
        ("random=2", "", 4),
        ("", "--random-schedules 9", 11),
        ("random=2", "--random-schedules 9", 11),
        ("", "--schedule random:123", ["random:123"]),
        ("random=2", "--schedule late", ["late"]),
        ('targets="sm_90a"', "--schedule late", ["late"]),
        ('targets=("sm_90a", "sm_100a")', "--schedule late", ["sm_90a-late", "sm_100a-late"]),
        ("opt=(0, 3)", "--schedule late", ["O0-late", "O3-late"]),
        ('targets=("sm_90a", "sm_100a"), opt=(0, 3)', "", 24),
        ("", "--device cuda", ["cuda"]),
        ('targets=("sm_90a", "sm_100a")', "--device=cuda", ["sm_90a-cuda", "sm_100a-cuda"]),
    ],
)
def test_which_items_there_are(
    project: pytest.Pytester, arguments: str, options: str, expected: list[str] | int
) -> None:
    found = ids(project, TEST.format(arguments), *options.split())
    assert len(found) == len(set(found))
    assert (len(found) if isinstance(expected, int) else found) == expected


def test_the_seeds_come_from_the_test_and_the_option(project: pytest.Pytester) -> None:
    body = TEST.format('schedules="random"')
    first = ids(project, body)
    assert ids(project, body) == first
    assert ids(project, body, "--random-schedules=6")[:4] == first
    assert not {*ids(project, body, "--schedule-seed=1")} & {*first}
    assert not {*ids(project, body.replace("test_it", "test_other"))} & {*first}


def test_no_random_schedule_at_all_is_no_pass(project: pytest.Pytester) -> None:
    run(project, TEST.format('schedules="random"'), EARLY_AND_LATE).assert_outcomes(skipped=1)


def test_a_schedule_that_a_test_excludes_is_skipped(project: pytest.Pytester) -> None:
    result = run(project, TEST.format('schedules="early"'), "--schedule", "random:1")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines("*the test holds under early, not random:1")


# ---- failures ------------------------------------------------------------------------------------


def replayed(project: pytest.Pytester, result: pytest.RunResult) -> list[str]:
    """The commands that a report gives, without their `pytest`."""
    found = re.findall(r"^replay: pytest (.*)$", result.stdout.str(), re.MULTILINE)
    assert len(found) == len(set(found))
    return found


def section(result: pytest.RunResult) -> list[str]:
    """The lines of the only section of nvgen's, up to the next headline."""
    (found,) = re.findall(r"^-+ nvgen -+\n(.*?)^(?:=|_)", result.stdout.str(), re.M | re.S)
    return found.splitlines()


def test_a_race_fails_late_and_says_how_to_replay_it(project: pytest.Pytester) -> None:
    """Without the wait the bytes of the tile are not there yet: the threads' numbers are."""
    result = run(project, RACE.format(wait=False), EARLY_AND_LATE)
    result.assert_outcomes(passed=1, failed=1)
    shown = section(result)
    assert shown[:4] == [
        "replay: pytest test_it.py::test_copy --schedule late",
        "ran on: sim, schedule late, target sm_90a",
        "32 of 32 elements differ, the first at [0, 0]",
        "  got:      0.0 (0x00000000)",
    ]
    assert shown[4].startswith("  expected: 100.0 (0x")
    told = " ".join(" ".join(shown[5:]).split())
    assert "the run fails when #1 alone takes effect late, with --schedule delay:1" in told
    assert "TMA load writes what ld of warp 0 reads, and nothing orders the two" in told
    assert len(re.findall(r"copy\.ll:\d+:", told)) == 2, "both places"
    (command,) = replayed(project, result)
    again = project.runpytest(*shlex.split(command))
    again.assert_outcomes(failed=1)
    assert section(again) == shown


def test_the_schedule_of_one_delay_can_be_asked_for(project: pytest.Pytester) -> None:
    """What the report names fails again, and a right kernel passes under it."""
    result = run(project, RACE.format(wait=False), "--schedule", "delay:1")
    result.assert_outcomes(failed=1)
    result = run(project, RACE.format(wait=True), "--schedule", "delay:1")
    result.assert_outcomes(passed=1)


def test_what_fails_under_every_schedule_blames_no_delay(project: pytest.Pytester) -> None:
    body = """
    @kernel_test(targets="sm_90a", schedules="late")
    def test_copy(launch):
        x, between, out = arrays()
        launch(copy(), x, between, out)
        assert_exact(out, x + 1)
    """
    result = run(project, body)
    result.assert_outcomes(failed=1)
    assert "alone takes effect late" not in result.stdout.str()


def test_a_launch_that_is_refused_blames_no_delay(project: pytest.Pytester) -> None:
    """Of floats a tensor map has rows of whole 16 bytes: the test fails with that."""
    body = """
    @kernel_test(targets="sm_90a", schedules="late")
    def test_copy(launch):
        x, between, out = arrays()
        launch(copy(), np.zeros((4, 9), np.float32), between, out)
    """
    result = run(project, body)
    result.assert_outcomes(failed=1)
    assert "error[tensor-map/stride]" in result.stdout.str()


def test_a_race_is_found_under_every_schedule(project: pytest.Pytester) -> None:
    """With the clocks on, as they are, the missing wait is a finding even where all goes well."""
    result = run(project, RACE.format(wait=False).replace(", races=False", ""))
    result.assert_outcomes(failed=2 + 4)
    assert "sim/race" in "\n".join(result.outlines)


def test_a_random_schedule_is_replayed_by_its_seed(project: pytest.Pytester) -> None:
    body = RACE.format(wait=False).replace("(targets", '(schedules="random", random=12, targets')
    result = run(project, body)
    commands = replayed(project, result)
    assert commands
    assert all(" --schedule random:" in command for command in commands)
    again = project.runpytest(*shlex.split(commands[-1]))
    again.assert_outcomes(failed=1)
    assert replayed(project, again) == commands[-1:]


@pytest.mark.turns(3)
def test_each_command_replays_one_item(project: pytest.Pytester) -> None:
    """Whatever is in the id beside the schedule stays there, quoted for a shell."""
    body = """
    @kernel_test(targets=("sm_90a", "sm_100a"), schedules=("early", "late"))
    @pytest.mark.parametrize("how", ["a b", "$x"])
    class TestRace:
        def test_it(self, launch, how):
            x, between, out = arrays()
            launch(copy(wait=False), x, between, out, races=False)
            assert_exact(between, x)
    """
    result = run(project, body)
    result.assert_outcomes(passed=4, failed=4)
    commands = replayed(project, result)
    assert commands[0] == "'test_it.py::TestRace::test_it[a b-sm_90a-late]' --schedule late"
    for command in commands:
        project.runpytest(*shlex.split(command)).assert_outcomes(failed=1)


def test_the_command_is_one_for_the_folder_that_one_is_in(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(project, RACE.format(wait=False))
    project.makeini("[pytest]")
    monkeypatch.chdir(project.mkdir("elsewhere"))
    result = project.runpytest(path, EARLY_AND_LATE)
    assert replayed(project, result) == ["../test_it.py::test_copy --schedule late"]


def test_a_finding_of_the_simulator_is_shown_with_its_line(project: pytest.Pytester) -> None:
    project.path.joinpath("waits.ll").write_text(WAITS)
    body = """
    @kernel_test(targets="sm_90a", schedules="late")
    def test_waits(launch):
        launch(Path("waits.ll"), np.zeros(1, np.int32), block=1)
    """
    result = run(project, body)
    result.assert_outcomes(failed=1)
    assert section(result)[0] == "replay: pytest test_it.py::test_waits --schedule late"
    result.stdout.fnmatch_lines(
        ["error[[]sim/deadlock[]]: *", "*--> waits.ll:6:*", "*call i1 @llvm.nvvm.mbarrier.test.*"]
    )
    assert "nvgen/sim/" not in result.stdout.str()  # the calls inside the simulator


@pytest.mark.parametrize("style", ["long", "short", "native"])
def test_the_command_is_there_under_a_traceback_of_any_length(
    project: pytest.Pytester, style: str
) -> None:
    result = run(project, RACE.format(wait=False), "--schedule=late", f"--tb={style}")
    assert replayed(project, result) == ["test_it.py::test_copy --schedule late"]


def test_a_test_that_launches_nothing_fails(project: pytest.Pytester) -> None:
    body = """
    @kernel_test
    def test_nothing(launch):
        launch.compile

    @kernel_test(schedules="early")
    def test_refused(launch):
        with pytest.raises(nvgen.InputError):
            launch("")

    @kernel_test(schedules="early")
    def test_wrong_in_another_way(launch):
        raise KeyError("mine")
    """
    result = run(project, body)
    result.assert_outcomes(failed=6 + 1, passed=1)
    result.stdout.fnmatch_lines(["*the test launched no kernel*", "*KeyError: 'mine'"])


def test_a_kernel_test_takes_launch(project: pytest.Pytester) -> None:
    result = run(project, "@kernel_test\ndef test_it():\n    pass\n")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines("*test_it*does not take `launch`: def test_it(launch, …)")


# ---- what is launched ----------------------------------------------------------------------------


def test_all_kinds_of_programs(project: pytest.Pytester) -> None:
    """LLVM IR as text, module and file, PTX and records of a file, and what is compiled."""
    compiled = nvgen.compile(ADD, target="sm_90a")
    for name, text in (("ll", ADD), ("ptx", compiled.ptx), ("mir", compiled.mir)):
        project.path.joinpath(f"add.{name}").write_text(text)
    body = """
    from llvmlite import binding

    TEXT = Path("add.ll").read_text()
    PROGRAMS = {
        "text": TEXT,
        "module": binding.parse_assembly(TEXT),
        "compiled": nvgen.compile(TEXT, target="sm_90a"),
        "ll": Path("add.ll"), "ptx": Path("add.ptx"), "mir": Path("add.mir"),
    }

    def check(launch, program):
        out = np.zeros(32, np.int32)
        statistics = launch(program, out, 5, block=32)
        assert statistics.steps > 0
        assert_exact(out, np.arange(5, 37, dtype=np.int32))

    @kernel_test(targets="sm_90a", schedules="late")
    @pytest.mark.parametrize("program", PROGRAMS)
    def test_program(launch, program):
        check(launch, PROGRAMS[program])

    @kernel_test(schedules="late")
    @pytest.mark.parametrize("program", ["compiled", "ptx", "mir"])
    def test_program_that_says_its_target(launch, program):
        check(launch, PROGRAMS[program])

    @kernel_test(schedules="late")
    @pytest.mark.parametrize("program", ["text", "module", "ll"])
    def test_program_that_says_none(launch, program):
        with pytest.raises(nvgen.InputError, match="target"):
            check(launch, PROGRAMS[program])

    @kernel_test(targets="sm_100a", schedules="late")
    def test_program_of_another_target(launch):
        with pytest.raises(nvgen.InputError, match="another target"):
            check(launch, PROGRAMS["compiled"])
    """
    run(project, body).assert_outcomes(passed=6 + 3 + 3 + 1)


def test_the_launch_says_what_it_is_bound_to(project: pytest.Pytester) -> None:
    body = """
    @kernel_test(targets=("sm_90a", "sm_100a"), opt=(0, 3), schedules=("late", "random:3"))
    def test_it(launch: Launch, request):
        assert launch.device == "sim"
        assert request.node.callspec.id == f"{launch.target}-O{launch.opt}-{launch.schedule}"
        if launch.opt == 0:
            assert launch.compile(copy()).target.name == launch.target
        x, between, out = arrays()
        try:
            launch(copy(), x, between, out)
        except nvgen.InputError as error:
            assert launch.opt == 3 and error.findings[0].rule == "compile/opt"
    """
    run(project, body).assert_outcomes(passed=8)


# ---- with what else pytest does ------------------------------------------------------------------


def test_fixtures_classes_and_parametrize_work_together(project: pytest.Pytester) -> None:
    body = """
    @pytest.fixture
    def copied(launch):
        def run():
            x, between, out = arrays()
            launch(copy(), x, between, out)
            return x, out
        return run

    @kernel_test(targets="sm_90a", schedules=("early", "late"))
    class TestCopy:
        @pytest.mark.parametrize("n", [1, 2, 3])
        def test_it(self, copied, n, tmp_path):
            x, out = copied()
            assert_exact(n * x, n * out)

        @kernel_test(targets="sm_100a", schedules="late")
        def test_closest_wins(self, launch, copied):
            assert launch.target == "sm_100a"
            copied()

    def test_another():
        pass
    """
    run(project, body).assert_outcomes(passed=6 + 1 + 1)


def test_examples_of_hypothesis_share_an_item(project: pytest.Pytester) -> None:
    body = """
    from hypothesis import given, settings, strategies as st

    @kernel_test(targets="sm_90a", schedules=("early", "late"))
    @settings(max_examples=3, deadline=None, database=None)
    @given(n=st.integers(0, 9))
    def test_it(launch, n):
        x, between, out = arrays()
        launch(copy(), x + n, between, out)
        assert_exact(out, x + n)
    """
    write(project, body)
    project.runpytest("-p", "no:cacheprovider").assert_outcomes(passed=2)


def test_expected_failures_are_expected(project: pytest.Pytester) -> None:
    run(
        project, "@pytest.mark.xfail(strict=True)" + RACE.format(wait=False), "--schedule=late"
    ).assert_outcomes(xfailed=1)


@pytest.mark.turns(3)
def test_workers_of_xdist_agree(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """pytest loads no plugin by itself here: it would compile nvgen anew for each process."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    write(project, RACE.format(wait=True) + '    assert launch.schedule == "early"\n')
    options = ["-p", "xdist", "-p", "nvgen.testing.plugin", "-rs", "-p", "no:cacheprovider"]
    result = project.runpytest_subprocess("-n2", *options, EARLY_AND_LATE)
    result.assert_outcomes(passed=1, failed=1)
    assert replayed(project, result) == ["test_it.py::test_copy --schedule late"]
    result = project.runpytest_subprocess("-n1", *options, "--device", "cuda")
    result.assert_outcomes(skipped=1)


# ---- devices -------------------------------------------------------------------------------------


def test_what_a_gpu_cannot_run_is_skipped_with_a_reason(project: pytest.Pytester) -> None:
    body = RACE.format(wait=True) + textwrap.dedent("""
    @kernel_test
    def test_compiled(launch):
        launch(copy().compile(target="sm_100a"), *arrays())

    def test_another():
        pass
    """)
    result = run(project, body, "--device", "cuda")
    result.assert_outcomes(passed=1, skipped=2)
    result.stdout.fnmatch_lines("SKIPPED*test_it.py:*device cuda: *")


def test_a_gpu_of_another_kind_skips_what_the_test_compiles_itself(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nvgen.testing.devices.gpu", lambda: (90, ""))
    monkeypatch.setattr("nvgen.testing.devices._installed", lambda: True)
    body = """
    @kernel_test
    def test_compiled(launch):
        launch(copy().compile(target="sm_100a"), *arrays())
    """
    result = run(project, body, "--device", "cuda")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines("*the GPU is sm_90, which does not run code for sm_100a")


@pytest.mark.parametrize("kind", ["", ", default='mine'", ", type=int", ", action='store_true'"])
def test_the_device_has_a_longer_name_where_the_short_one_is_taken(
    project: pytest.Pytester, kind: str
) -> None:
    """Other plugins and projects have a `--device` of their own."""
    project.makeconftest(f"def pytest_addoption(parser): parser.addoption('--device'{kind})")
    given = {", type=int": "--device=7", ", action='store_true'": "--device"}
    body = RACE.format(wait=True) + textwrap.dedent("""
    def test_theirs(request):
        assert request.config.getoption("--device") in ("phone", 7, True)
    """)
    option = given.get(kind, "--device=phone")
    result = run(project, body, option, "--nvgen-device", "cuda")
    result.assert_outcomes(passed=1, skipped=1)


# ---- bad input -----------------------------------------------------------------------------------


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            "--schedule lates",
            "*unknown schedule 'lates'; expected early, late or random:SEED; did*",
        ),
        ("--schedule random", "*a seed belongs to it, such as random:17*"),
        ("--schedule random:-1", "*a seed belongs to it*"),
        ("--schedule=", "*unknown schedule ''*"),
        ("--random-schedules many", "*'many' is no such number; expected 0 to 999999999*"),
        ("--random-schedules -1", "*"),
        ("--schedule-seed 1e3", "*'1e3' is no such number*"),
        ("--device gpu", "*no device 'gpu'; expected sim or cuda*"),
        ("--nvgen-device cud", "*no device 'cud'; expected sim or cuda; did you mean cuda[?]*"),
        ("--device cuda --schedule late", "*a GPU has its own schedule*"),
    ],
)
def test_a_bad_option_is_an_error_of_usage(
    project: pytest.Pytester, options: str, said: str
) -> None:
    result = run(project, RACE.format(wait=True), *options.split())
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(said)
    assert "Traceback" not in result.stderr.str()


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('schedules="sometimes"', "unknown schedule 'sometimes'"),
        ("schedules=()", "a test needs a schedule"),
        ("schedules=[1]", "unknown schedule 1"),
        ("schedules=1", "unknown schedule 1"),
        ("targets=90", "unknown target '90'"),
        ('targets="sm_1"', "unknown target 'sm_1'"),
        ("opt=4", "no such optimisation level"),
        ("random=-1", "no number of random schedules"),
    ],
)
def test_a_bad_argument_is_an_error_of_input(
    project: pytest.Pytester, arguments: str, said: str
) -> None:
    result = run(project, TEST.format(arguments))
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(f"*InputError: error[[]*[]]: {said}*")


# ---- those who do not use it ---------------------------------------------------------------------


@pytest.mark.turns(3)
def test_others_pay_nothing_for_it(project: pytest.Pytester) -> None:
    """pytest loads the plugin by itself, and with it neither numpy nor LLVM.

    Other plugins may load them (jaxtyping's does): what is there without nvgen's does not count.
    """
    project.path.joinpath("kernels.py").unlink()
    project.makepyfile("""
        import sys
        from pathlib import Path

        def test_it(request):
            heavy = {"numpy", "ml_dtypes", "llvmlite", "rich", "nvgen.api", "nvgen.sim.launch"}
            loaded = str(request.config.pluginmanager.has_plugin("nvgen"))
            Path(f"{loaded}.txt").write_text("\\n".join(sorted(heavy & {*sys.modules})))
    """)
    for options in ((), ("-p", "no:nvgen")):
        result = project.runpytest_subprocess("-p", "no:hypothesispytest", *options)
        result.assert_outcomes(passed=1)
    with_it, without = (project.path.joinpath(f"{there}.txt") for there in (True, False))
    assert with_it.read_text() == without.read_text()


def test_a_fixture_called_launch_stays_what_it_is(project: pytest.Pytester) -> None:
    body = """
    @pytest.fixture
    def launch():
        return "theirs"

    def test_theirs(launch):
        assert launch == "theirs"
    """
    run(project, textwrap.dedent(body) + RACE.format(wait=True)).assert_outcomes(passed=1 + 6)


def test_the_marks_are_known(project: pytest.Pytester) -> None:
    result = run(project, RACE.format(wait=True), "--strict-markers", "-m", "nvgen_kernel_test")
    result.assert_outcomes(passed=6)


# ---- the guide -----------------------------------------------------------------------------------


def guide_example() -> str:
    """The example of the guide."""
    guide = nvgen.testing.__doc__ or ""
    (found,) = re.findall(r"^    import numpy.*?(?=^\S)", guide, re.M | re.S)
    return textwrap.dedent(found)


@pytest.mark.turns(3)
def test_the_example_of_the_guide_runs(project: pytest.Pytester) -> None:
    sample = Path(__file__).parents[3] / "samples" / "01_gemm_tile.py"
    project.makepyfile(tile=sample.read_text(encoding="utf-8"), test_tile=guide_example())
    project.runpytest("-p", "no:cacheprovider").assert_outcomes(passed=6)


def test_the_options_of_the_guide_are_there(project: pytest.Pytester) -> None:
    shown = project.runpytest("--help").stdout.str()
    for option in re.findall(r"--[\w-]+", nvgen.testing.__doc__ or ""):
        assert f" {option}=" in shown

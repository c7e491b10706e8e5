"""What the pytest plugin launches, on which device, and beside what else pytest does."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

import nvgen
import nvgen.testing
from tests.nvgen.programs import ADD
from tests.nvgen.testing.projects import (
    EARLY_AND_LATE,
    RACE,
    TEST,
    guide_example,
    replayed,
    run,
    write,
)

pytest_plugins = ["pytester"]


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


@pytest.mark.turns(3)
def test_the_example_of_the_guide_runs(project: pytest.Pytester) -> None:
    sample = Path(__file__).parents[3] / "samples" / "01_gemm_tile.py"
    project.makepyfile(tile=sample.read_text(encoding="utf-8"), test_tile=guide_example())
    project.runpytest("-p", "no:cacheprovider").assert_outcomes(passed=6)


def test_the_options_of_the_guide_are_there(project: pytest.Pytester) -> None:
    shown = project.runpytest("--help").stdout.str()
    for option in re.findall(r"--[\w-]+", nvgen.testing.__doc__ or ""):
        assert f" {option}=" in shown

"""The items and failures of the pytest plugin, as a project that tests kernels sees them."""

from __future__ import annotations

import re
import shlex

import pytest

from nvgen.testing.schedules import seeds
from tests.nvgen.programs import WAITS
from tests.nvgen.testing.projects import (
    EARLY_AND_LATE,
    RACE,
    TEST,
    replayed,
    run,
    write,
)

pytest_plugins = ["pytester"]


def ids(project: pytest.Pytester, body: str, *options: str) -> list[str]:
    """What stands in the brackets of the tests' ids."""
    result = run(project, body, "--collect-only", "-q", *options)
    return re.findall(r"::\w+\[(.*)\]$", result.stdout.str(), re.MULTILINE)


def test_a_right_kernel_passes_under_every_schedule(project: pytest.Pytester) -> None:
    run(project, RACE.format(wait=True)).assert_outcomes(passed=2 + 4)


def test_the_schedules_are_in_the_ids(project: pytest.Pytester) -> None:
    assert ids(project, RACE.format(wait=True)) == [
        "early",
        "late",
        *(f"random:{seed}" for seed in seeds("test_copy", 4)),
    ]


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


def section(result: pytest.RunResult) -> list[str]:
    """The lines of the only section of nvgen's, up to the next headline."""
    (found,) = re.findall(r"^-+ nvgen -+\n(.*?)^(?:=|_)", result.stdout.str(), re.M | re.S)
    return found.splitlines()


@pytest.mark.wrong_kernel
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


@pytest.mark.wrong_kernel
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


@pytest.mark.wrong_kernel
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


@pytest.mark.wrong_kernel
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

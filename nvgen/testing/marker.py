"""`kernel_test`: options of a kernel test, kept as a mark on it.

Layer: nvgen.testing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, overload

import pytest

from intrinsics.findings import input_error
from intrinsics.lazy_dataclass import dataclass
from intrinsics.targets import parse_target
from nvgen.testing.schedules import ALL, as_tuple, wanted_schedules

MARK = "nvgen_kernel_test"

Test = TypeVar("Test", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class KernelTest:
    """Options of `kernel_test`; no target means that the test's own programs name one."""

    schedules: tuple[str, ...] = ALL
    random: int | None = None
    targets: tuple[str, ...] = ()
    opt: tuple[int | None, ...] = (None,)
    bound_waits: float | None = None


@overload
def kernel_test(test: Test, /) -> Test: ...


@overload
def kernel_test(
    *,
    schedules: str | Sequence[str] = "all",
    random: int | None = None,
    targets: str | Sequence[str] = (),
    opt: int | Sequence[int | None] | None = None,
    bound_waits: float | None = None,
) -> Callable[[Test], Test]: ...


def kernel_test(
    test: Test | None = None,
    /,
    *,
    schedules: str | Sequence[str] = "all",
    random: int | None = None,
    targets: str | Sequence[str] = (),
    opt: int | Sequence[int | None] | None = None,
    bound_waits: float | None = None,
) -> Test | Callable[[Test], Test]:
    """Make a test function, or every test of a class, a test of kernels; see `nvgen.testing`.

    `schedules` are those that it runs under, `random` is the number of seeds (default 4), `targets`
    and `opt` what `launch` compiles for, an item of the test for each; None is `nvgen.compile`'s
    default level.  `bound_waits` is a limit in
    seconds to each wait for an mbarrier on a GPU.  The test takes `launch`.

    Raises: InputError for an unknown schedule, target or optimisation level.
    """
    levels = tuple(opt) if isinstance(opt, Sequence) else (opt,)
    asked = KernelTest(
        wanted_schedules(schedules),
        _checked_count(random),
        tuple(dict.fromkeys(parse_target(name).name for name in as_tuple(targets))),
        tuple(dict.fromkeys(_checked_level(level) for level in levels)) or (None,),
        bound_waits,
    )

    def mark(test: Test) -> Test:
        marked: Test = getattr(pytest.mark, MARK)(asked=asked)(test)
        return marked

    return mark if test is None else mark(test)


def _checked_count(random: int | None) -> int | None:
    if random is None or (isinstance(random, int) and random >= 0):
        return random
    raise input_error(
        "test/random",
        "no number of random schedules",
        got=repr(random),
        expected="a number from 0 on",
    )


def _checked_level(level: int | None) -> int | None:
    if level in (None, 0, 1, 2, 3):
        return level
    raise input_error(
        "test/opt", "no such optimisation level", got=repr(level), expected="0, 1, 2 or 3"
    )


def asked_of(item: pytest.Item) -> KernelTest | None:
    """The `kernel_test` options of a test; None for other tests."""
    mark = item.get_closest_marker(MARK)
    if mark is None:
        return None
    asked = mark.kwargs.get("asked")
    if not isinstance(asked, KernelTest):
        pytest.fail(f"{item.nodeid}: use nvgen.testing.kernel_test, not the mark", pytrace=False)
    return asked

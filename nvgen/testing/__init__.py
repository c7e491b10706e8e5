"""Tests of kernels: a pytest plugin that runs each test under every schedule of the simulator.

Layer: nvgen.testing.  `pip install 'nvgen[testing]'`; pytest finds the plugin by itself.

    import numpy as np
    from nvgen.testing import Launch, assert_exact, kernel_test

    from tile import build, operands

    @kernel_test(schedules="all", targets="sm_100a")
    def test_tile(launch: Launch) -> None:
        a, b, expected = operands()
        d = np.zeros_like(expected)
        launch(build(), a, b, d=d)
        assert_exact(d, expected)

The test becomes one item for each schedule: `test_tile[early]`, `test_tile[late]` and some of
`test_tile[random:SEED]`.  Copies, MMAs and commits take effect at once under "early", as late as
the machine's rules allow under "late", and at any moment between under "random".  A right kernel
gives the same bytes under all of them; one that lacks a wait fails under some.  The seeds come from
the test's name, so every machine runs the same ones.

**What `launch` takes.**  LLVM IR as text, the Path of an .ll, .mir or .ptx file, an llvmlite
module, a built Kernel, or a Compiled, which spares compiling it for every item; then what
`Compiled.run` takes, but for device and schedule.  `launch.compile` compiles without a launch.  A
test that launches nothing fails.

**What `kernel_test` takes.**  `schedules`: "all", or some of "early", "late", "random" and
"random:SEED".  `random`: how many seeds.  `targets` and `opt`: an item for each target and each
optimisation level.  `bound_waits`: a limit in seconds to each wait for an mbarrier on a GPU, where
a kernel that hangs then says who waits for what.  It works together with `parametrize` and
fixtures, and on classes of tests.

**What the command line takes.**

    --schedule late|random:123   this schedule only; what a failed test prints to replay it
    --random-schedules N         N seeds for each test, such as 100 at night
    --schedule-seed S            other seeds
    --nvgen-bound-waits SECONDS  a limit to waits for mbarriers on a GPU, for all tests
    --device sim|cuda            where kernels run; on a GPU there is one run, without a schedule

`--device` is spelled `--nvgen-device` where another plugin has that name.  What the device cannot
run is skipped, and the reason says why.

**When a test fails**, a section "nvgen" says how to replay it, which elements differ, or what the
simulator found.
"""

from __future__ import annotations

from nvgen.testing.compare import MismatchError, assert_exact
from nvgen.testing.launch import Launch
from nvgen.testing.marker import kernel_test

__all__ = ["Launch", "MismatchError", "assert_exact", "kernel_test"]

"""A project whose tests use the pytest plugin, and what pytest says of it."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

import nvgen
import nvgen.testing

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


def write(project: pytest.Pytester, body: str) -> Path:
    """The project's file of tests."""
    return project.makepyfile(test_it=HEAD + textwrap.dedent(body))


def run(project: pytest.Pytester, body: str, *options: str) -> pytest.RunResult:
    """Run tests in the project."""
    write(project, body)
    return project.runpytest(*f"-rs -W error {LOADED} -p no:cacheprovider".split(), *options)


TEST = """
@kernel_test({})
def test_it(launch):
    launch("", 0)
"""


def replayed(project: pytest.Pytester, result: pytest.RunResult) -> list[str]:
    """The commands that a report gives, without their `pytest`."""
    found = re.findall(r"^replay: pytest (.*)$", result.stdout.str(), re.MULTILINE)
    assert len(found) == len(set(found))
    return found


def guide_example() -> str:
    """The example of the guide."""
    guide = nvgen.testing.__doc__ or ""
    (found,) = re.findall(r"^    import numpy.*?(?=^\S)", guide, re.M | re.S)
    return textwrap.dedent(found)

"""Random programs of everything that ordinary LLVM IR has: host, simulator and GPU agree.

The same LLVM IR runs on the host's processor and on the device under test, and every byte of the
output is equal.  The first of the tests runs unchanged on a GPU.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.property import judges
from tests.property.plans import FEATURES, Plan, plans
from tests.property.program import build

INTEGERS = {"division", "intrinsics", "saturation", "overflow", "odd", "i128"}
FLOW = {"control", "switch", "return", "division"}
MEMORY = {
    "memory",
    "padding",
    "bytes",
    "globals",
    "shared",
    "generic",
    "copies",
    "aggregates",
    "control",
}
FLOATS = {"floats", "half", "bfloat"}

AREAS = {
    "integers": INTEGERS,
    "vectors": INTEGERS | {"vectors", "dynamic"},
    "flow": FLOW,
    "vectors in loops": FLOW | {"vectors", "odd"},
    "floats": FLOATS | {"control"},
    "vectors of floats": FLOATS | {"vectors", "dynamic", "intrinsics"},
    "memory": MEMORY,
    "memory and calls": MEMORY | FLOW | {"calls", "pointers"},
    "everything": set(FEATURES),
    "calls": FLOW | {"calls", "recursion", "aggregates", "vectors"},
}
"""Features that are tried together."""


@pytest.mark.turns(6)
@pytest.mark.gpu
@pytest.mark.parametrize("area", AREAS)
def test_the_host_and_the_device_agree(area: str):
    @settings(max_examples=20 if area in ("integers", "flow") else 6)
    @given(plans(frozenset(AREAS[area])))
    def check(plan: Plan) -> None:
        judges.same_bytes(build(plan))

    check()


@pytest.mark.turns(8)
@pytest.mark.parametrize("area", AREAS)
def test_text_read_back_runs_the_same(area: str):
    @settings(max_examples=3)
    @given(plans(frozenset(AREAS[area])))
    def check(plan: Plan) -> None:
        judges.round_trips(build(plan))

    check()


@pytest.mark.turns(6)
@pytest.mark.parametrize("area", AREAS)
def test_ptxas_takes_the_ptx(area: str):
    @settings(max_examples=3)
    @given(plans(frozenset(AREAS[area])))
    def check(plan: Plan) -> None:
        judges.assembles(build(plan), (0, 2))

    check()

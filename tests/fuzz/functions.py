"""Random functions whose every output byte is compared with the host's, without hypothesis.

The plans are those of `tests.property`; here they are drawn from a `random.Random`, and made
smaller by leaving parts out, which a plan always allows.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from tests.fuzz.inputs import Input, Kind
from tests.property.plans import (
    FEATURES,
    NESTED,
    FunctionPlan,
    Plan,
    Step,
    flat_step,
    function_plan,
    nested_step,
)
from tests.property.program import build

_BYTES = 24


def random_function(rng: random.Random) -> Input:
    """A program, and the level of LLVM's optimiser that it is compiled at."""
    some = [feature for feature in sorted(FEATURES) if rng.random() < 0.5]
    features = FEATURES if rng.random() < 0.5 else frozenset(some)
    functions = tuple(
        function_plan(rng.randbytes(_BYTES), _steps(rng, features, 1, 4), features)
        for _ in range(rng.randrange(3) if "calls" in features else 0)
    )
    plan = Plan(functions, _steps(rng, features, 2, 16), features)
    return of_plan(plan, "2" if rng.random() < 0.05 else "0")


def of_plan(plan: Plan, opt: str) -> Input:
    """The input that a plan stands for."""
    text = build(plan).reproduction(f"opt: {opt}")
    return Input(Kind.FUNCTION, text.encode(), (("opt", opt),), plan)


def _steps(rng: random.Random, features: frozenset[str], depth: int, most: int) -> tuple[Step, ...]:
    return tuple(_step(rng, features, depth) for _ in range(rng.randrange(1, most + 1)))


def _step(rng: random.Random, features: frozenset[str], depth: int) -> Step:
    nests = depth and any(feature in features for feature in NESTED.values())
    if not nests or rng.random() < 0.75:
        return flat_step(rng.randbytes(_BYTES), features)
    bodies = [_steps(rng, features, depth - 1, 4) for _ in range(rng.randrange(1, 4))]
    return nested_step(rng.randbytes(_BYTES), bodies, features)


# ---- smaller plans ---------------------------------------------------------------------------


def smaller(item: Input) -> Iterator[Input]:
    """The input with something left out, the largest parts first."""
    plan, opt = item.plan, item.option("opt", "0")
    if plan is None:
        return
    for body in _without(plan.body):
        yield of_plan(replace(plan, body=body), opt)
    for at, function in enumerate(plan.functions):
        rest = plan.functions[:at], plan.functions[at + 1 :]
        yield of_plan(replace(plan, functions=rest[0] + rest[1]), opt)
        for less in _less(function):
            yield of_plan(replace(plan, functions=(*rest[0], less, *rest[1])), opt)


def _less(function: FunctionPlan) -> Iterator[FunctionPlan]:
    for at in range(len(function.parameters)):
        kept = function.parameters[:at] + function.parameters[at + 1 :]
        yield replace(function, parameters=kept)
    for body in _without(function.body):
        yield replace(function, body=body)


def _without(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    """Runs of steps left out, halves first; then steps that are simpler themselves."""
    size = len(steps)
    while size:
        for at in range(0, len(steps), size):
            yield steps[:at] + steps[at + size :]
        size //= 2
    for at, step in enumerate(steps):
        for simple in _simpler(step):
            yield (*steps[:at], *simple, *steps[at + 1 :])


def _simpler(step: Step) -> Iterator[tuple[Step, ...]]:
    for at, body in enumerate(step.bodies):
        yield body
        for less in _without(body):
            bodies = (*step.bodies[:at], less, *step.bodies[at + 1 :])
            yield (replace(step, bodies=bodies),)
    if any(step.data):
        yield (replace(step, data=b""),)
        yield (replace(step, data=step.data[: len(step.data) // 2]),)

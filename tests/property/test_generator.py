"""The generator itself: its programs are valid, and mean one thing only.

A program that LLVM's optimiser changes the result of would be undefined, and no test of nvgen.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from llvmlite import binding

from tests.each import each
from tests.oracle import llvm
from tests.property import judges
from tests.property.host import prepare
from tests.property.irtypes import align, size
from tests.property.plans import FEATURES, FLAT, NESTED, Picks, Plan, any_type, plans
from tests.property.program import build
from tests.turns import examples


@examples(100)
@given(plans())
def test_a_program_is_valid_and_not_undefined(plan: Plan):
    judges.nothing_is_undefined(build(plan))


@pytest.mark.turns(3)
def test_llvm_compiles_the_programs_for_the_gpu():
    """All in one run of LLVM, so it does not shrink; it has no lround, llrint and the like."""
    made = []

    @settings(max_examples=16)
    @given(plans(FEATURES - {"classes"}))
    def collect(plan: Plan) -> None:
        made.append(build(plan))

    collect()
    judges.llvm_compiles(made)


@pytest.mark.parametrize("feature", sorted(FEATURES))
def test_a_program_of_one_feature(feature: str):
    """Every feature can be on alone, and all that it needs comes with it."""

    @settings(max_examples=3)
    @given(plans(frozenset({feature})))
    def check(plan: Plan) -> None:
        llvm.verify(build(plan).text)

    check()


def test_every_feature_is_of_use():
    of_types = {"odd", "i128", "half", "bfloat"}
    inside = {"saturation", "padding", "dynamic", "pointers", "recursion"}
    assert {*FLAT.values(), *NESTED.values()} - {""} == FEATURES - of_types - inside


@each("seed", range(60))
def test_sizes_are_those_of_both_data_layouts(seed: int):
    """Layouts differ between machines, and programs may only count on what is common."""
    type_ = any_type(Picks(bytes((seed * 83 + 29 * i * i) % 251 for i in range(40))), FEATURES)
    module = binding.parse_assembly(f"%t = type {type_}\n@g = global %t zeroinitializer\n")
    found = module.get_global_variable("g").global_value_type
    prepare()
    host = binding.Target.from_default_triple().create_target_machine().target_data
    for data in (binding.create_target_data(llvm.DATA_LAYOUT), host):
        assert size(type_) == data.get_abi_size(found)
        assert align(type_) == data.get_abi_alignment(found)

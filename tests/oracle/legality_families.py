"""The families of statements of `test_legality`, from all modules that enumerate some."""

from __future__ import annotations

from collections.abc import Callable

from tests.oracle import (
    bulk_forms,
    cluster_forms,
    copy_forms,
    float_forms,
    launch_forms,
    legality_forms,
    matrix_forms,
    policy_forms,
    stack_forms,
    tensor_forms,
    tensor_map_forms,
    wmma_forms,
)

FAMILIES: dict[str, Callable[[], list[str]]] = (
    legality_forms.FAMILIES
    | float_forms.FAMILIES
    | launch_forms.FAMILIES
    | cluster_forms.FAMILIES
    | copy_forms.FAMILIES
    | matrix_forms.FAMILIES
    | policy_forms.FAMILIES
    | stack_forms.FAMILIES
    | tensor_forms.FAMILIES
    | tensor_map_forms.FAMILIES
    | bulk_forms.FAMILIES
    | wmma_forms.FAMILIES
)

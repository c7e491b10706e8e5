"""Configurations: instances of a dataclass with numbers and names, and how they are kept.

Layer: nvgen.tuning.
"""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from typing import TypeAlias, TypeVar

from intrinsics.findings import input_error

ConfigT = TypeVar("ConfigT")

Settings: TypeAlias = dict[str, int | float | str | bool]
"""A configuration as it is kept and shown."""


def settings(config: object) -> Settings:
    """A configuration by its fields.

    Raises: InputError for what is no dataclass of numbers and names.
    """
    if not is_dataclass(config) or isinstance(config, type):
        raise _no_config(type(config).__name__)
    found: Settings = asdict(config)
    for name, value in found.items():
        if not isinstance(value, (int, float, str, bool)):
            raise _no_config(f"{name} of {type(value).__name__}")
    return found


def _no_config(got: str) -> Exception:
    return input_error(
        "tune/config",
        "a configuration cannot be kept",
        got=got,
        expected="an instance of a dataclass with numbers and names",
    )

"""What is tuned: a kernel with configurations to choose from, and how one is measured.

Layer: nvgen.tuning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from intrinsics.findings import input_error

if TYPE_CHECKING:
    from nvgen.builder.built import Kernel
    from nvgen.tuning.candidates import Candidate

ConfigT = TypeVar("ConfigT")

Settings: TypeAlias = dict[str, int | float | str | bool]
"""A configuration as it is kept and shown."""


class Problem(Protocol[ConfigT]):
    """A kernel for one kind of input, whose configuration is to be chosen.

    `name` says what the results hold for: the kernel, shapes and types.  `target` and `opt` are
    those of `nvgen.compile`.  `flops` is the work of one launch, or 0.
    """

    name: str
    target: str
    opt: int
    flops: float

    def configs(self) -> Sequence[ConfigT]:
        """What to try: instances of a dataclass with numbers and names in it."""

    def build(self, config: ConfigT) -> Kernel:
        """The kernel of a configuration; InputError where there is none."""

    def measure(self, candidate: Candidate[ConfigT]) -> float:
        """Milliseconds of a launch; NvgenError where it fails or its result is wrong."""


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

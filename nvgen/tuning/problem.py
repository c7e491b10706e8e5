"""A tuning problem: a kernel, its configurations, and how one is measured.

Layer: nvgen.tuning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from nvgen.tuning.config import ConfigT

if TYPE_CHECKING:
    from nvgen.built import Kernel
    from nvgen.tuning.candidates import Candidate


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
        """The configurations to measure: instances of a dataclass of numbers and names."""

    def build(self, config: ConfigT) -> Kernel:
        """The kernel of a configuration; InputError where there is none."""

    def measure(self, candidate: Candidate[ConfigT]) -> float:
        """Milliseconds of a launch; NvgenError where it fails or its result is wrong."""

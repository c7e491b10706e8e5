"""The integer literals that an operand takes: range, step, powers of two.

Layer: intrinsics.row.
"""

from __future__ import annotations

from intrinsics.lazy_dataclass import dataclass
from intrinsics.targets import Capability


@dataclass(frozen=True, slots=True)
class NumbersFrom:
    """Literals from `least` on, which only some targets take; `rule` is the rule that others
    break.
    """

    least: int
    needs: Capability
    rule: str


@dataclass(frozen=True, slots=True)
class Numbers:
    """The integer literals that an operand takes.

    `low` and `high` are bounds, None for no bound; `multiple`, `power_of_two` and `nonzero`
    restrict the values between them.  `wraps` says that ptxas looks at the lower 32 bits only;
    `marker` are bits that every value but 0 has.  `rule` is the rule that other literals break;
    `ptxas_accepts` marks rules that ptxas does not have.  `later` are literals that not every
    target takes.
    """

    low: int | None = None
    high: int | None = None
    multiple: int = 1
    power_of_two: bool = False
    nonzero: bool = False
    wraps: bool = False
    marker: int = 0
    rule: str = "immediate-range"
    ptxas_accepts: bool = False
    later: tuple[NumbersFrom, ...] = ()

    def accepts(self, value: int) -> bool:
        """Whether `value` is a legal literal."""
        if self.wraps and value >= 1 << 32:
            value &= 0xFFFF_FFFF
        if self.low is not None and value < self.low:
            return False
        if self.high is not None and value > self.high:
            return False
        if value % self.multiple or (self.nonzero and not value):
            return False
        if value and value & self.marker != self.marker:
            return False
        return not self.power_of_two or (value > 0 and value & (value - 1) == 0)

    def nearest(self, value: int) -> int | None:
        """A legal number close to `value`, if there is one."""
        if self.low is not None:
            value = max(value, self.low)
        if self.high is not None:
            value = min(value, self.high)
        if self.power_of_two:
            value = 1 << max(value - 1, 0).bit_length()
        value = -(-value // self.multiple) * self.multiple
        value = value or (self.multiple if self.nonzero else 0)
        return value if self.accepts(value) else None

    def hint(self, value: int) -> str:
        """The hint for a number that is not accepted: the next larger one, if any."""
        near = self.nearest(value)
        if near is None:
            return ""
        return f"the next one is {near}" if near > value else f"the nearest one is {near}"

    def __str__(self) -> str:
        if self.marker:
            return f"0, or a number with bits {self.marker:#x}"
        if self.low is None:
            return "any integer" if self.multiple == 1 else f"a multiple of {self.multiple}"
        if self.nonzero and (self.low, self.high) == (-1, 1):
            return "-1 or 1"
        bounds = f"{self.low}" if self.high is None else f"{self.low}..{self.high}"
        if self.high is None:
            step = f"a multiple of {self.multiple}, " if self.multiple != 1 else ""
            return f"{step}at least {bounds}"
        if self.power_of_two:
            return f"a power of 2 in {bounds}"
        return bounds if self.multiple == 1 else f"a multiple of {self.multiple} in {bounds}"


ANY_NUMBER = Numbers()
"""Every integer literal."""

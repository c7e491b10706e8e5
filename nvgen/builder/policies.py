"""The builder's verbs for cache policies, which the cache hints of other verbs take.

Layer: nvgen.builder.  LLVM has no intrinsics for these: nvgen's own names follow its scheme.  PTX
ISA, createpolicy.
"""

from __future__ import annotations

from llvmlite import ir

from intrinsics.modifiers import CachePriority, Space
from intrinsics.row import Fact
from nvgen.builder.intrinsics import IntrinsicCalls, Operand
from nvgen.builder.values import Int, IntLike, Pointer, refuse

_GLOBAL = 1


class PolicyVerbs(IntrinsicCalls):
    """Calls of the intrinsics that make a `cache_policy`."""

    def createpolicy_fractional(
        self,
        primary: CachePriority,
        fraction: float = 1.0,
        *,
        secondary: CachePriority | None = None,
    ) -> Int:
        """A policy by which L2 keeps a fraction of what is accessed so, the rest as `secondary`.

        Which part that is the hardware decides.  `secondary` is `FIRST` or `UNCHANGED`, which is
        what None means.

        Raises: InputError for a fraction outside 0 < fraction <= 1, or another `secondary`.
        """
        if not 0 < fraction <= 1:
            raise refuse("no fraction", got=str(fraction), expected="above 0, and 1 at most")
        given = Int(self, ir.Constant(ir.FloatType(), fraction))
        facts: dict[str, Fact] = {"primary": primary, "secondary": secondary}
        return Int(self, self._call("createpolicy.fractional", facts, {"fraction": given}))

    def createpolicy_range(
        self,
        primary: CachePriority,
        address: Pointer,
        primary_size: IntLike,
        total_size: IntLike,
        *,
        secondary: CachePriority | None = None,
    ) -> Int:
        """A policy for `total_size` bytes around `address`, the first `primary_size` as `primary`.

        What lies behind these, and as many bytes before `address` as behind, are `secondary`;
        elsewhere the policy says nothing.

        Raises: InputError for a `secondary` that is not None, `FIRST` or `UNCHANGED`.
        """
        facts: dict[str, Fact] = {"primary": primary, "secondary": secondary}
        facts["space"] = Space.GLOBAL if address.space == _GLOBAL else None
        operands: dict[str, Operand] = {"a": address}
        operands |= {"primary_size": primary_size, "total_size": total_size}
        return Int(self, self._call("createpolicy.range", facts, operands))

    def createpolicy_cvt_l2(self, access_property: Int) -> Int:
        """The policy of an access property of CUDA C++ (64 bits)."""
        return Int(self, self._call("createpolicy.cvt", {}, {"a": access_property}))

"""What instructions of several chapters require of a target and of PTX, and how they count.

Layer: intrinsics.rows.  PTX ISA, the Target ISA Notes and PTX ISA Notes of the instructions.
"""

from __future__ import annotations

from intrinsics.modifiers import Space, Vec
from intrinsics.row import per, when
from intrinsics.targets import at_least, since

SM80 = since("7.0", at_least(80))
SM90 = since("8.0", at_least(90))

CTA_SPACE = when(space=Space.SHARED_CTA).needs("shared-cta-version", since("7.8"))
CLUSTER_SPACE = when(space=Space.SHARED_CLUSTER).needs("cluster-target", since("7.8", at_least(90)))

VECTOR_COUNT = per(vec={None: 0, **{v: v.count for v in Vec}})
"""The registers of a vector; 0 where there is one register, and no braces."""

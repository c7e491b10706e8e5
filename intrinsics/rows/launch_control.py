"""Launches of other CTAs: asked to be given up, so that their work is done here.

PTX ISA, Parallel Synchronization and Communication Instructions: clusterlaunchcontrol.
"""

from __future__ import annotations

from intrinsics.modifiers import ClusterDimension, LaunchMulticast, ScalarType, Space, Vec
from intrinsics.row import (
    Access,
    Completion,
    Effect,
    Effects,
    Llvm,
    Row,
    address,
    per,
    predicate_result,
    result,
    value,
    vector,
    when,
)
from intrinsics.targets import Feature, at_least, since

T = ScalarType
_NEEDS = since("8.6", at_least(100))
_TRY = "clusterlaunchcontrol.try_cancel.async"
_QUERY = "clusterlaunchcontrol.query_cancel"
_RESPONSE = value("response", T.B128)

# fmt: off
TRY_CANCEL = Row(
    _TRY, "{.space}.mbarrier::complete_tx::bytes{.multicast}.b128", "[a], [mbar]",
    about="Ask to cancel a cluster that has not started, and take its work.\n\n"
    "The response, 16 bytes, is written to shared memory at `a` and completed on `mbar`; with\n"
    "`multicast`, in every CTA of the cluster.",
    qualifiers={"space": (Space.SHARED_CTA,), "multicast": LaunchMulticast},
    operands=(
        address("a", "space", within=Space.SHARED, stored=True),
        address("mbar", "space", within=Space.SHARED),
    ),
    section="clusterlaunchcontrol.try_cancel", needs=_NEEDS,
    rules=(
        when(multicast=LaunchMulticast.ALL).needs(
            "multicast-target", since("8.6", Feature.HAS_FAMILY_CONDITIONAL)),
    ),
    effects=Effects(
        Effect.READS_MEMORY | Effect.WRITES_MEMORY | Effect.ASYNC_PROXY | Effect.CONVERGENT,
        completion=Completion.TRANSACTION,
    ),
    llvm=(
        Llvm(f"{_TRY}.shared", "p3:a, p3:mbar", given={"space": Space.SHARED_CTA}),
        Llvm(f"{_TRY}.multicast.shared", "p3:a, p3:mbar",
             given={"space": Space.SHARED_CTA, "multicast": LaunchMulticast.ALL}),
    ),
)

IS_CANCELED = Row(
    f"{_QUERY}.is_canceled", ".pred.b128", "p, response",
    about="Whether the cluster asked for will not start: its work is this one's.\n\n"
    "`response` is what try_cancel has written: `b.load(there, u32, 4, align=16)`.",
    operands=(predicate_result("p"), _RESPONSE), section=_QUERY, needs=_NEEDS,
    llvm=(Llvm(f"{_QUERY}.is_canceled", "i128:response", "i1:p"),),
)

FIRST_CTAID = Row(
    f"{_QUERY}.get_first_ctaid", "::dimension.b32.b128", "d, response",
    name=f"{_QUERY}.get_first_ctaid.dimension",
    about="The index in the grid of the first CTA of a canceled cluster; undefined where none\n"
    "is canceled.",
    opcode="CLUSTERLAUNCHCONTROL_QUERY_CANCEL_GET_FIRST_CTAID_*",
    qualifiers={"dimension": ClusterDimension},
    operands=(result("d", T.B32), _RESPONSE), section=_QUERY, needs=_NEEDS,
    llvm=(
        Llvm(f"{_QUERY}.get_first_ctaid.{{dimension}}", "i128:response", "i32:d",
             holes={"dimension": {d.value.strip(":"): d for d in ClusterDimension}}),
    ),
)

FIRST_CTAIDS = Row(
    f"{_QUERY}.get_first_ctaid", ".vec.b32.b128", "d, response", qualifiers={"vec": (Vec.V4,)},
    operands=(vector("d", T.B32, per(vec={Vec.V4: 4}), Access.WRITE, sink=True), _RESPONSE),
    section=_QUERY, needs=_NEEDS,
)
# fmt: on

QUERIES = (IS_CANCELED, FIRST_CTAID, FIRST_CTAIDS)
"""What an answer says."""

ROWS = (TRY_CANCEL, *QUERIES)

"""Faults in the simulator: order, schedules, mbarriers, clusters, arithmetic."""

from __future__ import annotations

from tests.mutation.fault import Fault, Kind

_SEMANTICS = "nvgen/sim/semantics/"

# fmt: off
FAULTS = (
    # ---- fences and clocks -------------------------------------------------------------------
    Fault(
        "fence-acquires", Kind.ORDER, "nvgen/sim/races/happens_before.py",
        "            mine.acquire(lanes, within(observed, reach))\n",
        "            pass\n",
        "a fence behind a relaxed read learns nothing",
        "tests/sim/races/test_races.py",
    ),
    Fault(
        "clock-tick", Kind.ORDER, "nvgen/sim/races/happens_before.py",
        "        own[GROUP] = own[:GROUP].min()\n        self.now += 1\n",
        "        own[GROUP] = own[:GROUP].min()\n",
        "what a thread does behind its release counts as released",
        "tests/sim/races/test_races.py",
    ),
    Fault(
        "cluster-barrier-edge", Kind.ORDER, _SEMANTICS + "synchronization/cluster.py",
        "            clocks.acquire(warp, strand.mask, cluster.barrier.released)\n",
        "            pass\n",
        "the barrier of a cluster orders nothing",
        "tests/sim/clusters/test_cluster_barriers.py",
    ),
    Fault(
        "proxy-fence-reach", Kind.ORDER, _SEMANTICS + "synchronization/sync.py",
        "own = space is Space.SHARED_CTA", "own = True",
        "a proxy fence of the cluster reaches its own CTA only",
        "tests/sim/clusters/test_cluster_proxy.py",
    ),
    Fault(
        "later-read", Kind.ORDER, "nvgen/sim/races/shadow.py",
        '            conflicts.append(self._check(self.others, "reads", behind))\n', "",
        "of two readers that nothing orders one is forgotten",
        "tests/sim/races/test_races.py",
    ),
    Fault(
        "cta-has-begun", Kind.ORDER, "nvgen/sim/races/shadow.py",
        "            self._check_begun(accessor, agent)\n", "            pass\n",
        "the memory of a CTA that may not run yet",
        "tests/sim/clusters/test_cluster_start.py",
    ),
    Fault(
        "commit-tracks", Kind.ORDER, _SEMANTICS + "tcgen05/commit.py",
        'op.kind == "mma" and op.thread == thread', 'op.kind == "mma"',
        "a commit tracks the operations of all threads",
        'tests/sim/async_ops/test_hazards.py -k commit',
    ),
    Fault(
        "copy-before-multiply", Kind.ORDER, _SEMANTICS + "tcgen05/order.py",
        'TensorOp.MMA: ("tcgen05.cp", "tcgen05.shift"),', 'TensorOp.MMA: ("tcgen05.shift",),',
        "a multiply overtakes the copy of its operands",
        "tests/sim/tcgen05/test_copy_order.py",
    ),
    Fault(
        "read-group", Kind.ORDER, "nvgen/sim/async_ops/groups.py",
        "return [read if reads else write for read, write in self.older(count)]",
        "return [write for _, write in self.older(count)]",
        "wait_group.read waits for the writes",
        "tests/sim/copies/test_bulk.py tests/sim/copies/test_tma_store.py",
    ),
    Fault(
        "groups-left", Kind.ORDER, "nvgen/sim/async_ops/groups.py",
        "older = self.committed[: max(len(self.committed) - count, 0)]",
        "older = self.committed[: max(len(self.committed) - count + 1, 0)]",
        "a wait leaves one group less than it says",
        "tests/sim/copies/test_bulk.py tests/sim/copies/test_small_copies.py "
        "tests/sim/wgmma/test_wgmma_order.py",
    ),
    # ---- schedules ---------------------------------------------------------------------------
    Fault(
        "never-delays", Kind.SCHEDULE, "nvgen/sim/async_ops/engine.py",
        "if self.schedule.mode is Mode.EARLY and op.number not in self.schedule.delayed:",
        "if op.number not in self.schedule.delayed:",
        "every schedule is early",
        "tests/sim/async_ops/test_engine.py",
    ),
    Fault(
        "late-in-order", Kind.SCHEDULE, "nvgen/sim/async_ops/engine.py",
        "return ([op for op in ready if not op.lazy] or ready)[-1]",
        "return ([op for op in ready if not op.lazy] or ready)[0]",
        "late operations complete in the order of their issue",
        "tests/sim/async_ops/test_engine.py",
    ),
    Fault(
        "first-look", Kind.SCHEDULE, _SEMANTICS + "synchronization/mbarrier.py",
        "    return lanes & before\n", "    return lanes\n",
        "a wait never fails once its phase is complete",
        "tests/sim/async_ops/test_waits.py -k may_fail",
    ),
    # ---- mbarriers ---------------------------------------------------------------------------
    Fault(
        "parity", Kind.BARRIER, "nvgen/sim/threads/barriers.py",
        "return self.phase & 1 != parity", "return self.phase & 1 == parity",
        "the other parity",
        "tests/sim/threads/test_barriers.py",
    ),
    Fault(
        "bytes-before-expect", Kind.BARRIER, "nvgen/sim/threads/barriers.py",
        "        self._settle()  # all bytes may have completed before: so it is on an H200\n", "",
        "an expect_tx behind its bytes completes no phase",
        "tests/sim/threads/test_barriers.py -k before_they_are_expected",
    ),
    Fault(
        "dropped-count", Kind.BARRIER, "nvgen/sim/threads/barriers.py",
        "self.expected = self.pending = self.next_expected", "self.pending = self.expected",
        "who has dropped out is expected in the next phase",
        "tests/sim/threads/test_barriers.py",
    ),
    Fault(
        "box-bytes", Kind.BARRIER, _SEMANTICS + "tma/tensor_copies.py",
        "found.complete(data.size)", "found.complete(self.box.inside().count * data.itemsize)",
        "elements outside of the tensor bring no bytes",
        "tests/sim/copies/test_tma.py",
    ),
    # ---- clusters ----------------------------------------------------------------------------
    Fault(
        "multicast-signal", Kind.CLUSTER, _SEMANTICS + "tma/tensor_copies.py",
        "to.of(target), to.offset)", "to.of(cta), to.offset)",
        "all copies of a multicast signal the CTA that issued it",
        "tests/sim/clusters/test_cluster_tma.py",
    ),
    Fault(
        "rank-order", Kind.CLUSTER, "nvgen/sim/threads/grid.py",
        "for number, (z, y, x) in enumerate(counts):",
        "for number, (y, z, x) in enumerate(counts):",
        "CTAs counted in another order",
        "tests/sim/clusters/test_cluster.py",
    ),
    Fault(
        "even-cta", Kind.CLUSTER, "nvgen/sim/threads/clusters.py",
        "return (cta, peer) if cta.rank < peer.rank else (peer, cta)", "return (cta, peer)",
        "the odd CTA takes itself for the first of its pair",
        "tests/sim/tcgen05/test_mma_pairs.py -k either_cta",
    ),
    # ---- arithmetic --------------------------------------------------------------------------
    Fault(
        "ties-to-even", Kind.ARITHMETIC, "nvgen/sim/semantics/arithmetic/ieee.py",
        "return rest > half or (rest == half and bool(odd))", "return rest >= half",
        "ties away from zero",
        "tests/oracle/test_float_values.py -k half",
    ),
    Fault(
        "rounding-down", Kind.ARITHMETIC, "nvgen/sim/semantics/arithmetic/ieee.py",
        "            return bool(sign and rest)\n", "            return False\n",
        "towards zero in place of minus infinity",
        "tests/oracle/test_float_intrinsics.py -k rounding_mode",
    ),
    Fault(
        "signed-bytes", Kind.ARITHMETIC, _SEMANTICS + "arithmetic/integers.py",
        "pairs = zip(_parts(a, 8, left), _parts(b, 8, right), strict=True)",
        "pairs = zip(_parts(a, 8, left), _parts(b, 8, left), strict=True)",
        "dp4a with one sign for both sides",
        "tests/oracle/test_integer_values.py -k nvvm_intrinsics",
    ),
    Fault(
        "permuted-sign", Kind.ARITHMETIC, _SEMANTICS + "arithmetic/integers.py",
        "byte = 0xFF if byte & 0x80 else 0", "byte = 0xFF if byte & 0x40 else 0",
        "another bit for the sign of a byte",
        "tests/oracle/test_integer_values.py -k nvvm_intrinsics",
    ),
    Fault(
        "saturated-sum", Kind.ARITHMETIC, _SEMANTICS + "wgmma/effect.py",
        "cells = accumulate_integers(total, old, saturate=form.saturate)",
        "cells = accumulate_integers(total, old, saturate=False)",
        ".satfinite is forgotten",
        "tests/sim/wgmma/test_wgmma_values.py -k saturate",
    ),
)
# fmt: on

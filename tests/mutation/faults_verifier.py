"""Faults in the verifier: records, descriptors, functions, launches."""

from __future__ import annotations

from tests.mutation.fault import Fault, Kind

_FUNCTION = "isel/verifier/function/"

# fmt: off
FAULTS = (
    Fault(
        "later-numbers", Kind.RULE, "isel/verifier/record.py",
        "        yield from self._later_numbers(mi, attributes)\n", "",
        "record level: numbers that only newer targets take",
        'tests/oracle/test_legality.py -k "tensor and map and fields"',
    ),
    Fault(
        "packed-words", Kind.RULE, "isel/verifier/record.py",
        "            yield _of_problem(row, problem)\n        for problem in operand_problems(",
        "            pass\n        for problem in operand_problems(",
        "record level: words that contradict their opcode",
        "tests/isel/verifier/test_packed_words.py",
    ),
    Fault(
        "swizzle-code-7", Kind.RULE, "isel/verifier/descriptors/shared.py",
        "    if code in (3, 5, 7):\n        yield", "    if code in (3, 5):\n        yield",
        "descriptor level: one invalid code",
        "tests/isel/verifier/descriptors/test_descriptors.py",
    ),
    Fault(
        "matrix-address", Kind.FIELD, "isel/verifier/descriptors/shared.py",
        "if rest := address.value & 15:", "if rest := address.value & 7:",
        "descriptor level: an address behind a multiple of 8",
        "tests/isel/verifier/descriptors/test_descriptors.py",
    ),
    Fault(
        "wgmma-reserved", Kind.RULE, "isel/verifier/descriptors/warpgroup.py",
        "if not bits.value & (7 << 46 | 0x3FF << 52):", "if not bits.value & (7 << 46):",
        "descriptor level: bits 52 to 61 of wgmma's",
        "tests/isel/verifier/descriptors/test_wgmma_descriptors.py",
    ),
    Fault(
        "proxy-fence", Kind.RULE, "isel/verifier/ordering/judgement/races.py",
        "return None if _has(new.proxied, old.done) else Missing.PROXY_FENCE",
        "return None if _has(new.known, old.done) else Missing.PROXY_FENCE",
        "ordering: stores need no proxy fence",
        "tests/isel/verifier/function/test_function_rules.py",
    ),
    Fault(
        "peer-stays", Kind.RULE, "isel/verifier/ordering/judgement/ends.py",
        "            _left(report, log)\n", "            pass\n",
        "function level: a peer that exits too early",
        "tests/isel/verifier/function/test_cluster_rules.py",
    ),
    Fault(
        "uncommitted", Kind.RULE, _FUNCTION + "wgmma/accumulators.py",
        "for index in state.running.issued:\n                self.report.add(UNCOMMITTED",
        "for index in ():\n                self.report.add(UNCOMMITTED",
        "function level: a multiply in no group",
        "tests/isel/verifier/function/test_wgmma_rules.py",
    ),
    Fault(
        "a-in-accumulator", Kind.RULE, _FUNCTION + "wgmma/accumulators.py",
        "if multiply.a & earlier.d:", "if multiply.a & earlier.a:",
        "function level: A in the accumulator of a multiply that runs",
        "tests/isel/verifier/function/test_wgmma_rules.py",
    ),
    Fault(
        "first-phase", Kind.BARRIER, _FUNCTION + "barriers/first_phase.py",
        "if first_parity(ask) != 1 or", "if first_parity(ask) != 0 or",
        "function level: the parity of the first wait",
        "tests/isel/verifier/function/test_first_phase.py "
        "tests/isel/verifier/function/test_function_sync.py",
    ),
    Fault(
        "arrival-counts", Kind.BARRIER, _FUNCTION + "barriers/mbarriers.py",
        "arrivals[0] >= count", "arrivals[0] >= count - 1",
        "function level: an mbarrier that waits for one arrival too many",
        "tests/isel/verifier/function/test_function_rules.py",
    ),
    Fault(
        "gathered-bytes", Kind.BARRIER, _FUNCTION + "barriers/expect_tx.py",
        "return (times * box, True) if", "return (box, True) if",
        "function level: a copy of four rows brings one",
        "tests/isel/verifier/function/test_expect_tx.py",
    ),
    Fault(
        "told-too-early", Kind.ORDER, "isel/verifier/ordering/events/tensor.py",
        'own[source_of("issued", thread)] = e.machine.issued[thread]',
        'own[source_of("tc", thread)] = e.machine.issued[thread]',
        "ordering: a fence completes what runs",
        "tests/isel/verifier/ordering/test_order_in_runs.py "
        "tests/isel/verifier/function/test_function_rules.py",
    ),
    Fault(
        "multicast-mask", Kind.CLUSTER, _FUNCTION + "barriers/clusters.py",
        "(mask and (size is None or mask < 1 << size))",
        "(mask and (size is None or mask <= 1 << size))",
        "function level: a CTA behind the last one of the cluster",
        "tests/isel/verifier/function/test_cluster_rules.py",
    ),
    Fault(
        "block-depth", Kind.RULE, "isel/verifier/launch.py",
        "_MOST_BLOCK = (1024, 1024, 64)", "_MOST_BLOCK = (1024, 1024, 1024)",
        "launch level: more than 64 threads in z",
        "tests/isel/verifier/test_launch_rules.py",
    ),
    Fault(
        "shared-limit", Kind.RULE, "intrinsics/targets.py",
        "88: 163, 89: 99,", "88: 163, 89: 100,",
        "launch level: a KiB too much on one target",
        "tests/isel/verifier/test_launch_limits.py",
    ),
    Fault(
        "odd-pairs", Kind.RULE, "isel/verifier/launch.py",
        "if first is None or size is None or size % 2 == 0:",
        "if first is None or size is None or size != 1:",
        "launch level: pairs in a cluster of three",
        "tests/isel/verifier/test_launch_limits.py",
    ),
)
# fmt: on

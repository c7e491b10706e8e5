"""Faults in the builder, and in what the driver is asked for."""

from __future__ import annotations

from tests.mutation.fault import Fault, Kind

# fmt: off
FAULTS = (
    Fault(
        "builder-shift", Kind.COMPARE, "nvgen/values/numbers.py",
        '__rrshift__ = _ints("ashr", "lshr"),', '__rrshift__ = _ints("ashr", "ashr"),',
        "x >> n keeps a sign that unsigned integers do not have",
        "tests/nvgen/values/test_operators.py",
    ),
    Fault(
        "builder-less", Kind.COMPARE, "nvgen/values/numbers.py",
        'map(_int_order, ("<", "<=", ">", ">="))', 'map(_int_order, ("<", "<", ">", ">="))',
        "x <= y as x < y",
        "tests/nvgen/values/test_operators.py",
    ),
    Fault(
        "even-cta-bit", Kind.CLUSTER, "nvgen/shared_memory/protocols.py",
        "_ODD_CTA = 1 << 24", "_ODD_CTA = 1 << 25",
        "the pair of CTAs 1 and 3",
        "tests/nvgen/values/test_operators.py",
    ),
    Fault(
        "remote-scope", Kind.ORDER, "nvgen/instructions/table.py",
        '_REMOTE: Attributes = {"scope": Scope.CLUSTER, "space": _CLUSTER}',
        '_REMOTE: Attributes = {"scope": Scope.CTA, "space": _CLUSTER}',
        "arrivals at other CTAs release nothing",
        "tests/nvgen/instructions/test_clusters.py",
    ),
    Fault(
        "loaded-tile-fence", Kind.ORDER, "nvgen/shared_memory/copies.py",
        "            self.fence_proxy_async(Space.SHARED_CTA)\n", "            pass\n",
        "multiplies read a tile through another proxy than wrote it",
        "tests/nvgen/shared_memory/test_tile_copies.py",
    ),
    Fault(
        "expected-bytes", Kind.BARRIER, "nvgen/shared_memory/protocols.py",
        "found = ctas * sum(self._bytes_of(one) for one in copied)",
        "found = sum(self._bytes_of(one) for one in copied)",
        "the bytes of the other CTA are not expected",
        "tests/nvgen/shared_memory/test_protocols.py",
    ),
    Fault(
        "announced-mbarriers", Kind.ORDER, "nvgen/shared_memory/protocols.py",
        "            if not self._is_wide(scope):\n                self._announce()\n",
        "",
        "copies come to an mbarrier before its initialisation",
        "tests/nvgen/shared_memory/test_protocols.py",
    ),
    Fault(
        "tile-copy-width", Kind.ALIGNMENT, "nvgen/shared_memory/copies.py",
        "PERIOD = 8\n", "PERIOD = 4\n",
        "swizzling taken to repeat after four lines",
        "tests/nvgen/shared_memory/test_tile_copies.py",
    ),
    Fault(
        "driver-swizzle", Kind.FIELD, "nvgen/driver/maps.py",
        'Swizzle.B32: "32B",\n    Swizzle.B64: "64B",',
        'Swizzle.B32: "64B",\n    Swizzle.B64: "32B",',
        "two swizzling modes of the driver exchanged",
        "tests/driver/test_map_arguments.py",
    ),
    Fault(
        "driver-corners", Kind.FIELD, "nvgen/driver/maps.py",
        "(list(images.lower), list(images.upper), images.channels, images.pixels)",
        "(list(images.upper), list(images.lower), images.channels, images.pixels)",
        "the two corners of a bounding box exchanged",
        "tests/driver/test_map_arguments.py",
    ),
    Fault(
        "box-limit", Kind.RULE, "intrinsics/tma/rules.py",
        "MOST_BOX, MOST_STEP, MOST_CHANNELS, MOST_PIXELS = 256, 8, 256, 1024",
        "MOST_BOX, MOST_STEP, MOST_CHANNELS, MOST_PIXELS = 255, 8, 256, 1024",
        "a box of 256 elements is refused",
        "tests/nvgen/launching/test_tensor_map_rules.py",
    ),
    Fault(
        "optimiser-target", Kind.SHIELD, "intrinsics/targets.py",
        "_LLVM_RELATIVES = {107: 103}", "_LLVM_RELATIVES: dict[int, int] = {}",
        "a target that LLVM does not know",
        "tests/nvgen/optimizer/test_pipeline.py",
    ),
)
# fmt: on

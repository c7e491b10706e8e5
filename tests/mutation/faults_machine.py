"""Faults in what the machine is: rows, targets, descriptors, layouts, opcodes."""

from __future__ import annotations

from tests.mutation.fault import Fault, Kind

_LEGALITY = "tests/oracle/test_legality.py -k"
_ROWS = "intrinsics/rows/"

# fmt: off
FAULTS = (
    # ---- what targets and versions have ------------------------------------------------------
    Fault(
        "scale-d-on-sm_107", Kind.LEGALITY, "intrinsics/targets.py",
        'HAS_SCALE_INPUT_ACCUMULATOR: "100af 103af 107af"',
        'HAS_SCALE_INPUT_ACCUMULATOR: "100af 103af"',
        "a feature without its newest target",
        "tests/intrinsics/test_targets.py",
    ),
    Fault(
        "first-ptx-of-sm_103f", Kind.LEGALITY, "intrinsics/targets.py",
        "sm_103a 8.8  sm_103f 8.8", "sm_103a 8.8  sm_103f 8.6",
        "a target that is too old by two versions",
        "tests/intrinsics/test_targets.py",
    ),
    Fault(
        "i8-on-sm_103a", Kind.LEGALITY, "intrinsics/targets.py",
        'HAS_TCGEN05_I8: "100a 101a 110a"', 'HAS_TCGEN05_I8: "100a 101a 103a 110a"',
        "a target too many in a rule",
        "tests/isel/verifier/test_rules_in_words.py",
    ),
    Fault(
        "sparse-wgmma-version", Kind.LEGALITY, _ROWS + "wgmma.py",
        '_SPARSE = since("8.2", _HOPPER)', '_SPARSE = since("8.0", _HOPPER)',
        "the first PTX version of another row",
        "tests/oracle/test_wgmma_product.py -k every_verdict",
    ),
    Fault(
        "fp8-m16n8k16-version", Kind.LEGALITY, _ROWS + "mma_families.py",
        'needs("shape-version", since("8.7", _ADA))', 'needs("shape-version", since("8.4", _ADA))',
        "the first PTX version of the row in place of the shape's",
        "tests/oracle/test_mma_sync_product.py -k every_verdict",
    ),
    Fault(
        "gather4-on-hopper", Kind.LEGALITY, _ROWS + "tma.py",
        '"gather4-target", since("8.6", at_least(100))',
        '"gather4-target", since("8.6", at_least(90))',
        "a mode of tensor copies one generation too early",
        _LEGALITY + ' "tensor and four"',
    ),
    Fault(
        "relaxed-mbarrier-version", Kind.LEGALITY, _ROWS + "mbarrier.py",
        'needs("relaxed-target", since("8.6", at_least(90)))',
        'needs("relaxed-target", since("8.0", at_least(90)))',
        "the PTX version of the instruction in place of the modifier's",
        "tests/oracle/test_version_steps.py -k sm_90a",
    ),
    Fault(
        "relaxed-mbarrier-one-version", Kind.LEGALITY, _ROWS + "mbarrier.py",
        'needs("relaxed-target", since("8.6", at_least(90)))',
        'needs("relaxed-target", since("8.5", at_least(90)))',
        "one PTX version too early",
        "tests/oracle/test_version_steps.py -k sm_90a",
    ),
    Fault(
        "launch-bounds-version", Kind.LEGALITY, "isel/verifier/lowest_ptx.py",
        "return Ptx(9, 0)", "return Ptx(8, 0)",
        "the lowest PTX version of a directive",
        "tests/isel/verifier/test_launch_limits.py",
    ),
    # ---- rules of rows -----------------------------------------------------------------------
    Fault(
        "ld-16x256b-repeats", Kind.RULE, _ROWS + "tcgen05.py",
        'when(shape=LdStShape.S16X256B).must("shape-num", num=_UP_TO_X32),\n', "",
        "a dropped rule: .16x256b.x64 would take 256 registers",
        _LEGALITY + " up_to_128_registers",
    ),
    Fault(
        "alloc-512-columns", Kind.RULE, _ROWS + "tcgen05.py",
        "limits.FEWEST_COLUMNS, limits.COLUMNS,", "limits.FEWEST_COLUMNS, 256,",
        "half of the columns",
        _LEGALITY + ' "tcgen05.alloc"',
    ),
    Fault(
        "remote-state", Kind.RULE, _ROWS + "mbarrier.py",
        'when(space=Space.SHARED_CLUSTER).must(\n        "remote-state"',
        'when(space=Space.SHARED_CTA).must(\n        "remote-state"',
        "a rule about another state space",
        _LEGALITY + ' "mbarrier"',
    ),
    Fault(
        "wgmma-types", Kind.RULE, _ROWS + "wgmma.py",
        '    when(atype=T.BF16).must("types", _SAME, btype=T.BF16),\n', "",
        "a dropped rule: bf16 times f16",
        "tests/oracle/test_wgmma_product.py -k each_day",
    ),
    Fault(
        "i8-n-of-a-pair", Kind.RULE, "intrinsics/descriptors/idesc.py",
        "else list(range(32, 257, 32))", "else list(range(16, 257, 16))",
        "N of kind::i8 on a pair of CTAs in steps of one CTA's",
        "tests/intrinsics/test_idesc.py",
    ),
    # ---- descriptors -------------------------------------------------------------------------
    Fault(
        "smem-desc-leading-offset", Kind.FIELD, "intrinsics/descriptors/smem_desc.py",
        "| _encode(self.lbo) << 16", "| _encode(self.lbo) << 17",
        "a field one bit too high",
        "tests/intrinsics/test_smem_desc.py",
    ),
    Fault(
        "smem-desc-span", Kind.FIELD, "intrinsics/descriptors/smem_desc.py",
        "return {0: 16, 1: 128, 2: 128, 4: 64, 6: 32}[self.value]",
        "return {0: 16, 1: 128, 2: 128, 4: 32, 6: 64}[self.value]",
        "the codes of two swizzling modes exchanged",
        "tests/intrinsics/test_smem_desc.py tests/intrinsics/published/test_shared_memory.py "
        "tests/intrinsics/test_umma_layout.py",
    ),
    Fault(
        "idesc-m", Kind.FIELD, "intrinsics/descriptors/idesc.py",
        'return word | _shape_field("M", self.m, 4, 5) << 24 | shift << 30',
        'return word | _shape_field("M", self.m, 4, 5) << 23 | shift << 30',
        "M one bit too low",
        "tests/intrinsics/test_idesc.py",
    ),
    Fault(
        "idesc-n-width", Kind.FIELD, "intrinsics/descriptors/idesc.py",
        "return (word >> 17 & 63) << 3", "return (word >> 17 & 31) << 3",
        "N of 256 is cut to 0",
        "tests/intrinsics/test_idesc.py",
    ),
    Fault(
        "wgmma-desc-swizzle", Kind.FIELD, "intrinsics/descriptors/wgmma_desc.py",
        "Swizzle.B128: 1, Swizzle.B64: 2, Swizzle.B32: 3",
        "Swizzle.B128: 3, Swizzle.B64: 2, Swizzle.B32: 1",
        "the codes of swizzling in the order of their sizes",
        "tests/intrinsics/test_wgmma_desc.py",
    ),
    Fault(
        "zero-mask-spans", Kind.FIELD, "intrinsics/descriptors/tensor_address.py",
        "runs = (self.use_span + 1, self.skip_span + 1)",
        "runs = (self.skip_span + 1, self.use_span + 1)",
        "the two spans exchanged, as Table 45 describes them",
        "tests/intrinsics/test_tensor_address.py",
    ),
    # ---- layouts -----------------------------------------------------------------------------
    Fault(
        "swizzle-32-byte-atoms", Kind.LAYOUT, "intrinsics/layouts/swizzling.py",
        "Swizzle.B128_ATOM32: (2, 5),", "Swizzle.B128_ATOM32: (2, 4),",
        "address bit 4 in place of bit 6",
        "tests/intrinsics/published/test_shared_memory.py",
    ),
    Fault(
        "data-path-c", Kind.LAYOUT, "intrinsics/layouts/data_paths.py",
        "return (0, _HALF) if self in (DataPath.C, DataPath.F) else (0,)",
        "return (0, _HALF) if self is DataPath.F else (0,)",
        "a half data path taken for a whole one",
        "tests/intrinsics/published/test_data_paths.py",
    ),
    Fault(
        "data-path-g", Kind.LAYOUT, "intrinsics/layouts/data_paths.py",
        "return 128 // path.parts", "return 64",
        "the parts of N 64 lanes apart in every layout",
        "tests/intrinsics/published/test_data_paths.py",
    ),
    Fault(
        "metadata-lanes", Kind.LAYOUT, "intrinsics/layouts/metadata.py",
        "+ number // 4 * 8", "+ number // 4 * 4",
        "chunks 4 to 7 in the lanes of other rows",
        "tests/intrinsics/test_metadata.py",
    ),
    Fault(
        "scale-factor-blocks", Kind.LAYOUT, "intrinsics/layouts/scale_factors.py",
        "place // _WORD * _block_columns(size)", "place // _WORD * (_BLOCK_ROWS // _LANES)",
        "the second block of factors four columns on for any number of rows",
        "tests/intrinsics/published/test_scale_factors.py",
    ),
    Fault(
        "fragment-c", Kind.LAYOUT, "intrinsics/layouts/fragments_mma.py",
        "_THREAD % 4 * 2 + number % 2", "_THREAD % 4 + number % 2 * 4",
        "columns of C dealt out one by one",
        "tests/sim/warp/test_mma_sync.py",
    ),
    Fault(
        "fragment-m16n8", Kind.LAYOUT, "intrinsics/layouts/fragments_matrix.py",
        "row + 8 * (byte // 2)", "row + 8 * (byte % 2)",
        "registers and bytes exchanged",
        "tests/intrinsics/test_fragments_matrix.py",
    ),
    # ---- words and numbers -------------------------------------------------------------------
    Fault(
        "kind-codes", Kind.OPCODE, "intrinsics/descriptors/packed_fields.py",
        "    3: MmaKind.F16,\n    4: MmaKind.TF32,", "    3: MmaKind.TF32,\n    4: MmaKind.F16,",
        "two codes of the control word exchanged",
        "tests/intrinsics/test_packed_fields.py",
    ),
    Fault(
        "collector-buffer", Kind.OPCODE, "intrinsics/descriptors/packed_fields.py",
        "| self.buffer << 4", "| self.buffer << 5",
        "a field of the collector word one bit too high",
        "tests/intrinsics/test_packed_fields.py",
    ),
    Fault(
        "opcode-number", Kind.OPCODE, _ROWS + "tcgen05_mma.py",
        '"TCGEN05_MMA_CTA_GROUP2_DENSE": 10526,\n    "TCGEN05_MMA_CTA_GROUP2_SPARSE": 10527,',
        '"TCGEN05_MMA_CTA_GROUP2_DENSE": 10527,\n    "TCGEN05_MMA_CTA_GROUP2_SPARSE": 10526,',
        "two published numbers exchanged",
        "tests/isel/test_reference.py",
    ),
    # ---- LLVM's numbers ----------------------------------------------------------------------
    Fault(
        "llvm-kinds", Kind.IMMEDIATE, _ROWS + "tcgen05_mma_names.py",
        "{0: MmaKind.F16, 1: MmaKind.TF32,", "{0: MmaKind.TF32, 1: MmaKind.F16,",
        "two of LLVM's kinds exchanged",
        "tests/oracle/test_tcgen05_names.py",
    ),
    Fault(
        "llvm-collectors", Kind.IMMEDIATE, _ROWS + "tcgen05_mma_names.py",
        '_OPS = ("discard", "lastuse", "fill", "use")',
        '_OPS = ("fill", "use", "lastuse", "discard")',
        "the order of the collector word taken for LLVM's",
        "tests/oracle/test_tcgen05_names.py",
    ),
    Fault(
        "llvm-cta-group", Kind.IMMEDIATE, _ROWS + "tma.py",
        '"cta_group": {0: None, 1: CtaGroup.ONE, 2: CtaGroup.TWO}',
        '"cta_group": {0: CtaGroup.ONE, 1: CtaGroup.TWO, 2: None}',
        "LLVM's number counted from 0",
        'tests/oracle/test_ptx_text.py -k "every_call and tma"',
    ),
)
# fmt: on

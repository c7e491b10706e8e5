"""9.7.16.8, Tensor Memory and Register Load/Store Instructions: tcgen05.ld, .st, .wait."""

from __future__ import annotations

from tests.manual.rows import Held, Row, kernels, statements


def _list(count: int) -> str:
    return "{" + ", ".join(f"%r{n}" for n in range(count)) + "}"


def _ld(shape: str, num: int, count: int, more: str = "", offset: str = "") -> str:
    return f"tcgen05.ld.sync.aligned.{shape}.x{num}{more}.b32 {_list(count)}, [%r200]{offset};"


def _st(shape: str, num: int, count: int, more: str = "", offset: str = "") -> str:
    return f"tcgen05.st.sync.aligned.{shape}.x{num}{more}.b32 [%r200]{offset}, {_list(count)};"


def _red(text: str, count: int = 2, shape: str = "32x32b", offset: str = "") -> str:
    head = f"tcgen05.ld.red.sync.aligned.{shape}.x{count}.{text}"
    return f"{head} {_list(count)}, %r201, [%r200]{offset};"


_PLACED = "mov.b32 %r9, {}; tcgen05.{}"
_LOAD = "ld.sync.aligned.32x32b.x1.b32 {%r1}, [%r9];"
_STORE = "st.sync.aligned.32x32b.x1.b32 [%r9], {%r1};"
_UNKNOWN, _MISSING = "ptx/unknown-modifier", "ptx/missing-modifier"

ROWS = (
    # ---- 9.7.16.8.3: tcgen05.ld ---------------------------------------------------------------
    Row("table 47: .16x64b.x4 has 4 registers", _ld("16x64b", 4, 4), _ld("16x64b", 4, 8),
        "tcgen05.ld/vector-size", refused=True),
    Row("table 47: .16x128b.x4 has 8", _ld("16x128b", 4, 8), _ld("16x128b", 4, 4),
        "tcgen05.ld/vector-size", refused=True),
    Row("table 47: .16x256b.x1 has 4", _ld("16x256b", 1, 4), _ld("16x256b", 1, 1),
        "tcgen05.ld/vector-size", refused=True),
    Row("table 47: .32x32b.x128 has 128", _ld("32x32b", 128, 128), _ld("32x32b", 128, 64),
        "tcgen05.ld/vector-size", refused=True),
    Row("table 47: .16x128b has no .x128", _ld("16x128b", 64, 128), _ld("16x128b", 128, 256),
        "tcgen05.ld/shape-num", refused=True),
    Row("table 47: .16x256b has no .x64", _ld("16x256b", 32, 128), _ld("16x256b", 64, 256),
        "tcgen05.ld/shape-num", refused=True),
    Row("ld: .num is a power of two", _ld("32x32b", 2, 2), _ld("32x32b", 3, 3), _UNKNOWN,
        refused=True),
    Row("ld: .num has to stand", _ld("32x32b", 1, 1), _ld("32x32b", 1, 1).replace(".x1", ""),
        _MISSING, refused=True),
    Row("ld: .16x32bx2 has an offset", _ld("16x32bx2", 1, 1, offset=", 8"), _ld("16x32bx2", 1, 1),
        "tcgen05.ld/half-split", refused=True),
    Row("ld: no other shape has one", _ld("16x64b", 1, 1), _ld("16x64b", 1, 1, offset=", 8"),
        "tcgen05.ld/half-split", refused=True),
    Row("ld: the offset is an immediate", _ld("16x32bx2", 2, 2, offset=", 16"),
        _ld("16x32bx2", 2, 2, offset=", %r9"), "tcgen05.ld/operands", refused=True),
    Row("ld: it packs, and does not unpack", _ld("32x32b", 2, 2, ".pack::16b"),
        _ld("32x32b", 2, 2, ".unpack::16b"), _UNKNOWN, refused=True),
    Row("ld: .sync is mandatory", _ld("32x32b", 8, 8), _ld("32x32b", 8, 8).replace(".sync", ""),
        _MISSING, refused=True),
    Row("ld: .aligned is mandatory", _ld("32x32b", 16, 16),
        _ld("32x32b", 16, 16).replace(".aligned", ""), _MISSING, refused=True),
    Row("ld: it ends at the last column", _PLACED.format(511, _LOAD), _PLACED.format(512, _LOAD),
        "tcgen05.ld/tensor-bounds"),
    Row("9.7.16.8.1: a warp's lanes begin at a multiple of 32", _PLACED.format(64 << 16, _LOAD),
        _PLACED.format(48 << 16, _LOAD), "tcgen05.ld/lane"),
    # ---- tcgen05.ld.red ------------------------------------------------------------------------
    Row("ld.red: .x2 at least", _red("min.u32"), _red("min.u32", 1), _UNKNOWN,
        refused=True, target="sm_103a"),
    Row("ld.red: no shape but two", _red("max.s32"), _red("max.s32", shape="16x64b"), _UNKNOWN,
        refused=True, target="sm_103a"),
    Row("ld.red: .abs is for f32", _red("min.abs.f32"), _red("min.abs.u32"),
        "tcgen05.ld.red/abs-type", refused=True, target="sm_103a"),
    Row("ld.red: .NaN is for f32", _red("max.NaN.f32"), _red("max.NaN.s32"),
        "tcgen05.ld.red/nan-type", refused=True, target="sm_103a"),
    Row("ld.red: it does not add", _red("max.u32"), _red("add.u32"), _UNKNOWN, refused=True,
        target="sm_103a"),
    Row("ld.red: .16x32bx2 has an offset", _red("max.u32", shape="16x32bx2", offset=", 16"),
        _red("max.u32", shape="16x32bx2"), "tcgen05.ld.red/half-split", refused=True,
        target="sm_103a"),
    Row("ld.red: sm_100a has not", _red("min.s32"), _red("min.s32"), "tcgen05.ld.red/target",
        refused=True, elsewhere="sm_103f"),
    Row("ld.red: not before 8.8", _red("min.s32", 4), _red("min.s32", 4),
        "tcgen05.ld.red/target", refused=True, target="sm_101a", ptx="8.7",
        elsewhere="sm_101a 8.8"),
    # ---- 9.7.16.8.4: tcgen05.st ----------------------------------------------------------------
    Row("table 48: .16x64b.x4 has 4 registers", _st("16x64b", 4, 4), _st("16x64b", 4, 2),
        "tcgen05.st/vector-size", refused=True),
    Row("table 48: .16x256b.x2 has 8", _st("16x256b", 2, 8), _st("16x256b", 2, 2),
        "tcgen05.st/vector-size", refused=True),
    Row("table 48: .16x128b has no .x128", _st("16x128b", 64, 128), _st("16x128b", 128, 256),
        "tcgen05.st/shape-num", refused=True),
    Row("table 48: .16x256b has no .x128", _st("16x256b", 32, 128), _st("16x256b", 128, 256),
        "tcgen05.st/shape-num", refused=True),
    Row("st: .16x32bx2 has an offset", _st("16x32bx2", 1, 1, offset=", 8"), _st("16x32bx2", 1, 1),
        "tcgen05.st/half-split", refused=True),
    Row("st: it unpacks, and does not pack", _st("16x128b", 1, 2, ".unpack::16b"),
        _st("16x128b", 1, 2, ".pack::16b"), _UNKNOWN, refused=True),
    Row("st: .aligned is mandatory", _st("32x32b", 1, 1),
        _st("32x32b", 1, 1).replace(".aligned", ""), _MISSING, refused=True),
    Row("st: it ends at the last lane", _PLACED.format(96 << 16, _STORE),
        _PLACED.format(128 << 16, _STORE), "tcgen05.st/tensor-bounds"),
    # ---- 9.7.16.8.5: tcgen05.wait --------------------------------------------------------------
    Row("wait: it says for what", "tcgen05.wait::ld.sync.aligned;", "tcgen05.wait.sync.aligned;",
        _MISSING, refused=True),
    Row("wait: for nothing but ld and st", "tcgen05.wait::st.sync.aligned;",
        "tcgen05.wait::mma.sync.aligned;", "ptx/unknown-instruction", refused=True),
    Row("wait: .sync and .aligned are mandatory", "@%p1 tcgen05.wait::st.sync.aligned;",
        "tcgen05.wait::st;", _MISSING, refused=True),
)  # fmt: skip

HELD = (
    Held("table of 9.7.16.8.1: each warp has its quarter", "tcgen05.ld/lane-quarter",
         ("all warps load lanes 0 to 31", "sixteen lanes a warp",
          "quarters counted from the first warp of the role")),
    Held("ld: all threads give one address", "tcgen05.ld/uniform-address",
         ("an address for each thread", "a column for each thread")),
    Held("st: all threads give one address", "tcgen05.st/uniform-address",
         ("stored at an address for each thread",)),
    Held("9.7.16.6.4.5: no anti-dependency without wait::ld", "tcgen05.ld/register-overwritten",
         ("a register is written while it is loaded", "a register is loaded twice at once")),
    Held("ld: all threads of the warp execute it, and none has left", "tcgen05.ld/aligned",
         ("half a warp loads", "a lane has left")),
    Held("st: all threads decide alike, and none has left", "tcgen05.st/aligned",
         ("the data decide who stores", "a lane has left before it stores")),
    Held("wait: all threads of the warp execute it, and none has left", "tcgen05.wait/aligned",
         ("a lane does not wait for its load", "a lane has left before it waits")),
    Held("a load is complete behind wait::ld only", "tcgen05.ld/no-wait",
         ("freed while it is loaded", "given back while it is loaded",
          "the second load is not waited for", "stored over its own load")),
    Held("a store is complete behind wait::st only", "tcgen05.st/no-wait",
         ("a store is loaded at once", "wait::ld where wait::st belongs",
          "A is stored and not waited for")),
)  # fmt: skip

test_a_sentence_about_a_statement = statements(ROWS)
test_a_sentence_about_a_kernel = kernels(HELD)

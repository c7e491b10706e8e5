"""Tile multiplies: their kernels give what numpy gives, and `nvgen trace` tells from them on."""

from __future__ import annotations

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import nvgen as nvgen_package
from asmprinter.tile_reader import read_tiles
from intrinsics.element import ElementType
from intrinsics.findings import SelectionError, Verdict, verdict
from intrinsics.layouts.data_paths import data_path
from intrinsics.layouts.metadata import metadata_cells
from intrinsics.layouts.sparse import compress
from intrinsics.modifiers import MmaKind
from intrinsics.multiplies.mma_atom import MmaAtom
from intrinsics.multiplies.register_atom import machine_of
from intrinsics.multiplies.tile_dot import dot_of, parse_any, pick_dot
from intrinsics.multiplies.tile_multiply import Tile, TileMultiply
from intrinsics.targets import TARGETS
from nvgen.compilation.compile_text import compile_text
from nvgen.compilation.compiled import Compiled
from nvgen.compilation.options import Options
from nvgen.tiles.kernels import TileKernel, kernel, with_atom
from tests.each import each
from tests.nvgen.conftest import Nvgen
from tests.nvgen.walkthrough.test_walkthrough_variants import as_bytes, exact, factor_image, numbers

E = ElementType
DTYPES: dict[E, object] = {
    E.BF16: ml_dtypes.bfloat16,
    E.F16: np.float16,
    E.F32: np.float32,
    E.E4M3: ml_dtypes.float8_e4m3fn,
    E.E5M2: ml_dtypes.float8_e5m2,
    E.S8: np.int8,
    E.U8: np.uint8,
    E.S32: np.int32,
    E.E2M1: ml_dtypes.float4_e2m1fn,
}


def multiply(m: int, n: int, k: int, a: E, b: E, c: E) -> TileMultiply:
    return TileMultiply(Tile(m, k, a), Tile(k, n, b), Tile(m, n, c))


TILES = (
    multiply(64, 128, 16, E.BF16, E.BF16, E.F32),  # spans of 32 bytes
    multiply(128, 64, 32, E.F16, E.BF16, E.F32),  # of 64
    multiply(128, 64, 64, E.F16, E.F16, E.F16),  # of 128
    multiply(64, 32, 128, E.BF16, E.BF16, E.F32),  # two spans of 128
    multiply(256, 64, 32, E.BF16, E.BF16, E.F32),  # two atoms along M
    multiply(64, 512, 16, E.F16, E.F16, E.F16),  # two atoms along N
    multiply(256, 128, 16, E.BF16, E.BF16, E.F32),
    multiply(128, 64, 16, E.F32, E.F32, E.F32),
    multiply(128, 16, 64, E.E4M3, E.E5M2, E.F32),
    multiply(64, 32, 64, E.S8, E.U8, E.S32),
)


BLACKWELL = TARGETS["sm_100a"]


def kernel_of(tile: TileMultiply, target: str, atom: str = "") -> tuple[TileKernel, Compiled]:
    """The kernel of a tile, with the atom that is picked or given; nothing is wrong with it."""
    machine = TARGETS[target]
    dot = dot_of(tile, parse_any(atom)) if atom else pick_dot(tile, machine=machine_of(machine))
    assert dot.problems() == []
    made = kernel(dot, machine)
    compiled = compile_text(made.llvm, Options(target=target))
    assert verdict(compiled.findings) is Verdict.CLEAN
    return made, compiled


def product(
    tile: TileMultiply, made: TileKernel, compiled: Compiled, schedule: str, *given: np.ndarray
) -> np.ndarray:
    """D of a run, in numbers that hold it exactly."""
    d = np.zeros((tile.c.rows, tile.c.columns), DTYPES[tile.c.element])
    compiled.run(
        *given, d, grid=made.ctas, cluster=made.ctas, block=made.threads, smem=made.shared,
        schedule=schedule,
    )  # fmt: skip
    return d.astype(np.float64)


def gives_what_numpy_gives(tile: TileMultiply, target: str, schedule: str, atom: str = "") -> None:
    """With small integers, of which every sum is exact; the atom is picked, or given."""
    made, compiled = kernel_of(tile, target, atom)
    rng = np.random.default_rng(1)
    low = 0 if E.U8 in (tile.a.element, tile.b.element) else -2
    a = rng.integers(low, 3, (tile.a.rows, tile.a.columns)).astype(DTYPES[tile.a.element])
    b = rng.integers(low, 3, (tile.b.columns, tile.b.rows)).astype(DTYPES[tile.b.element])
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    assert np.array_equal(product(tile, made, compiled, schedule, a, b), exact)


@pytest.mark.turns(8)
@pytest.mark.parametrize("schedule", ["early", "late"])
@pytest.mark.parametrize("tile", TILES, ids=lambda tile: f"{tile.a}-{tile.b}-{tile.c}")
def test_the_kernel_of_a_tile_gives_what_numpy_gives(tile: TileMultiply, schedule: str) -> None:
    gives_what_numpy_gives(tile, "sm_100a", schedule)


VARIANTS = {
    "sm100_umma_m256n64k16_f32_bf16_bf16_2cta": multiply(256, 64, 32, E.BF16, E.BF16, E.F32),
    "sm100_umma_m128n64k16_f32_bf16_bf16_2cta": multiply(256, 128, 16, E.BF16, E.BF16, E.F32),
    "sm100_umma_m256n32k32_s32_s8_u8_2cta": multiply(256, 32, 128, E.S8, E.U8, E.S32),
    "sm100_umma_m32n64k16_f32_f16_f16_ws": multiply(32, 64, 64, E.F16, E.F16, E.F32),
    "sm100_umma_m64n128k16_f32_bf16_bf16_ws": multiply(128, 128, 16, E.BF16, E.BF16, E.F32),
    "sm100_umma_m128n64k32_f32_e4m3_e5m2_ws": multiply(128, 64, 64, E.E4M3, E.E5M2, E.F32),
}
"""Atoms of pairs, and weight-stationary ones, with tiles of one atom and of several."""


@each("atom", VARIANTS)
def test_atoms_of_pairs_and_weight_stationary_ones(atom: str) -> None:
    gives_what_numpy_gives(VARIANTS[atom], "sm_100a", "late", atom)


SPARSE = {
    "sm100_umma_m128n64k32_f32_f16_f16_sp": multiply(128, 64, 64, E.F16, E.F16, E.F32),
    "sm100_umma_m256n64k32_f32_f16_f16_sp_2cta": multiply(256, 64, 64, E.F16, E.F16, E.F32),
    "sm100_umma_m128n64k32_f32_f16_f16_sp_ws": multiply(128, 64, 32, E.F16, E.F16, E.F32),
    "sm100_umma_m64n64k64_f32_e4m3_e4m3_sp": multiply(128, 64, 64, E.E4M3, E.E4M3, E.F32),
}


@each("name", SPARSE)
def test_atoms_with_a_sparse_a(name: str) -> None:
    """Of each four elements of A two are zero, and are not stored."""
    tile = SPARSE[name]
    made, compiled = kernel_of(tile, "sm_100a", name)
    a, stored, metadata = sparse_matrix(name, tile.a.rows, tile.a.columns)
    b = numbers((tile.b.columns, tile.b.rows), DTYPES[tile.b.element], 2)
    found = product(tile, made, compiled, "late", stored, b, metadata)
    assert np.array_equal(found, exact(a, b))


def sparse_matrix(name: str, m: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, what is stored of it, and its metadata as tensor memory has them."""
    atom = parse_any(name)
    assert isinstance(atom, MmaAtom)
    dtype, rng = np.dtype(DTYPES[atom.a]), np.random.default_rng(4)
    kept = np.sort(rng.permuted(np.tile(np.arange(4), (m, k // 4, 1)), axis=-1)[..., :2], axis=-1)
    mask = np.zeros((m, k // 4, 4), bool)
    np.put_along_axis(mask, kept, values=True, axis=-1)
    a = np.where(mask.reshape(m, k), rng.integers(1, 3, (m, k)), 0).astype(dtype)
    stored, index = compress(a.view(f"u{dtype.itemsize}"), atom.kind)
    group = 2 if atom.pair else 1
    path = data_path(atom.m, group=group, ws=atom.stationary, sparse=True)
    cells = metadata_cells(path, atom.m, atom.kind, atom.k)[0]
    words = np.zeros((m // atom.m, k // atom.k, group, 128, 4), np.uint32)
    for i, step in np.ndindex(*words.shape[:2]):
        part = np.split(index[i * atom.m : (i + 1) * atom.m], k // atom.k, axis=1)[step]
        places = (cells.rank, cells.lane, cells.column, cells.bit, part)
        rank, lane, column, bit, value = np.broadcast_arrays(*places)
        moved = value.astype(np.uint32) << bit.astype(np.uint32)
        np.bitwise_or.at(words, (i, step, rank, lane, column), moved)
    return a, np.ascontiguousarray(stored), words


SCALED = {
    "sm100_umma_m128n64k32_f32_e4m3_e4m3_bs": multiply(128, 128, 64, E.E4M3, E.E4M3, E.F32),
    "sm100_umma_m256n64k32_f32_e4m3_e4m3_bs_2cta": multiply(256, 64, 64, E.E4M3, E.E4M3, E.F32),
    "sm100_umma_m128n64k32_f32_e4m3_e4m3_bs_2cta": multiply(128, 64, 64, E.E4M3, E.E4M3, E.F32),
    "sm100_umma_m128n128k64_f32_e2m1_e2m1_bs": multiply(128, 128, 128, E.E2M1, E.E2M1, E.F32),
    "sm100_umma_m128n256k64_f32_e2m1_e2m1_bs": multiply(128, 256, 128, E.E2M1, E.E2M1, E.F32),
    "sm100_umma_m128n256k32_f32_e4m3_e4m3_bs_2cta": multiply(128, 256, 32, E.E4M3, E.E4M3, E.F32),
    "sm100_umma_m256n256k64_f32_e2m1_e2m1_bs16_2cta": multiply(256, 256, 64, E.E2M1, E.E2M1, E.F32),
    "sm100_umma_m128n32k64_f32_e2m1_e2m1_bs16": multiply(128, 32, 128, E.E2M1, E.E2M1, E.F32),
}
FACTORS = {MmaKind.MXF8F6F4: 1, MmaKind.MXF4: 2, MmaKind.MXF4NVF4: 4}
"""Factors of a row in one step of K."""


@each("name", SCALED, turns=4)
def test_block_scaled_atoms(name: str) -> None:
    """Factors are powers of two: all sums are exact."""
    tile, atom = SCALED[name], parse_any(name)
    assert isinstance(atom, MmaAtom)
    made, compiled = kernel_of(tile, "sm_100a", name)
    rng, k = np.random.default_rng(3), tile.a.columns
    count = k // atom.k * FACTORS[atom.kind]
    scale = ml_dtypes.float8_e4m3fn if atom.scale is E.UE4M3 else ml_dtypes.float8_e8m0fnu
    given, wide, images = [], [], []
    parts = 2 if made.ctas == 2 and atom.m == 128 else 1
    shares = (tile.a.rows, atom.m // made.ctas, 1), (tile.b.columns, atom.n, parts)
    for rows, each_, halves in shares:
        matrix = numbers((rows, k), DTYPES[atom.a], rows)
        factors = (2.0 ** rng.integers(-1, 2, (rows, count))).astype(scale)
        given.append(as_bytes(matrix).copy())
        repeated = np.repeat(factors.astype(np.float64), k // count, axis=1)
        wide.append(matrix.astype(np.float64) * repeated)
        images.append(factor_images(factors.view(np.uint8), each_, k // atom.k, halves))
    a = images[0].reshape(-1, made.ctas, *images[0].shape[1:]).swapaxes(1, 2)
    found = product(tile, made, compiled, "late", *given, a.copy(), images[1])
    assert np.array_equal(found, wide[0] @ wide[1].T)


def factor_images(codes: np.ndarray, rows: int, steps: int, parts: int) -> np.ndarray:
    """Images of the factors of so many rows each: rows by steps by 32 lanes by 16 bytes.

    Of more than 128 rows there are two behind each other, and so there are of each half in `parts`.
    """
    found = [np.split(part, steps, axis=1) for part in np.split(codes, len(codes) // rows)]
    block = rows // parts if parts > 1 else 128
    cuts = range(0, rows, block)
    return np.array(
        [[[factor_image(step[at : at + block]) for at in cuts] for step in part] for part in found]
    )


IN_REGISTERS = (
    multiply(64, 128, 16, E.BF16, E.BF16, E.F32),
    multiply(128, 64, 32, E.F16, E.F16, E.F32),
    multiply(64, 32, 128, E.BF16, E.BF16, E.F32),  # two spans of 128 bytes
    multiply(256, 64, 16, E.F32, E.F32, E.F32),
    multiply(128, 16, 64, E.E4M3, E.E5M2, E.F32),
    multiply(64, 32, 64, E.S8, E.U8, E.S32),
)


@pytest.mark.turns(3)
@pytest.mark.parametrize("target", ["sm_89", "sm_90a", "sm_120a"])
@each("tile", IN_REGISTERS)
def test_atoms_whose_sums_lie_in_registers(tile: TileMultiply, target: str) -> None:
    gives_what_numpy_gives(tile, target, "late")


PICKED = {
    "sm_80": "sm80_mma_m16n8k16_f32_bf16_bf16",
    "sm_90": "sm80_mma_m16n8k16_f32_bf16_bf16",
    "sm_90a": "sm90_wgmma_m64n128k16_f32_bf16_bf16",
    "sm_100a": "sm100_umma_m64n128k16_f32_bf16_bf16",
    "sm_103a": "sm100_umma_m64n128k16_f32_bf16_bf16",
    "sm_100": "sm80_mma_m16n8k16_f32_bf16_bf16",
    "sm_120a": "sm120_mma_m16n8k16_f32_bf16_bf16",
}
"""The manual's instructions for 64x128x16 of bf16."""


def test_a_target_that_does_not_multiply_such_elements() -> None:
    (read,) = read_tiles(str(IN_REGISTERS[4]))
    with pytest.raises(SelectionError, match="sm_80 has no sm80_mma_m16n8k32_f32_e4m3_e5m2"):
        with_atom(read, TARGETS["sm_80"])


@pytest.mark.parametrize("target", PICKED)
def test_the_atom_is_the_targets(target: str) -> None:
    (read,) = read_tiles(str(TILES[0]))
    assert with_atom(read, TARGETS[target]).atom == PICKED[target]


@pytest.mark.parametrize(
    ("target", "atom", "told"),
    [
        ("sm_100a", "sm80_mma_m16n8k16_f32_bf16_bf16", "another machine's"),
        ("sm_90a", "sm100_umma_m64n128k16_f32_bf16_bf16", "another machine's"),
        ("sm_80", "sm80_mma_m16n8k8_f32_bf16_bf16", "32 bytes of K"),
        ("sm_90a", "sm90_wgmma_m64n64k16_f16_f16_f16", "sums of f32 or s32"),
    ],
)
def test_atoms_that_no_kernel_is_made_for(target: str, atom: str, told: str) -> None:
    found = parse_any(atom)
    tile = multiply(128, max(found.n, 128), 32, found.a, found.b, found.d)
    with pytest.raises(SelectionError, match=told):
        kernel(dot_of(tile, found), TARGETS[target])


@pytest.mark.parametrize(
    ("tile", "target", "told"),
    [
        (
            multiply(256, 512, 16, E.BF16, E.BF16, E.F32), "sm_100a",
            "allocated tmem out of resource: 1024",
        ),
        (
            multiply(128, 256, 1024, E.BF16, E.BF16, E.F32), "sm_100a",
            "do not fit into shared memory",
        ),
        (multiply(256, 512, 16, E.BF16, E.BF16, E.F32), "sm_90a", "registers of a CTA"),
    ],
)  # fmt: skip
def test_a_tile_that_one_cta_has_no_room_for(tile: TileMultiply, target: str, told: str) -> None:
    machine = TARGETS[target]
    with pytest.raises(SelectionError, match=told):
        kernel(pick_dot(tile, machine=machine_of(machine)), machine)


# ---- the command -----------------------------------------------------------------------------

PLAIN = TILES[0]


def test_a_multiply_gets_its_atom() -> None:
    (read,) = read_tiles(str(PLAIN))
    assert with_atom(read, BLACKWELL) == pick_dot(PLAIN)
    (read,) = read_tiles(str(pick_dot(PLAIN)))
    assert with_atom(read, BLACKWELL) == pick_dot(PLAIN)


@pytest.fixture
def tiles(tmp_path: Path) -> Path:
    """Two multiplies: one before its atom, one with it."""
    path = tmp_path / "two.tile"
    path.write_text(f"{PLAIN}\n\n{pick_dot(TILES[1])}\n")
    return path


def test_trace_begins_with_the_tiles(nvgen: Nvgen, tiles: Path) -> None:
    result = nvgen("trace", tiles, "--target", "sm_100a", "--format", "json")
    assert result.status == 0
    report = json.loads(result.out)
    assert (report["mma"], report["of"], report["line"]) == (1, 2, 1)
    stages = {stage["title"]: stage["lines"] for stage in report["stages"]}
    assert stages["tile"] == str(PLAIN).split("\n")
    assert stages["atom"] == str(pick_dot(PLAIN)).split("\n")
    assert any("tcgen05.mma.cta_group::1.kind::f16" in line for line in stages["PTX"])
    assert any("i32 193" in line for line in stages["LLVM IR"])


def test_the_second_multiply_has_its_atom_already(nvgen: Nvgen, tiles: Path) -> None:
    result = nvgen("trace", tiles, "--target", "sm_100a", "--mma", "2")
    assert result.status == 0
    assert "multiply 2 of 2" in result.out
    assert "sm100_umma_m128n64k16_f32_f16_bf16" in result.out


def test_a_multiply_that_is_not_there(nvgen: Nvgen, tiles: Path) -> None:
    result = nvgen("trace", tiles, "--target", "sm_100a", "--mma", "3")
    assert result.status == 2
    assert "1..2" in result.err


WRONG = {
    "tile<16x128": ("tile<32x128", "cuda_tile.mmaf/dimensions", "tile dimensions must conform: "),
    "64x16x": ("96x16x", "cuda_tile.mmaf/power-of-two", "must be powers of two"),
    "x128xf32": ("x128xf16", "cuda_tile.mmaf/no-atom", "D of f16 takes f16 inputs"),
    "128xbf16": ("128xe4m3", "cuda_tile.mmaf/no-atom", "no kind multiplies"),
}


@pytest.mark.parametrize("old", WRONG)
def test_a_multiply_that_is_wrong(nvgen: Nvgen, tmp_path: Path, old: str) -> None:
    new, rule, told = WRONG[old]
    path = tmp_path / "wrong.tile"
    path.write_text(str(PLAIN).replace(old, new))
    result = nvgen("trace", path, "--target", "sm_100a")
    assert result.status == 1
    assert f"error[{rule}]" in result.err
    assert told in result.err
    assert "wrong.tile:1" in result.err
    assert not result.out


def test_a_dot_whose_atom_is_another_ones(nvgen: Nvgen, tmp_path: Path) -> None:
    path = tmp_path / "wrong.tile"
    path.write_text(str(pick_dot(PLAIN)).replace("f32_bf16_bf16", "f32_f16_f16"))
    result = nvgen("trace", path, "--target", "sm_100a")
    assert result.status == 1
    assert "atom input precision incompatible with operand type: " in result.err


def test_an_atom_of_another_machine(nvgen: Nvgen, tiles: Path) -> None:
    result = nvgen("trace", tiles, "--target", "sm_90a", "--mma", "2")
    assert result.status == 1
    assert "error[nv_tileaa.dot/target]: the atom is another machine's" in result.err
    assert "two.tile:6" in result.err


STATEMENTS = {
    "sm_80": "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
    "sm_90a": "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16",
    "sm_120a": "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
}


@pytest.mark.parametrize("target", STATEMENTS)
def test_the_story_of_other_machines(nvgen: Nvgen, tiles: Path, target: str) -> None:
    result = nvgen("trace", tiles, "--target", target, "--format", "json")
    assert result.status == 0
    report = json.loads(result.out)
    stages = {stage["title"]: stage["lines"] for stage in report["stages"]}
    assert stages["tile"] == str(PLAIN).split("\n")
    assert any(PICKED[target] in line for line in stages["atom"])
    assert any(STATEMENTS[target] in line for line in stages["PTX"])


# ---- as any program --------------------------------------------------------------------------


def test_a_file_with_a_multiply_is_compiled_checked_and_run(nvgen: Nvgen, tmp_path: Path) -> None:
    path, ptx = tmp_path / "one.tile", tmp_path / "one.ptx"
    path.write_text(str(PLAIN))
    assert nvgen("check", path, "--target", "sm_100a").status == 0
    assert nvgen("compile", path, "--target", "sm_100a", "-o", ptx).status == 0
    assert "tcgen05.mma.cta_group::1.kind::f16" in ptx.read_text()
    a, b = (np.full((rows, 16), 2.0, np.float16) for rows in (64, 128))
    half = multiply(64, 128, 16, E.F16, E.F16, E.F32)
    path.write_text(str(half))
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    out = tmp_path / "d.npy"
    result = nvgen(
        "run", path, "--target", "sm_100a", "--arg", f"in:{tmp_path / 'a.npy'}",
        "--arg", f"in:{tmp_path / 'b.npy'}", "--arg", f"out:f32[64,128]:{out}",
    )  # fmt: skip
    assert result.status == 0, result.err
    assert np.array_equal(np.load(out), a.astype(np.float32) @ b.astype(np.float32).T)


RUN_AS_THEY_ARE = {
    "sm_90a": "",
    "sm_100a": "sm100_umma_m256n64k16_f32_bf16_bf16_2cta",
}
"""By target, the atom of 256 x 64 x 32; the second is of a pair: two CTAs."""


@pytest.mark.parametrize("target", RUN_AS_THEY_ARE)
def test_the_text_of_a_multiply_says_how_it_is_launched(
    nvgen: Nvgen, tmp_path: Path, target: str
) -> None:
    tile, name = multiply(256, 64, 32, E.BF16, E.BF16, E.F32), RUN_AS_THEY_ARE[target]
    text = str(dot_of(tile, parse_any(name)) if name else tile)
    a, b = numbers((256, 32), DTYPES[E.BF16], 1), numbers((64, 32), DTYPES[E.BF16], 2)
    compiled = nvgen_package.compile(text, target=target)
    d = np.zeros((256, 64), np.float32)
    ctas = 2 if name else 1
    compiled.run(a, b, d, grid=ctas, cluster=ctas, schedule="late")
    assert np.array_equal(d, exact(a, b))

    (tmp_path / "one.tile").write_text(text)
    np.save(tmp_path / "a.npy", a.view(np.uint16))
    np.save(tmp_path / "b.npy", b.view(np.uint16))
    result = nvgen(
        "run", tmp_path / "one.tile", "--target", target,
        "--arg", f"in:{tmp_path / 'a.npy'},dtype=bf16",
        "--arg", f"in:{tmp_path / 'b.npy'},dtype=bf16",
        "--arg", f"out:f32[256,64]:{tmp_path / 'd.npy'}",
    )  # fmt: skip
    assert result.status == 0, result.err
    assert np.array_equal(np.load(tmp_path / "d.npy"), d)
    checked = nvgen("check", tmp_path / "one.tile", "--target", target)
    assert "one.tile: clean" in checked.out


def test_check_tells_what_is_wrong_with_each_of_several(nvgen: Nvgen, tiles: Path) -> None:
    tiles.write_text(tiles.read_text().replace("x16xbf16", "x24xbf16").replace("x64xf32", "x8xf32"))
    result = nvgen("check", tiles, "--target", "sm_100a", "--format", "json")
    assert result.status == 1
    report = result.json()
    assert report["stage"] == "select"
    rules = {finding["rule"] for finding in report["findings"]}
    assert {"cuda_tile.mmaf/dimensions", "nv_tileaa.dot/dimensions"} <= rules


def test_several_multiplies_are_no_kernel(nvgen: Nvgen, tiles: Path) -> None:
    result = nvgen("check", tiles, "--target", "sm_100a")
    assert result.status == 2
    assert "tile/several" in result.out


def test_they_are_made_from_nvgen() -> None:
    tile = nvgen_package.TileMultiply(
        nvgen_package.Tile(64, 16, E.BF16),
        nvgen_package.Tile(16, 128, E.BF16),
        nvgen_package.Tile(64, 128, E.F32),
    )
    assert isinstance(nvgen_package.pick_dot(tile), nvgen_package.TileDot)

"""`nvgen trace`: the stages of one multiply, their words decoded, and notes that name a section."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.nvgen.conftest import Nvgen
from tests.nvgen.programs import ADD
from tests.samples.modules import FOLDER, WALKTHROUGH, gemm_llvm

SAMPLE = WALKTHROUGH
TITLES = [
    *("tile", "atom", "attributes", "LLVM IR", "MIR after select"),
    *("MIR after expand-walkthrough", "PTX"),
]


@pytest.fixture
def gemm(tmp_path: Path) -> Path:
    path = tmp_path / "gemm.ll"
    path.write_text(gemm_llvm())
    return path


def stages(report: dict) -> dict[str, dict]:
    return {stage["title"]: stage for stage in report["stages"]}


def fields(stage: dict, name: str) -> dict[str, str]:
    (found,) = [one for one in stage["decoded"] if one["name"] == name]
    return {field["field"]: field["meaning"] for field in found["fields"]}


def tiles(stage: dict) -> list[str]:
    """The tiles of a stage's operation."""
    return re.findall(r"tile<(\w+)>", " ".join(stage["lines"]))


def atom(stage: dict) -> str:
    """The atom of a stage's operation."""
    (name,) = re.findall(r"#cute.mma_atom<(\w+)>", " ".join(stage["lines"]))
    return name


@pytest.fixture
def report(nvgen: Nvgen) -> dict:
    """The story of the sample."""
    result = nvgen("trace", SAMPLE, "--target", "sm_100a", "--format", "json")
    assert result.status == 0
    assert not result.err
    return result.json()


def test_every_stage_is_there(report: dict) -> None:
    assert [stage["title"] for stage in report["stages"]] == TITLES
    assert (report["mma"], report["of"], report["function"]) == (1, 1, "gemm_blackwell")


def test_from_tile_to_attributes(report: dict) -> None:
    found = stages(report)
    assert "cuda_tile.mmaf" in found["tile"]["lines"][0]
    assert tiles(found["tile"]) == ["64x16xbf16", "16x128xbf16", "64x128xf32"]
    assert atom(found["atom"]) == "sm100_umma_m64n128k16_f32_bf16_bf16"
    attributes = {
        line.split()[0]: line.split(maxsplit=1)[1] for line in found["attributes"]["lines"]
    }
    assert attributes["kind"] == "kind::f16"
    assert attributes["cta_group"] == "cta_group::1"
    assert attributes["collector_a"] == "collector::a::fill"
    assert attributes["a"] == "bf16, MN-major"
    assert attributes["b"] == "bf16, K-major"


def test_the_call_stands_with_its_line(report: dict) -> None:
    source = SAMPLE.read_text().splitlines()
    lines = stages(report)["LLVM IR"]["lines"]
    for line in lines:
        number, _, text = line.partition(" | ")
        assert source[int(number) - 1].strip() == text
    (call,) = [line for line in lines if "mma.cta_group__1" in line]
    assert int(call.split()[0]) == report["line"]


def test_words_are_decoded(report: dict) -> None:
    found = stages(report)
    selected = found["MIR after select"]
    control = fields(selected, "ctrl")
    assert control["cta_group"] == "1 cta_group::1, one CTA"
    assert control["mma_kind"] == "3 kind::f16"
    assert fields(selected, "collector")["op"] == "0 collector::a::fill"
    idesc = fields(selected, "idesc")
    assert (idesc["M"], idesc["N"], idesc["transpose A"]) == ("64", "128", "MN-major")
    a, b = (fields(found["PTX"], f"descriptor of {x}") for x in "AB")
    assert (a["stride dimension"], b["stride dimension"]) == ("1024 bytes", "2048 bytes")
    assert a["swizzling"] == b["swizzling"] == "2 128-byte swizzling"


def test_records_and_statements(report: dict) -> None:
    found = stages(report)
    selected, expanded, ptx = ("\n".join(found[t]["lines"]) for t in TITLES[4:])
    for opcode in ("TCGEN05_ALLOC_SHARED", "TCGEN05_WAIT_CTA_GROUP1", "10522", "imm:193"):
        assert opcode in selected
    assert "TCGEN05_WAIT_CTA_GROUP1" not in expanded
    assert "TCGEN05_COMMIT_CTA_GROUP1_SHARED_CLUSTER" in expanded
    assert "tcgen05.mma.cta_group::1.kind::f16.collector::a::fill" in ptx
    assert "tcgen05.commit.cta_group::1" in ptx


def test_notes_cite_the_manual(report: dict) -> None:
    notes = {f["rule"]: f for f in report["findings"]}
    for name in (
        "alloc",
        "descriptor",
        "idesc",
        "cta-group",
        "wait",
        "ld-shape",
        "ld-half",
        "dealloc",
    ):
        assert notes[f"walkthrough/form-{name}"]["severity"] == "note"
    assert {"walkthrough/columns", "walkthrough/strides"} <= set(notes)
    assert all(note["section"].startswith("PTX ISA, ") for note in notes.values())
    assert all(note["line"] for note in notes.values())


def test_text_for_people(nvgen: Nvgen) -> None:
    result = nvgen("trace", SAMPLE, "--target", "sm_103a")
    assert result.status == 0
    assert "multiply 1 of 1" in result.out
    for number, title in enumerate(TITLES, 1):
        assert f"\n{number} {title}\n" in result.out
    assert "note[walkthrough/form-wait]" in result.out
    assert "\x1b" not in result.out


def test_a_python_file_is_named(nvgen: Nvgen) -> None:
    """Also where something is wrong, and for the first of its TARGETS."""
    tile = FOLDER / "01_gemm_tile.py"
    result = nvgen("trace", tile)
    assert result.out.startswith(f"multiply 1 of 4 of {tile}, gemm_tile.ll:")
    assert "for sm_100a" in result.out.splitlines()[0]
    wrong = nvgen("trace", tile, "--mma", "7")
    assert wrong.status == 2
    assert wrong.err.startswith(f"{tile}:\nerror[trace/mma]")


# ---- LLVM's own spelling ---------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_any_of_the_multiplies_of_llvms_spelling(nvgen: Nvgen, gemm: Path, number: int) -> None:
    result = nvgen(
        "trace", gemm, "--target", "sm_100a", "--mma", str(number), "--format", "json"
    )  # fmt: skip
    assert result.status == 0
    report = result.json()
    found = stages(report)
    assert list(found) == [title for title in TITLES if "expand" not in title]
    assert (report["mma"], report["of"]) == (number, 4)
    assert tiles(found["tile"]) == ["128x16xf16", "16x128xf16", "128x128xf32"]
    assert atom(found["atom"]) == "sm100_umma_m128n128k16_f32_f16_f16"
    (statement,) = found["PTX"]["lines"]
    assert statement.endswith("0;" if number == 1 else "1;")
    values = {one["name"]: one["value"] for one in found["LLVM IR"]["decoded"]}
    assert values["kind 0"] == "kind::f16"
    assert fields(found["PTX"], "descriptor of A")["stride dimension"] == "1024 bytes"
    assert not [f for f in report["findings"] if f["rule"].startswith("walkthrough/")]


RUN_TIME = """\
define ptx_kernel void @k(ptr addrspace(6) %d, i64 %a, i64 %b, i32 %i) {
  call void @llvm.nvvm.tcgen05.mma.shared(ptr addrspace(6) %d, i64 %a, i64 %b, i32 %i, i1 true,
                                          i32 0, i32 1, i32 0)
  ret void
}
"""


def test_a_descriptor_that_is_known_at_run_time_only(nvgen: Nvgen, tmp_path: Path) -> None:
    path = tmp_path / "run.ll"
    path.write_text(RUN_TIME)
    result = nvgen("trace", path, "--target", "sm_100a", "--format", "json")
    assert result.status == 0
    found = stages(result.json())
    assert found["tile"]["lines"] == ["the instruction descriptor is known at run time only"]
    assert "atom" not in found


# ---- bad usage -------------------------------------------------------------------------------


@pytest.mark.parametrize("number", ["0", "2", "-1"])
def test_multiplies_that_are_not_there(nvgen: Nvgen, number: str) -> None:
    result = nvgen("trace", SAMPLE, "--target", "sm_100a", f"--mma={number}")
    assert result.status == 2
    assert "trace/mma" in result.err
    assert "1..1" in result.err
    assert not result.out


def test_a_program_without_one(nvgen: Nvgen, add: Path) -> None:
    assert add.read_text() == ADD
    result = nvgen("trace", add, "--target", "sm_100a")
    assert result.status == 2
    assert "trace/mma" in result.err
    assert "got:" not in result.err


@pytest.mark.parametrize("command", [("trace",), ("check",), ("compile", "-o", "-")])
@pytest.mark.parametrize("target", [(), ("--target", "sm_100a")])
def test_the_third_form_of_a_tile_multiply(
    nvgen: Nvgen, tmp_path: Path, command: tuple[str, ...], target: tuple[str, ...]
) -> None:
    path = tmp_path / "third.mlir"
    path.write_text("%tok = nv_tileas.umma %d, %a, %b -> !nv_tileas.async_token\n")
    result = nvgen(command[0], path, *command[1:], *target)
    assert result.status == 2
    assert "error[tile/lowered]" in result.text
    assert "third.mlir:1" in result.text


def test_no_target(nvgen: Nvgen) -> None:
    result = nvgen("trace", SAMPLE)
    assert result.status == 2
    assert "target/missing" in result.err


@pytest.mark.parametrize("emit", ["mir", "ptx"])
def test_other_languages_have_no_stages(nvgen: Nvgen, tmp_path: Path, emit: str) -> None:
    path = tmp_path / f"k.{emit}"
    assert nvgen("compile", SAMPLE, "--target", "sm_100a", "-o", path).status == 0
    result = nvgen("trace", path)
    assert result.status == 2
    assert "trace/language" in result.err


def test_a_program_that_is_not_selected(nvgen: Nvgen) -> None:
    result = nvgen("trace", SAMPLE, "--target", "sm_90a")
    assert result.status == 1
    assert "select/target" in result.err


def test_a_program_that_is_wrong(nvgen: Nvgen, tmp_path: Path) -> None:
    """The story is told all the same, and the error with it."""
    path = tmp_path / "wrong.ll"
    path.write_text(SAMPLE.read_text().replace("i32 193", "i32 705"))
    result = nvgen("trace", path, "--target", "sm_100a")
    assert result.status == 1
    assert "tcgen05.mma/reserved-bits" in result.out
    assert "MIR after select" in result.out

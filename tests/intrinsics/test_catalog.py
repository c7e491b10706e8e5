"""Finding a row: by the beginning of an instruction's name, by LLVM's name."""

from __future__ import annotations

from pathlib import Path

import pytest

from intrinsics import catalog, chapter_words
from intrinsics.catalog import (
    find_head,
    first_word,
    head_words,
    other_instructions,
    spellings,
    spellings_of,
)
from intrinsics.chapter_words import WORDS
from intrinsics.modifiers import CtaGroup, LdStNum, LdStShape, ThreadSync, WaitOp
from intrinsics.reference.chapter_words import index
from tests.each import each


@each(
    "name, head, modifiers",
    [
        # The longest head wins.
        ("tcgen05.mma.ws.sp.cta_group::1.kind::f16", "tcgen05.mma.ws.sp",
         ["cta_group::1", "kind::f16"]),
        ("tcgen05.mma.sp.cta_group::1.kind::f16", "tcgen05.mma.sp", ["cta_group::1", "kind::f16"]),
        ("tcgen05.mma.cta_group::1.kind::f16", "tcgen05.mma", ["cta_group::1", "kind::f16"]),
        ("mbarrier.try_wait.parity.shared.b64", "mbarrier.try_wait.parity", ["shared", "b64"]),
        ("mbarrier.try_wait.shared.b64", "mbarrier.try_wait", ["shared", "b64"]),
        ("mbarrier.arrive.expect_tx.b64", "mbarrier.arrive.expect_tx", ["b64"]),
        ("mbarrier.arrive.b64", "mbarrier.arrive", ["b64"]),
        ("fence.proxy.async.global", "fence.proxy.async", ["global"]),
        ("fence.sc.cluster", "fence", ["sc", "cluster"]),
        ("mul.wide.s32", "mul.wide", ["s32"]),
        ("ret", "ret", []),
    ],
)  # fmt: skip
def test_the_head_of_a_name(name: str, head: str, modifiers: list[str]):
    found, rest = find_head(name)
    assert found is not None
    assert (found.text, rest) == (head, modifiers)


@pytest.mark.parametrize(
    ("name", "preset"),
    [
        ("tcgen05.wait::ld.sync.aligned", {"op": WaitOp.LD}),
        ("tcgen05.wait::st.sync.aligned", {"op": WaitOp.ST}),
        ("tcgen05.fence::before_thread_sync", {"side": ThreadSync.BEFORE}),
        ("bar.sync", {}),
    ],
)
def test_a_value_that_is_glued_to_the_head(name: str, preset: dict[str, object]):
    found, _ = find_head(name)
    assert found is not None
    assert found.preset == preset


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("barrier.cta.sync", "barrier.sync"),
        ("barrier.cta.arrive", "barrier.arrive"),
        ("bar.cta.sync", "bar.sync"),
        ("bar.cta.arrive", "bar.arrive"),
        ("barrier.cta.red.popc.u32", "barrier.red.popc.u32"),
    ],
)
def test_other_names_of_a_head(alias: str, name: str):
    """PTX ISA, barrier: `.cta` says nothing new."""
    one, other = find_head(alias), find_head(name)
    assert one[0] is not None
    assert other[0] is not None
    assert one[0].rows == other[0].rows
    assert one[1] == other[1]


def test_rows_that_share_a_head():
    found, _ = find_head("mov.b64")
    assert found is not None
    assert {row.head for row in found.rows} == {"mov"}
    assert len(found.rows) > 1


@pytest.mark.parametrize("name", ["frobnicate.u32", "tcgen", "", "mbarrierinit"])
def test_no_head(name: str):
    assert find_head(name) == (None, name.split("."))


def test_the_words_by_which_a_chapter_is_found_are_those_of_its_rows() -> None:
    """Else chapters would be imported in vain: `make docs` writes the index anew."""
    for chapter, rows in catalog.chapters().items():
        names = [name for row in rows for name in (row.id, row.head, *row.aliases)]
        assert set(WORDS[chapter].split()) == {first_word(name) for name in names}, chapter
    assert Path(chapter_words.__file__).read_text(encoding="utf-8") == index()


def test_a_row_is_found_before_its_word_is_in_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    without = {**catalog._chapters_by_word()}
    del without["trap"]
    monkeypatch.setattr(catalog, "_chapters_by_word", lambda: without)
    assert [row.head for row in catalog.rows_of("trap") if row.head == "trap"] == ["trap"]


def test_every_row_is_found_by_its_id() -> None:
    for row in (*catalog.rows(), *catalog.pseudo_rows()):
        assert catalog.row(row.id) is row


def test_what_nvgen_knows_is_not_listed_as_unknown():
    assert not other_instructions() & head_words()
    assert "tex" in other_instructions()


def test_a_row_by_its_name():
    assert catalog.row("tcgen05.ld").head == "tcgen05.ld"
    with pytest.raises(KeyError):
        catalog.row("no.such.row")


@pytest.mark.parametrize(
    ("name", "row", "attributes"),
    [
        ("tcgen05.alloc.cg2", "tcgen05.alloc", {"cta_group": CtaGroup.TWO}),
        ("tcgen05.ld.16x256b.x4", "tcgen05.ld",
         {"shape": LdStShape.S16X256B, "num": LdStNum.X4}),
        ("tcgen05.ld.16x32bx2.x8", "tcgen05.ld",
         {"shape": LdStShape.S16X32BX2, "num": LdStNum.X8}),
        ("tcgen05.wait.st", "tcgen05.wait", {"op": WaitOp.ST}),
    ],
)  # fmt: skip
def test_what_an_llvm_name_says(name: str, row: str, attributes: dict[str, object]):
    spelling = spellings()[name]
    assert spelling.row is catalog.row(row)
    assert dict(spelling.attributes) == attributes
    assert spelling in spellings_of(spelling.row)


def test_a_row_without_llvm_names():
    assert spellings_of(catalog.row("add.int")) == ()

"""Sample 14, attention on Hopper: within the bound of its roundings, on any length, of any scores.

numpy computes in f64 what is expected; ptxas says what became of the multiplies.  Mistakes that are
planted in the sample are found by a rule, or by the simulator in a run of two items.
"""

from __future__ import annotations

import functools
import importlib
import sys
import warnings
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from intrinsics.findings import NvgenError, Severity
from nvgen import f16
from nvgen.compilation.compiled import Compiled
from nvgen.testing import Launch, kernel_test
from tests.each import each
from tests.samples.modules import FOLDER, named

pytestmark = [
    pytest.mark.filterwarnings("error::nvgen.FindingWarning"),
    pytest.mark.seldom(3),
]
TARGET = "sm_90a"
PARTS = ("attention.blocks", "14_attention_sm90")


def sample() -> ModuleType:
    return named("14_attention_sm90")


@functools.cache
def compiled(config: object, opt: int | None = None) -> Compiled:
    made: Compiled = sample().build(config).compile(opt=opt)
    return made


def small(causal: bool, **others: object) -> object:
    """Heads of 64, and blocks of as many keys."""
    return sample().Config(64, causal, **{"block": 64, **others})


def run(
    launch: Launch, config, lengths: tuple[int, int], heads: int = 1, ratio: int = 1,
    ctas: int = 2, huge: float = 1.0,
) -> None:  # fmt: skip
    """P and O are rounded once each, to 8 bits or more; sums are of f32."""
    q, k, v = sample().operands(heads, *lengths, config, ratio)
    q[:, ::2] *= 8  # every other row with a peak
    k[:, lengths[1] // 5] *= huge
    o, counter = np.full_like(q, np.nan), np.zeros(1, np.uint32)
    numbers = sample().numbers(config, heads, ratio, *lengths)
    grid = sample().grid(config, heads, lengths[0], ctas)
    launch(compiled(config, launch.opt), q, k, v, o, counter, *numbers, grid=grid)
    expected = sample().attention(q, k, v, config.d**-0.5, causal=config.causal)
    bound = np.abs(v.astype(np.float64)).max() * (2.0**-8 + 2.0**-8) + 1e-5
    assert (np.abs(o.astype(np.float64) - expected) <= bound).all()
    assert counter[0] == 0


@pytest.mark.turns(3)
@kernel_test(schedules="all", random=1, targets=TARGET)
def test_items_of_two_heads(launch: Launch) -> None:
    """Each CTA has two or three items, the last rows of a head being fewer."""
    run(launch, small(True), (136, 136), heads=2)


@pytest.mark.turns(3)
@kernel_test(schedules=["late"], targets=TARGET)
def test_a_score_far_above_those_of_the_first_block(launch: Launch) -> None:
    """The warp multiplies that block again, and scales what it has."""
    run(launch, small(False), (130, 300), huge=60.0)


@kernel_test(schedules=["late"], targets=TARGET)
def test_rows_whose_scores_are_all_minus_infinity_are_zeros(launch: Launch) -> None:
    """Every other row's, by products that f32 does not hold; the others are as they were."""
    config = small(False)
    q, k, v = sample().operands(1, 64, 100, config)
    k[:, :, 0], q[:, ::2, 0], q[:, 1::2, 0] = -3e38, 8, 0
    o, counter = np.full_like(q, np.nan), np.zeros(1, np.uint32)
    numbers = sample().numbers(config, 1, 1, 64, 100)
    launch(compiled(config, launch.opt), q, k, v, o, counter, *numbers, grid=1)
    expected = sample().attention(q, k, v, 64**-0.5, causal=False)
    apart = np.abs(o.astype(np.float64) - expected)[:, 1::2]
    assert (apart <= np.abs(v.astype(np.float64)).max() * 2.0**-7 + 1e-5).all()
    assert not o[:, ::2].any()


@pytest.mark.turns(3)
@kernel_test(schedules=["late"], targets=TARGET)
def test_sums_of_what_is_rounded(launch: Launch) -> None:
    """Of blocks with a score far above the first one's too."""
    run(launch, small(True, exact=True), (130, 130), huge=60.0)


CASES = {
    "d 64, three warpgroups": (64, True, {"warpgroups": 3, "stages": 4}, (300, 270), 1),
    "d 64, f16, a huge score": (64, False, {"dtype": f16}, (40, 300), 1),
    "d 128": (128, True, {}, (140, 140), 1),
    "d 128, heads of Q that share K": (128, False, {}, (64, 150), 2),
    "d 256": (256, True, {"block": 64, "queries": 1}, (70, 140), 1),
}


@pytest.mark.turns(10)
@kernel_test(schedules=["late"], targets=TARGET, opt=[3])
@pytest.mark.parametrize("case", CASES)
def test_sizes_and_types(launch: Launch, case: str) -> None:
    d, causal, others, lengths, ratio = CASES[case]
    config = sample().Config(d, causal, **others)
    run(launch, config, lengths, ratio, ratio, huge=60.0 if "huge" in case else 1.0)


@pytest.mark.turns(16)
@pytest.mark.parametrize(("d", "length"), [(64, 1024), (64, 4096), (128, 4096), (256, 4096)])
def test_multiplies_overlap(d: int, length: int) -> None:
    """ptxas finds nothing to say of them: no multiply waits for another (C7510 and its kin)."""
    made = compiled(sample().choose(d, length, causal=True))
    assembled = made.assembled()
    assert "serialized" not in assembled.log
    assert made.resources.spill_stores <= 32  # bytes, in front of the loop over keys
    multiplying = [loop for loop in made.sass.loops if loop.multiplies]
    assert min(multiplying, key=lambda loop: len(loop.instructions)).spills == 0


# ---- planted mistakes ----------------------------------------------------------------------------

_READ = "            b.cp_async_bulk_wait_group_read(0)\n"
_WRITTEN = "            b.mbarrier_arrive(self.o_full[stage])\n"
MISTAKES: dict[str, tuple[str, str, str]] = {
    "scores before the multiply is through": (
        "        b.wgmma_wait_group(1)\n", "        b.wgmma_wait_group(2)\n", "rule"),
    "V given back before it is read": (
        "        b.wgmma_wait_group(0)\n        self.values.release(self.held.value)\n",
        "        self.values.release(self.held.value)\n        b.wgmma_wait_group(0)\n", "rule"),
    "no fence before the last multiply": (
        "        if fence:\n            b.wgmma_fence()\n", "", "rule"),
    "a wait that each warp decides for itself": (
        "        b.bar_warp_sync()  # all", "        b.wgmma_wait_group(0)\n"
        "        b.bar_warp_sync()  # all",
        "rule"),
    "one warp arrives for all, and each reads K": (
        'self.ring("k", k_tiles)',
        'b.tile_ring("k", k_tiles, consumers=config.warpgroups)', "run"),
    "K given back before the warp reads it again": (
        "        self.keys.release(slot)\n        self.p", "        self.p", "run"),
    "lanes have not read K yet": (
        "        b.bar_warp_sync()  # all lanes have read K; one of them gives it back\n", "",
        "run"),
    "O without a proxy fence": (
        "        b.fence_proxy_async(Space.SHARED_CTA)\n", "", "rule"),
    "O of other lanes": (
        "        b.bar_warp_sync()\n        with b.elect():\n" + _WRITTEN,
        "        with b.elect():\n" + _WRITTEN, "run"),
    "nobody says that O is there": (
        "        with b.elect():\n" + _WRITTEN, "", "rule"),
    "Q filled while O is stored from there": (_READ, "", "run"),
    "the wrong phase of O": ("place.parity)\n            for", "place.parity ^ 1)\n            for",
        "run"),
    "nobody says that nothing comes": (
        "        queries.send(self.total)  # nothing more comes\n", "", "run"),
}  # fmt: skip


def planted(name: str) -> ModuleType:
    """The sample with a mistake in it, or in the module of its blocks."""
    old, new, _ = MISTAKES[name]
    texts = {part: path_of(part).read_text() for part in PARTS}
    (where,) = (stem for stem, text in texts.items() if old in text)
    wrong = texts[where]
    if name.startswith("K given back"):
        check = "        upper, lower = part"
        wrong = wrong.replace(check, "        self.keys.release(slot)\n" + check)
    texts[where] = wrong.replace(old, new)
    blocks, sample_ = (executed(stem, texts[stem]) for stem in PARTS)
    assert sample_.Attention.__bases__ == (blocks.Blocks,)
    return sample_


def path_of(part: str) -> Path:
    """The file of a module among the samples."""
    return FOLDER / f"{part.replace('.', '/')}.py"


def executed(stem: str, text: str) -> ModuleType:
    """A module of this text, which others import by its name while the sample's is made."""
    module = ModuleType(stem)
    module.__file__ = str(path_of(stem))
    sys.modules[stem] = module
    exec(compile(text, module.__file__, "exec"), module.__dict__)
    return module


@pytest.fixture(autouse=True)
def _own_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests import is as it was."""
    sample()
    for stem in PARTS:
        monkeypatch.setitem(sys.modules, stem, importlib.import_module(stem))


def careless(module: ModuleType) -> Compiled:
    """The kernel with a mistake, compiled without a word."""
    with warnings.catch_warnings(action="ignore"):
        made: Compiled = module.build(module.Config(64, causal=False, block=64)).compile()
    return made


@pytest.mark.wrong_kernel
@each("name", MISTAKES, turns=13)
def test_a_planted_mistake_is_found(name: str) -> None:
    module, by = planted(name), MISTAKES[name][2]
    config, made = module.Config(64, causal=False, block=64), careless(module)
    if by == "rule":
        assert [f for f in made.findings if f.severity is not Severity.NOTE]
        return
    q, k, v = module.operands(3, 128, 192, config)
    k[:, 3] *= 60
    o, counter = np.zeros_like(q), np.zeros(1, np.uint32)
    numbers = module.numbers(config, 3, 1, 128, 192)
    with pytest.raises(NvgenError) as caught:
        made.run(q, k, v, o, counter, *numbers, grid=1, device="sim", schedule="late")
    assert {f.rule.split("/")[0] for f in caught.value.findings} == {"sim"}


@pytest.mark.turns(6)
def test_a_wait_that_each_warp_decides_for_itself_is_named() -> None:
    made = careless(planted("a wait that each warp decides for itself"))
    assert "wgmma.wait_group/warpgroup" in {f.rule for f in made.findings}

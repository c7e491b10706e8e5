"""Halves, bfloats and narrower numbers are rounded once, as IEEE 754 and PTX say."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import exact_floats as exact
from tests.oracle.exact_floats import KINDS, Kind, read, write
from tests.oracle.float_runs import (
    ARITHMETIC,
    SUFFIX,
    TARGET,
    _fma,
    _near_ties,
    _only_simulated,
    as_class,
    compare,
    edges,
    kernel,
    on_device,
    some,
    triples,
)

pytestmark = pytest.mark.gpu


@pytest.mark.turns(2)
@pytest.mark.parametrize("target", ["sm_90a", "sm_80", "sm_75"])
@pytest.mark.parametrize("type_", ["half", "bfloat"])
@pytest.mark.parametrize("name", ARITHMETIC)
def test_halves_are_rounded_once(name: str, type_: str, target: str):
    if target != TARGET:
        _only_simulated()
    kind = KINDS[type_]
    rows = triples(kind, every=5)
    numbers = [(read(int(a), kind), read(int(b), kind)) for a, b, _ in rows]
    wanted = [write(ARITHMETIC[name](a, b), kind) for a, b in numbers]
    if target == "sm_75" and type_ == "bfloat":
        # twice: as a float first, of which a subnormal may be a tie
        rough = [write(ARITHMETIC[name](a, b), KINDS["float"]) for a, b in numbers]
        wanted = [w if w < 0 else write(read(w, KINDS["float"]), kind) for w in rough]
    compare(kernel(type_, f"%r = {name} {type_} %a, %b", type_), rows, wanted, kind, target=target)


@pytest.mark.parametrize("type_", ["half", "bfloat", "float", "double"])
def test_fma_is_rounded_once(type_: str):
    kind = KINDS[type_]
    rows = triples(kind, every=7)
    line = f"%r = call {type_} @llvm.fma.{SUFFIX[type_]}({type_} %a, {type_} %b, {type_} %c)"
    compare(kernel(type_, line, type_), rows, [write(_fma(row, kind), kind) for row in rows], kind)


@pytest.mark.turns(2)
@pytest.mark.parametrize("type_", ["half", "bfloat"])
@pytest.mark.parametrize("name", [*ARITHMETIC, "fma", "fneg"])
def test_pairs_are_computed_like_their_elements(name: str, type_: str):
    """%a and %b hold four elements each; the result's four are stored."""
    kind = KINDS[type_]
    dice = [*edges(kind), *some(kind, 82)]
    lanes = np.array(dice, np.uint64)
    rng = np.random.default_rng(7)
    picks = lanes[rng.integers(0, len(lanes), (256, 3, 4))]
    rows = sum(picks[:, :, n] << np.uint64(16 * n) for n in range(4))
    vector = f"<4 x {type_}>"
    given = {"fneg": f"%r = fneg {vector} %a",
             "fma": f"%r = call {vector} @llvm.fma.v4{SUFFIX[type_]}({vector} %a, {vector} %b, "
                    f"{vector} %c)"}  # fmt: skip
    text = kernel(vector, given.get(name, f"%r = {name} {vector} %a, %b"), vector)
    found = on_device(text, rows)
    for n, word in enumerate(found):
        for lane in range(4):
            a, b, c = (read(int(p), kind) for p in picks[n, :, lane])
            number = {"fma": lambda a=a, b=b, c=c: exact.add(exact.multiply(a, b), c),  # type: ignore[misc]
                      "fneg": lambda a=a: exact.negative(a)}.get(
                          name, lambda a=a, b=b: ARITHMETIC[name](a, b))()  # fmt: skip
            got = as_class(word >> 16 * lane & 0xFFFF, kind)
            assert got == write(number, kind), (name, [hex(int(p)) for p in picks[n, :, lane]])


@pytest.mark.parametrize("source", KINDS)
@pytest.mark.parametrize("to", KINDS)
@pytest.mark.parametrize("target", ["sm_90a", "sm_80", "sm_75"])
def test_every_cast_between_types_rounds_once(source: str, to: str, target: str):
    a, b = KINDS[source], KINDS[to]
    if a.width == b.width or (target != TARGET and "bfloat" not in (source, to)):
        pytest.skip("no cast, or the same as on sm_90a")
    if target != TARGET:
        _only_simulated()
    cast = "fpext" if b.width > a.width else "fptrunc"
    patterns = [*edges(a), *some(a, 64), *_near_ties(a, b)]
    rows = np.array([(p, 0, 0) for p in patterns], np.uint64)
    wanted = [write(read(p, a), b) for p in patterns]
    text = kernel(source, f"%r = {cast} {source} %a to {to}", to)
    compare(text, rows, wanted, b, target=target)


@pytest.mark.parametrize("name", ["e4m3x2", "e5m2x2"])
def test_every_byte_and_back(name: str):
    """All finite bytes survive the way to f16x2 and back."""
    words = np.arange(1 << 16, step=257, dtype=np.uint64)
    finite = [w for w in range(256) if w & 0x7F < (0x7F if name == "e4m3x2" else 0x7C)]
    pairs = [a | b << 8 for a, b in zip(finite, reversed(finite), strict=True)]
    rows = np.array([(p, 0, 0) for p in pairs], np.uint64)
    lines = (
        f"%x = call <2 x half> @llvm.nvvm.{name}.to.f16x2.rn(i16 %a)\n"
        f"%r = call i16 @llvm.nvvm.f16x2.to.{name}.rn(<2 x half> %x)"
    )
    assert len(words)
    compare(kernel("i16", lines, "i16"), rows, pairs, None)


@pytest.mark.parametrize(("name", "kind"), [("ff2f16x2", "half"), ("ff2bf16x2", "bfloat")])
@pytest.mark.parametrize("mode", ["rn", "rz"])
def test_the_first_of_two_floats_goes_into_the_upper_half(name: str, kind: str, mode: str):
    source, to = KINDS["float"], KINDS[kind]
    rows = triples(source, every=7)
    line = f"%r = call <2 x {kind}> @llvm.nvvm.{name}.{mode}(float %a, float %b)"
    found = on_device(kernel("float", line, f"<2 x {kind}>"), rows)
    for word, (a, b, _) in zip(found, rows, strict=True):
        for got, given in ((word & 0xFFFF, b), (word >> 16 & 0xFFFF, a)):
            assert as_class(got, to) == write(read(int(given), source), to, mode)


@pytest.mark.parametrize(("mode", "how"), [("rn", "rn"), ("rz", "rz"), ("rna", "rna")])
def test_tf32_has_ten_bits_of_fraction(mode: str, how: str):
    source = KINDS["float"]
    narrow = Kind(19, 11, -126)
    patterns = [p for p in (*edges(source), *some(source, 64)) if not read(p, source).nan]
    rows = np.array([(p, 0, 0) for p in patterns], np.uint64)
    text = kernel("float", f"%r = call i32 @llvm.nvvm.f2tf32.{mode}(float %a)", "i32")
    compare(text, rows, [write(read(p, source), narrow, how) << 13 for p in patterns], None)

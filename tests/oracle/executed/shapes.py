"""What instruction descriptors say: shapes, types, transposition, negation, scale factors.

PTX ISA: Table 39 (shapes and types), Tables 42 to 44 (instruction descriptors), Table 49 (transpose
and negate), Table 50 (N of 8-bit transposed B), Table 54 (scale vectors).
"""

from __future__ import annotations

from dataclasses import dataclass

from intrinsics.modifiers import MmaKind
from tests.intrinsics.published.descriptors import BLOCK_SCALED, INSTRUCTION, pack
from tests.intrinsics.published.packing import PER_CELL
from tests.intrinsics.published.scale_factors import FACTORS, IDS
from tests.oracle.executed.draws import Random
from tests.oracle.executed.forms import Form

TYPES = {
    "F16": ("f16", "bf16"),
    "TF32": ("tf32",),
    "I8": ("u8", "s8"),
    "F8F6F4": ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1"),
    "MXF8F6F4": ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1"),
    "MXF4": ("e2m1",),
    "MXF4NVF4": ("e2m1",),
}
CODES = {
    "f16": 0, "bf16": 1, "tf32": 2, "u8": 0, "s8": 1, "e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4,
    "e2m1": 5,
}  # fmt: skip
BYTE_TYPES = ("u8", "s8", "e4m3", "e5m2", "e2m3", "e3m2", "e2m1")


@dataclass(frozen=True)
class Shape:
    """What the instruction descriptor says, but for scale factors."""

    m: int
    n: int
    k: int
    a: str
    b: str
    d: str
    a_mn: bool
    b_mn: bool
    negate_a: bool
    negate_b: bool
    saturate: bool
    factor: str
    per_row: int
    ids: tuple[int, int]
    selector: int


def draw_shape(rng: Random, form: Form) -> Shape:
    """Any that the manual allows."""
    kind = form.kind.name
    a, b = (str(rng.choice(TYPES[kind])) for _ in range(2))
    if kind == "F16" and rng.random() < 0.3:
        a = b = "f16"
    k = 96 if form.k96 else 8 * PER_CELL[a.upper(), kind] * (2 if form.sparse else 1)
    d = "s32" if kind == "I8" else "f32"
    if (kind == "F16" and a == b == "f16") or kind == "F8F6F4":
        d = str(rng.choice(["f32", "f16"]))
    turns = kind not in ("MXF4", "MXF4NVF4")
    a_mn = bool(turns and not form.a_tensor and rng.random() < 0.4)
    b_mn = bool(turns and rng.random() < 0.4)
    m = int(rng.choice(_rows(form)))
    n = _columns(rng, form, b_mn=b_mn and b in BYTE_TYPES)
    signs = kind != "I8"
    per_row, factor, ids = 0, "ue8m0", (0, 0)
    if form.scaled:
        per_row = _factors_per_row(form, k)
        if form.vector is not None and form.vector.name in ("X4", "BLOCK16"):
            factor = str(rng.choice(["ue8m0", "ue4m3"]))
        ids = (int(rng.choice(IDS[per_row])), int(rng.choice(IDS[per_row])))
    return Shape(
        m, n, k, a, b, d, a_mn, b_mn,
        negate_a=bool(signs and rng.random() < 0.3), negate_b=bool(signs and rng.random() < 0.3),
        saturate=bool(kind == "I8" and rng.random() < 0.5), factor=factor, per_row=per_row, ids=ids,
        selector=int(rng.integers(2)) if form.sparse and kind in ("F16", "TF32") else 0,
    )  # fmt: skip


def _rows(form: Form) -> list[int]:
    if form.pair:
        only_256 = form.k96 or (form.scaled and form.sparse)
        return [256] if only_256 else [128, 256]
    return [32, 64, 128] if form.ws else [128] if form.scaled else [64, 128]


def _columns(rng: Random, form: Form, *, b_mn: bool) -> int:
    if form.ws:
        return int(rng.choice([64, 128] if form.sparse else [64, 128, 256]))
    step = (16 if b_mn or (form.pair and form.kind is MmaKind.I8) else 8) * form.ranks
    allowed = list(range(step, 257, step))
    if form.kind is MmaKind.I8:
        allowed = [n for n in allowed if n <= 32 or n % 16 == 0]
    if rng.random() < 0.3:
        return int(rng.choice([allowed[0], 256]))
    if rng.random() < 0.5:
        allowed = [n for n in allowed if n <= 64]
    return int(rng.choice(allowed))


def _factors_per_row(form: Form, k: int) -> int:
    if form.vector is None:
        return 1 if form.kind is MmaKind.MXF8F6F4 else 3 if form.k96 else 2
    return FACTORS.get((form.kind.name, form.vector.name, k), 2 if k == 128 else 0)


def idesc(form: Form, s: Shape, shift: int = 0) -> int:
    """The instruction descriptor."""
    common = {
        "sparse_id": s.selector, "sparse": int(form.sparse), "a_negate": int(s.negate_a),
        "b_negate": int(s.negate_b), "a_major": int(s.a_mn), "b_major": int(s.b_mn),
        "n": s.n >> 3, "m": s.m >> 4,
    }  # fmt: skip
    if form.scaled:
        one = form.kind is not MmaKind.MXF8F6F4
        return pack(
            BLOCK_SCALED, **common, a=1 if one else CODES[s.a], b=1 if one else CODES[s.b],
            scale=int(s.factor == "ue8m0"),
            k=int(form.k96), a_sf=s.ids[0], b_sf=s.ids[1],
        )  # fmt: skip
    return pack(
        INSTRUCTION, **common, a=CODES[s.a], b=CODES[s.b], saturate=int(s.saturate),
        c={"f16": 0, "f32": 1, "s32": 2}[s.d], max_shift={0: 0, 8: 1, 16: 2, 32: 3}[shift],
    )  # fmt: skip

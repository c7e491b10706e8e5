"""`nvgen draw tmem --what sfa|sfb|metadata`: options become scale factors, or metadata.

Layer: nvgen.commands.
"""

from __future__ import annotations

import argparse

from intrinsics.descriptors.idesc import DENSE_K
from intrinsics.findings import input_error
from intrinsics.layouts.data_paths import DataPath
from intrinsics.layouts.scale_factors import factors_per_row, scale_cells, scale_ids
from intrinsics.modifiers import SCALED_KINDS, MmaKind, ScaleVec
from nvgen.commands.layouts.values import choice, kind_of, number
from nvgen.drawing.factors import factor_picture, metadata_picture
from nvgen.drawing.picture import Picture

SCALE_VECS = {vec.value.removeprefix("scale_vec::"): vec for vec in ScaleVec}
_DEFAULTS = {
    MmaKind.MXF8F6F4: ScaleVec.X1,
    MmaKind.MXF4: ScaleVec.X2,
    MmaKind.MXF4NVF4: ScaleVec.X4,
}


def scaling(
    kind_name: str | None, vec_name: str | None, k_text: str | None, command: str
) -> tuple[MmaKind, ScaleVec, int, int]:
    """The kind, the scale vector, K and the factors of a row that were named.

    Raises: InputError.
    """
    kind = MmaKind.MXF8F6F4 if kind_name is None else kind_of(kind_name, f"{command}/kind")
    if kind not in SCALED_KINDS:
        raise input_error(
            f"{command}/kind", f"{kind.value} has no scale factors", got=kind.value,
            expected=", ".join(k.value for k in SCALED_KINDS),
        )  # fmt: skip
    k = DENSE_K[kind] if k_text is None else number("k", k_text, 32, 128, step=32, command=command)
    if k not in (DENSE_K[kind], 2 * DENSE_K[kind], 96):
        raise input_error(
            f"{command}/k", f"{kind.value} has no such K", got=str(k),
            expected=f"{DENSE_K[kind]}, or {2 * DENSE_K[kind]} of a sparse one, or 96 of 4 bits",
        )  # fmt: skip
    default = ScaleVec.BLOCK16 if kind is MmaKind.MXF4NVF4 else ScaleVec.BLOCK32
    vec = default if k == 96 else _DEFAULTS[kind]
    if vec_name is not None:
        short = vec_name.removeprefix("scale_vec::")
        vec = choice("scale-vec", short, SCALE_VECS, command)
    try:
        return kind, vec, k, factors_per_row(kind, vec, k)
    except ValueError as error:
        raise input_error(
            f"{command}/scale-vec", str(error), got=f"{vec.value}, K = {k}",
            expected="a combination of PTX ISA, Table 54",
            hint="1X with mxf8f6f4, 2X with mxf4, 2X or 4X with mxf4nvf4, block32 or block16 for "
            "K = 96",
        ) from None  # fmt: skip


def elements_text(kind: MmaKind, k: int, factors: int) -> str:
    """The number of elements of a row that share a factor, in words."""
    each = k // factors
    stored = f", of which a sparse A stores {each // 2}," if k == 2 * DENSE_K[kind] else ""
    return f"{each} elements along K{stored}"


def draw_factors(arguments: argparse.Namespace, name: str) -> Picture:
    """The scale factors of A (`sfa`) or of B (`sfb`) of one CTA.

    Raises: InputError.
    """
    kind, vec, k, factors = scaling(arguments.kind, arguments.scale_vec, arguments.k, "draw")
    if arguments.sparse and arguments.k is None:
        k *= 2
    group = number("group", arguments.group, 1, 2)
    m = choice("m", arguments.m, {"256": 256, "128": 128} if group == 2 else {"128": 128})
    ids = {str(i): i for i in scale_ids(factors)}
    scale_id = choice("id", arguments.id, ids)
    rows = m // group if name == "sfa" else number("n", arguments.n, 8, 256, step=8)
    notes = [f"{elements_text(kind, k, factors)} share a factor"]
    if group == 2:
        notes.append(
            "each CTA of the pair has the factors of its own rows of A"
            if name == "sfa"
            else "each CTA of the pair has all of them"
        )
    title = f"{name.upper()} of {kind.value}.{vec.value}, K = {k}, id {scale_id}"
    parts = DataPath.B.parts if name == "sfb" and (group, m) == (2, 128) else 1
    if parts > 1:
        notes.append("the two halves of B's rows lie in lanes of their own")
    cells = scale_cells(rows, factors, scale_id, parts)
    return factor_picture(title, notes, name.upper(), rows, cells)


def draw_metadata(
    arguments: argparse.Namespace, path: DataPath, kind: MmaKind, lane: int
) -> Picture:
    """The sparsity metadata of one instruction.

    Raises: InputError.
    """
    selector = number("id", arguments.id, 0, 3)
    k = 2 * DENSE_K[kind] if kind in DENSE_K else 0
    if not k:
        raise input_error(
            "draw/kind", f"{kind.value} is not documented", got=kind.value,
            expected=", ".join(k.value for k in DENSE_K),
        )  # fmt: skip
    if arguments.k is not None and arguments.k != str(k):
        raise input_error(
            "draw/k", f"a sparse {kind.value} has one K", got=arguments.k, expected=str(k)
        )
    try:
        return metadata_picture(path, kind, k, selector, lane)
    except (ValueError, NotImplementedError) as error:
        known = isinstance(error, ValueError)
        raise input_error(
            "draw/id", str(error) if known else f"this layout is not known: {error}",
            got=str(selector), expected="another selector",
        ) from None  # fmt: skip

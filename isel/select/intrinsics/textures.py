"""LLVM's intrinsics of textures and surfaces as statements of PTX.

Layer: isel.select.  Input: an intrinsic's name.  Output: the statement that it is.  The names are
regular: the geometry, `array`, how the level of detail is chosen, types of texels and coordinates.
PTX ISA, Texture Instructions; Surface Instructions: three coordinates, or two behind the number of
a layer, stand in a vector of four, whose last element counts for nothing.
"""

from __future__ import annotations

import re

from isel.select.intrinsics.statement import Statement

_FETCH = re.compile(
    r"tex(?P<unified>\.unified)?\.(?P<geometry>1d|2d|3d|cube)(?P<array>\.array)?"
    r"(?:\.(?P<level>level|grad))?\.v4(?P<texel>f32|s32|u32)\.(?P<coordinate>f32|s32)"
)
_WITHOUT_SAMPLER = re.compile(
    r"tex\.(?:[12]d\.array\.grad|3d\.level|3d\.grad|cube|cube\.array)\.v4[fsu]32\.f32"
)
"""Fetches that ptxas takes with no sampler of its own, in the unified mode, which is CUDA's."""

_GATHER = re.compile(
    r"tld4(?P<unified>\.unified)?\.(?P<component>[rgba])\.2d\.v4(?P<texel>f32|s32|u32)\.f32"
)
_SURFACE = re.compile(
    r"(?P<what>suld|sust\.b|sust\.p)\.(?P<geometry>1d|2d|3d)(?P<array>\.array)?"
    r"\.(?:v(?P<count>[24]))?i(?P<bits>8|16|32|64)\.(?P<outside>clamp|trap|zero)"
)
_QUERY = re.compile(
    r"(?P<what>txq|suq)\.(?P<of>width|height|depth|channel\.order|channel\.data\.type|array\.size"
    r"|num\.samples|num\.mipmap\.levels)"
)
_IS_TYPE = re.compile(r"istypep\.(?P<what>sampler|surface|texture)")
REFERENCES = {"sampler": "samplerref", "surface": "surfref", "texture": "texref"}
"""What a global is by `!nvvm.annotations`.  PTX ISA, Texture, Sampler and Surface Types."""

_DIMENSIONS = {"1d": 1, "2d": 2, "3d": 3, "cube": 3}
_LETTERS = {"f32": "f", "s32": "r", "u32": "r", "8": "h", "16": "h", "32": "r", "64": "l"}


def texture_statement(name: str) -> Statement | None:
    """The statement of an intrinsic, by its name after `llvm.nvvm.`; None for all others."""
    if (found := _FETCH.fullmatch(name)) and not _WITHOUT_SAMPLER.fullmatch(name):
        return _fetch(found)
    if found := _GATHER.fullmatch(name):
        return _gather(found)
    if found := _SURFACE.fullmatch(name):
        return _surface(found)
    if found := _QUERY.fullmatch(name):
        word = found["of"].replace(".", "_")
        return Statement((f"{found['what']}.{word}.b32 $0, [$1];",), "=r,l")
    if found := _IS_TYPE.fullmatch(name):
        return Statement((f"istypep.{REFERENCES[found['what']]} $0, $1;",), "=b,l")
    return None


class _Numbers:
    """Numbers of operands as they come, and their constraints."""

    def __init__(self, results: int, letter: str) -> None:
        self.constraints = [f"={letter}"] * results
        self.results = [f"${n}" for n in range(results)]

    def take(self, letters: str) -> list[str]:
        """The next inputs, one of each letter."""
        first = len(self.constraints)
        self.constraints += letters
        return [f"${first + n}" for n in range(len(letters))]

    def statement(self, text: str) -> Statement:
        """The whole."""
        return Statement((text + ";",), ",".join(self.constraints))


def _braced(operands: list[str]) -> str:
    """A vector; three operands become four."""
    return "{" + ", ".join(operands + operands[-1:] * (len(operands) == 3)) + "}"


def _geometry(found: re.Match[str]) -> str:
    return ("a" if found["array"] else "") + found["geometry"]


def _fetch(found: re.Match[str]) -> Statement:
    numbers = _Numbers(4, _LETTERS[found["texel"]])
    handles = numbers.take("l" if found["unified"] else "ll")
    dimensions = _DIMENSIONS[found["geometry"]]
    letter = _LETTERS[found["coordinate"]]
    where = numbers.take("r" * bool(found["array"]) + letter * dimensions)
    more = ""
    if found["level"] == "level":
        more = ", " + numbers.take("f")[0]
    elif found["level"] == "grad":
        more = "".join(", " + _braced(numbers.take("f" * dimensions)) for _ in range(2))
    words = ["tex", found["level"], _geometry(found), "v4", found["texel"], found["coordinate"]]
    head = ".".join(word for word in words if word)
    address = f"[{', '.join(handles)}, {_braced(where)}]"
    return numbers.statement(f"{head} {_braced(numbers.results)}, {address}{more}")


def _gather(found: re.Match[str]) -> Statement:
    numbers = _Numbers(4, _LETTERS[found["texel"]])
    handles = numbers.take("l" if found["unified"] else "ll")
    address = f"[{', '.join(handles)}, {_braced(numbers.take('ff'))}]"
    head = f"tld4.{found['component']}.2d.v4.{found['texel']}.f32"
    return numbers.statement(f"{head} {_braced(numbers.results)}, {address}")


def _surface(found: re.Match[str]) -> Statement | None:
    """A load or store; sust.p, which converts, takes elements of 32 bits alone."""
    loads, count = found["what"] == "suld", int(found["count"] or 1)
    if found["what"] == "sust.p" and (found["bits"] != "32" or found["outside"] != "trap"):
        return None
    letter = _LETTERS[found["bits"]]
    numbers = _Numbers(count if loads else 0, letter)
    (handle,) = numbers.take("l")
    where = numbers.take("r" * bool(found["array"]) + "r" * _DIMENSIONS[found["geometry"]])
    address = f"[{handle}, {_braced(where)}]"
    vector = f".v{count}" if count > 1 else ""
    what = "suld.b" if loads else found["what"]
    head = f"{what}.{_geometry(found)}{vector}.b{found['bits']}.{found['outside']}"
    if loads:
        return numbers.statement(f"{head} {_braced(numbers.results)}, {address}")
    stored = numbers.take(letter * count)
    return Statement(
        (f"{head} {address}, {_braced(stored)};",),
        ",".join([*numbers.constraints, "~{memory}"]),
    )

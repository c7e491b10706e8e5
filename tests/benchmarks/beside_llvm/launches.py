"""How a kernel is launched: its shape, and what its parameters hold.

Beside `NAME.ll` lies `NAME.json`, a list of launches:

    [{"kernel": "saxpy", "grid": [4096], "block": [256],
      "args": ["i32:1048576", "f32:0.5", "f32[1048576]:normal", "f32[1048576]:normal"]}]

`TYPE:NUMBER` is a number.  `TYPE[COUNT]:FILL` is an array, of which the kernel gets the address:

    normal, uniform     by a seed that the kernel and the argument give; uniform is from 0 to 1
    LOW..HIGH           evenly drawn, HIGH not among them where they are integers
    range, permutation  0 to COUNT - 1, in order or shuffled
    one number          all of them
    A,B,…               these, then again from the first

A list of such texts is a struct by value, each field at the next multiple of its size.  With
`"once": true` a launch needs the arrays as they were at first: no second one may follow it at once.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from nvgen.driver.jobs import LaunchConfig

Array = NDArray[np.generic]

LEVELS = ("default", "O3")
COMPILERS = ("nvgen", "llvm")

TYPES = {
    "u8": np.uint8, "i8": np.int8, "u16": np.uint16, "i16": np.int16, "u32": np.uint32,
    "i32": np.int32, "u64": np.uint64, "i64": np.int64, "f16": np.float16, "bf16": np.uint16,
    "f32": np.float32, "f64": np.float64,
}  # fmt: skip
POINTER = 8
_ARGUMENT = re.compile(r"(?P<type>\w+)(?:\[(?P<count>\d+)\])?:(?P<fill>.+)")


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch; an argument is a text, or a list of them for a struct."""

    kernel: str
    grid: Sequence[int]
    block: Sequence[int]
    args: Sequence[str | Sequence[str]]
    smem: int = 0
    once: bool = False

    @property
    def shape(self) -> LaunchConfig:
        """As the driver takes it."""
        grid, block = (tuple([*size, 1, 1][:3]) for size in (self.grid, self.block))
        return LaunchConfig(grid, block, smem=self.smem)


class About(TypedDict):
    """The launches of a module, and its figures by level and compiler ("O3 llvm")."""

    launches: list[dict[str, object]]
    figures: dict[str, dict[str, int]]


@dataclass(slots=True)
class Arguments:
    """The arrays of a launch, and its parameters: bytes, with places for the arrays' addresses."""

    arrays: list[Array] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    values: list[tuple[bytearray, list[tuple[int, int]]]] = field(default_factory=list)

    def bound(self, addresses: Sequence[int]) -> list[NDArray[np.uint8]]:
        """The bytes of each parameter, when the arrays lie at these addresses."""
        found = []
        for value, places in self.values:
            image = bytearray(value)
            for at, number in places:
                image[at : at + POINTER] = addresses[number].to_bytes(POINTER, "little")
            found.append(np.frombuffer(image, np.uint8).copy())
        return found


def read(path: Path) -> list[Launch]:
    """The launches of a module, from the file beside it."""
    return [Launch(**one) for one in json.loads(path.read_text())]


def packed(file: zipfile.ZipFile) -> list[tuple[str, Launch]]:
    """Every launch of packed modules, with its module's name."""
    return [
        (name, Launch(**one)) for name, about in abouts(file).items() for one in about["launches"]
    ]


def abouts(file: zipfile.ZipFile) -> dict[str, About]:
    """What is packed beside the machine code of each module."""
    suffix = "/about.json"
    return {
        name.removesuffix(suffix): json.loads(file.read(name))
        for name in file.namelist()
        if name.endswith(suffix)
    }


def arguments(launch: Launch) -> Arguments:
    """What a launch is given: the same each time."""
    found = Arguments()
    for number, argument in enumerate(launch.args):
        texts = [argument] if isinstance(argument, str) else argument
        image, places = bytearray(), list[tuple[int, int]]()
        widest = 1
        for place, text in enumerate(texts):
            seed = zlib.crc32(f"{launch.kernel} {number} {place}".encode())
            _append(text, seed, image, places, found)
            widest = max(widest, _size(text))
        image.extend(bytes(-len(image) % widest))
        found.values.append((image, places))
    return found


def _size(text: str) -> int:
    """The bytes of one field."""
    return POINTER if "[" in text else np.dtype(TYPES[text.partition(":")[0]]).itemsize


def _append(
    text: str, seed: int, image: bytearray, places: list[tuple[int, int]], found: Arguments
) -> None:
    """One field behind those before it, at its alignment."""
    match = _ARGUMENT.fullmatch(text)
    if match is None:
        raise ValueError(f"no argument of a launch: {text!r}")
    image.extend(bytes(-len(image) % _size(text)))
    type_, count = match["type"], match["count"]
    if count is None:
        image.extend(_number(type_, match["fill"]))
        return
    places.append((len(image), len(found.arrays)))
    found.arrays.append(_cast(_filled(match["fill"], int(count), seed), type_))
    found.types.append(type_)
    image.extend(bytes(POINTER))


def _number(type_: str, text: str) -> bytes:
    if "f" in type_:
        return _cast(np.array([float(text)]), type_).tobytes()
    size = np.dtype(TYPES[type_]).itemsize
    return (int(text) % (1 << 8 * size)).to_bytes(size, "little")


def _filled(fill: str, count: int, seed: int) -> NDArray[np.generic]:
    random = np.random.default_rng(seed)
    match fill:
        case "normal":
            return random.standard_normal(count, np.float32)
        case "uniform":
            return random.random(count, np.float32)
        case "range":
            return np.arange(count)
        case "permutation":
            return random.permutation(count)
    if ".." in fill:
        low, high = fill.split("..")
        if "." in low + high:
            return random.uniform(float(low), float(high), count)
        return random.integers(int(low), int(high), count)
    return np.resize(np.array([float(one) for one in fill.split(",")]), count)


def _cast(values: NDArray[np.generic], type_: str) -> Array:
    if type_ == "bf16":
        bits = values.astype(np.float32).view(np.uint32)
        return (bits >> 16).astype(np.uint16)
    return values.astype(TYPES[type_])

"""Kernel arguments on the command line.

Layer: nvgen.commands.  `in:A.npy`, `out:f32[128,128]:C.npy`, `inout:A.npy:B.npy`, `i32:64`,
`f32:0.5`, `f16:1.5`, `bf16:1.5`, `tmap:A.npy,box=64x128,swizzle=128`.  numpy cannot name the narrow
floating-point types in a file, so `dtype=bf16` after a file says what its elements are.
"""

from __future__ import annotations

import hashlib
import io
import math
import re

import numpy as np

from intrinsics.element import ElementType
from intrinsics.findings import InputError, Place, input_error
from intrinsics.lazy_dataclass import dataclass
from nvgen.launching.parameters import Argument, Array, Output
from nvgen.launching.tensor_map import TensorMap, tensor_map

_PLAIN = {f"{letter}{bits}": np.dtype(f"{name}{bits}") for letter, name in
          (("i", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)}  # fmt: skip
_DTYPES: dict[str, np.dtype[np.generic]] = {
    **_PLAIN,
    "f64": np.dtype(np.float64),
    **{e.value: np.dtype(e.numpy) for e in ElementType if e.bits >= 8},
}
_COUNT = r"\d{1,10}"
_LARGEST = 1 << 32
"""Bytes of the largest array that the simulator takes."""

_INTEGERS = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"}


@dataclass(slots=True)
class Given:
    """One argument: what the kernel gets, the file that it comes from, and the one that it goes to
    afterwards.
    """

    value: Argument | Output
    output: str = ""
    source: str = ""

    def as_npy(self) -> bytes:
        """The array as the contents of an .npy file."""
        stream = io.BytesIO()
        np.save(stream, self._array())
        return stream.getvalue()

    def only_read(self) -> bytes:
        """A digest of an array that comes from a file and goes to none, without a copy of it; of
        all else nothing.
        """
        if self.output or not self.source:
            return b""
        numbers = np.ascontiguousarray(self._array()).reshape(-1)
        return hashlib.blake2b(numbers.view(np.uint8).data).digest()

    def _array(self) -> Array:
        array = self.value.array if isinstance(self.value, Output) else self.value
        return np.asarray(array.array if isinstance(array, TensorMap) else array)


def parse_argument(text: str) -> Given:
    """Read one `--arg`.

    Raises: InputError.
    """
    kind, _, rest = text.partition(":")
    match kind:
        case "in":
            path, options = _options(rest, text)
            return Given(_load(path, options), source=path)
        case "inout":
            return _inout(rest, text)
        case "out":
            return _out(rest, text)
        case "tmap":
            return _tensor_map(rest, text)
        case "outmap":
            return _output_map(rest, text)
        case "f32" | "f64":
            return Given(_float(rest, kind, text))
        case "f16" | "bf16":
            return Given(_half(rest, kind, text))
        case _ if kind in _INTEGERS:
            return Given(_integer(rest, kind, text))
    raise _bad(text, "no such kind of argument", hint=_typed(text))


def _typed(text: str) -> str:
    """What is said of a number without a type."""
    whole, any_number = r"[-+]?\d+", r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?"
    if not re.fullmatch(any_number, text, re.ASCII):
        return ""
    return f"a number has its type: {'i32' if re.fullmatch(whole, text) else 'f32'}:{text}"


def _bad(text: str, message: str, expected: str = "", hint: str = "") -> InputError:
    forms = "in:A.npy, out:f32[128,128]:C.npy, inout:A.npy:B.npy, i32:64, f32:0.5, f16:0.5, "
    forms += "tmap:A.npy,box=64x128,swizzle=128 or outmap:f32[128,128]:C.npy,box=128x32"
    return input_error("run/argument", message, got=text, expected=expected or forms, hint=hint)


def _options(text: str, whole: str) -> tuple[str, dict[str, str]]:
    path, *options = text.split(",")
    found: dict[str, str] = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not equals:
            raise _bad(whole, f"'{option}' is not NAME=VALUE")
        found[name] = value
    return path, found


def _load(path: str, options: dict[str, str]) -> Array:
    array = _read_npy(path)
    name = options.pop("dtype", None)
    if options:
        raise _bad(path, f"no option '{next(iter(options))}' here")
    kind = array.dtype.kind
    if kind not in "biufcV" or array.dtype.fields is not None:
        raise _unfit(path, str(array.dtype), "an array of numbers")
    if kind == "V" and name is None:
        raise _unfit(path, str(array.dtype), "dtype=bf16, or what the elements are, after the file")
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if name is None:
        return array
    dtype = _dtype(name, path)
    if dtype.itemsize != array.dtype.itemsize:
        raise _bad(path, f"{array.dtype} cannot be read as {name}", "a type of the same size")
    return array.view(dtype)


def _read_npy(path: str) -> Array:
    try:
        with open(path, "rb") as stream:
            if stream.read(2) == b"PK":
                raise _unfit(path, "an .npz archive", "an .npy file: one array")
            stream.seek(0)
            array: Array = np.lib.format.read_array(stream, allow_pickle=False)
            return array
    except InputError:
        raise
    except OSError as error:
        raise _unfit(path, error.strerror or str(error), "an .npy file") from None
    except Exception as error:  # numpy and its header's parser raise a dozen kinds
        raise _unfit(path, str(error).split("\n")[0], "an .npy file") from None


def _unfit(path: str, got: str, expected: str) -> InputError:
    return input_error(
        "run/array",
        f"cannot read an array from {path or repr(path)}",
        place=Place(path),
        got=got,
        expected=expected,
    )


def _dtype(name: str, whole: str) -> np.dtype[np.generic]:
    found = _DTYPES.get(name)
    if found is None:
        raise _bad(whole, f"no element type '{name}'", ", ".join(_DTYPES))
    return found


def _inout(rest: str, whole: str) -> Given:
    source, colon, output = rest.partition(":")
    if not colon or not output:
        raise _bad(whole, "inout takes two files", "inout:A.npy:B.npy")
    path, options = _options(source, whole)
    return Given(np.array(_load(path, options)), output)


def _out(rest: str, whole: str) -> Given:
    match = re.fullmatch(r"(\w+)\[(\d{1,100}(?:,\d{1,100})*)\]:(.+)", rest, re.ASCII)
    if match is None:
        raise _bad(whole, "an output has a type, a shape and a file", "out:f32[128,128]:C.npy")
    shape, dtype = tuple(int(n) for n in match[2].split(",")), _dtype(match[1], whole)
    if len(shape) > 32 or math.prod(shape) * dtype.itemsize > _LARGEST:
        raise _bad(whole, "the array is too large", f"at most {_LARGEST} bytes")
    return Given(Output(np.zeros(shape, dtype)), match[3])


def _tensor_map(rest: str, whole: str) -> Given:
    path, options = _options(rest, whole)
    box, swizzle = _box(options, whole)
    return Given(tensor_map(_load(path, options), box, swizzle), source=path)


def _output_map(rest: str, whole: str) -> Given:
    form = "outmap:f32[128,128]:C.npy,box=128x32,swizzle=128"
    shape, colon, file = rest.partition("]:")
    if not colon:
        raise _bad(whole, "an output has a type, a shape and a file", form)
    path, options = _options(file, whole)
    box, swizzle = _box(options, whole)
    if options:
        raise _bad(whole, f"no option '{next(iter(options))}' here")
    given = _out(f"{shape}{colon}{path}", whole)
    assert isinstance(given.value, Output)
    assert isinstance(given.value.array, np.ndarray)
    return Given(Output(tensor_map(given.value.array, box, swizzle)), given.output)


def _box(options: dict[str, str], whole: str) -> tuple[tuple[int, ...], int]:
    """The box and the swizzle among the options, taken out of them."""
    box, swizzle = options.pop("box", ""), options.pop("swizzle", "0")
    if not re.fullmatch(rf"{_COUNT}(x{_COUNT})*", box, re.ASCII) or not _is_count(swizzle):
        raise _bad(whole, "a tensor map has a box", "tmap:A.npy,box=64x128,swizzle=128")
    return tuple(int(n) for n in box.split("x")), int(swizzle)


def _is_count(text: str) -> bool:
    return re.fullmatch(_COUNT, text, re.ASCII) is not None


def _integer(text: str, kind: str, whole: str) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        raise _bad(whole, f"'{text}' is no integer") from None
    bits = int(kind[1:])
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "i" else (0, (1 << bits) - 1)
    if not low <= value <= high:
        raise _bad(whole, f"{value} does not fit {kind}", f"{low} to {high}")
    return value


def _float(text: str, kind: str, whole: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise _bad(whole, f"'{text}' is no number") from None
    with np.errstate(over="ignore"):
        if kind == "f32" and math.isfinite(value) and np.isinf(np.float32(value)):
            raise _bad(whole, f"{text} does not fit f32", f"at most {np.finfo(np.float32).max}")
    return value


def _half(text: str, kind: str, whole: str) -> np.generic:
    """A half or a bfloat, rounded to nearest."""
    value = _float(text, kind, whole)
    with np.errstate(over="ignore"):
        found: np.generic = np.asarray(value).astype(_DTYPES[kind]).flat[0]
    if math.isfinite(value) and np.isinf(np.asarray(found, np.float64)):
        raise _bad(whole, f"{text} does not fit {kind}", "a smaller number")
    return found

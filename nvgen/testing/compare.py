"""Exact comparison of arrays, and what to say where they differ.

Layer: nvgen.testing.  numpy is imported when something is compared, not when pytest starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from intrinsics.findings import input_error

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.generic]
    Mask = NDArray[np.bool_]


class MismatchError(AssertionError):
    """Two arrays differ; the text says where first, by how much, and in how many elements."""


def assert_exact(got: object, expected: object, *, bits: bool = True, bound: object = None) -> None:
    """Assert that two numpy arrays have one shape, one element type and equal elements.

    Equal means the same bits: NaN equals a NaN with the same payload, 0.0 differs from -0.0.  With
    `bits=False` it means the same value: all NaNs are one, and so are the two zeros.

    `bound` is a largest absolute error, a number or an array that broadcasts to the shape: elements
    may then differ by that much, in the unit of the elements.  Errors are computed in float64 (for
    float64 in long double, for integers exactly); NaN matches NaN only, and an infinity itself.

    bool, integers, floats of up to 64 bits and the types of ml_dtypes can be compared.

    Raises: MismatchError (an AssertionError), InputError for what cannot be compared.
    """
    __tracebackhide__ = True
    left, right = _array(got, "got"), _array(expected, "expected")
    if left.shape != right.shape:
        raise MismatchError(f"the shapes differ: got {left.shape}, expected {right.shape}")
    if left.dtype != right.dtype:
        raise MismatchError(f"the element types differ: got {left.dtype}, expected {right.dtype}")
    if _is_same_memory(left, right):
        raise input_error(
            "test/same-array",
            "the array is compared with itself",
            hint="keep what is expected in an array of its own; the kernel writes in place",
        )
    if bound is not None:
        text = _beyond(left, right, _bound(bound, left.shape))
    else:
        text = _unequal(left, right) if bits else _other_values(left, right)
    if text:
        raise MismatchError(text)


# ---- what can be compared ----------------------------------------------------------------------


def _array(value: object, name: str) -> Array:
    import numpy as np

    if not isinstance(value, (np.ndarray, np.generic)):
        raise _unfit(name, type(value).__name__)
    array: Array = np.asarray(value)
    known = array.dtype.kind in "biuf" and array.dtype.itemsize <= 8
    if not (known or _is_narrow(array.dtype)) or not array.dtype.isnative:
        raise _unfit(name, f"an array of {array.dtype}")
    return array


def _unfit(name: str, got: str) -> Exception:
    return input_error(
        "test/array",
        f"'{name}' cannot be compared",
        got=got,
        expected="a numpy array of bool, integers, floats of up to 64 bits, or ml_dtypes' types",
    )


def _is_narrow(dtype: np.dtype[np.generic]) -> bool:
    """Whether it is one of ml_dtypes' types."""
    return dtype.type.__module__.partition(".")[0] == "ml_dtypes"


def _is_same_memory(left: Array, right: Array) -> bool:
    """Whether two arrays of one shape and type are the same elements in memory."""
    same = left.ctypes.data == right.ctypes.data and left.strides == right.strides
    return same and left.size > 0


def _bound(bound: object, shape: tuple[int, ...]) -> Array:
    import numpy as np

    array = np.asarray(bound)
    wrong = ""
    if array.dtype.kind not in "iuf":
        wrong = f"an array of {array.dtype}"
    elif not (np.isfinite(array) & (array >= 0)).all():
        wrong = "a bound that is negative, infinite or no number"
    else:
        try:
            return np.broadcast_to(array, shape)
        except ValueError:
            wrong = f"shape {array.shape}"
    raise input_error(
        "test/bound",
        "this bounds no error",
        got=wrong,
        expected=f"finite numbers from 0 on that broadcast to {shape}",
    )


# ---- comparing -----------------------------------------------------------------------------------


def _patterns(array: Array) -> NDArray[np.unsignedinteger]:
    """The elements' bits; those that fill up the byte of a narrow type are 0."""
    words = array.copy(order="C").view(f"u{array.dtype.itemsize}")
    masked: NDArray[np.unsignedinteger] = words & words.dtype.type((1 << _width(array.dtype)) - 1)
    return masked


def _width(dtype: np.dtype[np.generic]) -> int:
    """Bits of an element that count."""
    if not _is_narrow(dtype):
        return 8 * dtype.itemsize
    import ml_dtypes

    try:
        return int(ml_dtypes.finfo(dtype).bits)  # type: ignore[no-untyped-call]
    except ValueError:
        return int(ml_dtypes.iinfo(dtype).bits)  # type: ignore[no-untyped-call]


def _wide(array: Array) -> Array:
    """The elements in a type in which their differences are as exact as can be had."""
    import numpy as np

    large = array.dtype.itemsize == 8
    if array.dtype.kind in "biu":
        return array.astype(object if large else np.int64)
    with np.errstate(all="ignore"):
        return array.astype(np.longdouble if large else np.float64)


def _same_value(left: Array, right: Array) -> Mask:
    """Where two wide arrays have the same value; NaN is one value."""
    import numpy as np

    same: Mask = np.asarray((left == right) | ((left != left) & (right != right)), bool)
    return same


def _unequal(got: Array, expected: Array) -> str:
    import numpy as np

    differ: Mask = np.asarray(_patterns(got) != _patterns(expected), bool)
    if not differ.any():
        return ""
    lines = _lines(got, expected, differ)
    if _same_value(_wide(got), _wide(expected)).all():
        lines.append("  the values are equal: bits=False compares values")
    return "\n".join(lines)


def _other_values(got: Array, expected: Array) -> str:
    differ = ~_same_value(_wide(got), _wide(expected))
    return "\n".join(_lines(got, expected, differ)) if differ.any() else ""


def _beyond(got: Array, expected: Array, bound: Array) -> str:
    import numpy as np

    left, right = _wide(got), _wide(expected)
    with np.errstate(all="ignore"):
        error = np.abs(np.subtract(left, right))
        close: Mask = np.asarray(np.less_equal(error, bound), np.bool_)
    within = close | _same_value(left, right)
    if within.all():
        return ""
    first = _first(~within)
    limit = f"  error:    {error[first]}, at most {bound[first]} is allowed"
    head, *rest = _lines(got, expected, ~within)
    return "\n".join([head.replace("differ", "are out of bounds", 1), *rest[:2], limit, *rest[2:]])


# ---- saying it -----------------------------------------------------------------------------------


def _first(differ: Mask) -> tuple[int, ...]:
    import numpy as np

    return tuple(int(i) for i in np.argwhere(differ)[0])


def _lines(got: Array, expected: Array, differ: Mask) -> list[str]:
    """How many elements differ, the first of them, and the smallest box that holds all."""
    import numpy as np

    first, count = _first(differ), int(differ.sum())
    lines = [
        f"{count} of {differ.size} elements differ, the first at {list(first)}",
        f"  got:      {_shown(got, first)}",
        f"  expected: {_shown(expected, first)}",
    ]
    if count > 1:
        where = np.argwhere(differ)
        spans = zip(where.min(axis=0), where.max(axis=0), strict=True)
        box = ", ".join(f"{low}:{high + 1}" for low, high in spans)
        lines.append(f"  all of them lie in [{box}]")
    return lines


def _shown(array: Array, index: tuple[int, ...]) -> str:
    """An element: its value, and its bits where the value does not say them."""
    if array.dtype.kind in "biu":
        return str(array[index])
    digits = (_width(array.dtype) + 3) // 4
    return f"{array[index]} (0x{int(_patterns(array)[index]):0{digits}x})"

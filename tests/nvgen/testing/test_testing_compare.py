"""Exact comparison: what is equal, what differs, and what the message says of it."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from intrinsics.findings import InputError
from nvgen.testing import MismatchError, assert_exact
from tests.each import each

FLOATS = (
    np.float16,
    np.float32,
    np.float64,
    ml_dtypes.bfloat16,
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2,
    ml_dtypes.float6_e2m3fn,
    ml_dtypes.float4_e2m1fn,
)
INTEGERS = (np.int8, np.uint16, np.int32, np.int64, np.uint64, ml_dtypes.int4, ml_dtypes.uint4)


def of_bits(dtype: object, *bits: int) -> np.ndarray:
    """An array of elements with these bits."""
    size = np.dtype(dtype).itemsize
    return np.array(bits, f"u{size}").view(dtype)


def said(got: object, expected: object, **options: object) -> str:
    with pytest.raises(MismatchError) as caught:
        assert_exact(got, expected, **options)
    return str(caught.value)


# ---- equal ---------------------------------------------------------------------------------------


@each("dtype", [*FLOATS, *INTEGERS, np.bool_])
@each("options", [{}, {"bits": False}, {"bound": 0}])
def test_equal_arrays_of_every_type_are_equal(dtype: object, options: dict[str, object]) -> None:
    values = np.array([[0, 1, 2], [3, 1, 0]]).astype(dtype)
    assert_exact(values, values.copy(), **options)
    assert_exact(values[:, ::2], values[:, ::2].copy(), **options)
    assert_exact(values[0, 0], values[0, 0].copy(), **options)
    assert_exact(values[:0], values[:0].copy(), **options)


@each("dtype", [*FLOATS, *INTEGERS, np.bool_])
@each("options", [{}, {"bits": False}, {"bound": 0}])
def test_one_other_element_is_found_in_every_type(
    dtype: object, options: dict[str, object]
) -> None:
    expected = np.zeros((3, 4)).astype(dtype)
    got = expected.copy()
    got[1, 2] = 1
    text = said(got, expected, **options)
    assert text.startswith("1 of 12 elements ")
    assert "the first at [1, 2]" in text


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
def test_the_two_zeros_differ_in_their_bits_only(dtype: object) -> None:
    got, expected = np.array([-0.0], dtype), np.array([0.0], dtype)
    assert "bits=False" in said(got, expected)
    assert_exact(got, expected, bits=False)
    assert_exact(got, expected, bound=0)


def test_nan_equals_the_same_nan() -> None:
    """Quiet NaNs of f32: sign, payload and all; signalling ones keep their bits, too."""
    quiet, other, signalling = 0x7FC00000, 0xFFC00001, 0x7F800001
    for bits in (quiet, other, signalling):
        assert_exact(of_bits(np.float32, bits), of_bits(np.float32, bits))
    text = said(of_bits(np.float32, other), of_bits(np.float32, quiet))
    assert "nan (0xffc00001)" in text
    assert "nan (0x7fc00000)" in text
    assert_exact(of_bits(np.float32, other), of_bits(np.float32, quiet), bits=False)


def test_bits_that_only_fill_a_byte_up_do_not_count() -> None:
    """fp4 lies in the low half of a byte."""
    assert_exact(of_bits(ml_dtypes.float4_e2m1fn, 0xF3), of_bits(ml_dtypes.float4_e2m1fn, 0x03))
    text = said(of_bits(ml_dtypes.float4_e2m1fn, 0x02), of_bits(ml_dtypes.float4_e2m1fn, 0x03))
    assert "1.0 (0x2)" in text
    assert "1.5 (0x3)" in text


# ---- different -----------------------------------------------------------------------------------


def test_the_message_says_how_many_where_first_and_where_all() -> None:
    expected = np.zeros((8, 8), np.float32)
    got = expected.copy()
    got[2:4, 4:8] = 1.5
    assert said(got, expected) == "\n".join(
        [
            "8 of 64 elements differ, the first at [2, 4]",
            "  got:      1.5 (0x3fc00000)",
            "  expected: 0.0 (0x00000000)",
            "  all of them lie in [2:4, 4:8]",
        ]
    )


def test_integers_are_shown_as_numbers() -> None:
    text = said(np.array([1, -7], np.int32), np.array([1, 7], np.int32))
    assert text.split("\n")[1:] == ["  got:      -7", "  expected: 7"]


def test_shapes_and_types_are_not_adapted() -> None:
    ones = np.ones((2, 3), np.float32)
    assert said(ones, np.ones((3, 2), np.float32)) == (
        "the shapes differ: got (2, 3), expected (3, 2)"
    )
    assert said(ones, np.ones((1, 2, 3), np.float32)).startswith("the shapes differ")
    assert said(ones, np.ones((2, 3))) == (
        "the element types differ: got float32, expected float64"
    )
    assert "types differ" in said(np.zeros(1, np.int16), np.zeros(1, np.float16))


def test_a_mismatch_is_an_assertion_error() -> None:
    with pytest.raises(AssertionError):
        assert_exact(np.ones(1), np.zeros(1))


# ---- bounds --------------------------------------------------------------------------------------


def test_an_error_may_be_as_large_as_its_bound() -> None:
    expected = np.array([1, 2, 4], np.float32)
    got = expected + np.array([0.25, -0.5, 0], np.float32)
    assert_exact(got, expected, bound=0.5)
    assert_exact(got, expected, bound=np.array([0.25, 0.5, 0]))
    text = said(got, expected, bound=np.array([0.125, 0.5, 0]))
    assert text.startswith("1 of 3 elements are out of bounds, the first at [0]")
    assert "error:    0.25, at most 0.125 is allowed" in text


def test_bounds_broadcast_to_the_shape_and_not_beyond() -> None:
    expected = np.zeros((2, 3), np.float32)
    got = expected + np.array([[1], [2]], np.float32)
    assert_exact(got, expected, bound=np.array([[1], [2]]))
    with pytest.raises(InputError, match="bounds no error"):
        assert_exact(got, expected, bound=np.ones((4, 2, 3)))


@pytest.mark.parametrize("bound", [-1, np.nan, np.inf, "1", [0, -0.5], None.__class__])
def test_what_is_no_bound_is_refused(bound: object) -> None:
    with pytest.raises(InputError, match="bounds no error"):
        assert_exact(np.zeros(2), np.ones(2), bound=bound)


def test_nan_and_infinity_are_within_no_bound_but_their_own() -> None:
    special = np.array([np.nan, np.inf, -np.inf], np.float32)
    assert_exact(special, special.copy(), bound=1)
    for other in (0.0, np.inf, np.nan):
        got = np.full(3, other, np.float32)
        assert "2 of 3" in said(got, special, bound=1) or "3 of 3" in said(got, special, bound=1)


def test_errors_of_integers_are_exact() -> None:
    """The difference of two 64-bit integers does not fit 64 bits."""
    low, high = np.array([-(2**63)]), np.array([2**63 - 1])
    assert_exact(low, high, bound=np.array([2**64 - 1], np.uint64))
    assert "18446744073709551615, at most 18446744073709551614" in said(
        low, high, bound=np.array([2**64 - 2], np.uint64)
    )
    assert "1 of 1" in said(np.array([2**53 + 1]), np.array([2**53]), bound=0)
    assert "255, at most 254" in said(np.zeros(1, np.uint8), np.array([255], np.uint8), bound=254)


def test_errors_of_bf16_are_computed_in_a_wider_type() -> None:
    """256 and 257 are one number in bf16; 258 - 256 = 2."""
    got, expected = (np.array([x], ml_dtypes.bfloat16) for x in (258, 256))
    assert_exact(got, expected, bound=2)
    assert "error:    2.0, at most 1.5" in said(got, expected, bound=1.5)


# ---- what cannot be compared ---------------------------------------------------------------------


@each(
    "thing",
    [
        1.0,
        [1.0],
        None,
        np.array(["a"]),
        np.array([None]),
        np.zeros(1, np.complex64),
        np.zeros(1, np.dtype("f4").newbyteorder()),
        np.zeros(1, [("x", "f4")]),
    ],
    ids=str,
)
def test_what_cannot_be_compared_is_refused(thing: object) -> None:
    for pair in ((thing, np.zeros(1)), (np.zeros(1), thing)):
        with pytest.raises(InputError, match="cannot be compared"):
            assert_exact(*pair)


def test_an_array_is_not_compared_with_itself() -> None:
    """The kernel wrote in place: got and expected are one array, and always equal."""
    array = np.zeros((3, 2))
    for view in (array, array[:], array.view()):
        with pytest.raises(InputError, match="compared with itself"):
            assert_exact(view, array)
    assert_exact(array[1:], array[:-1])

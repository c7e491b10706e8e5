"""What the operators of PyTorch ask of their tensors: shapes, types, one GPU for all.

A rule is what it is about, whether it holds, what was given, and what is expected.  Calls ask with
numbers, torch.compile with symbols, of which it may not be known.  Nothing here imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

Rule = tuple[str, object, object, object]

HALVES = ("bfloat16", "float16")
EIGHTS = ("float8_e4m3fn", "float8_e5m2")
STORED = (*HALVES, "float32")
SIZES = (64, 128, 256)  # of a head


def broken(rules: Iterable[Rule]) -> Iterator[tuple[object, str]]:
    """What does not hold, or is not known to: the condition, and what to say of it."""
    for what, holds, got, expected in rules:
        if holds is not True:
            yield holds, f"{what}: got {got}, expected {expected}"


def type_of(dtype: object) -> str:
    """The name of an array's type, without its library's."""
    return str(dtype).rpartition(".")[2]


def dimensions(count: int, **tensors) -> Iterator[Rule]:
    """Each tensor has so many."""
    for name, x in tensors.items():
        yield f"dimensions of {name}", len(x.shape) == count, tuple(x.shape), count


def alike(types: tuple[str, ...], **tensors) -> Iterator[Rule]:
    """The first tensor has one of the types, the others the same; all are on one GPU."""
    first = next(iter(tensors.values()))
    dtype = type_of(first.dtype)
    for name, x in tensors.items():
        of, expected = type_of(x.dtype), types if x is first else dtype
        yield f"type of {name}", of in types and of == dtype, of, expected
        yield f"device of {name}", x.device == first.device, x.device, first.device


def array(name: str, x, shape: tuple, dtype: str, device: object) -> Iterator[Rule]:
    """A tensor beside the operands."""
    yield from dimensions(len(shape), **{name: x})
    for axis, (got, expected) in enumerate(zip(x.shape, shape, strict=True)):
        yield f"size {axis} of {name}", got == expected, got, expected
    yield f"type of {name}", type_of(x.dtype) == dtype, type_of(x.dtype), dtype
    yield f"device of {name}", x.device == device, x.device, device


# ---- products ------------------------------------------------------------------------------------


def product(types: tuple[str, ...], a, b, out: object = None) -> Iterator[Rule]:
    """A of M × K and B of N × K, and D's type where one is asked for."""
    yield from dimensions(2, A=a, B=b)
    yield from alike(types, A=a, B=b)
    yield "K of B", b.shape[1] == a.shape[1], b.shape[1], a.shape[1]
    if out is not None:
        yield "type of D", type_of(out) in STORED, type_of(out), STORED


def gated(x, both, turn: int) -> Iterator[Rule]:
    """Rows of both in turns of so many."""
    yield from product(HALVES, x, both)
    n = both.shape[0]
    yield "rows of both", n % (2 * turn) == 0, n, f"a multiple of {2 * turn}"


def quantised(a, b, block: int) -> Iterator[Rule]:
    """Columns of D in blocks of so many."""
    yield from product(HALVES, a, b)
    yield "N", b.shape[0] % block == 0, b.shape[0], f"a multiple of {block}"


def grouped(a, b, experts, block: int) -> Iterator[Rule]:
    """A of M × K, B of experts × N × K, and the expert of so many rows of A each."""
    yield from dimensions(2, A=a)
    yield from dimensions(3, B=b)
    yield from alike(HALVES, A=a, B=b)
    m = a.shape[0]
    yield "K of B", b.shape[2] == a.shape[1], b.shape[2], a.shape[1]
    yield "rows of A", m % block == 0, m, f"a multiple of {block}"
    yield from array("experts", experts, (m // block,), "int32", a.device)


def masked(a, b, counts) -> Iterator[Rule]:
    """A of experts × M × K, B of experts × N × K, and how many rows of each A count."""
    yield from dimensions(3, A=a, B=b)
    yield from alike(HALVES, A=a, B=b)
    yield "experts of B", b.shape[0] == a.shape[0], b.shape[0], a.shape[0]
    yield "K of B", b.shape[2] == a.shape[2], b.shape[2], a.shape[2]
    yield from array("counts", counts, a.shape[:1], "int32", a.device)


def block_scaled(a, b, scale_a, scale_b, block: int) -> Iterator[Rule]:
    """A scale for each 1 × block of A and for each block × block of B, of what is begun too."""
    yield from product(EIGHTS[:1], a, b)
    (m, k), n = a.shape, b.shape[0]
    across, down = (k + block - 1) // block, (n + block - 1) // block
    yield from array("scale_a", scale_a, (m, across), "float32", a.device)
    yield from array("scale_b", scale_b, (down, across), "float32", a.device)


# ---- attention -----------------------------------------------------------------------------------


def heads(count: int, at: int, types: tuple[str, ...], q, k, v) -> Iterator[Rule]:
    """Q, K and V of so many dimensions, of which `at` is heads and the last one is a head's."""
    yield from dimensions(count, Q=q, K=k, V=v)
    yield from alike(types, Q=q, K=k, V=v)
    yield "shape of V", v.shape == k.shape, tuple(v.shape), tuple(k.shape)
    yield "d of Q", q.shape[-1] in SIZES, q.shape[-1], SIZES
    yield "d of K", k.shape[-1] == q.shape[-1], k.shape[-1], q.shape[-1]
    own = k.shape[at]
    yield "heads of K", own > 0, own, "one at least"
    yield "heads of Q", q.shape[at] % own == 0, q.shape[at], f"a multiple of {own}"


def attention(q, k, v) -> Iterator[Rule]:
    """Batch × heads × length × d."""
    yield from heads(4, 1, HALVES, q, k, v)
    yield "batch of K", k.shape[0] == q.shape[0], k.shape[0], q.shape[0]
    yield "length of K", k.shape[2] > 0, k.shape[2], "one at least"


def fp8(q, k, v, q_scale, k_scale, v_scale) -> Iterator[Rule]:
    """Heads × length × d, and a scale for each head."""
    yield from heads(3, 0, EIGHTS[:1], q, k, v)
    yield "length of K", k.shape[1] > 0, k.shape[1], "one at least"
    for name, x, of in (("q_scale", q_scale, q), ("k_scale", k_scale, k), ("v_scale", v_scale, v)):
        yield from array(name, x, of.shape[:1], "float32", q.device)


def packed(
    q, k, v, begins, begins_keys, most: tuple[int, int], causal: bool, window: int
) -> Iterator[Rule]:
    """Rows × heads × d; where sequences begin, and what bounds their lengths, in Q and in K."""
    yield from heads(3, 1, HALVES, q, k, v)
    yield from dimensions(1, begins=begins)
    count = begins.shape[0]
    yield "size 0 of begins", count > 1, count, "one more than there are sequences"
    yield from array("begins", begins, (count,), "int32", q.device)
    yield from array("begins_keys", begins_keys, (count,), "int32", q.device)
    for name, bound in zip(("max_q", "max_k"), most, strict=True):
        yield name, bound > 0, bound, "1 or more"
    yield "window", window >= 0, window, "0 or more"
    yield "window", window == 0 or causal, window, "0 where attention is not causal"


def decode(q, k, v, table, lengths, block_of: Callable[[int], int], rows: int) -> Iterator[Rule]:
    """Sequences × tokens × heads × d, pages × page × heads × d; keys go by in blocks of a size that
    d decides, and a head of K has so many rows of Q at most."""
    yield from heads(4, 2, HALVES, q, k, v)
    block = block_of(q.shape[3])
    page, has = k.shape[1], q.shape[1] * q.shape[2] // k.shape[2]
    fits = page > 0 and (block % page == 0 if page < block else page % block == 0)
    yield "page", fits, page, f"what divides {block}, or a multiple of it"
    yield "rows of Q for a head of K", has <= rows, has, f"{rows} at most"
    yield from dimensions(2, table=table)
    yield from array("table", table, (q.shape[0], table.shape[1]), "int32", q.device)
    yield from array("lengths", lengths, (q.shape[0],), "int32", q.device)

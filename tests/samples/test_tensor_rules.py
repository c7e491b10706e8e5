"""What operators of PyTorch ask of their tensors, in words; arrays of numpy stand for these."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from intrinsics.element import ElementType
from tests.each import each
from tests.samples.modules import FOLDER, named

E = ElementType
BF16, FP8, F32, I32 = (np.dtype(t) for t in (E.BF16.numpy, E.E4M3.numpy, np.float32, np.int32))


def of(shape: tuple[int, ...], dtype: np.dtype = BF16) -> np.ndarray:
    """An array of so many elements, which has room for one."""
    return np.broadcast_to(np.zeros((), dtype), shape)


def packed(**changed) -> dict:
    given = {
        "q": of((500, 8, 128)), "k": of((600, 2, 128)), "v": of((600, 2, 128)),
        "begins": of((4,), I32), "begins_keys": of((4,), I32), "most": (300, 300),
        "causal": True, "window": 100,
    }  # fmt: skip
    return given | changed


def decode(**changed) -> dict:
    given = {
        "q": of((5, 2, 32, 128)), "k": of((90, 16, 8, 128)), "v": of((90, 16, 8, 128)),
        "table": of((5, 20), I32), "lengths": of((5,), I32), "rows": 64,
        "block_of": lambda d: named("attention/decode_plan").Config(d).block,
    }  # fmt: skip
    return given | changed


def scaled(**changed) -> dict:
    """N and K end within a block."""
    given = {
        "a": of((75, 400), FP8), "b": of((136, 400), FP8), "scale_a": of((75, 4), F32),
        "scale_b": of((2, 4), F32), "block": 128,
    }  # fmt: skip
    return given | changed


def fp8(**changed) -> dict:
    given = {
        "q": of((8, 99, 256), FP8), "k": of((2, 70, 256), FP8), "v": of((2, 70, 256), FP8),
        "q_scale": of((8,), F32), "k_scale": of((2,), F32), "v_scale": of((2,), F32),
    }  # fmt: skip
    return given | changed


def grouped(**changed) -> dict:
    given = {
        "a": of((384, 400)), "b": of((4, 72, 400)), "experts": of((3,), I32), "block": 128,
    }  # fmt: skip
    return given | changed


def masked(**changed) -> dict:
    given = {"a": of((4, 75, 400)), "b": of((4, 72, 400)), "counts": of((4,), I32)}
    return given | changed


A = of((75, 400))
HEADS = of((2, 8, 100, 64))
KEYS = of((2, 2, 70, 64))
TYPES = ("bfloat16", "float16")
FIT = {
    "product": {"types": TYPES, "a": A, "b": of((96, 400))},
    "gated": {"x": A, "both": of((96, 400)), "turn": 8},
    "quantised": {"a": A, "b": of((256, 400)), "block": 128},
    "block_scaled": scaled(),
    "grouped": grouped(),
    "masked": masked(),
    "attention": {"q": HEADS, "k": KEYS, "v": KEYS},
    "packed": packed(),
    "fp8": fp8(),
    "decode": decode(),
}
WRONG = [
    ("product", {"types": TYPES, "a": A, "b": of((96, 392))}, "K of B: got 392, expected 400"),
    ("product", {"types": TYPES, "a": A, "b": of((400,))},
     "dimensions of B: got (400,), expected 2"),
    ("product", {"types": TYPES, "a": A, "b": of((96, 400), F32)},
     "type of B: got float32, expected bfloat16"),
    ("product", {"types": TYPES, "a": A, "b": of((96, 400)), "out": FP8},
     "type of D: got float8_e4m3fn, expected ('bfloat16', 'float16', 'float32')"),
    ("gated", {"x": A, "both": of((88, 400)), "turn": 8},
     "rows of both: got 88, expected a multiple of 16"),
    ("quantised", {"a": A, "b": of((200, 400)), "block": 128},
     "N: got 200, expected a multiple of 128"),
    ("block_scaled", scaled(scale_b=of((1, 4), F32)), "size 0 of scale_b: got 1, expected 2"),
    ("block_scaled", scaled(scale_b=of((2, 3), F32)), "size 1 of scale_b: got 3, expected 4"),
    ("block_scaled", scaled(scale_a=of((4, 75), F32)), "size 0 of scale_a: got 4, expected 75"),
    ("block_scaled", scaled(scale_a=of((75, 4))),
     "type of scale_a: got bfloat16, expected float32"),
    ("grouped", grouped(a=of((300, 400))), "rows of A: got 300, expected a multiple of 128"),
    ("grouped", grouped(experts=of((4,), I32)), "size 0 of experts: got 4, expected 3"),
    ("grouped", grouped(experts=of((3,), F32)), "type of experts: got float32, expected int32"),
    ("grouped", grouped(b=of((72, 400))), "dimensions of B: got (72, 400), expected 3"),
    ("masked", masked(b=of((3, 72, 400))), "experts of B: got 3, expected 4"),
    ("masked", masked(counts=of((3,), I32)), "size 0 of counts: got 3, expected 4"),
    ("attention", {"q": HEADS, "k": of((2, 3, 70, 64)), "v": of((2, 3, 70, 64))},
     "heads of Q: got 8, expected a multiple of 3"),
    ("attention", {"q": HEADS, "k": KEYS, "v": of((2, 2, 69, 64))},
     "shape of V: got (2, 2, 69, 64), expected (2, 2, 70, 64)"),
    ("attention", {"q": HEADS, "k": of((1, 2, 70, 64)), "v": of((1, 2, 70, 64))},
     "batch of K: got 1, expected 2"),
    ("packed", packed(begins_keys=of((3,), I32)), "size 0 of begins_keys: got 3, expected 4"),
    ("packed", packed(causal=False), "window: got 100, expected 0 where attention is not causal"),
    ("packed", packed(most=(300, 0)), "max_k: got 0, expected 1 or more"),
    ("fp8", fp8(k_scale=of((8,), F32)), "size 0 of k_scale: got 8, expected 2"),
    ("decode", decode(lengths=of((4,), I32)), "size 0 of lengths: got 4, expected 5"),
    ("decode", decode(q=of((5, 17, 32, 128))),
     "rows of Q for a head of K: got 68, expected 64 at most"),
    ("decode", decode(k=of((9, 96, 8, 128)), v=of((9, 96, 8, 128))),
     "page: got 96, expected what divides 64, or a multiple of it"),
]  # fmt: skip
"""Rules, what they are given, and the first that does not hold."""


def said(name: str, given: dict) -> list[str]:
    """The first words, if any."""
    rules = named("operators/tensor_rules")
    found = rules.broken(getattr(rules, name)(**given))
    return [words for _, words in [next(found, (None, ""))] if words]


@each("name", FIT)
def test_what_fits(name: str) -> None:
    assert said(name, FIT[name]) == []


@each("number", range(len(WRONG)))
def test_what_does_not_fit(number: int) -> None:
    name, given, expected = WRONG[number]
    assert said(name, given) == [expected]


def test_plans_need_no_builder() -> None:
    """What operators import, and a choice, take neither kernels nor what these are built of."""
    text = (
        "import sys; sys.path.append(sys.argv[1])\n"
        "import attention.decode_plan, attention.plan, gemm.problem, operators.tensor_rules\n"
        "from gemm import family_plan as plan\n"
        "for name in ('gated', 'grouped', 'quantised', 'scaled'):\n"
        "    chosen = getattr(plan, f'plan_{name}')\n"
        "    assert chosen(64, 4096, 4096) is chosen(64, 4096, 4096)\n"
        "print(*sys.modules)"
    )
    command = [sys.executable, "-c", text, str(FOLDER)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=FOLDER.parent)
    imported = done.stdout.split()
    assert "nvgen.builder.kernel" not in imported
    assert "isel.pipeline" not in imported
    assert "gemm.output" not in imported

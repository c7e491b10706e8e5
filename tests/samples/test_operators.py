"""The samples' operators of PyTorch: what each registers, and what a CUDA graph makes of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.oracle.gpu import on_gpu
from tests.samples.modules import named

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not on_gpu(), reason="needs --device cuda")]
torch = pytest.importorskip("torch", reason="PyTorch is not installed") if on_gpu() else None

SCHEMA, FAKE, AUTOGRAD, COMPILED = (
    "test_schema", "test_faketensor", "test_autograd_registration", "test_aot_dispatch_dynamic",
)  # fmt: skip
"""What `torch.library.opcheck` can look at."""


def normal(*shape: int):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def words(*values: int):
    return torch.tensor(values, dtype=torch.int32, device="cuda")


def ones(*shape: int):
    return torch.ones(*shape, device="cuda")


def fp8(*shape: int):
    return normal(*shape).to(torch.float8_e4m3fn)


def pages() -> tuple:
    """Two sequences of 40 and 64 keys, in pages of 64 rows, for decoding."""
    keys, values = normal(2, 64, 2, 64), normal(2, 64, 2, 64)
    return normal(2, 1, 8, 64), keys, values, words(1, 0).view(2, 1), words(40, 64), 64


OPERATORS: dict[str, tuple[str, Callable[[], tuple]]] = {
    "gemm": ("gemm/pytorch", lambda: (normal(200, 264), normal(136, 264))),
    "gemm_gated": ("gemm/family_pytorch", lambda: (normal(200, 256), normal(256, 256))),
    "gemm_grouped": (
        "gemm/family_pytorch", lambda: (normal(256, 264), normal(3, 72, 264), words(2, 0))
    ),
    "gemm_masked": (
        "gemm/family_pytorch", lambda: (normal(2, 70, 264), normal(2, 72, 264), words(70, 70))
    ),
    "gemm_quantised": ("gemm/family_pytorch", lambda: (normal(200, 256), normal(256, 256))),
    "gemm_block_scaled": (
        "gemm/family_pytorch", lambda: (fp8(200, 256), fp8(256, 256), ones(200, 2), ones(2, 2))
    ),
    "attention": ("attention/pytorch", lambda: tuple(normal(1, 2, 300, 64) for _ in range(3))),
    "attention_decode": ("attention/decode_pytorch", pages),
    "attention_packed": (
        "attention/family_pytorch",
        lambda: (*(normal(300, 2, 64) for _ in range(3)), *[words(0, 100, 300)] * 2, 200, 200),
    ),
    "attention_fp8": (
        "attention/family_pytorch",
        lambda: (*(fp8(2, 300, 64) for _ in range(3)), *(ones(2) for _ in range(3))),
    ),
}  # fmt: skip
"""Each with its sample, and tensors that make all of its result numbers."""


def asked(name: str) -> tuple:
    torch.manual_seed(0)
    sample, given = OPERATORS[name]
    return getattr(named(sample), name), given()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch.compile's own
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", OPERATORS)
def test_what_is_registered(name: str) -> None:
    """The schema, the fake, derivatives, and what torch.compile makes of dynamic shapes."""
    operator, given = asked(name)
    is_fp8 = any(getattr(x, "dtype", None) is torch.float8_e4m3fn for x in given)
    looks = [FAKE] if is_fp8 else [SCHEMA, FAKE, AUTOGRAD, COMPILED]  # others compare inputs
    assert set(torch.library.opcheck(operator, given, test_utils=looks).values()) == {"SUCCESS"}


@pytest.mark.parametrize("name", OPERATORS)
def test_a_graph_replays_it(name: str) -> None:
    """On what its first tensor holds then, to the bit."""
    operator, given = asked(name)
    operator(*given)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = operator(*given)
    first = given[0].view(torch.uint8)
    first.copy_(first.flip(0))
    graph.replay()
    found, expected = (x if isinstance(x, tuple) else (x,) for x in (captured, operator(*given)))
    for one, other in zip(found, expected, strict=True):
        assert one.float().isfinite().all()
        assert torch.equal(one.view(torch.uint8), other.view(torch.uint8))

"""Functions on tensors as operators of PyTorch, whose first call waits for nothing of torch's.

`torch.library.custom_op` imports torch's compiler when an operator is called first, two to four
seconds; what it registers is registered here with `torch.library.Library`.

    @operator
    def twice(x: torch.Tensor) -> torch.Tensor: ...

    @shape_of(twice)
    def shape_of_twice(x):
        demand(twice, rules_of_its_tensors)
        return torch.empty_like(x)

    differentiable(twice, derivatives, keep)

A function is called with its first tensor's GPU as the current one, and begins with its shape's,
which says what does not fit: torch asks that for graphs only.

`loaded` is a sample's kernel on a GPU: compiled when it is first asked for, kept on disk for all
processes (`nvgen.CodeCache`), and then neither built nor are its file and the builder imported.
Rules about whole functions do not look at it again: tests have them look at each sample.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable
from pathlib import Path

import torch
from torch.library import Library, infer_schema, register_autograd, register_fake

from nvgen import CodeCache
from operators.tensor_rules import Rule, broken

FOLDER, TARGET = Path(__file__).parents[1], "sm_90a"
_libraries: dict[str, Library] = {}


def operator(function: Callable, key: str = "CUDA"):
    """`nvgen::NAME` for tensors of a GPU, with the schema that the function's annotations say."""
    name = function.__name__
    _libraries.pop(f"nvgen::{name}", None)  # that of a module which is imported again
    library = _libraries[f"nvgen::{name}"] = Library("nvgen", "FRAGMENT")
    library.define(name + infer_schema(function, mutates_args=()), tags=torch.Tag.pt2_compliant_tag)
    library.impl(name, on_its_device(function), key)
    return getattr(torch.ops.nvgen, name).default


def on_its_device(function: Callable) -> Callable:
    """The same, with its first tensor's GPU as the one whose streams and kernels are current."""

    @functools.wraps(function)
    def called(first: torch.Tensor, *others, **named):
        with torch.cuda.device(first.device):
            return function(first, *others, **named)

    return called


def shape_of(operator):
    """A decorator: what a graph needs to know of the result, and what tensors fit."""
    name = operator._schema.name

    def known(function: Callable) -> Callable:
        register_fake(name, function, lib=_libraries[name])
        return function

    return known


def demand(operator, rules: Iterable[Rule]) -> None:
    """See that an operator's tensors are such as its rules ask for.

    Raises: RuntimeError.
    """
    for holds, said in broken(rules):
        torch._check(holds, functools.partial("{}: {}".format, operator._schema.name, said))


def differentiable(operator, derivatives: Callable, keep: Callable) -> None:
    """Derivatives, of what `keep` has stored."""
    name = operator._schema.name
    register_autograd(name, derivatives, setup_context=keep, lib=_libraries[name])


def without_derivatives(operator) -> None:
    """Let autograd say that there are none; else it would leave the operator out."""

    def derivatives(ctx, *grads):
        raise RuntimeError(f"{operator._schema.name} has no derivatives")

    differentiable(operator, derivatives, lambda ctx, inputs, output: None)


@functools.cache
def loaded(device: int, sample: str, *given, opt: int | None = None):
    """What a sample's `build` makes of `given`, on a GPU."""
    cache, sources = CodeCache(judged=False, loads=True), FOLDER.rglob("*.py")
    made = cache.built(
        lambda: importlib.import_module(sample).build(*given), (sample, given), sources,
        target=TARGET, opt=opt,
    )  # fmt: skip
    with torch.cuda.device(device):
        return made.load()

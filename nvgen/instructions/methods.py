"""The verbs of instructions: methods that the rows give, each made when it is first asked for.

Layer: nvgen.instructions.  `table` names those that have a name and a sentence of their own; every
other row that LLVM has an intrinsic for has a verb too, called as the row is: `b.prmt(x, y, z)`.
`methods.pyi` says for editors and type checkers what is made here; `make docs` writes it.
"""

from __future__ import annotations

from collections.abc import Callable

from nvgen.calling.refusals import no_such
from nvgen.instructions.calls import IntrinsicCalls, function_of
from nvgen.instructions.table import NAMED, verb_of
from nvgen.instructions.verb import Verb


class _Made:
    """A verb of the class, made when it is first asked for."""

    def __init__(self, verb: Verb) -> None:
        self._verb = verb

    def __get__(self, instance: object, owner: type) -> Callable[..., object]:
        made = function_of(self._verb)
        setattr(Verbs, self._verb.name, made)
        return made.__get__(instance, owner) if instance is not None else made


class Verbs(IntrinsicCalls):
    """One method for each instruction; parameters are operands, modifiers are named."""

    def __getattr__(self, name: str) -> Callable[..., object]:
        verb = None if name.startswith("_") else verb_of(name)
        if verb is None:
            raise AttributeError(no_such(name, dir(type(self))), name=name, obj=self)
        made = function_of(verb)
        setattr(Verbs, name, made)
        return made.__get__(self, type(self))


for _verb in NAMED.values():
    setattr(Verbs, _verb.name, _Made(_verb))

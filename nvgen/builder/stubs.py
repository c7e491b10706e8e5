"""The stub of the builder's verbs, for editors and type checkers.

Layer: nvgen.builder.  Input: the rows, by `nvgen.instructions.table`.  Output: `methods.pyi` there,
with the signature and the docstring of each verb that is made at run time.
`python -m nvgen.builder.stubs` (`make docs`) writes it; a test holds it up to date.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from intrinsics import modifiers
from nvgen.builder.kernel import KernelBuilder
from nvgen.instructions import methods
from nvgen.instructions.methods import Verbs
from nvgen.instructions.table import NAMED, others
from nvgen.instructions.verb import Parameter, Verb, shown
from nvgen.values.numbers import Float

STUB = Path(methods.__file__).with_suffix(".pyi")

_HEAD = '''"""The verbs of instructions; `python -m nvgen.builder.stubs` writes this file."""

'''
_VALUES = {
    "nvgen.instructions.calls": ("IntrinsicCalls",),
    "nvgen.instructions.mma_rows": ("Accumulator", "WarpScales"),
    "nvgen.values.numbers": ("FloatLike", "Int", "IntLike", "WordLike"),
    "nvgen.values.pointers": ("Barrier", "Barriers", "Pointer"),
    "nvgen.values.vectors": ("Vector",),
}
_WIDTH = 100


def stub() -> str:
    """The text of the stub."""
    verbs = [verb for verb in (*NAMED.values(), *others().values()) if is_free(verb)]
    body = "".join(line for verb in verbs for line in _method(verb))
    first = 'class Verbs(IntrinsicCalls):\n    """One method for each instruction."""\n'
    return _HEAD + "".join(_imports(verbs)) + "\n" + first + body


def main() -> None:
    """Write the stub."""
    STUB.write_text(stub(), encoding="utf-8")


def is_free(verb: Verb) -> bool:
    """Whether no method that is written out has the verb's name."""
    return verb.name in NAMED or all(verb.name not in vars(c) for c in _builders())


def _builders() -> tuple[type, ...]:
    return tuple(c for c in KernelBuilder.__mro__ if c is not Verbs)


def _imports(verbs: list[Verb]) -> Iterator[str]:
    """What the signatures speak of."""
    parameters = [one for verb in verbs for one in verb.parameters]
    words = {word for one in parameters for word in re.findall(r"\w+", one.type)}
    homes = {module: set(names) for module, names in _VALUES.items()}
    homes[Float.__module__].add(Float.__name__)  # of what is shuffled
    for value in (value for one in parameters if one.qualifier for value in one.qualifier.values):
        if type(value).__name__ in words:
            name = type(value).__name__
            home = modifiers.__name__ if hasattr(modifiers, name) else type(value).__module__
            homes.setdefault(home, set()).add(name)
    yield "from collections.abc import Sequence\nfrom typing import TypeVar\n\n"
    for home, names in sorted(homes.items()):
        listed = "".join(f"    {name},\n" for name in sorted(names))
        yield f"from {home} import (\n{listed})\n"
    yield '\nShuffled = TypeVar("Shuffled", Int, Float)\n'


def _method(verb: Verb) -> Iterator[str]:
    """One method: its signature, its docstring."""
    given = [_parameter(verb, one) for one in verb.parameters]
    named = next((i for i, one in enumerate(verb.parameters) if one.keyword), None)
    if named is not None:
        given.insert(named, "*")
    result = verb.returns
    if verb.like:
        result = result.replace("Int", "Shuffled", 1)
    line = f"    def {verb.name}({', '.join(['self', *given])}) -> {result}:\n"
    if len(line) > _WIDTH + 1:
        parts = "".join(f"        {one},\n" for one in ["self", *given])
        line = f"    def {verb.name}(\n{parts}    ) -> {result}:\n"
    doc = verb.doc.replace("\n", "\n        ").replace("\n        \n", "\n\n")
    yield f'\n{line}        """{doc}\n        """\n'


def _parameter(verb: Verb, one: Parameter) -> str:
    type_ = "Shuffled" if one.name == verb.like and one.type != "Pointer" else one.type
    if one.default is one.python().empty:
        return f"{one.name}: {type_}"
    return f"{one.name}: {type_} = {shown(one.default)}"


if __name__ == "__main__":
    main()

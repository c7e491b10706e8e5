"""The builder's reference: every public class and verb with its signature and its docstring.

Layer: nvgen.builder.  Input: its classes, and those of the rooms below it.  Output:
`docs/builder.md`, by groups of what things are for, and for editors and type checkers `methods.pyi`
in `nvgen.instructions`, with the verbs that are made at run time.
`python -m nvgen.builder.reference` (`make docs`) writes both where the project's sources are; a
test holds them up to date.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
import textwrap
import types
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path

import nvgen
from intrinsics import modifiers
from intrinsics.lazy_dataclass import dataclass
from nvgen.builder.kernel import KernelBuilder
from nvgen.built import Kernel
from nvgen.calling.argument_types import default_text
from nvgen.instructions import methods
from nvgen.instructions.base import BuilderBase, NumberVerb
from nvgen.instructions.calls import function_of
from nvgen.instructions.methods import Verbs
from nvgen.instructions.roles import SpecialRegister
from nvgen.instructions.table import CHAPTERS, NAMED, others
from nvgen.instructions.verb import Verb
from nvgen.values.number_types import is_float
from nvgen.values.numbers import Float

PAGE = Path(__file__).parents[2] / "docs" / "builder.md"


def is_free(verb: Verb) -> bool:
    """Whether no method that is written out has the verb's name."""
    return verb.name in NAMED or all(verb.name not in vars(c) for c in _builders())


def _builders() -> tuple[type, ...]:
    return tuple(c for c in KernelBuilder.__mro__ if c is not Verbs)


@dataclass(frozen=True, slots=True)
class Group:
    """Things that are for the same: verbs of the builder by module, and objects by name."""

    title: str
    modules: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    verbs: tuple[Verb, ...] = ()


OBJECTS = {"wgmma": ("Accumulator",), "mma": ("WarpScales",)}
"""What the verbs of a chapter take or give."""

GROUPS = (
    Group("The kernel and its parameters", ("kernel",), ("Kernel",)),
    Group("Numbers", ("base",), ("Int", "Float", "Vector", "Elementwise")),
    Group("Addresses and memory", ("allocations",), ("Pointer",)),
    Group("Threads, branches, loops and roles", ("control_flow", "roles"),
          ("Variable", "Ring", "ExecutionScope", "Turns")),
    Group("Tiles and their copies", ("copies",),
          ("SharedTile", "Tiles", "SharedScales", "TileRing", "Producer", "Consumer", "Slot")),
    Group("Matrix multiplies of tiles", ("tile_operations",),
          ("AccumulatorTile", "WarpgroupTile", "WarpgroupColumns", "WarpTile", "RegisterTile",
           "PortableAccumulator", "TensorMemory", "TensorTile", "OperandTile", "SparseTile",
           "ScaleTile", "TensorOptions")),
    Group("Matrices in registers", (), ("HeldAccumulator", "Fragment", "Rows", "Columns")),
    Group("Reductions and scans", ("reductions",)),
    Group("mbarriers and clusters", ("protocols",), ("Barrier", "Barriers")),
    Group("Functions of the device, printing, PTX", ("device_functions",), ("DeviceFunction",)),
    Group("Instructions: fences, atomic operations, random numbers", ("atomics",)),
    *(Group(f"Instructions: {title}", (), OBJECTS.get(title, ()), verbs)
      for title, verbs in CHAPTERS.items()),
    Group("Instructions: others", (), (), tuple(filter(is_free, others().values()))),
)  # fmt: skip
"""What there is, in the order of the page; verbs of modules that are not named come last."""

INNER = frozenset({
    "at_caller", "known_target", "declared_map", "declare", "raw", "changing",
    "declare_number", "defined", "free_accumulators", "perform", "take_fragment",
    "start", "start_on_target", "layout_only", "reserve",
    "like", "taken", "lacks", "made", "spread", "beside", "meeting", "rooms_of", "builder", "typed",
    "splat", "taken_apart",
    "Int.words", "Scalar.words", "Float.words", "FloatFunctions.words", "Vector.words",
    "Pointer.words", "Fragment.words", "OfThreads.value",
    "OfThreads.words", "OfThreads.builder", "SharedTile.in_lines",
})  # fmt: skip
"""Members that are public to the builder's own parts only."""

_OBJECTS = frozenset(name for group in GROUPS for name in group.objects)
_ROOMS = tuple(
    f"nvgen.{room}."
    for room in ("values", "instructions", "shared_memory", "fragments", "multiplies", "builder")
)
_PARTS = (*_ROOMS, Kernel.__module__)
_HEAD = """# Which verbs does the builder have?

Made from the docstrings by `make docs`; do not edit.

`b` is an `nvgen.KernelBuilder`; [writing-kernels.md](writing-kernels.md) says how they go together.
A `Pointer`, a `Barrier`, an `Int` or a `Float` is a value of the kernel; an `IntLike` or
`FloatLike` may be Python's number, too.  `Self` is the type of what a function is called on.  A
`NumberType` or `ElementType` is one of these of nvgen:
"""


def page() -> str:
    """The page."""
    return "\n".join([_HEAD.replace(".  ", ". ") + _types(), *_contents(), *_groups()]) + "\n"


def main() -> None:
    """Write the page and the stub."""
    if not PAGE.parent.is_dir():
        sys.exit(f"{PAGE.parent}: no such folder; run this where nvgen's sources are")
    PAGE.write_text(page(), encoding="utf-8")
    STUB.write_text(stub(), encoding="utf-8")


def _types() -> str:
    names = [name for name in nvgen.__all__ if re.fullmatch(r"[a-z]+\d+(x2|m\d)?", name)]
    return ", ".join(f"`{name}`" for name in names) + ".\n"


def _contents() -> Iterator[str]:
    for title, *_ in _titled():
        anchor = re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
        yield f"- [{title}](#{anchor})"
    yield ""


def _groups() -> Iterator[str]:
    classes = {made.__name__: made for made in _classes()}
    for title, parents, objects, verbs in _titled():
        yield f"## {title}\n"
        for verb in verbs:
            yield from _verb(verb)
        if "kernel" in title.lower() and KernelBuilder in parents:
            yield from _class(KernelBuilder, verbs=False)
        for parent in parents:
            yield from _members(parent, "b.")
        for name in objects:
            yield from _class(classes[name], verbs=True)


def _titled() -> Iterator[tuple[str, list[type], tuple[str, ...], tuple[Verb, ...]]]:
    """Each group with the parts of the builder that it shows, names of objects, and verbs."""
    parts = [c for c in KernelBuilder.__mro__ if issubclass(c, BuilderBase) and c is not Verbs]
    by_module: dict[str, list[type]] = {}
    for part in parts:
        by_module.setdefault(part.__module__.rpartition(".")[2], []).append(part)
    for group in GROUPS:
        found = [part for module in group.modules for part in by_module.pop(module, [])]
        yield group.title, found, group.objects, group.verbs
    left = (part for parts in by_module.values() for part in parts)
    if rest := [part for part in left if any(_public(part))]:
        yield "Others", rest, (), ()


def _verb(verb: Verb) -> Iterator[str]:
    yield f"#### b.{verb.name}\n"
    yield from _code([f"{verb.name}{_call(verb, 'Number', bound=True)}"])
    yield verb.doc.replace(".  ", ". ") + "\n"


def _call(verb: Verb, like: str, *, bound: bool = False) -> str:
    """Its signature; a type of the caller's choice, which the result has too, is called `like`."""
    given, arrow, gives = _signature(function_of(verb), bound=bound).rpartition(" -> ")
    if not arrow:
        return gives
    if verb.like:
        given = given.replace(f"{verb.like}: WordLike", f"{verb.like}: {like}")
        gives = gives.replace("Int", like, 1)
    return given + arrow + gives


def _classes() -> Iterator[type]:
    """The classes of all modules of the builder."""
    for room in _ROOMS:
        folder = importlib.import_module(room.removesuffix(".")).__path__
        for module in pkgutil.iter_modules(folder, room):
            loaded = importlib.import_module(module.name)
            for _, made in inspect.getmembers(loaded, inspect.isclass):
                if made.__module__ == loaded.__name__:
                    yield made
    yield Kernel


def _class(made: type, *, verbs: bool) -> Iterator[str]:
    yield f"### {made.__name__}\n"
    if made is KernelBuilder:
        yield from _code([f"{made.__name__}{_signature(made)}"])
    yield f"{_text(made)}\n"
    if not verbs:
        return
    if known := [f"`{parent.__name__}`" for parent in made.__mro__[1:] if _is_shown(parent)]:
        yield f"It also has what {', '.join(known)} has.\n"
    elsewhere = {
        base for parent in made.__mro__[1:] if _is_shown(parent) for base in parent.__mro__
    }
    for parent in made.__mro__:
        if parent not in elsewhere:
            yield from _members(parent, f"{made.__name__}.")


def _is_shown(made: type) -> bool:
    return made.__module__.startswith(_PARTS) and made.__name__ in _OBJECTS


def _members(made: type, prefix: str) -> Iterator[str]:
    """The public members that the class itself defines."""
    for name, member in _public(made):
        if isinstance(member, NumberVerb):
            yield f"#### {prefix}{name}\n"
            yield from _code(
                [f"{name}(value: str) -> None", f"{name}(value: Given) -> {_kind(member)}"]
            )
            yield f"{_text(member)}\n"
        elif isinstance(member, (property, SpecialRegister)):
            yield f"#### {prefix}{name}\n"
            yield f"{_text(member)}\n"
        elif inspect.isroutine(member):
            yield f"#### {prefix}{name}\n"
            bound = not isinstance(vars(made)[name], staticmethod)
            yield from _code(_overloads(name, member, bound=bound))
            yield f"{_text(member)}\n"


def _kind(member: NumberVerb[Float]) -> str:
    """What such a verb gives."""
    return "Float" if is_float(member.type) else "Int"


def _public(made: type) -> Iterator[tuple[str, object]]:
    if not made.__module__.startswith(_PARTS):
        return
    for name, found in vars(made).items():
        member = found.__func__ if isinstance(found, staticmethod) else found
        if is_public(made, name) and inspect.getdoc(member):
            yield name, member


def is_public(made: type, name: str) -> bool:
    """Whether a member is public."""
    return not name.startswith("_") and not {name, f"{made.__name__}.{name}"} & INNER


def _overloads(name: str, member: object, *, bound: bool) -> list[str]:
    """The ways to call it."""
    assert callable(member)
    inner = inspect.unwrap(member)
    ways = typing.get_overloads(inner) if isinstance(inner, types.FunctionType) else []
    return [f"{name}{_signature(way, bound=bound)}" for way in (ways or [inner])]


def _signature(member: object, *, bound: bool = False) -> str:
    """The parameters, of a method without the object itself, and the result."""
    assert callable(member)
    found = inspect.signature(member)
    given, is_named = [], False
    for one in [*found.parameters.values()][bound:]:
        if one.kind is one.KEYWORD_ONLY and not is_named:
            given.append("*")
        is_named = is_named or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        given.append(_parameter(one))
    is_said = found.return_annotation not in (None, "None", inspect.Signature.empty)
    return f"({', '.join(given)})" + (f" -> {found.return_annotation}" if is_said else "")


def _parameter(one: inspect.Parameter) -> str:
    text = "*" * (one.kind is one.VAR_POSITIONAL) + one.name
    if one.annotation is not one.empty:
        text += f": {one.annotation}"
    return text if one.default is one.empty else f"{text} = {default_text(one.default)}"


def _code(lines: Iterable[str]) -> Iterator[str]:
    yield "```pyi"
    yield from (_folded(line) for line in lines)
    yield "```\n"


def _folded(line: str, width: int = 100) -> str:
    """A signature, one parameter a line where it is long."""
    if len(line) <= width:
        return line
    begin, end = line.index("(") + 1, line.rindex(")")
    depth, parts, last = 0, [], begin
    for at in range(begin, end):
        depth += (line[at] in "([{") - (line[at] in ")]}")
        if line[at] == "," and depth == 0:
            parts.append(line[last:at].strip())
            last = at + 1
    parts.append(line[last:end].strip())
    return line[:begin] + "\n" + "".join(f"    {part},\n" for part in parts) + line[end:]


def _text(member: object) -> str:
    """The docstring as Markdown."""
    text = (inspect.getdoc(member) or "").replace(".  ", ". ")
    return re.sub(r"^Raises: ", "*Raises:* ", text, flags=re.MULTILINE)


# ---- the stub ------------------------------------------------------------------------------------

STUB = Path(methods.__file__).with_suffix(".pyi")

_STUB_HEAD = '"""The verbs of instructions; `make docs` writes this file."""\n\n'
_VALUES = {
    "nvgen.instructions.calls": ("IntrinsicCalls",),
    "nvgen.instructions.mma_rows": ("Accumulator", "WarpScales"),
    "nvgen.values.numbers": ("FloatLike", "Int", "IntLike", "WordLike"),
    "nvgen.values.pointers": ("Barrier", "Barriers", "Pointer"),
    "nvgen.values.vectors": ("Vector",),
}
_WIDTH, _INDENT = 100, "    "


def stub() -> str:
    """The text of the stub."""
    verbs = [verb for verb in (*NAMED.values(), *others().values()) if is_free(verb)]
    body = "".join(line for verb in verbs for line in _stubbed(verb))
    first = 'class Verbs(IntrinsicCalls):\n    """One method for each instruction."""\n'
    return _STUB_HEAD + "".join(_imports(verbs)) + "\n" + first + body


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


def _stubbed(verb: Verb) -> Iterator[str]:
    """One method: its signature, its docstring."""
    call = _call(verb, "Shuffled")
    call += "" if " -> " in call else " -> None"
    line = textwrap.indent(_folded(f"def {verb.name}{call}:", _WIDTH - len(_INDENT)), _INDENT)
    doc = verb.doc.replace("\n", "\n        ").replace("\n        \n", "\n\n")
    yield f'\n{line}\n        """{doc}\n        """\n'


if __name__ == "__main__":
    main()

"""No module imports itself by way of others: packages have no circles of imports.

Imports for types alone and imports inside of functions count as well: they, too, are
dependencies.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.each import each

ROOT = Path(__file__).parents[1]
PACKAGES = ("intrinsics", "asmprinter", "isel", "nvgen")


def modules() -> dict[str, Path]:
    """The files of all packages by the names of their modules."""
    found = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """The modules of ours that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for name in node.names:
                inner = f"{node.module}.{name.name}"
                yield from (m for m in (inner if inner in known else node.module,) if m in known)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name in known)


def circles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """Sets of modules that reach each other: Kosaraju's algorithm, without recursion."""
    order: list[str] = []
    seen: set[str] = set()
    for start in graph:
        stack = [(start, iter(sorted(graph[start])))] if start not in seen else []
        seen.add(start)
        while stack:
            module, left = stack[-1]
            following = next((m for m in left if m not in seen), None)
            if following is None:
                order.append(stack.pop()[0])
            else:
                seen.add(following)
                stack.append((following, iter(sorted(graph[following]))))
    backwards: dict[str, set[str]] = {module: set() for module in graph}
    for module, others in graph.items():
        for other in others:
            backwards[other].add(module)
    found, taken = [], set[str]()
    for start in reversed(order):
        work, part = [start], set[str]()
        while work:
            module = work.pop()
            if module not in taken:
                taken.add(module)
                part.add(module)
                work += backwards[module]
        if len(part) > 1:
            found.append(part)
    return found


def own_circles() -> list[set[str]]:
    known = modules()
    return circles({name: set(imports(path, known)) - {name} for name, path in known.items()})


def test_no_module_imports_itself_indirectly() -> None:
    wrong = own_circles()
    assert not wrong, "\n".join(" <-> ".join(sorted(circle)) for circle in wrong)


@each(
    "graph, expected",
    [
        ({"a": {"b"}, "b": set()}, []),
        ({"a": {"b"}, "b": {"a"}}, [{"a", "b"}]),
        ({"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}, [{"b", "c"}]),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a", "e"}, "e": {"d"}},
         [{"a", "b", "c"}, {"d", "e"}]),
    ],
)  # fmt: skip
def test_circles_of_graphs(graph: dict[str, set[str]], expected: list[set[str]]) -> None:
    assert sorted(map(sorted, circles(graph))) == sorted(map(sorted, expected))

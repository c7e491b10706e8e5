"""What the passes leave, as text, made when somebody asks for it.

Layer: nvgen.  Few look at the records after each pass, and to print them takes as long as to make
them.

Input: how to lower the module once more.  Output: the MIR after every pass, by the pass's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from asmprinter.mir_printer import print_mir
from intrinsics.mir import Module
from isel.pipeline import Observer

Lower = Callable[[Observer], object]
"""Lowers a module, and shows the observer what each pass leaves."""


class Stages(Mapping[str, str]):
    """The MIR after every pass, in their order; `make` is called once, and not before it must."""

    def __init__(self, make: Callable[[], Mapping[str, str]]) -> None:
        self._make = make
        self._made: Mapping[str, str] | None = None

    def _texts(self) -> Mapping[str, str]:
        if self._made is None:
            self._made = self._make()
        return self._made

    def __getitem__(self, name: str) -> str:
        return self._texts()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts())

    def __len__(self) -> int:
        return len(self._texts())


def stages_of(lower: Lower) -> Stages:
    """The stages of a module that `lower` lowers."""

    def make() -> dict[str, str]:
        found: dict[str, str] = {}

        def keep(name: str, after: Module) -> None:
            found[name] = print_mir(after).text

        lower(keep)
        return found

    return Stages(make)


def with_stage(stages: Mapping[str, str], name: str, text: Callable[[], str]) -> Mapping[str, str]:
    """The stages and one more, where there are any."""
    return Stages(lambda: {**stages, name: text()} if stages else {})

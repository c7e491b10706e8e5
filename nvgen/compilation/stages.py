"""MIR after every pass, as text, printed when it is first read.

Layer: nvgen.  Printing a module after each pass costs as much as compiling it, and hardly anybody
looks; whoever does waits for the passes to run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from intrinsics.findings import shown
from intrinsics.mir import Module
from intrinsics.targets import Ptx, Target

if TYPE_CHECKING:
    from isel.pipeline import Pass
    from isel.select.locations import Source


class Stages(Mapping[str, str]):
    """MIR after each pass, by the pass's name, in order; printed when first asked for. Empty
    without `make`.
    """

    __slots__ = ("_make", "_texts")

    def __init__(self, make: Callable[[], dict[str, str]] | None = None) -> None:
        self._make = make
        self._texts: dict[str, str] | None = None if make else {}

    def _all(self) -> dict[str, str]:
        if self._texts is None:
            assert self._make is not None
            self._texts = self._make()
        return self._texts

    def __getitem__(self, name: str) -> str:
        texts = self._all()
        if not isinstance(name, str) or name not in texts:
            raise KeyError(f"no stage {shown(name)}: there are {', '.join(texts) or 'none'}")
        return texts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __reduce__(self) -> tuple[object, ...]:
        """What is pickled: the texts."""
        return taken, (self._all(),)

    def followed_by(self, name: str, make: Callable[[], str]) -> Stages:
        """These stages and one more; empty if these are not kept."""
        if self._make is None:
            return self
        return Stages(lambda: {**self, name: make()})


def taken(kept: dict[str, str]) -> Stages:
    """Stages that are texts already."""
    return Stages(lambda: kept) if kept else Stages()


def stages_of(
    printed: str, target: Target, ptx: Ptx | None, source: Source, own: Sequence[Pass] = ()
) -> Stages:
    """The stages that the passes make of LLVM IR, which they took before."""

    def make() -> dict[str, str]:
        from asmprinter.mir.printer import print_mir
        from isel.llvm.reader import read_module
        from isel.pipeline import lower

        texts: dict[str, str] = {}

        def keep(name: str, after: Module) -> None:
            texts[name] = print_mir(after).text

        lower(read_module(printed), target, ptx, source, keep, own)
        return texts

    return Stages(make)

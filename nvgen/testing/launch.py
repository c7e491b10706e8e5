"""The `launch` fixture of kernel tests.

Layer: nvgen.testing.  Bound to the device, schedule, target and optimisation level of one item.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from intrinsics.findings import Finding, NvgenError, input_error
from intrinsics.lazy_dataclass import dataclass
from nvgen.testing.delays import Launched, Run, culprit, kept
from nvgen.testing.devices import obstacle

if TYPE_CHECKING:
    from nvgen.compilation.compiled import Compiled
    from nvgen.launching.launches import Dim3, Statistics

MOST_KEPT = 4
"""Launches of an item that are remembered, the last ones."""


@dataclass(slots=True, eq=False)
class Launch:
    """Launches kernels on the device and under the schedule of the test's item.

    `schedule` is "" on a GPU, `target` is "" where the test names none.  `bound_waits` is a limit
    in seconds to each wait for an mbarrier on a GPU, None for none.
    """

    device: str = "sim"
    schedule: str = "early"
    target: str = ""
    opt: int | None = None
    bound_waits: float | None = None
    attempts: int = field(default=0, init=False, repr=False)
    _texts: list[tuple[Compiled, str]] = field(default_factory=list, init=False, repr=False)
    _failure: tuple[NvgenError, str] | None = field(default=None, init=False, repr=False)
    _launches: list[Launched] = field(default_factory=list, init=False, repr=False)

    def compile(
        self, program: object, /, *, ptx: str | None = None, level: str = "record"
    ) -> Compiled:
        """Compile for the item's target and optimisation level.

        `program` is LLVM IR as text, the Path of an .ll, .mir or .ptx file, an llvmlite module or a
        built Kernel; a Compiled is given back, if it is for that target.

        Raises: InputError, SelectionError, VerificationError, as `nvgen.compile` does.
        """
        __tracebackhide__ = True
        text = _text_of(program)
        try:
            compiled = self._bounded(self._compile(program, text, ptx, level))
        except NvgenError as error:
            raise self._failed(error, text) from None
        self._texts.append((compiled, text))
        return compiled

    def __call__(
        self,
        program: object,
        /,
        *arguments: object,
        grid: Dim3 | int = 1,
        block: Dim3 | int | None = None,
        cluster: Dim3 | int = 1,
        smem: int | None = None,
        races: bool = True,
        kernel: str = "",
        timeout: float | None = None,
        max_steps: int | None = None,
        **named: object,
    ) -> Statistics:
        """Compile `program` unless it is a Compiled, and launch its kernel; see `Compiled.run`.

        Skips the test where the device cannot run it.

        Raises: what `compile` and `Compiled.run` raise.
        """
        __tracebackhide__ = True
        self.attempts += 1
        compiled = self.compile(program)
        why = obstacle(self.device, compiled.target)
        if why:
            pytest.skip(why)

        def run(given: Sequence[object], schedule: str, races: bool) -> Statistics:
            return compiled.run(
                *given[: len(arguments)],
                grid=grid,
                block=block,
                cluster=cluster,
                smem=smem,
                device=self.device,
                schedule=schedule or "early",  # a GPU has its own
                races=races,
                kernel=kernel,
                timeout=timeout,
                max_steps=max_steps,
                **dict(zip(named, given[len(arguments) :], strict=True)),
            )

        return self._launched(compiled, (*arguments, *named.values()), run, races=races)

    def _launched(
        self, compiled: Compiled, given: Sequence[object], run: Run, *, races: bool
    ) -> Statistics:
        """Run a launch under the item's schedule."""
        __tracebackhide__ = True
        self._keep(given, run)
        try:
            return run(given, self.schedule, races)
        except NvgenError as error:
            text = next((text for known, text in self._texts if known is compiled and text), "")
            raise self._failed(error, text) from None

    def begin(self) -> None:
        """Forget what an earlier run of the item did."""
        self.attempts, self._failure = 0, None
        self._texts.clear()
        self._launches.clear()

    def _keep(self, given: Sequence[object], run: Run) -> None:
        """Remember a launch whose failure may have to do with the schedule."""
        if self.device == "sim" and self.schedule not in ("", "early"):
            launched = kept(given, run)
            self._launches = [*self._launches, launched][-MOST_KEPT:] if launched else []

    def culprit(self, error: BaseException) -> Finding | None:
        """The operation whose delay makes one of the last launches fail, where it can be found.

        None where `error` says already what nothing orders.
        """
        raced = isinstance(error, NvgenError) and error.findings[0].rule == "sim/race"
        return None if raced else culprit(self._launches[::-1], self.schedule)

    def source_of(self, error: BaseException) -> str:
        """The text of the program that `error` is about; "" if that is not known."""
        if self._failure is None or self._failure[0] is not error:
            return ""
        return self._failure[1]

    def _failed(self, error: NvgenError, text: str) -> NvgenError:
        """The error without the calls inside nvgen: its findings say all."""
        if self._failure is None or self._failure[0] is not error:
            self._failure = error, text
        return error.with_traceback(None)

    def _compile(self, program: object, text: str, ptx: str | None, level: str) -> Compiled:
        from nvgen.api import compile
        from nvgen.compilation.compiled import Compiled
        from nvgen.compilation.options import Options
        from nvgen.loading import load

        if isinstance(program, Compiled):
            return self._of_target(program)
        if isinstance(program, Path):
            options = Options(self.target or None, ptx, self.opt, level)
            return load(str(program), text, options).compiled()
        if not self.target:
            raise input_error(
                "test/target",
                "the test names no target",
                expected='@kernel_test(targets="sm_…")',
                hint="`nvgen targets` lists them",
            )
        return compile(program, target=self.target, ptx=ptx, opt=self.opt, level=level)

    def _bounded(self, compiled: Compiled) -> Compiled:
        if self.bound_waits is None or compiled.bounded is not None:
            return compiled
        return compiled.with_bounded_waits(self.bound_waits)

    def _of_target(self, compiled: Compiled) -> Compiled:
        if not self.target or compiled.target.name == self.target:
            return compiled
        raise input_error(
            "test/target",
            "the program is compiled for another target than the test's",
            got=str(compiled.target),
            expected=self.target,
            hint="give `launch` the LLVM IR or the Kernel, which it compiles for each target",
        )


def _text_of(program: object) -> str:
    """The text that findings about the program point into; "" where there is none."""
    from nvgen.built import Kernel
    from nvgen.files import read_text

    match program:
        case str():
            return program
        case Path():
            return read_text(str(program))
        case Kernel():
            return program.llvm
    return ""

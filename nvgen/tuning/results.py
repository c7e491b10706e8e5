"""Measurements, kept in a file: a line of JSON for each configuration.

Layer: nvgen.tuning.  Lines are appended as measurements are made, so that who is interrupted goes
on where he was; a line that was cut off is measured again.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from intrinsics.findings import InputError, Place, input_error
from intrinsics.lazy_dataclass import dataclass
from nvgen.tuning.config import Settings


@dataclass(frozen=True, slots=True)
class Trial:
    """One configuration and what came of it.

    `key` stands for everything that the measurement depends on: the kernel's IR, the target, the
    assembler and the GPU.  `milliseconds` is None where there is a `failure`.
    """

    problem: str
    key: str
    config: Settings
    milliseconds: float | None = None
    registers: int = 0
    spilled: int = 0
    failure: str = ""


class Results:
    """Trials by their keys, in a file if there is a `path`."""

    def __init__(self, path: str | Path | None = None) -> None:
        """Read what the file holds.

        Raises: InputError when it is there and holds something else.
        """
        self._path = Path(path) if path is not None else None
        self._trials: dict[str, Trial] = {}
        self._cut_off = False
        if self._path is not None:
            self._read(self._path)

    def _read(self, path: Path) -> None:
        try:
            text = path.read_text("utf-8")
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:  # ValueError: bytes that are no text, or no name
            raise _unusable(path, getattr(error, "strerror", None) or str(error), 0) from None
        lines = text.split("\n")
        self._cut_off = bool(lines[-1])
        for number, line in enumerate(lines[:-1], 1):
            if line.strip():
                trial = _trial(path, line, number)
                self._trials[trial.key] = trial

    def get(self, key: str) -> Trial | None:
        """The measurement of a key, if there is one."""
        return self._trials.get(key)

    def add(self, trial: Trial) -> None:
        """Keep a trial.

        Raises: InputError when the file cannot be written.
        """
        self._trials[trial.key] = trial
        if self._path is None:
            return
        start = "\n" if self._cut_off else ""
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(start + json.dumps(asdict(trial)) + "\n")
        except OSError as error:
            raise _unusable(self._path, error.strerror or str(error), 0) from None
        self._cut_off = False


def _trial(path: Path, line: str, number: int) -> Trial:
    try:
        return _checked(Trial(**json.loads(line)))
    except (ValueError, TypeError, RecursionError):
        if not line.startswith("{") or line.endswith("}"):
            raise _unusable(path, line[:60], number) from None
        return Trial("", "", {})  # cut off when it was written: nobody asks for this key


def _checked(trial: Trial) -> Trial:
    """The trial, if its fields are what they should be.

    Raises: TypeError.
    """
    texts = (trial.problem, trial.key, trial.failure)
    numbers = (trial.registers, trial.spilled)
    time = trial.milliseconds
    if (
        not all(isinstance(text, str) for text in texts)
        or not all(type(number) is int for number in numbers)
        or not (time is None or (isinstance(time, (int, float)) and time > 0))
        or not isinstance(trial.config, dict)
        or not all(isinstance(value, (int, float, str)) for value in trial.config.values())
    ):
        raise TypeError("this is no trial")
    return trial


def _unusable(path: Path, got: str, line: int) -> InputError:
    return input_error(
        "tune/cache",
        "the file of results cannot be used",
        place=Place(str(path), line),
        got=got,
        expected="a line of JSON for each trial, as nvgen tune writes them",
        hint="name another file, or remove this one",
    )

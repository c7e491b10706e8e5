"""The command line, called in process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from nvgen import cli
from tests.nvgen.programs import ADD


class Result(NamedTuple):
    """What one call of the command line gave."""

    status: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """All that it said."""
        return self.out + self.err

    def json(self):
        """Standard output as JSON."""
        return json.loads(self.out)


Nvgen = Callable[..., Result]


@pytest.fixture
def nvgen(capsys: pytest.CaptureFixture[str]) -> Nvgen:
    """Call `nvgen ARGUMENTS…`; whatever it is given, it answers in its own words."""

    def call(*arguments: str | Path) -> Result:
        capsys.readouterr()
        try:
            status = cli.main([str(argument) for argument in arguments])
        except SystemExit as left:  # argparse has said what is wrong with the usage
            status = int(left.code or 0)
        result = Result(status, *capsys.readouterr())
        assert "Traceback" not in result.text
        assert "internal error" not in result.text
        return result

    return call


@pytest.fixture
def add(tmp_path: Path) -> Path:
    """The file of a small kernel."""
    path = tmp_path / "add.ll"
    path.write_text(ADD)
    return path

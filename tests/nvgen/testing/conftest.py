"""A project whose tests use the pytest plugin."""

from __future__ import annotations

import importlib
import pkgutil

import llvmlite.ir  # noqa: F401 - stays loaded when an inner session's modules go

# pytester takes modules that its runs import out again, and numpy can be loaded only once.
import ml_dtypes  # noqa: F401
import numpy as np  # noqa: F401
import pytest

import asmprinter
import intrinsics
import isel
import nvgen
import nvgen.testing
from tests.nvgen.testing.projects import KERNELS, LOADED

SCRIPTS = ("nvgen.__main__", "nvgen.llvm.child", "nvgen.python_child")
"""Modules that are run, not imported."""


@pytest.fixture(scope="module")
def all_modules() -> None:
    """Import all of nvgen: of a module that an inner session has imported, which is taken out
    again, there would be two in this process, with two of each of its types.
    """
    for package in (asmprinter, intrinsics, isel, nvgen):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if found.name not in SCRIPTS:
                importlib.import_module(found.name)


@pytest.fixture
def project(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, all_modules: None
) -> pytest.Pytester:
    """A project with kernels, the environment of no other project, and no GPU.

    What this process has found once, it keeps: the environment hides a GPU only from new ones.
    pytest-benchmark, where it is installed, warns beside pytest-xdist, and a warning is an error.
    """
    monkeypatch.setenv("PYTEST_ADDOPTS", f"-p no:benchmark {LOADED}")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr("nvgen.testing.devices.gpu", lambda: (0, "no GPU here"))
    pytester.makepyfile(kernels=KERNELS)
    return pytester

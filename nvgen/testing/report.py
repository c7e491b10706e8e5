"""The section about the kernel in the report of a failed test.

Layer: nvgen.testing.
"""

from __future__ import annotations

import os
import shlex

import pytest

from intrinsics.findings import Finding, NvgenError
from nvgen.testing.compare import MismatchError
from nvgen.testing.launch import Launch
from nvgen.testing.variants import label


def launch_of(item: pytest.Item) -> Launch | None:
    """The launch that an item is given; None for what is no test of kernels."""
    callspec = getattr(item, "callspec", None)
    launch = callspec.params.get("launch") if callspec is not None else None
    return launch if isinstance(launch, Launch) else None


def failure_text(item: pytest.Item, launch: Launch, error: BaseException) -> str:
    """How to replay the item, what it ran on, and what was wrong."""
    ran = f"{launch.device}, schedule {launch.schedule}" if launch.schedule else launch.device
    level = "" if launch.opt is None else f", -O{launch.opt}"
    target = f", target {launch.target}{level}" if launch.target else ""
    lines = [f"replay: {replay(item, launch)}", f"ran on: {ran}{target}"]
    match error:
        case MismatchError():
            lines.append(str(error))
        case NvgenError():
            source = launch.source_of(error)
            lines += [_finding(finding, source) for finding in error.findings]
    delayed = launch.culprit(error)
    if delayed is not None:
        lines.append(_finding(delayed, ""))
    return "\n".join(lines)


def replay(item: pytest.Item, launch: Launch) -> str:
    """The command that runs this item, and this item only, from the same folder."""
    path = os.path.relpath(item.path, item.config.invocation_params.dir)
    name = item.nodeid.partition("::")[2]
    # Brackets that hold the schedule alone add nothing to the option, and shells dislike them.
    where = shlex.quote(f"{path}::{name.removesuffix(f'[{label(launch)}]')}")
    if launch.schedule:
        return f"pytest {where} --schedule {launch.schedule}"
    return f"pytest {where} --nvgen-device {launch.device}"


def _finding(finding: Finding, source: str) -> str:
    from nvgen.render import finding_lines

    lines = finding_lines(finding, source.split("\n") if source else [])
    return "\n".join("".join(text for text, _ in line) for line in lines)

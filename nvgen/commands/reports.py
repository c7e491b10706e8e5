"""Findings for continuous integration: SARIF 2.1.0, GitHub's annotations, and baselines.

Layer: nvgen.commands.  Each report points at the line of the source that the user wrote, where the
input names it (Python, CUDA C++), and else at the line of the input.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

from intrinsics.findings import Finding, Place, Severity, input_error, without_copies
from nvgen import __version__
from nvgen.render import as_json

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_LEVELS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.REVIEW: "note",
    Severity.NOTE: "none",
}
_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning"}

Key = tuple[str, ...]
"""What a finding is known by, whatever lines are added above it."""


def sarif(findings: Sequence[Finding], file: str, *, readable: bool) -> str:
    """A SARIF log of one run; what was not judged is `open`.  SARIF 2.1.0, 3.13, 3.27."""
    rules = list(dict.fromkeys(f.rule for f in findings))
    seen: Counter[Key] = Counter()
    driver = {
        "name": "nvgen",
        "version": __version__,
        "rules": [{"id": rule} for rule in rules],
    }
    results = []
    for finding in findings:
        key = _key(as_json(finding))
        seen[key] += 1
        results.append(_result(finding, file, rules.index(finding.rule), _digest(key, seen[key])))
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": readable}],
        "results": results,
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _result(finding: Finding, file: str, rule: int, digest: str) -> dict[str, object]:
    first, *others = _locations(finding.place, file)
    function = finding.place.function
    if function:
        first = first | {"logicalLocations": [{"name": function, "kind": "function"}]}
    return {
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "kind": "open" if finding.severity is Severity.NOTE else "fail",
        "level": _LEVELS[finding.severity],
        "message": {"text": _text(finding)},
        "locations": [first],
        "relatedLocations": [{"id": n, **one} for n, one in enumerate(others, 1)],
        "partialFingerprints": {"nvgen/v1": digest},
    }


def _text(finding: Finding) -> str:
    """What a finding says, without where."""
    given = as_json(finding)
    labels = (("got", "got"), ("expected", "expected"), ("help", "hint"), ("see", "section"))
    details = [f"{label}: {given[name]}" for label, name in labels if given[name]]
    return "\n".join([str(given["message"]), *details])


def _locations(place: Place, file: str) -> list[dict[str, object]]:
    """The source's line and its callers, then the input's; the input's alone without a source."""
    lines = [(place.python_file, place.python_line)] if place.python_line else []
    found = [_location(name, line) for name, line in (*lines, *place.callers)]
    return [*found, _location(place.file or file, place.line, place.column)]


def _location(name: str, line: int, column: int = 0) -> dict[str, object]:
    where: dict[str, object] = {"artifactLocation": {"uri": _uri(name)}}
    if line:
        where["region"] = {"startLine": line} | ({"startColumn": column} if column else {})
    return {"physicalLocation": where}


def _uri(name: str) -> str:
    """A file by its path within the working directory, where it lies there."""
    path = _path(name)
    return Path(path).as_uri() if os.path.isabs(path) else quote(Path(path).as_posix())


def _path(name: str) -> str:
    inside = os.path.relpath(name) if os.path.isabs(name) else name
    return name if inside.startswith("..") else inside


def github(findings: Iterable[Finding], file: str) -> str:
    """A workflow command for each finding, which GitHub shows beside the line, ten at most.

    GitHub, Workflow commands: Setting an error message.
    """
    return "\n".join(_annotation(finding, file) for finding in without_copies(findings))


def _annotation(finding: Finding, file: str) -> str:
    place = finding.place
    name, line, column = place.file or file, place.line, place.column
    if place.python_line:
        name, line, column = place.python_file, place.python_line, 0
    given: dict[str, str | int] = {
        "file": _path(name), "line": line, "col": column, "title": finding.rule,
    }  # fmt: skip
    properties = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in given.items() if value)
    command = _COMMANDS.get(finding.severity, "notice")
    return f"::{command} {properties}::{_escaped(_text(finding))}"


def _escaped(value: str | int, more: str = "") -> str:
    text = str(value).replace("%", "%25")
    for character in "\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


# ---- baselines -------------------------------------------------------------------------------


def new_since(baseline: str, findings: Sequence[Finding]) -> list[Finding]:
    """The findings that the report of an earlier check does not have, counted by rule, severity,
    function, instruction and file of the source.

    Raises: InputError for a file that is no such report.
    """
    try:
        earlier = json.loads(Path(baseline).read_text(encoding="utf-8"))["findings"]
        known = Counter(_key(finding) for finding in earlier)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise input_error(
            "check/baseline",
            f"{baseline} is no report of an earlier check",
            got=str(error) or type(error).__name__,
            expected="what nvgen check --format json wrote",
        ) from None
    found = []
    for finding in findings:
        key = _key(as_json(finding))
        if known[key]:
            known[key] -= 1
        else:
            found.append(finding)
    return found


def _key(finding: dict[str, str | int]) -> Key:
    source = os.path.basename(str(finding["source_file"]))
    return (*(str(finding[name]) for name in ("rule", "severity", "function", "op")), source)


def _digest(key: Key, number: int) -> str:
    return hashlib.sha256("\0".join([*key, str(number)]).encode()).hexdigest()[:32]

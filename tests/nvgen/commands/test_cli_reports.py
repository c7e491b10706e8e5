"""`nvgen check --format sarif`, `--format github` and `--baseline`.

SARIF 2.1.0 (OASIS), 3.27 result, 3.28 location: a `kind` other than `fail` has the level `none`;
`ruleIndex` is the index of the rule in the tool's list.  GitHub, Workflow commands: `%`, line feeds
and carriage returns are escaped in the text, colons and commas in the properties, too.
"""

from __future__ import annotations

import json
import re
import urllib.parse
from pathlib import Path

import pytest

from tests.each import each
from tests.nvgen.conftest import Nvgen

RACE = """\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 y)
{
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    .shared .align 4 .b8 s[256];
    .loc 1 5 3
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, s;
    mad.lo.u32 %r3, %r1, 4, %r2;
    mad.lo.u32 %r4, %r1, -4, %r2;
    .loc 1 6 3
    st.shared.u32 [%r3], %r1;
    .loc 1 8 3
    ld.shared.u32 %r5, [%r4+252];
    .loc 1 9 3
    ld.param.u64 %rd1, [y];
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    st.global.u32 [%rd2], %r5;
    ret;
}
.file 1 "dir, a/race%1.cu"
"""
"""64 threads write s, and read it without a barrier: lines 15 and 17, lines 6 and 8 of CUDA C++."""

BLOCK = ("--block", "64", "--grid", "1")


@pytest.fixture
def race(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("race.ptx").write_text(RACE)
    return Path("race.ptx")


def test_sarif(nvgen: Nvgen, race: Path) -> None:
    told = nvgen("check", race, *BLOCK, "--format", "sarif")
    assert told.status == 1
    log = told.json()
    assert log["version"] == "2.1.0"
    [run] = log["runs"]
    assert run["invocations"] == [{"executionSuccessful": True}]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["kind"] == "fail" or result["level"] == "none"
    [error] = [r for r in run["results"] if r["level"] == "error"]
    assert error["ruleId"] == "shared/race"
    [place] = error["locations"]
    assert place["logicalLocations"] == [{"name": "k", "kind": "function"}]
    where = place["physicalLocation"]
    uri = where["artifactLocation"]["uri"]
    assert urllib.parse.unquote(uri).endswith("dir, a/race%1.cu")
    assert " " not in uri
    assert where["region"] == {"startLine": 8}
    [text] = error["relatedLocations"]
    assert text["physicalLocation"]["artifactLocation"] == {"uri": "race.ptx"}
    assert text["physicalLocation"]["region"]["startLine"] == 17
    assert "\nhelp: bar.sync between the two accesses\n" in error["message"]["text"]


def test_what_was_not_judged_is_open(nvgen: Nvgen, race: Path) -> None:
    told = nvgen("check", race, "--format", "sarif")
    kinds = {r["ruleId"]: r["kind"] for r in told.json()["runs"][0]["results"]}
    assert told.status == 0
    assert kinds["verify/block"] == "open"


@each("form", ("sarif", "github"))
def test_input_that_cannot_be_read_is_in_the_report(nvgen: Nvgen, race: Path, form: str) -> None:
    told = nvgen("check", "nothing.ptx", "--format", form)
    assert told.status == 2
    if form == "github":
        assert told.out.startswith("::error ")
        return
    [run] = told.json()["runs"]
    assert run["invocations"] == [{"executionSuccessful": False}]
    assert [r["level"] for r in run["results"]] == ["error"]


def unescaped(text: str) -> str:
    return re.sub("%(25|0D|0A|3A|2C)", lambda code: chr(int(code[1], 16)), text)


def test_annotations_of_github(nvgen: Nvgen, race: Path) -> None:
    told = nvgen("check", race, *BLOCK, "--format", "github")
    [line] = [line for line in told.out.splitlines() if line.startswith("::error ")]
    properties, _, message = line.removeprefix("::error ").partition("::")
    given = dict(part.split("=", 1) for part in properties.split(","))
    assert unescaped(given.pop("file")).endswith("dir, a/race%1.cu")
    assert given == {"line": "8", "title": "shared/race"}
    assert "\n" in unescaped(message)


def test_a_clean_program_has_no_annotation(nvgen: Nvgen, race: Path) -> None:
    race.write_text(RACE.replace("    .loc 1 8 3", "    bar.sync 0;"))
    told = nvgen("check", race, *BLOCK, "--format", "github")
    assert (told.status, told.out.strip()) == (0, "")


def test_a_baseline_leaves_out_what_it_has(nvgen: Nvgen, race: Path) -> None:
    Path("old.json").write_text(nvgen("check", race, *BLOCK, "--format", "json").out)
    race.write_text("// a line more\n" + RACE.replace(".loc 1 8 3", ".loc 1 11 3"))
    told = nvgen("check", race, *BLOCK, "--baseline", "old.json")
    assert told.status == 0
    assert re.search(r"clean; \d+ that the baseline has are left out$", told.out)
    race.write_text(RACE.replace("ld.shared.u32", "ld.shared.s32"))
    told = nvgen("check", race, *BLOCK, "--baseline", "old.json", "--format", "json")
    assert told.status == 1
    assert {f["op"] for f in told.json()["findings"]} == {"ld.shared.s32"}


def test_a_second_finding_alike_is_new(nvgen: Nvgen, race: Path) -> None:
    report = nvgen("check", race, *BLOCK, "--format", "json").json()
    report["findings"] = [f for f in report["findings"] if f["severity"] != "error"]
    Path("old.json").write_text(json.dumps(report))
    assert nvgen("check", race, *BLOCK, "--baseline", "old.json").status == 1


@each("text", ("", "[]", "{}", '{"findings": [1]}', '{"findings": [{"rule": "a/b"}]}'))
def test_what_is_no_report_is_refused(nvgen: Nvgen, race: Path, text: str) -> None:
    Path("old.json").write_text(text)
    told = nvgen("check", race, *BLOCK, "--baseline", "old.json")
    assert told.status == 2
    assert "error[check/baseline]: old.json is no report of an earlier check" in told.err

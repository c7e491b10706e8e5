"""The rules of tensor maps against the driver: it takes what they take, and refuses the rest.

What the driver of an H200 said of some 32,000 requests is recorded, and the rules are compared with
the record wherever the tests run; where there is a GPU, its driver is asked about all of them anew,
and about others that change with the day.  `python -m tests.driver.test_tensor_map_gpu` writes the
record on a machine with a GPU.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from intrinsics.tma.rules import Request, findings
from tests.driver.tensor_map_requests import random_requests, recorded_requests
from tests.oracle.gpu import on_gpu

RECORD = Path(__file__).with_name("tensor_map_verdicts.json")
CAPABILITY = 90
"""The compute capability of the GPU whose driver was asked."""

needs_gpu = pytest.mark.skipif(not on_gpu(), reason="needs a GPU: --device cuda")


def digest(requests: Sequence[Request]) -> str:
    """What the requests are, in short."""
    return hashlib.sha256("\n".join(map(repr, requests)).encode()).hexdigest()


def recorded(requests: Sequence[Request]) -> list[bool]:
    """Whether the driver took each request when it was asked."""
    record = json.loads(RECORD.read_text())
    assert record["digest"] == digest(requests), "the requests changed: write the record anew"
    bits = np.frombuffer(zlib.decompress(base64.b64decode(record["taken"])), np.uint8)
    return [bool(bit) for bit in np.unpackbits(bits)[: len(requests)]]


def driver_takes(requests: Sequence[Request]) -> list[bool]:
    """Whether the driver of this machine takes each request."""
    from cuda.bindings import driver

    from nvgen.driver.device import open_device
    from nvgen.driver.maps import encode

    open_device()
    return [encode(request)[0] == driver.CUresult.CUDA_SUCCESS for request in requests]


def capability() -> int:
    """The compute capability of the GPU that is here: 90 for 9.0."""
    from nvgen.driver.device import open_device

    major, minor = open_device().compute_capability
    return 10 * int(major) + int(minor)


def disagreements(requests: Sequence[Request], taken: Sequence[bool], here: int) -> list[str]:
    """What one takes and the other does not."""
    differ = []
    for request, takes in zip(requests, taken, strict=True):
        ours = [f.rule for f in findings(replace(request, capability=here))]
        if takes == bool(ours):
            differ.append(f"driver {'takes' if takes else 'refuses'}, rules {ours}: {request}")
    return differ


@pytest.mark.turns(3)
def test_the_rules_agree_with_what_the_driver_said() -> None:
    requests = recorded_requests()
    taken = recorded(requests)
    assert 0.1 < sum(taken) / len(taken) < 0.9  # neither always yes nor always no
    differ = disagreements(requests, taken, CAPABILITY)
    assert not differ, f"{len(differ)}\n" + "\n".join(differ[:40])


@pytest.mark.gpu
@needs_gpu
def test_the_driver_says_what_it_said() -> None:
    if capability() != CAPABILITY:
        pytest.skip(f"the record is of compute capability {CAPABILITY}")
    requests = recorded_requests()
    pairs = zip(requests, recorded(requests), driver_takes(requests), strict=True)
    differ = [f"{now}, was {then}: {request}" for request, then, now in pairs if then != now]
    assert not differ, "\n".join(differ[:40])


@pytest.mark.gpu
@needs_gpu
def test_the_driver_and_the_rules_agree_on_the_requests_of_the_day() -> None:
    seed = date.today().toordinal()
    requests = random_requests(seed)
    differ = disagreements(requests, driver_takes(requests), capability())
    assert not differ, f"seed {seed}\n" + "\n".join(differ[:40])


def write_record() -> None:
    """Ask the driver of this machine about everything."""
    from cuda.bindings import driver

    requests = recorded_requests()
    bits = np.packbits(np.array(driver_takes(requests), bool)).tobytes()
    record = {
        "driver": driver.cuDriverGetVersion()[1],
        "capability": capability(),
        "date": date.today().isoformat(),
        "requests": len(requests),
        "digest": digest(requests),
        "taken": base64.b64encode(zlib.compress(bits, 9)).decode(),
    }
    RECORD.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    write_record()

"""All seeded faults."""

from __future__ import annotations

from tests.mutation import (
    faults_machine,
    faults_selection,
    faults_simulator,
    faults_text,
    faults_tools,
    faults_verifier,
)
from tests.mutation.fault import Fault

FAULTS: tuple[Fault, ...] = (
    *faults_machine.FAULTS,
    *faults_text.FAULTS,
    *faults_selection.FAULTS,
    *faults_verifier.FAULTS,
    *faults_simulator.FAULTS,
    *faults_tools.FAULTS,
)

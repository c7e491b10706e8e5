"""Choosing among the configurations of a kernel by measuring each: `tune`.

Layer: nvgen.tuning.
"""

from nvgen.kernel_code.code import MachineCode
from nvgen.tuning.candidates import Candidate, compile_kernel
from nvgen.tuning.problem import Problem
from nvgen.tuning.results import Results, Trial
from nvgen.tuning.tune import tune

__all__ = ["Candidate", "MachineCode", "Problem", "Results", "Trial", "compile_kernel", "tune"]

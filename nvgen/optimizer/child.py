"""The process in which LLVM's passes run: this file as a script.

Layer: nvgen.optimizer.  Input, on standard input: a job as JSON.  Output: the optimised module, or
exit status 3 and LLVM's message.  Nothing of nvgen is imported here, so that it runs wherever
llvmlite can be imported.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TypedDict

from llvmlite import binding

REJECTED = 3
"""The exit status when LLVM rejects the text or what became of it."""


class Job(TypedDict):
    """What is asked for: a module, a level from 1 to 3, a processor, options of LLVM's."""

    text: str
    level: int
    triple: str
    processor: str
    options: list[str]


def optimize(job: Job) -> str:
    """Run LLVM's pipeline over a module.

    Raises: RuntimeError when LLVM rejects the module before or after.
    """
    for option in job["options"]:
        binding.set_option("nvgen", option)
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    module = binding.parse_assembly(job["text"])
    _mark_convergent(module)
    machine = binding.Target.from_triple(job["triple"]).create_target_machine(
        cpu=job["processor"], opt=job["level"]
    )
    module.triple = module.triple or job["triple"]
    module.data_layout = _layout(module.data_layout, str(machine.target_data))
    tuning = binding.create_pipeline_tuning_options(job["level"])
    tuning.loop_vectorization = False
    tuning.slp_vectorization = False
    builder = binding.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    module.verify()
    return str(module)


def _mark_convergent(module: binding.ModuleRef) -> None:
    """Let no call move under another condition: what it calls may wait for the threads beside it.

    LLVM's passes take the mark away again from functions in which nothing does.
    """
    for function in module.functions:
        if not function.name.startswith("llvm."):
            function.add_function_attribute("convergent")


def _layout(given: str, machines: str) -> str:
    """The module's data layout, in which pointers to tensor memory have 32 bits."""
    if not given:
        return machines
    return given if re.search(r"\bp6:", given) else f"{given}-p6:32:32"


def main() -> int:
    """Do the job that stands on standard input."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    try:
        done = optimize(json.load(sys.stdin))
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return REJECTED
    sys.stdout.write(done)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The CPU simulator: executes machine records, with asynchronous operations that complete late.

Layer: nvgen.  `nvgen.sim.launch.simulate` is the entry point.
"""

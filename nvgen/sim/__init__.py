"""The CPU simulator: runs machine records, with asynchronous operations that really are late.

Layer: nvgen.  `nvgen.sim.launch.simulate` is the way in.
"""

"""The threads of a launch: scheduling, synchronisation, and reports.

The machine with its CTAs, warps and strands, the grid, records compiled to closures, barriers of
all kinds, arrivals at those of other CTAs, clusters, pairs and warpgroups, limits of a run, and the
reports of runs that do not end.  The effects of instructions are in `semantics`, the contents of
memories in `memory`.
"""

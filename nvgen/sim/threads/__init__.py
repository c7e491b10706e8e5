"""The threads of a launch: the order in which they run, and what they wait for together.

Here belongs what makes or moves threads: the machine with its CTAs, warps and fragments, the grid
that is filled with them, records as closures, barriers of all kinds, clusters, pairs and
warpgroups, limits of a run, and the reports of runs that do not end.  What an instruction does
belongs to `semantics`, what bytes hold to `memory`.
"""

"""What acts in a run, as the race detector sees it: threads, and operations in flight.

The interfaces of CTAs, warps and strands, asynchronous operations, and the vector clocks that order
both.  Everything else in the simulator builds on these; they know none of it.
"""

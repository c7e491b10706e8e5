"""Data races: vector clocks, epochs of accesses, and the happens-before order.

The clocks of threads and operations, the shadow memory of latest accesses, fences of tensor memory
and of tensor maps, and the findings.  Nothing here changes what a run computes.
"""

"""Data races: epochs of accesses, and the happens-before order.

The clocks of all threads and operations, the shadow memory of latest accesses, fences of tensor
memory, and the findings.  Nothing here changes what a run computes.
"""

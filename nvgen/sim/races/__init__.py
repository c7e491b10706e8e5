"""Data races: vector clocks, the epochs of accesses, and what makes one happen before another.

Here belongs what decides whether two accesses are ordered: the clocks of threads and operations,
the shadow memory of latest accesses, fences of tensor memory and of tensor maps, and what is
said of a race.  Nothing here changes what a run computes.
"""

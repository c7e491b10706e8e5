"""Threads read and write memory: loads, stores, atomics, caches and kinds of addresses.

Here belongs what a thread does to memory itself and at once; copies in flight are in `copies`.
"""
